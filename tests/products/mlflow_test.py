# Copyright The Ferret Authors
# SPDX-License-Identifier: Apache-2.0
"""A PyTorch training in MLflow: what its store gives back is what OpenTelemetry's own classes have received, and its page
shows the tree of a step.

    mlflow_test.py PYTHON_WITH_TORCH FERRET TRAIN_CHARLM

The pictures are kept with the test's outputs (bazel-testlogs/tests/products/mlflow_test/test.outputs).
"""
import json
import os
import pathlib
import subprocess
import sys
import unittest

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path += [str(TESTS / "otlp"), str(TESTS / "readers")]

from browser_page import open_page  # noqa: E402
from mlflow_server import MlflowServer  # noqa: E402
from otlp_messages import attributes  # noqa: E402
from receiver import Receiver  # noqa: E402

TORCH_PYTHON = FERRET = TRAIN_CHARLM = None
PICTURES = pathlib.Path(os.environ.get("TEST_UNDECLARED_OUTPUTS_DIR", "."))
STEPS = 4


def kept(span):
    """A span as MLflow keeps it: a text that is a list in JSON becomes that list."""
    def kept_attributes(item):
        return {key: json.loads(value) if isinstance(value, str) and value.startswith("[[") else value
                for key, value in attributes(item).items()}

    return {"trace": span.trace_id.hex(), "id": span.span_id.hex(), "parent": span.parent_span_id.hex(),
            "name": span.name, "start": span.start_time_unix_nano, "end": span.end_time_unix_nano,
            "attributes": kept_attributes(span),
            "events": [(event.name, event.time_unix_nano, attributes(event)) for event in span.events],
            "links": [(link.trace_id.hex(), link.span_id.hex(), attributes(link)) for link in span.links]}


class MlflowTest(unittest.TestCase):
    maxDiff = 3000

    @classmethod
    def setUpClass(cls):
        cls.server = cls.enterClassContext(MlflowServer())
        with Receiver() as receiver:
            # It takes about a millisecond for a span: small requests, and time for each.
            how = "?steps=1&every=0&slow=0&batch=250&timeout=5m"
            environment = {key: value for key, value in os.environ.items() if not key.startswith(("OTEL_", "FERRET_"))}
            environment.update(
                FERRET_EXPORT=f"otlp:{cls.server.url}{how},otlp:{receiver.http_url}{how}&metrics=off",
                FERRET_RECORD_SHAPES="1", FERRET_PROFILE_MEMORY="1", FERRET_OVERFLOW="block", FERRET_STOP_DEADLINE="10m",
                OTEL_SERVICE_NAME="charlm",
                OTEL_EXPORTER_OTLP_HEADERS=f"x-mlflow-experiment-id={cls.server.experiment}")
            cls.said = subprocess.run(
                [FERRET, "run", "--", TORCH_PYTHON, TRAIN_CHARLM, "--steps", str(STEPS), "--blocks", "1"],
                env=environment, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True).stderr
        cls.sent = {(span["trace"], span["id"]): span for span in map(kept, receiver.spans)}
        cls.spans = cls.server.spans()

    def test_every_span_is_there_as_it_was_sent(self):
        self.assertGreater(len(self.sent), 500)
        self.assertEqual(self.spans.keys(), self.sent.keys())
        for key, span in self.sent.items():
            self.assertEqual(self.spans[key], span)
        for what in ("attributes", "events", "links", "parent"):
            self.assertTrue(any(span[what] for span in self.spans.values()), what)

    def test_a_step_is_a_trace_with_phases_and_the_chosen_one_has_its_operators(self):
        roots = [span for span in self.spans.values() if span["name"] == "ProfilerStep"]
        self.assertEqual(sorted(root["attributes"]["ferret.step"] for root in roots), list(range(STEPS)))
        for root in roots:
            inside = [span for span in self.spans.values() if span["trace"] == root["trace"]]
            phases = {span["name"] for span in inside if "ferret.phase" in span["attributes"]}
            self.assertEqual(phases, {"data", "forward", "backward", "optimizer"})
            has_operators = any(span["name"] == "aten::linear" for span in inside)
            self.assertEqual(has_operators, root["attributes"]["ferret.step"] == 1)

    def test_metrics_switch_off_with_one_line(self):
        self.assertEqual(self.said.count("no more metrics are sent"), 1, self.said)
        self.assertIn("404", self.said)
        self.assertNotIn("spans) could not be delivered", self.said)

    def test_its_page_shows_the_tree_of_a_step(self):
        root = next(span for span in self.spans.values() if span["attributes"].get("ferret.step") == 1)
        by_start = sorted((span for span in self.spans.values() if span["parent"] == root["id"]), key=lambda s: s["start"])
        with open_page(self.server.url) as (page, errors):
            page.goto(self.server.page_of(root["trace"]))
            tree = page.get_by_text("ProfilerStep", exact=True)
            tree.first.wait_for()
            for span in by_start[:2]:
                page.get_by_text(span["name"], exact=True).first.wait_for()
            page.get_by_text("ferret.step", exact=True).first.wait_for()
            page.screenshot(path=PICTURES / "mlflow.png")
            shown = page.inner_text("body")
        self.assertEqual(errors, [])
        shown = shown[shown.index("Spans\nProfilerStep"):]
        places = [shown.find(f"\n{span['name']}\n") for span in by_start[:2]]
        self.assertTrue(0 < places[0] < places[1], shown[:500])


if __name__ == "__main__":
    TORCH_PYTHON, FERRET, TRAIN_CHARLM = sys.argv[1:4]
    unittest.main(argv=sys.argv[:1] + sys.argv[4:])
