"""Finds the PyTorch 2.x of a Python that is on the machine and makes it the repository @torch.

Looked at in this order: $FERRET_PYTHON (then nothing else), python3 on the PATH, .venv/bin/python in the workspace.

@torch//:torch         headers (as system includes) and libtorch_cpu.so, libc10.so. No RUNPATH: an adapter is loaded into
                       a process that has them already.
@torch//:torch_rpath   the same with a RUNPATH, for programs that start on their own, such as tests.
@torch//:found.bzl     TORCH_FOUND (bool), TORCH_VERSION ("2.13.0"), TORCH_PYTHON (path of the interpreter).

Without PyTorch TORCH_FOUND is False and both targets are incompatible: `bazel build //...` skips what needs them.
"""

_BUILD = """package(default_visibility = ["//visibility:public"])

cc_library(
    name = "torch",
    hdrs = glob([
        "include/ATen/**/*.h",
        "include/c10/**/*.h",
        "include/torch/**/*.h",
    ]),
    includes = [
        "include",
        "include/torch/csrc/api/include",
    ],
    linkopts = ["-L{lib}", "-Wl,--as-needed", "-ltorch_cpu", "-lc10"],
)

cc_library(
    name = "torch_rpath",
    linkopts = ["-Wl,-rpath,{lib}"],
    deps = [":torch"],
)
"""

_BUILD_WITHOUT = """package(default_visibility = ["//visibility:public"])

constraint_setting(name = "pytorch")

# No platform has this value, so nothing that needs the targets below is compatible with any.
constraint_value(
    name = "pytorch_found",
    constraint_setting = ":pytorch",
)

[
    cc_library(
        name = name,
        target_compatible_with = [":pytorch_found"],
    )
    for name in ["torch", "torch_rpath"]
]
"""

_FOUND = """TORCH_FOUND = {found}
TORCH_VERSION = "{version}"
TORCH_PYTHON = "{python}"
"""

def _find(ctx, python):
    result = ctx.execute([python, ctx.path(Label("//bazel:find_torch.py"))])
    return result.stdout.splitlines() if result.return_code == 0 else None

def _torch_repository_impl(ctx):
    chosen = ctx.os.environ.get("FERRET_PYTHON")
    if chosen:
        candidates = [chosen]
    else:
        workspace = ctx.path(Label("//:WORKSPACE")).dirname
        candidates = [ctx.which("python3"), workspace.get_child(".venv").get_child("bin").get_child("python")]

    torch = None
    for python in candidates:
        if not torch and python and (python == chosen or python.exists):
            torch = _find(ctx, python)
    if not torch:
        if chosen:
            # buildifier: disable=print
            print("FERRET_PYTHON=%s has no PyTorch 2.x; building without PyTorch" % chosen)
        ctx.file("BUILD", _BUILD_WITHOUT)
        ctx.file("found.bzl", _FOUND.format(found = False, version = "", python = ""))
        return

    python, folder, version = torch
    for part in ["ATen", "c10", "torch"]:
        ctx.symlink(folder + "/include/" + part, "include/" + part)
    ctx.file("BUILD", _BUILD.format(lib = folder + "/lib"))
    ctx.file("found.bzl", _FOUND.format(found = True, version = version, python = python))

torch_repository = repository_rule(
    implementation = _torch_repository_impl,
    # FERRET_VENV is not read: .bazelrc takes it from a file that tools/setup.sh leaves in .venv, so that it changes,
    # and with it this repository, when .venv comes or goes. For one made by hand: `bazel sync --configure` (local also
    # looks again whenever Bazel's server starts).
    environ = ["FERRET_PYTHON", "FERRET_VENV", "PATH"],
    local = True,
    configure = True,
)
