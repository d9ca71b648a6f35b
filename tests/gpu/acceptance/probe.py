# SPDX-License-Identifier: Apache-2.0
"""Part `probe`: are the pointers of cuGetProcAddress the driver's exports? (tests/gpu/probe_getproc.c)"""
import os
import re

from acceptance import counts, process

TIMEOUT = 60


def run(settings, page):
    folder = counts.fresh_folder(settings, "probe")
    argv = [os.path.join(settings.build, "tests", "probe_getproc")]
    outcome = process.run(argv, settings.environment(), settings.time_left(TIMEOUT), folder,
                          "probe")
    line = (re.findall(r"^probe: *(.*)$", outcome.stdout, re.M) or [""])[-1]
    figures = {key: int(value) for key, value in re.findall(r"(\w+)=(\d+)", line)}
    exceptions = re.findall(r"^exception: *(.*)$", outcome.stdout, re.M)
    page.probe(figures, exceptions)
    skipped = outcome.rc == process.SKIP
    text = "%(found)d pointers of %(requests)d requests, %(exports)d exports" % figures \
        if figures else line or outcome.trouble() or "no output"
    if exceptions:
        text += ", %d exceptions" % len(exceptions)
    return {"figures": figures, "exceptions": exceptions, "exit": outcome.rc,
            "verdicts": [{"what": "probe", "pass": None if skipped else outcome.rc == 0, "text": text}]}
