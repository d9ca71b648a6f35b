# SPDX-License-Identifier: Apache-2.0
"""What really happened: CUPTI's JSON (tests/gpu/cupti_write.c), or the simulated driver's, in one form."""
import ctypes
import glob
import json
import os
import subprocess

from acceptance import work

# CUPTI tells arrays from linear memory; the shim does not.
DIRECTIONS = {"HtoA": "HtoD", "AtoH": "DtoH", "AtoA": "DtoD", "AtoD": "DtoD", "DtoA": "DtoD"}
SIMULATED_DIRECTIONS = {"h2d": "HtoD", "d2h": "DtoH", "d2d": "DtoD", "p2p": "PtoP", "h2h": "HtoH"}


class Truth:
    """Counts of work outside graphs; what ran as a node of a graph is in `inside`."""

    def __init__(self, source):
        self.source = source
        self.pid = None
        self.launches = self.graph_launches = self.copies = self.copy_bytes = self.sets = 0
        self.captured = None
        self.inside = {"kernels": 0, "copies": 0, "sets": 0}
        self.kernels = {}      # demangled name: launches
        self.directions = {}   # direction: copies
        self.troubles = []     # why it may not be the whole truth
        self.apis = {}         # (level, name): calls that succeeded
        self.causes = {}       # (kind of work, level, call that caused it): pieces of work
        self.gpu_ns = None
        self.busy_ns = None
        self.classes = {}      # work.Key: (pieces, their GPU time in ns); None: not told apart
        self.kinds = {}        # kernel, copy, set, graph: (pieces, ns); graphs as spans
        self.untrue = {}       # work.Key: pieces whose time cannot be true, left out of classes and kinds
        self.own = 0           # kernels of cudaspy's own, left out of all the rest

    def as_json(self):
        return {"pid": self.pid, "launches": self.launches, "graph_launches": self.graph_launches,
                "copies": self.copies, "copy_bytes": self.copy_bytes, "sets": self.sets,
                "inside_graphs": self.inside, "directions": self.directions,
                "kernel_names": len(self.kernels), "gpu_ns": self.gpu_ns, "busy_ns": self.busy_ns,
                "untrue": {work.text(k): n for k, n in self.untrue.items()}, "own_kernels": self.own,
                "troubles": self.troubles}


def add(table, key, count):
    if count:
        table[key] = table.get(key, 0) + count


class Demangler:
    """__cxa_demangle of libstdc++, as the reporter calls it; c++filt where that is missing."""

    def __init__(self):
        self.known = {}
        try:
            self.function = ctypes.CDLL("libstdc++.so.6").__cxa_demangle
            self.function.restype = ctypes.c_void_p
            self.function.argtypes = [ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p,
                                      ctypes.POINTER(ctypes.c_int)]
            self.free = ctypes.CDLL(None).free
            self.free.argtypes = [ctypes.c_void_p]
        except (OSError, AttributeError):
            self.function = None

    def __call__(self, name):
        if not name.startswith("_Z"):
            return name
        if name not in self.known:
            self.known[name] = self.demangle(name)
        return self.known[name]

    def demangle(self, name):
        if self.function:
            status = ctypes.c_int()
            text = self.function(name.encode("latin-1"), None, None, ctypes.byref(status))
            if status.value or not text:
                return name
            plain = ctypes.string_at(text).decode("utf-8", "replace")
            self.free(text)
            return plain
        done = subprocess.run(["c++filt", "-i", name], stdout=subprocess.PIPE, check=False, text=True)
        return done.stdout.strip() or name


demangle = Demangler()


def classes_of(data):
    """({work.Key: (pieces, ns)} of CUPTI's classes, {work.Key: untrue pieces}); pieces without a valid or true time are
    left out of the first."""
    found, untrue = {}, {}
    for c in data.get("classes", []):
        if c["kind"] == "kernel":
            key = work.kernel_key(demangle(c["name"]), c["grid"], c["block"], c["shared_bytes"])
        elif c["kind"] == "copy":
            direction = DIRECTIONS.get(c["copy_kind"], c["copy_kind"])
            side = {"HtoD": c["src"], "DtoH": c["dst"]}.get(direction, "device")
            key = work.copy_key(direction, side, c["bytes"])
        else:
            key = work.set_key(c["bytes"])
        pieces, ns = found.get(key, (0, 0))
        found[key] = (pieces + c["count"] - c["untimed"] - c["untrue"], ns + c["gpu_ns"] - c["untrue_ns"])
        add(untrue, key, c["untrue"])
    return found, untrue


def kinds_of(data):
    """{kind: (pieces, ns)} of a run in which graphs were recorded as spans, or none was launched."""
    totals = data["totals"]
    if data["graph_launches"] and not data["graph_trace"]:
        return {}
    kinds = {}
    for short, name in (("kernel", "kernels"), ("copy", "copies"), ("set", "sets")):
        classes = [c for c in data["classes"] if c["kind"] == short]
        kinds[short] = (totals[name]["outside"]["count"] - sum(c["untrue"] for c in classes),
                        totals[name]["outside"]["gpu_ns"] - sum(c["untrue_ns"] for c in classes))
    kinds["graph"] = (data["graph_launches"] - sum(g["untrue"] for g in data["graphs"]),
                      sum(g["gpu_ns"] - g["untrue_ns"] for g in data["graphs"]))
    return kinds


