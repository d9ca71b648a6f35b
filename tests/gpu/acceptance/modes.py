# SPDX-License-Identifier: Apache-2.0
"""The ways to run a program. A new tool is one more row: what it adds to the environment and the command."""
import os


class Mode:
    """How to run a program. `environment` and `prefix` are functions of (settings, folder)."""

    def __init__(self, name, text, environment=None, prefix=None, arguments=(), missing=None,
                 turns_most=None, fits=None, may_fail=False):
        self.name = name
        self.text = text
        self._environment = environment or (lambda settings, folder: {})
        self._prefix = prefix or (lambda settings, folder: [])
        self.arguments = list(arguments)  # given to the workload, for tools that live inside it
        self._missing = missing or (lambda settings: None)
        self.turns_most = turns_most  # of a tool that is slow to start; None: as many as the others
        self._fits = fits or (lambda program: True)
        self.may_fail = may_fail  # its exit status says nothing of the program that it ran

    def environment(self, settings, folder):
        return settings.environment(**self._environment(settings, folder))

    def argv(self, settings, folder, argv):
        return self._prefix(settings, folder) + list(argv) + self.arguments

    def missing(self, settings):
        """Why this mode cannot be had here, or None."""
        return self._missing(settings)

    def fits(self, program):
        return self._fits(program)


def under_shim(gpu_mode):
    def environment(settings, folder):
        return {"LD_PRELOAD": settings.shim, "CUDASPY_GPU": gpu_mode,
                "CUDASPY_OUT": os.path.join(folder, "%p.cudaspy")}
    return environment


def shim_missing(settings):
    return None if os.path.exists(settings.shim) else "%s is not built" % settings.shim


def nsys_missing(settings):
    return None if settings.nsys else "nsys is not installed"


def nsys_prefix(settings, folder):
    return [settings.nsys, "profile", "-t", "cuda", "--sample=none", "--cpuctxsw=none",
            "--force-overwrite=true", "-o", os.path.join(folder, "nsys")]


def nsys_and_shim_prefix(settings, folder):
    """The shim beside what nsys itself preloads: nsys sets LD_PRELOAD for the program that it starts."""
    return nsys_prefix(settings, folder) + [
        "/bin/sh", "-c", 'export LD_PRELOAD="$0${LD_PRELOAD:+:$LD_PRELOAD}"; exec "$@"', settings.shim]


def nsys_and_shim(settings, folder):
    env = under_shim("sample")(settings, folder)
    del env["LD_PRELOAD"]
    return env


def has_profiler(program):
    return "torch" in program.needs


BARE = Mode("bare", "no tool")
MODES = {m.name: m for m in [
    BARE,
    Mode("off", "the shim, CUDASPY_GPU=off", under_shim("off"), missing=shim_missing),
    Mode("sample", "the shim, CUDASPY_GPU=sample (the default)", under_shim("sample"),
         missing=shim_missing),
    Mode("cupti", "the shim, CUDASPY_GPU=cupti", under_shim("cupti"), missing=shim_missing),
    Mode("nsys", "nsys profile -t cuda", prefix=nsys_prefix, missing=nsys_missing, turns_most=15,
         may_fail=True),
    Mode("profiler", "torch.profiler, CPU and CUDA activities", arguments=["--profiler"],
         turns_most=10, fits=has_profiler),
]}
# For part `overhead`: what two bare processes differ by.
AGAIN = Mode("bare again", "no tool, in a process of its own")
# For part `beside`: two tools in one process.
NSYS_AND_SAMPLE = Mode("nsys+sample", "the shim under nsys", nsys_and_shim, nsys_and_shim_prefix,
                       missing=lambda s: shim_missing(s) or nsys_missing(s), may_fail=True)
PROFILER_AND_SAMPLE = Mode("profiler+sample", "the shim beside torch.profiler", under_shim("sample"),
                           arguments=["--profiler"], missing=shim_missing, fits=has_profiler)

# Median slowdown, in per cent, that a program may show in a mode. What has no limit is only reported.
LIMITS = {
    ("launch_loop/static", "off"): 2.0,
    ("launch_loop/shared", "off"): 2.0,
    ("launch_loop/static", "sample"): 3.0,
    ("launch_loop/shared", "sample"): 3.0,
    ("torch_mlp/1", "sample"): 2.0,
}
# (program, mode, other mode): the first may not cost more than the other, in the median.
NO_DEARER = [("launch_loop/static", "cupti", "nsys"), ("launch_loop/shared", "cupti", "nsys")]
