# SPDX-License-Identifier: Apache-2.0
"""transformers: a small BERT learns words that are hidden in its texts. Whole words are hidden, not pieces of them; which ones is
chosen in Python before each step, anew each time, as the collator of transformers does it.

Wrong: a batch's words are put together from their pieces one after the other, and the GPU waits for it.
fix: NumPy hides the words of all texts at once (host-bound).
fix2: what is learnt from a batch is one CUDA graph (launch-bound).
useless: the batch is pinned, and copied with non_blocking=True.
"""
import fixable

run = fixable.Program(__doc__, steps=160, warm_up=8)
torch, numpy, transformers = fixable.load_torch("numpy", "transformers")

BATCH, LENGTH, SETS, KNOWN, SHARE, LOOK_EVERY = 256, 128, 8, 6000, 0.15, 20
NOTHING, BEGIN, END, HIDDEN = 0, 1, 2, 3
LETTERS = "etaoinshrdlucmfwypvbgk"


def language(random):
    """(pieces by number, texts as numbers of pieces): a third of the pieces goes on with a word."""
    pieces = ["[PAD]", "[CLS]", "[SEP]", "[MASK]"]
    for number in range(len(pieces), KNOWN):
        piece = "".join(LETTERS[at] for at in random.integers(0, len(LETTERS), random.integers(2, 7)))
        pieces.append("##" + piece if number % 3 == 0 else piece)
    texts = 4 + random.zipf(1.2, (SETS, BATCH, LENGTH)) % (KNOWN - 4)
    texts[:, :, 0], texts[:, :, -1] = BEGIN, END
    return pieces, texts


def make(variant):
    fixable.seed(torch)
    pieces, texts = language(numpy.random.default_rng(20))
    goes_on = numpy.array([piece.startswith("##") for piece in pieces])
    config = transformers.BertConfig(vocab_size=KNOWN, hidden_size=384, num_hidden_layers=4, num_attention_heads=6,
                                     intermediate_size=1536, max_position_embeddings=LENGTH, hidden_dropout_prob=0.0,
                                     attention_probs_dropout_prob=0.0)
    model = transformers.BertForMaskedLM(config).cuda().train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5, fused=True, capturable=variant == "fix2")
    pinned = variant == "useless"
    turn, last, seen = [0], [], []

    def words_of(row):
        """The places of each word's pieces."""
        words = []
        for at, number in enumerate(row):
            piece = pieces[number]
            if piece in ("[CLS]", "[SEP]"):
                continue
            if words and piece.startswith("##"):
                words[-1].append(at)
            else:
                words.append([at])
        return words

    def one_by_one(ids, luck, fate, others):
        wanted = numpy.full_like(ids, -100)
        hidden = ids.copy()
        for row, numbers in enumerate(ids.tolist()):  # cause: loader
            for word in words_of(numbers):  # cause: loader
                if luck[row, word[0]] >= SHARE:  # cause: loader
                    continue
                for at in word:  # cause: loader
                    wanted[row, at] = numbers[at]  # cause: loader
                    if fate[row, at] < 0.8:  # cause: loader
                        hidden[row, at] = HIDDEN  # cause: loader
                    elif fate[row, at] < 0.9:  # cause: loader
                        hidden[row, at] = others[row, at]  # cause: loader
        return hidden, wanted

    def at_once(ids, luck, fate, others):
        begins = ~goes_on[ids]
        begins[:, 1] = True
        first = numpy.maximum.accumulate(numpy.where(begins, numpy.arange(LENGTH), 0), axis=1)
        chosen = (numpy.take_along_axis(luck, first, axis=1) < SHARE) & (ids != BEGIN) & (ids != END)
        hidden = numpy.where(fate < 0.8, HIDDEN, numpy.where(fate < 0.9, others, ids))
        return numpy.where(chosen, hidden, ids), numpy.where(chosen, ids, -100)

    def batch(number):
        random = numpy.random.default_rng(number)
        luck, fate = random.random((2, BATCH, LENGTH), dtype=numpy.float32)
        others = random.integers(4, KNOWN, (BATCH, LENGTH))
        hide = at_once if variant == "fix" else one_by_one
        return [torch.from_numpy(part) for part in hide(texts[number % SETS], luck, fate, others)]  # cause: loader

    def learn(ids, wanted):
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = model(input_ids=ids, labels=wanted).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.detach()

    if variant == "fix2":
        places = [torch.from_numpy(texts[0]).cuda() for _ in range(2)]
        graph, learnt = fixable.capture(torch, lambda: learn(*places))

    def step():
        ids, wanted = batch(turn[0])  # cause: loader
        turn[0] += 1
        if pinned:
            ids, wanted = ids.pin_memory(), wanted.pin_memory()
        ids, wanted = ids.to("cuda", non_blocking=pinned), wanted.to("cuda", non_blocking=pinned)  # cause: delayed
        if variant == "fix2":
            places[0].copy_(ids)
            places[1].copy_(wanted)
            graph.replay()
            last[:] = [learnt]
        else:
            last[:] = [learn(ids, wanted)]
        if turn[0] % LOOK_EVERY == 0:
            seen[:] = [float(last[0])]

    return fixable.Work(step, torch.cuda.synchronize, lambda: fixable.sample_of(torch, *last))


run.main(make)
