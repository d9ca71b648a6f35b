# SPDX-License-Identifier: Apache-2.0
"""Tests of the acceptance script: the script itself, on the simulated CUDA."""
import importlib.util
import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest

from acceptance import accuracy, hold_facts, launch_cost, pair_cost, process
from made_up import BUILD


class LaunchCost(unittest.TestCase):
    def test_lines(self):
        text = "shim: present\ncost: driver median_ns=2650.0 difference_ns=0.0 low_ns=0.0 high_ns=0.0 q1_ns=0.0 q3_ns=0.0 " \
            "percent=0.000\ncost: seen median_ns=2700.5 difference_ns=-50.5 low_ns=-52.0 high_ns=49.0 q1_ns=-60.0 q3_ns=70.1 " \
            "percent=-1.906\nresult: ok\n"
        found = launch_cost.costs(process.Outcome([], 0, False, 1.0, text, ""))
        self.assertEqual(found["seen"], {"median_ns": 2700.5, "difference_ns": -50.5, "low_ns": -52.0, "high_ns": 49.0, "q1_ns": -60.0,
                                         "q3_ns": 70.1, "percent": -1.906})
        self.assertEqual(sorted(found), ["driver", "seen"])


class HoldFacts(unittest.TestCase):
    def test_lines(self):
        header, rows = hold_facts.facts(
            "device: NVIDIA H200\ndriver: 13000\nkernel_driver: NVRM version: x\nruntime: 13000\ndate: 2026-11-23T00:00:00Z\n"
            "fact: hold:stream_sync:same yes held=9 of=9 call_ms=20.1 alone_ms=1e-05\n"
            "fact: hold:malloc:device:4096 yes held=9 of=9\n"
            "fact: queue:kernel 1021 calls=1021 waited=3 of=3\n"
            "fact: module_load error no cuModuleLoadData\n"
            "fact: together:in_and_in 1.98 longer_alone_ms=0.3\n")
        self.assertEqual(header["device"], "NVIDIA H200")
        self.assertEqual(header["kernel_driver"], "NVRM version: x")
        self.assertEqual([(r["verdict"], r["assumed"], hold_facts.differs(r)) for r in rows], [
            ("yes", "yes", False), ("yes", "no", True), ("1021", "1022", False), ("error", None, False), ("1.98", None, False)])
        self.assertEqual(rows[0]["figures"], {"held": 9, "of": 9, "call_ms": 20.1, "alone_ms": 1e-05})
        self.assertEqual((rows[3]["figures"], rows[3]["text"]), ({}, "error: no cuModuleLoadData"))
        self.assertIn("yes, assumed: no;", rows[1]["text"])

    def test_of_any_queue(self):
        self.assertFalse(hold_facts.is_assumed("none", "1022"))
        self.assertFalse(hold_facts.is_assumed("900", "1022"))
        self.assertFalse(hold_facts.is_assumed("unclear", "none"))


