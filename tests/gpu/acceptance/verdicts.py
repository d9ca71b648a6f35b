# SPDX-License-Identifier: Apache-2.0
"""Part `verdicts`: do reports of the samples say what the samples announce, sampled and in cupti mode, time after time?

The class must be the announced one, all announced findings must be there and none of the twin's. Of the repeats, and of
the two modes, the class must be alike: one class throughout, or `mixed` of one pair that holds it. Rounds go over all
programs in both modes, so that a drift of the machine falls on all alike. With several lanes a program always runs on
the same GPU, and nothing else runs on that one meanwhile.
"""
import collections
import concurrent.futures
import shutil

from acceptance import runs, samples
from acceptance.modes import MODES

MODES_RUN = ("sample", "cupti")


def said(report):
    """What a report says, less its figures."""
    v = report.data["verdict"]
    return {"class": v["class"], "confidence": v["confidence"], "first": v["first"],
            "second": v["second"], "reason": v["reason"], "mode": report.mode,
            "findings": sorted(f["id"] for f in report.data["findings"])}


def pair_of(run):
    return frozenset((run["first"], run["second"]))


def alike(found):
    """One class in all runs, or `mixed` of one pair that holds it."""
    plain = {r["class"] for r in found if r["class"] != "mixed"}
    pairs = {pair_of(r) for r in found if r["class"] == "mixed"}
    if len(plain) > 1 or len(pairs) > 1:
        return False
    return not plain or not pairs or plain < next(iter(pairs))


def is_right(run, announced, repeated):
    """Whether a run's class is the announced one. A repeat may be `mixed` with it; alike() sees to the pair."""
    if announced is None or run["class"] == announced:
        return True
    return repeated and run["class"] == "mixed" and announced in pair_of(run)


def class_problems(row):
    expected = row["announced"]["class"]
    return ["run %d: expected %s, came %s (%s confidence): %s" % (
        number + 1, expected, r["class"], r["confidence"], r["reason"])
        for number, r in enumerate(row["runs"]) if not is_right(r, expected, number > 0)]


def finding_problems(row):
    said_of = row["announced"]
    problems = []
    for number, r in enumerate(row["runs"]):
        lacking = sorted(set(said_of["findings"]) - set(r["findings"]))
        wrong = sorted(set(said_of["no_findings"]) & set(r["findings"]))
        if lacking:
            problems.append("run %d: no finding %s, but %s" % (
                number + 1, ", ".join(lacking), ", ".join(r["findings"]) or "none"))
        if wrong:
            problems.append("run %d: finding %s, which the twin has" % (number + 1, ", ".join(wrong)))
    return problems


def judge(row, repeats):
    """Fills in what is right of a program in a mode."""
    row["classes"] = dict(collections.Counter(r["class"] for r in row["runs"]).most_common())
    row["right_class"] = not class_problems(row)
    row["right_findings"] = not finding_problems(row)
    row["alike"] = alike(row["runs"])
    problems = class_problems(row) + finding_problems(row) + row["troubles"]
    if not row["alike"]:
        problems.append("not alike: " + ", ".join(
            "mixed of %s" % " and ".join(sorted(map(str, pair_of(r)))) if r["class"] == "mixed"
            else r["class"] for r in row["runs"]))
    if len(row["runs"]) + len(row["troubles"]) < repeats:
        problems.append("%d of %d runs: the time limit was reached" % (len(row["runs"]), repeats))
    row["problems"] = problems
    row["pass"] = not problems


def one_run(settings, row, program, lane, readers):
    """Runs a program once; a reader puts what the report says into the row."""
    mode = MODES[row["mode"]]
    run = runs.Run(settings, program, mode, "%s-%d" % (mode.name, row["started"]), lane)
    row["started"] += 1
    outcome = run.finish()
    if outcome.announced("verdict") or outcome.announced("finding") or outcome.announced("no-finding"):
        row["announced"] = samples.announced(outcome)
    return readers.submit(read, settings, row, run, outcome)


def read(settings, row, run, outcome):
    report, trouble = runs.read_report(settings, run, outcome)
    shutil.rmtree(run.folder, ignore_errors=True)  # recordings are large, and runs are many
    if not trouble and report.mode != row["mode"]:
        trouble = "it ran in mode %s" % report.mode
    if trouble:
        row["troubles"].append(trouble)
    else:
        row["runs"].append(said(report))


def all_rounds(settings, work, page):
    """`work` are the programs with their rows, one a mode."""
    with concurrent.futures.ThreadPoolExecutor(settings.jobs) as readers:
        def in_each_mode(item, lane):
            program, rows = item
            return [one_run(settings, row, program, lane, readers) for row in rows
                    if not settings.out_of_time()]

        for number in range(settings.repeats):
            if settings.out_of_time():
                break
            for futures in samples.in_lanes(settings, work, in_each_mode):
                for future in futures:
                    future.result()  # an error while reading is raised here
            page.line("round %d of %d" % (number + 1, settings.repeats))


def line(what, rows, bad):
    return {"what": what, "pass": bool(rows) and not bad,
            "text": ", ".join(bad) if bad else "%d programs" % len({r["program"] for r in rows})}


def verdicts(rows, repeats):
    found = []
    for mode in MODES_RUN:
        mine = [r for r in rows if r["mode"] == mode]
        found.append(line("class of samples, %s" % mode, [r for r in mine if r["runs"]], [
            "%s (%s)" % (r["program"], ", ".join(r["classes"])) for r in mine if not r["right_class"]]))
        found.append(line("findings of samples, %s" % mode, [r for r in mine if r["runs"]], [
            r["program"] for r in mine if not r["right_findings"]]))
        if repeats > 1:
            found.append(line("class alike in %d runs, %s" % (repeats, mode), mine, [
                r["program"] for r in mine if not r["alike"] or len(r["runs"]) < repeats]))
    by_program = {}
    for r in rows:
        by_program.setdefault(r["program"], []).extend(r["runs"])
    found.append(line("class alike in both modes", [r for r in rows if r["runs"]], [
        name for name, both in by_program.items() if not alike(both)]))
    short = [r for r in rows if r["troubles"] or len(r["runs"]) < repeats]
    if short:
        found.append(line("verdict not had", short, ["%s %s (%s)" % (
            r["program"], r["mode"], r["troubles"][0] if r["troubles"] else "time limit") for r in short]))
    return found


def run(settings, page):
    work = []
    for program in samples.speaking(settings):
        work.append((program, [{"program": program.name, "mode": mode, "started": 0, "runs": [], "troubles": [],
                                "announced": {"class": None, "findings": [], "no_findings": []}}
                               for mode in MODES_RUN]))
    all_rounds(settings, work, page)
    page.verdicts_head(settings.repeats)
    rows = [row for _, both in work for row in both]
    for row in rows:
        del row["started"]
        judge(row, settings.repeats)
        page.verdicts_row(row)
    return {"repeats": settings.repeats, "lanes": settings.lanes, "rows": rows,
            "verdicts": verdicts(rows, settings.repeats)}
