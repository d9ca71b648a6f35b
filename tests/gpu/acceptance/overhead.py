# SPDX-License-Identifier: Apache-2.0
"""Part `overhead`: what each mode adds to a program's steady loop, in interleaved turns.

A turn runs the program once bare and once in each mode, one after the other; the order turns from turn to turn
(ABC CBA ABC ...), so that a drift of the machine falls on all alike. A pair is the bare run and the mode's run of one
turn. Programs that start slowly run as resident processes which take their turns.

With --half the programs are those of a set with their fix, as they were written. Two processes of such a program differ by more
than watching one costs: a second bare one takes its turns as well, and all are started anew now and then.
"""
import math
import re
import statistics

from acceptance import counts, fixes_table, programs
from acceptance.modes import AGAIN, BARE, LIMITS, MODES, NO_DEARER
from acceptance.resident import Fresh, Resident, RunFailed

DEFAULT_PROGRAMS = r"^(launch_loop/static|torch_mlp/1)$"
TURNS_PER_PROCESS = 5  # then all processes are started anew: the layout of memory differs by process
TURNS_OF_FRAMEWORKS = 12  # that take half a minute to start
LOOP_S = 0.4


class Turns:
    """The turns of one program: seconds by mode, and why a mode gave up."""

    def __init__(self, settings, program, modes, per_process=TURNS_PER_PROCESS):
        self.settings, self.program, self.per_process = settings, program, per_process
        self.modes = [BARE] + modes
        self.times = []  # a turn each: {mode's name: seconds}
        self.failed = {}
        self.folder = counts.fresh_folder(settings, program.name, "overhead")

    def wanted(self):
        """The modes of the next turn."""
        if BARE.name in self.failed:
            return []
        return [m for m in self.modes if m.name not in self.failed and
                (m.turns_most is None or len(self.times) < m.turns_most)]

    def attempt(self, mode, action):
        try:
            return action()
        except (RunFailed, OSError) as e:
            self.failed[mode.name] = str(e)
            return None

    def one(self, runners):
        order = [m for m in self.wanted() if m.name in runners]
        times = {}
        for mode in order if len(self.times) % 2 == 0 else order[::-1]:
            seconds = self.attempt(mode, runners[mode.name].turn)
            if seconds is not None:
                times[mode.name] = seconds
        self.times.append(times)

    def some(self, count):
        """Turns with one set of processes."""
        kind = Resident if self.program.resident else Fresh
        runners = {}
        try:
            for mode in self.wanted():  # all start at the same time
                runner = self.attempt(mode, lambda m=mode: kind(self.settings, self.program, m,
                                                                self.folder))
                if runner:
                    runners[mode.name] = runner
            for mode in self.wanted():
                self.attempt(mode, lambda m=mode: runners[m.name].line("ready"))
            if self.program.resident:
                for mode in self.wanted():  # not counted: the first turn after a start is slow
                    self.attempt(mode, runners[mode.name].turn)
            for _ in range(count):
                if self.settings.out_of_time() or not self.wanted():
                    break
                self.one(runners)
        finally:
            for runner in runners.values():
                runner.close()

    def all(self, count):
        while len(self.times) < count and self.wanted() and not self.settings.out_of_time():
            self.some(min(count - len(self.times), self.per_process))

    def pairs(self, mode, other=BARE.name):
        return [(t[other], t[mode.name]) for t in self.times if other in t and mode.name in t]


def quartiles(values):
    if len(values) < 2:
        return values[0], values[0]
    cut = statistics.quantiles(values, n=4, method="inclusive")
    return cut[0], cut[2]


