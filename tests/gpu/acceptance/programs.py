# SPDX-License-Identifier: Apache-2.0
"""The programs of the acceptance: the samples, the launch loop, the frameworks' workloads.

One row each. `needs` are Python modules; `resident` says that it can be timed in turns within one process, `gated`
that it can be started before it is its turn on the GPU (tests/gpu/workloads/common.py, --serve and gate()).
"""
import glob
import os
import sys

from acceptance import fixes_table
from acceptance.settings import ROOT, framework_versions

WORKLOADS = os.path.join(ROOT, "tests", "gpu", "workloads")
# Of the programs with their fix: graphs of JAX's beside copies of one number. In the first one other streams keep the GPU from
# the sampler's calibration.
JAX_WITH_GRAPHS = ("jax_stellarator_coils", "jax_fort_views", "jax_metro_trips")


class Program:
    """Something to run; `quick_argv` is a shorter run of it. `graphs`: it launches some, or may; CUPTI then records each launch
    of one as a span, and none of the kernels inside."""

    def __init__(self, name, argv, needs=(), env=None, timeout=60, resident=False, quick_argv=None,
                 loop=None, gated=False, graphs=False):
        self.name = name
        self.argv = argv
        self.needs = needs
        self.env = env or {}
        self.timeout = timeout
        self.resident = resident
        self.quick_argv = quick_argv or argv
        self.loop = loop or argv  # the form whose loop is timed for the overhead
        self.gated = gated
        self.graphs = graphs

    def missing(self):
        """Why it cannot be run here, or None."""
        versions = framework_versions() if self.needs else {}
        for module in self.needs:
            if not versions.get(module):
                return "%s is not installed" % module
        return None


def workload(name, file, needs, *arguments, iterations=None, loop_iterations=None, **more):
    argv = [sys.executable, "-B", os.path.join(WORKLOADS, file), *arguments]
    count = ["--iterations", str(iterations)] if iterations else []
    loop = ["--iterations", str(loop_iterations)] if loop_iterations else []
    return Program(name, argv + count, needs, loop=argv + loop, gated=True, timeout=more.pop("timeout", 120), **more)


def sample_names():
    files = glob.glob(os.path.join(ROOT, "cuda_samples", "*.cu"))
    return sorted(os.path.splitext(os.path.basename(f))[0] for f in files)


def gpu_programs(settings):
    def built(*path):
        return os.path.join(settings.build, *path)

    def cache(variable, name):
        return {variable: os.path.join(settings.work, "cache", name)}

    rows = []
    native = settings.library_path()
    for kind in ("static", "shared"):
        for name in sample_names():
            rows.append(Program("%s/%s" % (name, kind), [built("samples", kind, name)], env=native, graphs=name == "graph_replay"))
    for kind in ("static", "shared"):
        loop = built("tests", "launch_loop_" + kind)
        rows.append(Program("launch_loop/" + kind, [loop, "200000"], quick_argv=[loop, "20000"],
                            loop=[loop, "100000"], env=native))
    torch = ("torch",)
    # Compiled code is kept between the bare run and the watched one, so that both run the same kernels.
    compiled = {**cache("TORCHINDUCTOR_CACHE_DIR", "inductor"),
                **cache("TRITON_CACHE_DIR", "triton-inductor")}
    jax_env = {"XLA_PYTHON_CLIENT_PREALLOCATE": "false", "TF_CPP_MIN_LOG_LEVEL": "2",
               "XLA_FLAGS": "--xla_gpu_autotune_level=0"}
    rows += [
        workload("torch_mlp/1", "torch_mlp.py", torch, "--batch", "1", iterations=2000,
                 loop_iterations=5000, resident=True),
        workload("torch_mlp/16", "torch_mlp.py", torch, "--batch", "16", iterations=2000,
                 loop_iterations=5000, resident=True),
        workload("torch_mlp/1280", "torch_mlp.py", torch, "--batch", "1280", iterations=1000,
                 loop_iterations=1000, resident=True),
        workload("torch_conv_training", "torch_conv_training.py", torch, resident=True),
        workload("torch_compiled", "torch_compiled.py", torch, env=compiled, timeout=200,
                 resident=True),
        workload("torch_graph_replay", "torch_graph_replay.py", torch, resident=True, graphs=True),
        workload("torch_pinned_copies", "torch_pinned_copies.py", torch, resident=True),
        workload("torch_staged_copies", "torch_staged_copies.py", torch),
        workload("triton_kernel", "triton_kernel.py", ("torch", "triton"),
                 env=cache("TRITON_CACHE_DIR", "triton"), resident=True),
        workload("jax_matmul", "jax_matmul.py", ("jax",), env=jax_env, resident=True),
        workload("jax_graphs", "jax_graphs.py", ("jax",), env={"TF_CPP_MIN_LOG_LEVEL": "2"}, resident=True,
                 graphs=True),
        workload("cupy_elementwise", "cupy_elementwise.py", ("cupy",),
                 env=cache("CUPY_CACHE_DIR", "cupy"), resident=True),
    ]
    return rows


def simulated_programs(settings):
    """The samples as they are built for the simulated CUDA, each form that exists."""
    rows = []
    for folder in ("sim", "sim-static", "sim11", "sim12", "sim-ptsz"):
        for name in sample_names():
            path = os.path.join(settings.build, "samples", folder, name)
            if folder in ("sim", "sim-static") or os.path.exists(path):
                rows.append(Program("%s/%s" % (name, folder), [path], graphs=name == "graph_replay"))
    return rows


def all_programs(settings):
    rows = simulated_programs(settings) if settings.simulated else gpu_programs(settings)
    return [p for p in rows if settings.wanted(p.name)]


def with_fix(settings, names, loop_s=1.5, **more):
    """Programs with their fix, as they were written, with short loops. Without XLA's tuning each run has the same kernels."""
    env = {"XLA_FLAGS": "--xla_gpu_autotune_level=0", "WORKLOAD_LOOP_S": "%g" % loop_s}
    cases = [c for cases in fixes_table.HALVES.values() for c in cases if c.name in names and c.gpus == 1]
    return [workload(c.name, c.name + ".py", c.needs, env={**env, **c.env}, graphs=True, **more)
            for c in cases if settings.wanted(c.name)]


def timed_programs(settings):
    """Those whose GPU times can be compared with CUPTI's; of a set of programs with their fix (--half) these alone."""
    if settings.simulated:
        return all_programs(settings)
    if settings.half != "all":
        return with_fix(settings, [c.name for c in fixes_table.HALVES[settings.half]])
    return all_programs(settings) + with_fix(settings, JAX_WITH_GRAPHS)
