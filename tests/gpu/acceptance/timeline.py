"""Part `timeline`: busy share and idle by cause, estimated from samples, beside those of cupti mode.

Of several runs (--runs) the median of each share is compared.

And whether a full launch queue is told from costly launches: one_big_kernel waits for the GPU, many_tiny_launches
does not.
"""
from acceptance import runs

POINTS = 5.0      # percentage points that a share may differ by
MOST_SHARE = 0.8  # of the time in launches and waits that must be of the expected kind

WAITS = ("back_pressure_ns", "sync_useful_ns")
ISSUING = ("launch_ns", "back_pressure_ns", "contention_ns", "sync_useful_ns", "sync_wasted_ns")
# What most of the time in launches and waits must be.
EXPECTED = {"one_big_kernel": ("waiting for a GPU at work", WAITS),
            "many_tiny_launches": ("launch overhead", ("launch_ns",))}


def shares_of(report):
    """Shares of the GPU's window, in per cent: busy, and idle by cause; None where it is not known."""
    gpu = report.data["gpu"]
    window = gpu.get("window_ns")
    if not window or gpu["busy_ns"] is None:
        return None
    shares = {"busy": 100.0 * gpu["busy_ns"] / window}
    for cause, ns in gpu["idle_by"].items():
        shares["idle, " + cause] = 100.0 * (ns or 0) / window
    return {name: round(share, 2) for name, share in shares.items()}


def compare_shares(sample, cupti):
    """(the largest difference in percentage points, its name)."""
    return max((round(abs(sample.get(name, 0.0) - cupti.get(name, 0.0)), 2), name)
               for name in sorted(set(sample) | set(cupti)))


def shares_over(reports):
    """The medians of the shares over the runs; None where a run has none."""
    each = [shares_of(r) for r in reports]
    if not each or None in each:
        return None
    return {name: round(runs.median(e.get(name, 0.0) for e in each), 2) for name in {n: None for e in each for n in e}}


def share_expected(report, parts):
    """The share of `parts` in the time that launches and waits took; None where it is not known."""
    host = report.data["host"]
    times = {name: host[name] for name in ISSUING}
    if any(t is None for t in times.values()) or not sum(times.values()):
        return None
    return sum(times[name] for name in parts) / sum(times.values())


def told_apart(program, reports):
    """The row of one of the two programs that a full queue is told apart by; None for others."""
    expected = EXPECTED.get(program.name.split("/")[0])
    if not expected or not reports:
        return None
    what, parts = expected
    share = runs.median(share_expected(r, parts) for r in reports)
    return {"what": what, "share": share, "pass": share is not None and share >= MOST_SHARE,
            "host": {name: runs.median(r.data["host"][name] for r in reports) for name in ISSUING}}


def row_of(program, made):
    reports = {name: [r.reports[name] for r in made if name in r.reports] for name in ("sample", "cupti")}
    row = {"trouble": runs.troubles(made, ("truth", "sample", "cupti")), "pass": False,
           "told": told_apart(program, reports["sample"])}
    for name, found in reports.items():
        if found:
            row[name] = shares_over(found)
            row[name + "_window_ns"] = runs.median(r.data["gpu"].get("window_ns") for r in found)
    row["busy_runs"] = {name: [(shares_of(r) or {}).get("busy") for r in found] for name, found in reports.items()}
    wrong = [name for name in ("sample", "cupti") if name in row["trouble"] or not row.get(name)]
    if wrong:
        return {**row, "note": "; ".join("%s: %s" % (n, row["trouble"].get(n, "no timeline")) for n in wrong)}
    row["difference_points"], row["largest"] = compare_shares(row["sample"], row["cupti"])
    row["pass"] = row["difference_points"] <= POINTS
    return row


def verdicts(rows):
    had = [r for r in rows if r["pass"] is not None]
    bad = ["%s (%s)" % (r["program"], "%s %.1f points" % (r["largest"], r["difference_points"])
                        if "largest" in r else r["note"]) for r in had if not r["pass"]]
    worst = max((r.get("difference_points", 0.0) for r in had), default=0.0)
    found = [{"what": "busy and idle by cause, sample against cupti", "pass": bool(had) and not bad,
              "text": ", ".join(bad) if bad else "%d programs, at most %.1f points apart" % (
                  len(had), worst)}]
    for r in rows:
        if r.get("told"):
            share = r["told"]["share"]
            found.append({"what": "%s is %s" % (r["program"], r["told"]["what"]),
                          "pass": r["told"]["pass"],
                          "text": "not known" if share is None else "%.0f %% of the time in launches "
                          "and waits" % (100.0 * share)})
    return found


def run(settings, page):
    page.timeline_head()
    rows = runs.rows(settings, page, row_of, page.timeline_row)
    return {"runs": settings.rounds, "rows": rows, "verdicts": verdicts(rows)}