def median_95(values):
    """The 95 % interval of a median, by ranks: assumes nothing of how the values lie. None: too few of them."""
    n, values = len(values), sorted(values)
    beyond = 0.0  # the chance that so many of them, or fewer, lie on one side of the true median
    for k in range(n // 2):
        beyond += math.comb(n, k) / 2.0 ** n
        if beyond > 0.025:
            return [values[k - 1], values[n - k]] if k else None
    return None


def summary(pairs):
    """Slowdown in per cent: of each pair its own, then the median and the quartiles of these."""
    slow = [100.0 * (tool / bare - 1.0) for bare, tool in pairs]
    bare, tool = [b for b, _ in pairs], [t for _, t in pairs]
    low, high = quartiles(slow)
    return {
        "pairs": len(pairs),
        "slowdown_median_percent": round(statistics.median(slow), 3),
        "slowdown_median_95_percent": median_95([round(s, 3) for s in slow]),
        "slowdown_quartiles_percent": [round(low, 3), round(high, 3)],
        "slowdown_range_percent": [round(min(slow), 3), round(max(slow), 3)],
        "ratio_of_medians_percent":
            round(100.0 * (statistics.median(tool) / statistics.median(bare) - 1.0), 3),
        "bare_median_s": statistics.median(bare), "bare_quartiles_s": list(quartiles(bare)),
        "mode_median_s": statistics.median(tool), "mode_quartiles_s": list(quartiles(tool)),
        "bare_s": bare, "mode_s": tool,
    }


def row_of(settings, turns, mode):
    program = turns.program
    row = {"program": program.name, "mode": mode.name, "resident": program.resident,
           "limit_percent": LIMITS.get((program.name, mode.name)), "pass": None, "note": None}
    pairs, wanted = turns.pairs(mode), min(settings.pairs, mode.turns_most or settings.pairs)
    if pairs:
        row.update(summary(pairs))
    for name, ours, other in NO_DEARER:
        both = turns.pairs(mode, other) if (name, ours) == (program.name, mode.name) else []
        if both:
            row["against"] = {"mode": other, **{k.replace("bare", "other"): v for k, v in summary(both).items()}}
    trouble = turns.failed.get(mode.name) or turns.failed.get(BARE.name)
    if trouble:  # another tool's is no fault of ours
        other = mode.may_fail and BARE.name not in turns.failed
        return {**row, "note": trouble, "pass": None if other else False}
    if not pairs:
        return {**row, "note": "not run: the time limit was reached", "pass": False}
    if row["limit_percent"] is not None:
        row["pass"] = row["slowdown_median_percent"] <= row["limit_percent"]
    if len(pairs) < wanted:
        row["note"] = "the time limit was reached after %d of %d pairs" % (len(pairs), wanted)
        row["pass"] = False
    return row


def measure(settings, program, modes, per_process=TURNS_PER_PROCESS):
    """The rows of a program, one a mode."""
    able, rows = [], []
    for mode in [m for m in modes if m.fits(program)]:
        missing = program.missing() or mode.missing(settings)
        if missing:
            rows.append({"program": program.name, "mode": mode.name, "pass": None, "note": missing})
        else:
            able.append(mode)
    if able:
        turns = Turns(settings, program, able, per_process)
        turns.all(settings.pairs)
        rows += [row_of(settings, turns, mode) for mode in able]
    return rows


def scatter(row):
    """A median with its interval, and where half of the pairs lie."""
    sure = row["slowdown_median_95_percent"]
    return "%+.2f %%%s, quartiles %+.2f to %+.2f" % (
        row["slowdown_median_percent"], " (95 %%: %+.2f to %+.2f)" % tuple(sure) if sure else "",
        *row["slowdown_quartiles_percent"])


def verdict(row):
    text = row["note"] or "median %s, %d pairs%s" % (
        scatter(row), row["pairs"],
        ", limit %g %%" % row["limit_percent"] if row["limit_percent"] is not None else "")
    return {"what": "overhead %s %s" % (row["program"], row["mode"]), "pass": row["pass"],
            "text": text}


def comparisons(rows):
    """Modes that must not cost more than another one: turn by turn, where a turn had both."""
    return [{"what": "%s no dearer than %s, %s" % (r["mode"], r["against"]["mode"], r["program"]),
             "pass": r["against"]["slowdown_median_percent"] <= 0.0,
             "text": "it takes %s, %d turns" % (scatter(r["against"]), r["against"]["pairs"])}
            for r in rows if "against" in r]


def chosen(settings):
    """(programs, modes, turns of a process)"""
    modes = [MODES[name] for name in settings.modes]
    if settings.half != "all":
        names = [c.name for c in fixes_table.HALVES[settings.half]]
        return programs.with_fix(settings, names, LOOP_S, resident=True), [AGAIN] + modes, TURNS_OF_FRAMEWORKS
    found = programs.all_programs(settings)
    if settings.only is None:
        found = [p for p in found if re.search(DEFAULT_PROGRAMS, p.name)]
    return [p for p in found if p.resident or p.name.startswith("launch_loop/")], modes, TURNS_PER_PROCESS


def programs_of(settings):
    return chosen(settings)[0]


def run(settings, page):
    page.overhead_head()
    rows = []
    found, modes, per_process = chosen(settings)
    for program in found:
        for row in measure(settings, program, modes, per_process):
            rows.append(row)
            page.overhead_row(row)
    return {"rows": rows, "verdicts": [verdict(r) for r in rows] + comparisons(rows)}
