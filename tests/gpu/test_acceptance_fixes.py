# SPDX-License-Identifier: Apache-2.0
"""Tests of the acceptance script: programs with their fix; how they are measured, judged and told."""
import os
import re
import subprocess
import sys
import tempfile
import time
import types
import unittest
from unittest import mock

from acceptance import fixes, fixes_table, programs, resident
from acceptance.fixes_table import Case, Fix
from acceptance.modes import BARE
from acceptance.page import Page
from acceptance.settings import FRAMEWORKS

LAUNCH = Fix("launch-bound", "graphs")


def loop(name, steps, seconds):
    return "variant: %s\nsteps: %d\ntime_s: %.9f\n" % (name, steps, seconds)


def promise(low, mid, high):
    return {"low": low, "mid": mid, "high": high, "why": None}


def process(name="launch-bound", first=None, second=None, steps=100, **what_if):
    return {"class": name, "confidence": "high", "first": first or name, "second": second, "steps": {"count": steps, "p50_ns": 1e6},
            "what_if": {"graphs": promise(2.5, 3.0, 3.5), "no-sync": promise(1.0, 1.01, 1.02), **what_if}}


def row_of(case, gains, *runs, steps=(100, 20)):
    row = fixes.new_row(case, "first")
    row["gains"] = {name: {"median": g, "low": g, "high": g, "each": [g]} for name, g in gains.items()}
    row["steps_true"] = list(steps)
    row["runs"] = [{"mode": "sample", "processes": [p] if isinstance(p, dict) else p, "step_ns": 1e6, "same_result": True}
                   for p in runs]
    return fixes.judge(row, case)


class Measured(unittest.TestCase):
    def test_loops(self):
        text = "noise\n" + loop("base", 100, 1.0) + "result: x 1\n" + loop("fix", 40, 0.1) + "failed: useless Error: why\n"
        self.assertEqual(fixes.loops(text), [("base", 100, 1.0), ("fix", 40, 0.1)])
        self.assertEqual(fixes.failures(text), {"useless": "Error: why"})
        self.assertEqual(fixes.number_of("warm_steps: 20\n", "warm_steps"), 20.0)
        self.assertIsNone(fixes.number_of("", "warm_steps"))

    def test_gain_is_per_step_and_by_rounds(self):
        found = [("base", 100, 9.0), ("base", 10, 1.0), ("fix", 20, 1.0), ("fix", 10, 0.25), ("base", 10, 1.0), ("useless", 10, 1.0)]
        told = fixes.gains(found)
        self.assertEqual(told["fix"]["each"], [2.0, 4.0])
        self.assertEqual((told["fix"]["median"], told["fix"]["low"], told["fix"]["high"]), (3.0, 2.0, 4.0))
        self.assertEqual(told["useless"]["each"], [1.0])
        self.assertEqual(fixes.gains([("base", 1, 1.0)]), {})

    def test_what_the_truth_is_off_by(self):
        """Any loop as it was written, the first one too, over any fixed one; told apart from the range."""
        found = [("base", 100, 9.0), ("base", 10, 1.2), ("fix", 10, 0.4), ("fix", 10, 0.5), ("base", 10, 1.0)]
        low, high = fixes.gains(found)["fix"]["spread"]
        self.assertAlmostEqual(low, 0.09 / 0.05)
        self.assertAlmostEqual(high, 0.12 / 0.04)
        row = row_of(Case("x", "torch", LAUNCH), {"fix": 3.6}, process())
        self.assertEqual((row["in_range"], row["in_spread"]), (False, False))
        row["gains"]["fix"]["spread"] = [3.4, 3.7]
        fixes.judge(row, Case("x", "torch", LAUNCH))
        self.assertEqual((row["in_range"], row["in_spread"], row["pass"]), (False, True, False))
        found = {v["what"]: v["pass"] for v in fixes.verdicts([row], 1)}
        self.assertFalse(found["gain in the range, first half"])
        self.assertIsNone(found["some loops as written over some fixed ones in the range, first half"])

    def test_result(self):
        self.assertTrue(fixes.same_result(["ab 1.5"], ["ab 1.5"], 0.0))
        self.assertTrue(fixes.same_result(["ab 1.5"], ["cd 1.5001"], 1e-3))
        self.assertFalse(fixes.same_result(["ab 1.5"], ["cd 1.6"], 1e-3))
        self.assertIsNone(fixes.same_result([], ["cd 1.6"], 1e-3))


