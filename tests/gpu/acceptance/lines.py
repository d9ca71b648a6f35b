# SPDX-License-Identifier: Apache-2.0
"""Part `lines`: programs whose cause is marked in their source: does the report name that line?

A line of tests/gpu/workloads that ends in `# cause: KIND` makes the calls that are wrong: `wait`, `copy`, `launch`, `alloc`, or
several of them, where one line does both. Of the call sites of these kinds the one with most API time must be at a marked line;
of a library's thread the line counts at which the program was meanwhile.
`KIND in NAME`: the calls are made where no Python runs, in a thread or a library of that name; then the report must name that.
`loader`: work on the host, in no call of CUDA, so that no call has its line; `# cause: delayed` marks the call that comes
next, which that work delays. The finding that says so must name the marked line, or the delayed one and that the work is
ahead of it, which is counted apart, as a line that cannot be known is.
"""
import collections
import contextlib
import json
import os
import re
import threading

from acceptance import fixes, lanes, shim

DELAYED = "delayed"
MODE = "sample"
MARK = re.compile(r"#\s*cause:\s*([a-z]+(?:,[a-z]+)*)(?:\s+in\s+(\S+))?\s*$")
FINDINGS = {
    "wait": ("sync-every-step", "sync-too-early", "device-sync-for-stream"),
    "copy": ("pageable-async-copy", "many-small-copies", "low-bandwidth-copy", "copy-not-overlapped", "copy-back-and-forth"),
    "launch": ("many-short-launches",), "alloc": ("alloc-churn",), "loader": ("host-starves-gpu",)}


class Cause:
    """What is marked in a program: the kinds, the lines, those of calls that the host's work delays, and the threads and
    libraries that have no lines."""

    def __init__(self, text):
        self.kinds, self.lines, self.delayed, self.threads = set(), set(), set(), set()
        for number, line in enumerate(text.splitlines(), 1):
            found = MARK.search(line)
            kinds = set(found.group(1).split(",")) if found else set()
            if DELAYED in kinds:
                self.delayed.add(number)
            if kinds - {DELAYED}:
                self.kinds |= kinds - {DELAYED}
                self.lines.add(number)
                self.threads |= {found.group(2)} - {None}

    def __bool__(self):
        return bool(self.lines)


def cause_of(settings, case):
    with open(fixes.script_of(settings, case), encoding="utf-8") as f:
        return Cause(f.read())


# ---- Judged --------------------------------------------------------------------------------------------------------

def place_of(frame):
    """(file's name, line) of a frame, or None where the line is not known."""
    if not frame or not frame["file"] or frame["line"] is None:
        return None
    return os.path.basename(frame["file"]), frame["line"]


def line_of(site):
    """Its own line, or that of the program at which one of a library's threads was waited for."""
    return place_of(site["frames"][site["headline"]] if site["headline"] is not None else None) or place_of(site.get("meanwhile"))


def ranked(sites, kinds):
    """[{place, thread, range, module, api_ns}] of the sites of these kinds, the one with most API time first."""
    sums = collections.defaultdict(float)
    for s in sites:
        if s["kind"] in kinds:
            frame = s["frames"][s["headline"]] if s["headline"] is not None else None
            place = line_of(s)
            sums[place, *((None, None, None) if place else (s["thread"], s["range"], frame and frame["module"]))] += s["api_total_ns"]
    found = [{"place": place, "thread": thread, "range": inside, "module": module, "api_ns": ns}
             for (place, thread, inside, module), ns in sums.items()]
    return sorted(found, key=lambda p: -p["api_ns"])


def judge_place(name, cause, place, ahead=False):
    """`ahead`: what is wrong is said to come before the line."""
    if place[0] == name and ahead and place[1] in cause.delayed:
        return "ahead"
    return "right" if place[0] == name and place[1] in cause.lines else "wrong"


def named_by_findings(data, name, cause):
    """[{id, severity, place, said}] of the findings about the marked kinds that name a line, in the report's order."""
    ids = {i for kind in cause.kinds for i in FINDINGS[kind]}
    named = [(f, place_of(f["site"]) or place_of(f["site"].get("until")) or place_of(f["site"].get("meanwhile")))
             for f in data["findings"] if f["id"] in ids and f["site"]]
    return [{"id": f["id"], "severity": f["severity"], "place": place,
             "said": judge_place(name, cause, place, f["site"]["ahead"])} for f, place in named if place]


def said_by(findings):
    """Of several findings the worst: one that names another line misleads."""
    return next((said for said in ("wrong", "ahead", "right") if any(f["said"] == said for f in findings)), "unknown")


def judge(data, name, cause):
    """What a report says of the cause marked in the program of this name: {said, top, findings, ...}."""
    told = {"kinds": sorted(cause.kinds), "marked": sorted(cause.lines), "delayed": sorted(cause.delayed), "top": None,
            "said": "unknown",
            "findings": named_by_findings(data, name, cause), "class": data["verdict"]["class"],
            "trouble_with_python": data["sites_python_trouble"]}
    if "loader" in cause.kinds:
        told["said"] = said_by([f for f in told["findings"] if f["id"] in FINDINGS["loader"]])
        return told
    order = ranked(data["sites"], cause.kinds)
    if not order:
        return told
    top = told["top"] = order[0]
    if top["place"]:
        told["said"] = judge_place(name, cause, top["place"])
    elif any(os.path.basename(top[key] or "").startswith(t) for t in cause.threads for key in ("thread", "module")):
        told["said"] = "thread"
    return told


