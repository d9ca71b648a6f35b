# SPDX-License-Identifier: Apache-2.0
"""The samples that say which verdict and which findings a correct report of them has (cuda_samples/README.md)."""
import concurrent.futures
import os

from acceptance.programs import Program, sample_names
from acceptance.settings import ROOT

TIMEOUT = 60
# Copies on the simulated GPU cost what the simulation says, and its driver holds a lock while it launches, as real
# ones do.
SIMULATED = {"SIM_DATA_MIB": "0", "SIM_LAUNCH_LOCK": "1"}


def form(settings):
    """The build of the samples that is run."""
    return "sim" if settings.simulated else "static"


def program(settings, name, *arguments, **env):
    """A sample as a program; the variables `env` are for the simulated CUDA."""
    kind = form(settings)
    path = os.path.join(settings.build, "samples", kind, name)
    variables = {**SIMULATED, **env} if settings.simulated else settings.library_path()
    return Program("%s/%s" % (name, kind), [path, *arguments], env=variables, timeout=TIMEOUT)


def speaking(settings):
    """Those that announce something, less what --only leaves out."""
    found = []
    for name in sample_names():
        with open(os.path.join(ROOT, "cuda_samples", name + ".cu"), encoding="utf-8") as f:
            if "sample_expect(" in f.read() and settings.wanted("%s/%s" % (name, form(settings))):
                found.append(program(settings, name))
    return found


def in_lanes(settings, items, action):
    """The results of action(item, variables that choose a GPU). A GPU has one item at a time, always the same ones."""
    def lane(number):
        env = {"CUDA_VISIBLE_DEVICES": str(number)} if settings.lanes > 1 else {}
        return [action(item, env) for item in items[number::settings.lanes]]

    found = [None] * len(items)
    with concurrent.futures.ThreadPoolExecutor(settings.lanes) as pool:
        for number, results in enumerate(pool.map(lane, range(settings.lanes))):
            found[number::settings.lanes] = results
    return found


def announced(outcome):
    """What a run of a sample says of itself; the class is None where it leaves that open."""
    classes = outcome.announced("verdict")
    return {"class": classes[0] if classes else None, "findings": outcome.announced("finding"),
            "no_findings": outcome.announced("no-finding")}
