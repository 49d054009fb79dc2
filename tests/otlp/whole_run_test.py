# Copyright The Ferret Authors
# SPDX-License-Identifier: Apache-2.0
"""A real program's run in an OTLP file: every event is there, as the Chrome trace of the same session has it.

    whole_run_test.py TRAIN_MLP
"""
import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

from google.protobuf import json_format
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData
from otlp_messages import attributes, with_base64_ids

TRAIN_MLP = None
OWN = ("Ferret Run", "Ferret Record", "Ferret Instants", "Ferret Memory")


class WholeRunTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        path = pathlib.Path(cls.folder.name)
        environment = dict(os.environ, OTEL_SERVICE_NAME="mlp", OTEL_RESOURCE_ATTRIBUTES="team=a%20b",
                           FERRET_EXPORT=f"otlp_file:{path}/run.jsonl?size=2MB,chrome_trace:{path}/t.json")
        subprocess.run([TRAIN_MLP], env=environment, check=True, stdout=subprocess.DEVNULL)
        cls.files = sorted(path.glob("run-part*.jsonl"), key=lambda file: int(file.stem.removeprefix("run-part")))
        cls.requests = [json_format.ParseDict(with_base64_ids(json.loads(line)), TracesData())
                        for file in cls.files for line in file.read_text(encoding="utf-8").splitlines()]
        cls.spans = [span for request in cls.requests for span in request.resource_spans[0].scope_spans[0].spans]
        cls.trace = json.loads((path / "t.json").read_text(encoding="utf-8"))

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_every_event_of_the_chrome_trace_is_a_span_with_the_same_times(self):
        base = self.trace["baseTimeNanoseconds"]
        expected = collections.Counter()
        for event in self.trace["traceEvents"]:
            if event["ph"] == "X" and event["cat"] in ("cpu_op", "user_annotation"):
                start = base + round(event["ts"] * 1000)
                expected[event["name"], start, start + round(event["dur"] * 1000), event["tid"]] += 1
        got = collections.Counter()
        for span in self.spans:
            if span.name in OWN:
                continue
            known = attributes(span)
            name = f"ProfilerStep#{known['ferret.step']}" if "ferret.step" in known else span.name
            got[name, span.start_time_unix_nano, span.end_time_unix_nano, known["thread.id"]] += 1
        self.assertGreater(sum(expected.values()), 30000)
        self.assertEqual(got, expected)

    def test_the_tree_is_whole(self):
        ids = {span.span_id for span in self.spans}
        self.assertEqual(len(ids), len(self.spans))
        self.assertEqual({span.trace_id for span in self.spans}, {self.spans[0].trace_id})
        self.assertEqual([span.name for span in self.spans if not span.parent_span_id], ["Ferret Run"])
        self.assertTrue(all(span.parent_span_id in ids for span in self.spans if span.parent_span_id))
        arrows = sum(event["ph"] == "s" for event in self.trace["traceEvents"])
        links = [link.span_id for span in self.spans for link in span.links]
        self.assertEqual(len(links), arrows)
        self.assertTrue(ids.issuperset(links))

    def test_the_record_closes_the_last_file(self):
        self.assertGreater(len(self.files), 3)
        self.assertEqual(self.spans[-1].name, "Ferret Record")
        record = attributes(self.spans[-1])
        written = sum(span.name not in OWN for span in self.spans) + sum(len(span.events) for span in self.spans)
        self.assertEqual(record["ferret.events"], written)
        self.assertFalse([key for key in record if key.startswith("ferret.lost.")])

    def test_the_resource_is_on_every_line(self):
        for request in self.requests:
            resource = {a.key: a.value for a in request.resource_spans[0].resource.attributes}
            self.assertEqual(resource["service.name"].string_value, "mlp")
            self.assertEqual(resource["team"].string_value, "a b")
            self.assertEqual(resource["process.executable.name"].string_value, "train_mlp")


if __name__ == "__main__":
    TRAIN_MLP = sys.argv.pop(1)
    unittest.main()
