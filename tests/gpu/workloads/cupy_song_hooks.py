# SPDX-License-Identifier: Apache-2.0
"""CuPy: where a song's hook is, and where its parts begin, is told by its own likeness: each moment's twelve tones (chroma) are
compared with those of each other moment. The hook is the moment that the most of the song is like, and a new part begins where
a chessboard that is laid on the diagonal finds the greatest change. A catalogue of six songs is gone through.

Wrong: memory is given back to the driver behind each song, since other people use the GPU too; the next song takes it anew, and
to give it back waits for the GPU.
fix: the memory pool keeps what it has (alloc-bound).
useless: what is read, of one song in 20, comes to pinned memory.
"""
import fixable

run = fixable.Program(__doc__, steps=900, warm_up=12, settle={"fix": 12})
cupy, cupyx, stride_tricks, numpy = fixable.load_cupy("cupyx", "cupy.lib.stride_tricks", "numpy")

MOMENTS = (5200, 4700, 5600, 5000, 4400, 5400)  # of each song
TONES, BOARD, SHARP, READ = 12, 64, 12.0, 20


def song(random, moments):
    """Chroma of a song of a few parts that come again, (moments, TONES), each moment of length one."""
    parts = random.gamma(0.6, 1.0, (5, 32, TONES))
    tones = numpy.empty((moments, TONES))
    for begin in range(0, moments, 320):
        end = min(begin + 320, moments)
        tones[begin:end] = numpy.resize(parts[random.integers(5)], (320, TONES))[:end - begin]
    tones += random.gamma(0.5, 0.3, tones.shape)
    return (tones / numpy.linalg.norm(tones, axis=1, keepdims=True)).astype(numpy.float32)


def chessboard():
    """Plus where both moments are on the same side of a change, minus elsewhere, less far from its middle."""
    at = (numpy.arange(BOARD) - 0.5 * (BOARD - 1)) / (0.5 * BOARD)
    board = numpy.sign(at[:, None] * at) * numpy.exp(-2.0 * (at[:, None] ** 2 + at ** 2))
    return cupy.asarray((board / numpy.abs(board).sum()).astype(numpy.float32))


def make(variant):
    random = numpy.random.default_rng(20)
    songs = [cupy.asarray(song(random, moments)) for moments in MOMENTS]
    board = chessboard()
    hooks = [cupy.zeros(moments, dtype=cupy.float32) for moments in MOMENTS]
    changes = [cupy.zeros(moments - BOARD, dtype=cupy.float32) for moments in MOMENTS]
    landing = cupyx.empty_pinned(max(MOMENTS), dtype=numpy.float32) if variant == "useless" else None
    pool, turn, told = cupy.get_default_memory_pool(), [0], [0]

    def look(tones, hook, change):
        """For each moment, how much of the song is like it, and how much changes there."""
        same = tones @ tones.T  # cause: alloc
        like = cupy.exp((same - 1.0) * SHARP)  # cause: alloc
        hook[:] = like.mean(axis=1)  # cause: alloc
        down, right = like.strides
        squares = stride_tricks.as_strided(like, (len(tones) - BOARD, BOARD, BOARD), (down + right, down, right))
        change[:] = (squares * board).sum(axis=(1, 2))  # cause: alloc

    def step():
        number = turn[0] % len(songs)
        turn[0] += 1
        look(songs[number], hooks[number], changes[number])  # cause: alloc
        if variant != "fix":
            pool.free_all_blocks()  # cause: alloc
        if turn[0] % READ == 0:
            hook = hooks[number].get(out=landing[:MOMENTS[number]]) if variant == "useless" else hooks[number].get()
            told[0] = int(hook.argmax())

    def values():
        """Of each song, how much is like its hook, and how much changes where the most does."""
        return [float(found.get().max()) for found in hooks + changes]

    return fixable.Work(step, cupy.cuda.runtime.deviceSynchronize, values)


run.main(make)
