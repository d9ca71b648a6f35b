# SPDX-License-Identifier: Apache-2.0
"""JAX: against tremor, sound is brought to one point deep in the brain, through the skull, from a bowl around the head. Which
phases the bowl's parts need is tried out beforehand by computing how the waves go: slopes of pressure and flow are found by
three-dimensional FFTs (pseudospectral), some hundred ticks for each plan.

Wrong: nothing; a step has 32 FFTs of 256 by 256 by 256 numbers, and the GPU is busy with them all the time (gpu-bound).
useless: how strong the sound is at the point is looked at once for a plan, instead of every five steps.
"""
import math

import fixable

LOOK_EVERY, PLAN = 5, 60  # steps until someone looks, and steps of a plan

run = fixable.Program(__doc__, steps=4 * PLAN, warm_up=PLAN, multiple=PLAN)
jax, jnp, numpy = fixable.load_jax("jax.numpy", "numpy")

SIDE, TICKS, PARTS, PLANS = 256, 4, 24, 2
WIDE, WATER, BONE, PITCH, COURANT = 7e-4, 1500.0, 2600.0, 3.0e5, 0.3  # of a cell, in metres; metres a second; Hz
TICK = COURANT * WIDE / BONE
POINT = (SIDE // 2, SIDE // 2, SIDE // 2)


def head():
    """How fast sound is, the bowl's part of each cell (or none: PARTS), and what is left of a wave near the edges."""
    z, y, x = numpy.ogrid[:SIDE, :SIDE, :SIDE]
    away = numpy.sqrt((z - POINT[0]) ** 2.0 + (y - POINT[1]) ** 2.0 + (x - POINT[2]) ** 2.0).astype(numpy.float32)
    speed = numpy.where((away > 20.0) & (away < 26.0 + 2.0 * numpy.sin(0.05 * x)), BONE, WATER)
    around = numpy.floor((numpy.arctan2(y - POINT[1], x - POINT[2]) / (2.0 * math.pi) + 0.5) * PARTS).astype(numpy.int32)
    bowl = (numpy.abs(away - 36.0) < 0.8) & (z < POINT[0])
    part = numpy.where(bowl, numpy.minimum(around, PARTS - 1), PARTS)
    edge = numpy.minimum(numpy.arange(SIDE), numpy.arange(SIDE)[::-1])
    fade = numpy.exp(-0.08 * numpy.maximum(0.0, 1.0 - edge / 20.0) ** 2)
    left = fade[:, None, None] * fade[:, None] * fade
    return speed.astype(numpy.float32), part.astype(numpy.int32), left.astype(numpy.float32)


def waves():
    """The numbers of waves along the three sides, and what makes ticks exact where sound has the speed of bone."""
    whole = 2.0 * math.pi * numpy.fft.fftfreq(SIDE, WIDE)
    half = 2.0 * math.pi * numpy.fft.rfftfreq(SIDE, WIDE)
    size = numpy.sqrt(whole[:, None, None] ** 2 + whole[:, None] ** 2 + half ** 2)
    exact = numpy.sinc(BONE * TICK * size / (2.0 * math.pi))
    along = whole[:, None, None], whole[:, None], half
    return [(1j * one).astype(numpy.complex64) for one in along], exact.astype(numpy.float32)


@jax.jit
def advance(state, speed, part, left, along, exact, phases):
    """The waves after some ticks: pressure, flow along the three sides, the time in periods, and how strong the sound is."""
    pressure, flows, clock, strong = state
    stiff = jnp.square(speed)
    for _ in range(TICKS):
        spectrum = jnp.fft.rfftn(pressure) * exact
        flows = [left * (flow - TICK * jnp.fft.irfftn(one * spectrum, s=pressure.shape)) for flow, one in zip(flows, along)]
        spread = sum(one * jnp.fft.rfftn(flow) for flow, one in zip(flows, along)) * exact
        pushes = jnp.append(jnp.sin(2.0 * math.pi * (clock + phases)), 0.0)
        pressure = left * (pressure - TICK * stiff * jnp.fft.irfftn(spread, s=pressure.shape) + pushes[part])
        clock = (clock + PITCH * TICK) % 1.0
        strong = strong + jnp.square(pressure[POINT])
    return pressure, flows, clock, strong


def make(variant):
    speed, part, left = [jax.device_put(array) for array in head()]
    along, exact = jax.device_put(waves())
    random = numpy.random.default_rng(20)
    plans = [jax.device_put(random.uniform(0.0, 0.25 + 0.1 * plan, PARTS).astype(numpy.float32)) for plan in range(PLANS)]
    look_every = PLAN if variant == "useless" else LOOK_EVERY
    turn, told, state = [0], [0.0] * PLANS, []

    def rest():
        """No sound yet."""
        silent = jnp.zeros((SIDE, SIDE, SIDE), jnp.float32)
        return silent, [silent] * 3, jnp.zeros((), jnp.float32), jnp.zeros((), jnp.float32)

    def step():
        plan = turn[0] // PLAN % PLANS
        if turn[0] % PLAN == 0:
            state[:] = rest()
        state[:] = advance(tuple(state), speed, part, left, along, exact, plans[plan])
        turn[0] += 1
        if turn[0] % look_every == 0:
            told[plan] = float(state[3])

    return fixable.Work(step, lambda: jax.block_until_ready(state), lambda: list(told))


run.main(make)
