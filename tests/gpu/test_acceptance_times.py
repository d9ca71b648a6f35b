# SPDX-License-Identifier: Apache-2.0
"""Tests of the acceptance script: GPU times and shares beside the truth."""
import types
import unittest
from unittest import mock

from acceptance import accuracy, programs, runs, timeline, work
from made_up import a_round, kernel_row, copy_row, FILL, timed_report, timed_truth


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
        made = a_round(timed_truth(classes, **more),
                       *(timed_report(works, total_ns, mode) for mode in ("sample", "cupti")))
        return {"program": "p", **accuracy.row_of(None, [made])}

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

    def staged(self, beside_truth_ns, ours=30000.0):
        """Copies of pageable memory: 50 us by CUPTI in a run of its own, else in the run with the shim."""
        key = work.copy_key("DtoH", "pageable", 655360)
        row = copy_row(mean_ns=ours, low_ns=0.9 * ours, high_ns=1.1 * ours)
        row.update(direction="DtoH", memory="pageable", bytes=100 * 655360)
        made = a_round(timed_truth({key: (100, 5000000)}), *(timed_report([row], 3000000, mode, copies=100)
                                                             for mode in ("sample", "cupti")))
        if beside_truth_ns:
            made.reports["beside"] = made.reports["sample"]
            made.truths["beside"] = timed_truth({key: (100, 100 * beside_truth_ns)})
        c, = accuracy.row_of(None, [made])["classes"]
        return c

    def test_staged_copies_are_compared_with_the_same_run(self):
        c = self.staged(31000.0)
        self.assertEqual((c["same_run"], c["truth_ns"], c["interval_holds"], c["pass"]), (True, 31000.0, True, True))
        self.assertEqual(self.staged(34000.0)["interval_holds"], False)
        c = self.staged(None)
        self.assertEqual((c["same_run"], c["truth_ns"], c["interval_holds"]), (False, 50000.0, False))

    def test_what_is_staged(self):
        told = [("DtoH", "pageable", 4, True), ("HtoD", "pageable", 65536, True), ("HtoD", "pageable", 65535, False),
                ("HtoD", "pinned", 1 << 20, False), ("DtoH", "pinned", 4, False), ("DtoD", "device", 1 << 20, False)]
        for direction, memory, nbytes, staged in told:
            self.assertEqual(accuracy.is_staged(work.copy_key(direction, memory, nbytes)), staged)
        self.assertFalse(accuracy.is_staged(FILL))

    def test_not_known(self):
        row = self.row([], None, {FILL: (100, 100000)})
        self.assertFalse(row["pass"])
        self.assertFalse(accuracy.sum_verdicts([row], "sample")["pass"])

    def test_pieces_without_a_time_are_told(self):
        made = a_round(timed_truth({}), *(timed_report([], 30000, mode) for mode in ("sample", "cupti")))
        made.reports["sample"].data["gpu"]["work"]["all"]["gpu_known_share"] = 0.25
        self.assertIn("75 %", accuracy.row_of(None, [made])["note"])

    def test_pieces_with_a_time_are_compared_too(self):
        lacking = copy_row()
        lacking.update(mean_ns=None, low_ns=None, high_ns=None, samples=0)
        truth = timed_truth({FILL: (100, 100000), COPY: (100, 900000)})
        truth.kinds["copy"] = (100, 900000)
        made = a_round(truth, *(timed_report([kernel_row(mean_ns=1010.0), lacking], 101000, mode, copies=100)
                                for mode in ("sample", "cupti")))
        made.reports["sample"].data["gpu"]["work"]["all"]["gpu_known_share"] = 0.5
        row = {"program": "p", **accuracy.row_of(None, [made])}
        self.assertEqual((row["sample"]["known"]["percent"], row["sample"]["pass"]), (1.0, False))
        self.assertIn("50 % of the pieces have no time; those that have one: +1.0 %", row["note"])
        self.assertIn("the others +1.0 %", accuracy.sum_verdicts([row], "sample")["text"])

    def untrue(self, untrue, real, ours=101000.0):
        """Kernels of 1 us, and copies of 1 us of which CUPTI has so many with a time that cannot be true."""
        return {"program": "p", **accuracy.row_of(None, [self.untrue_round(untrue, real, ours)])}

    def untrue_round(self, untrue, real, ours=101000.0):
        truth = timed_truth({FILL: (100, 100000), COPY: (real, 1000 * real)})
        truth.kinds["copy"], truth.untrue = (real, 1000 * real), {COPY: untrue} if untrue else {}
        reports = [timed_report([kernel_row(), copy_row(mean_ns=mean)], total, mode, copies=100)
                   for mode, mean, total in (("sample", 1010.0, 100000 + ours), ("cupti", 9e6, 900100000))]
        return a_round(truth, *reports)

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
        made = a_round(timed_truth({FILL: (100, 100000)}), timed_report([kernel_row()], 100000), None)
        made.trouble = {"cupti": "it ran in mode sample", "beside": "of no account here"}
        row = {"program": "p", **accuracy.row_of(None, [made])}
        self.assertEqual((row["pass"], row["note"]), (False, "cupti: it ran in mode sample"))
        self.assertTrue(accuracy.sum_verdicts([row], "sample")["pass"])
        self.assertFalse(accuracy.sum_verdicts([row], "cupti")["pass"])


