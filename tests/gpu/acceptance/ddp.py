# SPDX-License-Identifier: Apache-2.0
"""Part `ddp`: a DistributedDataParallel step on two GPUs whose all-reduce is exposed.

The script is cuda_samples/pytorch/ddp_allreduce.py. No rank may be called gpu-bound: its GPU is busy, but with
waiting. Each must have the finding `exposed-communication`. With --overlap the share of exposed communication in the
time that the GPUs are busy must be lower.
"""
import os
import statistics
import sys

from acceptance import process, programs, runs, shim
from acceptance.modes import MODES
from acceptance.settings import ROOT

SCRIPT = os.path.join(ROOT, "cuda_samples", "pytorch", "ddp_allreduce.py")
RANKS = 2
FINDING = "exposed-communication"
WAYS = {"one bucket": [], "overlapped": ["--overlap"]}
TIMEOUT = 150


def rank_of(report):
    """What the report of one rank says."""
    gpu, verdict = report.data["gpu"], report.data["verdict"]
    known = gpu["comm_ns"] is not None and gpu["busy_ns"]
    return {"pid": report.pid, "mode": report.mode, "class": verdict["class"], "confidence": verdict["confidence"],
            "reason": verdict["reason"], "findings": sorted(f["id"] for f in report.data["findings"]),
            "comm_share": round(gpu["comm_ns"] / gpu["busy_ns"], 4) if known else None}


def share_of(ranks):
    shares = [r["comm_share"] for r in ranks if r["comm_share"] is not None]
    return statistics.median(shares) if shares else None


def row_of(settings, way):
    """One run: a row with its ranks."""
    argv = [sys.executable, "-B", SCRIPT] + WAYS[way] + (["--steps", "20"] if settings.quick else [])
    program = programs.Program("ddp/" + way.replace(" ", "-"), argv, ("torch",), timeout=TIMEOUT)
    row = {"what": "ddp, " + way, "way": way, "ranks": [], "pass": False, "text": "", "comm_share": None}
    missing = program.missing()
    if missing:
        return {**row, "pass": None, "text": missing}
    if settings.out_of_time():
        return {**row, "text": "not run: the time limit was reached"}
    run = runs.Run(settings, program, MODES["sample"])
    outcome = run.finish()
    if outcome.skipped:
        return {**row, "pass": None, "text": outcome.skipped}
    reports, troubles = shim.read(settings, run.folder)
    row["ranks"] = [rank_of(r) for r in reports if r.pieces]
    row["step"] = outcome.stdout.strip()[-process.TAIL:]
    trouble = outcome.trouble() or "; ".join(troubles)
    if not trouble and len(row["ranks"]) != RANKS:
        trouble = "%d recordings of work on a GPU" % len(row["ranks"])
    if trouble:
        return {**row, "text": trouble}
    return judge(row)


def judge(row):
    """Whether what the ranks say is right. Overlapped, the class and the finding are left open."""
    row["comm_share"] = share_of(row["ranks"])
    problems = []
    for number, r in enumerate(row["ranks"]):
        if row["way"] != "one bucket":
            break
        if r["class"] == "gpu-bound":
            problems.append("rank %d is called gpu-bound: %s" % (number, r["reason"]))
        if FINDING not in r["findings"]:
            problems.append("rank %d has no %s, but %s" % (number, FINDING, ", ".join(r["findings"]) or "nothing"))
    row["pass"] = not problems
    row["text"] = "; ".join(problems) or "%s; exposed communication %s of the busy time" % (
        ", ".join("%s (%s)" % (r["class"], r["confidence"]) for r in row["ranks"]),
        "not known" if row["comm_share"] is None else "%.1f %%" % (100 * row["comm_share"]))
    return row


def verdicts(rows):
    found = [{"what": r["what"], "pass": r["pass"], "text": r["text"]} for r in rows]
    one, overlapped = (next(r["comm_share"] for r in rows if r["way"] == way) for way in WAYS)
    if all(r["ranks"] for r in rows):
        known = one is not None and overlapped is not None
        found.append({"what": "overlapping lowers the exposed communication", "pass": known and overlapped < one,
                      "text": "from %.1f to %.1f %% of the busy time" % (100 * one, 100 * overlapped)
                      if known else "not known"})
    return found


def run(settings, page):
    rows = [row_of(settings, way) for way in WAYS]
    page.table("DistributedDataParallel on two GPUs", rows)
    return {"rows": rows, "verdicts": verdicts(rows)}
