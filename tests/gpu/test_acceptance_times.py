"""Tests of the acceptance script: GPU times and shares beside the truth."""
import unittest

from acceptance import accuracy, programs, runs, timeline, work
from made_up import kernel_row, copy_row, FILL, timed_report, timed_truth


COPY = work.copy_key("HtoD", "pinned", 4100)


class Work(unittest.TestCase):
    def test_size_buckets(self):
        self.assertEqual([work.size_bucket(n) for n in (0, 3, 4, 5, 7, 8, 10, 4096, 5119, 5120)],
                         [0, 3, 4, 5, 7, 8, 9, 44, 44, 45])

    def test_keys(self):
        self.assertEqual(work.key_of(kernel_row()), FILL)
        self.assertNotEqual(work.key_of(kernel_row(shared_bytes=64)), FILL)
        self.assertEqual(work.key_of(kernel_row(), shapes=False), work.kernel_key("fill(float*)"))
        self.assertEqual(work.key_of(copy_row()), work.copy_key("HtoD", "pinned", 4096))
        device = copy_row()
        device.update(direction="DtoD", memory="unknown")
        self.assertEqual(work.key_of(device), work.copy_key("DtoD", "device", 4096))

    def test_classes_are_put_together_by_count(self):
        r = timed_report([kernel_row(count=100, mean_ns=1000.0),
                          kernel_row(count=300, mean_ns=2000.0, samples=0, low_ns=2000.0),
                          kernel_row(count=50, mean_ns=None, low_ns=None, high_ns=None, samples=0)], 1)
        c = work.classes_of(r)[FILL]
        self.assertEqual((c.pieces, c.samples, c.mean, c.low), (450, 40, 1750.0, 1725.0))

    def test_nothing_timed(self):
        c = work.classes_of(timed_report([kernel_row(mean_ns=None, low_ns=None, high_ns=None)], 1))
        self.assertEqual((c[FILL].mean, c[FILL].low), (None, None))


