# SPDX-License-Identifier: Apache-2.0
"""JAX: a university looks for the dates of 1400 exams such that no student has two at once, and few have two on one day: 256
timetables are changed at random, and a change for the worse is taken the more rarely, the colder it is (simulated annealing).

Wrong: the temperature is a static argument of the jitted function; each time it falls, all of it is traced and compiled anew.
fix: the temperature is an argument like others, and what was compiled serves for all (host-bound).
useless: the timetables and what they cost are donated.
"""
import fixable

STAY = 40  # steps of one temperature

run = fixable.Program(__doc__, steps=4 * STAY, warm_up=STAY, multiple=STAY)
jax, jnp, numpy = fixable.load_jax("jax.numpy", "numpy")

EXAMS, DATES, A_DAY, STUDENTS, TAKEN, FIELDS, CHAINS, TRIES, LOOK_EVERY = 1400, 60, 3, 12000, 5, 25, 256, 64, 20
WARM, FALLS, AT_ONCE, SAME_DAY, NEXT_DAY = 60.0, 0.97, 20.0, 3.0, 1.0


def clashes():
    """How many students are in both of two exams; most of one's exams are of one's own field."""
    random = numpy.random.default_rng(20)
    field = random.integers(0, FIELDS, (STUDENTS, 1))
    each = EXAMS // FIELDS
    own = field * each + (each * random.random((STUDENTS, TAKEN)) ** 1.5).astype(numpy.int64)
    exams = numpy.where(random.random((STUDENTS, TAKEN)) < 0.8, own, random.integers(0, EXAMS, (STUDENTS, TAKEN)))
    both = numpy.zeros((EXAMS, EXAMS), dtype=numpy.float32)
    for one in range(TAKEN):
        for other in range(TAKEN):
            numpy.add.at(both, (exams[:, one], exams[:, other]), 1.0)
    numpy.fill_diagonal(both, 0.0)
    return both


def burden(module, one, other):
    """What a student has to bear who has exams at these two dates."""
    days = module.abs(one // A_DAY - other // A_DAY)
    apart = module.where(days == 0, SAME_DAY, module.where(days == 1, NEXT_DAY, 0.0))
    return module.where(one == other, AT_ONCE, apart)


def sweep(dates, cost, both, number, temperature):
    """Some tries to move an exam, in each timetable."""
    which, to, luck = jax.random.split(jax.random.fold_in(jax.random.PRNGKey(20), number), 3)
    exams = jax.random.randint(which, (TRIES, CHAINS), 0, EXAMS)
    wanted = jax.random.randint(to, (TRIES, CHAINS), 0, DATES)
    luck = jnp.log(jax.random.uniform(luck, (TRIES, CHAINS), minval=1e-9))
    rows = jnp.arange(CHAINS)

    def attempt(at, state):
        dates, cost = state
        exam, new = exams[at], wanted[at]
        old = dates[rows, exam]
        change = burden(jnp, dates, new[:, None]) - burden(jnp, dates, old[:, None])
        change = (both[exam] * change).sum(axis=1)
        taken = luck[at] < -change / temperature
        return dates.at[rows, exam].set(jnp.where(taken, new, old)), cost + jnp.where(taken, change, 0.0)

    return jax.lax.fori_loop(0, TRIES, attempt, (dates, cost))


def make(variant):
    both = clashes()
    start = numpy.random.default_rng(21).integers(0, DATES, EXAMS).astype(numpy.int32)
    first = 0.5 * float((both * burden(numpy, start[:, None], start)).sum())
    state = [jnp.asarray(numpy.tile(start, (CHAINS, 1))), jnp.full(CHAINS, first, dtype=jnp.float32)]
    both = jnp.asarray(both)
    turn, told = [0], [1.0]
    improve = jax.jit(sweep, static_argnames=() if variant == "fix" else ("temperature",),
                      donate_argnums=(0, 1) if variant == "useless" else ())

    def step():
        temperature = WARM * FALLS ** (turn[0] // STAY)  # cause: loader
        state[:] = improve(*state, both, turn[0], temperature=temperature)  # cause: delayed
        turn[0] += 1
        if turn[0] % LOOK_EVERY == 0:
            told[:] = [float(state[1].min()) / first]

    return fixable.Work(step, lambda: jax.block_until_ready(state), lambda: told + [float(state[1].mean()) / first])


run.main(make)
