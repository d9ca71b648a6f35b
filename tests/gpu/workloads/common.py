# SPDX-License-Identifier: Apache-2.0
"""What the workloads share: their arguments, the steady loop and its time, the checksum of their result.

A workload prints `time_s: SECONDS` for each time it ran its steady loop, and last `result: CHECKSUM SUM`, which must
not change when a tool watches. Exit status 77 means it cannot run here; the reason is on the `skip:` line.

With --serve STEM it runs its steady loop once for every line it reads from the pipe STEM.in, and answers on STEM.out:
several processes can so be timed in turns, whatever a tool does to their standard streams.
With --profiler torch.profiler watches the steady loop; what it saw is on the `profiled:` line.
"""
import argparse
import hashlib
import importlib
import json
import math
import os
import struct
import sys
import tempfile
import time

SKIP = 77
told = ""  # what came through the gate


def skip(why):
    print("skip: %s" % why, flush=True)
    sys.exit(SKIP)


def require(module):
    """Imports a module, or skips the workload. Behind the first one stands the gate."""
    try:
        found = importlib.import_module(module)
    except ImportError as e:
        return skip("%s cannot be imported: %s" % (module, e))
    gate()
    return found


def gate():
    """Waits for a line from the pipe ACCEPTANCE_GATE, if there is one: the GPU is used by one program at a time."""
    global told
    path = os.environ.pop("ACCEPTANCE_GATE", None)
    if path:
        with open(path + ".reached", "w", encoding="utf-8"):
            pass
        # Whoever holds the other end may be gone by now, or go meanwhile: then it is nobody's turn.
        pipe = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        os.set_blocking(pipe, True)
        with open(pipe, encoding="utf-8") as lines:
            told = lines.readline()
        if not told:
            sys.exit("nobody is at the gate any more")


def torch_on_gpu():
    """PyTorch with a GPU, seeded, and set up to give the same bits at each run."""
    torch = require("torch")
    if not torch.cuda.is_available():
        skip("torch finds no CUDA device")
    torch.manual_seed(20)
    torch.backends.cudnn.benchmark = False
    torch.backends.cudnn.deterministic = True
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    return torch


def torch_bytes(torch, *tensors):
    """The tensors' values as bytes of float32."""
    flat = torch.cat([t.detach().to("cpu", torch.float32).reshape(-1) for t in tensors])
    return struct.pack("<%df" % flat.numel(), *flat.tolist())


def profiler():
    """torch.profiler with CPU and CUDA activities, not started."""
    torch = require("torch")
    kinds = torch.profiler.ProfilerActivity
    return torch.profiler.profile(activities=[kinds.CPU, kinds.CUDA])


def profiled(watch):
    """What a profiler saw of the GPU: {kind: {name: events}}."""
    kinds = {"kernel": {}, "gpu_memcpy": {}, "gpu_memset": {}}
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "trace.json")
        watch.export_chrome_trace(path)
        with open(path, encoding="utf-8", errors="replace") as f:
            events = json.load(f)["traceEvents"]
    for e in events:
        names = kinds.get(e.get("cat"))
        if names is not None and e.get("ph") == "X":
            names[e["name"]] = names.get(e["name"], 0) + 1
    return kinds


def serve(stem, once):
    """Says the seconds that once() gives for each line that comes from the pipe STEM.in."""
    with open(stem + ".in", encoding="utf-8") as asked, open(stem + ".out", "w", encoding="utf-8") as out:
        print("ready", file=out, flush=True)
        for _ in asked:
            print("time_s: %.9f" % once(), file=out, flush=True)


class Run:
    """One run of a workload: parses the command line, times the loop, prints the result."""

    def __init__(self, doc, iterations, **more):
        parser = argparse.ArgumentParser(description=doc.strip().splitlines()[0])
        parser.add_argument("--iterations", type=int, default=iterations)
        parser.add_argument("--serve", metavar="STEM",
                            help="run the loop once for each line that comes from the pipe STEM.in")
        parser.add_argument("--profiler", action="store_true", help="under torch.profiler")
        for name, value in more.items():
            parser.add_argument("--" + name, type=type(value), default=value)
        self.arguments = parser.parse_args()

    def __getattr__(self, name):
        return getattr(self.arguments, name)

    def once(self, step, wait):
        """Seconds of the loop, the last wait included."""
        wait()
        start = time.perf_counter()
        for _ in range(self.arguments.iterations):
            step()
        wait()
        return time.perf_counter() - start

    def steady(self, step, wait, warm_up=20):
        """Warms up, then times `iterations` steps, once or in turns."""
        for _ in range(warm_up):
            step()
        wait()
        watch = profiler() if self.arguments.profiler else None
        if watch:
            watch.start()
        if self.arguments.serve:
            serve(self.arguments.serve, lambda: self.once(step, wait))
            if watch:
                os._exit(0)  # what it saw in all the turns is of no use, and takes long to put together
            return
        seconds = self.once(step, wait)
        if watch:
            watch.stop()
        print("time_s: %.9f" % seconds, flush=True)
        if watch:
            print("profiled: %s" % json.dumps(profiled(watch)), flush=True)

    @staticmethod
    def finish(data, say=lambda text: print(text, flush=True)):
        """Prints the checksum of float32 values, and their sum for the human eye."""
        values = struct.unpack("<%df" % (len(data) // 4), data)
        digest = hashlib.sha256(data).hexdigest()[:16]
        say("result: %s %.9g" % (digest, math.fsum(values)))
