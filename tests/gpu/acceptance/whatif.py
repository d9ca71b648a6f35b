# SPDX-License-Identifier: Apache-2.0
"""Part `whatif`: what a change was predicted to save, beside what the changed program really saves.

Samples: `report --what-if CHANGE` of a sample against its fixed twin, which has made that change. Compared is the
window of the report, from the end of the first CUDA call to the last, less what cudaspy took of it by the report: a
change that leaves calls out saves that too, which no prediction has. The prediction is of the part after start-up, and
the start-up of the two is alike. The MLP: eager with `--what-if graphs` against its graph mode. Its windows cannot
be compared, since they hold the framework's start-up, and with graphs the capture. Compared is the time of one step,
which the script measures itself; the predicted saving is divided by the steps. (The steps of the warm-up count among
the saved ones, and are 20 of 10,020.)

Both sides run sampled under the shim, in pairs whose order turns; figures are medians over the pairs. The predicted
saving may be off by 20 % of the real one or 3 % of the time before, whichever is larger.
"""
import os
import re
import statistics
import sys

from acceptance import programs, runs, samples
from acceptance.modes import MODES
from acceptance.settings import ROOT

SHARE_OF_SAVING, SHARE_OF_TIME = 0.20, 0.03
PAIRS = 5
# Of each sample: the change that its fixed twin has made, and variables for the simulated CUDA.
CHANGES = {
    "many_tiny_launches": ("graphs", {}),
    "pageable_copies": ("pinned", {"SIM_PCIE_GBPS": "53.6"}),  # of the link that the simulated NVML tells: PCIe 5 x16
    # A wait takes long, a sample little, and none tells the time of so short a copy.
    "sync_every_step": ("no-sync", {"SIM_LATENCY_NS": "8000", "SIM_EVENT_NS": "0"}),
    "alloc_every_step": ("no-alloc", {}),
    "copy_not_overlapped": ("overlap", {}),
    "host_starves_gpu": ("host=0", {}),
    "dominant_kernel": ("kernel:^solve=200", {}),  # 400 us become 2
    "graph_nodes_changed": ("graphs-unchanged", {}),
}
MLP = os.path.join(ROOT, "cuda_samples", "pytorch", "mlp.py")
BATCHES = (1, 16, 1280)
STEPS, QUICK_STEPS = 10000, 200
MLP_TIMEOUT = 120


def prediction_of(report, change, steps=None):
    """{saved_ns, low_ns, high_ns, why} of one run: of its whole window, or of one of so many steps."""
    row = next((r for r in report.data["what_if"] if r["change"] == change), None)
    if row is None or row["predicted_ns"] is None:
        return {"saved_ns": None, "low_ns": None, "high_ns": None,
                "why": row["unknown_because"] if row else "the report has no such change"}
    by = steps or 1
    return {"saved_ns": row["saved_ns"] / by, "low_ns": (row["window_ns"] - row["predicted_high_ns"]) / by,
            "high_ns": (row["window_ns"] - row["predicted_low_ns"]) / by, "why": None}


def compare(row, pairs):
    """Judges `pairs` of (time before in ns, its prediction, time after)."""
    unknown = next((p["why"] for _, p, _ in pairs if p["saved_ns"] is None), None)
    row["pairs"] = len(pairs)
    row["before_ns"] = statistics.median(before for before, _, _ in pairs)
    row["after_ns"] = statistics.median(after for _, _, after in pairs)
    row["saved_ns"] = saved = statistics.median(before - after for before, _, after in pairs)
    row["each"] = [{"before_ns": before, "after_ns": after, "predicted": p} for before, p, after in pairs]
    row["limit_ns"] = limit = max(SHARE_OF_SAVING * saved, SHARE_OF_TIME * row["before_ns"])
    if unknown:
        row["text"] = "no prediction: %s" % unknown
        return row
    for key in ("saved_ns", "low_ns", "high_ns"):
        row["predicted_" + key] = statistics.median(p[key] for _, p, _ in pairs)
    row["interval_holds"] = row["predicted_low_ns"] <= saved <= row["predicted_high_ns"]
    row["pass"] = abs(row["predicted_saved_ns"] - saved) <= limit
    scale, unit = (1e6, "ms") if row["compared"] == "window" else (1e3, "us a step")
    row["text"] = "saved %.2f of %.2f %s, predicted %.2f (%.2f to %.2f%s), may be %.2f off" % (
        saved / scale, row["before_ns"] / scale, unit, row["predicted_saved_ns"] / scale,
        row["predicted_low_ns"] / scale, row["predicted_high_ns"] / scale,
        "" if row["interval_holds"] else ": does not hold it", limit / scale)
    return row


def turns(sides, number):
    """The sides in the order of a pair."""
    return sides if number % 2 == 0 else sides[::-1]


def pairs_wanted(settings):
    return settings.pairs_asked or (1 if settings.quick else PAIRS)


def sample_run(settings, program, name, change):
    """(report, trouble) of one run of a sample."""
    run = runs.Run(settings, program, MODES["sample"], name)
    return runs.read_report(settings, run, run.finish(), *(["--what-if=" + change] if change else []))