class Judged(unittest.TestCase):
    def test_right(self):
        row = row_of(Case("x", "torch", LAUNCH, useless="no-sync"), {"fix": 3.2, "useless": 1.0}, process(), process(steps=120))
        self.assertEqual((row["right_class"], row["in_range"], row["useless"]["right"], row["right_steps"], row["stable"], row["pass"]),
                         (True, True, True, True, True, True))
        self.assertTrue(row["fixes"][0]["near"])

    def test_wrong(self):
        case = Case("x", "torch", LAUNCH, useless="no-sync")
        row = row_of(case, {"fix": 6.8, "useless": 1.0}, process("host-bound", steps=22, **{"no-sync": promise(1.1, 1.2, 1.3)}))
        self.assertEqual((row["right_class"], row["in_range"], row["useless"]["right"], row["right_steps"], row["pass"]),
                         (False, False, False, False, False))
        # where it did help, it may promise that
        self.assertTrue(row_of(case, {"fix": 3.0, "useless": 1.2}, process(**{"no-sync": promise(1.1, 1.2, 1.3)}))["useless"]["right"])
        none = row_of(case, {"fix": 3.0, "useless": 1.0}, process(graphs={"low": None, "mid": None, "high": None, "why": "too few"}))
        self.assertEqual((none["in_range"], none["fixes"][0]["promised"]["why"]), (False, "too few"))

    def test_class_of_the_best_fix(self):
        case = Case("x", "torch", Fix("sync-bound"), Fix("host-bound", None, "fix2"))
        self.assertEqual(row_of(case, {"fix": 1.5, "fix2": 3.0}, process())["expected"], ["host-bound"])
        both = row_of(case, {"fix": 1.5, "fix2": 1.8}, process("mixed", "sync-bound", "host-bound"))
        self.assertEqual((both["expected"], both["right_class"]), (["host-bound", "sync-bound"], True))
        one = row_of(case, {"fix": 1.5, "fix2": 3.0}, process("mixed", "sync-bound", "host-bound"))
        self.assertFalse(one["right_class"])

    def test_where_the_truth_tells(self):
        case = Case("x", "torch", Fix("sync-bound"), Fix("host-bound", None, "fix2"))
        rows = [row_of(case, gains, process("host-bound")) for gains in (
            {"fix": 1.5, "useless": 1.0}, {"fix": 1.3, "fix2": 1.1, "useless": 1.33}, {"fix": 1.5, "fix2": 1.1, "useless": 1.0})]
        self.assertEqual([r["whole_truth"] for r in rows], [False, False, True])
        what = "class where all fixes were measured and one beats the useless change, first half"
        text, = [v["text"] for v in fixes.verdicts(rows, 1) if v["what"] == what]
        self.assertTrue(text.startswith("0 of 1"), text)

    def test_no_fix_helps(self):
        self.assertEqual(row_of(Case("x", "torch", otherwise="gpu-bound"), {"useless": 1.0}, process())["expected"], ["gpu-bound"])
        little = Case("x", "torch", Fix("sync-bound", "no-sync"), otherwise="gpu-bound")
        self.assertEqual(row_of(little, {"fix": 1.04}, process())["expected"], ["gpu-bound"])
        self.assertEqual(row_of(little, {"fix": 1.08}, process())["expected"], ["gpu-bound", "sync-bound"])
        self.assertEqual(row_of(little, {"fix": 1.11}, process())["expected"], ["sync-bound"])
        unknown = row_of(Case("x", "torch", LAUNCH), {"fix": 1.0}, process())
        self.assertEqual((unknown["expected"], unknown["right_class"]), (None, None))

    def test_several_processes(self):
        case = Case("x", "torch", Fix(("comm-bound", "host-bound")), gpus=2)
        self.assertTrue(row_of(case, {"fix": 2.0}, [process("comm-bound"), process("host-bound")])["right_class"])
        self.assertFalse(row_of(case, {"fix": 2.0}, [process("comm-bound"), process("gpu-bound")])["right_class"])

    def test_not_stable(self):
        row = row_of(Case("x", "torch", LAUNCH), {"fix": 3.0}, process(), process("host-bound"))
        self.assertEqual((row["stable"], row["classes"]), (False, {"launch-bound": 1, "host-bound": 1}))

    def test_halves_apart(self):
        case = Case("x", "torch", LAUNCH, useless="no-sync")
        good = row_of(case, {"fix": 3.2, "useless": 1.0}, process())
        bad = {**row_of(case, {"fix": 9.0, "useless": 1.0}, process("host-bound")), "half": "held"}
        found = {v["what"]: v["pass"] for v in fixes.verdicts([good, bad], 1)}
        self.assertTrue(found["class of the best fix, first half"])
        self.assertFalse(found["class of the best fix, held half"])
        self.assertFalse(found["gain in the range, held half"])
        self.assertTrue(found["ranges, held half"])

    def test_sets_are_named(self):
        row = row_of(Case("x", "torch", LAUNCH), {"fix": 3.2}, process())
        found = [v["what"] for v in fixes.verdicts([{**row, "half": name} for name in fixes_table.HALVES], 1)]
        self.assertIn("class of the best fix, held half", found)
        self.assertIn("class of the best fix, unseen programs", found)
        self.assertEqual(sum(what.startswith("class of the best fix") for what in found), len(fixes_table.HALVES))
        self.assertEqual(list(fixes_table.SIMULATED), list(fixes_table.HALVES))

    def test_printed(self):
        row = row_of(Case("x", "torch", LAUNCH, useless="no-sync"), {"fix": 9.0, "useless": 1.0}, process(steps=3))
        text = "\n".join(fixes.lines_of(row))
        for part in ("gain 9.00", "NOT IN RANGE", "true: 100 (+20)", "useless: gain 1.00"):
            self.assertIn(part, text)
        Page().fixes_row(row, fixes.lines_of(row))