def from_cupti(path):
    with open(path, encoding="utf-8") as f:
        data = json.load(f)
    t = Truth("CUPTI %s" % data["cupti_version"])
    totals = data["totals"]
    t.pid = data["pid"]
    t.launches = totals["kernels"]["outside"]["count"] - data["kernels_from_device"]
    t.graph_launches = data["graph_launches"]
    t.copies = totals["copies"]["outside"]["count"]
    t.copy_bytes = totals["copies"]["outside"]["bytes"]
    t.sets = totals["sets"]["outside"]["count"]
    t.inside = {kind: totals[kind]["inside"]["count"] for kind in t.inside}
    t.gpu_ns = sum(totals[kind][where]["gpu_ns"] for kind in totals for where in totals[kind])
    if data.get("devices"):
        t.busy_ns = sum(d["busy_ns"] for d in data["devices"])
    for k in data["kernels"]:
        add(t.kernels, demangle(k["name"]), k["outside"] - k["from_device"])
    for g in data["copies"]:
        add(t.directions, DIRECTIONS.get(g["kind"], g["kind"]), g["outside"]["count"])
    t.classes, t.untrue = classes_of(data)
    t.kinds = kinds_of(data)
    if t.kinds.get("graph", (0, 0))[0]:
        t.classes[work.graph_key()] = t.kinds["graph"]
    add(t.untrue, work.graph_key(), sum(g["untrue"] for g in data["graphs"]))
    t.own = data.get("own", {}).get("kernels", 0)
    for a in data.get("apis", []):
        t.apis[(a["level"], a["name"])] = a["calls"] - a["failed"]
    for c in data.get("causes", []):
        add(t.causes, (c["kind"], c["level"], c["call"]), c["items"])
    t.troubles = list(data["errors"])
    if data.get("classes_left_out"):
        t.troubles.append("%d records in no class" % data["classes_left_out"])
    if not data["complete"]:
        t.troubles.append("the process ended without its exit handlers: the last records are missing")
    for reason, count in data["lost"].items():
        if count:
            t.troubles.append("%d records lost (%s)" % (count, reason))
    if data["unknown_records"]:
        t.troubles.append("%d records of an unknown kind" % data["unknown_records"])
    return t


def from_simulator(path, reader, env):
    done = subprocess.run([reader, path], env=env, stdout=subprocess.PIPE, timeout=30, check=True,
                          text=True)
    data = json.loads(done.stdout)
    t = Truth("simulated driver")
    totals = data["totals"]
    t.pid = data["pid"]
    for key in ("launches", "graph_launches", "captured", "copies", "copy_bytes", "sets"):
        setattr(t, key, totals[key])
    t.inside = {kind: totals["graph_" + kind] for kind in t.inside}
    for k in data["kernels"]:
        if k["name"] in work.OWN_KERNELS:
            t.own += k["launches"]
            continue
        add(t.kernels, demangle(k["name"]), k["launches"])
        if k["launches"]:
            t.classes[work.kernel_key(demangle(k["name"]))] = (k["launches"], k["gpu_ns"])
    for name, c in data["copies"].items():
        add(t.directions, SIMULATED_DIRECTIONS[name], c["count"])
    for name, a in data["apis"].items():
        t.apis[("driver", name)] = a["calls"] - a["failed"]
    t.busy_ns = sum(d["busy_ns"] for d in data["devices"])
    if not t.graph_launches:  # graphs are not kept as spans
        spent = {kind: sum(d[kind + "_ns"] for d in data["devices"]) for kind in ("copy", "set")}
        t.kinds = {"kernel": (t.launches, sum(k["gpu_ns"] for k in data["kernels"])),
                   "copy": (t.copies, spent["copy"]), "set": (t.sets, spent["set"]), "graph": (0, 0)}
    return t


class CuptiYardstick:
    """CUPTI in the same process, by the driver's own way to load a tool."""

    name = "CUPTI"

    def environment(self, settings, folder, with_apis=False, graphs_as_spans=False):
        env = {"CUDA_INJECTION64_PATH": settings.truth_library,
               "CUPTI_TRUTH_OUT": os.path.join(folder, "%p.truth.json")}
        if settings.cupti:
            env["CUPTI_TRUTH_LIB"] = settings.cupti
        if with_apis:
            env["CUPTI_TRUTH_API"] = "1"
        if graphs_as_spans:
            env["CUPTI_TRUTH_GRAPH"] = "1"
        return env

    def read(self, settings, folder):
        return [from_cupti(f) for f in sorted(glob.glob(os.path.join(folder, "*.truth.json")))]


class SimulatedYardstick:
    """What the simulated driver counted itself; one process only."""

    name = "sim"

    def environment(self, settings, folder, with_apis=False, graphs_as_spans=False):
        return {"SIM_TRUTH": os.path.join(folder, "truth.bin")}

    def read(self, settings, folder):
        path = os.path.join(folder, "truth.bin")
        reader = os.path.join(settings.build, "sim", "truth")
        return [from_simulator(path, reader, settings.environment())] if os.path.exists(path) else []


def yardstick(settings):
    return SimulatedYardstick() if settings.simulated else CuptiYardstick()
