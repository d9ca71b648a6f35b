# SPDX-License-Identifier: Apache-2.0
"""CuPy: how stiff a liver is, which tells of its scars, is measured by ultrasound: a push makes a wave in the tissue, 80 frames
of echoes show how the tissue moves, point by point by the turn of the echo's phase, and the moments at which the wave comes to
each line of the picture give its speed. Four places are pushed in turn.

Wrong: as the scanner's display shares the GPU, somebody gives all free memory back to the driver behind each push, and what the
next push needs has to come from the driver again, which takes more time than the computing.
fix: the memory stays in CuPy's pool (alloc-bound).
useless: the slopes come to pinned memory.
"""
import fixable

run = fixable.Program(__doc__, steps=1200, warm_up=12)
cupy, cupyx, numpy = fixable.load_cupy("cupyx", "numpy")

FRAMES, DEPTH, LINES, PUSHES, READ_EACH = 80, 512, 160, 4, 20
FRAME_MS, LINE_MM, PULSE_MS, START_MS = 0.1, 0.1, 0.5, 0.8
SPEEDS = (2.2, 2.7, 3.1, 3.8)  # of the wave, metres by the second (millimetres by the millisecond)


def recorded():
    """The echoes of each push, (FRAMES, DEPTH, LINES), as complex numbers."""
    random = cupy.random.RandomState(20)
    moments = cupy.arange(FRAMES, dtype=cupy.float32)[:, None, None] * FRAME_MS
    across = cupy.arange(LINES, dtype=cupy.float32) * LINE_MM
    deeper = cupy.linspace(0.95, 1.05, DEPTH, dtype=cupy.float32)[:, None]
    for speed in SPEEDS:
        comes = across / (speed * deeper) + START_MS
        moved = cupy.exp(-((moments - comes) / PULSE_MS) ** 2)
        noise = random.standard_normal((2, FRAMES, DEPTH, LINES), dtype=cupy.float32) * 0.01
        echo = cupy.exp(0.8j * moved) + noise[0] + 1j * noise[1]
        yield echo.astype(cupy.complex64)


def make(variant):
    pool = cupy.get_default_memory_pool()
    pool.free_all_blocks()
    pushes = list(recorded())
    pool.free_all_blocks()
    middles = (cupy.arange(FRAMES - 1, dtype=cupy.float32)[:, None, None] + 0.5) * FRAME_MS
    across = numpy.arange(LINES, dtype=numpy.float32) * LINE_MM
    across -= across.mean()
    fit = cupy.asarray(across / (across * across).sum())
    usual = cupy.zeros((PUSHES, DEPTH - 2), dtype=cupy.float32)
    landing = cupyx.empty_pinned((PUSHES, DEPTH - 2), dtype=numpy.float32) if variant == "useless" else None
    turn, told = [0], [numpy.zeros((PUSHES, DEPTH - 2), dtype=numpy.float32)]

    def slopes(echo):
        """By how many milliseconds the wave comes later by the millimetre, at each depth."""
        turned = echo[1:] * echo[:-1].conj()  # cause: alloc
        moving = cupy.angle(turned)  # cause: alloc
        moving = moving[:, 2:] + moving[:, 1:-1] + moving[:, :-2]  # cause: alloc
        strong = moving * moving  # cause: alloc
        comes = (strong * middles).sum(axis=0) / strong.sum(axis=0)  # cause: alloc
        return (comes * fit).sum(axis=1)  # cause: alloc

    def step():
        number = turn[0] % PUSHES
        turn[0] += 1
        mine = usual[number]
        mine += 0.05 * (slopes(pushes[number]) - mine)  # cause: alloc
        if turn[0] % READ_EACH == 0:
            told[0] = usual.get(out=landing) if variant == "useless" else usual.get()
        if variant != "fix":
            pool.free_all_blocks()  # cause: alloc

    def values():
        """How stiff each place is (kPa), and how late the wave comes."""
        late = usual.get().mean(axis=1).tolist()
        return [3.0 / (ms * ms) for ms in late] + late

    return fixable.Work(step, cupy.cuda.runtime.deviceSynchronize, values)


run.main(make)
