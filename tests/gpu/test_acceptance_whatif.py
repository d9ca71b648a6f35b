# SPDX-License-Identifier: Apache-2.0
"""Tests of the acceptance script: savings beside predictions, and all of it in a run on the simulated CUDA."""
import types
import unittest

from acceptance import process, whatif


def prediction(saved, low, high):
    return {"saved_ns": saved, "low_ns": low, "high_ns": high, "why": None}


def row(*pairs, compared="window"):
    return whatif.compare({"what": "w", "compared": compared, "pass": False, "text": ""}, list(pairs))


class Judged(unittest.TestCase):
    def test_share_of_the_saving(self):
        # 400 of 1000 saved: 80 off at most
        for predicted, passed in ((321, True), (319, False), (479, True), (481, False)):
            self.assertEqual(row((1000, prediction(predicted, 0, 1000), 600))["pass"], passed)

    def test_share_of_the_time_before(self):
        # 50 of 1000 saved: 3 % of the time before are more than 20 % of that
        for predicted, passed in ((21, True), (19, False), (79, True), (81, False)):
            self.assertEqual(row((1000, prediction(predicted, 0, 1000), 950))["pass"], passed)
        # a change that makes it slower
        self.assertTrue(row((1000, prediction(0, 0, 10), 1029))["pass"])
        self.assertFalse(row((1000, prediction(0, 0, 10), 1031))["pass"])

    def test_medians_over_pairs(self):
        one = prediction(400, 300, 500)
        judged = row((1000, one, 600), (9000, one, 8700), (1010, prediction(4000, 300, 500), 609))
        self.assertEqual((judged["saved_ns"], judged["before_ns"], judged["predicted_saved_ns"], judged["pass"]),
                         (400, 1010, 400, True))

    def test_range(self):
        self.assertTrue(row((1000, prediction(390, 380, 410), 600))["interval_holds"])
        outside = row((1000, prediction(390, 380, 395), 600))
        self.assertEqual((outside["interval_holds"], outside["pass"]), (False, True))
        self.assertIn("does not hold", outside["text"])

    def test_no_prediction(self):
        none = row((1000, {"saved_ns": None, "low_ns": None, "high_ns": None, "why": "too few calls"}, 600))
        self.assertEqual((none["pass"], none["text"]), (False, "no prediction: too few calls"))
        self.assertEqual([v["pass"] for v in whatif.verdicts([none])], [False, None])
        self.assertFalse(whatif.verdicts([])[0]["pass"])

    def test_prediction_of_a_step(self):
        report = types.SimpleNamespace(data={"what_if": [
            {"change": "graphs", "window_ns": 5000, "predicted_ns": 3000, "predicted_low_ns": 2000,
             "predicted_high_ns": 4500, "saved_ns": 2000, "unknown_because": None}]})
        self.assertEqual(whatif.prediction_of(report, "graphs", 10), prediction(200, 50, 300))
        self.assertIsNone(whatif.prediction_of(report, "pinned")["saved_ns"])
        report.data["what_if"][0].update(predicted_ns=None, unknown_because="off")
        self.assertEqual(whatif.prediction_of(report, "graphs")["why"], "off")

    def test_window_of_the_program_alone(self):
        own = {"calls_ns": 100, "samples_ns": 20, "sites_ns": 3, "collector_ns": 5000}
        self.assertEqual(whatif.own_window({"window_ns": 1000, "overhead": own}), 877)
        self.assertEqual(whatif.own_window({"window_ns": 1000, "overhead": {**own, "samples_ns": None}}), 897)

    def test_time_of_a_step(self):
        o = process.Outcome([], 0, False, 1.0, "56.7 us per step (200 steps, 0.011 s)\n", "")
        self.assertEqual(whatif.step_ns(o), 56700.0)
        self.assertIsNone(whatif.step_ns(process.Outcome([], 0, False, 1.0, "", "")))

    def test_cut_by_the_time_limit(self):
        settings = types.SimpleNamespace(pairs_asked=3, quick=False)
        pair = (1000, prediction(400, 300, 500), 600)
        short = whatif.finished(settings, {"what": "w", "compared": "step", "pass": False, "text": ""}, [pair])
        self.assertEqual((short["pass"], "1 of 3 pairs" in short["text"]), (False, True))


if __name__ == "__main__":
    unittest.main()
