# SPDX-License-Identifier: Apache-2.0
"""Part `accuracy`: GPU times of the shim, sampled and by CUPTI, beside those of CUPTI alone in a run of its own.

The program as a whole: the GPU's busy time as a sum over kernels, graph launches, copies and sets; the truth's is
scaled, kind by kind, to the pieces that the shim's run had. Class by class: the mean time of one piece.

Of several runs (--runs) medians are compared: of the truth the median, over its runs, of the mean time of a piece, kind
by kind and class by class. Each run's sum is compared with that, and the run in the middle stands for the program; of
an even number the worse of the two in the middle. Of a class the median of its means is compared, and the interval of
each run.

Of CUPTI's own records some cannot be true (tests/gpu/cupti_untrue.c). They are left out of the truth; a class of which
many are like that, and in cupti mode, which has its times from CUPTI too, a class of which any is, is left out on both
sides, and the program's sum compares the rest.

Where pieces have no time (they were never sampled) the sum lacks them, and is judged as it is; beside it stands what the
pieces with a time come to (`known`). Copies of pageable memory take as long as the host takes to stage them, which differs
from run to run: their classes are compared with CUPTI's records of the same run (`same_run`), in a run of its own.
"""
from acceptance import runs, work

SHARE = 0.05          # of the truth
PER_PIECE_NS = 150.0  # a program's sum may be off by so much for each piece of work, if that is more
CLASS_NS = 200.0      # and a class's mean by so much
SAMPLES_LEAST = 30    # of a class that is judged
KNOWN_LEAST = 0.99    # share of pieces with a time, below which a note says so
UNTRUE_MOST = 0.20    # share of a class's records that cannot be true, beyond which it has no truth
STAGED_SIZE = work.size_bucket(65536)  # copies to the device from here on are staged
HELD_LEAST = 0.90     # share of classes whose interval holds the truth


