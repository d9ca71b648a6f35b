# SPDX-License-Identifier: Apache-2.0
"""CuPy: how well a code with sparse parity checks (LDPC) corrects errors; blocks of 64 words get noise from NumPy, and messages
between bits and checks go to and fro thirty times (min-sum), written as one writes it in NumPy.

Wrong: each of those rounds is a row of short kernels, which Python launches one by one.
fix: the rounds of a block are one CUDA graph (launch-bound).
fix2: the noise of sixteen blocks is made before the loop, the rounds are as they were (host-bound).
useless: how many bits are wrong is read every 16 blocks.
"""
import fixable

TOGETHER = 16

run = fixable.Program(__doc__, steps=400, warm_up=TOGETHER, multiple=TOGETHER)
cupy, numpy = fixable.load_cupy("numpy")

BITS, CHECKS, PER_BIT, PER_CHECK, WORDS, ROUNDS, SIGMA, DAMPED = 2048, 1024, 3, 6, 64, 30, 0.88, 0.8
EDGES = BITS * PER_BIT


def make(variant):
    sockets = numpy.random.default_rng(20).permutation(EDGES)  # which place at a check each edge of a bit has
    to_bits, to_checks = cupy.asarray(sockets), cupy.asarray(numpy.argsort(sockets))
    silent = cupy.zeros((EDGES, WORDS), cupy.float32)
    channel, wrong = cupy.zeros((BITS, WORDS), cupy.float32), cupy.zeros((BITS, WORDS), cupy.bool_)
    far, plus, minus = cupy.float32(1e30), cupy.float32(1.0), cupy.float32(-1.0)
    turn, pending, rates = [0], [], [0.0] * TOGETHER

    def received(number):
        """The word of zeros through a channel with white noise, as likelihoods."""
        noise = numpy.random.default_rng(100 + number % TOGETHER).standard_normal((BITS, WORDS), dtype=numpy.float32)
        return numpy.float32(2.0 / SIGMA ** 2) * (1.0 + numpy.float32(SIGMA) * noise)

    def rounds():
        answers = silent
        for _ in range(ROUNDS):
            heard = cupy.take(answers, to_bits, axis=0).reshape(PER_BIT, BITS, WORDS)  # cause: launch
            total = channel + heard.sum(axis=0)  # cause: launch
            asked = cupy.take((total - heard).reshape(EDGES, WORDS), to_checks, axis=0)  # cause: launch
            asked = asked.reshape(PER_CHECK, CHECKS, WORDS)
            size, sign = cupy.abs(asked), cupy.where(asked < 0.0, minus, plus)  # cause: launch
            least = size.min(axis=0)  # cause: launch
            mine = size == least  # cause: launch
            second = cupy.where(mine, far, size).min(axis=0)  # cause: launch
            answers = sign * (DAMPED * sign.prod(axis=0)) * cupy.where(mine, second, least)  # cause: launch
            answers = answers.reshape(EDGES, WORDS)
        cupy.less(total, 0.0, out=wrong)

    ready = [received(number) for number in range(TOGETHER)] if variant == "fix2" else None

    def note(count):
        rates[(turn[0] - 1) % TOGETHER] = float(count) / (BITS * WORDS)

    def step(go_on=rounds):
        channel.set(ready[turn[0] % TOGETHER] if ready else received(turn[0]))
        turn[0] += 1
        go_on()  # cause: launch
        count = cupy.count_nonzero(wrong)
        if variant != "useless":
            note(count)
            return
        pending.append(count)
        if len(pending) == TOGETHER:
            rates[:] = (cupy.stack(pending).get() / (BITS * WORDS)).tolist()
            pending.clear()

    wait = cupy.cuda.runtime.deviceSynchronize
    if variant == "fix":
        stream = cupy.cuda.Stream(non_blocking=True)
        wait()
        with stream:
            for _ in range(2):  # the pool then has all memory that a capture needs
                rounds()
            stream.synchronize()
            stream.begin_capture()
            rounds()
            graph = stream.end_capture()

        def captured(steps):
            with stream:
                for _ in range(steps):
                    step(lambda: graph.launch(stream))

        return fixable.Work(loop=captured, wait=wait, values=lambda: list(rates))

    return fixable.Work(step, wait, lambda: list(rates))


run.main(make)
