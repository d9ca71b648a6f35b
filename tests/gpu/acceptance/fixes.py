# SPDX-License-Identifier: Apache-2.0
"""Part `fixes`: framework programs with their fix: is the verdict the fix's class, and does the fix gain what was predicted?

Each program (tests/gpu/workloads, listed in fixes_table.py) is measured bare, in turns within one process, or with --fix-fresh in
processes of their own: as it was written, fixed, and with a change that does not help. As it was written it then runs under the shim, with the same number of steps. The
truth is what the fix gains per step; the class is the one of the best fix, or of those within 25 % of it, and only where these
differ may the verdict be `mixed`. The sets of the table are judged apart (--half).
"""
import collections
import concurrent.futures
import contextlib
import json
import math
import os
import random
import re
import statistics
import sys
import time

from acceptance import fixes_table, programs, runs, shim
from acceptance.modes import BARE, MODES
from acceptance.settings import ROOT, output_of

HELPS = 1.10         # a fix that gains less is none here
MATTERS = 1.05       # but one that gains this much is of the class that the report may name
AS_GOOD = 1.25       # fixes within this factor of the best are as good
PROMISE_MOST = 1.05  # of a change that does not help
NEAR = 0.25          # of a prediction, from what was measured
STEPS_OFF = 0.02
SHARES = {"class": 0.90, "range": 0.85, "useless": 0.90}  # of the programs
WIDTH_MOST = 2.0     # of the ranges, in the median: high over low
LOADED = 12          # programs of a lane that load together, each as often as it will run; fewer of those that run often
FRESH_LOOP_S = "1.5"


# ---- What was measured ---------------------------------------------------------------------------------------------

def loops(text):
    """[(variant, steps, seconds)] as a program printed them."""
    found = re.findall(r"^variant: (\w+)\nsteps: (\d+)\ntime_s: ([0-9.eE+-]+)$", text, re.M)
    return [(name, int(steps), float(seconds)) for name, steps, seconds in found]


def number_of(text, key):
    found = re.search(r"^%s: *([0-9.]+)$" % key, text, re.M)
    return float(found.group(1)) if found else None


def failures(text):
    return dict(re.findall(r"^failed: (\w+) (.*)$", text, re.M))


def step_times(found):
    """(seconds of a step in the base's loops, {variant: those in its own})."""
    times = collections.defaultdict(list)
    for name, steps, seconds in found:
        times[name].append(seconds / steps)
    return times.pop("base", []), times


def gains(found):
    """{variant: {median, low, high, each}}: the base's time of a step over the variant's, round by round."""
    every, times = step_times(found)
    base = every[1:]  # the first loop is the long one, before the rounds
    told = {}
    for name, each in times.items():
        ratios = [b / t for b, t in zip(base, each)]
        if ratios:
            told[name] = {"median": statistics.median(ratios), "low": min(ratios), "high": max(ratios), "each": ratios,
                          # what the truth itself is off by: any loop as it was written, the first one too, over any of these
                          "spread": [min(every) / max(each), max(every) / min(each)]}
    return told


def gains_apart(found):
    """The same of loops that had a process each: the medians, and the furthest that any two are apart."""
    (base, times), told = step_times(found), {}
    for name, each in times.items() if base else ():
        low, high = min(base) / max(each), max(base) / min(each)
        told[name] = {"median": statistics.median(base) / statistics.median(each), "low": low, "high": high,
                      "each": [b / t for b, t in zip(base, each)], "spread": [low, high]}
    return told


def same_result(bare, seen, near):
    """Whether a recorded run computed what the bare one did; None where one said nothing."""
    if not bare or not seen:
        return None
    if bare[0] == seen[0]:
        return True
    one, other = (float(r[0].split()[-1]) for r in (bare, seen))
    return math.isclose(one, other, rel_tol=near, abs_tol=near * 1e-3)


# ---- What a report says --------------------------------------------------------------------------------------------