class Table(unittest.TestCase):
    def test_programs_are_there_and_say_what_they_are(self):
        names = [case.name for half in fixes_table.HALVES.values() for case in half]
        self.assertEqual(len(names), len(set(names)))
        self.assertGreaterEqual(len(names), 16)
        for half in fixes_table.HALVES.values():
            for case in half:
                with open(os.path.join(programs.WORKLOADS, case.name + ".py"), encoding="utf-8") as f:
                    text = f.read()
                told = re.search(r'"""(.*?)"""', text, re.S).group(1)
                self.assertIn("\nWrong: ", told, case.name)
                self.assertIn("\nuseless: ", told, case.name)
                for fix in case.fixes:
                    self.assertIn("\n%s: " % fix.variant, told, case.name)
                for name in {c for fix in case.fixes for c in fix.classes} | ({case.otherwise} - {None}):
                    self.assertIn(name, told, case.name)
                compile(text, case.name, "exec")
                for need in case.needs:  # else it would be skipped wherever it is run
                    self.assertIn(need, FRAMEWORKS, case.name)


FIXABLE = """
import sys
sys.path.insert(0, %r)
import fixable
run = fixable.Program("A program.", steps=40, warm_up=4, multiple=4)
done = {}
def make(variant):
    if variant == "useless":
        raise ValueError("it cannot\\nbe made")
    done[variant] = 0
    def step():
        done[variant] += 1
    return fixable.Work(step, values=lambda: [done[variant]])
run.main(make)
"""


