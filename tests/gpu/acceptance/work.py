# SPDX-License-Identifier: Apache-2.0
"""Classes of GPU work, named alike for what the shim reports (`works[]`) and for what CUPTI recorded.

A kernel's class is its name, grid, block and dynamic shared memory; a copy's its direction, the memory of the host's
side and its size; a set's its size; graph launches are one class. Sizes are told apart as the shim does: four
buckets to an octave.
"""
import collections
import math

OWN_KERNELS = ("cudaspy_stall", "cudaspy_null")
NAME_MOST = 8192  # kernel names are cut at this length in reports (report/base/names.h)

Key = collections.namedtuple("Key", "kind name grid block shared direction memory size")


def size_bucket(nbytes):
    """As work_size_bucket() of shim/core/work/work_class.c."""
    nbytes = int(nbytes)
    if nbytes < 4:
        return nbytes
    octave = nbytes.bit_length() - 1
    return octave * 4 - 4 + (nbytes >> (octave - 2) & 3)


def kernel_key(name, grid=None, block=None, shared=None):
    """Without a grid: all launches of the kernel, where nobody told them apart."""
    return Key("kernel", name[:NAME_MOST], tuple(grid) if grid else None,
               tuple(block) if block else None, shared, None, None, None)


def copy_key(direction, memory, nbytes):
    return Key("copy", None, None, None, None, direction, memory, size_bucket(nbytes))


def set_key(nbytes):
    return Key("set", None, None, None, None, None, None, size_bucket(nbytes))


def graph_key():
    return Key("graph", None, None, None, None, None, None, None)


def text(key):
    if key.kind == "kernel":
        shape = "" if key.grid is None else " <<<%s, %s, %d>>>" % (
            "x".join(map(str, key.grid)), "x".join(map(str, key.block)), key.shared)
        return key.name + shape
    if key.kind == "copy":
        return "copy %s %s, size %d" % (key.direction, key.memory, key.size)
    return "set, size %d" % key.size if key.kind == "set" else "graph launches"


class Class:
    """What the report says of a class: the mean and its interval, in ns; None where it does not know."""

    def __init__(self):
        self.pieces = self.samples = self.timed = 0
        self.sum = self.low_sum = self.high_sum = 0.0

    def add(self, row):
        self.pieces += row["count"]
        self.samples += row["samples"] or 0
        if row["mean_ns"] is None:
            return
        self.timed += row["count"]
        self.sum += row["count"] * row["mean_ns"]
        for name, bound in (("low_sum", row["low_ns"]), ("high_sum", row["high_ns"])):
            value = row["mean_ns"] if bound is None else bound
            setattr(self, name, getattr(self, name) + row["count"] * value)

    def of_timed(self, value):
        return value / self.timed if self.timed else None

    @property
    def mean(self):
        return self.of_timed(self.sum)

    @property
    def low(self):
        return self.of_timed(self.low_sum)

    @property
    def high(self):
        return self.of_timed(self.high_sum)


def key_of(row, shapes=True):
    """The key of a row of the report's `works`. `shapes`: kernels by grid and block as well."""
    if row["kind"] == "kernel":
        if not shapes:
            return kernel_key(row["kernel"])
        return kernel_key(row["kernel"], row["grid"], row["block"], row["shared_bytes"])
    if row["kind"] == "graph":
        return graph_key()
    nbytes = row["bytes"] / row["count"] if row["count"] else 0
    if row["kind"] == "set":
        return set_key(math.floor(nbytes))
    memory = row["memory"] if row["direction"] in ("HtoD", "DtoH") else "device"
    return copy_key(row["direction"], memory, math.floor(nbytes))


def classes_of(report, shapes=True):
    """{Key: Class} of a report; classes that differ in what CUPTI does not tell are put together."""
    found = {}
    for row in report.data.get("works") or []:
        found.setdefault(key_of(row, shapes), Class()).add(row)
    return found
