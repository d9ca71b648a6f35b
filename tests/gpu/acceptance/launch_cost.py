# SPDX-License-Identifier: Apache-2.0
"""Part `launch_cost`: what the shim adds to one launch, in ns, within one process (tests/gpu/launch_cost.c).

In mode `sample` the budget is a share of the thread's time, and one block of launches in five goes through the shim:
the budget is set so that it comes to one per cent of the shim's own share.
"""
import os
import re

from acceptance import counts, process
from acceptance.modes import BARE, MODES

TIMEOUT = 90
WAYS = 5        # that take turns, of which one goes through the shim
BUDGET = 1.0    # per cent of the shim's share of the time: CUDASPY_BUDGET is a part of it
ROUNDS, QUICK_ROUNDS = 600, 10

PLAIN = "the program alone"
MODES_RUN = ((BARE, {}), (MODES["off"], {}),
             (MODES["sample"], {"CUDASPY_BUDGET": "%g" % (BUDGET / WAYS)}))


def costs(outcome):
    """{way: {median_ns, difference_ns, low_ns, high_ns, q1_ns, q3_ns, percent}}."""
    found = {}
    for way, rest in re.findall(r"^cost: (\w+) (.*)$", outcome.stdout, re.M):
        found[way] = {key: float(value) for key, value in re.findall(r"(\w+)=([-+.\d]+)", rest)}
    return found


def difference_text(cost):
    """The median, and what it is with 95 %."""
    return "%+.0f ns (%+.0f to %+.0f)" % (cost["difference_ns"], cost["low_ns"], cost["high_ns"])


def measure(settings, mode, env):
    folder = counts.fresh_folder(settings, "launch_cost", mode.name)
    rounds = QUICK_ROUNDS if settings.quick or settings.simulated else ROUNDS
    argv = [os.path.join(settings.build, "tests", "launch_cost"), str(rounds)]
    outcome = process.run(mode.argv(settings, folder, argv),
                          {**mode.environment(settings, folder), **env},
                          settings.time_left(TIMEOUT), folder, "run")
    row = {"what": "launch, %s" % (PLAIN if mode is BARE else "the shim, " + mode.name),
           "mode": mode.name, "rounds": rounds, "budget_percent": env.get("CUDASPY_BUDGET"),
           "ways": costs(outcome), "pass": None, "text": ""}
    trouble = outcome.trouble()
    if outcome.skipped:
        return {**row, "text": outcome.skipped}
    seen = row["ways"].get("seen")
    present = "shim: present" in outcome.stdout
    if trouble or not seen or present != (mode is not BARE):
        return {**row, "pass": False, "text": trouble or "the shim's wrapper was not called"}
    row["text"] = "%s, %.2f %% of %.0f ns" % (
        difference_text(seen), seen["percent"], row["ways"]["driver"]["median_ns"])
    return row


def run(settings, page):
    rows = [measure(settings, mode, env) for mode, env in MODES_RUN]
    page.table("What one launch costs more than the driver's own (median, its 95 % interval)", rows)
    for row in rows:
        others = ["%s %s" % (way, difference_text(cost)) for way, cost in row["ways"].items()
                  if way not in ("driver", "seen")]
        if others:
            page.line("    beside it, %s: %s" % (row["mode"], ", ".join(others)))
    return {"rows": rows,
            "verdicts": [{k: r[k] for k in ("what", "pass", "text")} for r in rows]}
