# SPDX-License-Identifier: Apache-2.0
"""Tests of the acceptance script: the overhead; pairs, turns and their figures."""
import os
import sys
import tempfile
import types
import unittest

from acceptance import fixes_table, modes, overhead, programs


class Slowdown(unittest.TestCase):
    def test_slowdown(self):
        s = overhead.summary([(1.0, 1.02), (2.0, 2.0), (1.0, 1.10)])
        self.assertEqual(s["slowdown_median_percent"], 2.0)
        self.assertEqual(s["slowdown_quartiles_percent"], [1.0, 6.0])
        self.assertEqual(s["slowdown_range_percent"], [0.0, 10.0])


    def test_interval_of_the_median(self):
        values = list(range(1, 16))  # of 15: the 4th from either end (Conover, table A3)
        self.assertEqual(overhead.median_95(values), [4, 12])
        self.assertEqual(overhead.median_95(range(6)), [0, 5])
        self.assertIsNone(overhead.median_95([1.0, 2.0, 3.0, 4.0, 5.0]))


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
        """The turns that had both are compared, each with itself: here others drift by far more than the two differ."""
        code = "import os\nt = os.environ.get('TOOL')\nn = '%s'\n" \
            "turn = os.path.getsize(n) if os.path.exists(n) else 0\n" \
            "open(n, 'a').write('' if t else '.')\n" \
            "print('time_s:', (1 + turn) * {None: 1.0, '1': %%g, '2': 1.5}[t])" % os.path.join(self.folder.name, "n")
        self.settings.pairs = 4
        modes.NO_DEARER.append(("p", "tool", "slow"))
        self.slow.turns_most = 3
        for ours, passed in ((1.49, True), (1.51, False)):
            program = programs.Program("p", [sys.executable, "-c", code % ours], timeout=20)
            rows = overhead.measure(self.settings, program, [self.tool, self.slow])
            self.assertEqual([v["pass"] for v in overhead.comparisons(rows)], [passed])
            self.assertEqual(rows[0]["against"]["pairs"], 3)
        self.assertEqual(overhead.comparisons(rows[1:]), [])
        modes.NO_DEARER.pop()

    def test_programs_of_a_set(self):
        """As they were written, in resident processes; beside the modes a second bare process takes its turns."""
        half = next(iter(fixes_table.HALVES))
        settings = types.SimpleNamespace(half=half, modes=["off"], work=self.folder.name, wanted=lambda name: True)
        found, their_modes, _ = overhead.chosen(settings)
        self.assertEqual({p.name for p in found}, {c.name for c in fixes_table.HALVES[half] if c.gpus == 1})
        self.assertTrue(all(p.resident for p in found))
        self.assertEqual([m.name for m in their_modes], ["bare again", "off"])
        code = "import os\n" + self.RESIDENT % "1.2 if 'TOOL' in os.environ else 1.0"
        program = programs.Program("p", [sys.executable, "-c", code], resident=True, timeout=20)
        self.settings.pairs = 4
        again, tool = overhead.measure(self.settings, program, [modes.AGAIN, self.tool], 2)
        self.assertEqual((again["pairs"], again["slowdown_median_percent"], tool["slowdown_median_percent"]), (4, 0.0, 20.0))

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
