# SPDX-License-Identifier: Apache-2.0
"""Numba: a camera looks at circuit boards behind the soldering oven, line by line; each picture is compared with that of a good
board, where things may have moved by a pixel, and it is told how many pixels of each field are wrong.

Wrong: since one should copy from pinned memory, cuda.pinned() pins each picture for its copy, and lets it go again; the driver
takes much longer for that than for the copy.
fix: the camera's pictures lie in pinned memory that is made once (alloc-bound).
fix2: the pictures are copied as they are, from pageable memory (alloc-bound).
useless: what is wrong with the fields comes to pinned memory.
"""
import fixable

run = fixable.Program(__doc__, steps=600, warm_up=15)
numpy, numba, cuda = fixable.load_numba()

HEIGHT, WIDTH, PICTURES, FIELD, NEAR, CHIPS, FAULTS = 8192, 4096, 4, 256, 24, 900, 60
THREADS = (64, 4)
BLOCKS = (WIDTH // THREADS[0], HEIGHT // THREADS[1])
FIELDS = (HEIGHT // FIELD, WIDTH // FIELD)
int32 = numba.int32


@cuda.jit
def clear(wrong):
    x, y = cuda.grid(2)
    if y < wrong.shape[0] and x < wrong.shape[1]:
        wrong[y, x] = 0


@cuda.jit
def compare(picture, good, wrong):
    """Counts the pixels that are like none of the nine around the same place of the good board."""
    x, y = cuda.grid(2)
    if x < 1 or y < 1 or x >= WIDTH - 1 or y >= HEIGHT - 1:
        return
    here, least = int32(picture[y, x]), int32(255)
    for down in range(-1, 2):
        for right in range(-1, 2):
            least = min(least, abs(here - int32(good[y + down, x + right])))
    if least > NEAR:
        cuda.atomic.add(wrong, (y // FIELD, x // FIELD), 1)


def boards():
    """A good board, and the pictures of others that have moved a bit, and on which things are missing."""
    random = numpy.random.default_rng(20)
    good = random.integers(40, 56, (HEIGHT, WIDTH), dtype=numpy.uint8)
    good[::16] += 60
    chips = random.integers(0, (HEIGHT - 200, WIDTH - 200), (CHIPS, 2))
    for top, left in chips:
        good[top:top + random.integers(20, 160), left:left + random.integers(20, 160)] = random.integers(90, 240)
    pictures = []
    for number in range(PICTURES):
        picture = numpy.roll(good, (number % 2, number // 2), axis=(0, 1)) + random.integers(0, 8, (HEIGHT, WIDTH), numpy.uint8)
        for top, left in chips[random.integers(0, CHIPS, FAULTS)]:
            picture[top:top + 30, left:left + 30] = 48
        pictures.append(picture)
    return good, pictures


def make(variant):
    good, pictures = boards()
    if variant == "fix":
        for number, picture in enumerate(pictures):
            pictures[number] = cuda.pinned_array((HEIGHT, WIDTH), numpy.uint8)
            pictures[number][:] = picture
    good, place = cuda.to_device(good), cuda.device_array((HEIGHT, WIDTH), numpy.uint8)
    wrong = cuda.device_array(FIELDS, numpy.int32)
    told = cuda.pinned_array(FIELDS, numpy.int32) if variant == "useless" else numpy.zeros(FIELDS, numpy.int32)
    turn, usual = [0], [0.0, 0.0]

    def bring(picture):
        if variant in ("fix", "fix2"):
            place.copy_to_device(picture)
            return
        with cuda.pinned(picture):  # cause: alloc
            place.copy_to_device(picture)

    def step():
        bring(pictures[turn[0] % PICTURES])  # cause: alloc
        turn[0] += 1
        clear[(1, FIELDS[0]), (FIELDS[1], 1)](wrong)
        compare[BLOCKS, THREADS](place, good, wrong)
        wrong.copy_to_host(told)
        usual[0] += 0.05 * (int(told.sum()) - usual[0])
        usual[1] += 0.05 * (int((told > 100).sum()) - usual[1])  # fields that someone would look at

    return fixable.Work(step, cuda.synchronize, lambda: list(usual))


run.main(make)
