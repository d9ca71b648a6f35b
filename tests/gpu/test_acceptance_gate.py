# SPDX-License-Identifier: Apache-2.0
"""Tests of the acceptance script: how often `cudaspy check` may be wrong, and the slower launches that it must find."""
import os
import random
import subprocess
import tempfile
import unittest

from acceptance import gate, gating
from made_up import BUILD, shim_report

RULES = gating.count_rules()


def outcome(time="pass", **failed):
    return {**{rule: "pass" for rule in RULES}, **{rule + " <= +0": "fail" for rule in failed}, gating.TIME_RULE: time}


class Judged(unittest.TestCase):
    def equal(self, *found):
        return gate.judge_equal({"recordings": 20}, list(found), RULES)

    def test_equal_runs(self):
        self.assertTrue(self.equal(*[outcome()] * 50)["pass"])
        self.assertFalse(self.equal()["pass"])

    def test_counts_may_never_fail(self):
        bad = self.equal(*[outcome()] * 199, outcome(launches_per_step=1, syncs=1))
        self.assertEqual((bad["pass"], bad["count_failures"]), (False, 1))
        self.assertIn("launches_per_step <= +0, syncs <= +0", bad["text"])

    def test_times_may_fail_in_one_of_a_hundred(self):
        for pairs, passed in ((100, True), (99, False)):
            self.assertEqual(self.equal(*[outcome()] * (pairs - 1), outcome("fail"))["pass"], passed)
        self.assertFalse(self.equal(*[outcome()] * 49, outcome("inconclusive"))["pass"])

    def rise(self, found, tries, after=1250.0):
        row = {"before_p50_ns": [1000.0, 990.0, 1010.0], "after_p50_ns": [after] * 3}
        return gate.judge_rise(row, [outcome("fail")] * found + [outcome()] * (tries - found))

    def test_rise(self):
        self.assertTrue(self.rise(38, 40)["pass"])
        self.assertFalse(self.rise(37, 40)["pass"])
        self.assertFalse(self.rise(0, 0)["pass"])
        self.assertAlmostEqual(self.rise(40, 40)["rise"], 1.25)

    def test_a_rise_that_was_not_made(self):
        self.assertFalse(self.rise(40, 40, after=1100.0)["pass"])

    def test_what_recordings_that_scatter_can_tell(self):
        side = [1000.0, 1100.0, 900.0, 1050.0, 950.0]
        self.assertAlmostEqual(gating.scatter(side, [2 * x for x in side]), 0.0793, places=3)
        self.assertGreater(gating.best_found(1.25, 0.04), 0.99)
        self.assertTrue(0.7 < gating.best_found(1.25, 0.07) < 0.9)
        self.assertLess(gating.best_found(1.05, 0.07), 0.02, "1 %, as the test promises")

    def test_sides_share_no_recording(self):
        pairs = gate.equal_pairs(list(range(20)), 50, random.Random(1))
        self.assertEqual(len(pairs), 50)
        for base, new in pairs:
            self.assertEqual((len(base), len(new), len(set(base) | set(new))), (5, 5, 10))


class SlowLaunch(unittest.TestCase):
    """tests/gpu/slow_launch.c behind the shim: the shim sees all launches, each slower by what was asked for."""

    def setUp(self):
        needed = ["libcudaspy.so", "cudaspy", "samples/sim/many_tiny_launches", "tests/libslow_launch.so"]
        if not BUILD or not all(os.path.exists(os.path.join(BUILD, f)) for f in needed):
            self.skipTest("the shim, the simulated CUDA or the library is not built")

    def p50(self, form, wait_ns):
        with tempfile.TemporaryDirectory() as folder:
            env = {**os.environ, "LD_LIBRARY_PATH": os.path.join(BUILD, "sim"), "CUDASPY_OUT": folder + "/",
                   "CUDASPY_GPU": "off", "SLOW_LAUNCH_NS": str(wait_ns), "LD_PRELOAD": "%s/libcudaspy.so:"
                   "%s/tests/libslow_launch.so" % (BUILD, BUILD)}
            p = subprocess.run([os.path.join(BUILD, "samples", form, "many_tiny_launches"), "500"], env=env, check=True,
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=60)
            self.assertIn("slow_launch: 500 launches", p.stderr)
            data = shim_report(folder)
            self.assertEqual((data["totals"]["launches"], data["gaps"]), (500, []))
            return next(a["p50_ns"] for a in data["apis"] if a["class"] == "launch")

    def test_launches_are_slower(self):
        for form in ("sim", "sim-static"):
            before = self.p50(form, 0)
            self.assertGreater(self.p50(form, 1000000), before + 900000, form)


if __name__ == "__main__":
    unittest.main()