class AccuracyOfRuns(unittest.TestCase):
    """Several runs: medians are compared."""

    def row(self, truths, totals, means):
        """Runs of 100 kernels, each with the truth's time of a piece, the sum and the class's mean."""
        made = [a_round(timed_truth({FILL: (100, 100 * t)}, kernels=(100, 100 * t)),
                        timed_report([kernel_row(mean_ns=mean, low_ns=mean - 60, high_ns=mean + 60)], total),
                        timed_report([], 100000, "cupti"))
                for t, total, mean in zip(truths, totals, means)]
        return {"program": "p", "rounds": len(made), **accuracy.row_of(None, made)}

    def test_one_run_that_is_off(self):
        """One run of CUPTI and one of ours far off, each in another round: neither decides."""
        row = self.row((10000, 15000, 10100), (1020000, 1000000, 2000000), (10200.0, 10000.0, 20000.0))
        one = row["sample"]
        self.assertEqual((row["pass"], one["ours_ns"], one["truth_ns"], one["percent"]),
                         (True, 1020000, 1010000.0, 0.99))
        self.assertEqual((one["ours_ns_runs"], one["truth_ns_runs"]),
                         ([1020000, 1000000, 2000000], [1000000.0, 1500000.0, 1010000.0]))
        self.assertEqual((one["percent_runs"], one["per_piece_ns"]), ([0.99, -0.99, 98.02], 100.0))
        self.assertEqual(row["spread_percent"]["sample"], [-0.99, 98.02])
        self.assertEqual(row["spread_percent"]["truth"], [-0.99, 48.515])
        c, = row["classes"]
        self.assertEqual((c["mean_ns"], c["truth_ns"], c["pass"]), (10200.0, 10100.0, True))
        self.assertEqual((c["mean_ns_runs"], c["truth_ns_runs"]),
                         ([10200.0, 10000.0, 20000.0], [10000.0, 15000.0, 10100.0]))

    def test_most_runs_are_off(self):
        row = self.row((10000, 10000, 10000), (1060000, 1000000, 1051000), (10600.0, 10000.0, 10510.0))
        self.assertEqual((row["pass"], row["sample"]["percent"], row["classes"][0]["pass"]), (False, 5.1, False))
        self.assertIn("p +5.1 % (+510 ns a piece; runs +0.0 .. +6.0 %)", accuracy.sum_verdicts([row], "sample")["text"])

    def test_even_number(self):
        """The worse of the two runs in the middle stands for the program, their mean for a class and the truth."""
        for totals, percent in (((940000, 1010000), -6.0), ((1060000, 990000), 6.0)):
            row = self.row((9900, 10100), totals, [t / 100 for t in totals])
            self.assertEqual((row["sample"]["truth_ns"], row["sample"]["percent"]), (1000000.0, percent))
            c, = row["classes"]
            self.assertEqual((c["mean_ns"], c["truth_ns"]), (sum(totals) / 200, 10000.0))

    def test_each_interval_counts(self):
        row = self.row((1000, 1000, 1000), (100000, 100000, 100000), (1000.0, 1059.0, 1061.0))
        c, = row["classes"]
        self.assertEqual((c["interval_holds_runs"], c["interval_holds"]), ([True, True, False], False))
        held = accuracy.class_verdicts([row])[1]
        self.assertEqual((held["pass"], held["text"]), (False, "2 of 3 hold the truth (67 %)"))

    def test_least_samples(self):
        made = [a_round(timed_truth({FILL: (100, 100000)}),
                        timed_report([kernel_row(samples=n, mean_ns=2000.0)], 100000),
                        timed_report([], 100000, "cupti")) for n in (40, 29, 50)]
        c, = accuracy.row_of(None, made)["classes"]
        self.assertEqual((c["samples"], c["pass"]), (29, None))
        made[1].reports["sample"].data["works"] = []  # a run that lacks the class has no sample of it
        c, = accuracy.row_of(None, made)["classes"]
        self.assertEqual((c["samples"], c["mean_ns"], c["mean_ns_runs"]), (0, 2000.0, [2000.0, None, 2000.0]))

    def test_run_without_a_figure(self):
        row = self.row((1000, 1000, 1000), (100000, None, 100000), (1000.0, 1000.0, 1000.0))
        self.assertEqual((row["pass"], row["sample"]["percent"], row["spread_percent"]["sample"]), (False, None, None))

    def test_trouble_in_one_run(self):
        made = [a_round(timed_truth({FILL: (100, 100000)}), *(timed_report([kernel_row()], 100000, mode)
                        for mode in ("sample", "cupti"))) for _ in range(3)]
        del made[1].truths["truth"]
        made[1].trouble["truth"] = "SIGSEGV"
        row = accuracy.row_of(None, made)
        self.assertEqual((row["pass"], row["note"], row["sample"]["pass"]), (False, "truth: run 2: SIGSEGV", True))

    def test_untrue_records_of_all_runs(self):
        made = [Accuracy.untrue_round(self, *x) for x in ((60, 40), (0, 100), (0, 100))]
        row = accuracy.row_of(None, made)
        self.assertEqual(row["sample"]["left_out"], [])  # 60 of 300
        self.assertIn("CUPTI's time of 60 of 300 of copy HtoD", row["note"])
        made[1] = Accuracy.untrue_round(self, 10, 90)
        row = accuracy.row_of(None, made)
        self.assertEqual((row["sample"]["left_out"], row["sample"]["percent"]), ([work.text(COPY)], 0.0))


