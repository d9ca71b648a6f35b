# SPDX-License-Identifier: Apache-2.0
"""Tests of the acceptance script: what is made of the counts of all programs."""
import unittest

from acceptance import compare, counts


class Counts(unittest.TestCase):
    def test_verdicts(self):
        good = {"program": "g", "verdict": "PASS", "differences": [], "same_result": True, "watched": {}}
        bad = dict(good, program="b", same_result=False, crash="SIGSEGV", verdict="FAIL",
                   differences=[compare.difference("launches", 1, 2)])
        alone = {"program": "s", "verdict": "SKIP", "differences": []}
        broken = {"program": "x", "verdict": "FAIL", "differences": []}
        word = {v["what"]: v["pass"] for v in counts.verdicts([good, alone])}
        self.assertEqual(word, {"counts": True, "results": True, "crashes": True, "skipped": None})
        word = {v["what"]: v["pass"] for v in counts.verdicts([good, bad, broken])}
        self.assertEqual(word, {"counts": False, "results": False, "crashes": False,
                                "programs that could not be checked": False})
        self.assertFalse(any(v["pass"] for v in counts.verdicts([alone])))
        self.assertFalse(any(v["pass"] for v in counts.verdicts([broken])))