def promise(row):
    """{low, mid, high, why} of a row of what_if[]."""
    return {"low": row["speedup_low"], "mid": row["speedup"], "high": row["speedup_high"], "why": row["unknown_because"]}


def kernel_mean(report, pattern):
    """{mean_ns, low_ns, high_ns, launches} of the kernels with this name that have a GPU time."""
    rows = [k for k in report.data["kernels"] if pattern in k["name"] and k["launches"] and k["gpu_total_ns"]]
    count = sum(k["launches"] for k in rows)
    return {key: sum(k["gpu_%s_ns" % of] for k in rows) / count for key, of in (
        ("mean_ns", "total"), ("low_ns", "low"), ("high_ns", "high"))} if count else None


def said(report, case):
    """What one recording's report says, as far as it is compared."""
    data = report.data
    verdict, steps, gpu = data["verdict"], data["steps"], data["gpu"]
    told = {key: verdict[key] for key in ("class", "confidence", "first", "second", "reason", "gain_share", "window_ns")}
    told.update({
        "pid": report.pid, "mode": report.mode, "pieces": sum(report.pieces.values()),
        "findings": [{key: f[key] for key in ("id", "severity", "predicted_speedup", "predicted_speedup_low",
                                              "predicted_speedup_high")} for f in data["findings"]],
        "what_if": {row["change"]: promise(row) for row in data["what_if"]},
        "steps": {"source": steps["source"], "name": steps["name"], "confidence": steps["confidence"], "count": steps["count"],
                  "p50_ns": (steps["duration_ns"] or {}).get("p50")},
        "busy_share": gpu["busy_share"], "startup_ns": verdict["startup_ns"], "lost": data["lost"]["records"],
        "own_share": data["overhead"]["own_share"], "phases": data.get("phases")})
    if case.kernel:
        told["kernel"] = kernel_mean(report, case.kernel)
    return told


def read_recorded(settings, case, run, outcome):
    """(what the reports say, the process with most work first; trouble) of a recorded run."""
    reports, troubles = shim.read(settings, run.folder, *["--what-if=" + change for change in fixes_table.WHAT_IFS])
    trouble = outcome.skipped or outcome.trouble() or "; ".join(troubles)
    busy = sorted((r for r in reports if r.pieces), key=lambda r: -sum(r.pieces.values()))
    if not trouble and not busy:
        trouble = "no recording of work on a GPU"
    found = [said(r, case) for r in busy]
    shim.put_away(settings, run.folder, case.name)
    return found, trouble or None


# ---- Judged --------------------------------------------------------------------------------------------------------

def accepted(case, measured):
    """The classes that a verdict may have by what the fixes gained, or None where the truth is not known."""
    helping = {f: measured[f.variant]["median"] for f in case.fixes if f.variant in measured}
    best = max(helping.values(), default=0.0)
    if best >= HELPS:
        return sorted({c for f, gain in helping.items() if gain * AS_GOOD >= best for c in f.classes})
    little = {c for f, gain in helping.items() if gain >= MATTERS for c in f.classes}
    return sorted({case.otherwise} | little) if case.otherwise else None


def is_whole(row, case):
    """Whether the truth tells the best fix: all were measured, and one gained more than the change that does not help."""
    measured = row["gains"]
    if any(f.variant not in measured for f in case.fixes):
        return False
    best = max((measured[f.variant]["median"] for f in case.fixes), default=1.0)
    return best < HELPS or "useless" not in measured or best > measured["useless"]["median"]


def is_right(run, classes):
    """Whether all processes of a run got one of the classes. `mixed` is right of two classes that are as good."""
    def one(v):
        return v["class"] in classes or v["class"] == "mixed" and len(classes) > 1 and {v["first"], v["second"]} <= set(classes)
    return all(one(v) for v in run["processes"])