# ---- Runs ----------------------------------------------------------------------------------------------------------

class Collected:
    def __init__(self, settings, cases):
        self.settings, self.lock, self.rows = settings, threading.Lock(), {}
        for half, case in cases:
            self.rows[case.name] = {"program": case.name, "half": half, "note": fixes.lacking(settings, case), "trouble": None,
                                    "said": None}
        self.path = settings.out + ".lines.rows"
        with contextlib.suppress(FileNotFoundError):
            os.remove(self.path)

    def use(self, job, run, outcome):
        row = self.rows[job.case.name]
        reports, troubles = shim.read(self.settings, run.folder, "--sites")
        shim.put_away(self.settings, run.folder, job.case.name)
        busy = sorted((r for r in reports if r.pieces), key=lambda r: -sum(r.pieces.values()))
        row["note"] = outcome.skipped
        row["trouble"] = None if outcome.skipped else outcome.trouble() or "; ".join(troubles) or \
            (None if busy else "no recording of work on a GPU")
        row["seconds"] = round(outcome.seconds, 1)
        if busy and not row["trouble"]:
            script = fixes.script_of(self.settings, job.case)
            row.update(judge(busy[0].data, os.path.basename(script), cause_of(self.settings, job.case)))
        with self.lock, open(self.path, "a", encoding="utf-8") as f:
            f.write(json.dumps(row) + "\n")


def labelled(settings):
    """[(set, case)] of the programs with a marked cause."""
    return [(half, case) for half, case in fixes.cases_of(settings) if case.gpus == 1 and cause_of(settings, case)]


# ---- Printed -------------------------------------------------------------------------------------------------------

def place_text(top):
    if not top:
        return "nothing"
    if top["place"]:
        return "%s:%d" % tuple(top["place"])
    where = [w for w in (top["thread"] and "thread %s" % top["thread"], top["range"] and "range %s" % top["range"],
                         top["module"] and os.path.basename(top["module"])) if w]
    return ", ".join(where) or "no line"


def lines_of(row):
    if row["trouble"]:
        yield row["trouble"]
    if row["said"]:
        yield "%s at %s: %s" % (",".join(row["kinds"]), ",".join(map(str, row["marked"])), place_text(row["top"])
                                if "loader" not in row["kinds"] else "no call" if not row["findings"] else "by finding")
        for f in row["findings"]:
            yield "%s (%s): %s%s:%d%s" % (f["id"], f["severity"], "ahead of " if f["said"] == "ahead" else "", *f["place"],
                                          ", ANOTHER LINE" if f["said"] == "wrong" else "")


def wrong_places(row):
    """The places that made it wrong: that of the call sites, or where these do not count those of findings."""
    return [place_text(top) for top in ([row["top"]] if row["top"] else [f for f in row["findings"] if f["said"] == "wrong"])]


def verdicts(rows):
    judged = [r for r in rows if r["said"]]
    found = []
    if judged:
        count = collections.Counter(r["said"] for r in judged)
        wrong = ["%s (%s)" % (r["program"], ", ".join(wrong_places(r))) for r in judged if r["said"] == "wrong"]
        found.append({"what": "the line of the cause", "pass": not wrong, "text": "%d of %d right, %d ahead of the marked call, %d by thread or library%s" % (
            count["right"], len(judged), count["ahead"], count["thread"], ", not %s" % ", ".join(wrong) if wrong else "")})
        unknown = [r["program"] for r in judged if r["said"] == "unknown"]
        if unknown:
            found.append({"what": "the line of the cause unknown", "pass": None, "text": ", ".join(unknown)})
        named = [(r["program"], f) for r in judged for f in r["findings"]]
        other = ["%s (%s)" % (name, f["id"]) for name, f in named if f["said"] == "wrong"]
        found.append({"what": "findings of that kind that name a line", "pass": None, "text": "%d of %d name the marked one%s" % (
            len(named) - len(other), len(named), ", not %s" % ", ".join(other) if other else "")})
    troubles = ["%s (%s)" % (r["program"], r["trouble"]) for r in rows if r["trouble"]]
    if troubles:
        found.append({"what": "lines not looked for", "pass": False, "text": ", ".join(troubles)})
    return found + fixes.skipped_of(rows, "lines: skipped")


def run(settings, page):
    cases = labelled(settings)
    collected = Collected(settings, cases)
    jobs = [lanes.Job(case, MODE, 0) for _, case in cases if not fixes.lacking(settings, case)]
    lanes.run_all(settings, jobs, collected.use)
    for row in collected.rows.values():
        if not row["said"] and not row["note"] and not row["trouble"]:
            row["trouble"] = "not run: the time limit was reached"
    rows = list(collected.rows.values())
    page.lines_head(MODE)
    for row in rows:
        page.lines_row(row, lines_of(row))
    return {"half": settings.half, "mode": MODE, "lanes": settings.lanes, "rows": rows, "verdicts": verdicts(rows)}
