# SPDX-License-Identifier: Apache-2.0
"""What the tests of the acceptance script share: the build folder, and made-up reports and truths."""
import glob
import json
import os
import subprocess

from acceptance import runs, truth, work
from acceptance.shim import Report


def usable(build):
    """The build folder, if the truth library and the made-up CUPTI are there."""
    return build and os.path.exists(os.path.join(build, "tests", "libfake_cupti.so")) and \
        os.path.abspath(build)


BUILD = usable(os.environ.get("O"))


def report(**totals):
    full = {"launches": 10, "graph_launches": 2, "copies": 3, "copy_bytes": 300, "sets": 1,
            "captured": 4, "syncs": 7}
    full.update(totals)
    return Report("x", {
        "totals": full, "lost": {"records": 0}, "gaps": [], "window_ns": 5,
        "processes": [{"pid": 9, "state": "complete"}],
        "kernels": [{"name": "void ns::fill<float>(float*)", "launches": 6},
                    {"name": "plain", "launches": 4}, {"name": "captured only", "launches": 0}],
        "copies": [{"direction": "HtoD", "host_memory": "pageable", "count": 2, "bytes": 200},
                   {"direction": "DtoH", "host_memory": "pinned", "count": 1, "bytes": 100}]})


def same_truth():
    t = truth.Truth("test")
    t.pid = 9
    t.launches, t.graph_launches, t.copies, t.copy_bytes, t.sets = 10, 2, 3, 300, 1
    t.kernels = {"void ns::fill<float>(float*)": 6, "plain": 4}
    t.directions = {"HtoD": 2, "DtoH": 1}
    return t


def kernel_row(**more):
    row = {"kind": "kernel", "kernel": "fill(float*)", "grid": [2, 1, 1], "block": [64, 1, 1],
           "shared_bytes": 0, "direction": None, "memory": None, "bytes": None, "count": 100,
           "samples": 40, "mean_ns": 1000.0, "low_ns": 900.0, "high_ns": 1100.0, "api_mean_ns": 3000.0}
    row.update(more)
    return row


def copy_row(**more):
    return kernel_row(kind="copy", kernel=None, grid=None, block=None, shared_bytes=None,
                      direction="HtoD", memory="pinned", bytes=100 * 4100, **more)


FILL = work.kernel_key("fill(float*)", [2, 1, 1], [64, 1, 1], 0)


def timed_report(works, total_ns, mode="sample", launches=100, copies=0):
    r = report(launches=launches, graph_launches=0, sets=0)
    r.data["copies"] = [{"direction": "HtoD", "host_memory": "pinned", "count": copies, "bytes": 0}] if copies else []
    r.data["works"] = works
    whole = {"gpu_total_ns": total_ns, "gpu_mean_ns": total_ns and total_ns / launches,
             "gpu_low_ns": total_ns and 0.9 * total_ns, "gpu_high_ns": total_ns and 1.1 * total_ns,
             "gpu_known_share": 1.0, "samples": 40}
    r.data["gpu"] = {"mode": mode, "work": {"all": whole}, "calibration": {}, "window_ns": 1000,
                     "busy_ns": 400, "idle_by": {"launch": 500, "outside": 100}}
    r.data["host"] = {"launch_ns": 10, "back_pressure_ns": 80, "contention_ns": 0,
                      "sync_useful_ns": 10, "sync_wasted_ns": 0}
    return r


def timed_truth(classes, kernels=(100, 100000), busy_ns=400):
    t = same_truth()
    t.busy_ns = busy_ns
    t.classes, t.kinds = classes, {"kernel": kernels, "copy": (0, 0), "set": (0, 0), "graph": (0, 0)}
    return t


def a_round(truth, sample, cupti, beside=None, beside_truth=None):
    """A round of runs (acceptance/runs.py) that had these reports and truths; None: none."""
    made = runs.Round()
    made.truths = {n: t for n, t in (("truth", truth), ("beside", beside_truth)) if t}
    made.reports = {n: r for n, r in (("sample", sample), ("cupti", cupti), ("beside", beside)) if r}
    made.loop_s = {"truth": [], "sample": [], "cupti": []}
    return made


def shim_report(folder):
    """The report of the one recording in a folder."""
    file, = glob.glob(os.path.join(folder, "*.cudaspy"))
    out = subprocess.run([os.path.join(BUILD, "cudaspy"), "report", "--format", "json", file], check=True,
                         stdout=subprocess.PIPE, timeout=60).stdout
    return json.loads(out)
