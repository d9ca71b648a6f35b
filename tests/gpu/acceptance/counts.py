# SPDX-License-Identifier: Apache-2.0
"""Part `counts`: each program bare, and under the shim with the yardstick in the same process."""
import concurrent.futures
import os
import shutil

from acceptance import compare, process, programs, shim, truth
from acceptance.modes import BARE, MODES

SHOWN_APIS = ("emcpy", "emset", "aunch")


def folder_of(settings, *path):
    return os.path.join(settings.work, *[p.replace("/", "-") for p in path])


def fresh_folder(settings, *path):
    folder = folder_of(settings, *path)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    return folder


def run_bare(settings, program, name):
    folder = fresh_folder(settings, program.name, name)
    argv = program.quick_argv if settings.quick else program.argv
    env = BARE.environment(settings, folder)
    return process.run(argv, {**env, **program.env}, settings.time_left(program.timeout), folder,
                       "bare")


def run_watched(settings, program, name, yardstick, with_apis=False):
    """(outcome, reports, truths, troubles with reading)."""
    folder = fresh_folder(settings, program.name, name)
    mode = MODES[settings.counts_mode]
    argv = program.quick_argv if settings.quick else program.argv
    env = {**mode.environment(settings, folder), **program.env,
           **yardstick.environment(settings, folder, with_apis)}
    outcome = process.run(mode.argv(settings, folder, argv), env, settings.time_left(program.timeout),
                          folder, "watched")
    reports, troubles = shim.read(settings, folder)
    try:
        truths = yardstick.read(settings, folder)
    except (OSError, ValueError, KeyError, RuntimeError) as e:
        truths = []
        troubles.append("truth: %s: %s" % (type(e).__name__, e))
    return outcome, reports, truths, troubles


def diagnose(settings, program, yardstick):
    """Runs again with CUPTI counting calls too: which calls did what the counts differ in?"""
    if yardstick.name != "CUPTI":
        return None
    _, reports, truths, _ = run_watched(settings, program, "diagnosis", yardstick, with_apis=True)
    calls, causes = {}, {}
    for t in truths:
        for (level, name), count in t.apis.items():
            if any(part in name for part in SHOWN_APIS):
                truth.add(calls, "%s %s" % (level, name), count)
        for (kind, level, name), count in t.causes.items():
            truth.add(causes, "%s by %s" % (kind, "%s %s" % (level, name) if name else "no call"), count)
    ours = {}
    for r in reports:
        for a in r.data["apis"]:
            if a["class"] in ("launch", "graph_launch", "copy", "set"):
                truth.add(ours, "%s %s" % (a["level"], a["name"]), a["calls"] - a["failed"])
    return {"work_by_cause": causes, "calls_by_cupti": calls, "outermost_calls_by_shim": ours}


def same_result(settings, program, bare, watched):
    """(same?, note). A program whose bare runs differ tells nothing; that is found by one more bare run."""
    if bare.results == watched.results and bare.rc == watched.rc:
        return bool(bare.results), None if bare.results else "prints no result"
    again = run_bare(settings, program, "bare-again")
    if again.results != bare.results:
        return None, "its own bare runs differ: %s, %s" % (bare.results, again.results)
    return False, "bare %s, watched %s" % (bare.results, watched.results)


def check(settings, program):
    """The row of one program."""
    row = {"program": program.name, "verdict": "PASS", "note": None, "differences": []}
    missing = program.missing()
    if missing:
        return {**row, "verdict": "SKIP", "note": missing}
    if settings.out_of_time():
        return {**row, "verdict": "FAIL", "note": "not run: the time limit was reached"}
    bare = run_bare(settings, program, "bare")
    row["bare"] = bare.as_json()
    if bare.skipped:
        return {**row, "verdict": "SKIP", "note": bare.skipped}
    if bare.trouble():
        return {**row, "verdict": "FAIL", "note": "fails without the shim: " + bare.trouble()}
    yardstick = truth.yardstick(settings)
    watched, reports, truths, troubles = run_watched(settings, program, "watched", yardstick)
    row["watched"] = watched.as_json()
    row["crash"] = watched.trouble()
    row["ours"] = [r.as_json() for r in reports]
    row["truth"] = [t.as_json() for t in truths]
    row["same_result"], note = same_result(settings, program, bare, watched)
    row["differences"] = compare.compare(reports, truths) + compare.compare_expected(reports, watched)
    row["differences"] += [compare.difference("cannot be read", text, None) for text in troubles]
    if not reports:
        row["differences"].append(compare.difference("recordings", 0, len(truths) or 1))
    if not truths:
        row["differences"].append(compare.difference("truths", None, 0))
    bad = compare.unexplained(row["differences"])
    if row["crash"]:
        row["note"] = "under the shim: " + row["crash"]
    elif row["same_result"] is not True:
        row["note"] = "result: " + note
    elif bad:
        row["note"] = "%d differences" % len(bad)
    if row["note"]:
        row["verdict"] = "FAIL"
    if bad and reports and truths:
        row["diagnosis"] = diagnose(settings, program, yardstick)
    return row


def run(settings, page):
    """Checks all programs, several at a time; prints each row when it is there."""
    wanted = programs.all_programs(settings)
    page.counts_head(truth.yardstick(settings).name)
    rows = {}
    with concurrent.futures.ThreadPoolExecutor(settings.jobs) as pool:
        # the slow ones first, so that none is left alone at the end
        work = {pool.submit(check, settings, p): p for p in sorted(wanted, key=lambda p: -p.timeout)}
        for done in concurrent.futures.as_completed(work):
            name = work[done].name
            try:
                rows[name] = done.result()
            except Exception as e:  # one broken program must not take the others' results with it
                rows[name] = {"program": name, "verdict": "FAIL", "differences": [],
                              "note": "%s: %s" % (type(e).__name__, e)}
            page.counts_row(rows[name])
    ordered = [rows[p.name] for p in wanted]
    return {"rows": ordered, "verdicts": verdicts(ordered)}


def verdicts(rows):
    ran = [r for r in rows if "watched" in r]
    crashed = [r["program"] for r in ran if r.get("crash")]
    changed = [r["program"] for r in ran if r["same_result"] is not True]
    differ = [r["program"] for r in ran if compare.unexplained(r["differences"])]
    broken = [r["program"] for r in rows if r["verdict"] == "FAIL" and "watched" not in r]
    skipped = [r["program"] for r in rows if r["verdict"] == "SKIP"]

    def line(what, bad, good):
        return {"what": what, "pass": not bad and bool(ran),
                "text": ", ".join(bad) if bad else good if ran else "no program ran"}

    found = [line("counts", differ, "the same for %d programs" % len(ran)),
             line("results", changed, "unchanged for %d programs" % len(ran)),
             line("crashes", crashed, "none")]
    if broken:
        found.append({"what": "programs that could not be checked", "pass": False,
                      "text": ", ".join(broken)})
    if skipped:
        found.append({"what": "skipped", "pass": None, "text": ", ".join(skipped)})
    return found
