# SPDX-License-Identifier: Apache-2.0
"""Numba: a studio balances the armies of a game of war. Each of 64 pairs of armies fights 131072 battles a step with other dice:
how many soldiers each side could hire, whom the archers hit, who is left after eight turns of swords, and by how much it is won.
Who wins, how often it is close, and how far apart battles end is counted, to find what units should cost.

Wrong: hirings, hits, survivors and margins get new arrays at each step, of 235 MB in all; Numba takes them from the driver and
gives them back to it, which waits for the GPU.
fix: the arrays are made once (alloc-bound).
useless: the counts come to pinned memory, when they are read.
"""
import fixable

run = fixable.Program(__doc__, steps=1200, warm_up=20)
numpy, numba, cuda = fixable.load_numba()

int32, uint64, float32, float64 = numba.int32, numba.uint64, numba.float32, numba.float64
BATTLES, PAIRS, THREADS, VOLLEYS, TURNS, BINS, EVERY = 1 << 23, 64, 256, 3, 8, 32, 25
EACH, BLOCKS = BATTLES // PAIRS, BATTLES // THREADS
DICE, GOLDEN, FIRST, SECOND = (numpy.uint64(n) for n in (64, 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))
BY_30, BY_27, BY_31, BY_40 = (numpy.uint64(n) for n in (30, 27, 31, 40))
TINY, NONE, LEAST = numpy.float32(2.0 ** -24), numpy.float32(0.0), numpy.float32(0.6)
NARROW, PERCENT, ONE, HALF_BINS = numpy.float32(0.1), numpy.float32(100.0), numpy.float32(1.0), numpy.float32(0.5 * BINS)


@cuda.jit(device=True)
def die(seed, battle, number):
    """What a die of a battle shows, from 0 to 1."""
    key = (seed + uint64(battle) * DICE + uint64(number)) * GOLDEN
    key = (key ^ (key >> BY_30)) * FIRST
    key = (key ^ (key >> BY_27)) * SECOND
    key = key ^ (key >> BY_31)
    return float32(key >> BY_40) * TINY


@cuda.jit
def hire(units, armies, seed):
    battle = cuda.grid(1)
    pair = battle // EACH
    for side in range(2):
        armies[side, battle] = units[pair, side, 0] * (LEAST + die(seed, battle, side))


@cuda.jit
def shoot(units, armies, hits, seed):
    """Archers hit more of them where the others are many."""
    battle = cuda.grid(1)
    pair = battle // EACH
    for side in range(2):
        lucky = NONE
        for volley in range(VOLLEYS):
            luck = die(seed, battle, 2 + side * VOLLEYS + volley)
            lucky += luck * luck
        hits[side, battle] = lucky * units[pair, 1 - side, 1] * armies[1 - side, battle]


@cuda.jit
def fight(units, armies, hits, left, seed):
    """Both sides strike at a time, until one has too few soldiers and runs."""
    battle = cuda.grid(1)
    pair = battle // EACH
    own, foes = max(NONE, armies[0, battle] - hits[0, battle]), max(NONE, armies[1, battle] - hits[1, battle])
    own_least, foes_least = armies[0, battle] * units[pair, 0, 3], armies[1, battle] * units[pair, 1, 3]
    for turn in range(TURNS):
        if own > own_least and foes > foes_least:
            fallen = foes * units[pair, 1, 2] * die(seed, battle, 8 + 2 * turn)
            foes = max(NONE, foes - own * units[pair, 0, 2] * die(seed, battle, 9 + 2 * turn))
            own = max(NONE, own - fallen)
    left[0, battle] = own
    left[1, battle] = foes


@cuda.jit
def judge(armies, left, margins, counts):
    """By which share of its army the first side is better off; counts won and close battles, and adds up margins in per cent."""
    sums = cuda.shared.array(3, int32)
    battle, thread = cuda.grid(1), cuda.threadIdx.x
    if thread < 3:
        sums[thread] = 0
    cuda.syncthreads()
    margin = left[0, battle] / armies[0, battle] - left[1, battle] / armies[1, battle]
    margins[battle] = margin
    if margin > NONE:
        cuda.atomic.add(sums, 0, 1)
    if abs(margin) < NARROW:
        cuda.atomic.add(sums, 1, 1)
    cuda.atomic.add(sums, 2, int32(margin * PERCENT))
    cuda.syncthreads()
    if thread < 3:
        cuda.atomic.add(counts, (battle // EACH) * 3 + thread, float64(sums[thread]))


@cuda.jit
def spread(margins, ends):
    """How many battles end with which margin."""
    bins = cuda.shared.array(BINS, int32)
    battle, thread = cuda.grid(1), cuda.threadIdx.x
    if thread < BINS:
        bins[thread] = 0
    cuda.syncthreads()
    place = int32((margins[battle] + ONE) * HALF_BINS)
    cuda.atomic.add(bins, min(max(place, 0), BINS - 1), 1)
    cuda.syncthreads()
    if thread < BINS:
        cuda.atomic.add(ends, thread, float64(bins[thread]))


def armies_of_pairs():
    """For each pair and side: soldiers, hits of a volley for each foe, foes that a soldier fells a turn, the share that runs."""
    random = numpy.random.default_rng(20)
    units = numpy.empty((PAIRS, 2, 4))
    units[:, :, 0] = random.uniform(80.0, 120.0, (PAIRS, 2))
    units[:, :, 1] = random.uniform(0.05, 0.15, (PAIRS, 2))
    units[:, :, 2] = random.uniform(0.10, 0.25, (PAIRS, 2))
    units[:, :, 3] = random.uniform(0.10, 0.40, (PAIRS, 2))
    return units.astype(numpy.float32)


def arrays():
    """Room for hirings, hits, survivors and margins."""
    both = [cuda.device_array((2, BATTLES), numpy.float32) for _ in range(3)]  # cause: alloc
    return both + [cuda.device_array(BATTLES, numpy.float32)]  # cause: alloc


def make(variant):
    units = cuda.to_device(armies_of_pairs())
    counts, ends = cuda.to_device(numpy.zeros(3 * PAIRS)), cuda.to_device(numpy.zeros(BINS))
    room = arrays() if variant == "fix" else None
    landing = cuda.pinned_array(3 * PAIRS, numpy.float64) if variant == "useless" else numpy.zeros(3 * PAIRS)
    turn, told = [0], []

    def shares(number):
        """The shares of battles that are won and that are close, and the mean margin, for the first pairs and for all."""
        each = numpy.array(landing).reshape(PAIRS, 3) / (float(number) * EACH)
        return each[:3].ravel().tolist() + each.mean(axis=0).tolist()

    def step():
        seed = numpy.uint64(turn[0] * BATTLES * 64)
        turn[0] += 1
        armies, hits, left, margins = room or arrays()  # cause: alloc
        hire[BLOCKS, THREADS](units, armies, seed)
        shoot[BLOCKS, THREADS](units, armies, hits, seed)
        fight[BLOCKS, THREADS](units, armies, hits, left, seed)
        judge[BLOCKS, THREADS](armies, left, margins, counts)
        spread[BLOCKS, THREADS](margins, ends)
        if turn[0] % EVERY == 0:
            counts.copy_to_host(landing)
            told[:] = shares(turn[0])

    def values():
        counts.copy_to_host(landing)
        return shares(turn[0]) + (ends.copy_to_host()[::4] / (float(turn[0]) * BATTLES)).tolist()

    return fixable.Work(step, cuda.synchronize, values)


run.main(make)
