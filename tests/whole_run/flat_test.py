# Copyright The Ferret Authors
# SPDX-License-Identifier: Apache-2.0
"""Memory stays flat however long a program records, and every scope is delivered or counted as lost.

    python3 flat_test.py SCOPES SCOPES_PER_SECOND RECORD_SCOPES
"""
import collections
import json
import pathlib
import re
import sys
import unittest
import zlib

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "readers"))

import recorded  # noqa: E402

SCOPES = PER_SECOND = RECORD_SCOPES = None


def pieces(path):
    """The text of a gzip file, piece by piece; whole lines only."""
    decoder = zlib.decompressobj(wbits=31)
    rest = b""
    with open(path, "rb") as file:
        while data := file.read(1 << 20):
            text, _, rest = (rest + decoder.decompress(data)).rpartition(b"\n")
            yield text
    yield rest + decoder.flush()
    assert decoder.eof and not decoder.unused_data, f"{path} is cut off"


class FlatTest(unittest.TestCase):
    def test_memory_after_the_first_tenth_does_not_grow_and_the_sum_is_exact(self):
        path = recorded.folder("flat") / "trace.json.gz"
        sums = path.parent / "table.json"
        # Small bounds, so that what may grow up to a bound has reached it in the first tenth.
        said = json.loads(recorded.record(
            RECORD_SCOPES, f"{path},chrome_trace:/dev/null,table:{sums}?format=json", SCOPES, PER_SECOND, timeout=3600,
            env={"FERRET_BUFFER_SIZE": "4M", "FERRET_EXPORTER_QUEUE": "4M"}))
        growth = (said["kb_highest_after"] - said["kb_after_tenth"]) / 1024
        self.assertGreater(said["kb_after_tenth"], 0)

        counts = collections.Counter()
        account = None
        for text in pieces(path):
            counts["slices"] += text.count(b'"name": "scope"')
            counts["places of loss"] += text.count(b'"name": "Ferret: scopes lost"')
            for line in re.findall(rb'^ *(\{"name": "Ferret Record".*\})$', text, flags=re.MULTILINE):
                account = json.loads(line)["args"]
        lost = account["lost"]["total"]
        print(f"{SCOPES} attempted: {counts['slices']} delivered, {lost} lost {account['lost']}; memory "
              f"{said['kb_after_tenth'] / 1024:.1f} MiB after the first tenth, then {growth:.1f} MiB more at most")
        self.assertEqual(counts["slices"] + lost, SCOPES)
        self.assertEqual(account["events"], counts["slices"] + counts["places of loss"])
        # What the recorder lost; the exporter counts its own losses beside them.
        self.assertEqual(said["lost"], lost - account["lost"].get("exporter_dropped", 0))
        self.assertGreater(counts["slices"], SCOPES / 100)
        table = json.loads(sums.read_text())
        (row,) = [row for row in table["rows"] if row["key"] == "scope"]
        self.assertEqual(row["count"] + said["lost"] + table["lost"]["exporter_dropped"], SCOPES)
        self.assertEqual(sum(count for _, count in row["histogram"]), row["count"])
        print(f"table: {row['count']} of them averaged, {table['lost']['exporter_dropped']} not")
        self.assertGreater(row["count"], SCOPES / 100)
        self.assertLess(growth, 16)


if __name__ == "__main__":
    RECORD_SCOPES, PER_SECOND, SCOPES = sys.argv.pop(), int(sys.argv.pop()), int(sys.argv.pop())
    unittest.main()
