# SPDX-License-Identifier: Apache-2.0
"""What was asked for on the command line, and what this machine has."""
import datetime
import glob
import importlib.metadata
import importlib.util
import os
import platform
import re
import shutil
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
FRAMEWORKS = {  # module: the distributions that may bring it
    "torch": ["torch"],
    "triton": ["triton"],
    "jax": ["jax"],
    "cupy": ["cupy", "cupy-cuda13x", "cupy-cuda12x"],
    "numba": ["numba"],
    "optax": ["optax"],
    "peft": ["peft"],
    "flax": ["flax"],
    "timm": ["timm"],
    "torch_geometric": ["torch_geometric", "torch-geometric"],
    "accelerate": ["accelerate"],
    "tokenizers": ["tokenizers"],
    "torchaudio": ["torchaudio"],
    "torchvision": ["torchvision"],
    "transformers": ["transformers"],
}
# Variables of ours, of the yardstick and of other tools: none may leak into a run that did not ask for it.
OWN_VARIABLES = ("ACCEPTANCE_", "CUDASPY_", "CUPTI_TRUTH_", "SIM_", "LD_PRELOAD", "CUDA_INJECTION64_PATH",
                 "NVTX_INJECTION64_PATH")


class Settings:
    """One acceptance run; `build` is absolute, `work` is emptied at the start."""

    def __init__(self, options):
        self.build = os.path.join(ROOT, options.build)
        self.work = os.path.join(self.build, "acceptance")
        self.out = options.out or os.path.join(self.build, "gpu_acceptance.json")
        self.simulated = options.simulated
        self.kept = options.keep and os.path.abspath(options.keep)  # folder of recordings that stay
        self.quick = options.quick
        self.pairs_asked = options.pairs
        self.pairs = options.pairs if options.pairs else 3 if options.quick else 15
        self.gate_pairs = options.gate_pairs if options.gate_pairs else 5 if options.quick else 50
        self.repeats = options.repeats
        self.rounds = options.runs
        self.with_beside = not {"accuracy", "timeline"}.isdisjoint(options.parts)
        self.lanes = options.lanes
        self.jobs = options.jobs
        self.half, self.fix_timeout = options.half, options.program_timeout
        self.stable_runs = options.stable_runs
        self.fix_loops = options.fix_loops or options.repeats
        self.fix_fresh = options.fix_fresh or 0
        self.fix_modes = options.fix_modes.split(",")
        self.counts_mode = options.counts_mode
        self.only = re.compile(options.only) if options.only else None
        self.modes = options.modes.split(",")
        self.deadline = time.monotonic() + options.time_limit if options.time_limit else None
        self.cuda_home = cuda_home(self.build)
        self.cupti = find_cupti(self.cuda_home)
        self.nsys = find_nsys()
        self.runs = {}  # what runs.rounds() has made already, by program
        self.shim = os.path.join(self.build, "libcudaspy.so")
        self.reporter = os.path.join(self.build, "cudaspy")
        self.truth_library = os.path.join(self.build, "tests", "libcupti_truth.so")

    def wanted(self, name):
        return self.only is None or self.only.search(name) is not None

    def environment(self, **more):
        """The environment of a bare run: this one's, without any tool's variables."""
        env = {k: v for k, v in os.environ.items() if not k.startswith(OWN_VARIABLES)}
        if self.simulated:
            env["LD_LIBRARY_PATH"] = ":".join(os.path.join(self.build, "sim", name)
                                              for name in ("", "cupti13"))
        if self.cuda_home:
            env.setdefault("CUDA_HOME", self.cuda_home)
            env.setdefault("CUDA_PATH", self.cuda_home)
        env.update(more)
        return env

    def library_path(self):
        """For programs that link the toolkit's libraries. Not for Python's: they bring their own versions."""
        paths = [os.path.join(self.cuda_home, "lib64")] if self.cuda_home else []
        paths += [p for p in [os.environ.get("LD_LIBRARY_PATH")] if p]
        return {"LD_LIBRARY_PATH": ":".join(paths)} if paths else {}

    def time_left(self, most):
        """Seconds that a run may take: `most`, or less where the whole acceptance is running out of time."""
        if self.deadline is None:
            return most
        return max(1.0, min(most, self.deadline - time.monotonic()))

    def out_of_time(self):
        return self.deadline is not None and time.monotonic() >= self.deadline


def cuda_home(build):
    """The toolkit that the Makefile finds."""
    given = os.environ.get("CUDA_HOME")
    places = [given] if given else []
    places += ["/usr/local/cuda", "/opt/cuda"] + sorted(glob.glob("/usr/local/cuda-*"))
    places.append(os.path.join(build, "deps", "cuda"))
    return next((p for p in places if os.path.exists(os.path.join(p, "include", "cuda.h"))), None)