class Variants(unittest.TestCase):
    def run_program(self, *arguments, **env):
        out = subprocess.run([sys.executable, "-c", FIXABLE % programs.WORKLOADS, *arguments], stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL, timeout=60, check=False, text=True, env={**os.environ, **env})
        return out.returncode, out.stdout

    def test_switches(self):
        for env, name in (({}, "base"), ({"WORKLOAD_FIX": "1"}, "fix"), ({"WORKLOAD_FIX": "2"}, "fix2"), ({"WORKLOAD_FIX": "0"}, "base")):
            rc, said = self.run_program("--steps", "8", **env)
            self.assertEqual((rc, [(n, s) for n, s, _ in fixes.loops(said)]), (0, [(name, 8)]))
        rc, said = self.run_program(WORKLOAD_USELESS="1")
        self.assertEqual((rc, fixes.failures(said)), (1, {"useless": "ValueError: it cannot be made"}))

    def test_served(self):
        """As a resident process (part overhead): what a step takes, each time it is asked."""
        with tempfile.TemporaryDirectory() as folder:
            settings = types.SimpleNamespace(time_left=lambda most: most, environment=lambda **more: dict(os.environ, **more))
            argv = [sys.executable, "-c", FIXABLE % programs.WORKLOADS]
            one = resident.Resident(settings, programs.Program("p", argv, env={"WORKLOAD_LOOP_S": "0.01"}, timeout=30), BARE, folder)
            one.line("ready")
            times = [one.turn() for _ in range(3)]
            one.close()
        self.assertTrue(all(0 < t < 0.01 for t in times), times)

    def test_in_turns(self):
        rc, said = self.run_program("--variants", "base,fix,useless", "--steps", "40", "--rounds", "2", "--share", "0.5")
        self.assertEqual(rc, 0)
        self.assertEqual([(n, s) for n, s, _ in fixes.loops(said)],
                         [("base", 40), ("base", 20), ("fix", 20), ("fix", 20), ("base", 20)])
        self.assertEqual(list(fixes.failures(said)), ["useless"])
        self.assertIn("warm_steps: 8\n", said)
        self.assertTrue(re.search(r"^result: \w+ 48$", said, re.M), said)  # 8 to warm up, 40 in the loop


class Apart(unittest.TestCase):
    def test_gains(self):
        found = [("base", 10, 1.0), ("fix", 20, 1.0), ("base", 10, 1.5), ("fix", 10, 0.4), ("base", 10, 2.0), ("fix", 10, 0.3)]
        told = fixes.gains_apart(found)
        self.assertEqual(list(told), ["fix"])
        self.assertAlmostEqual(told["fix"]["median"], 1.5 / 0.4)
        self.assertAlmostEqual(told["fix"]["low"], 1.0 / 0.5)
        self.assertAlmostEqual(told["fix"]["high"], 2.0 / 0.3)
        self.assertEqual(fixes.gains_apart(found[1:2]), {})


