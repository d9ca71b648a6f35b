# SPDX-License-Identifier: Apache-2.0
"""Tests of the acceptance script: the truth library, on a made-up CUPTI."""
import json
import os
import struct
import subprocess
import tempfile
import unittest

from acceptance import truth, work
from made_up import BUILD


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

    def test_untrue_records(self):
        """A copy that lasts while kernels of its stream run is told apart, and no part of what is compared with."""
        data = self.inject(FAKE_CUPTI_UNTRUE="1")
        copy, = [c for c in data["classes"] if c["kind"] == "copy" and c["bytes"] == 1000]
        self.assertEqual((copy["gpu_ns"], copy["untrue"], copy["untrue_ns"]), (1200, 1, 1000))
        self.assertEqual([c["untrue"] for c in data["classes"] if c is not copy], [0] * (len(data["classes"]) - 1))
        self.assertEqual(data["devices"][0]["busy_ns"], 891 + 3 * 100 + 100)
        t, key = truth.from_cupti(self.out), work.copy_key("HtoD", "pinned", 1000)
        self.assertEqual(t.untrue, {key: 1})
        self.assertEqual(t.classes[key], (copy["count"] - 1, 200))
        self.assertEqual(truth.kinds_of({**data, "graph_launches": 0})["copy"][1], 1301 - 1000)
        self.assertEqual(truth.Truth("none").untrue, {})

    def test_own_kernels_are_left_out(self):
        data = self.inject()
        self.assertEqual(data["own"], {"kernels": 2, "gpu_ns": 710})
        self.assertFalse([k for k in data["kernels"] if "cudaspy" in k["name"]])
        self.assertEqual(data["devices"][0]["busy_ns"], 891)
        self.assertEqual(truth.from_cupti(self.out).as_json()["own_kernels"], 2)

    def test_busy(self):
        data = self.inject()
        # kernels 500 + 50 beside the first, graph nodes 30, copies 201, the set 10, the last kernel 100
        self.assertEqual(data["devices"], [{"device": 0, "busy_ns": 500 + 50 + 30 + 201 + 10 + 100,
                                            "idle_ns": 7100 - 891, "first_ns": 1000,
                                            "last_ns": 8100}])
        streams = {s["stream"]: s for s in data["streams"]}
        self.assertEqual((streams[7]["kernel_records"], streams[7]["kernel_ns"], streams[7]["copy_ns"]),
                         (13, 500 + 30 + 100, 200))

    def test_busy_with_graphs_as_spans(self):
        """A launch of a graph is busy time from its first node to its last, what lies between them too."""
        data = self.inject(CUPTI_TRUTH_GRAPH="1")
        self.assertEqual((data["graph_launches"], data["graphs"][0]["gpu_ns"]), (3, 3 * 15))
        self.assertEqual(data["devices"][0]["busy_ns"], 891 - 6 * 5 + 3 * 15)
        t = truth.from_cupti(self.out)
        self.assertEqual((t.busy_ns, t.kinds["graph"]), (906, (3, 45)))

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

    def test_graphs_are_not_asked_for_while_the_program_runs(self):
        """The made-up CUPTI ends a program that does."""
        data = self.inject("_exit", CUPTI_TRUTH_FLUSH_MS="50", CUPTI_TRUTH_GRAPH="1")
        self.assertFalse(data["complete"])
        self.assertEqual(data["totals"]["kernels"]["outside"]["count"], 7)
        data = self.inject("exit", CUPTI_TRUTH_FLUSH_MS="50", CUPTI_TRUTH_GRAPH="1")
        self.assertTrue(data["complete"])
        self.assertEqual(data["totals"]["kernels"]["outside"]["count"], 8)

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
