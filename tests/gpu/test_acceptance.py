#!/usr/bin/env python3
"""Tests of the acceptance script and of the CUPTI truth library; they need no GPU.

usage: test_acceptance.py [BUILD]     the build folder, or the variable O; without it the truth library's tests
are skipped
"""
import io
import json
import os
import sqlite3
import struct
import subprocess
import sys
import tempfile
import types
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from acceptance import (  # noqa: E402
    accuracy, beside, compare, counts, launch_cost, modes, nsys, overhead, page, process, programs, resident, runs,
    timeline, truth, work)
from acceptance.shim import Report  # noqa: E402



def usable(build):
    """The build folder, if the truth library and the made-up CUPTI are there."""
    return build and os.path.exists(os.path.join(build, "tests", "libfake_cupti.so")) and \
        os.path.abspath(build)


BUILD = usable(os.environ.get("O"))


def report(**totals):
    full = {"launches": 10, "graph_launches": 2, "copies": 3, "copy_bytes": 300, "sets": 1,
            "captured": 4, "syncs": 7}
    full.update(totals)
    return Report("x", {
        "totals": full, "lost": {"records": 0}, "gaps": [], "window_ns": 5,
        "processes": [{"pid": 9, "state": "complete"}],
        "kernels": [{"name": "void ns::fill<float>(float*)", "launches": 6},
                    {"name": "plain", "launches": 4}, {"name": "captured only", "launches": 0}],
        "copies": [{"direction": "HtoD", "host_memory": "pageable", "count": 2, "bytes": 200},
                   {"direction": "DtoH", "host_memory": "pinned", "count": 1, "bytes": 100}]})


def same_truth():
    t = truth.Truth("test")
    t.pid = 9
    t.launches, t.graph_launches, t.copies, t.copy_bytes, t.sets = 10, 2, 3, 300, 1
    t.kernels = {"void ns::fill<float>(float*)": 6, "plain": 4}
    t.directions = {"HtoD": 2, "DtoH": 1}
    return t


class Compare(unittest.TestCase):
    def test_equal(self):
        self.assertEqual(compare.compare([report()], [same_truth()]), [])

    def test_each_total(self):
        for key in compare.TOTALS:
            t = same_truth()
            setattr(t, key, getattr(t, key) + 1)
            bad = compare.unexplained(compare.compare([report()], [t]))
            self.assertEqual([d["what"] for d in bad], [key])

    def test_kernels_swapped(self):
        t = same_truth()
        t.kernels = {"void ns::fill<float>(float*)": 4, "plain": 6}
        self.assertEqual(len(compare.unexplained(compare.compare([report()], [t]))), 2)

    def test_host_to_host_is_known(self):
        r = report(copies=5, copy_bytes=350)
        r.data["copies"].append({"direction": "HtoH", "host_memory": "pageable", "count": 2,
                                 "bytes": 50})
        found = compare.compare([r], [same_truth()])
        self.assertEqual([d["what"] for d in found], ["copies", "copy_bytes", "copies HtoH"])
        self.assertEqual(compare.unexplained(found), [])
        r.totals["copies"] = 6  # one more than the host's own copies explain
        self.assertEqual([d["what"] for d in compare.unexplained(compare.compare([r], [same_truth()]))],
                         ["copies"])

    def test_wrong_direction_is_no_excuse(self):
        t = same_truth()
        t.directions = {"HtoD": 1, "DtoH": 2}
        self.assertEqual(len(compare.unexplained(compare.compare([report()], [t]))), 2)

    def test_unknown_direction(self):
        r = report()
        r.data["copies"][1]["direction"] = "unknown"
        found = compare.compare([r], [same_truth()])
        self.assertEqual(len(found), 1)
        self.assertEqual(compare.unexplained(found), [])

    def test_other_process(self):
        t = same_truth()
        t.pid = 10
        what = [d["what"] for d in compare.unexplained(compare.compare([report()], [t]))]
        self.assertEqual(what, ["process without a truth", "process without a recording"])

    def test_incomplete_truth(self):
        t = same_truth()
        t.troubles = ["3 records lost (dropped)"]
        self.assertEqual(len(compare.unexplained(compare.compare([report()], [t]))), 1)

    def test_captured_of_the_simulator(self):
        t = same_truth()
        t.captured = 5
        self.assertEqual([d["what"] for d in compare.compare([report()], [t])], ["captured"])

    def test_expected(self):
        text = "expect: launches=10 copies_htod_pageable=2 copies_dtoh=1 syncs=7\n" \
            "expect-kernel: fill launches=6\nexpect-kernel: plain launches=4\nresult: ok\n"
        good = process.Outcome([], 0, False, 1.0, text, "")
        self.assertEqual(compare.compare_expected([report()], good), [])
        bad = process.Outcome([], 0, False, 1.0, text.replace("=7", "=8").replace("=6", "=5"), "")
        self.assertEqual([d["what"] for d in compare.compare_expected([report()], bad)],
                         ["expect: syncs", "expect: kernel fill"])

    def test_base_name(self):
        for full, base in (("void ns::fill<float, (int)3>(float*)", "fill"), ("plain", "plain"),
                           ("fill(float*, unsigned int)", "fill"),
                           ("void (anonymous namespace)::k<a::b>(int)", "k")):
            self.assertEqual(compare.base_name(full), base)


