# SPDX-License-Identifier: Apache-2.0
"""JAX, flax, optax: chemists write reactions as lines of text (SMILES). A transformer of four layers, 1024 wide, in bfloat16 reads
such lines, of which one letter in seven is hidden, and learns to tell the hidden ones, 96 reactions of 192 letters at a time; it
is to find errors of writing in old laboratory journals. The reactions lie on the GPU, as bytes.

Wrong: nothing; the GPU multiplies matrices nearly all of the time (gpu-bound).
useless: the weights and the optimizer's state are donated.
"""
import fixable

run = fixable.Program(__doc__, steps=180, warm_up=8)
jax, jnp, flax, optax, numpy = fixable.load_jax("jax.numpy", "flax.linen", "optax", "numpy")

LETTERS = "_?.()=#123[]+-@>CNOSPFIclnosBrH"
HIDDEN, BATCH, LENGTH, BATCHES, LAYERS, WIDE, HEADS, SHOWN = 1, 96, 192, 24, 4, 1024, 16, 20
GROUPS = ("CC", "CCC", "C(=O)O", "C(=O)Cl", "C(=O)N", "c1ccccc1", "c1ccncc1", "N", "O", "OC", "Br", "F", "C#N", "S(=O)(=O)C", "CCO",
          "N(C)C", "[N+](=O)[O-]", "C=C", "c1ccoc1", "I")


def journals():
    """Batches of reactions: two molecules of groups, and what they become, which is about both of them."""
    luck = numpy.random.default_rng(20)
    places = {letter: number for number, letter in enumerate(LETTERS)}
    lines = numpy.zeros((BATCHES * BATCH, LENGTH), dtype=numpy.uint8)
    for line in lines:
        one, two = ("".join(GROUPS[at] for at in luck.integers(len(GROUPS), size=number)) for number in luck.integers(5, 10, 2))
        text = (one + "." + two + ">>" + one[:-1] + two[1:])[:LENGTH]
        line[:len(text)] = [places[letter] for letter in text]
    return lines.reshape(BATCHES, BATCH, LENGTH)


class Layer(flax.Module):
    @flax.compact
    def __call__(self, x):
        y = flax.LayerNorm(dtype=jnp.bfloat16)(x)
        x = x + flax.MultiHeadDotProductAttention(num_heads=HEADS, dtype=jnp.bfloat16)(y, y)
        y = flax.Dense(4 * WIDE, dtype=jnp.bfloat16)(flax.LayerNorm(dtype=jnp.bfloat16)(x))
        return x + flax.Dense(WIDE, dtype=jnp.bfloat16)(flax.gelu(y))


class Reader(flax.Module):
    @flax.compact
    def __call__(self, letters):
        where = self.param("where", flax.initializers.normal(0.02), (LENGTH, WIDE))
        x = flax.Embed(len(LETTERS), WIDE, dtype=jnp.bfloat16)(letters) + where.astype(jnp.bfloat16)
        for _ in range(LAYERS):
            x = Layer()(x)
        return flax.Dense(len(LETTERS), dtype=jnp.float32)(flax.LayerNorm(dtype=jnp.bfloat16)(x))


def make(variant):
    batches = [jax.device_put(batch) for batch in journals()]
    model = Reader()
    optimizer = optax.adamw(1e-4, weight_decay=0.01)

    def begin(key):
        weights = model.init(key, jnp.zeros((1, LENGTH), dtype=jnp.int32))
        return weights, optimizer.init(weights), key, jnp.full((), 2.0, dtype=jnp.float32)

    def learn(weights, memory, key, usual, batch):
        """Hides some letters, learns to tell them, and notes the loss."""
        key, now = jax.random.split(key)
        letters = batch.astype(jnp.int32)
        hidden = jax.random.bernoulli(now, 1.0 / 7.0, letters.shape) & (letters > 0)

        def loss_of(weights):
            told = model.apply(weights, jnp.where(hidden, HIDDEN, letters))
            losses = optax.softmax_cross_entropy_with_integer_labels(told, letters)
            return (losses * hidden).sum() / hidden.sum()

        loss, slopes = jax.value_and_grad(loss_of)(weights)
        change, memory = optimizer.update(slopes, memory, weights)
        return optax.apply_updates(weights, change), memory, key, usual + 0.02 * (loss - usual)

    state, turn, curve = list(jax.jit(begin)(jax.random.PRNGKey(20))), [0], []
    learned = jax.jit(learn, donate_argnums=(0, 1) if variant == "useless" else ())

    def step():
        state[:] = learned(*state, batches[turn[0] % BATCHES])
        turn[0] += 1
        if turn[0] % SHOWN == 0:
            curve.append(float(state[3]))

    return fixable.Work(step, lambda: jax.block_until_ready(state), lambda: [float(state[3])])


run.main(make)
