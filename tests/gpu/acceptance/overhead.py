"""Part `overhead`: what a mode adds to a program's steady loop, as interleaved pairs with the bare program.

A pair is one bare run and one run in the mode, neighbours in time; the order turns from pair to pair (ABBA), so that
a drift of the machine falls on both alike. Programs that start slowly run as two resident processes which take turns.
"""
import os
import re
import select
import signal
import statistics
import subprocess
import time

from acceptance import counts, process, programs
from acceptance.modes import BARE, LIMITS, MODES

DEFAULT_PROGRAMS = r"^(launch_loop/.*|torch_mlp/1)$"
RESIDENT_PAIRS_PER_PROCESS = 8  # then both processes are started anew: the layout of memory differs by process


class RunFailed(Exception):
    """A run that gave no time; the text says why."""


class Resident:
    """A workload that waits for its turn (common.py, --serve)."""

    def __init__(self, settings, program, mode, folder):
        self.timeout = settings.time_left(program.timeout)
        argv = mode.argv(settings, folder, program.loop + ["--serve"])
        env = {**mode.environment(settings, folder), **program.env}
        self.errors = os.path.join(folder, mode.name + ".err")
        with open(self.errors, "wb") as err:
            self.p = subprocess.Popen(argv, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                      stderr=err, start_new_session=True)
        self.rest = b""

    def line(self, pattern):
        """The next line of output that fits; other lines are passed over."""
        until = time.monotonic() + self.timeout
        while True:
            while b"\n" in self.rest:
                text, self.rest = self.rest.split(b"\n", 1)
                found = re.match(pattern, text.decode("utf-8", "replace"))
                if found:
                    return found
                if text.startswith(b"skip: "):
                    raise RunFailed(text.decode("utf-8", "replace"))
            left = until - time.monotonic()
            if left <= 0 or not select.select([self.p.stdout], [], [], left)[0]:
                raise RunFailed("no answer for %d s" % self.timeout)
            more = os.read(self.p.stdout.fileno(), 65536)
            if not more:
                lines = process.text_of(self.errors).strip().splitlines()
                raise RunFailed("it ended: %s" % (lines[-1][:200] if lines else "no message"))
            self.rest += more

    def turn(self):
        try:
            self.p.stdin.write(b"go\n")
            self.p.stdin.flush()
        except BrokenPipeError:
            pass  # line() tells why it ended
        return float(self.line(r"time_s: *([0-9.eE+-]+)").group(1))

    def close(self):
        try:
            self.p.stdin.close()
            self.p.wait(20)
        except (OSError, subprocess.TimeoutExpired):
            os.killpg(self.p.pid, signal.SIGKILL)
            self.p.wait()
        self.p.stdout.close()


def fresh_time(settings, program, mode, folder):
    """Seconds of the loop of a process of its own."""
    argv = program.quick_argv if settings.quick else program.argv
    env = {**mode.environment(settings, folder), **program.env}
    outcome = process.run(mode.argv(settings, folder, argv), env, settings.time_left(program.timeout),
                          folder, mode.name)
    for name in os.listdir(folder):
        if name.endswith(".cudaspy"):
            os.unlink(os.path.join(folder, name))  # pairs are many, and nobody reads these
    if outcome.skipped or outcome.trouble() or not outcome.times:
        raise RunFailed(outcome.skipped or outcome.trouble() or "it printed no time")
    return statistics.median(outcome.times)


def in_order(pair, bare, tool):
    """ABBA: bare first in even pairs."""
    if pair % 2 == 0:
        first = bare()
        return first, tool()
    second = tool()
    return bare(), second


def fresh_pairs(settings, program, mode, count, folder):
    pairs = []
    while len(pairs) < count and not settings.out_of_time():
        pairs.append(in_order(len(pairs), lambda: fresh_time(settings, program, BARE, folder),
                              lambda: fresh_time(settings, program, mode, folder)))
    return pairs


