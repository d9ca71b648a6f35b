# SPDX-License-Identifier: Apache-2.0
"""What part `fixes` measured, judged again by the reporter as it is now: no GPU is needed, only the recordings that were kept.

The gains are those of the result; classes and predictions are read anew from the recordings. So one sees what a change of the
model does to all programs that were ever kept, beside what the result says.
"""
import collections
import concurrent.futures
import copy
import glob
import json
import math
import os
import re
import statistics

from acceptance import fixes, fixes_table, shim


def rows_of(path):
    """The rows of a result's part `fixes`."""
    with open(path, encoding="utf-8") as f:
        data = json.load(f)
    return data["parts"]["fixes"]["rows"]


def all_cases():
    return {case.name: case for table in (fixes_table.HALVES, fixes_table.SIMULATED) for mine in table.values() for case in mine}


def processes_again(settings, case, run, folder):
    """What the reporter says now of each process of a run, or None where a recording is not there."""
    found = []
    for process in run["processes"]:
        paths = [p for p in glob.glob(os.path.join(folder, glob.escape(case.name) + "-*.cudaspy"))
                 if str(process["pid"]) in os.path.basename(p)]
        reports, troubles = shim.read_files(settings, paths, *["--what-if=" + change for change in fixes_table.WHAT_IFS])
        found += [fixes.said(r, case) for r in reports if r.pid == process["pid"]]
        if troubles:
            raise RuntimeError("; ".join(troubles))
    return found if len(found) == len(run["processes"]) else None


def row_again(settings, case, row, folder):
    """A row with the present reporter's answers, or None where no recording was kept."""
    row = copy.deepcopy(row)
    runs = []
    for run in row["runs"]:
        run["processes"] = processes_again(settings, case, run, folder)
        runs += [run] if run["processes"] else []
    if not runs:
        return None
    row["runs"] = runs
    return fixes.judge(row, case)


def measured(pairs):
    """(result, folder, row) of pairs (result, folder of its recordings)."""
    return [(result, folder, row) for result, folder in pairs for row in rows_of(result) if row["runs"]]


def measured_elsewhere(results, folder):
    """The same of recordings of other runs (PROGRAM-PID.cudaspy), by what the last result that has their program measured."""
    rows = {row["program"]: (result, row) for result, _, row in measured([(r, None) for r in results]) if row["gains"]}
    found = []
    for name, recordings in sorted(recorded(folder).items()):
        if name in rows:
            result, row = rows[name][0], copy.deepcopy(rows[name][1])
            row["runs"] = row["runs"][:1]
            said = row["runs"][0]["processes"][0]
            row["runs"][0]["processes"] = [{**said, "pid": pid} for pid in recordings]
            found.append((result, folder, row))
    return found


def recorded(folder):
    """{program: pids of its recordings}."""
    found = collections.defaultdict(list)
    for path in sorted(glob.glob(os.path.join(glob.escape(folder), "*.cudaspy"))):
        match = re.fullmatch(r"(.+)-(\d+)\.cudaspy", os.path.basename(path))
        if match:
            found[match[1]].append(int(match[2]))
    return found


def rows_again(settings, rows):
    """[(result, row as it was, row as it is now)] of what measured() gives."""
    known = all_cases()
    wanted = [(result, folder, row) for result, folder, row in rows
              if row["program"] in known and settings.wanted(row["program"])]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as readers:
        again = list(readers.map(lambda w: row_again(settings, known[w[2]["program"]], w[2], w[1]), wanted))
    return [(result, row, now) for (result, _, row), now in zip(wanted, again) if now]


# ---- Printed -------------------------------------------------------------------------------------------------------

def said_short(row):
    """The verdicts of a row's runs, in a word each."""
    told = [v["class"] if v["class"] != "mixed" else "mixed (%s, %s)" % (v["first"], v["second"])
            for run in row["runs"] for v in run["processes"]]
    return ", ".join("%s%s" % (name, " x%d" % n if n > 1 else "") for name, n in collections.Counter(told).most_common())


def by_change(rows):
    """A line for each change that a fix is of: gains in the range, how wide, and how far the middle is off."""
    found = collections.defaultdict(list)
    for row in rows:
        for f in row["fixes"]:
            if f["promised"]:
                found[f["what_if"]].append(f)
    lines = ["%-10s %9s %7s %22s" % ("change", "in range", "width", "gain over prediction")]
    for change, mine in sorted(found.items()) + [("all", [f for fs in found.values() for f in fs])]:
        known = [f for f in mine if f["promised"]["low"]]
        off = sorted(f["gain"] / f["promised"]["mid"] for f in known)
        if off:
            lines.append("%-10s %4d of %2d %7.2f %8.2f (%.2f to %.2f)" % (
                change, sum(bool(f["in_range"]) for f in mine), len(mine),
                statistics.median(f["promised"]["high"] / f["promised"]["low"] for f in known),
                math.exp(statistics.mean(map(math.log, off))), off[len(off) // 10], off[-1 - len(off) // 10]))
    return lines


def by_confidence(rows):
    """A line for each confidence that a verdict had: how often its class was right."""
    told = collections.defaultdict(lambda: [0, 0])
    for row in rows:
        for run in row["runs"] if row["expected"] else []:
            for v in run["processes"]:
                of = told["mixed" if v["class"] == "mixed" else v["confidence"]]
                of[0] += fixes.is_right({"processes": [v]}, row["expected"])
                of[1] += 1
    return ["class right, %-12s %3d of %3d" % (name, *told[name]) for name in sorted(told)]


def shares(rows):
    """The figures that part `fixes` is judged by, of all rows together."""
    return [fixes.share_line("class of the best fix", rows, lambda r: r["right_class"], fixes.SHARES["class"]),
            fixes.share_line("gain in the range", rows, lambda r: r["in_range"], fixes.SHARES["range"]),
            fixes.share_line("gain within 25 % of the prediction", rows, fixes.nearness, None),
            fixes.width_line("ranges", rows),
            fixes.share_line("useless change promised less than 5 %", rows, lambda r: r["useless"] and r["useless"]["right"],
                             fixes.SHARES["useless"])]
