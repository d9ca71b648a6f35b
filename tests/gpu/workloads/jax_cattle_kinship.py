# SPDX-License-Identifier: Apache-2.0
"""JAX: breeders ask how related 6144 cattle are, from which letters they have at 24,576 places of each of three chromosomes: how
often a letter comes is counted, places are put on one scale by that, and a product of matrices in bfloat16 adds up what each two
animals have in common (VanRaden). The matrix is kept for all chromosomes, and with it how inbred animals are, how much those of
one sire have in common, and those of different ones.

Wrong: nothing. The product of matrices takes nearly all the time, and the GPU has always the next step to do (gpu-bound).
useless: the matrix that is kept is donated to the step.
"""
import fixable

run = fixable.Program(__doc__, steps=900, warm_up=20, multiple=20)
jax, jnp, numpy = fixable.load_jax("jax.numpy", "numpy")

ANIMALS, PLACES, CHROMOSOMES, SIRES, LOOK_EVERY = 6144, 24576, 3, 96, 20
EACH = ANIMALS // SIRES  # calves of a sire, one behind the other
RAREST, NEW = 0.1, 0.02


@jax.jit
def chromosome(key):
    """How many of the rarer letters each animal has at each place, 0 to 2: one from the sire, one by chance."""
    often, sire, dam = jax.random.split(key, 3)
    share = jax.random.uniform(often, (PLACES,), minval=RAREST, maxval=0.5)
    from_sire = (jax.random.uniform(sire, (SIRES, PLACES)) < share).astype(jnp.int8)
    from_dam = (jax.random.uniform(dam, (ANIMALS, PLACES)) < share).astype(jnp.int8)
    return jnp.repeat(from_sire, EACH, axis=0, total_repeat_length=ANIMALS) + from_dam


def related(letters, kept, usual):
    """What is kept of all chromosomes with this one, and the numbers that the breeders look at."""
    share = letters.mean(axis=0, dtype=jnp.float32) * 0.5
    scaled = (letters - 2.0 * share) * jax.lax.rsqrt(2.0 * share * (1.0 - share) + 1e-6)
    scaled = scaled.astype(jnp.bfloat16)
    common = jnp.matmul(scaled, scaled.T, preferred_element_type=jnp.float32) * (1.0 / PLACES)
    kept = kept + NEW * (common - kept)
    own = jnp.trace(common) / ANIMALS
    families = common.reshape(SIRES, EACH, SIRES, EACH).mean(axis=(1, 3))
    of_one = (jnp.trace(families) / SIRES * EACH - own) / (EACH - 1)
    of_others = (families.sum() - jnp.trace(families)) / (SIRES * (SIRES - 1))
    return kept, usual + NEW * (jnp.stack((own - 1.0, of_one, of_others)) - usual)


def make(variant):
    keys = jax.random.split(jax.random.PRNGKey(20), CHROMOSOMES)
    letters = [chromosome(key) for key in keys]
    kept = [jax.device_put(numpy.zeros((ANIMALS, ANIMALS), dtype=numpy.float32))]
    usual = [jax.device_put(numpy.zeros(3, dtype=numpy.float32))]
    go_on = jax.jit(related, donate_argnums=(1,) if variant == "useless" else ())
    turn, told = [0], []

    def step():
        kept[0], usual[0] = go_on(letters[turn[0] % CHROMOSOMES], kept[0], usual[0])
        turn[0] += 1
        if turn[0] % LOOK_EVERY == 0:
            told[:] = numpy.asarray(usual[0]).tolist()

    def wait():
        jax.block_until_ready((kept, usual))

    def values():
        """How inbred the animals are, how related those of one sire and of others, and the same of two that are half sisters."""
        return numpy.asarray(usual[0]).tolist() + [float(kept[0][0, 0]), float(kept[0][0, 1])]

    return fixable.Work(step, wait, values)


run.main(make)
