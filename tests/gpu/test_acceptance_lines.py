# SPDX-License-Identifier: Apache-2.0
"""Tests of the acceptance script: parts `stable` and `lines`, what they judge and how they tell it."""
import os
import re
import subprocess
import tempfile
import types
import unittest

from acceptance import fixes_table, lanes, lines, programs, settings, stable
from acceptance.fixes_table import Case, Fix

SOURCE = """import torch
def step():
    loss.backward()  # cause: launch in pt_autograd
    model(x)  # cause: launch
    # cause: is not one here
"""


def frame(file, line, module=None):
    return {"file": file, "line": line, "module": module}


def site(kind, api_ns, frames, headline=0, thread=None, inside=None):
    return {"kind": kind, "api_total_ns": api_ns, "frames": frames, "headline": headline, "thread": thread, "range": inside}


def finding(name, file=None, line=None, ahead=False):
    return {"id": name, "severity": "high", "site": {"file": file, "line": line, "ahead": ahead} if file else None}


def report(sites=(), findings=()):
    return {"sites": list(sites), "findings": list(findings), "verdict": {"class": "sync-bound"}, "sites_python_trouble": None}


class Lines(unittest.TestCase):
    def test_marks(self):
        cause = lines.Cause(SOURCE)
        self.assertEqual((cause.kinds, cause.lines, cause.threads), ({"launch"}, {3, 4}, {"pt_autograd"}))
        self.assertFalse(lines.Cause("pass\n"))
        self.assertEqual(lines.Cause("x.cpu()  # cause: wait,copy\n").kinds, {"wait", "copy"})

    def test_marks_of_the_programs(self):
        marked = 0
        for case in [case for cases in fixes_table.HALVES.values() for case in cases]:
            with open(os.path.join(programs.WORKLOADS, case.name + ".py"), encoding="utf-8") as f:
                text = f.read()
            cause = lines.Cause(text)
            self.assertEqual(len(re.findall("# cause:", text)), len(cause.lines | cause.delayed), case.name)  # as they are read
            self.assertLessEqual(cause.kinds, set(lines.FINDINGS), case.name)
            self.assertEqual(bool(cause.delayed), "loader" in cause.kinds, case.name)
            marked += bool(cause)
        self.assertGreaterEqual(marked, 38)

    def test_line_with_most_time(self):
        cause = lines.Cause("\n\nx.item()  # cause: wait\n")
        library = [frame("/lib/torch.py", 1), frame("/there/a.py", 3)]
        sites = [site("wait", 3.0, [frame("/there/a.py", 3)]), site("wait", 4.0, [frame("/there/fixable.py", 3)]),
                 site("wait", 2.0, library, headline=1), site("copy", 90.0, [frame("/there/a.py", 1)])]
        told = lines.judge(report(sites), "a.py", cause)
        self.assertEqual((told["said"], told["top"]["place"], told["top"]["api_ns"]), ("right", ("a.py", 3), 5.0))
        self.assertEqual(lines.judge(report(sites[1:]), "a.py", cause)["said"], "wrong")
        self.assertEqual(lines.judge(report(), "a.py", cause)["said"], "unknown")

    def test_no_line(self):
        cause = lines.Cause(SOURCE)
        inside = [site("launch", 9.0, [frame(None, None, "/lib/libtorch_cuda.so")], thread="pt_autograd_0"),
                  site("launch", 5.0, [frame("a.py", 4)])]
        self.assertEqual(lines.judge(report(inside), "a.py", cause)["said"], "thread")
        inside[0]["thread"] = "pt_main_thread"
        self.assertEqual(lines.judge(report(inside), "a.py", cause)["said"], "unknown")
        for line, said in (4, "right"), (5, "wrong"):
            there = [{**inside[0], "meanwhile": frame("/home/a.py", line)}, inside[1]]
            self.assertEqual(lines.judge(report(there), "a.py", cause)["said"], said)
        library = lines.Cause("f(x)  # cause: launch in libtorch_cuda\n")
        self.assertEqual(lines.judge(report(inside), "a.py", library)["said"], "thread")
        self.assertEqual(lines.judge(report([site("launch", 1.0, [], headline=None)]), "a.py", cause)["said"], "unknown")

    def test_work_of_the_host(self):
        cause = lines.Cause("for x in loader:  # cause: loader\n")
        for found, said in ((), "unknown"), ((finding("host-starves-gpu"),), "unknown"), \
                ((finding("host-starves-gpu", "a.py", 1),), "right"), ((finding("host-starves-gpu", "a.py", 2),), "wrong"), \
                ((finding("sync-every-step", "a.py", 2),), "unknown"):
            self.assertEqual(lines.judge(report(findings=found), "a.py", cause)["said"], said)

    def test_the_call_that_work_of_the_host_delays(self):
        """No call has the line of the work: the finding may name the next one, and then must say that it is ahead of it."""
        cause = lines.Cause("x = decode()  # cause: loader\nx.to(d)  # cause: delayed\n")
        self.assertEqual((cause.kinds, cause.lines, cause.delayed), ({"loader"}, {1}, {2}))
        for line, ahead, said in (2, True, "ahead"), (2, False, "wrong"), (3, True, "wrong"), (1, False, "right"), (1, True, "right"):
            told = lines.judge(report(findings=[finding("host-starves-gpu", "a.py", line, ahead)]), "a.py", cause)
            self.assertEqual(told["said"], said, (line, ahead))
        # A library's thread makes that call: the program's own next line counts.
        there = finding("host-starves-gpu")
        there["site"] = {"file": None, "line": None, "ahead": True, "until": frame("/home/a.py", 2)}
        self.assertEqual(lines.judge(report(findings=[there]), "a.py", cause)["said"], "ahead")
        both = [finding("host-starves-gpu", "a.py", 2, True), finding("host-starves-gpu", "b.py", 2, True)]
        told = lines.judge(report(findings=both), "a.py", cause)
        self.assertEqual((told["said"], [f["said"] for f in told["findings"]]), ("wrong", ["ahead", "wrong"]))
        row = {"program": "one", "half": "last", "note": None, "trouble": None}
        ahead = {**row, **lines.judge(report(findings=both[:1]), "a.py", cause)}
        self.assertEqual([(v["pass"], v["text"]) for v in lines.verdicts([ahead])], [
            (True, "0 of 1 right, 1 ahead of the marked call, 0 by thread or library"), (None, "1 of 1 name the marked one")])
        self.assertEqual(list(lines.lines_of(ahead)), ["loader at 1: by finding", "host-starves-gpu (high): ahead of a.py:2"])
        wrong, named = lines.verdicts([{**row, **told}])
        self.assertEqual((wrong["pass"], wrong["text"]), (False, "0 of 1 right, 0 ahead of the marked call, 0 by thread or library, "
                                                                 "not one (b.py:2)"))
        self.assertEqual(named["text"], "1 of 2 name the marked one, not one (host-starves-gpu)")

    def test_findings_and_verdicts(self):
        cause = lines.Cause("x.item()  # cause: wait\n")
        rows = []
        for name, line, about in ("one", 1, 1), ("two", 7, 7), ("three", 1, 2):
            row = {"program": name, "half": "last", "note": None, "trouble": None}
            rows.append({**row, **lines.judge(report([site("wait", 1.0, [frame("a.py", line)])],
                                                     [finding("sync-every-step", "a.py", about)]), "a.py", cause)})
        rows.append({"program": "four", "half": "last", "note": None, "trouble": "SIGSEGV", "said": None})
        of_lines, of_findings, troubles = lines.verdicts(rows)
        self.assertEqual((of_lines["pass"], of_lines["text"]), (False, "2 of 3 right, 0 ahead of the marked call, 0 by thread or library, "
                                                                       "not two (a.py:7)"))
        self.assertEqual((of_findings["pass"], of_findings["text"]),
                         (None, "1 of 3 name the marked one, not two (sync-every-step), three (sync-every-step)"))
        self.assertEqual((troubles["pass"], troubles["text"]), (False, "four (SIGSEGV)"))
        self.assertEqual(list(lines.lines_of(rows[1])), ["wait at 1: a.py:7", "sync-every-step (high): a.py:7, ANOTHER LINE"])