class Rounds(unittest.TestCase):
    """How often the programs are run, and that the parts share the runs."""

    def made(self, count, left, troubles=()):
        """(settings, the rounds' row) of so many rounds asked for, with time left for so many."""
        settings = types.SimpleNamespace(rounds=count, runs={}, only=None, half="all", simulated=True)
        done = []

        def one(*_):
            done.append(runs.Round())
            if len(done) in troubles:
                done[-1].trouble["cupti"] = "timed out"
            return done[-1]

        settings.out_of_time = lambda: len(done) >= left
        found = []
        with mock.patch.object(runs, "run_round", one), mock.patch.object(
                programs, "all_programs", lambda _: [programs.Program("many_tiny_launches/sim", [])]):
            for _ in range(2):
                found += runs.rows(settings, None, lambda program, made: {"pass": True, "note": "n", "made": made},
                                   lambda row: None)
        self.assertEqual(len(done), min(count, max(left, len(found[0].get("made", [])))))
        return found

    def test_both_parts_have_all_rounds(self):
        first, second = self.made(3, 9)
        self.assertEqual((first["rounds"], first["note"], second["made"] is first["made"]), (3, "n", True))

    def test_time_runs_out(self):
        """What was run is judged, by the second part as well."""
        for row in self.made(3, 2):
            self.assertEqual((row["rounds"], row["pass"], row["note"]),
                             (2, True, "2 of 3 rounds: the time limit was reached; n"))
        for row in self.made(3, 2, troubles=(2,)):  # the second was cut short
            self.assertEqual((row["rounds"], row["note"]), (1, "1 of 3 rounds: the time limit was reached; n"))
        self.assertEqual([r["rounds"] for r in self.made(3, 1, troubles=(1,))], [1, 1])
        self.assertEqual([(r["pass"], r["note"]) for r in self.made(3, 0)],
                         [(False, "not run: the time limit was reached")] * 2)


class Timeline(unittest.TestCase):
    def row(self, name="p", **cupti):
        made = a_round(None, *(timed_report([], 1, mode) for mode in ("sample", "cupti", "sample")),
                       beside_truth=timed_truth({}))
        made.reports["cupti"].data["gpu"].update(cupti)
        return {"program": name, "note": None, **timeline.row_of(programs.Program(name, []), [made])}

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
        self.assertEqual((row["pass"], row["note"], row["under_cupti"]), (False, "cupti: no timeline", None))

    def test_full_queue(self):
        self.assertEqual(self.row("one_big_kernel/static")["told"]["share"], 0.9)
        told = self.row("many_tiny_launches/static")["told"]
        self.assertEqual((told["share"], told["pass"]), (0.1, False))
        self.assertIsNone(self.row()["told"])


