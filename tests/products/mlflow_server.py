# Copyright The Ferret Authors
# SPDX-License-Identifier: Apache-2.0
"""An MLflow server as a process that lasts as long as a test, and what it has kept."""
import base64
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import threading

os.environ["MLFLOW_DISABLE_TELEMETRY"] = "true"  # of the server, and of the client below
os.environ["MLFLOW_ENABLE_ASYNC_LOGGING"] = "false"

import mlflow  # noqa: E402


class MlflowServer:
    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        with socket.socket() as bound:  # nobody else binds it before it is used, but by accident
            bound.bind(("127.0.0.1", 0))
            port = bound.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        # A session of its own, since it has children.
        self.process = subprocess.Popen(
            [pathlib.Path(sys.executable).parent / "mlflow", "server", "--host", "127.0.0.1", "--port", str(port),
             "--workers", "1", "--backend-store-uri", f"sqlite:///{self.folder.name}/mlflow.db",
             "--artifacts-destination", f"{self.folder.name}/artifacts"],
            cwd=self.folder.name, env=dict(os.environ, HOME=self.folder.name), start_new_session=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        said = []
        for line in self.process.stdout:
            said.append(line)
            if "Application startup complete" in line:
                break
        else:
            raise AssertionError("the server has ended: " + "".join(said))
        threading.Thread(target=self.process.stdout.read, daemon=True).start()
        mlflow.set_tracking_uri(self.url)
        self.experiment = mlflow.create_experiment("training")
        return self

    def __exit__(self, *_):
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.folder.cleanup()

    def spans(self):
        """By trace and id, in the words of `kept` in the test."""
        traces = mlflow.search_traces(locations=[self.experiment], return_type="list")
        return {(span["trace"], span["id"]): span for trace in traces for span in map(_as_told, trace.data.spans)}

    def page_of(self, trace):
        return f"{self.url}/#/experiments/{self.experiment}/traces?selectedEvaluationId=tr-{trace}"


def _as_told(span):
    told = span.to_dict()
    attributes = {key: json.loads(value) for key, value in told["attributes"].items()}
    del attributes["mlflow.traceRequestId"]  # its own
    return {"trace": _hex(told["trace_id"]), "id": _hex(told["span_id"]), "parent": _hex(told["parent_span_id"]),
            "name": told["name"], "start": told["start_time_unix_nano"], "end": told["end_time_unix_nano"],
            "attributes": attributes,
            "events": [(e["name"], e["time_unix_nano"], e["attributes"]) for e in told["events"]],
            "links": [(link["trace_id"].removeprefix("tr-"), link["span_id"], link["attributes"])
                      for link in told["links"]]}


def _hex(text):
    return base64.b64decode(text or "").hex()
