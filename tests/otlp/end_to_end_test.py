# Copyright The Ferret Authors
# SPDX-License-Identifier: Apache-2.0
"""A real training run, sent while it lasts to two receivers that know nothing of Ferret: OpenTelemetry's own classes, and
rotel, a collector in Rust, which sends on what it has understood. In every protocol.

    end_to_end_test.py TRAIN_MLP
"""
import collections
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

from otlp_messages import attributes
from receiver import Receiver
from rotel_process import Rotel

TRAIN_MLP = None
OWN = ("Ferret Run", "Ferret Record", "Ferret Instants", "Ferret Memory")


def run(exporters, **variables):
    environment = {key: value for key, value in os.environ.items() if not key.startswith("OTEL_")}
    # Where libferret_otlp_grpc.so is: the program is not beside it.
    environment.update({"FERRET_STOP_DEADLINE": "5m"}, LD_LIBRARY_PATH=os.getcwd(), FERRET_EXPORT=",".join(exporters),
                       **variables)
    return subprocess.run([TRAIN_MLP], env=environment, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                          encoding="utf-8").stderr


def rounded(span):
    """As text. The collector's JSON parser is wrong in the last bit of a double now and then."""
    return re.sub(r"double_value: (\S+)", lambda match: f"double_value: {float(match[1]):.14g}", str(span))