def said(name, first=None, second=None, steps=120, no_sync=2.0):
    return {"class": name, "confidence": "high", "first": first, "second": second, "steps": {"count": steps},
            "what_if": {"no-sync": {"mid": no_sync}}}


def stable_row(*each, asked=None, troubles=()):
    return stable.judge({
        "program": "a", "mode": "sample", "asked": asked or len(each), "note": None, "troubles": list(troubles),
        "runs": [{"processes": [v], "steps_true": 100, "warm_steps": 20} for v in each]})


class Stable(unittest.TestCase):
    def test_classes(self):
        self.assertTrue(stable_row(said("sync-bound"), said("sync-bound"))["pass"])
        self.assertFalse(stable_row(said("sync-bound"), said("copy-bound"))["pass"])
        self.assertTrue(stable_row(said("mixed", "sync-bound", "copy-bound"), said("mixed", "copy-bound", "sync-bound"))["pass"])
        self.assertFalse(stable_row(said("mixed", "sync-bound", "copy-bound"), said("mixed", "launch-bound", "sync-bound"))["pass"])
        self.assertFalse(stable_row(said("mixed", "sync-bound", "copy-bound"), said("sync-bound"))["pass"])

    def test_missing_runs_fail(self):
        self.assertFalse(stable_row(said("sync-bound"), asked=2)["pass"])
        self.assertFalse(stable_row(said("sync-bound"), troubles=["SIGSEGV"])["pass"])
        self.assertFalse(stable_row(asked=2)["pass"])

    def test_spread(self):
        row = stable_row(said("sync-bound", steps=120, no_sync=2.0), said("sync-bound", steps=60, no_sync=2.5),
                         said("sync-bound", steps=None, no_sync=None))
        self.assertEqual(row["steps"], {"runs": 2, "low": 60, "median": 90, "high": 120})
        self.assertEqual((row["steps_off"]["low"], row["steps_off"]["high"]), (0.5, 1.0))
        self.assertEqual(row["gains"]["no-sync"], {"runs": 2, "low": 2.0, "median": 2.25, "high": 2.5})
        self.assertIsNone(row["gains"]["graphs"])
        self.assertEqual(list(stable.lines_of(row)), [
            "confidence: high x3", "steps 60 to 120, of those that there were 0.50 to 1.00", "no-sync: 2.25 (2.00 to 2.50 in 2 runs)"])
        verdict, = stable.verdicts([row])
        self.assertEqual((verdict["pass"], verdict["text"]), (True, "1 of 1 programs"))

    def test_programs(self):
        five = types.SimpleNamespace(simulated=False, only=None)
        self.assertEqual([case.name for case in stable.chosen(five)], list(fixes_table.STABLE))
        self.assertEqual(len(fixes_table.STABLE), 5)
        named = types.SimpleNamespace(simulated=False, only=re.compile("x"), wanted=lambda name: name == "gru_step_cpu")
        self.assertEqual([case.name for case in stable.chosen(named)], ["gru_step_cpu"])