def middle(pairs):
    """Of (pieces, ns) of several runs that of the median time of a piece; runs without a piece do not count."""
    pairs = sorted((p for p in pairs if p[0]), key=lambda p: p[1] / p[0])
    if not pairs:
        return 0, 0
    a, b = pairs[(len(pairs) - 1) // 2], pairs[len(pairs) // 2]
    return a if a is b else (a[0], a[0] * (a[1] / a[0] + b[1] / b[0]) / 2)


class Truths:
    """What CUPTI's runs come to; one run's as it is."""

    def __init__(self, truths):
        self.each = truths
        self.untrue, self.pieces = {}, {}  # of a class, in all runs; pieces: those with a time
        for t in truths:
            for key, count in t.untrue.items():
                self.untrue[key] = self.untrue.get(key, 0) + count
            for key, (count, _) in t.classes.items():
                self.pieces[key] = self.pieces.get(key, 0) + count
        self.classes = {key: middle(t.classes.get(key, (0, 0)) for t in truths) for key in self.pieces}

    @property
    def has_shapes(self):
        return any(k.kind == "kernel" and k.grid for k in self.classes)

    def without_truth(self, mode):
        """Keys of the classes that cannot be compared."""
        def share(key):
            return self.untrue[key] / (self.untrue[key] + self.pieces.get(key, 0))
        return [k for k in self.untrue if mode == "cupti" or share(k) > UNTRUE_MOST]

    def kinds(self, left_out=()):
        """{kind: (pieces, ns)} of all but the classes left out."""
        each = [kinds_without(t, left_out) for t in self.each]
        return {kind: middle(k.get(kind, (0, 0)) for k in each) for kind in {kind: None for k in each for kind in k}}


def kinds_without(truth, left_out):
    kinds = dict(truth.kinds)
    for key in left_out:
        pieces, ns = kinds.get(key.kind, (0, 0))
        real = truth.classes.get(key, (0, 0))
        kinds[key.kind] = (pieces - real[0], ns - real[1])
    return kinds


def expected(pieces, kinds):
    """The truth's time of so many pieces, at its mean of their kind; None where that is not known."""
    total = 0.0
    for kind, count in pieces.items():
        real, ns = kinds.get(kind, (0, 0))
        if count and not real:
            return None
        total += count * ns / real if count else 0
    return total


class Sum:
    """What is compared of a run: all but the classes without a truth."""

    def __init__(self, report, truths, left_out):
        whole = report.data["gpu"]["work"]["all"]
        self.pieces = dict(report.pieces)
        self.ours, self.low, self.high = (whole["gpu_%s_ns" % x] for x in ("total", "low", "high"))
        classes = work.classes_of(report, truths.has_shapes)
        for key in left_out:
            self.leave_out(key, classes.get(key, work.Class()))

    def leave_out(self, key, ours):
        self.pieces[key.kind] = self.pieces.get(key.kind, 0) - ours.pieces
        if self.ours is not None:  # how far the whole may be off, the rest may be
            self.ours, self.low, self.high = (x - ours.sum for x in (self.ours, self.low, self.high))


def compare_known(report, truths, left_out):
    """The sum over the classes that have a time in both; None where there is none."""
    classes = work.classes_of(report, truths.has_shapes)
    both = [(classes[k], truths.classes[k]) for k in classes
            if classes[k].timed and truths.classes.get(k, (0, 0))[0] and k not in left_out]
    real = sum(ours.timed * ns / pieces for ours, (pieces, ns) in both)
    ours = sum(c.sum for c, _ in both)
    return {"pieces": sum(c.timed for c, _ in both), "ours_ns": ours, "truth_ns": real,
            "percent": round(100.0 * (ours / real - 1.0), 3)} if real else None


def compare_sum(report, truths, mode="sample"):
    """The program's sum in one run in one of the shim's modes."""
    left_out = truths.without_truth(mode)
    s, kinds = Sum(report, truths, left_out), truths.kinds(left_out)
    count = sum(s.pieces.values())
    whole = report.data["gpu"]["work"]["all"]
    ours, real = s.ours, expected(s.pieces, kinds)
    row = {"pieces": s.pieces, "truth_pieces": {k: n for k, (n, _) in kinds.items() if n},
           "ours_ns": ours, "low_ns": s.low, "high_ns": s.high,
           "known_share": whole["gpu_known_share"], "samples": whole["samples"],
           "known": compare_known(report, truths, left_out), "left_out": [work.text(k) for k in left_out],
           "truth_ns": real, "percent": None, "per_piece_ns": None, "limit_ns": None, "pass": False,
           "truth_ns_runs": [expected(s.pieces, kinds_without(t, left_out)) for t in truths.each], "mode": report.mode}
    if real:
        row["limit_ns"] = max(SHARE * real, PER_PIECE_NS * count)
    if real and ours is not None:
        row["percent"] = round(100.0 * (ours / real - 1.0), 3)
        row["per_piece_ns"] = round((ours - real) / count, 1)
        row["pass"] = abs(ours - real) <= row["limit_ns"]
        row["interval_holds"] = row["low_ns"] <= real <= row["high_ns"]
    return row


def compare_sums(reports, truths, mode):
    """The row of the run in the middle, with the figures of all; that of a run without a figure, where one is."""
    found = [compare_sum(r, truths, mode) for r in reports]
    unknown = [r for r in found if r["percent"] is None]
    by_size = sorted(found, key=lambda r: r["percent"]) if not unknown else unknown[:1]
    row = max(by_size[(len(by_size) - 1) // 2:len(by_size) // 2 + 1], key=lambda r: abs(r["percent"] or 0))
    return {**row, "ours_ns_runs": [r["ours_ns"] for r in found], "percent_runs": [r["percent"] for r in found]}


def is_staged(key):
    """The host takes it through buffers of its own: it takes as long as that does (shim/core/gpu_time/estimate_staged.h)."""
    return key.kind == "copy" and key.memory == "pageable" and (key.direction == "DtoH" or key.size >= STAGED_SIZE)


def means_of(key, truths):
    """The class's mean time of a piece in each run, ns; None where it was not there."""
    each = [t.classes.get(key, (0, 0)) for t in truths.each]
    return [ns / pieces if pieces else None for pieces, ns in each]


def holds(ours, truth):
    return truth is not None and ours.low <= truth <= ours.high


def compare_class(key, ours, truths, same_run=False):
    """`ours`: the class in each run; `same_run`: those that the truths are of."""
    pieces, ns = truths.classes[key]
    truth = ns / pieces
    means = means_of(key, truths)
    had = [c for c in ours if c.mean is not None]
    row = {"class": work.text(key), "kind": key.kind, "pieces": max(c.pieces for c in ours), "truth_pieces": pieces,
           "samples": min(c.samples for c in ours), "mean_ns": runs.median(c.mean for c in had),
           "low_ns": runs.median(c.low for c in had), "high_ns": runs.median(c.high for c in had),
           "truth_ns": truth, "difference_ns": None, "percent": None, "interval_holds": None, "pass": None,
           "mean_ns_runs": [c.mean for c in ours], "truth_ns_runs": means, "same_run": same_run,
           "interval_holds_runs": [holds(c, means[i] if same_run else truth) for i, c in enumerate(ours)
                                   if c.mean is not None]}
    if not had:
        return row
    row["difference_ns"] = round(row["mean_ns"] - truth, 1)
    row["percent"] = round(100.0 * (row["mean_ns"] / truth - 1.0), 2) if truth else None
    row["interval_holds"] = all(row["interval_holds_runs"])
    if row["samples"] >= SAMPLES_LEAST:
        row["pass"] = abs(row["mean_ns"] - truth) <= max(SHARE * truth, CLASS_NS)
    return row


class Same:
    """The runs with the shim and CUPTI in one process, for the classes that differ from run to run."""

    def __init__(self, made):
        both = [r for r in made if "beside" in r.reports and "beside" in r.truths]
        self.truths = Truths([r.truths["beside"] for r in both])
        self.classes = [work.classes_of(r.reports["beside"], self.truths.has_shapes) for r in both]

    def tells(self, key):
        return is_staged(key) and self.truths.classes.get(key, (0, 0))[0] > 0


def compare_classes(made, truths):
    """(rows of the classes that both know, keys that one of them lacks)."""
    each = [work.classes_of(r.reports["sample"], truths.has_shapes) for r in made if "sample" in r.reports]
    same = Same(made)
    ours = {key: None for classes in each for key in classes}
    left_out = truths.without_truth("sample")
    real = {k for k, v in truths.classes.items() if v[0] and k not in left_out}
    both = []
    for key in (k for k in ours if k in real):
        told = same.tells(key)
        runs_of = same.classes if told else each
        both.append(compare_class(key, [classes.get(key) or work.Class() for classes in runs_of],
                                  same.truths if told else truths, told))
    both.sort(key=lambda r: -r["pieces"] * r["truth_ns"])
    alone = {"ours": sorted(work.text(k) for k in set(ours) - real),
             "truth": sorted(work.text(k) for k in real - set(ours))}
    return both, alone


def least_and_most(percents):
    """None where one of them is not known, or there is none."""
    return [min(percents), max(percents)] if percents and None not in percents else None


def spread_of(row):
    """{"truth", "sample", "cupti": [least, most]} of the runs, per cent off the truth's median."""
    found = {mode: least_and_most(row[mode]["percent_runs"]) for mode in ("sample", "cupti") if mode in row}
    one = row.get("sample") or row["cupti"]
    off = [round(100.0 * (ns / one["truth_ns"] - 1.0), 3) if ns and one["truth_ns"] else None
           for ns in one["truth_ns_runs"]]
    return {"truth": least_and_most(off), **found}


def told_of_sums(row, truths):
    """What the sums of a row do not say by themselves."""
    notes = []
    for key, pieces in truths.untrue.items():
        notes.append("CUPTI's time of %d of %d of %s cannot be true, since other work of the stream ran meanwhile: "
                     "not compared" % (pieces, pieces + truths.pieces.get(key, 0), work.text(key)[:60]))
    for mode in ("sample", "cupti"):
        if row.get(mode, {}).get("left_out"):
            notes.append("%s mode: left out on both sides: %s" % (mode, ", ".join(row[mode]["left_out"])))
    one = row.get("sample", {})
    if one.get("known_share") is not None and one["known_share"] < KNOWN_LEAST:
        notes.append("sampled: %.0f %% of the pieces have no time%s" % (
            100 * (1 - one["known_share"]),
            "; those that have one: %+.1f %%" % one["known"]["percent"] if one["known"] else ""))
    return notes


def row_of(program, made):
    trouble = runs.troubles(made, ("truth", "sample", "cupti"))
    row = {"trouble": trouble, "loop_s": runs.loop_times(made), "pass": False}
    real = [r.truths["truth"] for r in made if "truth" in r.truths]
    if not real:
        return {**row, "note": "truth: " + trouble["truth"]}
    truths = Truths(real)
    row["truth"] = real[0].as_json()
    reports = {name: [r.reports[name] for r in made if name in r.reports] for name in ("sample", "cupti")}
    for name, found in reports.items():
        if found:
            row[name] = compare_sums(found, truths, name)
    if not any(reports.values()):
        return {**row, "note": "the shim's runs failed: %s" % trouble}
    row["spread_percent"] = spread_of(row)
    if reports["sample"]:
        row["classes"], row["classes_alone"] = compare_classes(made, truths)
        row["calibration"] = reports["sample"][0].data["gpu"]["calibration"]
    if not truths.kinds():
        return {**row, "pass": None, "note": "the truth has no spans of graphs"}
    wrong = [c for c in row.get("classes", []) if c["pass"] is False]
    notes = ["%s: %s" % kv for kv in trouble.items()]
    if wrong:
        notes.append("%d classes off, the largest: %s, %+.0f ns" % (
            len(wrong), wrong[0]["class"][:60], wrong[0]["difference_ns"]))
    notes += told_of_sums(row, truths)
    row["note"] = "; ".join(notes) or None
    row["pass"] = not trouble and not wrong and row["sample"]["pass"]
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
    if len(one["percent_runs"]) > 1:
        text += "; runs %+.1f .. %+.1f %%" % tuple(least_and_most(one["percent_runs"]))
    return text + ")"


def class_verdicts(rows):
    classes = [(r["program"], c) for r in rows for c in r.get("classes", [])]
    judged = [(p, c) for p, c in classes if c["pass"] is not None]
    wrong = ["%s %s %+.0f ns" % (p, c["class"][:40], c["difference_ns"])
             for p, c in judged if not c["pass"]]
    held = [h for _, c in classes for h in c["interval_holds_runs"]]
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
    return {"runs": settings.rounds, "rows": rows, "verdicts": found}
