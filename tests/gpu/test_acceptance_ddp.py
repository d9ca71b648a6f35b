# SPDX-License-Identifier: Apache-2.0
"""Tests of the acceptance script: what the ranks of a step on two GPUs may be called."""
import unittest

from acceptance import ddp


def rank(name="comm-bound", findings=(ddp.FINDING,), share=0.4):
    return {"class": name, "confidence": "high", "reason": "why", "findings": list(findings), "comm_share": share}


def row(way, *ranks):
    return ddp.judge({"what": "ddp, " + way, "way": way, "ranks": list(ranks), "pass": False, "text": ""})


def words(one, overlapped):
    return {v["what"]: v["pass"] for v in ddp.verdicts([one, overlapped])}


class Ranks(unittest.TestCase):
    def test_right(self):
        one = row("one bucket", rank(), rank("mixed", share=0.5))
        overlapped = row("overlapped", rank("gpu-bound", (), 0.1), rank("gpu-bound", (), 0.1))
        self.assertEqual((one["pass"], one["comm_share"], overlapped["pass"]), (True, 0.45, True))
        self.assertEqual(set(words(one, overlapped).values()), {True})

    def test_called_gpu_bound(self):
        one = row("one bucket", rank(), rank("gpu-bound"))
        self.assertEqual((one["pass"], "rank 1 is called gpu-bound" in one["text"]), (False, True))

    def test_without_the_finding(self):
        self.assertFalse(row("one bucket", rank(), rank(findings=["dominant-kernel"]))["pass"])

    def test_no_less_communication(self):
        what = "overlapping lowers the exposed communication"
        self.assertFalse(words(row("one bucket", rank()), row("overlapped", rank()))[what])
        self.assertFalse(words(row("one bucket", rank(share=None)), row("overlapped", rank()))[what])
        skipped = {"what": "w", "way": "overlapped", "ranks": [], "pass": None, "text": "", "comm_share": None}
        self.assertNotIn(what, words(row("one bucket", rank()), skipped))


if __name__ == "__main__":
    unittest.main()
