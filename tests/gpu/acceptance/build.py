# SPDX-License-Identifier: Apache-2.0
"""Builds what the acceptance runs: the product, the samples, the truth library, the loop, the probe."""
import os
import subprocess

from acceptance.settings import ROOT

TIMEOUT = 400


def steps(settings):
    if settings.simulated:
        return [("the product", ["all"]), ("the simulated CUDA and its samples", ["sim", "samples-sim"]),
                ("the probe", ["gpu-tools-simulated"])]
    return [("the product", ["all"]), ("the samples", ["samples-nvcc"]),
            ("the truth library, the launch loop, the probe", ["gpu-tools"])]


def run(settings, page):
    """Runs make; returns a verdict."""
    for text, targets in steps(settings):
        page.line("building %s" % text)
        # gpu.mk guards itself, so it may be named here and be included by the Makefile too
        argv = ["make", "-C", ROOT, "-f", "Makefile", "-f", "tests/gpu/gpu.mk",
                "O=" + os.path.relpath(settings.build, ROOT), "-j%d" % (os.cpu_count() or 1), *targets]
        try:
            done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, timeout=TIMEOUT, check=False, text=True,
                                  errors="replace")
        except subprocess.TimeoutExpired:
            return {"what": "build", "pass": False, "text": "make %s timed out" % targets[0]}
        if done.returncode:
            page.line(done.stdout[-3000:])
            return {"what": "build", "pass": False, "text": "make %s failed" % " ".join(targets)}
    return {"what": "build", "pass": True, "text": "done"}
