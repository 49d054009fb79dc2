# Copyright The Ferret Authors
# SPDX-License-Identifier: Apache-2.0
"""A recorded program that is killed at any moment leaves a trace that opens and holds what was flushed.

    python3 kill_process_test.py FERRET RECORD_STEADILY
"""
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import unittest
import zlib

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "readers"))

import recorded  # noqa: E402
from recorded import trace_checks  # noqa: E402

FERRET = RECORD_STEADILY = None
SCOPES_PER_FLUSH = 10


def wait_for_a_change(path):
    """Returns right after somebody has written to the file."""
    def state():
        status = os.stat(path)
        return status.st_size, status.st_mtime_ns

    before = state()
    while state() == before:
        pass


class Victim:
    """A recording program; at least one flush of its has succeeded when it is there."""

    def __init__(self, command, env=()):
        self.process = subprocess.Popen(list(map(str, command)), env={**recorded.ENVIRONMENT, **dict(env)},
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.pid = int(self.process.stdout.readline())
        self.first_count = int(self.process.stdout.readline())

    def kill(self):
        """Kills it; returns how many scopes it has said to be safe, and its standard error."""
        os.kill(self.pid, signal.SIGKILL)
        out, err = self.process.communicate()
        whole_lines = out.split(b"\n")[:-1]
        return int(whole_lines[-1]) if whole_lines else self.first_count, err.decode()


def command():
    # Its process id first; exec keeps it.
    return ["sh", "-c", 'echo $$; exec "$0" "$@"', RECORD_STEADILY, SCOPES_PER_FLUSH]


def steady(trace):
    return len(trace.named("steady"))


def inflate(data):
    """The text of a gzip file, and whether the file is whole."""
    decoder = zlib.decompressobj(wbits=31)
    text = decoder.decompress(data)
    return text, decoder.eof and not decoder.unused_data


class KillTest(unittest.TestCase):
    def setUp(self):
        self.folder = recorded.folder("kill")
        self.draw = random.Random(5)

    def kill_at_some_moment(self, victim, growing, aimed):
        if aimed:
            # Flushes come every few milliseconds: inside of one of the next.
            for _ in range(self.draw.randint(1, 8)):
                wait_for_a_change(growing)
        else:
            # Whatever it does then: that is the point.
            try:
                victim.process.wait(timeout=self.draw.uniform(0, 0.03))
            except subprocess.TimeoutExpired:
                pass
        return victim.kill()

    def kill_often(self, name, times):
        """Yields (the file that is left, how many scopes were flushed)."""
        for i in range(times):
            path = self.folder / str(i) / name
            growing = path.with_name(name + ".tmp")
            victim = Victim(command(), {"FERRET_EXPORT": f"chrome_trace:{path}"})
            flushed, err = self.kill_at_some_moment(victim, growing, aimed=i % 2 == 0)
            self.assertEqual((victim.process.returncode, err), (-signal.SIGKILL, ""))
            self.assertEqual(list(path.parent.iterdir()), [growing])
            yield growing, flushed

    def test_plain_trace_is_valid_and_has_what_was_flushed_fifty_times_of_fifty(self):
        most = 0
        for file, flushed in self.kill_often("x.json", 50):
            trace = trace_checks.load(file)
            self.assertEqual(trace_checks.check(trace), [])
            self.assertGreaterEqual(steady(trace), flushed)
            self.assertGreater(flushed, 0)
            most = max(most, flushed)
        self.assertGreater(most, SCOPES_PER_FLUSH, "some lived on for a while")
        print(f"50 kills, up to {most} scopes flushed before")

    def test_gzipped_trace_has_what_was_flushed_and_is_nearly_always_whole(self):
        whole = 0
        for file, flushed in self.kill_often("x.json.gz", 30):
            text, ended = inflate(file.read_bytes())
            self.assertGreaterEqual(text.count(b'"steady"'), flushed)
            if ended:
                json.loads(text)
                whole += 1
        # A kill inside of a write, which takes microseconds, cuts off the end of the file.
        self.assertGreaterEqual(whole, 27)
        print(f"30 kills, {whole} whole")

    def test_ferret_run_gives_the_trace_of_a_killed_child_its_name(self):
        for i, name in enumerate(["x.json", "x.json.gz"] * 3):
            path = self.folder / str(i) / name
            victim = Victim([FERRET, "run", "--no-torch", "--export", f"chrome_trace:{path}", "--", *command()])
            flushed, err = self.kill_at_some_moment(victim, path.with_name(name + ".tmp"), aimed=False)
            self.assertEqual(victim.process.returncode, -signal.SIGKILL, "ferret ends as its command did")
            self.assertEqual(err, f"ferret: {path}: cut short, the process was killed\n")
            self.assertEqual(list(path.parent.iterdir()), [path])
            self.assertGreaterEqual(steady(recorded.load(path)), flushed)


if __name__ == "__main__":
    RECORD_STEADILY, FERRET = sys.argv.pop(), sys.argv.pop()
    unittest.main()