def resident_pairs(settings, program, mode, count, folder):
    pairs = []
    while len(pairs) < count and not settings.out_of_time():
        open_now = []
        try:
            for m in (BARE, mode):
                open_now.append(Resident(settings, program, m, folder))
            for r in open_now:
                r.line("ready")
                r.turn()  # not counted: the first turn after a start is slow
            bare, tool = open_now
            for _ in range(min(count - len(pairs), RESIDENT_PAIRS_PER_PROCESS)):
                if settings.out_of_time():
                    break
                pairs.append(in_order(len(pairs), bare.turn, tool.turn))
        finally:
            for r in open_now:
                r.close()
    return pairs


def quartiles(values):
    if len(values) < 2:
        return values[0], values[0]
    cut = statistics.quantiles(values, n=4, method="inclusive")
    return cut[0], cut[2]


def summary(pairs):
    """Slowdown in per cent: of each pair its own, then the median and the quartiles of these."""
    slow = [100.0 * (tool / bare - 1.0) for bare, tool in pairs]
    bare, tool = [b for b, _ in pairs], [t for _, t in pairs]
    low, high = quartiles(slow)
    return {
        "pairs": len(pairs),
        "slowdown_median_percent": round(statistics.median(slow), 3),
        "slowdown_quartiles_percent": [round(low, 3), round(high, 3)],
        "slowdown_range_percent": [round(min(slow), 3), round(max(slow), 3)],
        "ratio_of_medians_percent":
            round(100.0 * (statistics.median(tool) / statistics.median(bare) - 1.0), 3),
        "bare_median_s": statistics.median(bare), "bare_quartiles_s": list(quartiles(bare)),
        "mode_median_s": statistics.median(tool), "mode_quartiles_s": list(quartiles(tool)),
        "bare_s": bare, "mode_s": tool,
    }


def measure(settings, program, mode):
    row = {"program": program.name, "mode": mode.name, "resident": program.resident,
           "limit_percent": LIMITS.get((program.name, mode.name)), "pass": None, "note": None}
    missing = program.missing() or mode.missing(settings)
    if missing:
        return {**row, "note": missing}
    folder = counts.fresh_folder(settings, program.name, "overhead-" + mode.name)
    try:
        measured = resident_pairs if program.resident else fresh_pairs
        pairs = measured(settings, program, mode, settings.pairs, folder)
    except RunFailed as e:
        return {**row, "note": str(e), "pass": False}
    if not pairs:
        return {**row, "note": "not run: the time limit was reached", "pass": False}
    row.update(summary(pairs))
    if row["limit_percent"] is not None:
        row["pass"] = row["slowdown_median_percent"] <= row["limit_percent"]
    if len(pairs) < settings.pairs:
        row["note"] = "the time limit was reached after %d of %d pairs" % (len(pairs), settings.pairs)
        row["pass"] = False
    return row


def run(settings, page):
    chosen = programs.all_programs(settings)
    if settings.only is None:
        chosen = [p for p in chosen if re.search(DEFAULT_PROGRAMS, p.name)]
    chosen = [p for p in chosen if p.resident or p.name.startswith("launch_loop/")]
    page.overhead_head()
    rows = []
    for program in chosen:
        for name in settings.modes:
            rows.append(measure(settings, program, MODES[name]))
            page.overhead_row(rows[-1])
    found = []
    for row in rows:
        text = row["note"] or "median %+.2f %%, quartiles %+.2f to %+.2f, %d pairs%s" % (
            row["slowdown_median_percent"], *row["slowdown_quartiles_percent"], row["pairs"],
            ", limit %g %%" % row["limit_percent"] if row["limit_percent"] is not None else "")
        found.append({"what": "overhead %s %s" % (row["program"], row["mode"]), "pass": row["pass"],
                      "text": text})
    return {"rows": rows, "verdicts": found}