class Processes(unittest.TestCase):
    def run_python(self, code, timeout=20):
        with tempfile.TemporaryDirectory() as folder:
            return process.run([sys.executable, "-c", code], dict(os.environ), timeout, folder, "p")

    def test_lines(self):
        o = self.run_python("print('time_s: 0.5\\nexpect: a=1 b=2\\nresult: x 1')")
        self.assertEqual((o.rc, o.times, o.expected, o.results, o.trouble()),
                         (0, [0.5], {"a": 1, "b": 2}, ["x 1"], None))

    def test_crash_and_status(self):
        self.assertEqual(self.run_python("import os; os.abort()").crashed, "SIGABRT")
        self.assertEqual(self.run_python("import os; os._exit(139)").crashed, "SIGSEGV")
        o = self.run_python("import sys; sys.exit('told why')")
        self.assertIn("told why", o.trouble())

    def test_time_out(self):
        o = self.run_python("import time; time.sleep(60)", timeout=1)
        self.assertEqual(o.crashed, "timed out")
        self.assertLess(o.seconds, 30)

    def test_skip(self):
        o = self.run_python("print('skip: no GPU'); raise SystemExit(77)")
        self.assertEqual(o.skipped, "no GPU")

    def test_missing_program(self):
        with tempfile.TemporaryDirectory() as folder:
            o = process.run(["/nonexistent/x"], {}, 5, folder, "p")
        self.assertEqual(o.rc, 127)


class Figures(unittest.TestCase):
    def test_slowdown(self):
        s = overhead.summary([(1.0, 1.02), (2.0, 2.0), (1.0, 1.10)])
        self.assertEqual(s["slowdown_median_percent"], 2.0)
        self.assertEqual(s["slowdown_quartiles_percent"], [1.0, 6.0])
        self.assertEqual(s["slowdown_range_percent"], [0.0, 10.0])

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

    def test_page_width(self):
        out = io.StringIO()
        p = page.Page(out)
        p.counts_head("CUPTI")
        p.counts_row({"program": "many_tiny_launches/static", "verdict": "FAIL", "note": "x" * 200,
                      "ours": [report().as_json()], "truth": [same_truth().as_json()],
                      "differences": [compare.difference("y" * 100, 1, 2, "z" * 100)],
                      "same_result": True})
        p.overhead_head()
        p.overhead_row({"program": "launch_loop/static", "mode": "off", "limit_percent": 2.0,
                        "pass": True, "note": None, **overhead.summary([(1.0, 1.02)] * 15)})
        p.accuracy_head()
        p.accuracy_row({"program": "torch_conv_training", "pass": False, "note": "z" * 100,
                        "sample": {"truth_ns": 123456789012, "ours_ns": 123456789012, "percent": -12.345,
                                   "per_piece_ns": -123.4}, "cupti": {"percent": None}})
        p.timeline_head()
        p.timeline_row({"program": "many_tiny_launches/static", "pass": True, "note": None,
                        "difference_points": 12.34, "sample": {"busy": 99.99},
                        "told": {"what": "x" * 80, "share": None}})
        p.table("t", [{"what": "w" * 70, "text": "y" * 100, "pass": None}])
        p.verdicts([{"what": "counts", "pass": False, "text": "name/one, " * 30}])
        self.assertLessEqual(max(len(line) for line in out.getvalue().splitlines()), page.WIDTH)


