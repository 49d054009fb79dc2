# Copyright The Ferret Authors
# SPDX-License-Identifier: Apache-2.0
"""rotel, a collector in Rust, as a process that lasts as long as a test."""
import pathlib
import socket
import subprocess
import tempfile

import rotel


class Rotel:
    """With what `exporter` says (options of its command) it sends on what it gets at http_url and grpc_url."""

    def __init__(self, *exporter):
        self.exporter = exporter

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory()
        # Nobody else binds ports that are given away like this before they are used, but by accident.
        sockets = [socket.socket() for _ in range(2)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        http, grpc = (each.getsockname()[1] for each in sockets)
        for each in sockets:
            each.close()
        self.http_url, self.grpc_url = f"http://127.0.0.1:{http}", f"http://127.0.0.1:{grpc}"
        agent = pathlib.Path(rotel.__file__).parent / "rotel-agent"
        self.log = open(pathlib.Path(self.folder.name) / "log", "wb")
        self.process = subprocess.Popen(
            [agent, "start", "--otlp-grpc-endpoint", f"127.0.0.1:{grpc}", "--otlp-http-endpoint", f"127.0.0.1:{http}",
             *self.exporter, "--pid-file", f"{self.folder.name}/pid"], stdout=self.log, stderr=self.log)
        for port in (http, grpc):
            while True:
                try:
                    socket.create_connection(("127.0.0.1", port)).close()
                    break
                except ConnectionRefusedError:
                    assert self.process.poll() is None, "rotel has ended"
        return self

    def stop(self):
        """It sends what it has, then ends."""
        self.process.terminate()
        self.process.wait()

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.log.close()
        self.folder.cleanup()

    def url(self, protocol):
        return self.grpc_url if protocol == "grpc" else self.http_url
