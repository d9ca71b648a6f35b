# SPDX-License-Identifier: Apache-2.0
"""JAX with optax: papers get vectors by who cites whom (DeepWalk): walks go from paper to paper at random, and papers that are
near to each other in a walk shall have vectors that are alike, other than those of 1024 papers drawn by chance.

Wrong: Python goes each walk step by step over lists of neighbours, and puts pairs together one by one; the GPU waits for them.
fix: NumPy goes all walks of a batch at once, over one array of neighbours; the pairs' places are always the same (host-bound).
useless: the loss is read every 250 steps instead of every 25.
"""
import functools

import fixable

run = fixable.Program(__doc__, steps=500, warm_up=15)
jax, jnp, optax, numpy = fixable.load_jax("jax.numpy", "optax", "numpy")

PAPERS, FIELDS, CITED, WIDTH, WALKS, LENGTH, WINDOW, OTHERS = 60000, 300, 8, 128, 192, 24, 5, 1024


def citations():
    """A list of neighbours for each paper: most are of its own field, and some papers are cited by many."""
    random = numpy.random.default_rng(20)
    field = random.integers(0, FIELDS, PAPERS)
    order = numpy.argsort(field, kind="stable")
    first = numpy.searchsorted(field[order], numpy.arange(FIELDS + 1))
    citing = numpy.repeat(numpy.arange(PAPERS), CITED)
    low, high = first[field[citing]], first[field[citing] + 1]
    near = order[low + (random.random(len(citing)) ** 2 * (high - low)).astype(int)]
    cited = numpy.where(random.random(len(citing)) < 0.9, near, random.integers(0, PAPERS, len(citing)))
    neighbours = [[] for _ in range(PAPERS)]
    for one, other in zip(citing.tolist(), cited.tolist()):
        neighbours[one].append(other)
        neighbours[other].append(one)
    return neighbours


def loss_of(vectors, centers, around, others):
    """The pairs shall be alike, and no center like the other papers."""
    center, near = vectors["center"][centers], vectors["around"][around]
    likeness = (center * near).sum(axis=1)
    unlike = center @ vectors["around"][others].T
    return jax.nn.softplus(-likeness).mean() + 5.0 * jax.nn.softplus(unlike).mean()


def make(variant):
    neighbours = citations()
    random = numpy.random.default_rng(21)
    tables = 0.1 * random.standard_normal((2, PAPERS, WIDTH), dtype=numpy.float32)
    vectors = {"center": jnp.asarray(tables[0]), "around": jnp.asarray(tables[1])}
    optimizer = optax.adam(2e-3)
    state = [vectors, optimizer.init(vectors)]
    look_every = 250 if variant == "useless" else 25
    turn, last, told = [0], [], []
    if variant == "fix":
        degrees = numpy.array([len(found) for found in neighbours])
        starts = numpy.cumsum(degrees) - degrees
        flat = numpy.array([paper for found in neighbours for paper in found], dtype=numpy.int32)
        pairs = [(at, beside) for at in range(LENGTH) for beside in range(max(0, at - WINDOW), min(LENGTH, at + WINDOW + 1))
                 if beside != at]
        centers_at, around_at = numpy.array(pairs).T

    @functools.partial(jax.jit, donate_argnums=(0, 1))
    def learn(vectors, moments, centers, around, others):
        loss, slopes = jax.value_and_grad(loss_of)(vectors, centers, around, others)
        changes, moments = optimizer.update(slopes, moments)
        return optax.apply_updates(vectors, changes), moments, loss

    def one_by_one(papers, luck):
        centers, around = [], []
        for paper, draws in zip(papers.tolist(), luck.tolist()):  # cause: loader
            walk = [paper]
            for draw in draws:  # cause: loader
                beside = neighbours[walk[-1]]  # cause: loader
                walk.append(beside[int(draw * len(beside))])  # cause: loader
            for at, center in enumerate(walk):  # cause: loader
                for near in range(max(0, at - WINDOW), min(LENGTH, at + WINDOW + 1)):  # cause: loader
                    if near != at:  # cause: loader
                        centers.append(center)  # cause: loader
                        around.append(walk[near])  # cause: loader
        return numpy.array(centers, dtype=numpy.int32), numpy.array(around, dtype=numpy.int32)  # cause: loader

    def at_once(papers, luck):
        walks = numpy.empty((WALKS, LENGTH), dtype=numpy.int32)
        walks[:, 0] = papers
        for step in range(1, LENGTH):
            papers = flat[starts[papers] + (luck[:, step - 1] * degrees[papers]).astype(numpy.int64)]
            walks[:, step] = papers
        return walks[:, centers_at].reshape(-1), walks[:, around_at].reshape(-1)

    def batch(number):
        random = numpy.random.default_rng(number)
        papers, luck = random.integers(0, PAPERS, WALKS, dtype=numpy.int32), random.random((WALKS, LENGTH - 1))
        pairs = (at_once if variant == "fix" else one_by_one)(papers, luck)  # cause: loader
        return pairs + (random.integers(0, PAPERS, OTHERS, dtype=numpy.int32),)

    def step():
        found = batch(turn[0])  # cause: loader
        turn[0] += 1
        *state[:], loss = learn(*state, *found)  # cause: delayed
        last[:] = [loss]
        if turn[0] % look_every == 0:
            told[:] = [float(loss)]

    def values():
        return [float(last[0])] + [float(jnp.abs(table).mean()) for table in state[0].values()]

    return fixable.Work(step, lambda: jax.block_until_ready(state), values)


run.main(make)
