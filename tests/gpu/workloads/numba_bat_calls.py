# SPDX-License-Identifier: Apache-2.0
"""Numba: 64 microphones stand about a cave and hear bats at 256 kHz. A step is a second of all of them, 262144 samples of 16 bits
each: it is compared with a call that falls in pitch (a matched filter), the answer is smoothed, and where it is loudest in each
millisecond is told; from these come how many milliseconds have a call, and how loud calls are, for each microphone.

Wrong: each second of 34 MB goes from pageable memory, and the GPU waits for it.
fix: the seconds lie in pinned memory (copy-bound).
fix2: the next second is copied, from pageable memory still, on another stream while the kernels of this one run (copy-bound).
useless: the array that keeps what is told while it is read, once in 25 steps, is made once.
"""
import math

import fixable

run = fixable.Program(__doc__, steps=450, warm_up=10)
numpy, numba, cuda = fixable.load_numba()

EARS, SAMPLES, SECONDS, CALL, HALF, THREADS, READ = 64, 262144, 6, 64, 8, 256, 25
PARTS, LOUD = SAMPLES // THREADS, 60.0  # milliseconds of 256 samples; what a call is at least
float32 = numba.float32


def cry():
    """A call that falls in pitch, from 80 to 30 kHz, without its mean."""
    at = numpy.arange(CALL) / 256000.0
    falls = numpy.cos(6.2831853 * (80000.0 * at - 0.5 * 50000.0 / (CALL / 256000.0) * at * at)) * numpy.hanning(CALL)
    return ((falls - falls.mean()) / numpy.linalg.norm(falls)).astype(numpy.float32)


def seconds(pinned, call):
    """What the microphones hear: insects, wind, and calls of bats that come near."""
    luck = numpy.random.default_rng(20)
    noise = luck.normal(0.0, 12.0, 2 * SAMPLES).astype(numpy.float32)
    for _ in range(SECONDS):
        heard = (cuda.pinned_array if pinned else numpy.empty)((EARS, SAMPLES), dtype=numpy.int16)
        for ear in range(EARS):
            first = int(luck.integers(0, SAMPLES))
            sound = noise[first:first + SAMPLES].copy()
            for begin in luck.integers(0, SAMPLES - CALL, int(luck.integers(5, 80))):
                sound[begin:begin + CALL] += float(luck.uniform(100.0, 900.0)) * call
            heard[ear] = sound.astype(numpy.int16)
        yield heard


@cuda.jit
def match(heard, call, alike):
    """How much the sound is like a call, at each sample."""
    at, ear = cuda.grid(1), cuda.blockIdx.y
    total = float32(0.0)
    for after in range(min(CALL, SAMPLES - at)):
        total += float32(heard[ear, at + after]) * call[after]
    alike[ear, at] = abs(total)


@cuda.jit
def smooth(alike, even):
    """The mean of the samples about each one."""
    at, ear = cuda.grid(1), cuda.blockIdx.y
    first, behind = max(at - HALF, 0), min(at + HALF + 1, SAMPLES)
    total = float32(0.0)
    for near in range(first, behind):
        total += alike[ear, near]
    even[ear, at] = total / float32(behind - first)


@cuda.jit
def loudest(even, peaks):
    """The loudest sample of each millisecond, a block of threads for each."""
    most = cuda.shared.array(THREADS, float32)
    own, ear = cuda.threadIdx.x, cuda.blockIdx.y
    most[own] = even[ear, cuda.blockIdx.x * THREADS + own]
    cuda.syncthreads()
    half = THREADS // 2
    while half > 0:
        if own < half:
            most[own] = max(most[own], most[own + half])
        cuda.syncthreads()
        half //= 2
    if own == 0:
        peaks[ear, cuda.blockIdx.x] = most[0]


@cuda.jit
def tell(peaks, usual):
    """How many milliseconds have a call, and how loud those are, for each microphone: a block of threads for each."""
    sums = cuda.shared.array((2, THREADS), float32)
    own, ear = cuda.threadIdx.x, cuda.blockIdx.x
    sums[0, own], sums[1, own] = float32(0.0), float32(0.0)
    for part in range(own, PARTS, THREADS):
        if peaks[ear, part] > float32(LOUD):
            sums[0, own] += float32(1.0)
            sums[1, own] += float32(20.0) * math.log10(peaks[ear, part])
    cuda.syncthreads()
    half = THREADS // 2
    while half > 0:
        if own < half:
            sums[0, own] += sums[0, own + half]
            sums[1, own] += sums[1, own + half]
        cuda.syncthreads()
        half //= 2
    if own == 0:
        usual[0, ear] += float32(0.05) * (sums[0, 0] - usual[0, ear])
        usual[1, ear] += float32(0.05) * (sums[1, 0] / max(sums[0, 0], float32(1.0)) - usual[1, ear])


def make(variant):
    call = cry()
    told = list(seconds(variant == "fix", call))
    wanted = cuda.to_device(call)
    places = [cuda.device_array((EARS, SAMPLES), dtype=numpy.int16) for _ in range(2 if variant == "fix2" else 1)]
    alike, even = (cuda.device_array((EARS, SAMPLES), dtype=numpy.float32) for _ in range(2))
    peaks = cuda.device_array((EARS, PARTS), dtype=numpy.float32)
    usual, notes = cuda.to_device(numpy.zeros((2, EARS), dtype=numpy.float32)), numpy.zeros((2, EARS), dtype=numpy.float32)
    here, ahead = cuda.stream(), cuda.stream()
    arrived, free = ([cuda.event(timing=False) for _ in range(2)] for _ in range(2))
    kept = cuda.device_array((2, EARS), dtype=numpy.float32) if variant == "useless" else None
    grid, turn = (PARTS, EARS), [0]

    def listen(heard):
        """The kernels of a second."""
        match[grid, THREADS, here](heard, wanted, alike)
        smooth[grid, THREADS, here](alike, even)
        loudest[grid, THREADS, here](even, peaks)
        tell[EARS, THREADS, here](peaks, usual)

    def bring(number):
        """Copies a second on the other stream, behind the kernels that have read its place."""
        free[number % 2].wait(ahead)
        places[number % 2].copy_to_device(told[number % SECONDS], stream=ahead)
        arrived[number % 2].record(ahead)

    cuda.synchronize()
    if variant == "fix2":
        bring(0)

    def step():
        number = turn[0]
        if variant == "fix2":
            arrived[number % 2].wait(here)
            listen(places[number % 2])
            free[number % 2].record(here)
            bring(number + 1)
        else:
            places[0].copy_to_device(told[number % SECONDS], stream=here)  # cause: wait,copy
            listen(places[0])
        turn[0] += 1
        if turn[0] % READ == 0:
            shown = cuda.device_array((2, EARS), dtype=numpy.float32) if kept is None else kept
            shown.copy_to_device(usual, stream=here)
            shown.copy_to_host(notes, stream=here)
            here.synchronize()

    return fixable.Work(step, cuda.synchronize, lambda: usual.copy_to_host().reshape(-1).tolist())


run.main(make)
