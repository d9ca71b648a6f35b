# SPDX-License-Identifier: Apache-2.0
"""JAX: how much each of 96 findings has to do with patients' coming back to the hospital is told by a chain of samples from what
is likely after 24 thousand patients (Hamiltonian Monte Carlo); a jitted function goes a way of seven leaps from one sample.

Wrong: whether the end of a way is taken as the next sample is decided on the host: float() waits for the way, and only then the
next one can be sent off; the GPU has nothing meanwhile.
fix: the same function decides, by jnp.where; the counts are read every 20 steps (sync-bound).
useless: the luck and the pushes of all ways are drawn before the loop.
"""
import math

import fixable

TOGETHER = 20

run = fixable.Program(__doc__, steps=1000, warm_up=2 * TOGETHER, multiple=TOGETHER)
jax, jnp, numpy = fixable.load_jax("jax.numpy", "numpy")

PATIENTS, FINDINGS, LEAPS, WAYS, STRIDE, WIDTH, DRAWN = 24576, 96, 7, 4, 0.008, 1.0, 2048


def ward():
    """(findings of patients, 1 for those who came back and -1 for others, what the findings mean)."""
    random = numpy.random.default_rng(20)
    findings = random.standard_normal((PATIENTS, FINDINGS), dtype=numpy.float32)
    findings[:, 0] = 1.0
    meaning = (0.2 * random.standard_normal(FINDINGS)).astype(numpy.float32)
    chance = 1.0 / (1.0 + numpy.exp(-findings @ meaning))
    back = numpy.where(random.random(PATIENTS) < chance, 1.0, -1.0).astype(numpy.float32)
    return jnp.asarray(findings), jnp.asarray(back), jnp.asarray(meaning)


def unlikely(place, findings, back):
    return jax.nn.softplus(-back * (findings @ place)).sum() + 0.5 * (place * place).sum() / WIDTH


def way(place, push, findings, back):
    """Where seven leaps lead to, how much less likely it is there, and how unlikely it was here."""
    slope_of = jax.value_and_grad(unlikely)
    here, slope = slope_of(place, findings, back)
    start = here + 0.5 * (push * push).sum()
    for _ in range(LEAPS):
        push = push - 0.5 * STRIDE * slope
        place = place + STRIDE * push
        there, slope = slope_of(place, findings, back)
        push = push - 0.5 * STRIDE * slope
    return place, start - there - 0.5 * (push * push).sum(), here


def make(variant):
    findings, back, meaning = ward()
    random = numpy.random.default_rng(21)
    place, turn = [meaning], [0]
    told = [0, 0.0, 0]  # ways taken, how unlikely the samples were, ways
    go, sums, nothing = jax.jit(way), [jnp.zeros(2)], jnp.zeros(2)

    @jax.jit
    def go_and_decide(place, sums, push, luck, findings, back):
        end, gain, here = way(place, push, findings, back)
        taken = luck < gain
        return jnp.where(taken, end, place), sums + jnp.stack((taken.astype(jnp.float32), here / PATIENTS))

    if variant == "useless":
        pushes = random.standard_normal((DRAWN, FINDINGS), dtype=numpy.float32)
        lucks = numpy.log(1.0 - random.random(DRAWN)).tolist()

    def drawn(number):
        if variant == "useless":
            return pushes[number % DRAWN], lucks[number % DRAWN]
        return random.standard_normal(FINDINGS, dtype=numpy.float32), math.log(1.0 - random.random())

    def log(taken, here, ways=1):
        told[0] += taken
        told[1] += here
        told[2] += ways

    def sample(number):
        push, luck = drawn(number)
        if variant == "fix":
            place[0], sums[0] = go_and_decide(place[0], sums[0], push, luck, findings, back)
            return
        end, gain, here = go(place[0], push, findings, back)
        taken = luck < float(gain)  # cause: wait,copy
        if taken:
            place[0] = end
        log(float(taken), float(here) / PATIENTS)  # cause: wait,copy

    def step():
        for _ in range(WAYS):
            sample(turn[0])  # cause: wait,copy
            turn[0] += 1
        if variant == "fix" and turn[0] % (WAYS * TOGETHER) == 0:
            log(*jax.device_get(sums[0]).tolist(), ways=WAYS * TOGETHER)
            sums[0] = nothing

    return fixable.Work(step, lambda: jax.block_until_ready(place), lambda: [told[0] / told[2], told[1] / told[2]])


run.main(make)
