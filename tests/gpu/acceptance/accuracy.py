"""Part `accuracy`: GPU times of the shim, sampled and by CUPTI, beside those of CUPTI alone in a run of its own.

The program as a whole: the GPU's busy time as a sum over kernels, graph launches, copies and sets; the truth's is
scaled, kind by kind, to the pieces that the shim's run had. Class by class: the mean time of one piece.

Of CUPTI's own records some cannot be true (tests/gpu/cupti_untrue.c). They are left out of the truth; a class of which
many are like that, and in cupti mode, which has its times from CUPTI too, a class of which any is, is left out on both
sides, and the program's sum compares the rest.

Where pieces have no time (they were never sampled) the sum lacks them, and is judged as it is; beside it stands what the
pieces with a time come to (`known`). Copies of pageable memory take as long as the host takes to stage them, which differs
from run to run.
"""
from acceptance import runs, work

SHARE = 0.05          # of the truth
PER_PIECE_NS = 150.0  # a program's sum may be off by so much for each piece of work, if that is more
CLASS_NS = 200.0      # and a class's mean by so much
SAMPLES_LEAST = 30    # of a class that is judged
KNOWN_LEAST = 0.99    # share of pieces with a time, below which a note says so
UNTRUE_MOST = 0.20    # share of a class's records that cannot be true, beyond which it has no truth
HELD_LEAST = 0.90     # share of classes whose interval holds the truth


def has_shapes(truth):
    return any(k.kind == "kernel" and k.grid for k in truth.classes)


def without_truth(truth, mode):
    """Keys of the classes that cannot be compared."""
    def share(key):
        return truth.untrue[key] / (truth.untrue[key] + truth.classes.get(key, (0, 0))[0])
    return [k for k in truth.untrue if mode == "cupti" or share(k) > UNTRUE_MOST]


class Sum:
    """What is compared of a run and of its truth: all but the classes without a truth, which are left out of both."""

    def __init__(self, report, truth, left_out):
        whole = report.data["gpu"]["work"]["all"]
        self.pieces, self.kinds = dict(report.pieces), dict(truth.kinds)
        self.ours, self.low, self.high = (whole["gpu_%s_ns" % x] for x in ("total", "low", "high"))
        classes = work.classes_of(report, has_shapes(truth))
        for key in left_out:
            self.leave_out(key, classes.get(key, work.Class()), truth.classes.get(key, (0, 0)))
        self.real = self.expected()

    def leave_out(self, key, ours, real):
        self.pieces[key.kind] = self.pieces.get(key.kind, 0) - ours.pieces
        pieces, ns = self.kinds.get(key.kind, (0, 0))
        self.kinds[key.kind] = (pieces - real[0], ns - real[1])
        if self.ours is not None:  # how far the whole may be off, the rest may be
            self.ours, self.low, self.high = (x - ours.sum for x in (self.ours, self.low, self.high))

    def expected(self):
        """The truth's time of our pieces, at its mean of their kind; None where that is not known."""
        total = 0.0
        for kind, count in self.pieces.items():
            real, ns = self.kinds.get(kind, (0, 0))
            if count and not real:
                return None
            total += count * ns / real if count else 0
        return total


def compare_known(report, truth, left_out):
    """The sum over the classes that have a time in both; None where there is none."""
    classes = work.classes_of(report, has_shapes(truth))
    both = [(classes[k], truth.classes[k]) for k in classes
            if classes[k].timed and truth.classes.get(k, (0, 0))[0] and k not in left_out]
    real = sum(ours.timed * ns / pieces for ours, (pieces, ns) in both)
    ours = sum(c.sum for c, _ in both)
    return {"pieces": sum(c.timed for c, _ in both), "ours_ns": ours, "truth_ns": real,
            "percent": round(100.0 * (ours / real - 1.0), 3)} if real else None


def compare_sum(report, truth, mode="sample"):
    """The program's sum in one of the shim's modes."""
    left_out = without_truth(truth, mode)
    s = Sum(report, truth, left_out)
    count = sum(s.pieces.values())
    whole = report.data["gpu"]["work"]["all"]
    ours, real = s.ours, s.real
    row = {"pieces": s.pieces, "truth_pieces": {k: n for k, (n, _) in s.kinds.items() if n},
           "ours_ns": ours, "low_ns": s.low, "high_ns": s.high,
           "known_share": whole["gpu_known_share"], "samples": whole["samples"],
           "known": compare_known(report, truth, left_out), "left_out": [work.text(k) for k in left_out],
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
    ours = work.classes_of(report, has_shapes(truth))
    left_out = without_truth(truth, "sample")
    real = {k: v for k, v in truth.classes.items() if v[0] and k not in left_out}
    both = [compare_class(k, ours[k], real[k]) for k in ours if k in real]
    both.sort(key=lambda r: -r["pieces"] * r["truth_ns"])
    alone = {"ours": sorted(work.text(k) for k in set(ours) - set(real)),
             "truth": sorted(work.text(k) for k in set(real) - set(ours))}
    return both, alone


def told_of_sums(row, truth):
    """What the sums of a row do not say by themselves."""
    notes = []
    for key, pieces in truth.untrue.items():
        notes.append("CUPTI's time of %d of %d of %s cannot be true, since other work of the stream ran meanwhile: "
                     "not compared" % (pieces, pieces + truth.classes.get(key, (0, 0))[0], work.text(key)[:60]))
    for mode in ("sample", "cupti"):
        if row.get(mode, {}).get("left_out"):
            notes.append("%s mode: left out on both sides: %s" % (mode, ", ".join(row[mode]["left_out"])))
    one = row.get("sample", {})
    if one.get("known_share") is not None and one["known_share"] < KNOWN_LEAST:
        notes.append("sampled: %.0f %% of the pieces have no time%s" % (
            100 * (1 - one["known_share"]),
            "; those that have one: %+.1f %%" % one["known"]["percent"] if one["known"] else ""))
    return notes


def row_of(program, three):
    row = {"trouble": three.trouble, "loop_s": three.loop_s, "pass": False}
    if "truth" in three.trouble:
        return {**row, "note": "truth: " + three.trouble["truth"]}
    truth = three.truths[0]
    row["truth"] = truth.as_json()
    for name, report in three.reports.items():
        row[name] = compare_sum(report, truth, name)
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
    notes += told_of_sums(row, truth)
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
    text = "%+.1f %% (%+.0f ns a piece" % (one["percent"], one["per_piece_ns"])
    if one["known_share"] is not None and one["known_share"] < KNOWN_LEAST and one["known"]:
        text += "; %.0f %% of the pieces have no time, the others %+.1f %%" % (
            100 * (1 - one["known_share"]), one["known"]["percent"])
    return text + ")"


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
