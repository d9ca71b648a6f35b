# SPDX-License-Identifier: Apache-2.0
"""Numba: the gearboxes of wind turbines are watched by eight sensors. A map of six by eight typical states is learnt from what
they say (soft topographic vector quantisation, a kind of self-organising map): each of 131072 samples belongs to all states,
more to those that are near, and near neighbours on the map learn from the same samples. What is far from all states is an
alarm.

Wrong: each pass makes its arrays anew, three of them of 25 MB, and Numba takes each from the driver and gives it back in bunches,
which waits for the GPU.
fix: the arrays are made once (alloc-bound).
useless: the states, at which one looks every 50 steps, come to pinned memory.
"""
import math

import fixable

run = fixable.Program(__doc__, steps=2000, warm_up=15)
numpy, numba, cuda = fixable.load_numba()
float32 = numba.float32

SAMPLES, SENSORS, COLUMNS, DOWN, ACROSS, UNITS, FARMS = 131072, 8, 9, 6, 8, 48, 4
SHARP, RATE, ALARM, LOOK, THREADS, CHUNKS = 1.5, 0.05, 12.0, 50, 128, 32


@cuda.jit
def emptied(sums, alarms):
    if cuda.threadIdx.x < COLUMNS:
        sums[cuda.blockIdx.x, cuda.threadIdx.x] = float32(0.0)
    if cuda.blockIdx.x == 0 and cuda.threadIdx.x == 0:
        alarms[0] = 0


@cuda.jit
def distances(samples, units, apart):
    sample = cuda.grid(1)
    if sample < SAMPLES:
        for unit in range(UNITS):
            total = float32(0.0)
            for sensor in range(SENSORS):
                off = samples[sensor, sample] - units[unit, sensor]
                total += off * off
            apart[unit, sample] = total


@cuda.jit
def blurred(apart, near, costs):
    """What it costs to put a sample to a state, where it may be taken for a neighbour."""
    sample = cuda.grid(1)
    if sample < SAMPLES:
        for unit in range(UNITS):
            total = float32(0.0)
            for neighbour in range(UNITS):
                total += near[unit, neighbour] * apart[neighbour, sample]
            costs[unit, sample] = total


@cuda.jit
def shared_out(costs, belongs, strange):
    """How much of a sample belongs to each state, and how far it is from all of them."""
    sample = cuda.grid(1)
    if sample < SAMPLES:
        least = costs[0, sample]
        for unit in range(1, UNITS):
            least = min(least, costs[unit, sample])
        total = float32(0.0)
        for unit in range(UNITS):
            part = math.exp(float32(SHARP) * (least - costs[unit, sample]))
            belongs[unit, sample] = part
            total += part
        for unit in range(UNITS):
            belongs[unit, sample] /= total
        strange[sample] = least - math.log(total) / float32(SHARP)


@cuda.jit
def summed(samples, belongs, strange, sums, alarms):
    """The sum of samples by state, each as far as it belongs to it, and how many are strange."""
    unit, thread = cuda.blockIdx.x, cuda.threadIdx.x
    mine = cuda.local.array(COLUMNS, float32)
    whole = cuda.shared.array(COLUMNS, float32)
    for column in range(COLUMNS):
        mine[column] = float32(0.0)
    if thread < COLUMNS:
        whole[thread] = float32(0.0)
    cuda.syncthreads()
    for sample in range(cuda.blockIdx.y * cuda.blockDim.x + thread, SAMPLES, cuda.gridDim.y * cuda.blockDim.x):
        part = belongs[unit, sample]
        for sensor in range(SENSORS):
            mine[sensor] += part * samples[sensor, sample]
        mine[SENSORS] += part
        if unit == 0 and strange[sample] > float32(ALARM):
            cuda.atomic.add(alarms, 0, 1)
    for column in range(COLUMNS):
        cuda.atomic.add(whole, column, mine[column])
    cuda.syncthreads()
    if thread < COLUMNS:
        cuda.atomic.add(sums, (unit, thread), whole[thread])


