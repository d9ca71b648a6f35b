# SPDX-License-Identifier: Apache-2.0
"""Tests of the acceptance script: which verdicts of samples pass, and which of runs that were cut short."""
import io
import unittest

from acceptance import page, process, samples, truncated, verdicts


def run(name="sync-bound", first=None, second="host-bound", findings=("sync-every-step",)):
    return {"class": name, "confidence": "high", "first": first or name, "second": second,
            "reason": "GPU busy 40 %", "mode": "sample", "findings": list(findings)}


def mixed(first="sync-bound", second="host-bound"):
    return run("mixed", first, second)


def row(*runs, name="sync-bound", findings=("sync-every-step",), no_findings=(), mode="sample", troubles=()):
    made = {"program": "p/static", "mode": mode, "runs": list(runs), "troubles": list(troubles),
            "announced": {"class": name, "findings": list(findings), "no_findings": list(no_findings)}}
    verdicts.judge(made, max(1, len(runs)))
    return made


class Judged(unittest.TestCase):
    def test_right(self):
        good = row(run(), run(), run(second=None))
        self.assertEqual((good["pass"], good["problems"], good["classes"]), (True, [], {"sync-bound": 3}))
        self.assertTrue(row(run("copy-bound"), name=None)["pass"])  # a sample that leaves its class open

    def test_wrong_class(self):
        bad = row(run("host-bound"))
        self.assertEqual((bad["pass"], bad["right_class"], bad["right_findings"]), (False, False, True))
        self.assertIn("expected sync-bound, came host-bound (high confidence): GPU busy 40 %", bad["problems"][0])
        self.assertFalse(row(mixed())["pass"])  # the first run has to be right
        self.assertFalse(row(run("inconclusive"))["pass"])

    def test_missing_and_wrong_findings(self):
        self.assertFalse(row(run(findings=["polling"]))["right_findings"])
        twin = row(run(), findings=(), no_findings=["sync-every-step"])
        self.assertEqual((twin["pass"], twin["right_findings"]), (False, False))
        self.assertTrue(row(run(findings=["polling"]), findings=(), no_findings=["sync-every-step"])["pass"])

    def test_alike(self):
        self.assertTrue(row(run(), mixed(), mixed("host-bound", "sync-bound"))["pass"])
        self.assertFalse(row(run(), run("host-bound"), name=None)["alike"])
        self.assertFalse(row(run(), mixed("sync-bound", "copy-bound"), mixed())["alike"])
        self.assertFalse(row(run(), mixed("copy-bound", "host-bound"))["alike"])
        self.assertFalse(row(run("inconclusive", second=None), run("host-bound"), name=None)["alike"])
        self.assertTrue(row(mixed(), mixed("host-bound", "sync-bound"), name="mixed")["pass"])

    def test_runs_that_are_missing(self):
        short = row(run())
        verdicts.judge(short, 10)
        self.assertIn("1 of 10 runs", short["problems"][0])
        self.assertFalse(row(run(), troubles=["it ran in mode sample"])["pass"])

    def test_verdicts(self):
        word = {v["what"]: v["pass"] for v in verdicts.verdicts([row(run()), row(run(), mode="cupti")], 1)}
        self.assertEqual(word, {"class of samples, sample": True, "findings of samples, sample": True,
                                "class of samples, cupti": True, "findings of samples, cupti": True,
                                "class alike in both modes": True})
        other = row(run("host-bound"), mode="cupti", name=None)
        word = {v["what"]: v["pass"] for v in verdicts.verdicts([row(run()), other], 1)}
        self.assertFalse(word["class alike in both modes"])
        word = {v["what"]: v["pass"] for v in verdicts.verdicts([row(run()), row(run(), mode="cupti")], 2)}
        self.assertEqual((word["class alike in 2 runs, sample"], word["verdict not had"]), (False, False))
        self.assertFalse(any(v["pass"] for v in verdicts.verdicts([], 1)))

    def test_page(self):
        out = io.StringIO()
        p = page.Page(out)
        p.verdicts_head(10)
        p.verdicts_row(row(run("host-bound"), mixed("copy-bound", "gpu-bound"), troubles=["word " * 60]))
        self.assertLessEqual(max(len(line) for line in out.getvalue().splitlines()), page.WIDTH)
        self.assertIn("came host-bound", out.getvalue())

    def test_announced(self):
        text = "expect: launches=10\nexpect: verdict=copy-bound\nexpect: finding=a-b\nexpect: finding=c\n" \
            "expect: no-finding=d\n"
        self.assertEqual(samples.announced(process.Outcome([], 0, False, 1.0, text, "")),
                         {"class": "copy-bound", "findings": ["a-b", "c"], "no_findings": ["d"]})


class CutShort(unittest.TestCase):
    def problem(self, name, confidence, announced, lost=0.0):
        return truncated.problem({"class": name, "confidence": confidence, "reason": "why"}, announced, lost)

    def test_modest(self):
        self.assertIsNone(self.problem("gpu-bound", "medium", "sync-bound"))
        self.assertIsNone(self.problem("sync-bound", "high", "sync-bound"))
        self.assertIsNone(self.problem("inconclusive", "high", "sync-bound"))
        self.assertIsNone(self.problem("gpu-bound", "high", None))
        self.assertIsNone(self.problem("host-bound", "high", "mixed"))

    def test_wrong_with_high_confidence(self):
        self.assertIn("expected sync-bound", self.problem("gpu-bound", "high", "sync-bound"))
        self.assertIsNotNone(self.problem("copy-bound", "high", "mixed"))

    def test_much_lost(self):
        self.assertIn("31 %", self.problem("sync-bound", "low", "sync-bound", 0.31))
        self.assertIsNone(self.problem("inconclusive", "low", "sync-bound", 0.31))
        self.assertIsNone(self.problem("sync-bound", "low", "sync-bound", 0.29))

    def test_verdict(self):
        self.assertTrue(truncated.verdict([{"program": "p", "pass": True, "text": ""}])["pass"])
        self.assertFalse(truncated.verdict([{"program": "p", "pass": False, "text": "x"}])["pass"])
        self.assertFalse(truncated.verdict([])["pass"])


if __name__ == "__main__":
    unittest.main()
