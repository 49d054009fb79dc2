# Copyright The Ferret Authors
# SPDX-License-Identifier: Apache-2.0
"""What tools/bench makes of figures: aims met and missed, the page, the line of JSON, how costs grow.

    python3 bench_report_test.py BENCH_FOLDER
"""

import json
import sys
import unittest

ABOUT = {"date": "2026-11-30 12:00 UTC", "commit": "0123456789ab", "command": "./tools/bench --write", "runs": 3,
         "machine": {"cpu": "a CPU", "cores": 2, "memory_gib": 24, "kernel": "6.18", "load_before": 0.5}}


class BenchReportTest(unittest.TestCase):
    def setUp(self):
        self.rows = [Row("scope, on", "20.0 ns", "1.00 x floor", 1.0), Row("op scope, on", "27.6 ns", "1.38 x floor", 1.38),
                     Row("floor: a | b", "20.0 ns")]

    def test_an_aim_says_by_how_much_it_is_met_or_missed(self):
        self.assertEqual(aims.at_most(2, "x").outcome(1.5), (True, "met by 25 %"))
        self.assertEqual(aims.at_most(2, "x").outcome(2.5), (False, "MISSED by 25 %"))
        self.assertEqual(aims.at_least(2, "x").outcome(2.5), (True, "met by 25 %"))
        self.assertEqual(aims.at_least(2, "x").outcome(1.5), (False, "MISSED by 25 %"))
        self.assertEqual(aims.at_most(0, "ns").outcome(0.5), (False, "MISSED by 0.5 ns"))

    def test_a_row_has_the_aim_that_is_meant_for_it(self):
        self.assertEqual(aims.aim_of(Row("scope, on", "", "", 1)).limit, 1.05)
        self.assertEqual(aims.aim_of(Row("scope, on, in a crash file", "", "", 1)).limit, 1.05)
        self.assertEqual(aims.aim_of(Row("PyTorch op: over the no-op callback", "", "", 1)).limit, 2)
        self.assertEqual(aims.aim_of(Row("PyTorch op: over the no-op callback, with shapes", "", "", 1)).limit, 6)
        self.assertIsNone(aims.aim_of(Row("scope, on", "")))
        self.assertIsNone(aims.aim_of(Row("something else", "", "", 1)))

    def test_the_page_names_the_run_and_every_aim_that_is_missed(self):
        text = page.results_page(self.rows, ABOUT, ["Left out: something"])
        for part in ("2026-11-30 12:00 UTC", "0123456789ab", "`./tools/bench --write`", "a CPU, 2 cores", "Left out: something",
                     "Aims: 1 of 2 met; missed: op scope, on",
                     "| scope, on | 20.0 ns | 1.00 x floor | at most 1.05 x floor | met by 5 % |",
                     "| op scope, on | 27.6 ns | 1.38 x floor | at most 1.15 x floor | MISSED by 20 % |",
                     r"| floor: a \| b | 20.0 ns |  |  |  |"):
            self.assertIn(part, text)

    def test_the_line_of_json_has_the_same(self):
        read = json.loads(page.as_json(self.rows, ABOUT))
        self.assertEqual(read["machine"]["cores"], 2)
        self.assertEqual([row.get("met") for row in read["rows"]], [True, False, None])

    def test_growth_is_one_where_a_unit_costs_the_same(self):
        self.assertAlmostEqual(growth([10, 1000], [7, 7]), 1)
        self.assertAlmostEqual(growth([10, 1000], [7, 70]), 1.5)


if __name__ == "__main__":
    sys.path.insert(0, sys.argv[1])
    from reporting import aims, page
    from reporting.rows import Row, growth
    unittest.main(argv=sys.argv[:1], verbosity=2)