class EndToEndTest(unittest.TestCase):
    maxDiff = 5000

    def check_run(self, protocol):
        with tempfile.TemporaryDirectory() as folder, Receiver() as direct, Receiver() as behind, \
                Rotel("--exporter", "otlp", "--otlp-exporter-protocol", "http",
                      "--otlp-exporter-endpoint", behind.http_url) as collector:
            trace = pathlib.Path(folder) / "t.json"
            errors = run([f"otlp:{direct.url(protocol)}?protocol={protocol}&detail=all&compression=gzip",
                          f"otlp:{collector.url(protocol)}?protocol={protocol}&detail=all", f"chrome_trace:{trace}"],
                         OTEL_SERVICE_NAME="mlp", RANK="3", WORLD_SIZE="8", TORCHELASTIC_RUN_ID="job-1")
            collector.stop()
            (trace,) = pathlib.Path(folder).glob("t*.json")  # the name says the rank, too
            trace = json.loads(trace.read_text(encoding="utf-8"))
        self.assertNotIn("did not get", errors)
        self.assertEqual(direct.unknown, 0)
        self.assertEqual({how[1] for how in direct.requests}, {protocol})
        self.check_events(direct.spans, trace)
        self.check_tree(direct.spans, trace)
        self.check_resources(direct)
        self.check_metrics(direct, trace)
        # The collector has understood every span as it was meant.
        self.check_same(behind.spans, direct.spans)
        if protocol != "http/json":  # it answers 200 to histograms in JSON, and drops them
            names = {metric.name for metric in direct.metrics}
            self.assertEqual({metric.name for metric in behind.metrics}, names)
            self.assertEqual(sum(point.count for point in behind.points("ferret.op.duration")),
                             sum(point.count for point in direct.points("ferret.op.duration")))

    def check_same(self, spans, others):
        def by_id(all_spans):
            return {(span.trace_id, span.span_id): span for span in all_spans}

        spans, others = by_id(spans), by_id(others)
        self.assertEqual(spans.keys(), others.keys())
        for key, span in spans.items():
            self.assertEqual(rounded(span), rounded(others[key]))

    def check_events(self, spans, trace):
        base = trace["baseTimeNanoseconds"]
        expected = collections.Counter()
        for event in trace["traceEvents"]:
            if event["ph"] == "X" and event["cat"] in ("cpu_op", "user_annotation"):
                start = base + round(event["ts"] * 1000)
                expected[event["name"], start, start + round(event["dur"] * 1000), event["tid"]] += 1
        got = collections.Counter()
        for span in spans:
            known = attributes(span)
            if span.name in OWN or "ferret.phase" in known:
                continue
            name = f"ProfilerStep#{known['ferret.step']}" if "ferret.step" in known else span.name
            got[name, span.start_time_unix_nano, span.end_time_unix_nano, known["thread.id"]] += 1
        self.assertGreater(sum(expected.values()), 30000)
        self.assertEqual(got, expected)

    def check_tree(self, spans, trace):
        ids = {(span.trace_id, span.span_id) for span in spans}
        self.assertEqual(len(ids), len(spans))
        for span in spans:
            self.assertEqual((len(span.trace_id), len(span.span_id)), (16, 8))
            self.assertTrue(any(span.trace_id) and any(span.span_id))
            self.assertEqual(span.kind, 1)
            self.assertGreaterEqual(span.end_time_unix_nano, span.start_time_unix_nano)
            if span.parent_span_id:
                self.assertIn((span.trace_id, span.parent_span_id), ids)
        roots = collections.Counter(span.name for span in spans if not span.parent_span_id)
        steps = sum(event["ph"] == "X" and event["name"].startswith("ProfilerStep#") for event in trace["traceEvents"])
        self.assertEqual(roots, {"Ferret Run": 1, "ProfilerStep": steps})
        self.assertEqual(len({span.trace_id for span in spans}), steps + 1)
        links = collections.Counter()
        for span in spans:
            for link in span.links:
                links[attributes(link)["ferret.link.type"]] += 1
                self.assertIn((link.trace_id, link.span_id), ids)
        arrows = sum(event["ph"] == "s" for event in trace["traceEvents"])
        self.assertEqual(links, {"run": steps, "forward": arrows})
        phases = collections.Counter(attributes(span).get("ferret.phase") for span in spans)
        for phase in ("forward", "backward"):
            self.assertGreaterEqual(phases[phase], steps, phase)

    def check_resources(self, receiver):
        for resource in receiver.resources:
            known = attributes(resource)
            self.assertEqual(known["service.name"], "mlp")
            self.assertEqual((known["ferret.rank"], known["ferret.world_size"], known["ferret.job_id"]), (3, 8, "job-1"))
            self.assertEqual(known["process.executable.name"], "train_mlp")

    def check_metrics(self, receiver, trace):
        expected = collections.defaultdict(list)
        for event in trace["traceEvents"]:
            if event["ph"] == "X" and event["cat"] in ("cpu_op", "user_annotation"):
                expected[event["name"]].append(round(event["dur"] * 1000))
        steps = [ns for name, all_ns in expected.items() if name.startswith("ProfilerStep#") for ns in all_ns]
        expected = {name: ns for name, ns in expected.items() if not name.startswith("ProfilerStep#")}
        points = collections.defaultdict(list)
        for point in receiver.points("ferret.op.duration"):
            points[attributes(point)["ferret.op.name"]].append(point)
        self.assertEqual(points.keys(), expected.keys())
        spans = {(span.trace_id, span.span_id): span for span in receiver.spans}
        exemplars = 0
        for name, all_ns in expected.items():
            self.assertEqual(sum(point.count for point in points[name]), len(all_ns))
            self.assertAlmostEqual(sum(point.sum for point in points[name]), sum(all_ns) / 1e9, places=12)
            self.assertEqual(max(point.max for point in points[name]), max(all_ns) / 1e9)
            self.assertEqual(min(point.min for point in points[name]), min(all_ns) / 1e9)
            for point in points[name]:
                self.assertEqual(sum(point.positive.bucket_counts) + point.zero_count, point.count)
                for exemplar in point.exemplars:
                    span = spans[exemplar.trace_id, exemplar.span_id]
                    self.assertEqual(span.name, name)
                    self.assertEqual(exemplar.as_double, (span.end_time_unix_nano - span.start_time_unix_nano) / 1e9)
                    exemplars += 1
        self.assertGreater(exemplars, len(expected) // 2)
        self.assertEqual(sum(point.count for point in receiver.points("ferret.step.duration")), len(steps))
        phases = {attributes(point)["ferret.phase"] for point in receiver.points("ferret.phase.duration")}
        self.assertEqual(phases, {"forward", "backward"})
        self.assertGreater(sum(point.as_int for point in receiver.points("otel.sdk.exporter.span.exported")), 0)

    def test_http_protobuf(self):
        self.check_run("http/protobuf")

    def test_http_json(self):
        self.check_run("http/json")

    def test_grpc(self):
        self.check_run("grpc")

    def test_by_default_every_hundredth_step_has_detail_and_all_have_phases(self):
        with Receiver() as receiver:
            run(["otlp"], OTEL_EXPORTER_OTLP_ENDPOINT=receiver.http_url)
        roots = [attributes(span) for span in receiver.spans if span.name == "ProfilerStep"]
        self.assertGreater(len(roots), 50)
        detail = {known["ferret.step"] for known in roots if known["ferret.detail"] == "every"}
        self.assertEqual(detail, {step for step in range(len(roots)) if step % 100 == 0})
        self.assertTrue(all(known["ferret.phase.backward_ns"] > 0 for known in roots))
        record = next(attributes(span) for span in receiver.spans if span.name == "Ferret Record")
        self.assertEqual(record["ferret.spans.sent"], len(receiver.spans))
        self.assertEqual(record["ferret.steps"], len(roots))

    def test_a_receiver_without_metrics_gets_the_spans(self):
        with Receiver() as receiver:
            receiver.metrics_status = 404
            errors = run(["otlp"], OTEL_EXPORTER_OTLP_ENDPOINT=receiver.http_url)
        self.assertTrue(receiver.spans)
        self.assertEqual(errors.count("no more metrics are sent"), 1, errors)
        self.assertIn("404", errors)

    def test_a_run_under_a_launchers_span_says_so(self):
        with Receiver() as receiver:
            run(["otlp"], OTEL_EXPORTER_OTLP_ENDPOINT=receiver.http_url, TRACESTATE="vendor=a",
                TRACEPARENT="00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
        span = next(span for span in receiver.spans if span.name == "Ferret Run")
        self.assertEqual(span.trace_id.hex(), "0af7651916cd43dd8448eb211c80319c")
        self.assertEqual(span.parent_span_id.hex(), "b7ad6b7169203331")
        self.assertEqual((span.trace_state, span.flags), ("vendor=a", 0x301))
        steps = [span for span in receiver.spans if span.name == "ProfilerStep"]
        self.assertTrue(all(step.links[0].trace_id == span.trace_id for step in steps))

    def test_a_disabled_sdk_sends_nothing(self):
        with Receiver() as receiver:
            errors = run(["otlp"], OTEL_EXPORTER_OTLP_ENDPOINT=receiver.http_url, OTEL_SDK_DISABLED="true")
        self.assertFalse(receiver.requests)
        self.assertIn("OTEL_SDK_DISABLED", errors)


if __name__ == "__main__":
    TRAIN_MLP = sys.argv.pop(1)
    unittest.main()
