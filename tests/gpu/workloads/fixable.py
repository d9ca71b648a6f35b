# SPDX-License-Identifier: Apache-2.0
"""What the programs with a fix share: the choice of a variant, the steady loop and its time per step.

A program has the variants `base` (as it was written), `fix` (what is wrong is put right), `useless` (a change that
sounds good and does not help), and some have `fix2` and `fix3` (other ways to put it right). WORKLOAD_FIX=1, 2 or 3 and
WORKLOAD_USELESS=1 choose one; without them it is `base`. --variants base,fix,useless measures several in turns within one process:
first the base, then rounds of all of them with shorter loops.

For each loop it prints `variant: NAME`, `steps: N` and `time_s: SECONDS`; `warm_steps: N` are the steps before the first
loop of a variant, and `result: CHECKSUM SUM` is what the base had computed after its first loop. A variant that could not be
made is named on a line `failed: NAME WHY`, and the rest goes on. Exit status 77: it cannot run here, as `skip:` says.

WORKLOAD_LOOP_S=SECONDS gives the loops so many steps that one takes about that long.

Lines that end in `# cause: KIND` are what is wrong with a program: its calls that wait, copy, launch or alloc, or the work on
the host that the GPU waits for (loader), and the call behind that work (delayed). `KIND in NAME`: the calls are made by a thread or a library of that name, without Python.
"""
import argparse
import importlib
import os
import re
import struct
import sys
import time
import traceback

import common

VARIANTS = ("base", "fix", "fix2", "fix3", "useless")
MOST_S, LEAST_S = 5.0, 2.0  # a loop that would take longer or shorter has fewer or more steps


def load(*modules):
    """Imports modules, or skips; then waits for its turn on the GPU."""
    found = []
    for name in modules:
        try:
            found.append(importlib.import_module(name))
        except Exception as e:  # a package that does not fit another one fails in many ways
            common.skip("%s cannot be imported: %s" % (name, one_line(e)))
    common.gate()
    return found[0] if len(found) == 1 else found


def load_torch(*modules, gpus=1):
    """PyTorch with so many GPUs, and other modules."""
    found = load("torch", *modules)
    torch = found[0] if modules else found
    if not torch.cuda.is_available():
        common.skip("torch finds no CUDA device")
    if torch.cuda.device_count() < gpus:
        common.skip("%d GPUs needed, torch finds %d" % (gpus, torch.cuda.device_count()))
    return found


def load_jax(*modules):
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    found = load("jax", *modules)
    jax = found[0] if modules else found
    try:
        gpus = [d for d in jax.devices() if d.platform in ("gpu", "cuda")]
    except RuntimeError as e:
        common.skip("jax finds no device: %s" % one_line(e))
    if not gpus:
        common.skip("jax finds no GPU")
    return found


def load_cupy(*modules):
    """CuPy with a GPU, and other modules."""
    found = load("cupy", *modules)
    cupy = found[0] if modules else found
    try:
        if not cupy.cuda.runtime.getDeviceCount():
            common.skip("cupy finds no CUDA device")
    except cupy.cuda.runtime.CUDARuntimeError as e:
        common.skip("cupy finds no CUDA device: %s" % one_line(e))
    return found


def load_numba():
    """NumPy, Numba and numba.cuda with a GPU."""
    try:
        import numpy
        if not hasattr(numpy, "row_stack"):  # Numba 0.68 asks for it, NumPy 2.5 has it no more
            numpy.row_stack = numpy.vstack
    except ImportError:
        pass
    found = load("numpy", "numba", "numba.cuda")
    if not found[2].is_available():
        common.skip("numba finds no CUDA device")
    return found


def one_line(error):
    text = " ".join(str(error).split())
    return "%s: %s" % (type(error).__name__, text[:300]) if text else type(error).__name__


