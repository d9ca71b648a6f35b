# SPDX-License-Identifier: Apache-2.0
"""JAX: how much of each wild dog comes from wolves and from which breeds of dogs: of 384 animals one knows 12288 places of the
genes where animals differ, each with none, one or two copies of the rarer letter. From a start by chance, 24 rounds of
expectation and maximization make the shares that eight ancestors have in each animal, and how often each ancestor has the letter;
this is done from many starts, as one does not find the best answer from each.

Wrong: the likelihood is read behind each round, to give up starts that go astray (none does), and the GPU runs dry before the
next round comes.
fix: the rounds are all launched, and the curve of likelihoods is looked at behind the last one (sync-bound).
useless: a round may use the memory of the shares and letters that it was given (they are donated).
"""
import fixable

run = fixable.Program(__doc__, steps=500, warm_up=8)
jax, jnp, numpy = fixable.load_jax("jax.numpy", "numpy")

ANIMALS, PLACES, ANCESTORS, ROUNDS, STARTS, TINY, FALLS = 384, 12288, 8, 24, 8, 1e-4, 0.05


def genotypes(random):
    """Copies of the rarer letter that each animal has at each place."""
    shares = random.dirichlet([0.3] * ANCESTORS, ANIMALS)
    whole = random.beta(0.8, 1.6, PLACES).clip(0.02, 0.98)
    often = random.beta(8.0 * whole, 8.0 * (1.0 - whole), (ANCESTORS, PLACES)).clip(0.01, 0.99)
    return random.binomial(2, shares @ often).astype(numpy.float32)


def begin(key):
    """Shares and letters by chance, and a curve without likelihoods."""
    one, other = jax.random.split(key)
    shares = jnp.exp(jax.random.normal(one, (ANIMALS, ANCESTORS)))
    often = jax.random.uniform(other, (ANCESTORS, PLACES), minval=0.2, maxval=0.8)
    return shares / shares.sum(axis=1, keepdims=True), often, jnp.zeros(ROUNDS)


def one_round(genes, shares, often, curve):
    """Shares and letters under which the genes are likelier, and how likely they were (the mean of the logarithm)."""
    chance = jnp.clip(shares @ often, TINY, 1.0 - TINY)
    has, lacks = genes / chance, (2.0 - genes) / (1.0 - chance)
    likelihood = (genes * jnp.log(chance) + (2.0 - genes) * jnp.log(1.0 - chance)).mean()
    rare, common = often * (shares.T @ has), (1.0 - often) * (shares.T @ lacks)
    new = shares * (has @ often.T + lacks @ (1.0 - often).T)
    new_often = jnp.clip(rare / (rare + common), TINY, 1.0 - TINY)
    return new / new.sum(axis=1, keepdims=True), new_often, jnp.concatenate((curve[1:], likelihood[None])), likelihood


def make(variant):
    random = numpy.random.default_rng(20)
    genes = jax.device_put(genotypes(random))
    keys = [jax.random.PRNGKey(number) for number in range(STARTS)]
    start = jax.jit(begin)
    better = jax.jit(one_round, donate_argnums=(1, 2, 3) if variant == "useless" else ())
    turn, astray, last, usual = [0], [0], [None], [0.0, 0.0, 0.0]

    def read_each(shares, often, curve):
        before = -numpy.inf
        for _ in range(ROUNDS):
            shares, often, curve, likelihood = better(genes, shares, often, curve)
            now = float(likelihood)  # cause: wait,copy
            if now < before - FALLS:
                astray[0] += 1
                break
            before = now
        return shares, numpy.asarray(curve)

    def read_once(shares, often, curve):
        for _ in range(ROUNDS):
            shares, often, curve, _ = better(genes, shares, often, curve)
        curve = numpy.asarray(curve)
        if (numpy.diff(curve) < -FALLS).any():
            astray[0] += 1
        return shares, curve

    fit = read_once if variant == "fix" else read_each

    def step():
        last[0], curve = fit(*start(keys[turn[0] % STARTS]))  # cause: wait,copy
        turn[0] += 1
        for k, at in enumerate((0, ROUNDS // 2, ROUNDS - 1)):
            usual[k] += 0.05 * (float(curve[at]) - usual[k])

    return fixable.Work(step, lambda: jax.block_until_ready(last), lambda: usual + [float(astray[0])])


run.main(make)
