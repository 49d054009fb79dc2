"""Tests of the chunk protocol with one statement of the code under test in another place."""

load("//bazel:copts.bzl", "ferret_cc_library", "ferret_cc_test")

# Has accesses to memory reported, to instrumentation.cc in place of ThreadSanitizer's library.
INSTRUMENTED = ["-fsanitize=thread"]

# Assertions of the code under test would end the program; what they look for fails a check all the same.
UNDER_TEST = INSTRUMENTED + [
    "-DNDEBUG",
    "-iquote",
    "tests/explorer/model",
    "-include",
    "tests/explorer/ticks.h",
]

def under_test_library(name, srcs, copts = [], **kwargs):
    """A second compilation of a part of the runtime, under the explorer."""
    ferret_cc_library(
        name = name,
        testonly = True,
        srcs = srcs,
        copts = copts + UNDER_TEST,
        deps = [":under_test_headers"],
        alwayslink = True,
        **kwargs
    )

# The parts, each of which a swap may replace.
_PARTS = {
    "drain": "//runtime/drain:drain.cc",
    "pool": "//runtime/record:chunk_pool.cc",
    "recorder": "//runtime/record:recorder.cc",
    "scenario": "protocol.cc",
}

def parts(name = "parts"):
    for part, source in _PARTS.items():
        under_test_library(name = part, srcs = [source])

def parts_but(replaced = None):
    return [":" + part for part in _PARTS if part != replaced] + [":rest"]

def swapped_order_test(name, part, function, move, before, moved = None, header = None):
    """Expects the explorer to find that the order matters.

    Args:
      name: of the test.
      part: the part that has the statement, see _PARTS.
      function: how the definition of the function begins.
      move: how the statement begins.
      before: how the line begins that it goes before.
      moved: what it reads there, if it is not to stay as it is.
      header: the label of the header that has the function, if it is not in the part's source.
    """
    source = header or _PARTS[part]
    folder = "swapped/" + name
    copy = folder + ("/ferret/" if header else "/") + source.split(":")[1]
    arguments = [function, move, before] + ([moved] if moved else [])
    native.genrule(
        name = name + "_source",
        testonly = True,
        srcs = [source],
        outs = [copy],
        cmd = "python3 $(location move_statement.py) $< $@ " + " ".join(["'%s'" % a for a in arguments]),
        tools = ["move_statement.py"],
    )
    under_test_library(
        name = name + "_part",
        srcs = [copy] + ([_PARTS[part]] if header else []),
        # Of what the statement used where it was.
        copts = ["-Wno-unused-variable"] + (["-iquote", "$(GENDIR)/tests/explorer/" + folder] if header else []),
    )
    ferret_cc_test(
        name = name,
        srcs = ["swapped_order_test.cc"],
        tags = ["nosan"],
        deps = [":protocol", ":" + name + "_part"] + parts_but(part),
    )
