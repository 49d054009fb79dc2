# Copyright The Ferret Authors
# SPDX-License-Identifier: Apache-2.0
"""A long run is sent in flat memory and little traffic, and its histograms hold every scope that was not lost.

    flat_run_test.py STEPS SCOPES_PER_STEP STEPS_PER_SECOND RUN_STEPS
"""
import collections
import gzip
import http.server
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import unittest

from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2 as metrics_service
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2 as trace_service

from otlp_messages import attributes

STEPS = SCOPES = PER_SECOND = RUN_STEPS = None
EVERY = 100


class Counting(http.server.ThreadingHTTPServer):
    """Keeps sums, not spans."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.lock = threading.Lock()
        self.bytes = collections.Counter()   # by signal
        self.spans = collections.Counter()   # by name
        self.with_detail = 0                 # steps
        self.record = None
        self.operators = collections.Counter()  # counts of ferret.op.duration by name
        self.op_seconds = 0
        self.steps = 0                          # count of ferret.step.duration

    def take_traces(self, body):
        for resource in trace_service.ExportTraceServiceRequest.FromString(body).resource_spans:
            for scope in resource.scope_spans:
                for span in scope.spans:
                    self.spans[span.name] += 1
                    if span.name == "ProfilerStep":
                        self.with_detail += attributes(span)["ferret.detail"] != "none"
                    elif span.name == "Ferret Record":
                        self.record = attributes(span)

    def take_metrics(self, body):
        for resource in metrics_service.ExportMetricsServiceRequest.FromString(body).resource_metrics:
            for scope in resource.scope_metrics:
                for metric in scope.metrics:
                    for point in metric.exponential_histogram.data_points:
                        if metric.name == "ferret.op.duration":
                            self.operators[attributes(point)["ferret.op.name"]] += point.count
                            self.op_seconds += point.sum
                        elif metric.name == "ferret.step.duration":
                            self.steps += point.count


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        with self.server.lock:
            signal = self.path.rpartition("/")[2]
            self.server.bytes[signal] += len(body)
            if self.headers.get("content-encoding") == "gzip":
                body = gzip.decompress(body)
            getattr(self.server, f"take_{signal}")(body)
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()


class FlatRunTest(unittest.TestCase):
    def run_program(self, sampling):
        """What the receiver has, what the program said, and the table of the same run."""
        with tempfile.TemporaryDirectory() as folder, Counting() as receiver:
            threading.Thread(target=receiver.serve_forever, daemon=True).start()
            table = pathlib.Path(folder) / "table.json"
            environment = {key: value for key, value in os.environ.items() if not key.startswith(("OTEL_", "FERRET_"))}
            # Small bounds, so that what may grow up to a bound has reached it in the first tenth.
            environment.update(
                FERRET_EXPORT=f"otlp:http://127.0.0.1:{receiver.server_address[1]}?interval=1s&{sampling},"
                              f"table:{table}?format=json",
                FERRET_BUFFER_SIZE="4M", FERRET_EXPORTER_QUEUE="4M", FERRET_OVERFLOW="block")
            result = subprocess.run([RUN_STEPS, "stop", str(STEPS), str(SCOPES), str(PER_SECOND)], env=environment,
                                    check=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            self.assertNotIn("could not be delivered", result.stderr)
            receiver.shutdown()
            return receiver, json.loads(result.stdout), json.loads(table.read_text(encoding="utf-8"))

    def check_sums(self, receiver, said, table):
        """Every scope is in the histograms, or counted as lost by the recorder or in front of the exporter."""
        lost = {key.rpartition(".")[2]: value for key, value in receiver.record.items()
                if key.startswith("ferret.lost.")}
        total = receiver.record.get("ferret.lost.total", sum(lost.values()))
        dropped = lost.get("exporter_dropped", 0)
        self.assertEqual(said["attempted"], STEPS * SCOPES)
        self.assertEqual(total, said["lost"] + dropped)
        (row,) = [row for row in table["rows"] if row["key"] == "scope"]
        # The exporter drops batches, and a batch holds steps, too, which nobody attempts.
        print(f"{said['attempted']} attempted: {receiver.operators['scope']} in histograms, {row['count']} in the table, "
              f"lost {lost}; spans {dict(receiver.spans)}; bytes {dict(receiver.bytes)}; "
              f"{said['kb_after_tenth']} KB after the first tenth, {said['kb_highest_after']} KB at most after it")
        self.assertEqual(receiver.operators["scope"] + total, said["attempted"])
        self.assertEqual(row["count"] + said["lost"] + table["lost"]["exporter_dropped"], said["attempted"])
        if max(total, said["lost"] + table["lost"]["exporter_dropped"]) == 0:
            self.assertAlmostEqual(receiver.op_seconds, row["cpu_time_total_ns"] / 1e9, places=9)
        self.assertEqual(list(receiver.operators), ["scope"])
        self.assertGreater(receiver.operators["scope"], said["attempted"] / 2)
        self.assertEqual(receiver.spans["ProfilerStep"], receiver.steps)
        self.assertEqual(sum(receiver.spans.values()), receiver.record["ferret.spans.sent"])
        self.assertEqual(receiver.record["ferret.spans.sent"] - receiver.spans["ProfilerStep"] - 2
                         + receiver.record["ferret.spans.not_sampled"] + receiver.record["ferret.spans.cut"],
                         receiver.operators["scope"])
        self.assertLess((said["kb_highest_after"] - said["kb_after_tenth"]) / 1024, 16)

    def test_steps_without_detail_cost_some_kilobytes_at_most(self):
        receiver, said, table = self.run_program("detail=none")
        self.check_sums(receiver, said, table)
        self.assertEqual(receiver.spans["scope"], 0)
        self.assertLess(receiver.bytes["traces"] / STEPS, 1024)
        self.assertLess(receiver.bytes["metrics"], 1 << 20)

    def test_sampled_steps_are_whole_and_memory_is_flat(self):
        receiver, said, table = self.run_program(f"every={EVERY}&slow=0&hold=2MiB")
        self.check_sums(receiver, said, table)
        self.assertGreater(receiver.with_detail, 0)
        if receiver.operators["scope"] == said["attempted"]:
            self.assertGreaterEqual(receiver.with_detail, STEPS // EVERY)
            self.assertGreaterEqual(receiver.spans["scope"] + receiver.record["ferret.spans.cut"],
                                    receiver.with_detail * SCOPES)
        self.assertLessEqual(receiver.with_detail, STEPS // EVERY + 1)


if __name__ == "__main__":
    RUN_STEPS = os.path.abspath(sys.argv.pop())
    PER_SECOND, SCOPES, STEPS = (int(sys.argv.pop()) for _ in range(3))
    unittest.main()
