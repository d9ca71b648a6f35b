"""Part `accuracy`: GPU times of the shim, sampled and by CUPTI, beside those of CUPTI alone in a run of its own.

The program as a whole: the GPU's busy time as a sum over kernels, graph launches, copies and sets; the truth's is
scaled, kind by kind, to the pieces that the shim's run had. Class by class: the mean time of one piece.
"""
from acceptance import runs, work

SHARE = 0.05          # of the truth
PER_PIECE_NS = 150.0  # a program's sum may be off by so much for each piece of work, if that is more
CLASS_NS = 200.0      # and a class's mean by so much
SAMPLES_LEAST = 30    # of a class that is judged
KNOWN_LEAST = 0.99    # share of pieces with a time, below which a note says so
HELD_LEAST = 0.90     # share of classes whose interval holds the truth


def expected_ns(truth, pieces):
    """The GPU time of so many pieces by kind, at the truth's mean of the kind; None where that is not known."""
    total = 0.0
    for kind, count in pieces.items():
        real, ns = truth.kinds.get(kind, (0, 0))
        if not real:
            return None
        total += count * ns / real
    return total


def compare_sum(report, truth):
    """The program's sum in one of the shim's modes."""
    pieces = report.pieces
    count = sum(pieces.values())
    whole = report.data["gpu"]["work"]["all"]
    ours, real = whole["gpu_total_ns"], expected_ns(truth, pieces)
    row = {"pieces": pieces, "truth_pieces": {k: n for k, (n, _) in truth.kinds.items() if n},
           "ours_ns": ours, "low_ns": whole["gpu_low_ns"], "high_ns": whole["gpu_high_ns"],
           "known_share": whole["gpu_known_share"], "samples": whole["samples"],
           "truth_ns": real, "percent": None, "per_piece_ns": None, "limit_ns": None, "pass": False}
    if real:
        row["limit_ns"] = max(SHARE * real, PER_PIECE_NS * count)
    if real and ours is not None:
        row["percent"] = round(100.0 * (ours / real - 1.0), 3)
        row["per_piece_ns"] = round((ours - real) / count, 1)
        row["pass"] = abs(ours - real) <= row["limit_ns"]
        row["interval_holds"] = row["low_ns"] <= real <= row["high_ns"]
    return row


def compare_class(key, ours, real):
    pieces, ns = real
    truth = ns / pieces
    row = {"class": work.text(key), "kind": key.kind, "pieces": ours.pieces, "truth_pieces": pieces,
           "samples": ours.samples, "mean_ns": ours.mean, "low_ns": ours.low, "high_ns": ours.high,
           "truth_ns": truth, "difference_ns": None, "percent": None, "interval_holds": None,
           "pass": None}
    if ours.mean is None:
        return row
    row["difference_ns"] = round(ours.mean - truth, 1)
    row["percent"] = round(100.0 * (ours.mean / truth - 1.0), 2) if truth else None
    row["interval_holds"] = ours.low <= truth <= ours.high
    if ours.samples >= SAMPLES_LEAST:
        row["pass"] = abs(ours.mean - truth) <= max(SHARE * truth, CLASS_NS)
    return row


def compare_classes(report, truth):
    """(rows of the classes that both know, keys that one of them lacks)."""
    shapes = any(k.kind == "kernel" and k.grid for k in truth.classes)
    ours = work.classes_of(report, shapes)
    real = {k: v for k, v in truth.classes.items() if v[0]}
    both = [compare_class(k, ours[k], real[k]) for k in ours if k in real]
    both.sort(key=lambda r: -r["pieces"] * r["truth_ns"])
    alone = {"ours": sorted(work.text(k) for k in set(ours) - set(real)),
             "truth": sorted(work.text(k) for k in set(real) - set(ours))}
    return both, alone


def row_of(program, three):
    row = {"trouble": three.trouble, "loop_s": three.loop_s, "pass": False}
    if "truth" in three.trouble:
        return {**row, "note": "truth: " + three.trouble["truth"]}
    truth = three.truths[0]
    row["truth"] = truth.as_json()
    for name, report in three.reports.items():
        row[name] = compare_sum(report, truth)
        row[name]["mode"] = report.mode
    if not three.reports:
        return {**row, "note": "the shim's runs failed: %s" % three.trouble}
    if "sample" in three.reports:
        row["classes"], row["classes_alone"] = compare_classes(three.reports["sample"], truth)
        row["calibration"] = three.reports["sample"].data["gpu"]["calibration"]
    if not truth.kinds:
        return {**row, "pass": None, "note": "the truth has no spans of graphs"}
    wrong = [c for c in row.get("classes", []) if c["pass"] is False]
    notes = ["%s: %s" % kv for kv in three.trouble.items()]
    if wrong:
        notes.append("%d classes off, the largest: %s, %+.0f ns" % (
            len(wrong), wrong[0]["class"][:60], wrong[0]["difference_ns"]))
    known = row.get("sample", {}).get("known_share")
    if known is not None and known < KNOWN_LEAST:
        notes.append("sampled: %.0f %% of the pieces have no time" % (100 * (1 - known)))
    row["note"] = "; ".join(notes) or None
    row["pass"] = not three.trouble and not wrong and row["sample"]["pass"]
    return row


def sum_verdicts(rows, mode):
    """One line a mode: which programs' sums are off, or how far off the worst is."""
    had = [r for r in rows if r["pass"] is not None and r.get("truth")]
    bad = ["%s %s" % (r["program"], figure(r[mode])) if mode in r else "%s (no run)" % r["program"]
           for r in had if mode not in r or not r[mode]["pass"] or mode in r["trouble"]]
    text = ", ".join(bad) if bad else "%d programs, at most %.2f %% or %.0f ns a piece off" % (
        len(had), max((abs(r[mode]["percent"]) for r in had), default=0),
        max((abs(r[mode]["per_piece_ns"]) for r in had), default=0))
    return {"what": "GPU time of programs, %s" % mode, "pass": bool(had) and not bad, "text": text}


def figure(one):
    if one["percent"] is None:
        return "(not known)"
    return "%+.1f %% (%+.0f ns a piece)" % (one["percent"], one["per_piece_ns"])


def class_verdicts(rows):
    classes = [(r["program"], c) for r in rows for c in r.get("classes", [])]
    judged = [(p, c) for p, c in classes if c["pass"] is not None]
    wrong = ["%s %s %+.0f ns" % (p, c["class"][:40], c["difference_ns"])
             for p, c in judged if not c["pass"]]
    held = [c["interval_holds"] for _, c in classes if c["interval_holds"] is not None]
    share = sum(held) / len(held) if held else 0.0
    return [
        {"what": "GPU time of classes", "pass": bool(judged) and not wrong,
         "text": ", ".join(wrong) if wrong else "%d classes of at least %d samples" % (
             len(judged), SAMPLES_LEAST)},
        {"what": "intervals of classes", "pass": bool(held) and share >= HELD_LEAST,
         "text": "%d of %d hold the truth (%.0f %%)" % (sum(held), len(held), 100 * share)}]


def run(settings, page):
    page.accuracy_head()
    rows = runs.rows(settings, page, row_of, page.accuracy_row)
    found = [sum_verdicts(rows, "sample"), sum_verdicts(rows, "cupti")] + class_verdicts(rows)
    failed = [r["program"] for r in rows if r["pass"] is False and not r.get("truth")]
    if failed:
        found.append({"what": "accuracy not measured", "pass": False, "text": ", ".join(failed)})
    return {"rows": rows, "verdicts": found}
