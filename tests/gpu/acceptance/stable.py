# SPDX-License-Identifier: Apache-2.0
"""Part `stable`: some programs with a fix, many recorded runs each: is the verdict the same in all of them?

The runs of the programs take turns, so that what the time limit leaves out is the same of each. A program passes if all its
runs say the same class, or all say `mixed` and name the same two. Beside that it is told how the confidence, the steps found and
the gains that are promised differ from run to run. --only takes other programs than the five of fixes_table.py.
"""
import collections
import contextlib
import json
import os
import statistics
import threading

from acceptance import fixes, fixes_table, lanes


def chosen(settings):
    """The programs: the five, or those that --only names."""
    every = [case for cases in fixes_table.sets(settings).values() for case in cases if case.gpus == 1]
    if settings.only is None and not settings.simulated:
        return [case for name in fixes_table.STABLE for case in every if case.name == name]
    return [case for case in every if settings.wanted(case.name)]


def name_of(v):
    """A class; of `mixed` the two that it names, in any order."""
    if v["class"] != "mixed":
        return v["class"]
    return "mixed of %s and %s" % tuple(sorted((v["first"] or "-", v["second"] or "-")))


def spread(values):
    known = [v for v in values if v is not None]
    if not known:
        return None
    return {"runs": len(known), "low": min(known), "median": statistics.median(known), "high": max(known)}


def judge(row):
    """What the runs of a program say together."""
    said = [[v for v in run["processes"]] for run in row["runs"]]
    row["classes"] = dict(collections.Counter("; ".join(sorted(name_of(v) for v in p)) for p in said).most_common())
    busiest = [p[0] for p in said]
    row["confidence"] = dict(collections.Counter(v["confidence"] for v in busiest).most_common())
    row["steps"] = spread(v["steps"]["count"] for v in busiest)
    # Each run has as many steps as it has time for: what was found is compared with what there was.
    row["steps_off"] = spread(None if v["steps"]["count"] is None else v["steps"]["count"] / (run["steps_true"] + run["warm_steps"])
                              for run, v in zip(row["runs"], busiest))
    row["gains"] = {change: spread((v["what_if"].get(change) or {"mid": None})["mid"] for v in busiest)
                    for change in fixes_table.WHAT_IFS}
    if row["note"]:
        row["pass"] = None
    else:
        row["pass"] = not row["troubles"] and len(row["runs"]) == row["asked"] and len(row["classes"]) == 1
    return row


class Collected:
    """The rows, as the runs come in; each run is kept in a file at once."""

    def __init__(self, settings, cases):
        self.settings, self.lock = settings, threading.Lock()
        self.rows = {(case.name, mode): {
            "program": case.name, "mode": mode, "asked": settings.stable_runs, "pass": None, "note": fixes.lacking(settings, case),
            "runs": [], "troubles": []} for case in cases for mode in settings.fix_modes}
        self.path = settings.out + ".stable.rows"
        with contextlib.suppress(FileNotFoundError):
            os.remove(self.path)

    def use(self, job, run, outcome):
        found, trouble = fixes.read_recorded(self.settings, job.case, run, outcome)
        for process in found: # most of what it says, and nothing here is of them
            process.pop("phases", None)
        timed = fixes.loops(outcome.stdout)
        one = {"program": job.case.name, "mode": job.mode, "number": job.number, "trouble": trouble, "processes": found,
               "seconds": round(outcome.seconds, 1), "steps_true": timed[0][1] if timed else None,
               "warm_steps": int(fixes.number_of(outcome.stdout, "warm_steps") or 0)}
        if not trouble and not timed:
            one["trouble"] = trouble = "it printed no loop"
        row = self.rows[job.case.name, job.mode]
        with self.lock:
            if outcome.skipped:
                row["note"] = outcome.skipped
            elif trouble:
                row["troubles"].append("%s-%d: %s" % (job.mode, job.number, trouble))
            else:
                row["runs"].append(one)
            with open(self.path, "a", encoding="utf-8") as f:
                f.write(json.dumps(one) + "\n")


def counted(counts):
    return ", ".join("%s%s" % (name, " x%d" % n if n > 1 else "") for name, n in counts.items()) or "-"


def lines_of(row):
    yield "confidence: %s" % counted(row["confidence"])
    if row["steps"]:
        yield "steps %d to %d, of those that there were %.2f to %.2f" % (
            row["steps"]["low"], row["steps"]["high"], row["steps_off"]["low"], row["steps_off"]["high"])
    for change, s in row["gains"].items():
        if s:
            yield "%s: %.2f (%.2f to %.2f in %d runs)" % (change, s["median"], s["low"], s["high"], s["runs"])
    yield from row["troubles"]


def verdicts(rows):
    judged = [r for r in rows if not r["note"]]
    found = []
    if judged:
        wrong = ["%s (%s%s)" % (r["program"], counted(r["classes"]),
                                "; %d of %d runs" % (len(r["runs"]), r["asked"]) if len(r["runs"]) < r["asked"] else "")
                 for r in judged if not r["pass"]]
        asked = judged[0]["asked"]
        found.append({"what": "the same class in %d of %d runs" % (asked, asked), "pass": not wrong,
                      "text": "%d of %d programs" % (len(judged) - len(wrong), len(judged)) +
                              (", not %s" % ", ".join(wrong) if wrong else "")})
    return found + fixes.skipped_of(rows, "stable: skipped")


def run(settings, page):
    cases = chosen(settings)
    collected = Collected(settings, cases)
    here = [case for case in cases if not fixes.lacking(settings, case)]
    jobs = [lanes.Job(case, mode, number) for number in range(settings.stable_runs) for case in here for mode in settings.fix_modes]
    lanes.run_all(settings, jobs, collected.use)
    rows = [judge(row) for row in collected.rows.values()]
    page.stable_head(settings.stable_runs)
    for row in rows:
        page.stable_row(row, counted(row["classes"]), lines_of(row))
    return {"asked": settings.stable_runs, "modes": settings.fix_modes, "lanes": settings.lanes, "rows": rows,
            "verdicts": verdicts(rows)}
