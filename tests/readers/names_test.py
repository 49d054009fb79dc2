# Copyright The Ferret Authors
# SPDX-License-Identifier: Apache-2.0
"""Any bytes may be a name: the trace is JSON all the same, and no byte is lost.

    python3 names_test.py RECORD_NAMES
"""
import collections
import gzip
import json
import re
import sys
import unittest

import hostile_names
import recorded

RECORD_NAMES = None
# What the program records under each name, as the phases and categories of the events.
KINDS = {("X", "cpu_op"): 3, ("X", "user_annotation"): 1, ("i", "cpu_instant_event"): 1, ("C", None): 1}


def hex_of(event):
    return event.get("name_hex") or event.get("args", {}).get("name_hex")


class NamesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = recorded.folder("names")
        recorded.record(RECORD_NAMES, f"{folder}/t.json,chrome_trace:{folder}/t.json.gz",
                        stdin=hostile_names.as_input(hostile_names.NAMES))
        cls.plain = (folder / "t.json").read_bytes()
        cls.gzipped = gzip.decompress((folder / "t.json.gz").read_bytes())
        cls.trace = json.loads(cls.plain.decode("utf-8"))
        cls.events = [e for e in cls.trace["traceEvents"]
                      if (e["ph"], e.get("cat")) in KINDS and e["name"] != "Ferret Record"]

    def test_strict_parsers_take_the_text(self):
        for text in (self.plain, self.gzipped):
            # Strict UTF-8; no NaN; no control character inside of a string, as strict=True demands.
            json.loads(text.decode("utf-8"), strict=True, parse_constant=self.fail)

    def test_every_byte_of_every_name_can_be_had_back(self):
        got = collections.Counter()
        for event in self.events:
            name = bytes.fromhex(hex_of(event)) if hex_of(event) else event["name"].encode("utf-8")
            got[(event["ph"], event.get("cat")), name] += 1
        expected = collections.Counter({(kind, name): count for name in hostile_names.NAMES
                                        for kind, count in KINDS.items()})
        self.assertEqual(got, expected)

    def test_well_formed_names_stand_as_they_are_and_ill_formed_bytes_as_replacement_characters(self):
        for event in self.events:
            if hex_of(event):
                name = bytes.fromhex(hex_of(event))
                with self.assertRaises(UnicodeDecodeError, msg="hex text only where it is needed"):
                    name.decode("utf-8")
                self.assertEqual(event["name"], hostile_names.shown(name))

    def test_hex_text_is_in_args_but_for_counters_whose_args_are_series(self):
        ill_formed = [e for e in self.events if hex_of(e)]
        self.assertTrue(ill_formed)
        for event in ill_formed:
            self.assertEqual("name_hex" in event["args"], event["ph"] != "C")
        for event in self.events:
            if event["ph"] == "C":
                self.assertEqual(event["args"], {"value": 0.5})

    def test_one_event_stands_on_one_line(self):
        lines = [line for line in self.plain.decode().split("\n") if '"ph": ' in line]
        self.assertEqual(len(lines), len(self.trace["traceEvents"]))
        for line in lines:
            json.loads(line.rstrip().rstrip(","))

    def test_threads_show_the_names_they_were_given(self):
        labels = [e["args"]["name"] for e in self.trace["traceEvents"] if e["name"] == "thread_name"]
        shown = {re.sub(r"^thread \d+ \((.*)\)$", r"\1", label, flags=re.DOTALL) for label in labels}
        expected = {hostile_names.shown(name) for name in hostile_names.NAMES} - {""}
        self.assertEqual(expected - shown, set())


if __name__ == "__main__":
    RECORD_NAMES = sys.argv.pop(1)
    unittest.main()