@cuda.jit
def moved(near, sums, units):
    unit, sensor = cuda.blockIdx.x, cuda.threadIdx.x
    above, below = float32(0.0), float32(1e-6)
    for neighbour in range(UNITS):
        above += near[unit, neighbour] * sums[neighbour, sensor]
        below += near[unit, neighbour] * sums[neighbour, SENSORS]
    units[unit, sensor] += float32(RATE) * (above / below - units[unit, sensor])


def farms(random):
    """What sensors say, (SENSORS, SAMPLES): some ways to run, and wear that grows."""
    ways = random.normal(0.0, 1.5, (12, SENSORS))
    for _ in range(FARMS):
        wear = random.exponential(0.3, (SAMPLES, 1)) * random.normal(0.0, 1.0, SENSORS)
        said = ways[random.integers(0, 12, SAMPLES)] + wear + random.normal(0.0, 0.5, (SAMPLES, SENSORS))
        yield cuda.to_device(numpy.ascontiguousarray(said.T.astype(numpy.float32)))


def neighbours():
    """How often a state is taken for another one; rows have the sum one."""
    places = numpy.stack(numpy.divmod(numpy.arange(UNITS), ACROSS), axis=1)
    far = ((places[:, None] - places[None]) ** 2).sum(axis=2)
    near = numpy.exp(-far / (2.0 * 0.7 ** 2))
    return cuda.to_device((near / near.sum(axis=1, keepdims=True)).astype(numpy.float32))


def room():
    """Arrays of a pass: distances, costs, what belongs to what, what is strange, and sums."""
    apart = cuda.device_array((UNITS, SAMPLES), numpy.float32)  # cause: alloc
    costs = cuda.device_array((UNITS, SAMPLES), numpy.float32)  # cause: alloc
    belongs = cuda.device_array((UNITS, SAMPLES), numpy.float32)  # cause: alloc
    strange = cuda.device_array(SAMPLES, numpy.float32)  # cause: alloc
    return apart, costs, belongs, strange, cuda.device_array((UNITS, COLUMNS), numpy.float32)  # cause: alloc


def make(variant):
    random = numpy.random.default_rng(20)
    data, near = list(farms(random)), neighbours()
    units = cuda.to_device(random.normal(0.0, 0.3, (UNITS, SENSORS)).astype(numpy.float32))
    alarms = cuda.to_device(numpy.zeros(1, dtype=numpy.int32))
    landing = cuda.pinned_array((UNITS, SENSORS), dtype=numpy.float32) if variant == "useless" else None
    made_once = room() if variant == "fix" else None
    blocks = SAMPLES // THREADS
    turn, usual = [0], [0.0]

    def learn(samples):
        apart, costs, belongs, strange, sums = made_once or room()  # cause: alloc
        emptied[UNITS, 32](sums, alarms)
        distances[blocks, THREADS](samples, units, apart)
        blurred[blocks, THREADS](apart, near, costs)
        shared_out[blocks, THREADS](costs, belongs, strange)
        summed[(UNITS, CHUNKS), THREADS](samples, belongs, strange, sums, alarms)
        moved[UNITS, SENSORS](near, sums, units)  # cause: alloc

    def step():
        learn(data[turn[0] % FARMS])  # cause: alloc
        turn[0] += 1
        if turn[0] % LOOK == 0:
            found = units.copy_to_host(ary=landing)
            usual[0] += 0.1 * (float(numpy.abs(found).mean()) - usual[0])

    def values():
        """How far the states are from nothing and from each other, and which share of samples is an alarm."""
        found = units.copy_to_host()
        return [float(numpy.abs(found).mean()), float(found.std()), int(alarms.copy_to_host()[0]) / SAMPLES]

    return fixable.Work(step, cuda.synchronize, values)


run.main(make)
