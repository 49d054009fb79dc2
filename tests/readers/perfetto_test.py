# Copyright The Ferret Authors
# SPDX-License-Identifier: Apache-2.0
"""Perfetto's engine loads what Ferret writes without a complaint, and shows what was recorded.

    python3 perfetto_test.py TRAIN_MLP RECORD_EVERYTHING RECORD_NAMES
"""
import collections
import json
import sys
import unittest

import hostile_names
import perfetto_engine
import recorded

TRAIN_MLP = RECORD_EVERYTHING = RECORD_NAMES = None


def _is_plain(name):
    return 0 < len(name) < 1000 and all(c >= " " and c not in '"\\\x7f' for c in name)


class PerfettoTest(unittest.TestCase):
    maxDiff = 2000

    def assert_shows(self, engine, trace):
        """Nothing dropped, nothing added: the engine has exactly what the file has."""
        counts = recorded.Counts(trace)
        self.assertEqual(engine.complaints(), [])
        self.assertEqual(engine.value("select count(*) n from slice"), counts.viewer_slices)
        self.assertEqual(engine.value("select count(*) n from flow"), counts.arrows)
        self.assertEqual(engine.value("select count(*) n from counter"), counts.counters)
        self.assertEqual(engine.value("select ifnull(sum(dur < 0), 0) n from slice"), 0, "no slice without an end")
        # The engine shows most escape sequences as they stand in the file: names with any are told by their number.
        expected = collections.Counter(e["name"] for e in trace.events if e["ph"] in "Xib")
        # And it crashes when it sorts names of thousands of equal characters, so SQLite has to.
        names = {row["name"]: row["n"] for row in engine.rows("""
            with short as materialized (select name || '' as name from slice where length(name) < 1000)
            select name, count(*) n from short group by name""")}
        self.assertEqual({name: names.get(name) for name in expected if _is_plain(name)},
                         {name: n for name, n in expected.items() if _is_plain(name)})
        print(f"{self.id()}: {counts.viewer_slices} slices, {counts.arrows} flows, {counts.counters} counter values")
        return counts

    def assert_accounts(self, trace, attempted):
        """Every attempt is in the file, or is counted as lost; returns how many were lost."""
        counts = recorded.Counts(trace)
        lost = recorded.account(trace)["lost"]["total"]
        wanted = attempted["slices"] + attempted["async"] + attempted["instants"] + attempted["counters"]
        # A step that finds no room may count as lost as well, although it would have made no event of its own.
        self.assertIn(counts.delivered + lost - wanted, {0, attempted["steps"] - counts.steps})
        self.assertEqual(lost, attempted["lost"])
        return lost

    def test_training_in_cpp_plain_and_gzipped(self):
        for name in ("trace.json", "trace.json.gz"):
            path = recorded.folder("mlp") / name
            recorded.record(TRAIN_MLP, path)
            trace = recorded.load(path)
            with perfetto_engine.load(path) as engine:
                counts = self.assert_shows(engine, trace)
                self.assertEqual((counts.slices, counts.steps, counts.counters), (38800, 200, 200))
                self.assertEqual(counts.arrows, 19200, "one for each forward operator")
                # From the forward operator on the main thread to its backward on the engine's.
                (ends,) = engine.rows("""
                    select count(*) n, sum(o.name in ('linear', 'tanh')) out,
                           sum(i.name in ('LinearBackward', 'TanhBackward')) 'in', sum(o.track_id = i.track_id) same
                    from flow join slice o on o.id = slice_out join slice i on i.id = slice_in""")
                self.assertEqual(ends, {"n": 19200, "out": 19200, "in": 19200, "same": 0})

    def test_threads_and_args_are_readable(self):
        path = recorded.folder("labels") / "trace.json"
        recorded.record(TRAIN_MLP, path)
        with perfetto_engine.load(path) as engine:
            threads = [row["name"] for row in engine.rows(
                "select distinct thread.name from thread_track join thread using (utid) join slice on track_id = "
                "thread_track.id where category = 'cpu_op' order by 1")]
            self.assertEqual(len(threads), 2)
            self.assertRegex(threads[0], r"^thread \d+ \((train_mlp|backward)\)$")
            self.assertEqual({t.partition("(")[2] for t in threads}, {"train_mlp)", "backward)"})
            self.assertEqual(engine.rows("select distinct process.name from slice join thread_track on track_id = "
                                         "thread_track.id join thread using (utid) join process using (upid) "
                                         "where category = 'cpu_op'"), [{"name": "train_mlp"}])
            (args,) = engine.rows("""
                select extract_arg(arg_set_id, 'args.Sequence number') number,
                       extract_arg(arg_set_id, 'args.Fwd thread id') thread, extract_arg(arg_set_id, 'args.Ev Idx') idx
                from slice where name = 'LinearBackward' order by ts limit 1""")
            self.assertEqual(args["number"], 2, "the last operator's backward comes first")
            self.assertIn(args["thread"], {1, 2})
            self.assertGreater(args["idx"], 0)
            (track,) = engine.rows("select name, count(*) n from counter_track join counter on track_id = "
                                   "counter_track.id group by name")
            self.assertEqual((track["name"].strip(), track["n"]), ("loss value", 200))

    def test_every_kind_of_record(self):
        path = recorded.folder("everything") / "trace.json.gz"
        steps = 10
        said = recorded.record(RECORD_EVERYTHING, path, steps, 300)
        attempted = {**json.loads(said), "steps": steps}
        trace = recorded.load(path)
        self.assertEqual(self.assert_accounts(trace, attempted), 0)
        with perfetto_engine.load(path) as engine:
            counts = self.assert_shows(engine, trace)
            self.assertEqual(counts.steps, steps)
            self.assertEqual(counts.arrows, steps * 600)
            self.assertEqual(engine.value("select count(*) n from slice where name in ('send', 'receive')"),
                             attempted["async"])
            self.assertGreater(counts.async_pairs, 0, "more at once than there are tracks")
            # An operator inside of an item inside of all items, whatever else went on.
            self.assertEqual(engine.value("""
                select count(*) n from slice s join slice p on p.id = s.parent_id join slice g on g.id = p.parent_id
                join slice gg on gg.id = g.parent_id
                where s.name = 'inner' and p.name = 'mul' and g.name = 'item' and gg.name = 'items'"""), steps * 900)

    def test_losses_leave_a_trace_that_is_whole_and_says_how_many(self):
        path = recorded.folder("losses") / "trace.json"
        steps = 10
        said = recorded.record(RECORD_EVERYTHING, path, steps, 2000, env={"FERRET_BUFFER_SIZE": "128K"})
        attempted = {**json.loads(said), "steps": steps}
        trace = recorded.load(path)
        self.assertGreater(self.assert_accounts(trace, attempted), 0, "the load was too small for this test")
        with perfetto_engine.load(path) as engine:
            counts = self.assert_shows(engine, trace)
            self.assertGreater(counts.places_of_loss, 0)
            self.assertEqual(engine.value("select extract_arg(arg_set_id, 'args.lost.total') n from slice "
                                          "where name = 'Ferret Record'"), attempted["lost"])
            print(f"{attempted['lost']} lost at {counts.places_of_loss} places, {counts.delivered} delivered")

    def test_hostile_names(self):
        path = recorded.folder("names") / "trace.json"
        recorded.record(RECORD_NAMES, path, stdin=hostile_names.as_input(hostile_names.NAMES))
        with perfetto_engine.load(path) as engine:
            counts = self.assert_shows(engine, recorded.load(path))
            self.assertEqual(counts.delivered, 6 * len(hostile_names.NAMES))

    def test_a_trace_that_is_cut_off_is_refused(self):
        # So that the other tests can fail.
        folder = recorded.folder("cut")
        recorded.record(TRAIN_MLP, folder / "whole.json")
        (folder / "cut.json").write_bytes((folder / "whole.json").read_bytes()[:100000])
        with self.assertRaisesRegex(RuntimeError, "refuses"):
            with perfetto_engine.load(folder / "cut.json"):
                pass

    def test_slices_that_cross_are_complained_about(self):
        path = recorded.folder("crossing") / "trace.json"
        crossing = [{"ph": "X", "name": name, "cat": "cpu_op", "pid": 1, "tid": 1, "ts": ts, "dur": 10}
                    for name, ts in (("a", 1), ("b", 5))]
        path.write_text(json.dumps({"traceEvents": crossing}))
        with perfetto_engine.load(path) as engine:
            self.assertEqual([row["value"] for row in engine.complaints()], [1])


if __name__ == "__main__":
    RECORD_NAMES, RECORD_EVERYTHING, TRAIN_MLP = sys.argv.pop(), sys.argv.pop(), sys.argv.pop()
    unittest.main()
