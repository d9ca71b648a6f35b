# SPDX-License-Identifier: Apache-2.0
"""What the shim recorded, as `cudaspy report --format json` says it."""
import glob
import json
import os
import shutil
import subprocess

TIMEOUT = 60


class Report:
    """One recording; `data` is the report's JSON as it is."""

    def __init__(self, path, data):
        self.path = path
        self.data = data
        self.totals = data["totals"]
        self.pid = data["processes"][0]["pid"]

    @property
    def kernels(self):
        found = {}
        for k in self.data["kernels"]:
            if k["launches"]:
                found[k["name"]] = found.get(k["name"], 0) + k["launches"]
        return found

    @property
    def mode(self):
        """How it timed the GPU in the end, which need not be what was asked for."""
        return self.data["gpu"]["mode"]

    @property
    def pieces(self):
        """Pieces of work given to the GPU, by kind."""
        counts = {"kernel": self.totals["launches"], "graph": self.totals["graph_launches"],
                  "copy": self.copies() - self.copies("HtoH"), "set": self.totals["sets"]}
        return {kind: count for kind, count in counts.items() if count}

    def copies(self, direction=None, memory=None):
        return sum(c["count"] for c in self.data["copies"]
                   if direction in (None, c["direction"]) and memory in (None, c["host_memory"]))

    @property
    def directions(self):
        names = {c["direction"] for c in self.data["copies"]}
        return {name: self.copies(name) for name in sorted(names) if self.copies(name)}

    def as_json(self):
        kept = {k: self.data[k] for k in ("totals", "lost", "gaps", "copies", "window_ns")}
        kept["pid"] = self.pid
        kept["state"] = self.data["processes"][0]["state"]
        kept["kernel_names"] = len(self.kernels)
        return kept


def read(settings, folder, *options):
    """(reports of the recordings in the folder, troubles with reading them). `options` are the reporter's."""
    return read_files(settings, sorted(glob.glob(os.path.join(folder, "*.cudaspy"))), *options)


def read_files(settings, paths, *options):
    """The same of these recordings."""
    reports, troubles = [], []
    for path in paths:
        name = os.path.basename(path)
        try:
            done = subprocess.run([settings.reporter, "report", "--format", "json", *options, path],
                                  env=settings.environment(), stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, timeout=TIMEOUT, check=False, text=True)
            if done.returncode:
                troubles.append("report %s: exit %d: %s" % (name, done.returncode,
                                                            done.stderr.strip()[-300:]))
                continue
            reports.append(Report(path, json.loads(done.stdout)))
        except (OSError, subprocess.TimeoutExpired, ValueError, KeyError, IndexError) as e:
            troubles.append("report %s: %s: %s" % (name, type(e).__name__, e))
    return reports, troubles


def put_away(settings, folder, name):
    """Ends a run's folder; what it recorded stays as NAME-(its own name) where that was asked for."""
    if settings.kept:
        os.makedirs(settings.kept, exist_ok=True)
        for path in glob.glob(os.path.join(folder, "*.cudaspy")):
            shutil.move(path, os.path.join(settings.kept, "%s-%s" % (name, os.path.basename(path))))
    shutil.rmtree(folder, ignore_errors=True)
