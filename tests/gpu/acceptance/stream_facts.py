# SPDX-License-Identifier: Apache-2.0
"""Part `stream_facts`: what the timeline takes for granted about a stream, measured (tests/gpu/stream_facts.cu).

How many calls of each kind a stream takes before one waits, and what a pair of pieces of work takes on the GPU. Nothing
here passes or fails: a figure that is not the one assumed says that the timeline is to be changed.
"""
import os
import re

from acceptance import counts, process

TIMEOUT = 60
# Calls that the timeline takes to fill a queue (shim/core/cuda/engines.h): each stream has one for kernels and sets and one for
# the copies in each direction; events and waits take no place, so that none of the calls made waits.
QUEUE = {"kernel": 1022, "event": 5000, "wait": 5000, "copy_dtoh": 1022, "copy_htod": 1022, "set": 1022,
         "kernel_and_event": 1022, "kernel_and_set": 511, "kernel_and_dtoh": 1022, "kernel_and_htod_64k": 1022,
         "dtoh_64k_and_htod_64k": 1022}
NEAR = 0.02


def figures(text):
    """({kind: calls}, {pair: ns})"""
    def found(word):
        return {kind: int(n) for kind, n in re.findall(r"^%s: (\w+) (\d+)$" % word, text, re.M)}
    return found("queue"), found("pair")


def rows_of(queue, pairs):
    rows = []
    for kind, calls in queue.items():
        assumed = QUEUE.get(kind)
        as_assumed = assumed is not None and abs(calls - assumed) <= NEAR * assumed
        rows.append({"what": "calls before one waits: " + kind, "calls": calls, "assumed": assumed, "pass": None,
                     "text": "%d, %s" % (calls, "as assumed" if as_assumed else "assumed: %s" % assumed)})
    for kind, ns in pairs.items():
        more = ns - pairs.get("alone", ns)
        rows.append({"what": "a kernel and behind it: " + kind, "ns": ns, "pass": None,
                     "text": "%d ns" % ns if kind == "alone" else "%d ns, %+d to the kernel alone" % (ns, more)})
    return rows


def run(settings, page):
    folder = counts.fresh_folder(settings, "stream_facts")
    name = "stream_facts-sim" if settings.simulated else "stream_facts"
    env = settings.environment(**({} if settings.simulated else settings.library_path()))
    outcome = process.run([os.path.join(settings.build, "tests", name)], env, settings.time_left(TIMEOUT), folder, "run")
    queue, pairs = figures(outcome.stdout)
    rows = rows_of(queue, pairs)
    if outcome.rc or not rows:
        text = outcome.skipped or outcome.trouble() or "no output"
        rows.append({"what": "stream_facts", "pass": None if outcome.skipped else False, "text": text})
    page.table("What a stream takes, and how far apart its work is", rows)
    return {"rows": rows, "verdicts": [{k: r[k] for k in ("what", "pass", "text")} for r in rows]}
