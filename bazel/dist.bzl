"""A folder to build against outside of Bazel, or to copy to where it belongs: include/, lib/, bin/."""

def _dist_impl(ctx):
    folder = ctx.actions.declare_directory(ctx.label.name)
    commands = ["set -eu", "out=$1; shift", "mkdir -p \"$out/lib\" \"$out/bin\""]
    inputs = ctx.files.headers + ctx.files.libraries + ctx.files.programs
    for header in ctx.files.headers:
        # include/ferret/scope.h -> include/ferret/scope.h
        commands.append("install -D -m 644 '%s' \"$out/%s\"" % (header.path, header.short_path))
    for library in ctx.files.libraries:
        commands.append("install -m 755 '%s' \"$out/lib/\"" % library.path)
    for program in ctx.files.programs:
        commands.append("install -m 755 '%s' \"$out/bin/\"" % program.path)
    ctx.actions.run_shell(
        outputs = [folder],
        inputs = inputs,
        command = "\n".join(commands),
        arguments = [folder.path],
        mnemonic = "Dist",
        progress_message = "Collecting %{label}",
    )
    return [DefaultInfo(files = depset([folder]), runfiles = ctx.runfiles(files = [folder]))]

dist = rule(
    implementation = _dist_impl,
    attrs = {
        "headers": attr.label_list(allow_files = [".h"]),
        "libraries": attr.label_list(allow_files = [".so"]),
        "programs": attr.label_list(),
    },
)