def promised(row, change):
    """The medians over the runs of what a change was promised to gain, of the process with most work."""
    each = [run["processes"][0]["what_if"].get(change) for run in row["runs"]]
    known = [p for p in each if p and p["mid"] is not None]
    if not known:
        why = next((p["why"] for p in each if p), "the report has no such change")
        return {"low": None, "mid": None, "high": None, "why": why}
    # A range that the report does not know bounds nothing: it holds no gain.
    return {**{key: statistics.median(p[key] if p[key] is not None else math.nan for p in known)
               for key in ("low", "mid", "high")}, "why": None}


def judge_fix(row, fix):
    """What was promised for a fix, beside what it gained."""
    gain = row["gains"].get(fix.variant)
    told = {"variant": fix.variant, "classes": fix.classes, "what_if": fix.what_if, "gain": gain and gain["median"],
            "promised": None, "in_range": None, "in_spread": None, "near": None}
    if not fix.what_if or not gain or not row["runs"]:
        return told
    told["promised"] = p = promised(row, fix.what_if)
    known = p["mid"] is not None
    told["in_range"] = known and p["low"] <= gain["median"] <= p["high"]
    low, high = gain.get("spread", [gain["low"], gain["high"]])
    told["in_spread"] = known and p["low"] <= high and low <= p["high"]
    told["near"] = known and abs(p["mid"] / gain["median"] - 1.0) <= NEAR
    return told


def judge_useless(row, case):
    """The promise for the change that does not help. Where it did help, it may promise that much."""
    gain = row["gains"].get("useless")
    if not case.useless or not row["runs"] or not gain:
        return None
    p = promised(row, case.useless)
    right = p["mid"] is None or p["mid"] < max(PROMISE_MOST, gain["median"] + PROMISE_MOST - 1.0)
    return {"what_if": case.useless, "gain": gain["median"], "promised": p, "right": right}


def judge_steps(row):
    """Steps found beside those that there were; those of the warm-up may be among them or not."""
    true, warm = row["steps_true"]
    for run in row["runs"]:
        count = run["processes"][0]["steps"]["count"]
        run["steps_right"] = count is not None and true * (1.0 - STEPS_OFF) <= count <= (true + warm) * (1.0 + STEPS_OFF)
    return all(run["steps_right"] for run in row["runs"]) if row["runs"] else None


def judge(row, case):
    row["fixes"] = [judge_fix(row, f) for f in case.fixes]
    row["useless"] = judge_useless(row, case)
    row["expected"] = accepted(case, row["gains"])
    row["classes"] = dict(collections.Counter(v["class"] for run in row["runs"] for v in run["processes"]).most_common())
    row["stable"] = len({tuple(sorted(v["class"] for v in run["processes"])) for run in row["runs"]}) <= 1
    row["whole_truth"] = is_whole(row, case)
    row["right_class"] = row["right_steps"] = None
    if row["runs"]:
        row["right_steps"] = judge_steps(row) if row["steps_true"] else None
        if row["expected"]:
            row["right_class"] = all(is_right(run, row["expected"]) for run in row["runs"])
    held = [f["in_range"] for f in row["fixes"] if f["in_range"] is not None]
    row["in_range"] = all(held) if held else None
    held = [f["in_spread"] for f in row["fixes"] if f["in_spread"] is not None]
    row["in_spread"] = all(held) if held else None
    row["same_result"] = None
    results = [run["same_result"] for run in row["runs"]]
    if any(r is not None for r in results):
        row["same_result"] = all(r is not False for r in results)
    judged = [row[key] for key in ("right_class", "in_range", "same_result")] + [(row["useless"] or {}).get("right")]
    row["pass"] = False if row["troubles"] or not row["runs"] else all(x is not False for x in judged)
    return row


# ---- Runs ----------------------------------------------------------------------------------------------------------

def script_of(settings, case):
    if settings.simulated:
        return os.path.join(ROOT, "tests", "gpu", "fake_torch", case.name + ".py")
    return os.path.join(programs.WORKLOADS, case.name + ".py")