class Together(unittest.TestCase):
    """Nothing loads while a program is measured, in whatever lane, and nothing is left behind."""

    def run_all(self, count, lanes=1, out_of_time=lambda: False, late=(), broken=None):
        log, names = [], ["p%d" % number for number in range(count)]

        def held(settings, case, env):
            if case.name == broken:
                raise OSError("no room")
            log.append("load " + case.name)
            return types.SimpleNamespace(at_gate=lambda until: log.append("gate " + case.name) or case.name not in late,
                                         close=lambda: log.append("close " + case.name))

        def measure(settings, case, half, one, readers):
            log.append("run " + case.name)
            one.close()
            return {"program": case.name, "note": None, "troubles": []}, case, []

        page = types.SimpleNamespace(line=lambda text: None)
        with tempfile.TemporaryDirectory() as work, \
                mock.patch.multiple(fixes, Held=held, measure=measure, LOADED=2, lacking=lambda settings, case: None,
                                    cases_of=lambda settings: [("first", Case(n, "torch", LAUNCH)) for n in names],
                                    keep=lambda settings, row: None, finished=lambda row, case, pending: row):
            settings = types.SimpleNamespace(out_of_time=out_of_time, lanes=lanes, fix_fresh=0, fix_timeout=9, time_left=lambda s: s,
                                             out=os.path.join(work, "out"))
            try:
                rows = fixes.all_rows(settings, page)
            except OSError:
                return log, None
        self.assertEqual([r["program"] for r in rows], names)
        return log, rows

    def left(self, log):
        return {w[5:] for w in log if w.startswith("load")} - {w[6:] for w in log if w.startswith("close")}

    def test_loads_by_the_dozen(self):
        log, _ = self.run_all(3)
        self.assertEqual(log, ["load p0", "load p1", "gate p0", "gate p1", "run p0", "close p0", "run p1", "close p1",
                               "load p2", "gate p2", "run p2", "close p2"])

    def test_lanes_load_together(self):
        log, _ = self.run_all(9, lanes=2)
        for first in range(0, 8, 4):  # a batch: no run before all have got to their gate, no load before all have run
            of = [log.index("%s p%d" % (what, number)) for what in ("load", "gate", "run") for number in range(first, first + 4)]
            self.assertLess(max(of[:8]), min(of[8:]))
            self.assertLess(max(of[8:]), log.index("load p%d" % (first + 4)))

    def test_one_that_does_not_load(self):
        log, rows = self.run_all(3, late=("p1",))
        self.assertEqual([w for w in log if w.startswith("run")], ["run p0", "run p2"])
        self.assertEqual([r["troubles"] for r in rows], [[], ["it did not load in time"], []])
        self.assertEqual(self.left(log), set())

    def test_one_that_cannot_be_started(self):
        log, rows = self.run_all(2, broken="p1")
        self.assertIsNone(rows)
        self.assertEqual(self.left(log), set())

    def test_time_limit(self):
        log, rows = self.run_all(3, lanes=2, out_of_time=iter([False] * 4 + [True] * 9).__next__)
        self.assertEqual(len([w for w in log if w.startswith("run")]), 1)
        self.assertEqual(self.left(log), set())
        self.assertEqual([r["troubles"] for r in rows if r["troubles"]], [["not run: the time limit was reached"]] * 2)

    def test_nobody_at_the_gate(self):
        """A program whose parent has gone does not take that for its turn: not at the gate, and not before it."""
        with tempfile.TemporaryDirectory() as work:
            path = os.path.join(work, "gate")
            os.mkfifo(path)
            folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "workloads")
            code = "import sys; sys.path.insert(0, %r); import common; common.gate(); print('ran')" % folder
            for gone in True, False:
                other = None if gone else os.open(path, os.O_RDWR)
                p = subprocess.Popen([sys.executable, "-B", "-c", code], env={**os.environ, "ACCEPTANCE_GATE": path},
                                     stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
                if other is not None:
                    while not os.path.exists(path + ".reached"):
                        time.sleep(0.01)
                    os.close(other)
                said, why = p.communicate(timeout=60)
                self.assertEqual((said, p.returncode), ("", 1), why)
                self.assertIn("nobody is at the gate", why)
                os.remove(path + ".reached")


class Chosen(unittest.TestCase):
    def test_by_half_and_name(self):
        settings = types.SimpleNamespace(half="all", simulated=False, wanted=lambda name: name in ("gcn_item", "loader_pageable"))
        self.assertEqual([(half, case.name) for half, case in fixes.cases_of(settings)],
                         [("first", "gcn_item"), ("held", "loader_pageable")])
        with tempfile.TemporaryDirectory() as work:
            settings = types.SimpleNamespace(work=work, fix_timeout=5, simulated=False)
            program = fixes.program_of(settings, Case("gcn_item", "torch", LAUNCH), "--rounds", "2")
            self.assertEqual((program.timeout, program.argv[-2:]), (5, ["--rounds", "2"]))


if __name__ == "__main__":
    unittest.main()
