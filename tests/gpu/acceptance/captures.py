# SPDX-License-Identifier: Apache-2.0
"""Part `captures`: graphs captured in three threads while others launch and are sampled (tests/gpu/captures.cu)."""
import os
import re

from acceptance import compare, runs, truth
from acceptance.modes import MODES
from acceptance.programs import Program

BUDGET = "50"  # per cent, the most that the shim takes: sampled as often as can be
TIMEOUT = 90


def program_of(settings):
    name = "captures-sim" if settings.simulated else "captures"
    env = {} if settings.simulated else settings.library_path()
    return Program("captures", [os.path.join(settings.build, "tests", name)], env=env, timeout=TIMEOUT)


def said(outcome):
    """{valid, invalid, foreign} of the program's own line."""
    line = (re.findall(r"^captures: *(.*)$", outcome.stdout, re.M) or [""])[-1]
    return {key: int(value) for key, value in re.findall(r"(\w+)=(\d+)", line)}


def samples_of(report):
    return sum(w["samples"] or 0 for w in report.data.get("works") or [])


def check(settings, name, env, yardstick):
    """One run in a mode of the shim, with the yardstick in the same process where there is one."""
    program = program_of(settings)
    row = {"what": "captures, %s" % name, "mode": name, "pass": False, "figures": {}, "samples": None}
    folder = os.path.join(settings.work, "captures-truth-" + name)
    os.makedirs(folder, exist_ok=True)
    if yardstick:
        env = {**env, **yardstick.environment(settings, folder)}
    report, outcome, trouble = runs.run_mode(settings, program, MODES[name], env=env)
    row["figures"] = figures = said(outcome)
    if report:
        row["samples"] = samples_of(report)
        row["totals"] = report.totals
    expected = compare.compare_expected([report] if report else [], outcome)
    row["differences"] = expected
    row["text"] = "%(valid)d valid, %(invalid)d invalid, %(foreign)d with foreign nodes" % figures \
        if len(figures) == 3 else "no figures"
    if report:
        row["text"] += ", %d samples" % row["samples"]
    if outcome.skipped:
        return {**row, "pass": None, "text": outcome.skipped}
    if trouble:
        return {**row, "text": trouble}
    if expected:
        return {**row, "text": "%s: shim %s, program %s" % (
            expected[0]["what"], expected[0]["ours"], expected[0]["truth"])}
    sampled = name != "sample" or row["samples"] > 0
    if not sampled:
        row["text"] += ": nothing was sampled"
    row["pass"] = bool(figures.get("valid")) and not figures["invalid"] and not figures["foreign"] \
        and outcome.results == ["ok"] and sampled
    return row


def run(settings, page):
    rows = [check(settings, "off", {}, None),
            check(settings, "sample", {"CUDASPY_BUDGET": BUDGET}, None)]
    if not settings.simulated:
        # CUPTI beside the sampler: the same, seen by somebody else
        again = check(settings, "sample", {"CUDASPY_BUDGET": BUDGET}, truth.yardstick(settings))
        rows.append({**again, "what": "captures, sample beside CUPTI"})
    page.table("Graphs captured in three threads while others launch", rows)
    return {"rows": rows,
            "verdicts": [{k: r[k] for k in ("what", "pass", "text")} for r in rows]}