class Lanes(unittest.TestCase):
    """Runs that are held and let go in the right order."""

    class Job(lanes.Job):
        log = []

        def start(self, given, env):
            log, number = self.log, self.number
            log.append("hold %d" % number)
            return types.SimpleNamespace(at_gate=lambda: log.append("gate %d" % number), close=lambda: log.append("close %d" % number),
                                         finish=lambda: log.append("run %d" % number) or number)

    def run_jobs(self, count, out_of_time):
        self.Job.log[:] = []
        given = types.SimpleNamespace(lanes=1, out_of_time=out_of_time)
        jobs = [self.Job(Case("a", "torch", Fix("sync-bound")), "sample", number) for number in range(count)]
        return lanes.run_all(given, jobs, lambda job, run, outcome: outcome), self.Job.log

    def test_ahead(self):
        given, log = self.run_jobs(6, lambda: False)
        self.assertEqual(given, list(range(6)))
        self.assertEqual(log[:5], ["hold 0", "hold 1", "hold 2", "hold 3", "gate 0"])
        self.assertEqual([w for w in log if w.startswith("run")], ["run %d" % n for n in range(6)])
        self.assertEqual(sorted(w for w in log if w.startswith("close")), ["close %d" % n for n in range(6)])

    def test_time_limit(self):
        calls = iter([False] * 6 + [True] * 20)
        given, log = self.run_jobs(6, lambda: next(calls))
        self.assertLess(len(given), 6)
        self.assertEqual(len([w for w in log if w.startswith("hold")]), len([w for w in log if w.startswith("close")]))


class Commit(unittest.TestCase):
    def test_bundle_says_its_own(self):
        with tempfile.TemporaryDirectory() as build:
            given = types.SimpleNamespace(build=build)
            here = settings.output_of("git", "-C", settings.ROOT, "rev-parse", "HEAD")
            self.assertEqual(settings.built_from(given)[0], here)
            for text, expected in ("0123abcd\n", ("0123abcd", False)), ("0123abcd changed\n", ("0123abcd", True)):
                with open(os.path.join(build, "commit"), "w", encoding="utf-8") as f:
                    f.write(text)
                self.assertEqual(settings.built_from(given), expected)
            with open(os.path.join(build, "commit"), "w", encoding="utf-8"):
                pass  # a bundle that was made outside of a checkout
            self.assertEqual(settings.built_from(given)[0], here)

    def test_what_make_writes(self):
        if not os.path.exists(os.path.join(settings.ROOT, ".git")):
            self.skipTest("not in a checkout")
        done = subprocess.run(["make", "-s", "-C", settings.ROOT, "gpu-bundle-commit"], stdout=subprocess.PIPE, check=False, text=True,
                              timeout=120, env={k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MAKELEVEL", "O")})
        lines_made = [line for line in done.stdout.splitlines() if re.match("[0-9a-f]{40}( changed)?$", line)]
        self.assertEqual([line.split()[0] for line in lines_made],
                         [settings.output_of("git", "-C", settings.ROOT, "rev-parse", "HEAD")])


if __name__ == "__main__":
    unittest.main()
