"""What really happened: CUPTI's JSON (tests/gpu/cupti_write.c), or the simulated driver's, in one form."""
import ctypes
import glob
import json
import os
import subprocess

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

    def as_json(self):
        return {"pid": self.pid, "launches": self.launches, "graph_launches": self.graph_launches,
                "copies": self.copies, "copy_bytes": self.copy_bytes, "sets": self.sets,
                "inside_graphs": self.inside, "directions": self.directions,
                "kernel_names": len(self.kernels), "gpu_ns": self.gpu_ns, "busy_ns": self.busy_ns,
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
    for a in data.get("apis", []):
        t.apis[(a["level"], a["name"])] = a["calls"] - a["failed"]
    for c in data.get("causes", []):
        add(t.causes, (c["kind"], c["level"], c["call"]), c["items"])
    t.troubles = list(data["errors"])
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
        add(t.kernels, demangle(k["name"]), k["launches"])
    for name, c in data["copies"].items():
        add(t.directions, SIMULATED_DIRECTIONS[name], c["count"])
    for name, a in data["apis"].items():
        t.apis[("driver", name)] = a["calls"] - a["failed"]
    t.busy_ns = sum(d["busy_ns"] for d in data["devices"])
    return t


class CuptiYardstick:
    """CUPTI in the same process, by the driver's own way to load a tool."""

    name = "CUPTI"

    def environment(self, settings, folder, with_apis=False):
        env = {"CUDA_INJECTION64_PATH": settings.truth_library,
               "CUPTI_TRUTH_OUT": os.path.join(folder, "%p.truth.json")}
        if settings.cupti:
            env["CUPTI_TRUTH_LIB"] = settings.cupti
        if with_apis:
            env["CUPTI_TRUTH_API"] = "1"
        return env

    def read(self, settings, folder):
        return [from_cupti(f) for f in sorted(glob.glob(os.path.join(folder, "*.truth.json")))]


class SimulatedYardstick:
    """What the simulated driver counted itself; one process only."""

    name = "sim"

    def environment(self, settings, folder, with_apis=False):
        return {"SIM_TRUTH": os.path.join(folder, "truth.bin")}

    def read(self, settings, folder):
        path = os.path.join(folder, "truth.bin")
        reader = os.path.join(settings.build, "sim", "truth")
        return [from_simulator(path, reader, settings.environment())] if os.path.exists(path) else []


def yardstick(settings):
    return SimulatedYardstick() if settings.simulated else CuptiYardstick()
