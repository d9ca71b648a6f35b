"""The runs of `accuracy` and `timeline`: each program once under CUPTI alone, once sampled, once in cupti mode.

On the GPU one at a time, since programs that share one slow each other's kernels down; frameworks, which load for
seconds, are loaded before it is their turn.
"""
import os
import re
import time

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


class Run:
    """One run of a program in a mode. A gated program is started at once, and held until it is its turn."""

    def __init__(self, settings, program, mode, name=None, env=None, argv=None):
        self.settings, self.program, self.mode = settings, program, mode
        self.folder = counts.fresh_folder(settings, program.name, name or mode.name)
        self.env = {**mode.environment(settings, self.folder), **program.env, **(env or {})}
        self.argv = mode.argv(settings, self.folder, argv or argv_of(settings, program))
        self.gate = self.started = None

    def hold(self):
        """Starts it; it gets as far as its gate."""
        path = os.path.join(self.folder, "gate")
        os.mkfifo(path)
        self.gate = os.open(path, os.O_RDWR | os.O_CLOEXEC)  # both ways: neither side waits to open it
        self.env["ACCEPTANCE_GATE"] = path
        self.started = process.Started(self.argv, self.env, self.folder, "run")

    def at_gate(self):
        """Waits until it has loaded what it needs, or has ended."""
        until = time.monotonic() + self.settings.time_left(self.program.timeout)
        while self.started.p and self.started.p.poll() is None and time.monotonic() < until and \
                not os.path.exists(self.env["ACCEPTANCE_GATE"] + ".reached"):
            time.sleep(0.05)

    def finish(self):
        """Lets it run to its end."""
        if self.gate is not None:
            os.write(self.gate, b"go\n")
        else:
            self.started = process.Started(self.argv, self.env, self.folder, "run")
        return self.started.finish(self.settings.time_left(self.program.timeout))

    def close(self):
        """Ends it where it is still held."""
        if self.gate is not None:
            if self.started and self.started.p:
                process.stop_session(self.started.p)
            os.close(self.gate)


def argv_of(settings, program):
    return program.quick_argv if settings.quick else program.loop


def truth_run(settings, program):
    spans = program.name.split("/")[0] in GRAPH_PROGRAMS
    folder = counts.folder_of(settings, program.name, "truth")
    env = truth.yardstick(settings).environment(settings, folder, graphs_as_spans=spans)
    return Run(settings, program, BARE, "truth", env)


def read_truth(settings, run, outcome, into):
    trouble = outcome.skipped or outcome.trouble()
    try:
        into.truths = [t for t in truth.yardstick(settings).read(settings, run.folder)
                       if t.launches or t.graph_launches or t.copies or t.sets]
    except (OSError, ValueError, KeyError, RuntimeError) as e:
        trouble = trouble or "%s: %s" % (type(e).__name__, e)
    trouble = trouble or "; ".join(x for t in into.truths for x in t.troubles)
    if not trouble and len(into.truths) != 1:
        trouble = "%d processes did work on the GPU" % len(into.truths)
    into.loop_s["truth"] = outcome.times
    if trouble:
        into.trouble["truth"] = trouble


def read_report(settings, run, outcome, *options):
    """(report, trouble) of the one process that worked on the GPU."""
    reports, troubles = shim.read(settings, run.folder, *options)
    busy = [r for r in reports if r.pieces]
    trouble = outcome.skipped or (None if run.mode.may_fail else outcome.trouble()) or \
        "; ".join(troubles)
    if not trouble and len(busy) != 1:
        trouble = "%d recordings of work on the GPU" % len(busy)
    return (busy[0] if busy else None), trouble or None


def run_mode(settings, program, mode, name=None, env=None, argv=None):
    """(report, outcome, trouble) of one run in a mode of the shim."""
    run = Run(settings, program, mode, name, env, argv)
    outcome = run.finish()
    report, trouble = read_report(settings, run, outcome)
    return report, outcome, trouble


def run_three(settings, program):
    three = Three()
    runs = {"truth": truth_run(settings, program)}
    runs.update({name: Run(settings, program, MODES[name]) for name in ("sample", "cupti")})
    try:
        if program.gated:
            for run in runs.values():
                run.hold()
        use(settings, runs, three)
    finally:
        for run in runs.values():
            run.close()
    return three


def use(settings, runs, three):
    """Lets each have its turn, and reads what came of it."""
    for name, run in runs.items():
        outcome = run.finish()
        three.loop_s[name] = outcome.times
        if name == "truth":
            read_truth(settings, run, outcome, three)
            continue
        report, trouble = read_report(settings, run, outcome)
        if report:
            three.reports[name] = report
        if not trouble and report.mode != name:
            trouble = "it ran in mode %s" % report.mode
        if trouble:
            three.trouble[name] = trouble


def three(settings, program):
    """The three runs, made at the first call."""
    if program.name not in settings.runs:
        settings.runs[program.name] = run_three(settings, program)
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
