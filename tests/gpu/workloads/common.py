"""What the workloads share: their arguments, the steady loop and its time, the checksum of their result.

A workload prints `time_s: SECONDS` for each time it ran its steady loop, and last `result: CHECKSUM SUM`, which must
not change when a tool watches. Exit status 77 means it cannot run here; the reason is on the `skip:` line.

With --serve it runs its steady loop once for every line it reads: two processes can so be timed in turns.
"""
import argparse
import hashlib
import importlib
import math
import struct
import sys
import time

SKIP = 77


def skip(why):
    print("skip: %s" % why, flush=True)
    sys.exit(SKIP)


def require(module):
    """Imports a module, or skips the workload."""
    try:
        return importlib.import_module(module)
    except ImportError as e:
        return skip("%s cannot be imported: %s" % (module, e))


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


class Run:
    """One run of a workload: parses the command line, times the loop, prints the result."""

    def __init__(self, doc, iterations, **more):
        parser = argparse.ArgumentParser(description=doc.strip().splitlines()[0])
        parser.add_argument("--iterations", type=int, default=iterations)
        parser.add_argument("--serve", action="store_true",
                            help="run the loop once for each line of standard input")
        for name, value in more.items():
            parser.add_argument("--" + name, type=type(value), default=value)
        self.arguments = parser.parse_args()

    def __getattr__(self, name):
        return getattr(self.arguments, name)

    def once(self, step, wait):
        wait()
        start = time.perf_counter()
        for _ in range(self.arguments.iterations):
            step()
        wait()
        print("time_s: %.9f" % (time.perf_counter() - start), flush=True)

    def steady(self, step, wait, warm_up=20):
        """Warms up, then times `iterations` steps, the last wait included."""
        for _ in range(warm_up):
            step()
        if not self.arguments.serve:
            self.once(step, wait)
            return
        wait()
        print("ready", flush=True)
        for _ in sys.stdin:
            self.once(step, wait)

    @staticmethod
    def finish(data):
        """Prints the checksum of float32 values, and their sum for the human eye."""
        values = struct.unpack("<%df" % (len(data) // 4), data)
        digest = hashlib.sha256(data).hexdigest()[:16]
        print("result: %s %.9g" % (digest, math.fsum(values)), flush=True)
