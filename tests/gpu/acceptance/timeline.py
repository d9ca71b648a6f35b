# SPDX-License-Identifier: Apache-2.0
"""Part `timeline`: busy share and idle by cause, estimated from samples, beside those of cupti mode.

CUPTI makes some programs slower, and then the shares differ though the times agree. So another run is sampled while
CUPTI records in the same process (`beside`): it has CUPTI's cost as cupti mode has, and its busy share stands beside
the one that CUPTI's records of that very run come to. Those are the union over all work of the program, graphs as
spans, without the kernels that cudaspy runs of its own. Of several runs (--runs) the median of each share is compared.

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


def busy_truth(done):
    """The busy share of the run beside CUPTI, by CUPTI's records; None where it is not known."""
    report, real = done.reports.get("beside"), done.truths.get("beside")
    window = report.data["gpu"].get("window_ns") if report else None
    if not window or real is None or real.busy_ns is None:
        return None
    return round(100.0 * real.busy_ns / window, 2)


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


def judge(points, largest):
    return {"difference_points": points, "largest": largest, "pass": points <= POINTS}


def wrong_of(row, names):
    """Why shares of these runs are not known or not to be trusted, or None."""
    return "; ".join("%s: %s" % (n, row["trouble"].get(n, "no timeline")) for n in names
                     if n in row["trouble"] or not row.get(n)) or None


def compare_under_cupti(row, made):
    """Fills in the comparisons of the run beside CUPTI; what is wrong with it, or None."""
    row["under_cupti"] = row["same_run"] = None
    wrong = wrong_of(row, ("beside",))
    if wrong:
        return wrong
    if not wrong_of(row, ("cupti",)):
        row["under_cupti"] = judge(*compare_shares(row["beside"], row["cupti"]))
    if row["busy_truth"] is None:
        return "beside: CUPTI's records do not tell the busy share"
    apart = [abs(shares_of(r.reports["beside"])["busy"] - busy_truth(r)) for r in made]
    row["same_run"] = {**judge(round(runs.median(apart), 2), "busy"), "points_runs": [round(x, 2) for x in apart]}
    if not all(r.truths["beside"].kinds for r in made):  # a launch of a graph lasts from its first node to its last
        row["same_run"]["pass"] = None
        return "beside: the truth has no spans of graphs"
    return None


def row_of(program, made):
    reports = {name: [r.reports[name] for r in made if name in r.reports] for name in ("sample", "cupti", "beside")}
    row = {"trouble": runs.troubles(made, ("truth", "sample", "cupti", "beside")), "pass": False,
           "told": told_apart(program, reports["sample"])}
    for name, found in reports.items():
        if found:
            row[name] = shares_over(found)
            row[name + "_window_ns"] = runs.median(r.data["gpu"].get("window_ns") for r in found)
    row["busy_truth"] = runs.median(busy_truth(r) for r in made)
    row["busy_runs"] = {name: [(shares_of(r) or {}).get("busy") for r in found] for name, found in reports.items()}
    row["busy_runs"]["truth"] = [busy_truth(r) for r in made]
    row["beside_truth"] = [r.truths["beside"].as_json() for r in made if "beside" in r.truths]
    wrong = wrong_of(row, ("sample", "cupti"))
    beside_wrong = compare_under_cupti(row, made)
    row["note"] = "; ".join(n for n in (wrong, beside_wrong) if n) or None
    if wrong:
        return row
    return {**row, **judge(*compare_shares(row["sample"], row["cupti"]))}


def verdict(what, rows, judged):
    """`judged`: of a row, what it says of this; None: nothing. A row whose `pass` is None cannot be judged."""
    ran = [(r, judged(r) or {}) for r in rows if r["pass"] is not None]
    had = [(r, j) for r, j in ran if j.get("pass", False) is not None]
    bad = ["%s (%s)" % (r["program"], "%s %.1f points" % (j["largest"], j["difference_points"])
                        if "largest" in j else r["note"]) for r, j in had if not j.get("pass")]
    worst = max((j.get("difference_points", 0.0) for _, j in had), default=0.0)
    return {"what": what, "pass": bool(had) and not bad if had or not ran else None,
            "text": ", ".join(bad) if bad else "%d programs, at most %.1f points apart" % (len(had), worst)}


def verdicts(rows):
    found = [verdict("busy and idle by cause, sample against cupti", rows, lambda r: r),
             verdict("busy and idle by cause under CUPTI's cost, sample against cupti", rows,
                     lambda r: r.get("under_cupti")),
             verdict("busy share in the same run, sample against CUPTI's records", rows, lambda r: r.get("same_run"))]
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
