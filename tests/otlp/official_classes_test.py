# Copyright The Ferret Authors
# SPDX-License-Identifier: Apache-2.0
"""OpenTelemetry's own classes read what the encoders write: all of it, and the same from both forms.

    official_classes_test.py WRITE_REQUESTS
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

from google.protobuf import json_format
from google.protobuf.unknown_fields import UnknownFieldSet
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto_json.trace.v1.trace import TracesData
from otlp_messages import messages_in, with_base64_ids

WRITE_REQUESTS = None


class OfficialClassesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        subprocess.run([WRITE_REQUESTS, cls.folder.name], check=True)
        cls.pairs = []
        for path in sorted(pathlib.Path(cls.folder.name).glob("*.binpb")):
            request = ExportTraceServiceRequest.FromString(path.read_bytes())
            # Strict UTF-8, and no NaN outside of a string.
            text = path.with_suffix(".json").read_bytes().decode("utf-8")
            cls.pairs.append((request, json.loads(text, strict=True, parse_constant=lambda c: 1 / 0)))

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_no_field_is_unknown(self):
        self.assertEqual(len(self.pairs), 5)
        for request, _ in self.pairs:
            count = 0
            for message in messages_in(request):
                count += 1
                self.assertEqual(len(UnknownFieldSet(message)), 0)
            self.assertGreater(count, 3000)

    def test_json_format_reads_the_same_from_the_json_form(self):
        for request, tree in self.pairs:
            # proto3's JSON has ids in base64, OTLP's in hex.
            tree = with_base64_ids(tree)
            parsed = json_format.ParseDict(tree, ExportTraceServiceRequest())
            self.assertEqual(parsed.SerializeToString(deterministic=True),
                             request.SerializeToString(deterministic=True))

    def test_the_json_classes_keep_everything(self):
        for request, tree in self.pairs:
            data = TracesData.from_dict(tree)
            spans = data.resource_spans[0].scope_spans[0].spans
            expected = request.resource_spans[0].scope_spans[0].spans
            self.assertEqual(len(spans), len(expected))
            for span, other in zip(spans, expected):
                self.assertEqual((span.trace_id, span.span_id, span.parent_span_id or b"", span.name),
                                 (other.trace_id, other.span_id, other.parent_span_id, other.name))
                self.assertEqual((span.start_time_unix_nano, span.end_time_unix_nano, int(span.kind), span.flags),
                                 (other.start_time_unix_nano, other.end_time_unix_nano, other.kind, other.flags))
                self.assertEqual([a.key for a in span.attributes], [a.key for a in other.attributes])
                self.assertEqual([e.time_unix_nano for e in span.events], [e.time_unix_nano for e in other.events])
                self.assertEqual([link.span_id for link in span.links], [link.span_id for link in other.links])

    def test_parents_are_there_and_links_resolve(self):
        for request, _ in self.pairs:
            spans = request.resource_spans[0].scope_spans[0].spans
            ids = {span.span_id for span in spans}
            self.assertEqual(len(ids), len(spans))
            self.assertEqual(sum(span.parent_span_id == b"" for span in spans), 1)
            self.assertTrue(all(span.parent_span_id in ids for span in spans if span.parent_span_id))
            links = [link for span in spans for link in span.links]
            self.assertGreater(len(links), 10)
            self.assertTrue(all(link.span_id in ids and link.trace_id == spans[0].trace_id for link in links))


if __name__ == "__main__":
    WRITE_REQUESTS = sys.argv.pop(1)
    unittest.main()
