#!/usr/bin/env python3
"""Tests of the acceptance script and of the CUPTI truth library; they need no GPU.

usage: test_acceptance.py [BUILD]     the build folder, or the variable O; without it the truth library's tests
are skipped
"""
import io
import json
import os
import struct
import subprocess
import sys
import tempfile
import types
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from acceptance import compare, counts, modes, overhead, page, process, programs, truth  # noqa: E402
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