class Simulated(unittest.TestCase):
    """The script itself, on the simulated CUDA; nothing here depends on how fast the machine is."""

    def setUp(self):
        needed = ["libcudaspy.so", "cudaspy", "sim/truth", "samples/sim/many_tiny_launches", "tests/call_cost",
                  "tests/captures-sim", "tests/hold_facts-sim", "tests/stream_facts-sim", "tests/launch_cost",
                  "tests/pair_cost-sim",
                  "tests/libnvperf_launch_cost.so", "tests/libslow_launch.so"]
        if not BUILD or not all(os.path.exists(os.path.join(BUILD, f)) for f in needed):
            self.skipTest("the shim, the simulated CUDA or its programs are not built")

    def run_script(self, out, *arguments, **env):
        root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        done = subprocess.run([os.path.join(root, "scripts", "gpu_acceptance"), "--simulated", "--no-build", "--quick", "--build",
                               BUILD, "--out", out, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=300, check=False, text=True, env={**os.environ, **env})
        self.assertNotIn("Traceback", done.stdout)
        return done

    def script(self, *arguments, **env):
        """The parts of the result, and in `said` what the script printed."""
        with tempfile.TemporaryDirectory() as folder:
            out = os.path.join(folder, "out.json")
            done = self.run_script(out, *arguments, **env)
            self.assertIn(done.returncode, (0, 1), done.stdout)
            with open(out, encoding="utf-8") as f:
                return {**json.load(f)["parts"], "said": done.stdout}

    def script_until(self, holds, *arguments, **env):
        """As `script`, of the first of three runs for which `holds`, else of the last. A busy machine stops a process
        now and then for longer than what the few samples of a simulated program tell apart."""
        for _ in range(3):
            parts = self.script(*arguments, **env)
            if holds(parts):
                break
        return parts

    def test_unharmed(self):
        rows = self.script("--parts", "unharmed")["unharmed"]["rows"]
        self.assertEqual([(r["pass"], r["runs"], r["others"]) for r in rows], [(True, 5, {})] * 2, rows)

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

    def call_cost(self, **env):
        done = subprocess.run([os.path.join(BUILD, "tests", "call_cost"), "2", "10"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              timeout=60, check=False, text=True,
                              env={**os.environ, "LD_LIBRARY_PATH": os.path.join(BUILD, "sim"), "SIM_COST": "0", **env})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def test_call_cost(self):
        """Half of the calls go to what the program finds, half straight to the driver, where the shim does not see them."""
        self.assertIn("shim: absent", self.call_cost())
        with tempfile.TemporaryDirectory() as folder:
            recording = os.path.join(folder, "one.cudaspy")
            said = self.call_cost(LD_PRELOAD=os.path.join(BUILD, "libcudaspy.so"), CUDASPY_OUT=recording, CUDASPY_GPU="off")
            self.assertIn("shim: present", said)
            self.assertEqual(len(re.findall(r"difference_ns=-?[0-9.]+ low_ns=-?[0-9.]+ high_ns=", said)), 7)
            done = subprocess.run([os.path.join(BUILD, "cudaspy"), "report", "-f", "json", recording], stdout=subprocess.PIPE,
                                  timeout=60, check=True, text=True)
        calls = {a["name"]: a["calls"] for a in json.loads(done.stdout)["apis"]}
        blocks = (10 + 2) * (50 + 10)  # warm-up and rounds, each with calls ahead of its block
        self.assertEqual((calls["cuGraphExecKernelNodeSetParams_v2"], calls["cuEventRecord"]), (blocks, blocks))

    def test_stream_facts(self):
        parts = self.script("--parts", "stream_facts")
        said = {r["what"]: r["text"] for r in parts["stream_facts"]["rows"]}
        self.assertEqual(said["calls before one waits: kernel"], "1022, as assumed")
        self.assertEqual(said["calls before one waits: kernel_and_event"], "1022, as assumed")
        self.assertEqual(said["calls before one waits: event"], "5000, as assumed")
        self.assertEqual(said["calls before one waits: kernel_and_set"], "511, as assumed")
        self.assertEqual(said["calls before one waits: kernel_and_dtoh"], "1022, as assumed")
        self.assertIn("a kernel and behind it: copy_dtoh", said)

    def test_pair_cost(self):
        part = self.script("--parts", "pair_cost")["pair_cost"]
        said = {r["what"]: r for r in part["rows"]}
        # A kernel of the simulated GPU takes what it is said to, and a pair of events 750 ns more.
        self.assertTrue(said["spin_5000, idle stream"]["text"].startswith("pair 5750 ns"))
        self.assertTrue(said["null_x2, busy stream"]["text"].startswith("pair 2700 ns"))
        self.assertEqual(part["row"]["null_kernel_ns"], None)  # without CUPTI
        # On a busy machine a loop of 30 ms may be over before a sample was in time.
        self.assertEqual([r for r in part["rows"] if r["pass"] is not None and r["text"] != "never timed"], [])
        self.assertEqual(said["estimate of drift"]["count"], 60000)

    def test_the_row_that_follows(self):
        run = {(kind, regime): {"alone_mean": ns + 2000, "cupti_mean": ns} for regime in ("idle", "busy")
               for kind, ns in (("null", 890), ("spin", 5000))}
        run.update({("nothing", regime): {"alone_mean": 1280} for regime in ("idle", "busy")})
        row = pair_cost.fitted([run])
        self.assertEqual((row["null_kernel_ns"], row["null_pair_ns"], row["empty_pair_ns"], row["worst_ns"]), (890, 2890, 1280, 0))

    def test_hold_facts(self):
        part = self.script("--parts", "hold_facts")["hold_facts"]
        found = {r["what"]: r["verdict"] for r in part["rows"]}
        self.assertEqual(len(found), len(part["rows"]))  # each fact once
        self.assertEqual(set(hold_facts.ASSUMED) - set(found), set())
        refused = [r["text"] for r in part["rows"] if r["text"].startswith(("error: cudaError", "error: error", "error: no cu"))]
        self.assertEqual(refused, [])
        # What waits does so on a machine of any speed; where a call takes long by itself it is not clear.
        for name in ("hold:stream_sync:same", "hold:device_sync:behind_non_blocking", "hold:stream_sync:waits_for_an_event_only",
                     "hold:copy_async:device_to_pageable:4:behind_same", "waits:kernel_on_same:behind_same",
                     "waits:event_on_legacy:behind_blocking", "read_at_call:pageable_to_device:4"):
            self.assertIn(found[name], ("yes", "unclear"), name)
        self.assertEqual(part["header"]["device"], "Simulated GPU 0")

    def test_times(self):
        for _ in range(5): # on a busy machine few samples are in time
            parts = self.script("--parts", "accuracy,timeline", "--only", "^many_tiny_launches/sim$")
            row = parts["accuracy"]["rows"][0]
            if row["classes"][0]["samples"] >= accuracy.SAMPLES_LEAST:
                break
        self.assertEqual((row["sample"]["mode"], row["cupti"]["mode"], row["trouble"]),
                         ("sample", "cupti", {}))
        self.assertTrue(row["cupti"]["pass"])  # the simulated CUPTI is exact
        self.assertEqual([c["class"] for c in row["classes"]], ["increment(unsigned int*)"])
        self.assertGreaterEqual(row["classes"][0]["samples"], accuracy.SAMPLES_LEAST)
        self.assertIsNotNone(parts["timeline"]["rows"][0]["difference_points"])
        self.assertEqual((row["rounds"], row["sample"]["percent_runs"]), (1, [row["sample"]["percent"]]))

    def test_several_runs(self):
        parts = self.script("--parts", "accuracy,timeline", "--runs", "2", "--only", "^many_tiny_launches/sim$")
        row, = parts["accuracy"]["rows"]
        self.assertEqual((parts["accuracy"]["runs"], row["rounds"], row["trouble"]), (2, 2, {}))
        for mode in ("sample", "cupti"):
            self.assertEqual([len(row[mode][k]) for k in ("ours_ns_runs", "truth_ns_runs", "percent_runs")], [2, 2, 2])
        self.assertEqual(len(row["classes"][0]["interval_holds_runs"]), 2)
        self.assertIn("2 runs, off by: CUPTI itself", parts["said"])
        shares, = parts["timeline"]["rows"]
        self.assertEqual((shares["rounds"], shares["trouble"]), (2, {}))
        self.assertEqual([len(shares["busy_runs"][n]) for n in ("sample", "cupti", "beside", "truth")], [2] * 4)
        self.assertGreater(shares["busy_truth"], 0)
        self.assertIsNotNone(shares["under_cupti"]["difference_points"])
        self.assertIsNotNone(shares["same_run"]["difference_points"])
        # what the shim runs of its own is none of the program's
        self.assertEqual([t["launches"] for t in shares["beside_truth"]], [row["truth"]["launches"]] * 2)
        self.assertIn("busy share in the same run", " ".join(parts["said"].split()))

    def test_staged_copies_have_a_run_beside(self):
        row, = self.script("--parts", "accuracy", "--only", "^pageable_copies/sim$")["accuracy"]["rows"]
        self.assertEqual(list(row["loop_s"]), ["truth", "sample", "beside", "cupti"])

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
            self.assertEqual(list(r["ways"]), ["off", "small ring", "killed early", "killed halfway"])
            self.assertFalse([w for w in r["ways"].values() if w["trouble"]], r)
            if r["program"] == "too_short/sim":  # it ends before it can be killed
                self.assertTrue(r["pass"], r)
            else:  # a busy machine may make another class of it
                self.assertEqual(r["ways"]["killed early"]["state"], "killed")

    def test_whatif(self):
        parts = self.script_until(lambda parts: parts["whatif"]["rows"][0]["saved_ns"] > 0.3 * parts["whatif"]["rows"][0]["before_ns"],
                                  "--parts", "whatif", "--pairs", "2", "--only", "^(host_starves_gpu/sim|mlp/16)$")
        row, mlp = parts["whatif"]["rows"]
        self.assertEqual((row["what"], row["pairs"], row["compared"]), ("host_starves_gpu: host=0", 2, "window"))
        # its twin saves two thirds, and on no machine nothing
        self.assertGreater(row["saved_ns"], 0.3 * row["before_ns"])
        self.assertGreater(row["predicted_saved_ns"], 0.3 * row["before_ns"])
        self.assertEqual(mlp["what"], "mlp, batch 16: graphs")

    def test_programs_of_pytorch(self):
        fake = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fake_torch")

        def fused_is_faster(parts):
            row, = parts["whatif"]["rows"]
            return row["before_ns"] > row["after_ns"]

        def alone_shows_more(parts):
            one, overlapped = parts["ddp"]["rows"]
            return one["comm_share"] > overlapped["comm_share"]

        parts = self.script_until(fused_is_faster, "--parts", "whatif", "--pairs", "2", "--only", "^mlp/1$", PYTHONPATH=fake)
        row, = parts["whatif"]["rows"]
        self.assertEqual((row["pairs"], row["compared"], row["steps"]), (2, "step", 200))
        self.assertGreater(row["before_ns"], row["after_ns"])  # seven launches a step become one
        self.assertGreater(row["predicted_saved_ns"], 0)
        one, overlapped = self.script_until(alone_shows_more, "--parts", "ddp", PYTHONPATH=fake)["ddp"]["rows"]
        self.assertEqual((len(one["ranks"]), len(overlapped["ranks"])), (2, 2))
        self.assertGreater(one["comm_share"], overlapped["comm_share"])

    def test_fixes(self):
        fake = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fake_torch")
        parts = self.script_until(lambda parts: parts["fixes"]["rows"][0]["gains"]["fix"]["median"] > 1.0, "--parts", "fixes",
                                  "--half", "first", "--repeats", "2", "--fix-modes", "sample,cupti", PYTHONPATH=fake)
        row, = parts["fixes"]["rows"]
        self.assertEqual((row["program"], row["half"], row["troubles"], row["same_result"]), ("fake_launches", "first", [], True))
        self.assertEqual([r["result"] for r in row["runs"]], 4 * [row["result"]])
        self.assertTrue(row["result"])
        steps = row["steps_true"][0]
        self.assertEqual([name for name, _, _ in row["loops"]], ["base", "base", "fix", "useless", "useless", "fix", "base"])
        # Seven launches a step, and those to warm up; the recorded runs were told how many steps the bare one had.
        self.assertEqual([(r["mode"], [p["pieces"] for p in r["processes"]]) for r in row["runs"]],
                         [(mode, [7 * (steps + row["steps_true"][1])]) for _ in range(2) for mode in ("sample", "cupti")])
        self.assertGreater(row["gains"]["fix"]["median"], 1.0)
        self.assertIsNotNone(row["fixes"][0]["promised"])
        self.assertIn("Programs with their fix", parts["said"])

    def test_fixes_in_processes_of_their_own(self):
        fake = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fake_torch")
        parts = self.script_until(lambda parts: parts["fixes"]["rows"][0]["gains"]["fix"]["median"] > 1.0, "--parts", "fixes",
                                  "--half", "first", "--fix-fresh", "2", PYTHONPATH=fake, WORKLOAD_LOOP_S="0.2")
        row, = parts["fixes"]["rows"]
        self.assertEqual((parts["fixes"]["fresh"], row["program"], row["troubles"], row["same_result"]), (2, "fake_launches", [], True))
        self.assertEqual(sorted(name for name, _, _ in row["loops"]), 2 * ["base"] + 2 * ["fix"] + 2 * ["useless"])
        run, = row["runs"]  # as many steps as the first of the base's, which computed the result
        self.assertEqual([p["pieces"] for p in run["processes"]], [7 * sum(row["steps_true"])])
        gain = row["gains"]["fix"]
        self.assertLessEqual(gain["low"], gain["median"])
        self.assertLessEqual(gain["median"], gain["high"])

    def test_fixes_judged_again(self):
        root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        fake = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fake_torch")

        def again(*arguments):
            return subprocess.run([os.path.join(root, "scripts", "judge_again"), "--build", BUILD, "--programs", *arguments],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60, check=False, text=True)

        with tempfile.TemporaryDirectory() as folder:
            out, kept = os.path.join(folder, "out.json"), os.path.join(folder, "kept")
            self.run_script(out, "--parts", "fixes", "--half", "first", "--keep", kept, PYTHONPATH=fake)
            with open(out, encoding="utf-8") as f:
                row, = json.load(f)["parts"]["fixes"]["rows"]
            done = again("%s=%s" % (out, kept))
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            promised = row["fixes"][0]["promised"]
            said = "graphs: %.2f (%.2f to %.2f)" % (promised["mid"], promised["low"], promised["high"])
            self.assertIn(said, done.stdout)
            tables = done.stdout.split("as the results say:\n")[1].split("\n\nnow:\n")
            self.assertEqual(tables[0].strip(), tables[1].strip())  # by the same reporter
            self.assertIn(said, again(out).stdout)
            # It is read from the recordings: what a result says of the verdict and of the change counts no more.
            with open(out, encoding="utf-8") as f:
                data = json.load(f)
            for run in data["parts"]["fixes"]["rows"][0]["runs"]:
                run["processes"][0].update({"class": "comm-bound", "what_if": {}})
            other = os.path.join(folder, "other.json")
            with open(other, "w", encoding="utf-8") as f:
                json.dump(data, f)
            done = again("%s=%s" % (other, kept))
            self.assertIn("(was comm-bound)", done.stdout)
            self.assertIn(said, done.stdout)
            # The recordings may be of other runs; the last result that has a program tells what its fixes gained.
            elsewhere = os.path.join(folder, "elsewhere")
            os.mkdir(elsewhere)
            made, = os.listdir(kept)
            shutil.copy(os.path.join(kept, made), os.path.join(elsewhere, "fake_launches-77.cudaspy"))
            shutil.copy(os.path.join(kept, made), os.path.join(elsewhere, "unheard_of-1.cudaspy"))
            done = again("--recordings", kept, other)
            self.assertIn("(was comm-bound)", done.stdout)
            self.assertIn(said, done.stdout)
            self.assertNotIn("(was comm-bound)", again("--recordings", kept, other, out).stdout)
            # Where no recording was kept there is nothing to judge.
            for arguments in (out + "=" + folder,), ("--only", "none", out), (kept,), ("--recordings", folder, out), \
                    ("--recordings", elsewhere, out):
                done = again(*arguments)
                self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (2, "", 1), done.stderr)

    def test_fixes_without_time(self):
        fake = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fake_torch")
        parts = self.script("--parts", "fixes", "--half", "first", "--limit-s", "0.001", PYTHONPATH=fake)
        row, = parts["fixes"]["rows"]
        self.assertEqual((row["pass"], row["troubles"]), (False, ["not run: the time limit was reached"]))

    def test_stable(self):
        fake = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fake_torch")
        parts = self.script("--parts", "stable", "--only", "fake_waits", "--stable-runs", "3", PYTHONPATH=fake)
        row, = parts["stable"]["rows"]
        self.assertEqual((row["program"], row["mode"], row["asked"], row["troubles"]), ("fake_waits", "sample", 3, []))
        self.assertEqual(sorted(run["number"] for run in row["runs"]), [0, 1, 2])
        self.assertEqual(sum(row["classes"].values()), 3)
        self.assertEqual(sum(row["confidence"].values()), 3)
        self.assertEqual(row["pass"], len(row["classes"]) == 1)
        self.assertTrue(row["gains"]["no-sync"]["low"] <= row["gains"]["no-sync"]["median"] <= row["gains"]["no-sync"]["high"])
        self.assertIn("3 runs of each", parts["said"])

    def test_stable_without_time(self):
        fake = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fake_torch")
        parts = self.script("--parts", "stable", "--only", "fake_waits", "--limit-s", "0.001", PYTHONPATH=fake)
        row, = parts["stable"]["rows"]
        self.assertEqual((row["pass"], row["runs"]), (False, []))
        self.assertIn("0 of 3 runs", " ".join(parts["said"].split()))

    def test_lines(self):
        fake = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fake_torch")
        parts = self.script("--parts", "lines", PYTHONPATH=fake)
        row, = parts["lines"]["rows"]
        self.assertEqual((row["program"], row["half"], row["trouble"], row["kinds"]), ("fake_waits", "held", None, ["wait"]))
        if row["trouble_with_python"]:
            self.assertEqual(row["said"], "unknown")
        else:
            self.assertEqual((row["said"], row["top"]["place"]), ("right", ["fake_waits.py", row["marked"][0]]))

    def test_a_name_of_no_program(self):
        """Nothing was asked of any program: that is no pass."""
        fake = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fake_torch")
        for parts in "stable", "lines", "fixes", "counts", "probe,stable", "fixes,counts":
            done = self.run_script(os.devnull, "--parts", parts, "--only", "no_such", PYTHONPATH=fake)
            self.assertEqual((done.returncode, done.stdout), (2, "gpu_acceptance: no program is named like 'no_such'\n"), parts)

    def test_lines_without_time(self):
        fake = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fake_torch")
        parts = self.script("--parts", "lines", "--limit-s", "0.001", PYTHONPATH=fake)
        row, = parts["lines"]["rows"]
        self.assertEqual((row["said"], row["trouble"]), (None, "not run: the time limit was reached"))

    def test_nothing_of_pytorch(self):
        parts = self.script("--parts", "whatif,ddp", "--only", "^mlp/1$", PYTHONPATH="")
        if not importlib.util.find_spec("torch"):
            self.assertEqual([(r["pass"], r["text"]) for p in ("whatif", "ddp") for r in parts[p]["rows"]],
                             [(None, "torch is not installed")] * 3)

    def test_gate(self):
        rows = self.script_until(lambda parts: parts["gate"]["rows"][2]["rise"] > 1.0,
                                 "--parts", "gate", "--gate-pairs", "4")["gate"]["rows"]
        self.assertEqual([r["what"] for r in rows], [
            "equal runs, sync_every_step/sim", "equal runs, alloc_every_step/sim", "rise, many_tiny_launches/sim"])
        for r in rows[:2]:
            self.assertEqual((r["recordings"], r["pairs"], r["count_failures"]), (10, 4, 0), r)
        self.assertEqual((rows[2]["tries"], len(rows[2]["before_p50_ns"]), len(rows[2]["after_p50_ns"])), (4, 5, 5))
        self.assertGreater(rows[2]["rise"], 1.0)

    def test_nvml(self):
        costs, agreement = self.script("--parts", "nvml")["nvml"]["rows"]
        self.assertGreater(costs["init_ns"], 0)
        self.assertEqual((len(costs["bare_s"]), len(costs["each"]), agreement["pass"]), (2, 2, None))

    def test_time_limit(self):
        """Nothing hangs or breaks when there is no time: what was not run fails, and is said."""
        parts = self.script("--parts", "nvml,verdicts,truncated,whatif,gate", "--time-limit", "0.001",
                            "--only", "^(too_short|pageable_copies)/sim$")
        self.assertIn("verdict not had", parts["said"])
        self.assertNotIn("PASS", parts["said"])
        rows = [r for name in ("nvml", "verdicts", "truncated", "whatif", "gate") for r in parts[name]["rows"]]
        self.assertEqual([r for r in rows if r["pass"] is not False], [])
