# SPDX-License-Identifier: Apache-2.0
"""Tests of the acceptance script: what is printed is 80 columns wide."""
import io
import unittest

from acceptance import compare, overhead, page
from made_up import report, same_truth


class Width(unittest.TestCase):
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
        p.accuracy_head()
        p.accuracy_row({"program": "torch_conv_training", "pass": False, "note": "z" * 100, "rounds": 3,
                        "spread_percent": {"truth": [-12.345, 123.456], "sample": None, "cupti": [-12.345, -0.001]},
                        "sample": {"truth_ns": 123456789012, "ours_ns": 123456789012, "percent": -12.345,
                                   "per_piece_ns": -123.4}, "cupti": {"percent": None}})
        p.timeline_head()
        p.timeline_row({"program": "many_tiny_launches/static", "pass": True, "note": None,
                        "difference_points": 12.34, "sample": {"busy": 99.99}, "busy_truth": 99.99,
                        "under_cupti": {"pass": False, "difference_points": 99.99, "largest": "l" * 80},
                        "same_run": {"pass": True, "difference_points": 99.99, "largest": "busy"},
                        "told": {"what": "x" * 80, "share": None}})
        p.table("t", [{"what": "w" * 70, "text": "y" * 100, "pass": None}])
        p.verdicts([{"what": "counts", "pass": False, "text": "name/one, " * 30}])
        self.assertLessEqual(max(len(line) for line in out.getvalue().splitlines()), page.WIDTH)
        said = " ".join(out.getvalue().split())
        self.assertIn("3 runs, off by: CUPTI itself -12.35 .. +123.46 %, sampled not known, "
                      "cupti mode -12.35 .. -0.00 %", said)
        self.assertIn("in the same run -/100.0 100.0 PASS", said)
