# SPDX-License-Identifier: Apache-2.0
"""Part `beside`: sampling in a process that torch.profiler or nsys watches too.

The other tool must see what it sees without us, less our own kernels; and we must say what we say without it, within
noise: the 95 % intervals that we state of both runs overlap, or the figures differ by no more than accuracy allows.

Where the other tool's output cannot be read even of a run without us, nothing is known of it, and only our figures are
judged.
"""
import json
import re

from acceptance import counts, nsys, process, programs, runs, work
from acceptance.modes import MODES, NSYS_AND_SAMPLE, PROFILER_AND_SAMPLE

PROFILER_PROGRAM, PROFILER_ITERATIONS = "torch_mlp/1", "1000"
NSYS_PROGRAMS = ("launch_loop/static", "many_tiny_launches/static")
SHARE, PER_PIECE_NS, CLASS_NS = 0.05, 150.0, 200.0  # as in accuracy
SAMPLES_LEAST = 30


def profiler_saw(outcome):
    """{kind: {name: events}} of the workload's line, without cudaspy's own kernels; None: no line."""
    lines = re.findall(r"^profiled: *(.*)$", outcome.stdout, re.M)
    if not lines:
        return None
    try:
        seen = json.loads(lines[-1])
    except ValueError:
        return None
    return {kind: {name: n for name, n in names.items() if name not in work.OWN_KERNELS}
            for kind, names in seen.items()}


def nsys_saw(settings, folder):
    try:
        return nsys.read(settings, folder), None
    except nsys.NsysFailed as e:
        return None, str(e)


def missing_pieces(alone, together):
    """Names of which the other tool saw more or fewer with us: [(name, alone, together)]."""
    kinds = set(alone) | set(together)
    return [(name, alone.get(kind, {}).get(name, 0), together.get(kind, {}).get(name, 0))
            for kind in sorted(kinds)
            for name in sorted(set(alone.get(kind, {})) | set(together.get(kind, {})))
            if alone.get(kind, {}).get(name, 0) != together.get(kind, {}).get(name, 0)]


def total(seen):
    return sum(n for names in seen.values() for n in names.values())


def compare_output(row, alone, together):
    """Fills `complete`: the other tool's output is what it is without us."""
    differ = missing_pieces(alone, together)
    row["alone_events"], row["together_events"] = total(alone), total(together)
    row["differ"] = differ
    row["complete"] = not differ and total(alone) > 0
    return "%d events, as without us" % total(alone) if row["complete"] else \
        "%d events, %d without us%s" % (total(together), total(alone),
                                        ": %s %d, %d" % differ[0] if differ else "")


def mean_of(report):
    """(mean, low, high) of a piece, in ns; (None, None, None) where it is not known."""
    whole = report.data["gpu"]["work"]["all"]
    mean, total = whole["gpu_mean_ns"], whole["gpu_total_ns"]
    if mean is None or not total:
        return mean, mean, mean
    return mean, mean * whole["gpu_low_ns"] / total, mean * whole["gpu_high_ns"] / total


def alike(a, b, at_least):
    """Two (mean, low, high) that are the same within noise."""
    return (a[1] <= b[2] and b[1] <= a[2]) or abs(a[0] - b[0]) <= max(SHARE * a[0], at_least)


def interval(figure):
    return "%.0f ns (%.0f to %.0f)" % figure


def compare_figures(row, alone, together):
    """Fills `same`: our figures beside the other tool are those without it, within noise."""
    a, b = mean_of(alone), mean_of(together)
    row["alone_mean_ns"], row["together_mean_ns"] = a[0], b[0]
    row["alone_interval_ns"], row["together_interval_ns"] = a[1:], b[1:]
    row["modes"] = [alone.mode, together.mode]
    if a[0] is None or b[0] is None or together.mode != "sample":
        row["same"] = False
        return "no GPU time, mode %s" % together.mode
    row["classes"] = compare_classes(work.classes_of(alone), work.classes_of(together))
    wrong = [c for c in row["classes"] if not c["same"]]
    row["same"] = alike(a, b, PER_PIECE_NS) and not wrong
    text = "mean %s, %s without it" % (interval(b), interval(a))
    if wrong:
        text += "; %s %.0f, %.0f" % (wrong[0]["class"][:40], wrong[0]["together_ns"],
                                     wrong[0]["alone_ns"])
    return text


