# Copyright The Ferret Authors
# SPDX-License-Identifier: Apache-2.0
"""OpenTelemetry's own classes read the metrics that the encoders write: all of it, and the same from both forms.

    official_metric_classes_test.py WRITE_METRIC_REQUESTS
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

from google.protobuf import json_format
from google.protobuf.unknown_fields import UnknownFieldSet
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto_json.metrics.v1.metrics import MetricsData
from otlp_messages import messages_in, with_base64_ids

WRITE_METRIC_REQUESTS = None


class OfficialMetricClassesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([WRITE_METRIC_REQUESTS, folder], check=True)
            cls.pairs = []
            for path in sorted(pathlib.Path(folder).glob("*.binpb")):
                request = ExportMetricsServiceRequest.FromString(path.read_bytes())
                # Strict UTF-8, and no NaN outside of a string.
                text = path.with_suffix(".json").read_bytes().decode("utf-8")
                cls.pairs.append((request, json.loads(text, strict=True, parse_constant=lambda c: 1 / 0)))

    def test_no_field_is_unknown(self):
        self.assertEqual(len(self.pairs), 5)
        for request, _ in self.pairs:
            count = 0
            for message in messages_in(request):
                count += 1
                self.assertEqual(len(UnknownFieldSet(message)), 0)
            self.assertGreater(count, 500)

    def test_json_format_reads_the_same_from_the_json_form(self):
        for request, tree in self.pairs:
            # proto3's JSON has ids in base64, OTLP's in hex.
            tree = with_base64_ids(tree)
            parsed = json_format.ParseDict(tree, ExportMetricsServiceRequest())
            self.assertEqual(parsed.SerializeToString(deterministic=True),
                             request.SerializeToString(deterministic=True))

    def test_the_json_classes_keep_everything(self):
        exemplars = 0
        for request, tree in self.pairs:
            metrics = MetricsData.from_dict(tree).resource_metrics[0].scope_metrics[0].metrics
            expected = request.resource_metrics[0].scope_metrics[0].metrics
            self.assertEqual([m.name for m in metrics], [m.name for m in expected])
            for metric, other in zip(metrics, expected):
                self.assertEqual((metric.unit or "", metric.description or ""), (other.unit, other.description))
                if other.WhichOneof("data") == "exponential_histogram":
                    data, others = metric.exponential_histogram, other.exponential_histogram
                    self.assertEqual(int(data.aggregation_temporality), others.aggregation_temporality)
                    self.assertEqual(len(data.data_points), len(others.data_points))
                    for point, theirs in zip(data.data_points, others.data_points):
                        self.assertEqual((point.count, point.sum, point.min, point.max, point.scale, point.zero_count),
                                         (theirs.count, theirs.sum, theirs.min, theirs.max, theirs.scale,
                                          theirs.zero_count))
                        self.assertEqual(theirs.count, theirs.zero_count + sum(theirs.positive.bucket_counts))
                        if theirs.HasField("positive"):
                            self.assertEqual(point.positive.offset, theirs.positive.offset)
                            self.assertEqual(list(point.positive.bucket_counts), list(theirs.positive.bucket_counts))
                        self.assertEqual([(e.span_id, e.trace_id, e.as_double) for e in point.exemplars],
                                         [(e.span_id, e.trace_id, e.as_double) for e in theirs.exemplars])
                        exemplars += len(point.exemplars)
                        self.assertEqual([a.key for a in point.attributes], [a.key for a in theirs.attributes])
                elif other.WhichOneof("data") == "sum":
                    self.assertEqual((int(metric.sum.aggregation_temporality), bool(metric.sum.is_monotonic)),
                                     (other.sum.aggregation_temporality, other.sum.is_monotonic))
                    self.assertEqual([p.as_int for p in metric.sum.data_points],
                                     [p.as_int for p in other.sum.data_points])
                else:
                    self.assertEqual([p.as_int for p in metric.gauge.data_points],
                                     [p.as_int for p in other.gauge.data_points])
        self.assertGreater(exemplars, 20)


if __name__ == "__main__":
    WRITE_METRIC_REQUESTS = sys.argv.pop(1)
    unittest.main()
