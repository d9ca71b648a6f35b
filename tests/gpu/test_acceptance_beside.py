# SPDX-License-Identifier: Apache-2.0
"""Tests of the acceptance script: two tools in one process."""
import json
import os
import sqlite3
import subprocess
import tempfile
import types
import unittest

from acceptance import beside, modes, nsys, process
from made_up import kernel_row, timed_report


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
        # A piece has 900 to 1100 ns; beside the other tool the whole +-10 %, and the class as it says.
        for total, mean, low, same in ((104000, 1100.0, 1000.0, True), (122000, 1000.0, 900.0, True),
                                       (123000, 1000.0, 900.0, False), (100000, 1300.0, 1099.0, True),
                                       (100000, 1300.0, 1101.0, False), (100000, 1200.0, 1101.0, True)):
            row = {}
            text = beside.compare_figures(row, timed_report([kernel_row()], 100000),
                                          timed_report([kernel_row(mean_ns=mean, low_ns=low, high_ns=1500.0)], total))
            self.assertEqual(row["same"], same, (total, mean, low))
            self.assertIn("1000 ns (900 to 1100) without it", text)
        beside.compare_figures(row, timed_report([], 100000), timed_report([], 100000, "off"))
        self.assertFalse(row["same"])

    def test_output_that_cannot_be_read(self):
        """Without us neither: nothing is known of it. With us alone: that is our doing."""
        seen, not_read = ({"kernel": {"fill": 1}}, None), (None, "no libdw.so.1")
        for alone, same, passed, text in ((not_read, True, None, "nsys's output cannot be read here: no libdw.so.1"),
                                          (not_read, False, False, "cannot be read here"),
                                          (seen, True, False, "nsys's output with us cannot be read")):
            got = beside.judge({"same": same}, "figures", "nsys", alone, not_read)
            self.assertEqual(got["pass"], passed)
            self.assertIn(text, got["text"])
            self.assertIn("figures", got["text"])
        self.assertTrue(beside.judge({"same": True}, "figures", "nsys", seen, seen)["pass"])

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
