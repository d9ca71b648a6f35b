# SPDX-License-Identifier: Apache-2.0
"""The runs of `accuracy` and `timeline`, in rounds: each program once under CUPTI alone, once sampled, for `timeline`
once sampled with CUPTI in the same process, and once in cupti mode; then all of them again.

On the GPU one at a time, since programs that share one slow each other's kernels down; frameworks, which load for
seconds, are loaded before it is their turn.
"""
import os
import re
import statistics
import time

from acceptance import counts, process, programs, shim, truth
from acceptance.modes import BARE, MODES

PROGRAMS = (
    r"^((many_tiny_launches|one_big_kernel|pageable_copies|pinned_overlap|graph_replay|launch_loop)/(static|sim)"
    r"|torch_mlp/.*|torch_conv_training|torch_compiled|torch_graph_replay|torch_pinned_copies|torch_staged_copies|jax_matmul|jax_graphs)$")


class Round:
    """What became of one run of each kind; `trouble` says why one of them cannot be used."""

    def __init__(self):
        self.truths = {}   # "truth", "beside": truth.Truth
        self.reports = {}  # "sample", "beside", "cupti": shim.Report
        self.trouble = {}  # by any of these names: a line
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

    def at_gate(self, until=None):
        """Waits until it has loaded what it needs, or has ended: then True."""
        until = until or time.monotonic() + self.settings.time_left(self.program.timeout)
        while True:
            if os.path.exists(self.env["ACCEPTANCE_GATE"] + ".reached") or not self.started.p or self.started.p.poll() is not None:
                return True
            if time.monotonic() >= until:
                return False
            time.sleep(0.05)

    def finish(self, words="go"):
        """Lets it run to its end; `words` come through its gate."""
        if self.gate is not None:
            os.write(self.gate, words.encode() + b"\n")
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


def watched_run(settings, program, mode, name):
    """A run with the yardstick in the same process."""
    folder = counts.folder_of(settings, program.name, name)
    env = truth.yardstick(settings).environment(settings, folder, graphs_as_spans=program.graphs)
    return Run(settings, program, mode, name, env)


def read_truth(settings, run, outcome):
    """(truth, trouble) of the one process that worked on the GPU."""
    trouble, found = outcome.skipped or outcome.trouble(), []
    try:
        found = [t for t in truth.yardstick(settings).read(settings, run.folder)
                 if t.launches or t.graph_launches or t.copies or t.sets]
    except (OSError, ValueError, KeyError, RuntimeError) as e:
        trouble = trouble or "%s: %s" % (type(e).__name__, e)
    trouble = trouble or "; ".join(x for t in found for x in t.troubles)
    if not trouble and len(found) != 1:
        trouble = "%d processes did work on the GPU" % len(found)
    return (found[0] if found else None), trouble or None


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


def runs_of(settings, program):
    """{name: run} of a round, in the order of their turns."""
    runs = {"truth": watched_run(settings, program, BARE, "truth"),
            "sample": Run(settings, program, MODES["sample"])}
    if settings.with_beside:
        runs["beside"] = watched_run(settings, program, MODES["sample"], "beside")
    runs["cupti"] = Run(settings, program, MODES["cupti"])
    return runs


def run_round(settings, program):
    done = Round()
    runs = runs_of(settings, program)
    try:
        if program.gated:
            for run in runs.values():
                run.hold()
        for name, run in runs.items():
            use(settings, name, run, done)
    finally:
        for run in runs.values():
            run.close()
    return done


def use(settings, name, run, done):
    """Lets a run have its turn, and reads what came of it."""
    outcome = run.finish()
    done.loop_s[name] = outcome.times
    troubles = []
    if name in ("truth", "beside"):
        real, trouble = read_truth(settings, run, outcome)
        troubles.append(trouble)
        if not trouble:
            done.truths[name] = real
    if run.mode is not BARE:
        report, trouble = read_report(settings, run, outcome)
        if not trouble and report.mode != run.mode.name:
            trouble = "it ran in mode %s" % report.mode
        if not trouble:
            done.reports[name] = report
        troubles.append(trouble)
    found = list(dict.fromkeys(t for t in troubles if t))
    if found:
        done.trouble[name] = "; ".join(found)


def rounds(settings, program):
    """The rounds of a program, made at the first call; at least one, and less than asked for when time runs out."""
    if program.name in settings.runs:
        return settings.runs[program.name]
    made = []
    while len(made) < settings.rounds and not (made and settings.out_of_time()):
        done = run_round(settings, program)
        if made and done.trouble and settings.out_of_time():
            break  # it was cut short
        made.append(done)
    settings.runs[program.name] = made
    return made


def median(values):
    """None where one of them is not known, or there is none."""
    values = list(values)
    return statistics.median(values) if values and None not in values else None


def troubles(made, names):
    """{name: a line} of the runs of these names, in all rounds."""
    found = {}
    for name in names:
        lines = [(number + 1, r.trouble[name]) for number, r in enumerate(made) if name in r.trouble]
        if lines:
            found[name] = "; ".join("run %d: %s" % x for x in lines) if len(made) > 1 else lines[0][1]
    return found


def loop_times(made):
    """{name: seconds of the steady loops, in all rounds}"""
    return {name: [t for r in made for t in r.loop_s[name]] for name in made[0].loop_s}


def rows(settings, page, row_of, print_row):
    """The rows of all programs of these two parts, `row_of(program, rounds)` of each."""
    found = []
    for program in programs.timed_programs(settings):
        if settings.only is None and settings.half == "all" and not re.search(PROGRAMS, program.name):
            continue
        row = {"program": program.name, "pass": None, "note": None}
        missing = program.missing()
        if missing:
            row["note"] = missing
        elif program.name not in settings.runs and settings.out_of_time():
            row.update({"note": "not run: the time limit was reached", "pass": False})
        else:
            made = rounds(settings, program)
            row.update({"rounds": len(made), **row_of(program, made)})
            if len(made) < settings.rounds:
                short = "%d of %d rounds: the time limit was reached" % (len(made), settings.rounds)
                row["note"] = "; ".join(n for n in (short, row["note"]) if n)
        print_row(row)
        found.append(row)
    return found