def capture(torch, step, before=None, warm_up=3):
    """A CUDA graph of step() and what step() gave, by the steps of PyTorch's documentation. `before` clears the gradients."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(warm_up):
            if before:
                before()
            step()
    torch.cuda.current_stream().wait_stream(side)
    if before:
        before()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        given = step()
    return graph, given


def scanned(jax, step, times):
    """So many steps as one call: step(*state) gives the next state and a loss; the call the last state and the mean of the losses."""
    def one(state, _):
        *state, loss = step(*state)
        return tuple(state), loss

    def all_of_them(*state):
        state, losses = jax.lax.scan(one, state, None, length=times)
        return (*state, losses.mean())
    return jax.jit(all_of_them)


class Work:
    """A variant that is set up: `step()` or `loop(steps)`, `wait()` until its GPU work is done, and `values()`, floats that
    tell what it computed."""

    def __init__(self, step=None, wait=lambda: None, values=lambda: [], loop=None):
        self.step, self.wait, self.values = step, wait, values
        self.loop = loop or self.each_step

    def each_step(self, steps):
        for _ in range(steps):
            self.step()

    def timed(self, steps):
        self.wait()
        start = time.perf_counter()
        self.loop(steps)
        self.wait()
        return time.perf_counter() - start


class Program:
    """A program with its variants. `steps` of the loop; `warm_up`: steps that are made twice before the first loop;
    `settle`: steps before each further loop, by variant, since what works ahead of the loop has a lead by then; `multiple`: of
    steps that a loop may have; `fixed`: all loops have the same steps."""

    def __init__(self, doc, steps, warm_up=20, settle=None, multiple=1, fixed=False):
        parser = argparse.ArgumentParser(description=doc.strip().splitlines()[0])
        parser.add_argument("--variants", metavar="LIST", help="of: %s" % ", ".join(VARIANTS))
        parser.add_argument("--steps", type=int, help="of the first loop (default %d, less or more where that takes "
                            "long or no time)" % steps)
        parser.add_argument("--rounds", type=int, default=1, help="loops of each variant, where there are several")
        parser.add_argument("--serve", metavar="STEM", help="time its loop, a step of it, for each line from the pipe STEM.in")
        parser.add_argument("--share", type=float, default=0.35, help="of the steps, in these loops (default %(default)s)")
        arguments = parser.parse_args()
        self.default, self.warm_up, self.settle, self.multiple, self.fixed = steps, warm_up, settle or {}, multiple, fixed
        self.rounds, self.share, self.asked = arguments.rounds, 1.0 if fixed else arguments.share, arguments.steps
        self.serve = arguments.serve
        self.variants = (arguments.variants or chosen()).split(",")
        for name in self.variants:
            if name not in VARIANTS:
                parser.error("no variant '%s'" % name)
        self.say = lambda text: print(text, flush=True)
        self.agree = lambda number: number  # across processes that must run the same loops
        self.failed = False

    @property
    def alone(self):
        return len(self.variants) == 1

    def told(self):
        """The steps that the command line or the line from the gate asks for, or None."""
        found = re.search(r"steps=(\d+)", common.told)
        return self.asked or (int(found.group(1)) if found else None)

    def rounded(self, steps):
        return max(1, int(steps) // self.multiple) * self.multiple

    def fitting(self, step_s):
        """The steps of a first loop where one takes so long."""
        steps = self.told()
        if steps is None:
            steps = self.default
            wanted = float(os.environ.get("WORKLOAD_LOOP_S") or 0.0)
            least, most = (wanted, wanted) if wanted > 0.0 else (LEAST_S, MOST_S)
            if step_s and not self.fixed and not least <= steps * step_s <= most:
                steps = self.rounded(max(20, min(10 * steps, (least + most) / 2 / step_s)))
        return self.agree(steps)

    def made(self, make, name):
        """(work, seconds of a step) of a variant that is warm, or (None, None)."""
        try:
            work = make(name)
            if not self.warm_up:
                return work, None
            work.timed(self.warm_up)
            return work, work.timed(self.warm_up) / self.warm_up
        except SystemExit:
            raise
        except Exception as e:
            self.fails(name, e)
            return None, None

    def fails(self, name, error):
        self.failed = True
        self.say("failed: %s %s" % (name, one_line(error)))
        traceback.print_exc()

    def measure(self, name, work, steps):
        seconds = work.timed(steps)
        self.say("variant: %s\nsteps: %d\ntime_s: %.9f" % (name, steps, seconds))
        return seconds

    def tell_result(self, work):
        values = [float(v) for v in work.values()]
        if values:
            common.Run.finish(struct.pack("<%df" % len(values), *values), self.say)

    def main(self, make):
        """Runs it; make(variant) gives its Work."""
        first = self.variants[0]
        work, step_s = self.made(make, first)
        if not work:
            sys.exit(1)
        steps = self.fitting(step_s)
        if self.serve:
            common.serve(self.serve, lambda: work.timed(steps) / steps)
            return
        self.say("warm_steps: %d" % (2 * self.warm_up))
        self.measure(first, work, steps)
        self.tell_result(work)
        if not self.alone:
            self.turns(make, {first: work}, self.rounded(self.share * steps))

    def turns(self, make, ready, steps):
        """Rounds over all variants."""
        for name in self.variants[1:]:
            work, _ = self.made(make, name)
            if work:
                ready[name] = work
        for number in range(self.rounds):
            for name in list(ready)[::-1 if number % 2 else 1]:
                try:
                    ready[name].loop(self.settle.get(name, 4 * self.multiple if self.multiple < 5 else self.multiple))
                    self.measure(name, ready[name], steps)
                except Exception as e:
                    self.fails(name, e)
                    del ready[name]


def chosen():
    if os.environ.get("WORKLOAD_FIX", "0") not in ("", "0"):
        return {"2": "fix2", "3": "fix3"}.get(os.environ["WORKLOAD_FIX"], "fix")
    return "useless" if os.environ.get("WORKLOAD_USELESS", "0") not in ("", "0") else "base"


def sample_of(torch, *tensors, most=4096):
    """Some values of tensors, for values()."""
    return [x for t in tensors for x in t.detach().reshape(-1)[:most].to("cpu", torch.float32).tolist()]


def seed(torch):
    """The same start for each variant, and the same bits at each run where the kernels allow it."""
    torch.manual_seed(20)
    torch.backends.cudnn.benchmark = False
    torch.backends.cudnn.deterministic = True
