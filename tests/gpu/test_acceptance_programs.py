# SPDX-License-Identifier: Apache-2.0
"""Tests of the acceptance script: runs of programs; what is read from their output, gates, turns, the workloads."""
import os
import sys
import tempfile
import types
import unittest

from acceptance import beside, fixes_table, modes, process, programs, resident, runs


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


class Timed(unittest.TestCase):
    def settings(self, half="all"):
        return types.SimpleNamespace(half=half, simulated=False, build="/b", work="/w", wanted=lambda name: True, library_path=dict)

    def test_of_a_set_its_programs_alone(self):
        """As they were written, of one GPU, with the marks of graphs that their truth needs."""
        found = programs.timed_programs(self.settings("first"))
        cases = [c for c in fixes_table.FIRST if c.gpus == 1]
        self.assertEqual([p.name for p in found], [c.name for c in cases])
        self.assertTrue(all(p.graphs and p.gated and "WORKLOAD_FIX" not in p.env for p in found))
        self.assertNotIn("ddp_exposed", [p.name for p in found])

    def test_without_one_those_of_graphs_alone(self):
        names = [p.name for p in programs.timed_programs(self.settings())]
        self.assertTrue(set(programs.JAX_WITH_GRAPHS) <= set(names))
        self.assertNotIn("gcn_item", names)
        self.assertEqual(sorted(p.name for p in programs.gpu_programs(self.settings()) if p.graphs),
                         ["graph_replay/shared", "graph_replay/static", "jax_graphs", "torch_graph_replay"])


class Gate(unittest.TestCase):
    CODE = "import os, sys\nsys.path.insert(0, %r)\nimport common\n" \
        "open(sys.argv[1], 'a').write('b')\ncommon.require('json')\n" \
        "open(sys.argv[1], 'a').write(os.environ.get('CUDASPY_GPU', 't')[0])\n" \
        "common.require('math')" % os.path.join(os.path.dirname(os.path.abspath(__file__)), "workloads")

    def test_gated_runs_start_together_and_take_turns(self):
        with tempfile.TemporaryDirectory() as folder:
            trace = os.path.join(folder, "trace")
            settings = types.SimpleNamespace(
                work=folder, quick=False, simulated=True, build=folder, shim="", runs={}, rounds=2,
                with_beside=True, out_of_time=lambda: False,
                reporter="/nonexistent", environment=lambda **more: {**os.environ, **{
                    k: v for k, v in more.items() if k != "LD_PRELOAD"}},
                time_left=lambda most: most)
            program = programs.Program("p", [sys.executable, "-c", self.CODE, trace], timeout=30,
                                       gated=True)
            made = runs.rounds(settings, program)
            with open(trace, encoding="utf-8") as f:
                written = f.read()
            self.assertEqual(written.replace("b", ""), 2 * "tssc")
            self.assertEqual(sorted(written[:8]), sorted("bbbbtssc"))  # the second round starts after the first
            for done in made:  # they did no work on a GPU
                self.assertEqual(list(done.trouble), ["truth", "sample", "beside", "cupti"])
            self.assertIs(runs.rounds(settings, program), made)


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
