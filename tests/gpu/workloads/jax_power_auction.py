# SPDX-License-Identifier: Apache-2.0
"""JAX: a trader wants to know the prices of tomorrow's auction of electric power for each forecast of the wind. The order book
has 1.6 million orders for each of 24 hours, from 64 areas, since homes with a battery trade too; an order is filled bit by bit
from one price to another one. The price at which as much is sold as bought is found by halving the range where it can be,
eighteen times, for all hours together.

Wrong: after each halving the host reads by how much the worst hour is out of balance, to stop early, which it never does; the GPU
has nothing to do until the next halving comes.
fix: it always halves eighteen times, and does not look (sync-bound).
useless: the usual prices, which stay on the GPU, are donated.
"""
import fixable

run = fixable.Program(__doc__, steps=1000, warm_up=12)
jax, jnp, numpy = fixable.load_jax("jax.numpy", "numpy")

HOURS, AREAS, ORDERS, FORECASTS, ROUNDS, EVERY = 24, 64, 25000, 48, 18, 20
LOWEST, HIGHEST, EVEN = -500.0, 4000.0, 1e-3  # the prices that the auction allows, per MWh; MW that nobody minds


def order_book(key):
    """Amounts in MW, the prices where orders begin to be filled, how far on they are whole; what buyers want at most.
    The first half of an area's orders sell; those that buy are filled as prices fall, as if what they wanted were sold again."""
    some, places, slopes = jax.random.split(key, 3)
    shape = (HOURS, AREAS, ORDERS)
    buys = jnp.arange(ORDERS) >= ORDERS // 2
    amounts = 0.05 * jax.random.exponential(some, shape)
    place = jax.random.uniform(places, shape)
    bids = jnp.where(place < 0.6, 2000.0 + 3000.0 * place, 875.0 * (place - 0.6))
    begins = jnp.where(buys, bids, 260.0 * place - 20.0)
    widths = 1.0 + 30.0 * jax.random.uniform(slopes, shape)
    return (amounts, begins, widths), jnp.where(buys, amounts, 0.0).sum(axis=2).sum(axis=1)


def winds():
    """MW of wind power at each hour, by each forecast."""
    random = numpy.random.default_rng(20)
    hours = numpy.arange(HOURS)
    for _ in range(FORECASTS):
        gusts = numpy.convolve(random.standard_normal(HOURS + 4), numpy.ones(5) / 5.0, "valid")
        wind = 7000.0 + 1500.0 * numpy.cos(2.0 * numpy.pi * (hours - random.uniform(0.0, 24.0)) / 24.0) + 2500.0 * gusts
        yield wind.clip(500.0, None).astype(numpy.float32)


def halve(book, surplus, low, high):
    """The half of the range of prices where the balance is, for each hour; what each area has sold; how far off it was."""
    amounts, begins, widths = book
    price = 0.5 * (low + high)
    filled = jnp.clip((price[:, None, None] - begins) / widths, 0.0, 1.0)
    sold = (amounts * filled).sum(axis=2)
    over = sold.sum(axis=1) + surplus
    return jnp.where(over > 0.0, low, price), jnp.where(over > 0.0, price, high), sold, jnp.abs(over).max()


def note(usual, low, high, sold):
    """The usual prices: of all hours, the dearest, the cheapest; and what the first area sells."""
    price = 0.5 * (low + high)
    now = jnp.stack((price.mean(), price.max(), price.min(), sold[:, 0].mean()))
    return usual + 0.02 * (now - usual)


def make(variant):
    book, wanted = jax.jit(order_book)(jax.random.PRNGKey(20))
    wanted = numpy.asarray(wanted)
    surplus = [jax.device_put(wind - wanted) for wind in winds()]
    lowest = jax.device_put(numpy.full(HOURS, LOWEST, dtype=numpy.float32))
    highest = jax.device_put(numpy.full(HOURS, HIGHEST, dtype=numpy.float32))
    usual, turn, told = [jax.device_put(numpy.zeros(4, dtype=numpy.float32))], [0], []
    halved = jax.jit(halve)
    noted = jax.jit(note, donate_argnums=(0,) if variant == "useless" else ())

    def looked_for(own):
        low, high = lowest, highest
        for _ in range(ROUNDS):
            low, high, sold, worst = halved(book, own, low, high)
            if variant != "fix" and float(worst) < EVEN:  # cause: wait,copy
                break
        return low, high, sold

    def step():
        low, high, sold = looked_for(surplus[turn[0] % FORECASTS])  # cause: wait,copy
        turn[0] += 1
        usual[0] = noted(usual[0], low, high, sold)
        if turn[0] % EVERY == 0:
            told[:] = numpy.asarray(usual[0]).tolist()

    return fixable.Work(step, lambda: jax.block_until_ready(usual[0]), lambda: numpy.asarray(usual[0]).tolist())


run.main(make)
