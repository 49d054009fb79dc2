"""Compiler options and the thin rules that apply them. Nothing else in the tree names a warning or a language level."""

_WARNINGS = [
    "-Wall",
    "-Wextra",
    "-Werror",
    "-Wcast-qual",
    "-Wformat=2",
    "-Wpointer-arith",
    "-Wshadow",
    "-Wundef",
    "-Wvla",
]

_CXX_WARNINGS = _WARNINGS + [
    "-Wextra-semi",
    "-Wnon-virtual-dtor",
    "-Woverloaded-virtual",
    "-Wsuggest-override",
]

# -O2 in every compilation mode: what tests check is the code that ships. `-c opt` differs by -DNDEBUG only.
_COMMON = ["-O2"]

# Only what a header declares as exported leaves a shared library.
_CXX = ["-fvisibility=hidden"] + _COMMON + _CXX_WARNINGS

FERRET_COPTS = ["-std=c++17"] + _CXX

# PyTorch's headers want C++20; only the adapter includes them. NDEBUG because PyTorch as released was compiled with it:
# classes such as RecordFunction have members that exist without it only.
FERRET_TORCH_COPTS = ["-std=c++20", "-DNDEBUG"] + _CXX

# For targets whose sources are C.
FERRET_C_COPTS = ["-std=gnu11"] + _COMMON + _WARNINGS + ["-Wstrict-prototypes"]

def _copts(base, more, deps):
    # GCC warns of each std::atomic_thread_fence under TSAN, also of those it inlines from the queue's header. Targets
    # that use the queue are excused; anywhere else a fence is a mistake.
    queue = "@concurrentqueue" in deps or "@concurrentqueue//:concurrentqueue" in deps
    return base + (["-Wno-tsan"] if queue else []) + more

def ferret_cc_library(name, base_copts = FERRET_COPTS, copts = [], deps = [], **kwargs):
    """cc_library with Ferret's options.

    Inside include/ the headers are seen as users see them ("ferret/scope.h"), everywhere else by their path from the
    root ("runtime/record/chunk.h").

    Args:
      name: target name.
      base_copts: FERRET_COPTS, FERRET_TORCH_COPTS or FERRET_C_COPTS.
      copts: added after base_copts.
      deps: a list (no select). Whoever includes the queue, even through a header of ours, names @concurrentqueue.
      **kwargs: passed on to cc_library.
    """
    package = native.package_name()
    if package == "include" or package.startswith("include/"):
        kwargs.setdefault("strip_include_prefix", "/include")
    native.cc_library(name = name, copts = _copts(base_copts, copts, deps), deps = deps, **kwargs)

def ferret_cc_binary(name, base_copts = FERRET_COPTS, copts = [], deps = [], **kwargs):
    """cc_binary with Ferret's options. A shared library is name = "libx.so", linkshared = True."""
    native.cc_binary(name = name, copts = _copts(base_copts, copts, deps), deps = deps, **kwargs)

def ferret_cc_test(name, base_copts = FERRET_COPTS, copts = [], data = [], deps = [], size = "small", **kwargs):
    """cc_test with Ferret's options and GoogleTest's main.

    Tags that tools/test knows: "long", "products" (left out unless asked for), "nosan" (under no sanitizer), "notsan".
    """
    native.cc_test(
        name = name,
        size = size,
        copts = _copts(base_copts, copts, deps),
        data = data + ["//bazel:tsan.supp"],
        deps = deps + ["@gtest//:gtest_main"],
        **kwargs
    )