def compare_classes(alone, together):
    found = []
    for key in alone:
        a, b = alone[key], together.get(key)
        if b is None or None in (a.mean, b.mean) or min(a.samples, b.samples) < SAMPLES_LEAST:
            continue
        figures = (a.mean, a.low, a.high), (b.mean, b.low, b.high)
        found.append({"class": work.text(key), "alone_ns": a.mean, "together_ns": b.mean,
                      "alone_interval_ns": figures[0][1:], "together_interval_ns": figures[1][1:],
                      "same": alike(*figures, CLASS_NS)})
    return found


def watched(settings, program, mode, argv):
    """(outcome, folder) of a run of the other tool without us."""
    folder = counts.fresh_folder(settings, program.name, mode.name + "-alone")
    outcome = process.run(mode.argv(settings, folder, argv),
                          {**mode.environment(settings, folder), **program.env},
                          settings.time_left(program.timeout), folder, "run")
    return outcome, folder


def row_of(settings, program, alone_mode, both_mode, argv):
    name = "%s, %s" % (alone_mode.name, program.name)
    row = {"what": name, "program": program.name, "pass": False, "text": ""}
    missing = program.missing() or both_mode.missing(settings) or alone_mode.missing(settings)
    if missing:
        return {**row, "pass": None, "text": missing}
    if settings.out_of_time():
        return {**row, "text": "not run: the time limit was reached"}
    outcome, folder = watched(settings, program, alone_mode, argv)
    both, together, trouble = runs.run_mode(settings, program, both_mode, argv=argv)
    sample, _, sample_trouble = runs.run_mode(settings, program, MODES["sample"], "sample-alone",
                                              argv=argv)
    if outcome.skipped:
        return {**row, "pass": None, "text": outcome.skipped}
    trouble = trouble or sample_trouble or (None if alone_mode.may_fail else outcome.trouble())
    if trouble:
        return {**row, "text": trouble}
    row["results"] = [outcome.results, together.results]
    figures = compare_figures(row, sample, both)
    if alone_mode.name == "profiler":
        seen = [(events, "it printed no events") for events in (profiler_saw(outcome), profiler_saw(together))]
    else:
        seen = [nsys_saw(settings, where)
                for where in (folder, counts.folder_of(settings, program.name, both_mode.name))]
    return {**row, **judge(row, figures, alone_mode.name, *seen)}


def judge(row, figures, tool, alone, together):
    """`text` and `pass` of a row whose figures are compared; of both runs: (what the tool saw, why not known)."""
    if alone[0] is None:
        return {"pass": None if row["same"] else False, "complete": None,
                "text": "%s's output cannot be read here: %s; %s" % (tool, alone[1], figures)}
    if together[0] is None:
        return {"pass": False, "complete": False,
                "text": "%s's output with us cannot be read: %s; %s" % (tool, together[1], figures)}
    output = compare_output(row, alone[0], together[0])
    return {"pass": row["complete"] and row["same"], "text": "%s; %s" % (output, figures)}


def run(settings, page):
    rows = []
    for program in programs.all_programs(settings):
        if program.name == PROFILER_PROGRAM:
            argv = program.argv[:program.argv.index("--iterations")] + \
                ["--iterations", PROFILER_ITERATIONS]
            rows.append(row_of(settings, program, MODES["profiler"], PROFILER_AND_SAMPLE, argv))
        elif program.name in NSYS_PROGRAMS:
            rows.append(row_of(settings, program, MODES["nsys"], NSYS_AND_SAMPLE,
                               program.quick_argv))
    page.table("Sampling beside another tool in the same process", rows)
    return {"rows": rows,
            "verdicts": [{**{k: r[k] for k in ("pass", "text")}, "what": "beside " + r["what"]}
                         for r in rows]}