class TimelineBeside(unittest.TestCase):
    """The run that is sampled while CUPTI records, and several runs."""

    def made(self, busy=(400, 400, 400), truth_ns=400, window=1000):
        """A round whose busy times are those, sampled, in cupti mode and beside CUPTI; the rest is launches."""
        reports = [timed_report([], 1, mode) for mode in ("sample", "cupti", "sample")]
        for report, ns in zip(reports, busy):
            report.data["gpu"].update(window_ns=window, busy_ns=ns, idle_by={"launch": window - ns})
        return a_round(None, *reports, beside_truth=timed_truth({}, busy_ns=truth_ns))

    def row(self, *made):
        return {"program": "p", **timeline.row_of(programs.Program("p", []), list(made))}

    def passed(self, row):
        return [v["pass"] for v in timeline.verdicts([row])]

    def test_like_with_like(self):
        """CUPTI's cost makes the shares of the sample run others; those of the run beside it are not."""
        row = self.row(self.made(busy=(400, 300, 310), truth_ns=320))
        self.assertEqual((row["difference_points"], row["under_cupti"]["difference_points"]), (10.0, 1.0))
        self.assertEqual((row["beside"]["busy"], row["busy_truth"], row["same_run"]["difference_points"]),
                         (31.0, 32.0, 1.0))
        self.assertEqual(self.passed(row), [False, True, True])
        self.assertEqual((row["pass"], row["note"]), (False, None))

    def test_points(self):
        for busy, truth_ns, passed in ((351, 400, [True, True, True]), (349, 349, [True, False, True]),
                                       (380, 431, [True, True, False]), (380, 329, [True, True, False])):
            row = self.row(self.made(busy=(400, 400, busy), truth_ns=truth_ns))
            self.assertEqual(self.passed(row), passed, (busy, truth_ns))
        self.assertEqual(timeline.verdicts([row])[2]["text"], "p (busy 5.1 points)")

    def test_medians(self):
        row = self.row(self.made(), self.made((900, 410, 100), 700, 1000), self.made((1000, 820, 840), 880, 2000))
        self.assertEqual([row[n]["busy"] for n in ("sample", "cupti", "beside")], [50.0, 41.0, 40.0])
        self.assertEqual((row["busy_truth"], row["beside_window_ns"]), (44.0, 1000))
        self.assertEqual(row["busy_runs"], {"sample": [40.0, 90.0, 50.0], "cupti": [40.0, 41.0, 41.0],
                                            "beside": [40.0, 10.0, 42.0], "truth": [40.0, 70.0, 44.0]})
        self.assertEqual(self.passed(row), [False, True, True])
        self.assertEqual(row["same_run"]["points_runs"], [0.0, 60.0, 2.0])  # each run is judged by its own records

    def test_runs_that_are_off_both_ways(self):
        row = self.row(*[self.made((1000, 400, busy), truth, 1000) for busy, truth in
                         ((100, 900), (500, 500), (900, 100))])
        self.assertEqual((row["same_run"]["difference_points"], row["same_run"]["pass"]), (80.0, False))

    def test_cause_that_one_run_lacks(self):
        made = [self.made() for _ in range(3)]
        made[0].reports["sample"].data["gpu"]["idle_by"] = {"sync": 600}
        row = self.row(*made)
        self.assertEqual((row["sample"]["idle, launch"], row["sample"]["idle, sync"]), (60.0, 0.0))

    def test_one_run_without_a_timeline(self):
        made = [self.made() for _ in range(3)]
        made[1].reports["sample"].data["gpu"]["busy_ns"] = None
        self.assertEqual(self.row(*made)["note"], "sample: no timeline")

    def test_failed_run(self):
        """What is wrong with the run beside CUPTI says nothing of the others."""
        made = self.made()
        made.trouble["beside"] = "2 records lost (dropped)"
        row = self.row(made)
        self.assertEqual((row["pass"], row["note"]), (True, "beside: 2 records lost (dropped)"))
        self.assertEqual(self.passed(row), [True, False, False])
        self.assertEqual(timeline.verdicts([row])[1]["text"], "p (beside: 2 records lost (dropped))")
        row = self.row(self.made(truth_ns=None))  # more records than are kept
        self.assertEqual((row["busy_truth"], self.passed(row)), (None, [True, True, False]))

    def test_no_spans_of_graphs(self):
        """The nodes of graphs are not what a launch takes: nothing to compare with."""
        made = self.made(truth_ns=100)
        made.truths["beside"].kinds = {}
        row = self.row(made)
        self.assertEqual((row["busy_truth"], row["same_run"]["pass"]), (10.0, None))
        self.assertEqual(row["note"], "beside: the truth has no spans of graphs")
        self.assertEqual(self.passed(row), [True, True, None])
        other = self.row(self.made())
        self.assertTrue(timeline.verdicts([row, other])[2]["pass"])

    def test_full_queue_of_several_runs(self):
        made = [self.made() for _ in range(3)]
        made[2].reports["sample"].data["host"].update(launch_ns=90)
        told = timeline.row_of(programs.Program("one_big_kernel/static", []), made)["told"]
        self.assertEqual((told["share"], told["pass"], told["host"]["launch_ns"]), (0.9, True, 10))