def program_of(settings, case, *arguments):
    def cache(name):
        return os.path.join(settings.work, "cache", name)

    env = {"TORCHINDUCTOR_CACHE_DIR": cache("inductor"), "TRITON_CACHE_DIR": cache("triton-fixes"), "CUPY_CACHE_DIR": cache("cupy"),
           "PYTHONPATH": os.pathsep.join(p for p in (programs.WORKLOADS, os.environ.get("PYTHONPATH")) if p), **case.env}
    argv = [sys.executable, "-B", script_of(settings, case), *arguments]
    return programs.Program("fixes/" + case.name, argv, case.needs, env=env, timeout=min(case.timeout, settings.fix_timeout),
                            gated=True)


def lacking(settings, case):
    """Why a program cannot be run here, or None."""
    if case.gpus > 1:
        here = len((output_of("nvidia-smi", "-L") or "").splitlines())
        if here < case.gpus:
            return "%d GPUs needed, here are %d" % (case.gpus, here)
    return program_of(settings, case).missing()


class Held:
    """The processes of one program: they have loaded what they need, and wait for their turn."""

    def __init__(self, settings, case, env):
        recorded = program_of(settings, case)
        self.bare, self.fresh = None, []
        if settings.fix_fresh:
            short = {**env, "WORKLOAD_LOOP_S": os.environ.get("WORKLOAD_LOOP_S", FRESH_LOOP_S)}
            self.fresh = [(v, runs.Run(settings, program_of(settings, case, "--variants", v), BARE, "%s-%d" % (v, number), short))
                          for number in range(settings.fix_fresh) for v in case.variants]
            random.Random(case.name).shuffle(self.fresh)
        else:
            bare = program_of(settings, case, "--variants", ",".join(case.variants), "--rounds", str(settings.fix_loops))
            self.bare = runs.Run(settings, bare, BARE, "bare", env)
        self.recorded = [runs.Run(settings, recorded, MODES[mode], "%s-%d" % (mode, number), env)
                         for number in range(settings.repeats) for mode in settings.fix_modes]
        try:
            for run in self.all:
                run.hold()
        except BaseException:
            self.close()
            raise

    @property
    def all(self):
        return ([self.bare] if self.bare else []) + [run for _, run in self.fresh] + self.recorded

    def at_gate(self, until):
        """Whether all of them have got there."""
        return all(run.at_gate(until) for run in self.all)

    def close(self):
        for run in self.all:
            run.close()


def new_row(case, half):
    return {"program": case.name, "half": half, "pass": None, "note": None, "gains": {}, "loops": [], "runs": [], "troubles": [],
            "expected": None, "steps_true": None, "failed_variants": {}, "kernel_ns": None, "result": []}


def note_base(row, outcome):
    """What a process told of the program as it was written."""
    row["result"] = outcome.results
    row["kernel_ns"] = number_of(outcome.stdout, "kernel_ns")
    timed = loops(outcome.stdout)
    if timed:
        row["steps_true"] = [timed[0][1], int(number_of(outcome.stdout, "warm_steps") or 0)]


def measure_in_turns(row, held):
    outcome = held.bare.finish()
    if outcome.skipped:
        row["note"] = outcome.skipped
        return
    note_base(row, outcome)
    row["loops"] = loops(outcome.stdout)
    row["gains"] = gains(row["loops"])
    row["failed_variants"] = failures(outcome.stdout)
    row["bare_s"] = round(outcome.seconds, 1)
    if outcome.trouble() and not row["failed_variants"]:
        row["troubles"].append("bare: " + outcome.trouble())


