# SPDX-License-Identifier: Apache-2.0
"""Numba: a network of glass fibre has 600 000 exchanges. How much traffic goes through each of them is found by Brandes' way:
from an exchange all others are reached, level by level, and for each the shortest ways to it are counted; then, from the
farthest level back, each exchange gets its share of the traffic behind it. Each hour of the day has another traffic.

Wrong: behind each level the host copies a flag, to know whether any exchange was reached anew, and only then goes on.
fix: how many levels there are from an exchange, which is the same each time, was found once before (sync-bound).
fix2: the way back from the farthest level is a graph for each source; the flags are read as before (launch-bound).
useless: the traffic of an hour, which comes once in 32 steps, comes from pinned memory.
"""
import ctypes

import fixable

run = fixable.Program(__doc__, steps=900, warm_up=10)
numpy, numba, cuda = fixable.load_numba()

EXCHANGES, NEAR, FAR, SOURCES, HOURS, LEVELS, BLOCK = 600000, 4, 60000, 32, 3, 128, 256
GRID = (EXCHANGES + BLOCK - 1) // BLOCK
FADES = 0.03


@cuda.jit
def begin(levels, ways, through, reached, source):
    """Nobody is reached yet, but the source."""
    k = cuda.grid(1)
    if k < levels.size:
        levels[k] = -1
        ways[k] = 0.0
        through[k] = 0.0
        if k == source:
            levels[k] = 0
            ways[k] = 1.0
    if k < reached.size:
        reached[k] = 0


@cuda.jit
def further(begins, others, levels, ways, reached, level):
    """Those that are next to the level before, and were not reached yet."""
    k = cuda.grid(1)
    if k >= levels.size:
        return
    if levels[k] >= 0:
        return
    found = 0.0
    for at in range(begins[k], begins[k + 1]):
        other = others[at]
        if levels[other] == level - 1:
            found += ways[other]
    if found > 0.0:
        ways[k] = found
        levels[k] = level
        reached[level] = 1


@cuda.jit
def back(begins, others, levels, ways, through, traffic, level):
    """What goes through those of a level to the next one."""
    k = cuda.grid(1)
    if k >= levels.size:
        return
    if levels[k] != level:
        return
    behind = 0.0
    for at in range(begins[k], begins[k + 1]):
        other = others[at]
        if levels[other] == level + 1:
            behind += (traffic[other] + through[other]) / ways[other]
    through[k] = behind * ways[k]


@cuda.jit
def add(levels, through, load):
    k = cuda.grid(1)
    if k < load.size:
        if levels[k] > 0:
            load[k] += FADES * (through[k] - load[k])


def network(random):
    """Exchanges on a long way that comes back to its start, each with four next ones on each side, and some far links; the
    neighbours of k are others[begins[k]:begins[k + 1]]."""
    along = numpy.arange(EXCHANGES)
    ends = [along] * NEAR + [random.integers(0, EXCHANGES, FAR)]
    others = [(along + apart) % EXCHANGES for apart in range(1, NEAR + 1)] + [random.integers(0, EXCHANGES, FAR)]
    names = random.permutation(EXCHANGES)
    ends, others = names[numpy.concatenate(ends)], names[numpy.concatenate(others)]
    ends, others = numpy.concatenate((ends, others)), numpy.concatenate((others, ends))
    begins = numpy.zeros(EXCHANGES + 1, dtype=numpy.int32)
    begins[1:] = numpy.bincount(ends, minlength=EXCHANGES).cumsum()
    return begins, others[numpy.argsort(ends, kind="stable")].astype(numpy.int32)


def make(variant):
    random = numpy.random.default_rng(20)
    begins, others = (cuda.to_device(array) for array in network(random))
    sources = random.choice(EXCHANGES, SOURCES, replace=False).tolist()
    hours = []
    for _ in range(HOURS):
        traffic = random.gamma(0.5, 2.0, EXCHANGES)
        hour = cuda.pinned_array(EXCHANGES, dtype=numpy.float32) if variant == "useless" else numpy.empty(
            EXCHANGES, dtype=numpy.float32)
        hour[:] = traffic / traffic.mean()
        hours.append(hour)
    levels = cuda.device_array(EXCHANGES, dtype=numpy.int32)
    ways, through = (cuda.device_array(EXCHANGES, dtype=numpy.float64) for _ in range(2))
    traffic, load = cuda.to_device(hours[0]), cuda.to_device(numpy.zeros(EXCHANGES))
    reached, flags = cuda.device_array(LEVELS, dtype=numpy.int32), numpy.zeros(LEVELS, dtype=numpy.int32)
    turn = [0]

    def spread(source):
        """Reaches all exchanges, and gives the first level at which there is none."""
        begin[GRID, BLOCK](levels, ways, through, reached, source)
        for level in range(1, LEVELS):
            further[GRID, BLOCK](begins, others, levels, ways, reached, level)
            reached.copy_to_host(flags)  # cause: wait,copy
            if not flags[level]:
                break
        return level

    known = [spread(source) for source in sources] if variant == "fix" else None

    def spread_as_known(source, end):
        begin[GRID, BLOCK](levels, ways, through, reached, source)
        for level in range(1, end + 1):
            further[GRID, BLOCK](begins, others, levels, ways, reached, level)
        return end

    def way_back(end, *stream):
        for level in range(end - 2, -1, -1):
            back[(GRID, BLOCK, *stream)](begins, others, levels, ways, through, traffic, level)
        add[(GRID, BLOCK, *stream)](levels, through, load)

    driver, graphs = ctypes.CDLL("libcuda.so.1"), []

    def captured(end):
        """The way back as a graph: Numba has none, so the driver is asked."""
        stream, graph, ready = cuda.stream(), ctypes.c_void_p(), ctypes.c_void_p()
        handle = ctypes.c_void_p(stream.handle.value if hasattr(stream.handle, "value") else int(stream.handle))
        asked = [driver.cuStreamBeginCapture_v2(handle, 2)]
        way_back(end, stream)
        asked += [driver.cuStreamEndCapture(handle, ctypes.byref(graph)), driver.cuGraphInstantiateWithFlags(
            ctypes.byref(ready), graph, ctypes.c_ulonglong(0))]
        if any(asked):
            raise RuntimeError("no graph: the driver says %s" % asked)
        return ready

    if variant == "fix2":
        ends = [spread(source) for source in sources]
        way_back(ends[-1])  # Numba compiles
        load.copy_to_device(numpy.zeros(EXCHANGES))
        graphs = [captured(end) for end in ends]

    def step():
        number = turn[0] % SOURCES
        if number == 0:
            traffic.copy_to_device(hours[turn[0] // SOURCES % HOURS])
        turn[0] += 1
        source = sources[number]
        end = spread_as_known(source, known[number]) if known else spread(source)  # cause: wait,copy
        if graphs:
            driver.cuGraphLaunch(graphs[number], ctypes.c_void_p(0))
        else:
            way_back(end)

    def values():
        """The load of an exchange by the mean, and that of the hundredth part which has the most."""
        loads = numpy.sort(load.copy_to_host())
        return [loads.mean(), loads[-EXCHANGES // 100:].mean()]

    return fixable.Work(step, cuda.synchronize, values)


run.main(make)
