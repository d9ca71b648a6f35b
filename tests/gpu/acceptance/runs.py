"""The runs that `accuracy` and `timeline` look at: each program once under CUPTI alone, once sampled, once in cupti mode.

One at a time, since programs that share a GPU slow each other's kernels down.
"""
import re

from acceptance import counts, process, programs, shim, truth
from acceptance.modes import BARE, MODES

# Programs with graphs: CUPTI then records each launch of one as a span, and none of the kernels inside.
GRAPH_PROGRAMS = ("graph_replay", "torch_graph_replay")
PROGRAMS = (
    r"^((many_tiny_launches|one_big_kernel|pageable_copies|pinned_overlap|graph_replay|launch_loop)/(static|sim)"
    r"|torch_mlp/.*|torch_conv_training|torch_compiled|torch_graph_replay|torch_pinned_copies|jax_matmul)$")


class Three:
    """What became of the three runs; `trouble` says why one of them cannot be used."""

    def __init__(self):
        self.truths = []
        self.reports = {}  # "sample", "cupti": shim.Report
        self.trouble = {}  # "truth", "sample", "cupti": a line
        self.loop_s = {}


def argv_of(settings, program):
    return program.quick_argv if settings.quick else program.loop


def run_truth(settings, program, into):
    yardstick = truth.yardstick(settings)
    folder = counts.fresh_folder(settings, program.name, "truth")
    spans = program.name.split("/")[0] in GRAPH_PROGRAMS
    env = {**BARE.environment(settings, folder), **program.env,
           **yardstick.environment(settings, folder, graphs_as_spans=spans)}
    outcome = process.run(argv_of(settings, program), env, settings.time_left(program.timeout),
                          folder, "truth")
    trouble = outcome.skipped or outcome.trouble()
    try:
        into.truths = [t for t in yardstick.read(settings, folder)
                       if t.launches or t.graph_launches or t.copies or t.sets]
    except (OSError, ValueError, KeyError, RuntimeError) as e:
        trouble = trouble or "%s: %s" % (type(e).__name__, e)
    trouble = trouble or "; ".join(x for t in into.truths for x in t.troubles)
    if not trouble and len(into.truths) != 1:
        trouble = "%d processes did work on the GPU" % len(into.truths)
    into.loop_s["truth"] = outcome.times
    if trouble:
        into.trouble["truth"] = trouble


def run_mode(settings, program, mode, name=None, env=None, argv=None):
    """(report, outcome, trouble) of one run in a mode of the shim."""
    folder = counts.fresh_folder(settings, program.name, name or mode.name)
    full = {**mode.environment(settings, folder), **program.env, **(env or {})}
    outcome = process.run(mode.argv(settings, folder, argv or argv_of(settings, program)), full,
                          settings.time_left(program.timeout), folder, "run")
    reports, troubles = shim.read(settings, folder)
    busy = [r for r in reports if r.pieces]
    trouble = outcome.skipped or (None if mode.may_fail else outcome.trouble()) or "; ".join(troubles)
    if not trouble and len(busy) != 1:
        trouble = "%d recordings of work on the GPU" % len(busy)
    return (busy[0] if busy else None), outcome, trouble or None


def three(settings, program):
    """The three runs, made at the first call."""
    if program.name not in settings.runs:
        t = Three()
        run_truth(settings, program, t)
        for name in ("sample", "cupti"):
            if settings.out_of_time():
                t.trouble[name] = "not run: the time limit was reached"
                continue
            report, outcome, trouble = run_mode(settings, program, MODES[name])
            t.loop_s[name] = outcome.times
            if report:
                t.reports[name] = report
            if not trouble and report.mode != name:
                trouble = "it ran in mode %s" % report.mode
            if trouble:
                t.trouble[name] = trouble
        settings.runs[program.name] = t
    return settings.runs[program.name]


def rows(settings, page, row_of, print_row):
    """The rows of all programs of these two parts, `row_of(program, three)` of each."""
    found = []
    for program in programs.all_programs(settings):
        if settings.only is None and not re.search(PROGRAMS, program.name):
            continue
        row = {"program": program.name, "pass": None, "note": None}
        missing = program.missing()
        if missing:
            row["note"] = missing
        elif settings.out_of_time():
            row.update({"note": "not run: the time limit was reached", "pass": False})
        else:
            row.update(row_of(program, three(settings, program)))
        print_row(row)
        found.append(row)
    return found
