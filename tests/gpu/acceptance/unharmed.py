# SPDX-License-Identifier: Apache-2.0
"""Part `unharmed`: programs that launch graphs, 50 times each in cupti mode: exit status and result as without cudaspy.

XLA's graphs, PyTorch's, and conditional nodes (tests/gpu/conditional.cu). Many short runs, several at a time.
"""
import collections
import concurrent.futures
import os
import sys

from acceptance import counts, process, shim
from acceptance.modes import BARE, MODES
from acceptance.programs import WORKLOADS, Program

RUNS, QUICK_RUNS = 50, 5
TOGETHER = 8  # processes at a time: of frameworks each takes a core while it loads
TIMEOUT = 120


def programs(settings):
    if settings.simulated:
        return [Program(name, [os.path.join(settings.build, "samples", "sim", name), "40"])
                for name in ("graph_replay", "graph_every_step")]

    def workload(name, iterations, **env):
        return Program(name, [sys.executable, "-B", os.path.join(WORKLOADS, name + ".py"),
                              "--iterations", str(iterations)], (name.split("_")[0],), env=env)

    return [workload("jax_graphs", 400, TF_CPP_MIN_LOG_LEVEL="2"),
            workload("torch_graph_replay", 400),
            Program("conditional", [os.path.join(settings.build, "tests", "conditional")], env=settings.library_path())]


def one(settings, program, mode, number):
    """(outcome, mode in force or None) of one run."""
    name = "unharmed-%s-%d" % (mode.name, number)
    folder = counts.fresh_folder(settings, program.name, name)
    env = {**mode.environment(settings, folder), **program.env}
    outcome = process.run(mode.argv(settings, folder, program.argv), env, settings.time_left(TIMEOUT), folder, "run")
    reports = [] if mode is BARE else [r for r in shim.read(settings, folder)[0] if r.pieces or r.totals["graph_launches"]]
    return outcome, reports[0].mode if len(reports) == 1 else None


def became(outcome):
    """What a user sees of a run."""
    return outcome.trouble() or ", ".join(outcome.results) or "exit status 0"


def row_of(settings, program, pool, runs):
    row = {"what": "%s, %d times in cupti mode" % (program.name, runs), "pass": None, "runs": runs}
    missing = program.missing()
    if missing:
        return {**row, "text": missing}
    bare = [outcome for outcome, _ in pool.map(lambda i: one(settings, program, BARE, i), range(2))]
    if bare[0].skipped:
        return {**row, "text": bare[0].skipped}
    expected = became(bare[0])
    if bare[0].trouble() or became(bare[1]) != expected:
        return {**row, "pass": False, "text": "without cudaspy: %s; %s" % (expected, became(bare[1]))}
    done = list(pool.map(lambda i: one(settings, program, MODES["cupti"], i), range(runs)))
    others = collections.Counter(became(o) for o, _ in done if became(o) != expected)
    modes = collections.Counter(mode for _, mode in done)
    seconds = sorted(o.seconds for o, _ in done)
    row.update({"expected": expected, "others": dict(others), "modes": {str(k): v for k, v in modes.items()},
                "seconds": seconds[len(seconds) // 2]})
    text = "%d as without (%s)" % (runs - sum(others.values()), expected)
    if others:
        text += "; " + "; ".join("%d: %s" % (count, what) for what, count in others.most_common())
    wanted = settings.simulated or modes == {"cupti": runs}
    if not wanted:
        text += "; modes in force: %s" % row["modes"]
    return {**row, "pass": not others and wanted, "text": text}


def run(settings, page):
    runs = QUICK_RUNS if settings.quick else RUNS
    with concurrent.futures.ThreadPoolExecutor(min(TOGETHER, os.cpu_count() or 1)) as pool:
        rows = [row_of(settings, p, pool, runs) for p in programs(settings) if settings.wanted(p.name)]
    page.table("Programs with graphs in cupti mode: exit status and result as without", rows)
    return {"rows": rows, "verdicts": [{k: r[k] for k in ("what", "pass", "text")} for r in rows]}