def measure_apart(row, held):
    """Each loop in a process of its own, as whoever makes the change measures it; in random order."""
    for variant, run in held.fresh:
        outcome = run.finish()
        if outcome.skipped:
            row["note"] = outcome.skipped
            return
        if outcome.trouble():
            row["failed_variants"][variant] = failures(outcome.stdout).get(variant) or outcome.trouble()
        if variant == "base" and not row["steps_true"]:
            note_base(row, outcome)  # the recorded runs have as many steps as this one, whose result is compared
        row["loops"] += loops(outcome.stdout)
    row["gains"] = gains_apart(row["loops"])


def measure_bare(row, held):
    """The truth; gives the result of the base, and what the recorded runs are told."""
    if held.fresh:
        measure_apart(row, held)
    else:
        measure_in_turns(row, held)
    if row["note"]:
        return None, None
    row["troubles"] += ["bare, %s: %s" % item for item in row["failed_variants"].items()]
    return row["result"], "go steps=%d" % row["steps_true"][0] if row["steps_true"] else "go"


def use_recorded(settings, case, run, outcome, results):
    """(what a recorded run says, for the row's `runs`, or None; trouble). The readers work beside each other."""
    found, trouble = read_recorded(settings, case, run, outcome)
    timed = loops(outcome.stdout)
    if trouble:
        return None, "%s: %s" % (run.mode.name, trouble)
    if not found or not timed:
        return None, None
    return {"mode": run.mode.name, "processes": found, "step_ns": 1e9 * timed[0][2] / timed[0][1],
            "seconds": round(outcome.seconds, 1), "result": outcome.results,
            "same_result": same_result(results, outcome.results, case.near)}, None


def measure(settings, case, half, held, readers):
    """A row, whose reports are still being read, and these."""
    row, pending = new_row(case, half), []
    try:
        results, words = measure_bare(row, held)
        for run in held.recorded if words else []:
            if settings.out_of_time():
                row["troubles"].append("the time limit was reached")
                break
            outcome = run.finish(words)
            pending.append(readers.submit(use_recorded, settings, case, run, outcome, results))
    finally:
        held.close()
    return row, case, pending


def finished(row, case, pending):
    for future in pending:  # in the order of the runs
        said, trouble = future.result()  # an error while reading is raised here
        row["runs"] += [said] if said else []
        row["troubles"] += [trouble] if trouble else []
    if row["note"] and not row["troubles"]:
        return row  # it was skipped
    return judge(row, case)


def keep(settings, row):
    """Adds a row to the file beside the result: a run that is cut short leaves what it had."""
    with open(settings.out + ".rows", "a", encoding="utf-8") as f:
        f.write(json.dumps(row) + "\n")


def load(settings, cases, loaded):
    """Fills `loaded`, {program: Held}, with those of [(case, environment)] that can run here, once all of them have loaded what
    they need. {program: what its row says} of the others, but for those that there was no time for."""
    unfit = {}
    for case, env in cases:
        missing = lacking(settings, case)
        if missing:
            unfit[case.name] = {"note": missing}
        elif not settings.out_of_time():
            loaded[case.name] = Held(settings, case, env)
    until = time.monotonic() + settings.time_left(settings.fix_timeout)
    for name, held in list(loaded.items()):
        if not held.at_gate(until):
            loaded.pop(name).close()
            unfit[name] = {"pass": False, "troubles": ["it did not load in time"]}
    return unfit


def lane(settings, cases, loaded, unfit, readers, page):
    """The rows of a GPU's programs, one after the other; what one recorded is read while the next one runs bare."""
    done, unread = [], []

    def read_rest():
        for measured in unread:
            row = finished(*measured)
            keep(settings, row)
            done.append(row)
            page.line("%s: %s" % (row["program"], row["note"] or "; ".join(row["troubles"]) or "measured"))
        unread.clear()

    for half, case in cases:
        if case.name in loaded and not settings.out_of_time():
            measured = measure(settings, case, half, loaded.pop(case.name), readers)
            read_rest()
            unread.append(measured)
        else:  # what is loaded ends with the batch
            row = new_row(case, half)
            row.update(unfit.get(case.name) or {"pass": False, "troubles": ["not run: the time limit was reached"]})
            done.append(row)
    read_rest()
    return done


