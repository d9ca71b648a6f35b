# SPDX-License-Identifier: Apache-2.0
"""Part `pair_cost`: what a pair of events costs more than the kernel, and estimates of short and drifting kernels.

Pairs as the sampler takes them beside CUPTI's records of the same kernels (tests/gpu/pair_cost.cu), and the row of
shim/core/gpu_time/gpu_kinds.c that follows. Then programs that launch one kind of kernel, or kernels that change as they go on:
the estimate and its interval beside CUPTI's mean, taken in a run of its own.
"""
import os
import re
import statistics

from acceptance import counts, process, shim
from acceptance.modes import MODES

TIMEOUT = 60
PROCESSES = 3
LOOPS = ("null", "empty_64", "stores_64", "cycles_3000", "cycles_8000", "cycles_30000", "drift", "reverse", "sawtooth",
         "bimodal")
QUICK_LOOPS = ("null", "drift", "reverse", "sawtooth")
REGIMES = ("idle", "busy")
BEHIND = "behind"  # a kernel of the program's: as in a full queue, where the cost is taken to be that of a busy stream
WHERE = {"idle": "idle stream", "busy": "busy stream", BEHIND: "behind a kernel"}
NEAR_SHARE, NEAR_NS = 0.05, 100  # of the mean: the larger one


def pairs_of(text):
    """{(kind, regime): {figure: number}}"""
    return {(kind, regime): {key: float(value) for key, value in re.findall(r"(\w+)=([-\d.]+)", rest)}
            for kind, regime, rest in re.findall(r"^pair: (\w+) (\w+)(.*)$", text, re.M)}


def middle(runs, key, figure):
    """Of the processes: the middle one, and how far they are apart; None where none has it."""
    values = [r[key][figure] for r in runs if key in r and figure in r[key]]
    return (statistics.median(values), max(values) - min(values)) if values else (None, None)


def fitted(runs):
    """The row: CUPTI's time of our empty kernel, and how far a pair less its cost then is from CUPTI's time."""
    row = {"null_kernel_ns": None, "null_pair_ns": None, "empty_pair_ns": None, "worst_ns": None, "residuals": {}}
    nulls = [middle(runs, ("null", r), "cupti_mean")[0] for r in REGIMES]
    pairs = {r: middle(runs, ("null", r), "alone_mean")[0] for r in REGIMES}
    empties = [middle(runs, ("nothing", r), "alone_mean")[0] for r in REGIMES]
    if None in nulls or None in pairs.values():
        return row
    row["null_kernel_ns"] = statistics.mean(nulls)
    row["null_pair_ns"] = statistics.mean(pairs.values())
    row["empty_pair_ns"] = statistics.mean(empties)
    for kind, regime in sorted({k for r in runs for k in r}):
        pair, truth = (middle(runs, (kind, regime), f)[0] for f in ("alone_mean", "cupti_mean"))
        if pair is not None and truth is not None:
            cost = pairs["busy" if regime == BEHIND else regime] - row["null_kernel_ns"]
            row["residuals"]["%s %s" % (kind, regime)] = pair - cost - truth
    row["worst_ns"] = max(abs(v) for k, v in row["residuals"].items() if not k.endswith(BEHIND))
    return row


def measure_pairs(settings):
    """What each process printed, figures alone, and the rows of the table."""
    folder = counts.fresh_folder(settings, "pair_cost")
    argv = [program(settings), "pairs", *([settings.cupti] if settings.cupti and not settings.simulated else [])]
    runs, said, trouble = [], {}, None
    for i in range(1 if settings.quick or settings.simulated else PROCESSES):
        outcome = process.run(argv, environment(settings), settings.time_left(TIMEOUT), folder, "pairs%d" % i)
        runs.append(pairs_of(outcome.stdout))
        said.update(re.findall(r"^(driver|cupti|clock): (.*)$", outcome.stdout, re.M))
        trouble = trouble or outcome.skipped or outcome.trouble() or (outcome.stderr.strip()[-200:] or None)
    row = fitted(runs)
    rows = []
    for key in runs[0]:
        (alone, apart), (truth, _) = (middle(runs, key, f) for f in ("alone_mean", "cupti_mean"))
        beside, records = (middle(runs, key, f)[0] for f in ("beside_mean", "cupti_beside_mean"))
        after = middle(runs, key, "after_mean")[0]
        text = "pair %s ns, within %s" % (number(alone), number(apart))
        if truth is not None:
            text += "; CUPTI %s, more %s, off %s; beside: pair %s, CUPTI %s; after: pair %s" % (
                number(truth), number(alone - truth), number(row["residuals"].get("%s %s" % key)), number(beside),
                number(records), number(after))
        rows.append({"what": "%s, %s" % (key[0], WHERE[key[1]]), "pass": None, "text": text, "runs": [r.get(key) for r in runs]})
    if trouble or not runs[0]:
        rows.append({"what": "pair_cost", "pass": None if not trouble else False, "text": trouble or "no output"})
    return rows, row, said


