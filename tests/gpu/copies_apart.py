#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which copies and sets does cudaspy count that CUPTI has no record of? Both in one process, class by class.

    tests/gpu/copies_apart.py [--build BUILD] [-- PROGRAM ARGUMENT...]

First each way of copy_facts.c, ten times; then the program, or an optax loop in JAX. A class is direction, memory of the
host's side and size; sizes below 4 bytes are exact, others the lower end of their quarter of an octave. Ends with the calls
that made copies, as cudaspy and as CUPTI counted them.
"""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

from acceptance import counts, truth, work  # noqa: E402 (needs the path above)
from acceptance.programs import Program  # noqa: E402
from acceptance.settings import Settings  # noqa: E402

OPTAX = """
import os
os.environ["XLA_FLAGS"] = "--xla_gpu_graph_min_graph_size=1 --xla_gpu_autotune_level=0 " + os.environ.get("XLA_FLAGS", "")
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
import jax, jax.numpy as jnp, numpy as np
try:
    import optax
    tx = optax.adamw(1e-3)
except ImportError:
    tx = None
k = jax.random.PRNGKey(0)
w = [jax.random.normal(k, (256, 256)) / 16 for _ in range(6)]
def loss(w, x, y):
    for m in w:
        x = jnp.tanh(x @ m)
    return jnp.mean((x - y) ** 2)
s = tx.init(w) if tx else None
@jax.jit
def step(w, s, x, y):
    v, g = jax.value_and_grad(loss)(w, x, y)
    if tx:
        u, s = tx.update(g, s, w)
        return optax.apply_updates(w, u), s, v
    return [a - 0.01 * b for a, b in zip(w, g)], s, v
x = np.ones((64, 256), np.float32)
for i in range(500):
    w, s, v = step(w, s, x, x)
    if i % 50 == 0:
        float(v)
jax.block_until_ready(w)
print("result: ok")
"""


def differing(reports, truths):
    """[(class, ours, CUPTI's)] of copies and sets."""
    ours, real = {}, {}
    for r in reports:
        for key, c in work.classes_of(r).items():
            if key.kind in ("copy", "set"):
                truth.add(ours, key, c.pieces)
    for t in truths:
        for key, (pieces, _) in t.classes.items():
            if key.kind in ("copy", "set"):
                truth.add(real, key, pieces)
        for key, pieces in t.untrue.items():
            if key.kind in ("copy", "set"):
                truth.add(real, key, pieces)
    return [(key, ours.get(key, 0), real.get(key, 0)) for key in sorted(set(ours) | set(real), key=str)
            if ours.get(key, 0) != real.get(key, 0)]


def watched(settings, name, argv, env, with_apis):
    yardstick = truth.yardstick(settings)
    program = Program(name, argv, env=env)
    return counts.run_watched(settings, program, "apart", yardstick, with_apis)


def sums(reports, truths):
    return [sum(r.totals[k] for r in reports) for k in ("copies", "sets")], \
        [sum(getattr(t, k) for t in truths) for k in ("copies", "sets")]


class Options(argparse.Namespace):
    """Those of scripts/gpu_acceptance that nobody asked for are None."""

    def __getattr__(self, name):
        return None


def settings_of(arguments, folder):
    settings = Settings(Options(build=os.path.abspath(arguments.build), simulated=arguments.simulated, parts="counts",
                                counts_mode="sample", modes="off", fix_modes=""))
    settings.work = folder
    return settings


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build")
    parser.add_argument("--simulated", action="store_true", help="on the simulated CUDA")
    parser.add_argument("program", nargs="*")
    arguments = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="copies_apart.")
    settings = settings_of(arguments, folder)
    facts = os.path.join(settings.build, "tests", "copy_facts")
    ways = subprocess.run([facts], env=settings.environment(), stdout=subprocess.PIPE, check=True, text=True).stdout.split()
    print("%-24s %7s %7s   (copies and sets by cudaspy, by CUPTI; ten were asked for)" % ("way", "ours", "CUPTI's"))
    for way in ways:
        outcome, reports, truths, troubles = watched(settings, "facts/" + way, [facts, way], {}, False)
        ours, real = sums(reports, truths)
        print("%-24s %7d %7d%s   %s" % (way, sum(ours), sum(real), "" if ours == real else "  <--",
                                        "; ".join([outcome.trouble() or outcome.stdout.split()[0]] + troubles)))
    argv = arguments.program
    if not argv:
        path = os.path.join(folder, "optax_loop.py")
        with open(path, "w", encoding="utf-8") as f:
            f.write(OPTAX)
        argv = [sys.executable, path]
    outcome, reports, truths, troubles = watched(settings, "program", argv, {"TF_CPP_MIN_LOG_LEVEL": "2"}, True)
    print("\n%s: %s" % (" ".join(argv), "; ".join([outcome.trouble() or "ran"] + troubles)))
    ours, real = sums(reports, truths)
    print("copies %d, by CUPTI %d; sets %d, by CUPTI %d" % (ours[0], real[0], ours[1], real[1]))
    for key, mine, theirs in differing(reports, truths):
        print("    %-40s ours %6d, CUPTI's %6d" % (work.text(key), mine, theirs))
    for r in reports:
        for a in r.data["apis"]:
            if a["class"] in ("copy", "set"):
                print("    by cudaspy: %-36s %6d calls, %d failed" % (a["name"], a["calls"], a["failed"]))
    for t in truths:
        for (level, name), count in sorted(t.apis.items()):
            if "Memcpy" in name or "Memset" in name:
                print("    by CUPTI:   %-36s %6d calls (%s)" % (name, count, level))
        for (kind, level, name), count in sorted(t.causes.items(), key=str):
            if kind != "kernel":
                print("    CUPTI's records: %-8s %6d by %s %s" % (kind, count, level, name))
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
