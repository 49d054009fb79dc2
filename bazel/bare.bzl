"""Programs for machines that have nothing but glibc (and a driver): what others load as shared libraries is inside."""

load("//bazel:copts.bzl", "ferret_cc_binary")

def ferret_bare_binary(name, linkopts = [], deps = [], **kwargs):
    """ferret_cc_binary without shared libraries but glibc's.

    Debian's static archives are not position-independent, and so neither is the program. Not under sanitizers, which
    want to be first.

    Args:
      name: target name.
      linkopts: before the others.
      deps: Abseil and zlib among what they depend on become static.
      **kwargs: passed on to ferret_cc_binary.
    """
    ferret_cc_binary(
        name = name,
        # Every -l after this one is looked for as an archive, until :glibc_again, which is last.
        linkopts = linkopts + ["-no-pie", "-Wl,--as-needed", "-Wl,-Bstatic"],
        deps = deps + ["//bazel:glibc_again"],
        **kwargs
    )