def together(settings, cases, readers, page):
    """The rows of programs that load together, in lanes, before the first of them runs: while one runs, none loads."""
    loaded = {}
    lanes = [cases[n::settings.lanes] for n in range(settings.lanes)]
    env = [{"CUDA_VISIBLE_DEVICES": str(n)} if settings.lanes > 1 and cases[0][1].gpus == 1 else {} for n in range(settings.lanes)]
    try:
        unfit = load(settings, [(case, env[n]) for n, mine in enumerate(lanes) for _, case in mine], loaded)
        with concurrent.futures.ThreadPoolExecutor(settings.lanes) as pool:
            started = [pool.submit(lane, settings, mine, loaded, unfit, readers, page) for mine in lanes]
            return [row for future in started for row in future.result()]
    finally:
        for held in loaded.values():
            held.close()


def cases_of(settings):
    return [(half, case) for half, cases in fixes_table.sets(settings).items() if settings.half in ("all", half)
            for case in cases if settings.wanted(case.name)]


def all_rows(settings, page):
    """Programs of one GPU in lanes, then those of several alone. Rows are in the table's order."""
    cases = cases_of(settings)
    single, several, done = [c for c in cases if c[1].gpus == 1], [c for c in cases if c[1].gpus > 1], []
    most = max(1, LOADED // (1 + settings.fix_fresh)) * settings.lanes
    with contextlib.suppress(FileNotFoundError):
        os.remove(settings.out + ".rows")
    with concurrent.futures.ThreadPoolExecutor(1 + settings.lanes) as readers:
        for batch in [single[n:n + most] for n in range(0, len(single), most)] + [[c] for c in several]:
            done += together(settings, batch, readers, page)
    rows = {row["program"]: row for row in done}
    return [rows[case.name] for _, case in cases]


# ---- Verdicts ------------------------------------------------------------------------------------------------------

def share_line(what, rows, key, least):
    """One verdict: the share of the rows with a judgement that have the right one."""
    judged = [(r["program"], key(r)) for r in rows if key(r) is not None]
    wrong = [name for name, right in judged if not right]
    text = "%d of %d" % (len(judged) - len(wrong), len(judged)) + (", not %s" % ", ".join(wrong) if wrong else "")
    passed = None if not judged or least is None else len(judged) - len(wrong) >= least * len(judged)
    return {"what": what, "pass": passed, "text": text}


def width_line(what, rows):
    widths = [f["promised"]["high"] / f["promised"]["low"] for r in rows for f in r["fixes"]
              if f["promised"] and f["promised"]["low"]]
    if not widths:
        return {"what": what, "pass": None, "text": "no range"}
    middle = statistics.median(widths)
    return {"what": what, "pass": middle <= WIDTH_MOST, "text": "factor %.2f in the median of %d" % (middle, len(widths))}


def verdicts(rows, repeats):
    found = []
    for half in fixes_table.HALVES:
        mine = [r for r in rows if r["half"] == half and r["runs"]]
        if mine:
            name = "%s %s" % (half, "half" if half in ("first", "held") else "programs")
            found += [
                share_line("class of the best fix, " + name, mine, lambda r: r["right_class"], SHARES["class"]),
                share_line("class where all fixes were measured and one beats the useless change, " + name,
                           [r for r in mine if r.get("whole_truth")], lambda r: r["right_class"], None),
                share_line("gain in the range, " + name, mine, lambda r: r["in_range"], SHARES["range"]),
                share_line("some loops as written over some fixed ones in the range, " + name, mine, lambda r: r.get("in_spread"),
                           None),
                share_line("gain within 25 % of the prediction, " + name, mine, nearness, None),
                width_line("ranges, " + name, mine),
                share_line("useless change promised less than 5 %, " + name, mine, lambda r: r["useless"] and r["useless"]["right"],
                           SHARES["useless"]),
                share_line("steps found, " + name, mine, lambda r: r["right_steps"], None),
                share_line("result unchanged, " + name, mine, lambda r: r["same_result"], 1.0)]
            if repeats > 1:
                found.append(share_line("class alike in %d runs, %s" % (repeats, name), mine, lambda r: r["stable"], None))
    troubles = ["%s (%s)" % (r["program"], r["troubles"][0]) for r in rows if r["troubles"]]
    if troubles:
        found.append({"what": "fixes not measured", "pass": False, "text": ", ".join(troubles)})
    return found + skipped_of(rows, "fixes: skipped")


def skipped_of(rows, what):
    """The programs that lack something here, as a line of the verdicts; none: no line."""
    skipped = ["%s (%s)" % (r["program"], r["note"]) for r in rows if r["note"]]
    return [{"what": what, "pass": None, "text": ", ".join(skipped)}] if skipped else []


def nearness(row):
    near = [f["near"] for f in row["fixes"] if f["near"] is not None]
    return all(near) if near else None


# ---- Printed -------------------------------------------------------------------------------------------------------

def range_text(p):
    if p["mid"] is None:
        return "no prediction (%s)" % p["why"]
    return "%.2f (%.2f to %.2f)" % (p["mid"], p["low"], p["high"])


def lines_of(row):
    """The notes under a row."""
    for f in row["fixes"]:
        gain = row["gains"].get(f["variant"])
        text = "%s (%s): %s" % (f["variant"], "/".join(f["classes"]), "not measured" if not gain else
                                "gain %.2f (%.2f to %.2f)" % (gain["median"], gain["low"], gain["high"]))
        if f["promised"]:
            text += "; %s: %s%s" % (f["what_if"], range_text(f["promised"]), "" if f["in_range"] else ", NOT IN RANGE")
        yield text
    useless = row["useless"]
    if useless:
        yield "useless: gain %.2f; %s: %s%s" % (useless["gain"], useless["what_if"], range_text(useless["promised"]),
                                                "" if useless["right"] else ", PROMISED TOO MUCH")
    for run in row["runs"]:
        for v in run["processes"]:
            steps = v["steps"]
            yield "%s: %s (%s)%s; steps %s of %s%s" % (
                run["mode"], v["class"], v["confidence"],
                " of %s and %s" % (v["first"], v["second"]) if v["class"] == "mixed" else "", steps["count"],
                "-" if steps["p50_ns"] is None else "%.3f ms" % (steps["p50_ns"] * 1e-6),
                "" if run.get("steps_right", True) else ", true: %d (+%d) of %.3f ms" % (*row["steps_true"], run["step_ns"] * 1e-6))
            if v.get("kernel"):
                yield "mean of the kernel: %.0f ns (%.0f to %.0f), CUPTI %s" % (
                    v["kernel"]["mean_ns"], v["kernel"]["low_ns"], v["kernel"]["high_ns"],
                    "-" if row["kernel_ns"] is None else "%.0f" % row["kernel_ns"])
    if row["same_result"] is False:
        yield "the result is another one under the shim: %s, bare: %s" % (
            ", ".join(" ".join(run.get("result", [])) or "-" for run in row["runs"]), " ".join(row.get("result", [])) or "-")
    yield from row["troubles"]


def run(settings, page):
    rows = all_rows(settings, page)
    page.fixes_head(settings.repeats)
    for row in rows:
        page.fixes_row(row, lines_of(row) if "fixes" in row else row["troubles"])
    return {"half": settings.half, "repeats": settings.repeats, "loops": settings.fix_loops, "fresh": settings.fix_fresh,
            "modes": settings.fix_modes,
            "lanes": settings.lanes, "rows": rows,
            "verdicts": verdicts([r for r in rows if "fixes" in r] + [r for r in rows if "fixes" not in r], settings.repeats)}