class Pairs(unittest.TestCase):
    """The measuring itself, on programs that take a known time."""

    RESIDENT = "import sys\nprint('noise')\n" \
        "stem = sys.argv[sys.argv.index('--serve') + 1]\n" \
        "asked, out = open(stem + '.in'), open(stem + '.out', 'w')\n" \
        "print('ready', file=out, flush=True)\n" \
        "for i, _ in enumerate(asked): print('time_s:', %s, file=out, flush=True)"

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.settings = types.SimpleNamespace(
            work=self.folder.name, quick=False, pairs=10, environment=lambda **more: dict(os.environ, **more),
            time_left=lambda most: most, out_of_time=lambda: False)
        self.tool = modes.Mode("tool", "", lambda settings, folder: {"TOOL": "1"})
        self.slow = modes.Mode("slow", "", lambda settings, folder: {"TOOL": "2"}, turns_most=2)

    def tearDown(self):
        self.folder.cleanup()

    def measure(self, code, resident):
        argv = [sys.executable, "-c", code]
        program = programs.Program("p", argv, resident=resident, timeout=20)
        return overhead.measure(self.settings, program, [self.tool])[0]

    def test_fresh(self):
        self.settings.pairs = 4
        row = self.measure("import os; print('time_s:', 1.1 if 'TOOL' in os.environ else 1.0)", False)
        self.assertEqual((row["pairs"], row["slowdown_median_percent"]), (4, 10.0))
        self.assertIsNone(row["pass"])

    def test_resident(self):
        row = self.measure("import os\n" + self.RESIDENT % "1.5 if 'TOOL' in os.environ else 1.0", True)
        self.assertEqual((row["pairs"], row["slowdown_median_percent"]), (10, 50.0))
        # the first turn of each process is not counted
        row = self.measure(self.RESIDENT % "9.0 if i == 0 else 1.0", True)
        self.assertEqual(set(row["bare_s"]), {1.0})

    def test_order_turns(self):
        trace = os.path.join(self.folder.name, "trace")
        code = "import os\nt = os.environ.get('TOOL', '0')\nopen('%s', 'a').write(t)\n" \
            "print('time_s:', 1.0 + int(t))" % trace
        self.settings.pairs = 3
        program = programs.Program("p", [sys.executable, "-c", code], timeout=20)
        rows = overhead.measure(self.settings, program, [self.tool, self.slow])
        with open(trace, encoding="utf-8") as f:
            self.assertEqual(f.read(), "012" + "210" + "01")  # the slow one has its two turns
        self.assertEqual([(r["pairs"], r["slowdown_median_percent"], r["note"]) for r in rows],
                         [(3, 100.0, None), (2, 200.0, None)])

    def test_one_tool_fails(self):
        code = "import os, sys\nt = int(os.environ.get('TOOL', '0'))\n" \
            "sys.exit('broken') if t == 2 else print('time_s:', 1.0 + t)"
        self.settings.pairs = 3
        program = programs.Program("p", [sys.executable, "-c", code], timeout=20)
        good, bad = overhead.measure(self.settings, program, [self.tool, self.slow])
        self.assertEqual((good["pairs"], good["pass"]), (3, None))
        self.assertEqual((bad["pass"], "broken" in bad["note"]), (False, True))

    def test_no_dearer(self):
        rows = [{"program": "launch_loop/static", "mode": mode, "pairs": 3,
                 "slowdown_median_percent": percent} for mode, percent in
                (("cupti", 25.0), ("nsys", 24.0))]
        self.assertEqual([v["pass"] for v in overhead.comparisons(rows)], [False])
        rows[0]["slowdown_median_percent"] = 24.0
        self.assertEqual([v["pass"] for v in overhead.comparisons(rows)], [True])
        self.assertEqual(overhead.comparisons(rows[:1]), [])

    def test_failure(self):
        for resident in (False, True):
            row = self.measure("import sys; sys.exit('cannot go on')", resident)
            self.assertFalse(row["pass"])
            self.assertIn("cannot go on", row["note"])

    def test_limit(self):
        for value, passed in ((1.01, True), (1.03, False)):
            self.settings.pairs = 2
            code = "import os; print('time_s:', %g if 'TOOL' in os.environ else 1.0)" % value
            modes.LIMITS[("p", "tool")] = 2.0
            self.assertEqual(self.measure(code, False)["pass"], passed)
            del modes.LIMITS[("p", "tool")]

    def test_out_of_time(self):
        self.settings.out_of_time = lambda: True
        row = self.measure("print('time_s: 1')", False)
        self.assertFalse(row["pass"])
        self.assertIn("time limit", row["note"])


