# Copyright The Ferret Authors
# SPDX-License-Identifier: Apache-2.0
"""Others that record events, where they are installed: LTTng-UST."""

import os
import shutil
import subprocess
import tempfile

from reporting.rows import Row, medians

NO_LTTNG = "Left out: LTTng-UST, whose packages lttng-tools and liblttng-ust-dev are not installed"


def lttng(root, folder, runs, notes):
    """A scope through LTTng-UST into memory buffers that overwrite (a snapshot session): nothing waits for a disk."""
    if shutil.which("lttng") is None or not _compiles("#include <lttng/tracepoint.h>"):
        notes.append(NO_LTTNG)
        return
    try:
        off, on = _lttng(f"{root}/bench/peers", runs)
    except (subprocess.SubprocessError, OSError) as error:
        notes.append(f"Left out: LTTng-UST, which does not run here ({error})")
        return
    ours = medians(f"{folder}/latency", runs, "scope", 1)["ns"]
    yield Row("LTTng-UST scope, two tracepoints, into memory", f"{on:.0f} ns", f"{on / ours:.1f} x a scope of Ferret's "
              f"({ours:.1f} ns); off {off:.1f} ns", on / ours)


def _compiles(text):
    return subprocess.run(["gcc", "-fsyntax-only", "-xc", "-"], input=text, capture_output=True, text=True).returncode == 0


def _lttng(sources, runs):
    with tempfile.TemporaryDirectory() as folder:
        program = f"{folder}/lttng_scopes"
        subprocess.run(["gcc", "-O2", f"-I{sources}", f"{sources}/lttng_scopes.c", "-o", program, "-llttng-ust", "-ldl"],
                       check=True, capture_output=True)
        off = medians(program, runs)["ns"]
        daemon = subprocess.Popen(["lttng-sessiond", "--no-kernel"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            # Where another one runs already ours ends at once, and that one is asked.
            def command(*arguments):
                subprocess.run(["lttng", "--no-sessiond", *arguments], check=True, capture_output=True, timeout=30)
            name = f"ferret-bench-{os.getpid()}"
            _until_it_answers(daemon)
            command("create", name, "--snapshot", f"--output={folder}/trace")
            try:
                command("enable-channel", "--userspace", "--session", name, "--overwrite", "--subbuf-size=1M",
                        "--num-subbuf=4", "bench")
                command("enable-event", "--userspace", "--session", name, "--channel", "bench", "ferret_bench:*")
                command("start", name)
                on = medians(program, runs)["ns"]
            finally:
                command("destroy", name)
        finally:
            daemon.terminate()
            daemon.wait()
    return off, on


def _until_it_answers(daemon):
    for _ in range(100):
        if subprocess.run(["lttng", "--no-sessiond", "list"], capture_output=True).returncode == 0:
            return
        try:
            # Also the pause between two questions.
            daemon.wait(timeout=0.1)
        except subprocess.TimeoutExpired:
            continue
    raise OSError("its session daemon does not answer")
