"""Tests of the acceptance script: the script itself, on the simulated CUDA."""
import json
import os
import subprocess
import tempfile
import unittest

from acceptance import accuracy, launch_cost, process
from made_up import BUILD


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

    def test_verdicts(self):
        parts = self.script("--parts", "verdicts,truncated", "--repeats", "2", "--lanes", "2", "--only",
                            "^(too_short|alloc_every_step(_fixed)?)/sim$")
        rows = parts["verdicts"]["rows"]
        self.assertEqual([(r["program"], r["mode"], len(r["runs"]), r["troubles"]) for r in rows],
                         [(name + "/sim", mode, 2, []) for name in
                          ("alloc_every_step", "alloc_every_step_fixed", "too_short")
                          for mode in ("sample", "cupti")])
        self.assertEqual(rows[0]["announced"], {"class": "alloc-bound", "findings": ["alloc-churn"],
                                                "no_findings": []})
        self.assertTrue(all(r["pass"] for r in rows if r["program"] == "too_short/sim"), rows)
        for r in parts["truncated"]["rows"]:
            self.assertTrue(r["pass"], r)
            self.assertEqual(list(r["ways"]), ["off", "small ring", "killed early", "killed halfway"])
            self.assertFalse([w for w in r["ways"].values() if w["trouble"]], r)
            if r["program"] != "too_short/sim":  # that one ends before it can be killed
                self.assertEqual(r["ways"]["killed early"]["state"], "killed")
