# SPDX-License-Identifier: Apache-2.0
"""JAX with flax: a patch network looks at crops that the host cuts; each result is waited for with block_until_ready().

Wrong: the host cuts the next crops only when the GPU is done, and the GPU has nothing meanwhile.
fix: the wait is made once every 50 batches (sync-bound).
useless: the scaling of the crops and the network are one jitted function instead of two.
"""
import fixable

run = fixable.Program(__doc__, steps=800, warm_up=50, multiple=50)
jax, jnp, numpy, flax = fixable.load_jax("jax.numpy", "numpy", "flax.linen")

BATCH, SIZE, CROP, PATCH, WIDTH, BLOCKS, CLASSES, TOGETHER = 192, 128, 96, 16, 768, 8, 100, 50


class Network(flax.Module):
    @flax.compact
    def __call__(self, x):
        count = CROP // PATCH
        x = x.reshape(-1, count, PATCH, count, PATCH, 3).transpose(0, 1, 3, 2, 4, 5).reshape(-1, count * count, PATCH * PATCH * 3)
        x = flax.Dense(WIDTH)(x)
        for _ in range(BLOCKS):
            y = flax.LayerNorm()(x)
            x = x + flax.Dense(WIDTH)(flax.gelu(flax.Dense(4 * WIDTH)(y)))
        return flax.Dense(CLASSES)(x.mean(axis=1))


def make(variant):
    random = numpy.random.default_rng(20)
    pictures = random.integers(0, 256, (256, SIZE, SIZE, 3), dtype=numpy.uint8)
    network = Network()
    weights = network.init(jax.random.PRNGKey(20), jnp.zeros((1, CROP, CROP, 3)))
    seen, kept = [], []

    def scale(crops):
        return crops.astype(jnp.float32) / 127.5 - 1.0

    if variant == "useless":
        both = jax.jit(lambda weights, crops: network.apply(weights, scale(crops)))
    else:
        first, second = jax.jit(scale), jax.jit(network.apply)

        def both(weights, crops):
            return second(weights, first(crops))

    def cut():
        """Crops at random places, half of them mirrored."""
        crops = numpy.empty((BATCH, CROP, CROP, 3), numpy.uint8)
        places = random.integers(0, SIZE - CROP, (BATCH, 2))
        for crop, which, (top, left) in zip(crops, random.integers(0, len(pictures), BATCH), places):
            picture = pictures[which, top:top + CROP, left:left + CROP]
            crop[:] = picture[:, ::-1] if which % 2 else picture
        return crops

    def loop(steps):
        for _ in range(steps):
            answer = both(weights, jax.device_put(cut()))
            if variant == "fix":
                kept.append(answer)
                if len(kept) < TOGETHER:
                    continue
                jax.block_until_ready(kept)
                kept.clear()
            else:
                answer.block_until_ready()  # cause: wait in xla_cuda_plugin
        jax.block_until_ready(answer)
        seen[:] = numpy.abs(numpy.asarray(answer)).mean(axis=0).tolist()

    return fixable.Work(loop=loop, values=lambda: list(seen))


run.main(make)