def kernel_row(**more):
    row = {"kind": "kernel", "kernel": "fill(float*)", "grid": [2, 1, 1], "block": [64, 1, 1],
           "shared_bytes": 0, "direction": None, "memory": None, "bytes": None, "count": 100,
           "samples": 40, "mean_ns": 1000.0, "low_ns": 900.0, "high_ns": 1100.0, "api_mean_ns": 3000.0}
    row.update(more)
    return row


def copy_row(**more):
    return kernel_row(kind="copy", kernel=None, grid=None, block=None, shared_bytes=None,
                      direction="HtoD", memory="pinned", bytes=100 * 4100, **more)


FILL = work.kernel_key("fill(float*)", [2, 1, 1], [64, 1, 1], 0)


def timed_report(works, total_ns, mode="sample", launches=100):
    r = report(launches=launches, graph_launches=0, sets=0)
    r.data["copies"] = []
    r.data["works"] = works
    whole = {"gpu_total_ns": total_ns, "gpu_mean_ns": total_ns and total_ns / launches,
             "gpu_low_ns": total_ns and 0.9 * total_ns, "gpu_high_ns": total_ns and 1.1 * total_ns,
             "gpu_known_share": 1.0, "samples": 40}
    r.data["gpu"] = {"mode": mode, "work": {"all": whole}, "calibration": {}, "window_ns": 1000,
                     "busy_ns": 400, "idle_by": {"launch": 500, "outside": 100}}
    r.data["host"] = {"launch_ns": 10, "back_pressure_ns": 80, "contention_ns": 0,
                      "sync_useful_ns": 10, "sync_wasted_ns": 0}
    return r


def timed_truth(classes, kernels=(100, 100000)):
    t = same_truth()
    t.classes, t.kinds = classes, {"kernel": kernels, "copy": (0, 0), "set": (0, 0), "graph": (0, 0)}
    return t


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


