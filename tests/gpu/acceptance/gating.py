# SPDX-License-Identifier: Apache-2.0
"""`cudaspy check` of two sides of recordings: what it is asked, and how often it may be wrong (issue 5's promises).

A part of the acceptance on a GPU uses it, and scripts/gate_acceptance on the simulated CUDA.
"""
import json
import math
import os
import random
import statistics
import subprocess

COUNTS = ("launches", "graph_launches", "syncs", "copies", "pageable_copies", "copy_bytes", "sets", "alloc_calls",
          "failed_calls")
SIDE = 5  # recordings
FALSE_ALARMS_MOST, FOUND_LEAST = 0.01, 0.95
STUDENT_8 = 2.896  # 99 % of Student's t, five and five recordings
TIME_LIMIT = 1.05  # of what it was before
TIME_RULE = "launch_p50_ns <= +%g%%" % (100 * (TIME_LIMIT - 1))
TIMEOUT = 120


class CheckFailed(Exception):
    """`cudaspy check` did not judge; the text says why."""


def count_rules():
    return ["%s%s <= +0" % (name, form) for name in COUNTS for form in ("", "_per_step")]


def check(reporter, *arguments):
    p = subprocess.run([str(reporter), "check", *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                       universal_newlines=True, timeout=TIMEOUT)
    if p.returncode not in (0, 1, 3):
        raise CheckFailed("cudaspy check ended with %d: %s" % (p.returncode, p.stderr.strip()[-300:]))
    return p.stdout


def save_baseline(reporter, baseline, recordings):
    """The baseline of these recordings, as check writes it to the file `baseline`."""
    check(reporter, "--save-baseline", baseline, *recordings)
    with open(baseline, encoding="utf-8") as f:
        return json.load(f)


def judge(reporter, baseline, base, rules, recordings):
    """{rule: pass, fail or inconclusive} for `recordings` beside `base`; the file `baseline` is written and removed."""
    save_baseline(reporter, baseline, base)
    try:
        out = check(reporter, "--format", "json", "--baseline", baseline, *("--limit=" + r for r in rules), *recordings)
    finally:
        os.unlink(baseline)
    return {r["rule"]: r["outcome"] for r in json.loads(out)["rules"]}


def tally(pairs, rules):
    """What the outcomes of pairs of equal runs come to; `pairs` are results of judge() with the rules and TIME_RULE."""
    failed = [sorted(rule for rule in rules if found[rule] == "fail") for found in pairs]
    return {"pairs": len(pairs), "count_failures": sum(map(bool, failed)),
            "failed_rules": sorted({rule for one in failed for rule in one}),
            "time_failures": sum(found[TIME_RULE] == "fail" for found in pairs),
            "time_unanswered": sum(found[TIME_RULE] == "inconclusive" for found in pairs)}


def few_false_alarms(failures, pairs):
    return failures <= FALSE_ALARMS_MOST * pairs


def enough_found(found, tries):
    return found >= FOUND_LEAST * tries


def scatter(*sides):
    """By how much recordings of the same program differ: the standard deviation of the logarithms, over all sides."""
    return math.sqrt(statistics.mean(statistics.variance(map(math.log, side)) for side in sides))


def best_found(rise, deviation, tries=4000):
    """The share of tries in which the best test there is would find this rise by TIME_RULE, were the scatter normal.

    That is Student's, at 99 %, with SIDE recordings a side: no test that errs as seldom finds more (it is the most
    powerful unbiased one). So what it misses, the recordings do not hold.
    """
    chance = random.Random(SIDE)
    found = 0
    for _ in range(tries):
        before, after = ([chance.gauss(mean, deviation) for _ in range(SIDE)] for mean in (0, math.log(rise / TIME_LIMIT)))
        error = math.sqrt((statistics.variance(before) + statistics.variance(after)) / SIDE)
        found += statistics.mean(after) - statistics.mean(before) > STUDENT_8 * error
    return found / tries