def own_window(data):
    """A report's window without what cudaspy took of the program's one thread, ns."""
    return data["window_ns"] - sum(data["overhead"][part] or 0 for part in ("calls_ns", "samples_ns", "sites_ns"))


def sample_row(settings, name):
    change, variables = CHANGES[name]
    sides = {"before": samples.program(settings, name, **variables),
             "after": samples.program(settings, name + "_fixed", **variables)}
    row = {"what": "%s: %s" % (name, change), "compared": "window", "pass": False, "text": ""}
    pairs = []
    for number in range(pairs_wanted(settings)):
        if settings.out_of_time():
            break
        reports = {}
        for side in turns(list(sides), number):
            reports[side], trouble = sample_run(settings, sides[side], "whatif-" + side,
                                                change if side == "before" else None)
            if trouble:
                return {**row, "text": "%s: %s" % (sides[side].name, trouble)}
        pairs.append((own_window(reports["before"].data), prediction_of(reports["before"], change),
                      own_window(reports["after"].data)))
    return finished(settings, row, pairs)


def finished(settings, row, pairs):
    if pairs:
        compare(row, pairs)
    if len(pairs) < pairs_wanted(settings):
        row.update({"pass": False, "text": "%d of %d pairs: the time limit was reached" % (
            len(pairs), pairs_wanted(settings))})
    return row


def step_ns(outcome):
    """The time of a step as cuda_samples/pytorch/steps.py prints it, or None."""
    found = re.search(r"^([0-9.]+) us per step", outcome.stdout, re.M)
    return 1000.0 * float(found.group(1)) if found else None


def mlp_program(settings, batch, mode):
    steps = QUICK_STEPS if settings.quick else STEPS
    argv = [sys.executable, "-B", os.path.join(programs.WORKLOADS, "gated.py"), MLP, "--batch", str(batch),
            "--mode", mode, "--steps", str(steps)]
    return programs.Program("mlp/%d/%s" % (batch, mode), argv, ("torch",), timeout=MLP_TIMEOUT, gated=True)


def mlp_run(settings, run, change):
    """(report, time of a step in ns, trouble) of a run that has waited for its turn."""
    outcome = run.finish()
    report, trouble = runs.read_report(settings, run, outcome,
                                       *(["--what-if=" + change] if change else []))
    took = step_ns(outcome)
    return report, took, trouble or (None if took else "it printed no time of a step")


def mlp_pairs(settings, held, steps):
    """(pairs, trouble) of the runs that wait for their turn, two a pair."""
    pairs = []
    for number, sides in enumerate(held):
        if settings.out_of_time():
            break
        got = {}
        for mode in turns(list(sides), number):
            got[mode] = mlp_run(settings, sides[mode], "graphs" if mode == "eager" else None)
            if got[mode][2]:
                return pairs, "%s: %s" % (sides[mode].program.name, got[mode][2])
        report, before, _ = got["eager"]
        pairs.append((before, prediction_of(report, "graphs", steps), got["graph"][1]))
    return pairs, None


def mlp_row(settings, batch):
    sides = {mode: mlp_program(settings, batch, mode) for mode in ("eager", "graph")}
    steps = QUICK_STEPS if settings.quick else STEPS
    row = {"what": "mlp, batch %d: graphs" % batch, "compared": "step", "steps": steps, "pass": False, "text": ""}
    missing = sides["eager"].missing()
    if missing:
        return {**row, "pass": None, "text": missing}
    if settings.out_of_time():
        return finished(settings, row, [])
    held = [{mode: runs.Run(settings, p, MODES["sample"], "whatif-%d" % number)
             for mode, p in sides.items()} for number in range(pairs_wanted(settings))]
    every = [run for pair in held for run in pair.values()]
    try:
        for run in every:  # they load at the same time, and wait
            run.hold()
        for run in every:
            run.at_gate()
        pairs, trouble = mlp_pairs(settings, held, steps)
    finally:
        for run in every:
            run.close()
    if trouble:
        return {**row, "text": trouble}
    return finished(settings, row, pairs)


def verdicts(rows):
    judged = [r for r in rows if r["pass"] is not None]
    bad = ["%s (%s)" % (r["what"], r["text"]) for r in judged if not r["pass"]]
    held = [r["interval_holds"] for r in judged if "interval_holds" in r]
    skipped = ["%s (%s)" % (r["what"], r["text"]) for r in rows if r["pass"] is None]
    found = [{"what": "predicted savings", "pass": bool(judged) and not bad,
              "text": ", ".join(bad) if bad else "%d changes" % len(judged)},
             {"what": "intervals of predictions", "pass": None,
              "text": "%d of %d hold what was saved" % (sum(held), len(held))}]
    if skipped:
        found.append({"what": "not predicted", "pass": None, "text": ", ".join(skipped)})
    return found


def run(settings, page):
    rows = [sample_row(settings, name) for name in CHANGES
            if settings.wanted("%s/%s" % (name, samples.form(settings)))]
    rows += [mlp_row(settings, batch) for batch in BATCHES if settings.wanted("mlp/%d" % batch)]
    page.table("What a change saves, and was predicted to", rows)
    return {"rows": rows, "verdicts": verdicts(rows)}
