# Copyright The Ferret Authors
# SPDX-License-Identifier: Apache-2.0
"""Two ranks of a job in ClickHouse, by way of a collector: one question about all their spans has the answer that Python
finds in what OpenTelemetry's own classes have received.

    clickhouse_test.py TRAIN_MLP RECIPES
"""
import collections
import os
import pathlib
import subprocess
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "otlp"))

from clickhouse import ClickHouse  # noqa: E402
from otlp_messages import attributes  # noqa: E402
from receiver import Receiver  # noqa: E402
from rotel_process import Rotel  # noqa: E402

TRAIN_MLP = RECIPES = None
RANKS = ("0", "1")
STEPS = (5, 6, 7)


def statement(name):
    """Without the comment at the top of its file."""
    lines = (HERE / name).read_text(encoding="utf-8").splitlines(keepends=True)
    return "".join(line for line in lines if not line.startswith("--"))


TABLE = statement("otel_traces.sql")
SLOWEST = statement("slowest_ops.sql")


def train(rank, *urls):
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("OTEL_", "FERRET_"))}
    how = f"?steps={STEPS[0]}-{STEPS[-1]}&every=0&slow=0&metrics=off"
    environment.update(FERRET_EXPORT=",".join(f"otlp:{url}{how}" for url in urls), FERRET_OVERFLOW="block",
                       FERRET_STOP_DEADLINE="5m", RANK=rank, WORLD_SIZE=str(len(RANKS)), TORCHELASTIC_RUN_ID="job-1",
                       OTEL_SERVICE_NAME="mlp")
    subprocess.run([TRAIN_MLP], env=environment, check=True, stdout=subprocess.DEVNULL)


def slowest(spans, rank):
    """What SLOWEST asks, of the spans of one rank."""
    steps = {span.trace_id: attributes(span)["ferret.step"] for span in spans if span.name == "ProfilerStep"}
    calls = collections.defaultdict(list)
    for span in spans:
        known = attributes(span)
        if (span.trace_id in steps and "thread.id" in known and known.get("ferret.scope") != "user_scope"
                and span.name not in ("ProfilerStep", "Ferret Instants", "Ferret Memory")):
            calls[steps[span.trace_id], span.name].append(span.end_time_unix_nano - span.start_time_unix_nano)
    found = []
    for step in sorted({step for step, _ in calls}):
        ops = sorted((-sum(ns), op, len(ns), max(ns)) for (of, op), ns in calls.items() if of == step)
        found += [[str(value) for value in (rank, step, op, count, -total, longest)]
                  for total, op, count, longest in ops[:3]]
    return found


class ClickHouseTest(unittest.TestCase):
    maxDiff = 3000

    def test_the_slowest_operators_of_each_rank_and_step(self):
        expected, sent = [], 0
        with ClickHouse() as clickhouse:
            clickhouse.query("CREATE DATABASE otel")
            clickhouse.query(TABLE)
            with Rotel("--exporter", "clickhouse", "--clickhouse-exporter-endpoint", clickhouse.url,
                       "--clickhouse-exporter-compression", "none") as collector:
                for rank in RANKS:
                    with Receiver() as receiver:
                        train(rank, collector.http_url, receiver.http_url)
                    sent += len(receiver.spans)
                    expected += slowest(receiver.spans, rank)
                collector.stop()
            self.assertEqual(clickhouse.failures, [])
            self.assertEqual(clickhouse.rows("SELECT count(), uniqExact(TraceId, SpanId) FROM otel.otel_traces"),
                             [[str(sent), str(sent)]])
            self.assertEqual(clickhouse.rows(SLOWEST), expected)
            print(clickhouse.query(SLOWEST, "PrettySpace"))
        self.assertEqual(len(expected), 3 * len(STEPS) * len(RANKS))
        self.assertEqual({(row[0], int(row[1])) for row in expected}, {(rank, step) for rank in RANKS for step in STEPS})

    def test_the_documentation_has_this_question_and_this_table(self):
        recipes = pathlib.Path(RECIPES).read_text(encoding="utf-8")
        self.assertIn(SLOWEST, recipes)
        self.assertIn(TABLE, recipes)


if __name__ == "__main__":
    TRAIN_MLP, RECIPES = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
