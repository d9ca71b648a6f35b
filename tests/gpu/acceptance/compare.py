# SPDX-License-Identifier: Apache-2.0
"""The differences between what the shim recorded and what really happened.

Nothing is hidden: a difference that has a known innocent cause is listed too, with the cause in `known`, but it does
not fail the program.
"""
import re

TOTALS = ("launches", "graph_launches", "copies", "copy_bytes", "sets")
# Kernel names in the report are cut at this length (report/base/names.h).
NAME_MOST = 8192


def difference(what, ours, truth, known=None, process=None):
    return {"what": what, "ours": ours, "truth": truth, "known": known, "process": process}


def compare_totals(report, truth):
    found = []
    for key in TOTALS:
        ours, real = report.totals.get(key), getattr(truth, key)
        if ours != real:
            found.append(difference(key, ours, real, known_cause(key, ours, real, report, truth)))
    if truth.captured is not None and report.totals.get("captured") != truth.captured:
        found.append(difference("captured", report.totals.get("captured"), truth.captured))
    return found


def known_cause(key, ours, real, report, truth):
    """A cause that explains the difference to the last unit, or None."""
    on_host = [c for c in report.data["copies"] if c["direction"] == "HtoH"]
    missing = {"copies": sum(c["count"] for c in on_host),
               "copy_bytes": sum(c["bytes"] for c in on_host)}.get(key)
    if missing and ours == real + missing and "HtoH" not in truth.directions:
        return "copies from host to host are done by the CPU and leave no GPU record"
    return None


def compare_kernels(report, truth):
    ours = {name[:NAME_MOST]: count for name, count in report.kernels.items()}
    real = {}
    for name, count in truth.kernels.items():
        real[name[:NAME_MOST]] = real.get(name[:NAME_MOST], 0) + count
    found = []
    for name in sorted(set(ours) | set(real)):
        if ours.get(name, 0) != real.get(name, 0):
            found.append(difference("kernel %s" % name, ours.get(name, 0), real.get(name, 0)))
    return found


def compare_directions(report, truth):
    """The shim may not know a copy's direction (unified addresses): then it must say so, not lie."""
    ours, real = dict(report.directions), dict(truth.directions)
    unknown = ours.pop("unknown", 0)
    found = []
    for name in sorted(set(ours) | set(real)):
        if ours.get(name, 0) == real.get(name, 0):
            continue
        known = None
        if name == "HtoH" and name not in real:
            known = "copies from host to host are done by the CPU and leave no GPU record"
        elif ours.get(name, 0) < real.get(name, 0) and \
                real.get(name, 0) - ours.get(name, 0) <= unknown:
            known = "%d copies have no direction of their own (unified addressing)" % unknown
        found.append(difference("copies " + name, ours.get(name, 0), real.get(name, 0), known))
    return found


def compare_health(report):
    """A recording that lost something, or a call that bypassed the shim."""
    found = []
    if report.data["lost"]["records"]:
        found.append(difference("lost records", report.data["lost"]["records"], 0,
                                "the counts are exact all the same"))
    for gap in report.data["gaps"]:
        found.append(difference("gap", gap, None, "named by the report"))
    return found


def compare(reports, truths):
    """All differences of one run; recordings and truths are matched by process."""
    found = []
    by_pid = {t.pid: t for t in truths}
    for report in reports:
        truth = by_pid.pop(report.pid, None)
        rows = compare_health(report)
        if truth is None:
            rows.append(difference("process without a truth", report.pid, None))
        else:
            rows += compare_totals(report, truth) + compare_kernels(report, truth)
            rows += compare_directions(report, truth)
            rows += [difference("the truth itself", None, text) for text in truth.troubles]
        for row in rows:
            row["process"] = report.pid
        found += rows
    for pid, truth in by_pid.items():
        # A child that only initialised CUDA did nothing that could be missed.
        idle = not (truth.launches or truth.copies or truth.sets or truth.graph_launches)
        found.append(difference("process without a recording", None, pid,
                                "it did no work on a GPU" if idle else None, pid))
    return found


def base_name(kernel):
    """`fill` of `void ns::fill<float>(float*)`: without template arguments, parameters and scope."""
    plain, depth = "", 0
    for c in kernel.replace("(anonymous namespace)", "anonymous"):
        if c == "(" and not depth:
            break
        depth += (c == "<") - (c == ">")
        plain += c if not depth and c != ">" else ""
    return plain.split()[-1].split("::")[-1] if plain.strip() else kernel


def stated(report, key):
    """The figure of a report that a sample's `expect:` key means; None where it has none."""
    found = re.fullmatch(r"copies_([a-z]to[a-z])_?([a-z]*)", key)
    if found:
        direction = {"htod": "HtoD", "dtoh": "DtoH", "dtod": "DtoD"}.get(found.group(1))
        return report.copies(direction, found.group(2) or None)
    return report.totals.get(key)


def compare_expected(reports, outcome):
    """With what a sample says of itself."""
    expected, kernels = outcome.expected, outcome.expected_kernels
    if not expected and not kernels:
        return []
    if len(reports) != 1:
        return [difference("recordings", len(reports), 1)]
    found = []
    for key, value in expected.items():
        ours = stated(reports[0], key)
        if ours != value:
            found.append(difference("expect: " + key, ours, value))
    if kernels:
        ours = {}
        for name, count in reports[0].kernels.items():
            ours[base_name(name)] = ours.get(base_name(name), 0) + count
        for name in sorted(set(ours) | set(kernels)):
            if ours.get(name, 0) != kernels.get(name, 0):
                found.append(difference("expect: kernel " + name, ours.get(name, 0),
                                        kernels.get(name, 0)))
    return found


def unexplained(differences):
    return [d for d in differences if not d["known"]]
