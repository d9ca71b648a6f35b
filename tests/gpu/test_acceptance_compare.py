# SPDX-License-Identifier: Apache-2.0
"""Tests of the acceptance script: counts of the shim beside the truth; which differences fail a program."""
import unittest

from acceptance import compare, process
from made_up import report, same_truth


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