def find_cupti(home):
    """A libcupti for programs that have none loaded: the toolkit's, else one from a Python package."""
    patterns = []
    if home:
        patterns += [home + "/lib64/libcupti.so.1?", home + "/extras/CUPTI/lib64/libcupti.so.1?"]
    for folder in sys.path:
        patterns += [folder + "/nvidia/cu13/lib/libcupti.so.13",
                     folder + "/nvidia/cuda_cupti/lib/libcupti.so.12"]
    return next((f for p in patterns for f in sorted(glob.glob(p), reverse=True)), None)


def find_nsys():
    """nsys from the path, else from where Nsight Systems, the toolkit and Nsight Compute install it."""
    patterns = ["/opt/nvidia/nsight-systems/*/target-linux-x64/nsys",
                "/opt/nvidia/nsight-systems-cli/*/target-linux-x64/nsys",
                "/usr/local/cuda*/nsight-systems-*/target-linux-x64/nsys",
                "/usr/local/cuda*/bin/nsys",
                "/opt/nvidia/nsight-compute/*/host/target-linux-x64/nsys"]
    found = [f for p in patterns for f in sorted(glob.glob(p), reverse=True)]
    return shutil.which("nsys") or next((f for f in found if os.access(f, os.X_OK)), None)


def find_importer(nsys):
    """What turns nsys's raw file into its report, and nsys looks for beside itself; None: not there."""
    if not nsys:
        return None
    home = os.path.dirname(os.path.dirname(os.path.realpath(nsys)))
    found = sorted(glob.glob(os.path.join(home, "*", "QdstrmImporter")))
    return found[0] if found else None


def framework_versions():
    """{module: version, or None where it is not installed}."""
    versions = {}
    for module, distributions in FRAMEWORKS.items():
        versions[module] = None
        if importlib.util.find_spec(module) is None:
            continue
        versions[module] = "unknown"
        for name in distributions:
            try:
                versions[module] = importlib.metadata.version(name)
                break
            except importlib.metadata.PackageNotFoundError:
                continue
    return versions


def output_of(*argv):
    try:
        done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=30,
                              check=False, text=True)
        return done.stdout.strip() if done.returncode == 0 else None
    except (OSError, subprocess.TimeoutExpired):
        return None


def cpu_model():
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as f:
            found = re.search(r"model name\s*:\s*(.*)", f.read())
        return found.group(1) if found else platform.machine()
    except OSError:
        return platform.machine()


def toolkit_version(home):
    """(major.minor of the headers, release of nvcc)."""
    version = None
    if home:
        with open(os.path.join(home, "include", "cuda.h"), encoding="utf-8", errors="replace") as f:
            found = re.search(r"#define\s+CUDA_VERSION\s+(\d+)", f.read())
        if found:
            number = int(found.group(1))
            version = "%d.%d" % (number // 1000, number % 1000 // 10)
    nvcc = output_of(os.path.join(home or "", "bin", "nvcc"), "--version")
    release = re.search(r"V([\d.]+)", nvcc or "")
    return version, release.group(1) if release else None


def built_from(settings):
    """(commit, whether something was changed since) of what is measured: a bundle says it of itself, else it is the checkout's."""
    try:
        with open(os.path.join(settings.build, "commit"), encoding="utf-8") as f:
            words = f.read().split()
        if words:
            return words[0], "changed" in words[1:]
    except OSError:
        pass
    return output_of("git", "-C", ROOT, "rev-parse", "HEAD"), bool(output_of("git", "-C", ROOT, "status", "--porcelain"))


def facts(settings):
    """What a reader of the result must know about where it was made."""
    headers, nvcc = toolkit_version(settings.cuda_home)
    commit, changed = built_from(settings)
    gpus = None
    if not settings.simulated:
        listed = output_of("nvidia-smi", "--query-gpu=name,driver_version,memory.total",
                           "--format=csv,noheader")
        gpus = [dict(zip(("name", "driver", "memory"), re.split(r"\s*,\s*", line)))
                for line in (listed or "").splitlines()]
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "simulated": settings.simulated,
        "gpus": gpus,
        "driver": gpus[0]["driver"] if gpus else None,
        "toolkit": headers,
        "nvcc": nvcc,
        "cpu": cpu_model(),
        "cores": os.cpu_count(),
        "programs_at_a_time": settings.jobs,  # while counting: the times there are of a busy machine
        "kernel": platform.release(),
        "libc": " ".join(platform.libc_ver()),
        "python": platform.python_version(),
        "frameworks": framework_versions(),
        "commit": commit,
        "changed_since_commit": changed,
        "nsys": {"path": settings.nsys, "importer": find_importer(settings.nsys),
                 "version": output_of(settings.nsys, "--version") if settings.nsys else None},
    }