def number(value):
    return "-" if value is None else "%.0f" % value


def program(settings):
    return os.path.join(settings.build, "tests", "pair_cost-sim" if settings.simulated else "pair_cost")


def environment(settings):
    return settings.environment(**({} if settings.simulated else settings.library_path()))


def truth_of(settings, name, folder):
    if not settings.cupti or settings.simulated:
        return None
    outcome = process.run([program(settings), "loop", name, settings.cupti], environment(settings),
                          settings.time_left(TIMEOUT), folder, "truth")
    found = re.search(r"^truth: \w+ mean=([\d.]+)", outcome.stdout, re.M)
    return float(found.group(1)) if found else None


def largest(report):
    """The report's class of most kernels."""
    rows = [w for w in report.data["works"] if w["kind"] == "kernel"]
    return max(rows, key=lambda w: w["count"]) if rows else None


def measure_loop(settings, name):
    mode = MODES["sample"]
    folder = counts.fresh_folder(settings, "pair_cost", name)
    truth = truth_of(settings, name, folder)
    env = {**environment(settings), **mode.environment(settings, folder)}
    outcome = process.run([program(settings), "loop", name], env, settings.time_left(TIMEOUT), folder, "run")
    reports, troubles = shim.read(settings, folder)
    row = {"what": "estimate of %s" % name, "truth_ns": truth, "pass": None}
    if outcome.skipped:
        return {**row, "text": outcome.skipped}
    if outcome.trouble() or troubles or not reports:
        return {**row, "pass": False, "text": outcome.trouble() or "; ".join(troubles) or "no recording"}
    found = largest(reports[0])
    if not found:
        return {**row, "pass": False, "text": "never launched"}
    row["count"] = found["count"]  # exact, whether any was timed or not
    if found["mean_ns"] is None:
        return {**row, "pass": False, "text": "never timed"}
    row.update({k: found[k] for k in ("samples", "mean_ns", "low_ns", "high_ns")})
    row["calibration"] = reports[0].data["gpu"]["calibration"]
    row["text"] = "%.0f ns (%.0f to %.0f), %d samples of %d" % (
        row["mean_ns"], row["low_ns"], row["high_ns"], row["samples"], row["count"])
    if truth is not None:
        holds = row["low_ns"] <= truth <= row["high_ns"]
        off = row["mean_ns"] - truth
        row["pass"] = holds and abs(off) <= max(NEAR_SHARE * truth, NEAR_NS)
        row["text"] += "; CUPTI %.0f: off %+.0f, interval %s" % (truth, off, "holds" if holds else "misses")
    return row


def run(settings, page):
    rows, row, said = measure_pairs(settings)
    page.table("What a pair shows, and CUPTI's time of the same kernel", rows)
    page.line("    row: %s" % ", ".join("%s %s" % (k, number(row[k])) for k in (
        "null_kernel_ns", "null_pair_ns", "empty_pair_ns", "worst_ns")))
    page.line("    %s" % ", ".join("%s %s" % each for each in said.items()))
    names = QUICK_LOOPS if settings.quick else LOOPS
    loops = [measure_loop(settings, name) for name in names if settings.wanted(name)]
    page.table("Estimates of one kind of kernel, beside CUPTI's mean in a run of its own", loops)
    return {"rows": rows + loops, "row": row, "said": said,
            "verdicts": [{k: r[k] for k in ("what", "pass", "text")} for r in loops + [r for r in rows if r["pass"] is False]]}
