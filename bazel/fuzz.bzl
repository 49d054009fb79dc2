"""Fuzz targets: functions LLVMFuzzerTestOneInput that any bytes may be given to."""

load("//bazel:copts.bzl", "ferret_cc_binary")

# What g++ has in place of clang's coverage for libFuzzer; tests/fuzz/coverage.h says what comes of it.
_INSTRUMENTED = ["-fsanitize-coverage=trace-pc,trace-cmp"]

def _instrumented_impl(settings, _attr):
    return {"//command_line_option:copt": settings["//command_line_option:copt"] + _INSTRUMENTED}

_instrumented = transition(
    implementation = _instrumented_impl,
    inputs = ["//command_line_option:copt"],
    outputs = ["//command_line_option:copt"],
)

def _program_impl(ctx):
    program = ctx.attr.program[0][DefaultInfo]
    executable = ctx.actions.declare_file(ctx.label.name)
    ctx.actions.symlink(output = executable, target_file = program.files_to_run.executable, is_executable = True)
    runfiles = ctx.runfiles(files = ctx.files.data).merge(program.default_runfiles)
    return [DefaultInfo(executable = executable, runfiles = runfiles)]

_ATTRIBUTES = {
    "program": attr.label(cfg = _instrumented, executable = True, mandatory = True),
    "data": attr.label_list(allow_files = True),
    "_allowlist_function_transition": attr.label(
        default = "@bazel_tools//tools/allowlists/function_transition_allowlist",
    ),
}

# A program that is instrumented with everything that it is made of.
_instrumented_binary = rule(implementation = _program_impl, attrs = _ATTRIBUTES, executable = True)
_instrumented_test = rule(implementation = _program_impl, attrs = _ATTRIBUTES, test = True)

def _fuzzer(name, srcs, deps):
    ferret_cc_binary(
        name = name + "_fuzzer",
        testonly = True,
        srcs = srcs,
        deps = deps + ["//tests/fuzz:driver"],
        tags = ["manual"],
    )
    return ":" + name + "_fuzzer"

def instrumented_program(name, srcs, deps = []):
    """A fuzz target as a program, for tests of the driver."""
    _instrumented_binary(
        name = name,
        testonly = True,
        program = _fuzzer(name, srcs, deps),
    )

def ferret_fuzz_target(
        name,
        srcs,
        deps,
        dictionary = None,
        runs = 20000,
        long_runs = 3000000,
        options = []):
    """Tests of a fuzz target.

    NAME_test runs it with every file of corpus/NAME and some thousand inputs made of them, NAME_long_test with many more;
    both are the same in every run, and print what they have done. NAME_test is a program, too:

        bazel build --config=asan //tests/fuzz:NAME_test          # or without ASAN
        bazel-bin/tests/fuzz/NAME_test -runs=1000000 -seed=2 tests/fuzz/corpus/NAME
        bazel-bin/tests/fuzz/NAME_test FILE                       # what was found, once more
        bazel-bin/tests/fuzz/NAME_test -runs=1000000 -smallest=FOLDER tests/fuzz/corpus/NAME   # a new corpus

    What was found stays in the corpus, under a name that says what it was. The sources are libFuzzer's kind of target, and
    so are the options: with clang, clang++ -fsanitize=fuzzer makes the same of them.

    Args:
      name: of the target.
      srcs: with LLVMFuzzerTestOneInput.
      deps: of srcs.
      dictionary: a file with pieces of inputs, as libFuzzer's -dict takes.
      runs: executions of NAME_test, beside those of the corpus.
      long_runs: the same of NAME_long_test.
      options: for the driver: see tests/fuzz/driver_options.h.
    """
    program = _fuzzer(name, srcs, deps)
    package = native.package_name()
    corpus = native.glob(["corpus/%s/*" % name])
    arguments = ["-dict=%s/%s" % (package, dictionary)] if dictionary else []
    for suffix, count, size, tags in [
        ("_test", runs, "medium", []),
        ("_long_test", long_runs, "enormous", ["long"]),
    ]:
        _instrumented_test(
            name = name + suffix,
            testonly = True,
            size = size,
            program = program,
            args = ["-runs=%d" % count] + options + arguments + ["%s/corpus/%s" % (package, name)],
            data = corpus + ([dictionary] if dictionary else []),
            # One thread: there is nothing in it for TSAN. And what ASAN finds nothing in needs no second look.
            tags = tags + [
                "asanonly",
                "notsan",
            ],
        )