class Beside(unittest.TestCase):
    def outcome(self, seen):
        return process.Outcome([], 0, False, 1.0, "profiled: %s\n" % json.dumps(seen), "")

    def test_profilers_output(self):
        alone = beside.profiler_saw(self.outcome({"kernel": {"fill": 10}, "gpu_memcpy": {}}))
        ours = {"kernel": {"fill": 10, "cudaspy_stall": 4, "cudaspy_null": 1}, "gpu_memcpy": {}}
        row = {}
        beside.compare_output(row, alone, beside.profiler_saw(self.outcome(ours)))
        self.assertTrue(row["complete"])
        ours["kernel"]["fill"] = 9
        text = beside.compare_output(row, alone, beside.profiler_saw(self.outcome(ours)))
        self.assertFalse(row["complete"])
        self.assertIn("fill 10, 9", text)
        beside.compare_output(row, {}, {})
        self.assertFalse(row["complete"])  # nothing seen is not complete
        self.assertIsNone(beside.profiler_saw(process.Outcome([], 0, False, 1.0, "", "")))

    def test_figures(self):
        for total, mean, same in ((104000, 1100.0, True), (116000, 1000.0, False), (100000, 1201.0, False)):
            row = {}
            beside.compare_figures(row, timed_report([kernel_row()], 100000),
                                   timed_report([kernel_row(mean_ns=mean)], total))
            self.assertEqual(row["same"], same)
        beside.compare_figures(row, timed_report([], 100000), timed_report([], 100000, "off"))
        self.assertFalse(row["same"])

    def test_nsys_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "x.sqlite")
            with sqlite3.connect(path) as db:
                db.execute("CREATE TABLE StringIds (id INTEGER, value TEXT)")
                db.executemany("INSERT INTO StringIds VALUES (?, ?)",
                               [(1, "fill"), (2, "cudaspy_stall")])
                db.execute("CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (shortName INTEGER)")
                db.executemany("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?)",
                               [(1,), (1,), (2,)])
                db.execute("CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (bytes INTEGER)")
                db.execute("INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (4)")
            self.assertEqual(nsys.counted(path), {"kernel": {"fill": 2}, "copy": {"copy": 1}, "set": {}})

    def test_preloads_of_both(self):
        """A nsys that only preloads a library of its own, and runs the program."""
        with tempfile.TemporaryDirectory() as folder:
            tool = os.path.join(folder, "nsys")
            with open(tool, "w", encoding="utf-8") as f:
                f.write('#!/bin/sh\nwhile [ "$1" != /bin/sh ]; do shift; done\n'
                        'exec env NSYS_SEEN=1 LD_PRELOAD=/nonexistent/nsys.so "$@"\n')
            os.chmod(tool, 0o755)
            settings = types.SimpleNamespace(nsys=tool, shim="/nonexistent/shim.so",
                                             environment=lambda **more: {**os.environ, **more})
            mode = modes.NSYS_AND_SAMPLE
            argv = mode.argv(settings, folder, ["/bin/sh", "-c", 'echo "$LD_PRELOAD $NSYS_SEEN"'])
            done = subprocess.run(argv, env=mode.environment(settings, folder), check=True, text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            self.assertEqual(done.stdout, "/nonexistent/shim.so:/nonexistent/nsys.so 1\n")

    def test_no_report_of_nsys(self):
        settings = types.SimpleNamespace(nsys="/nonexistent/target/nsys", environment=dict)
        with tempfile.TemporaryDirectory() as folder:
            with self.assertRaises(nsys.NsysFailed):
                nsys.read(settings, folder)


class Gate(unittest.TestCase):
    CODE = "import os, sys\nsys.path.insert(0, %r)\nimport common\n" \
        "open(sys.argv[1], 'a').write('b')\ncommon.require('json')\n" \
        "open(sys.argv[1], 'a').write(os.environ.get('CUDASPY_GPU', 't')[0])\n" \
        "common.require('math')" % os.path.join(os.path.dirname(os.path.abspath(__file__)), "workloads")

    def test_gated_runs_start_together_and_take_turns(self):
        with tempfile.TemporaryDirectory() as folder:
            trace = os.path.join(folder, "trace")
            settings = types.SimpleNamespace(
                work=folder, quick=False, simulated=True, build=folder, shim="", runs={},
                reporter="/nonexistent", environment=lambda **more: {**os.environ, **{
                    k: v for k, v in more.items() if k != "LD_PRELOAD"}},
                time_left=lambda most: most)
            program = programs.Program("p", [sys.executable, "-c", self.CODE, trace], timeout=30,
                                       gated=True)
            three = runs.three(settings, program)
            with open(trace, encoding="utf-8") as f:
                written = f.read()
            self.assertEqual(written.replace("b", ""), "tsc")
            self.assertEqual(written.count("b"), 3)
            self.assertIn("truth", three.trouble)  # it did no work on a GPU
            self.assertIs(runs.three(settings, program), three)


class Workloads(unittest.TestCase):
    """tests/gpu/workloads/common.py, with a module that stands for PyTorch."""

    TORCH = """
import json, types
class profile:
    def __init__(self, activities): self.on = False
    def start(self): self.on = True
    def stop(self): self.on = False
    def export_chrome_trace(self, path):
        events = [{"cat": "kernel", "ph": "X", "name": "fill"}] * 3
        events += [{"cat": "cpu_op", "ph": "X", "name": "aten::add"}, {"ph": "M", "name": "process_name"}]
        with open(path, "w") as f: json.dump({"traceEvents": events}, f)
profiler = types.SimpleNamespace(profile=profile, ProfilerActivity=types.SimpleNamespace(CPU=1, CUDA=2))
"""
    WORKLOAD = "import common\nrun = common.Run('Doc.', iterations=3)\ncommon.require('torch')\n" \
        "run.steady(lambda: None, lambda: None, warm_up=1)\nrun.finish(b'')\n"

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        for name, text in (("torch.py", self.TORCH), ("workload.py", self.WORKLOAD)):
            with open(os.path.join(self.folder.name, name), "w", encoding="utf-8") as f:
                f.write(text)
        common = os.path.join(os.path.dirname(os.path.abspath(__file__)), "workloads")
        self.argv = [sys.executable, "-B", os.path.join(self.folder.name, "workload.py")]
        self.env = {**os.environ, "PYTHONPATH": self.folder.name + ":" + common}

    def tearDown(self):
        self.folder.cleanup()

    def test_profiled(self):
        o = process.run(self.argv + ["--profiler"], self.env, 20, self.folder.name, "p")
        self.assertEqual((o.trouble(), len(o.times), len(o.results)), (None, 1, 1))
        self.assertEqual(beside.profiler_saw(o),
                         {"kernel": {"fill": 3}, "gpu_memcpy": {}, "gpu_memset": {}})

    def test_serves_turns(self):
        settings = types.SimpleNamespace(time_left=lambda most: most,
                                         environment=lambda **more: {**self.env, **more})
        program = programs.Program("p", self.argv, timeout=20)
        for name in ("bare", "profiler"):
            r = resident.Resident(settings, program, modes.MODES[name], self.folder.name)
            r.line("ready")
            self.assertEqual([r.turn() >= 0 for _ in range(3)], [True] * 3)
            r.close()
            self.assertEqual(r.p.returncode, 0)  # it went at the end of its input


class LaunchCost(unittest.TestCase):
    def test_lines(self):
        text = "shim: present\ncost: driver median_ns=2650.0 difference_ns=0.0 q1_ns=0.0 q3_ns=0.0 " \
            "percent=0.000\ncost: seen median_ns=2700.5 difference_ns=-50.5 q1_ns=-60.0 q3_ns=70.1 " \
            "percent=-1.906\nresult: ok\n"
        found = launch_cost.costs(process.Outcome([], 0, False, 1.0, text, ""))
        self.assertEqual(found["seen"], {"median_ns": 2700.5, "difference_ns": -50.5, "q1_ns": -60.0,
                                         "q3_ns": 70.1, "percent": -1.906})
        self.assertEqual(sorted(found), ["driver", "seen"])


class Simulated(unittest.TestCase):
    """The script itself, on the simulated CUDA; nothing here depends on how fast the machine is."""

    def setUp(self):
        needed = ["libcudaspy.so", "cudaspy", "sim/truth", "samples/sim/many_tiny_launches",
                  "tests/captures-sim", "tests/launch_cost", "tests/libnvperf_launch_cost.so"]
        if not BUILD or not all(os.path.exists(os.path.join(BUILD, f)) for f in needed):
            self.skipTest("the shim, the simulated CUDA or its programs are not built")

    def script(self, *arguments):
        root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        with tempfile.TemporaryDirectory() as folder:
            out = os.path.join(folder, "out.json")
            done = subprocess.run([os.path.join(root, "scripts", "gpu_acceptance"), "--simulated",
                                   "--no-build", "--quick", "--build", BUILD, "--out", out,
                                   *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  timeout=300, check=False, text=True)
            self.assertIn(done.returncode, (0, 1), done.stdout)
            self.assertNotIn("Traceback", done.stdout)
            with open(out, encoding="utf-8") as f:
                return json.load(f)["parts"]

    def test_captures_and_launch_cost(self):
        parts = self.script("--parts", "captures,launch_cost")
        off, sample = parts["captures"]["rows"]
        self.assertEqual([(r["pass"], r["figures"]) for r in (off, sample)],
                         [(True, {"valid": 300, "invalid": 0, "foreign": 0})] * 2)
        self.assertEqual(off["samples"], 0)
        self.assertGreater(sample["samples"], 0)
        ways = ["clocks", "driver", "forward", "record", "seen"]
        self.assertEqual([(r["mode"], sorted(r["ways"])) for r in parts["launch_cost"]["rows"]],
                         [(mode, ways) for mode in ("bare", "off", "sample")])

    def test_times(self):
        parts = self.script("--parts", "accuracy,timeline", "--only", "^many_tiny_launches/sim$")
        row = parts["accuracy"]["rows"][0]
        self.assertEqual((row["sample"]["mode"], row["cupti"]["mode"], row["trouble"]),
                         ("sample", "cupti", {}))
        self.assertTrue(row["cupti"]["pass"])  # the simulated CUPTI is exact
        self.assertEqual([c["class"] for c in row["classes"]], ["increment(unsigned int*)"])
        self.assertGreaterEqual(row["classes"][0]["samples"], accuracy.SAMPLES_LEAST)
        self.assertIsNotNone(parts["timeline"]["rows"][0]["difference_points"])


class Demangle(unittest.TestCase):
    def test_names(self):
        self.assertEqual(truth.demangle("_Z4fillPfj"), "fill(float*, unsigned int)")
        self.assertEqual(truth.demangle("plain"), "plain")
        self.assertEqual(truth.demangle("_Zbroken"), "_Zbroken")


class CuptiTruth(unittest.TestCase):
    """The truth library on fake_cupti.c, whose records have the sums that are asked for here."""

    def setUp(self):
        if not BUILD:
            self.skipTest("the truth library is not built: no build folder named, or no CUPTI headers")
        self.folder = tempfile.TemporaryDirectory()
        self.out = os.path.join(self.folder.name, "t.json")

    def tearDown(self):
        if BUILD:
            self.folder.cleanup()

    def inject(self, way="return", expect=0, **env):
        tests = os.path.join(BUILD, "tests")
        full = {**os.environ, "CUPTI_TRUTH_OUT": self.out, "CUPTI_TRUTH_FLUSH_MS": "0",
                "CUPTI_TRUTH_LIB": os.path.join(tests, "libfake_cupti.so"), **env}
        done = subprocess.run([os.path.join(tests, "inject"), os.path.join(tests, "libcupti_truth.so"),
                               way], env=full, timeout=60, check=False, stderr=subprocess.PIPE)
        self.assertEqual(done.returncode, expect, done.stderr)
        with open(self.out, encoding="utf-8") as f:
            return json.load(f)

    def test_counts(self):
        data = self.inject()
        self.assertTrue(data["complete"])
        self.assertEqual(data["totals"]["kernels"]["outside"]["count"], 8)
        self.assertEqual(data["totals"]["kernels"]["inside"]["count"], 6)
        self.assertEqual(data["graph_launches"], 3)
        fill = [k for k in data["kernels"] if k["name"] == "_Z4fillPfj"][0]
        self.assertEqual((fill["outside"], fill["inside"], fill["outside_gpu_ns"], fill["min_ns"],
                          fill["max_ns"], fill["invalid_times"]), (6, 6, 500, 5, 100, 1))
        self.assertEqual([k["name"] for k in data["kernels"]][2], 'at "exit"\n')
        self.assertEqual((data["invalid_times"], data["lost"]["dropped"]), (1, 2))

    def test_copies_and_sets(self):
        data = self.inject()
        outside = data["totals"]["copies"]["outside"]
        self.assertEqual(outside["records"], 3)
        self.assertIn(outside["count"], (3, 6))  # 6 where CUPTI counts the items of a batch
        self.assertEqual(outside["bytes"], 5160)
        self.assertEqual([(g["kind"], g["src"], g["dst"]) for g in data["copies"]],
                         [("HtoD", "pinned", "device"), ("PtoP", "unknown", "unknown")])
        self.assertEqual(data["totals"]["sets"]["outside"]["bytes"], 32)

    def test_classes(self):
        classes = self.inject()["classes"]
        fill = [c for c in classes if c.get("name") == "_Z4fillPfj"]
        # the graph's nodes are in no class; the one without a time counts
        self.assertEqual([(c["count"], c["untimed"], c["gpu_ns"], c["min_ns"], c["max_ns"])
                          for c in fill], [(6, 1, 500, 100, 100)])
        plain = [c for c in classes if c.get("name") == "plain"][0]
        self.assertEqual((plain["grid"], plain["block"], plain["shared_bytes"]),
                         ([3, 1, 1], [1, 2, 1], 64))
        copies = [(c["copy_kind"], c["bytes"], c["gpu_ns"]) for c in classes if c["kind"] == "copy"]
        self.assertEqual(copies, [("HtoD", 4096, 100), ("HtoD", 1000, 100), ("PtoP", 64, 1)])
        self.assertEqual([c["bytes"] for c in classes if c["kind"] == "set"], [32])

    def test_own_kernels_are_left_out(self):
        data = self.inject()
        self.assertEqual(data["own"], {"kernels": 2, "gpu_ns": 710})
        self.assertFalse([k for k in data["kernels"] if "cudaspy" in k["name"]])
        self.assertEqual(data["devices"][0]["busy_ns"], 891)

    def test_busy(self):
        data = self.inject()
        # kernels 500 + 50 beside the first, graph nodes 30, copies 201, the set 10, the last kernel 100
        self.assertEqual(data["devices"], [{"device": 0, "busy_ns": 500 + 50 + 30 + 201 + 10 + 100,
                                            "idle_ns": 7100 - 891, "first_ns": 1000,
                                            "last_ns": 8100}])
        streams = {s["stream"]: s for s in data["streams"]}
        self.assertEqual((streams[7]["kernel_records"], streams[7]["kernel_ns"], streams[7]["copy_ns"]),
                         (13, 500 + 30 + 100, 200))

    def test_truncated_timeline_has_no_busy(self):
        data = self.inject(CUPTI_TRUTH_KEEP="5")
        self.assertIsNone(data["devices"])
        self.assertEqual(data["totals"]["kernels"]["outside"]["count"], 8)

    def test_raw(self):
        raw = os.path.join(self.folder.name, "raw")
        data = self.inject(CUPTI_TRUTH_RAW=raw)
        with open(raw, "rb") as f:
            content = f.read()
        magic, version, header, record, names, records = struct.unpack_from("<8sIIIIQ", content)
        self.assertEqual((magic, version, records), (b"CUPTRAW1", 2, data["kept_records"]))
        self.assertEqual(struct.unpack_from("<QQ", content, header), (1000, 1100))
        at = header + records * record
        found = []
        for _ in range(names):
            size = struct.unpack_from("<I", content, at)[0]
            found.append(content[at + 4:at + 4 + size].decode())
            at += 4 + size
        self.assertEqual((found, at), ([k["name"] for k in data["kernels"]], len(content)))

    def test_calls(self):
        data = self.inject(CUPTI_TRUTH_API="1")
        self.assertEqual(data["apis"], [{"level": "runtime", "name": "cudaLaunchKernel_v7000",
                                         "calls": 1, "failed": 0, "total_ns": 4}])
        causes = {(c["kind"], c["call"]): c["records"] for c in data["causes"]}
        self.assertEqual(causes, {("kernel", "cudaLaunchKernel_v7000"): 1, ("kernel", None): 7,
                                  ("copy", None): 3, ("set", None): 1})

    def test_refused(self):
        data = self.inject(FAKE_CUPTI_REFUSE="1")
        self.assertFalse(data["complete"])
        self.assertIn("a refusal (39)", data["errors"][0])

    def test_ways_to_end(self):
        for way in ("exit", "fork"):
            self.assertTrue(self.inject(way)["complete"])
        data = self.inject("_exit", CUPTI_TRUTH_FLUSH_MS="50")
        self.assertFalse(data["complete"])
        self.assertEqual(data["totals"]["kernels"]["outside"]["count"], 7)

    def test_flushing_thread(self):
        data = self.inject("exit", CUPTI_TRUTH_FLUSH_MS="1")
        self.assertTrue(data["complete"])
        self.assertEqual(data["totals"]["kernels"]["outside"]["count"], 8)

    def test_read_by_the_script(self):
        self.inject()
        t = truth.from_cupti(self.out)
        self.assertEqual((t.launches, t.graph_launches, t.copy_bytes, t.sets), (8, 3, 5160, 1))
        self.assertEqual(t.kernels["fill(float*, unsigned int)"], 6)
        self.assertEqual(t.busy_ns, 891)
        self.assertEqual(t.troubles, ["2 records lost (dropped)"])


if __name__ == "__main__":
    if len(sys.argv) > 1 and os.path.isdir(sys.argv[1]):
        BUILD = usable(sys.argv.pop(1))
    unittest.main(argv=[sys.argv[0]] + sys.argv[1:], verbosity=1)
