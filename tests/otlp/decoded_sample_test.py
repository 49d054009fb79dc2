# Copyright The Ferret Authors
# SPDX-License-Identifier: Apache-2.0
"""The sample in exporters/otlp/recipes.md is what a training sends, but for ids and times. If it no longer is,
decoded_sample.py prints a new one.

    decoded_sample_test.py PYTHON_WITH_TORCH FERRET RECIPES
"""
import pathlib
import re
import sys
import unittest

import decoded_sample

TORCH_PYTHON = FERRET = RECIPES = None


def without_ids_and_times(lines):
    text = "\n".join(lines)
    text = re.sub(r"\b([0-9a-f]{32}|[0-9a-f]{16})\b", "ID", text)
    text = re.sub(r"{.*}", "BUCKETS", text)
    return re.sub(r"-?\d+(\.\d+)?(e-\d+)?\b", "N", text)


class DecodedSampleTest(unittest.TestCase):
    maxDiff = None

    def test_the_documentation_shows_what_is_sent(self):
        recipes = pathlib.Path(RECIPES).read_text(encoding="utf-8")
        shown = re.search(r"^```\n(trace .*?)\n```$", recipes, re.MULTILINE | re.DOTALL)[1].splitlines()
        sent = decoded_sample.sample(TORCH_PYTHON, FERRET)
        self.assertGreater(len(sent), 20)
        self.assertEqual(without_ids_and_times(shown), without_ids_and_times(sent))


if __name__ == "__main__":
    TORCH_PYTHON, FERRET, RECIPES = sys.argv[1:4]
    unittest.main(argv=sys.argv[:1] + sys.argv[4:])
