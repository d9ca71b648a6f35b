# SPDX-License-Identifier: Apache-2.0
"""Part `truncated`: runs that tell too little never get a wrong class of high confidence.

Each sample runs without GPU times (`off`); with rings far too small; killed 50 ms after its first CUDA call, when a
context is hardly there; and killed halfway through its window, as the complete run of `off` showed it.
"""
import glob
import os
import time

from acceptance import process, runs, samples, shim
from acceptance.modes import MODES

KILL_AFTER_S = 0.05
RING = "64"
LOST_MOST = 0.3  # share of lost records above which nothing may be said
FILE_TIMEOUT_S = 30
POLL_S = 0.001


def may_be(announced):
    """Classes of high confidence that are no wrong ones. Of a pair that gains the same, one may seem the larger."""
    return ("inconclusive", announced) + (("host-bound", "sync-bound") if announced == "mixed" else ())


def problem(verdict, announced, lost_share=0.0):
    """Why a verdict is not modest enough, or None."""
    if lost_share > LOST_MOST and verdict["class"] != "inconclusive":
        return "%s although %.0f %% of the records are lost" % (verdict["class"], 100 * lost_share)
    if announced and verdict["confidence"] == "high" and verdict["class"] not in may_be(announced):
        return "expected %s, came %s with high confidence: %s" % (announced, verdict["class"],
                                                                 verdict["reason"])
    return None


def killed(settings, program, name, after_s, lane):
    """(report, trouble) of a run that was killed so long after its first CUDA call, when its recording appears."""
    run = runs.Run(settings, program, MODES["sample"], name, lane)
    started = process.Started(run.argv, run.env, run.folder, "run")
    if not started.p:
        return None, started.trouble
    until = time.monotonic() + settings.time_left(FILE_TIMEOUT_S)
    try:
        while not glob.glob(os.path.join(run.folder, "*.cudaspy")) and started.p.poll() is None and \
                time.monotonic() < until:
            time.sleep(POLL_S)
        time.sleep(after_s)
    finally:
        process.stop_session(started.p)
    reports, troubles = shim.read(settings, run.folder)
    if troubles or not reports:
        return None, "; ".join(troubles) or "no recording"
    return reports[0], None


def add(row, way, report, trouble):
    """Puts what came of one way to cut it short into the row."""
    found = {"trouble": trouble, "class": None, "confidence": None, "problem": trouble}
    if report and not trouble:
        verdict, lost = report.data["verdict"], report.data["lost"]["share"] or 0.0
        found.update({"class": verdict["class"], "confidence": verdict["confidence"],
                      "reason": verdict["reason"], "lost_share": lost, "window_ns": report.data["window_ns"],
                      "state": report.data["processes"][0]["state"],
                      "problem": problem(verdict, row["announced"], lost)})
    row["ways"][way] = found


def row_of(settings, program, lane):
    """The row of a sample; `lane` are the variables that choose its GPU."""
    row = {"what": program.name, "program": program.name, "announced": None, "ways": {}, "pass": False}
    if settings.out_of_time():
        return {**row, "text": "not run: the time limit was reached"}
    off, outcome, trouble = runs.run_mode(settings, program, MODES["off"], "cut-off", lane)
    row["announced"] = samples.announced(outcome)["class"]
    add(row, "off", off, trouble)
    report, _, trouble = runs.run_mode(settings, program, MODES["sample"], "cut-ring",
                                       {**lane, "CUDASPY_RING": RING})
    add(row, "small ring", report, trouble)
    add(row, "killed early", *killed(settings, program, "cut-early", KILL_AFTER_S, lane))
    if off:
        row["halfway_s"] = max(KILL_AFTER_S, off.data["window_ns"] / 2e9)
        add(row, "killed halfway", *killed(settings, program, "cut-half", row["halfway_s"], lane))
    bad = ["%s: %s" % (way, found["problem"]) for way, found in row["ways"].items() if found["problem"]]
    row["pass"] = not bad
    row["text"] = "; ".join(bad) or "announced %s; %s" % (row["announced"] or "nothing", ", ".join(
        "%s: %s, %s" % (way, found["class"], found["confidence"]) for way, found in row["ways"].items()))
    return row


def verdict(rows):
    bad = ["%s (%s)" % (r["program"], r["text"]) for r in rows if not r["pass"]]
    return {"what": "runs cut short are never wrong with high confidence", "pass": bool(rows) and not bad,
            "text": ", ".join(bad) if bad else "%d programs, 4 ways each" % len(rows)}


def run(settings, page):
    rows = samples.in_lanes(settings, samples.speaking(settings),
                            lambda program, lane: row_of(settings, program, lane))
    page.table("Runs cut short: never a wrong class with high confidence", rows)
    return {"rows": rows, "verdicts": [verdict(rows)]}