class Accuracy(unittest.TestCase):
    def row(self, works, total_ns, classes, **more):
        three = runs.Three()
        three.truths = [timed_truth(classes, **more)]
        three.reports = {mode: timed_report(works, total_ns, mode) for mode in ("sample", "cupti")}
        return {"program": "p", **accuracy.row_of(None, three)}

    def test_good(self):
        row = self.row([kernel_row()], 102000, {FILL: (100, 100000)})
        self.assertEqual((row["pass"], row["note"], row["sample"]["percent"]), (True, None, 2.0))
        self.assertEqual([v["pass"] for v in accuracy.class_verdicts([row])], [True, True])
        self.assertTrue(accuracy.sum_verdicts([row], "sample")["pass"])

    def test_short_kernels_may_be_off_by_so_much_a_piece(self):
        # 1 us a piece: 150 ns are more than 5 %
        for total, passed in ((114900, True), (115100, False), (85100, True), (84900, False)):
            row = self.row([kernel_row()], total, {FILL: (100, 100000)})
            self.assertEqual(row["sample"]["pass"], passed)

    def test_long_kernels_may_be_off_by_a_share(self):
        for total, passed in ((10490000, True), (10510000, False)):
            row = self.row([], total, {}, kernels=(100, 10000000))
            self.assertEqual(row["sample"]["pass"], passed)
        self.assertFalse(accuracy.sum_verdicts([row], "sample")["pass"])

    def test_truth_is_scaled_to_the_pieces(self):
        row = self.row([kernel_row()], 100000, {FILL: (200, 200000)}, kernels=(200, 200000))
        self.assertEqual(row["sample"]["percent"], 0.0)

    def test_class_off(self):
        row = self.row([kernel_row(mean_ns=1201.0, high_ns=1300.0)], 100000, {FILL: (100, 100000)})
        self.assertFalse(row["pass"])
        self.assertEqual([v["pass"] for v in accuracy.class_verdicts([row])], [False, True])
        # a class of few samples is not judged, but its interval is
        row = self.row([kernel_row(mean_ns=1201.0, low_ns=1150.0, high_ns=1300.0, samples=29)], 100000,
                       {FILL: (100, 100000)})
        self.assertTrue(row["pass"])
        self.assertEqual([v["pass"] for v in accuracy.class_verdicts([row])], [False, False])

    def test_class_that_one_lacks(self):
        row = self.row([kernel_row(), copy_row()], 100000, {FILL: (100, 100000)})
        self.assertEqual(len(row["classes"]), 1)
        self.assertEqual(len(row["classes_alone"]["ours"]), 1)

    def test_not_known(self):
        row = self.row([], None, {FILL: (100, 100000)})
        self.assertFalse(row["pass"])
        self.assertFalse(accuracy.sum_verdicts([row], "sample")["pass"])

    def test_pieces_without_a_time_are_told(self):
        three = runs.Three()
        three.truths = [timed_truth({})]
        three.reports = {mode: timed_report([], 30000, mode) for mode in ("sample", "cupti")}
        three.reports["sample"].data["gpu"]["work"]["all"]["gpu_known_share"] = 0.25
        self.assertIn("75 %", accuracy.row_of(None, three)["note"])

    def test_pieces_with_a_time_are_compared_too(self):
        lacking = copy_row()
        lacking.update(mean_ns=None, low_ns=None, high_ns=None, samples=0)
        three = runs.Three()
        three.truths = [timed_truth({FILL: (100, 100000), COPY: (100, 900000)})]
        three.truths[0].kinds["copy"] = (100, 900000)
        three.reports = {mode: timed_report([kernel_row(mean_ns=1010.0), lacking], 101000, mode, copies=100)
                         for mode in ("sample", "cupti")}
        three.reports["sample"].data["gpu"]["work"]["all"]["gpu_known_share"] = 0.5
        row = {"program": "p", **accuracy.row_of(None, three)}
        self.assertEqual((row["sample"]["known"]["percent"], row["sample"]["pass"]), (1.0, False))
        self.assertIn("50 % of the pieces have no time; those that have one: +1.0 %", row["note"])
        self.assertIn("the others +1.0 %", accuracy.sum_verdicts([row], "sample")["text"])

    def untrue(self, untrue, real, ours=101000.0):
        """Kernels of 1 us, and copies of 1 us of which CUPTI has so many with a time that cannot be true."""
        three = runs.Three()
        three.truths = [timed_truth({FILL: (100, 100000), COPY: (real, 1000 * real)})]
        three.truths[0].kinds["copy"], three.truths[0].untrue = (real, 1000 * real), {COPY: untrue}
        three.reports = {mode: timed_report([kernel_row(), copy_row(mean_ns=mean)], total, mode, copies=100)
                         for mode, mean, total in (("sample", 1010.0, 100000 + ours), ("cupti", 9e6, 900100000))}
        return {"program": "p", **accuracy.row_of(None, three)}

    def test_untrue_records(self):
        row = self.untrue(1, 99)
        self.assertEqual((row["sample"]["percent"], row["sample"]["left_out"]), (0.5, []))
        self.assertEqual([c["pass"] for c in row["classes"]], [True, True])
        # cupti mode has its times from CUPTI as well
        self.assertEqual((row["cupti"]["percent"], row["cupti"]["pieces"]["copy"]), (0.0, 0))
        self.assertEqual(row["cupti"]["left_out"], [work.text(COPY)])
        self.assertIn("CUPTI's time of 1 of 100 of copy HtoD", row["note"])
        self.assertTrue(row["pass"])

    def test_class_without_a_truth(self):
        row = self.untrue(60, 40)
        self.assertEqual((row["sample"]["percent"], row["sample"]["left_out"]), (0.0, [work.text(COPY)]))
        self.assertEqual([c["kind"] for c in row["classes"]], ["kernel"])
        self.assertEqual([round(row["sample"][k]) for k in ("low_ns", "high_ns")], [79900, 120100])

    def test_failed_run(self):
        three = runs.Three()
        three.truths = [timed_truth({FILL: (100, 100000)})]
        three.reports = {"sample": timed_report([kernel_row()], 100000)}
        three.trouble = {"cupti": "it ran in mode sample"}
        row = {"program": "p", **accuracy.row_of(None, three)}
        self.assertEqual((row["pass"], row["note"]), (False, "cupti: it ran in mode sample"))
        self.assertTrue(accuracy.sum_verdicts([row], "sample")["pass"])
        self.assertFalse(accuracy.sum_verdicts([row], "cupti")["pass"])


class Timeline(unittest.TestCase):
    def row(self, name="p", **cupti):
        three = runs.Three()
        three.reports = {mode: timed_report([], 1, mode) for mode in ("sample", "cupti")}
        three.reports["cupti"].data["gpu"].update(cupti)
        return {"program": name, "note": None, **timeline.row_of(programs.Program(name, []), three)}

    def test_points(self):
        self.assertEqual(self.row()["difference_points"], 0.0)
        row = self.row(busy_ns=351, idle_by={"launch": 549, "outside": 100})
        self.assertEqual((row["difference_points"], row["pass"]), (4.9, True))
        row = self.row(idle_by={"launch": 440, "outside": 130, "sync": 30})
        self.assertEqual((row["difference_points"], row["largest"], row["pass"]),
                         (6.0, "idle, launch", False))
        self.assertFalse(timeline.verdicts([row])[0]["pass"])

    def test_cause_that_only_cupti_has(self):
        row = self.row(busy_ns=340, idle_by={"launch": 500, "outside": 100, "sync": 60})
        self.assertEqual((row["difference_points"], row["pass"]), (6.0, False))

    def test_not_known(self):
        row = self.row(busy_ns=None)
        self.assertEqual((row["pass"], row["note"]), (False, "cupti: no timeline"))

    def test_full_queue(self):
        self.assertEqual(self.row("one_big_kernel/static")["told"]["share"], 0.9)
        told = self.row("many_tiny_launches/static")["told"]
        self.assertEqual((told["share"], told["pass"]), (0.1, False))
        self.assertIsNone(self.row()["told"])
