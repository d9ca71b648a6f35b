# SPDX-License-Identifier: Apache-2.0
"""transformers: a small BERT learns to sort messages, with gradients of sixteen batches added up; behind each step of the
optimizer comes a gc.collect(), "to free memory", as one finds it in many notebooks.

Wrong: Python goes through all objects that it has, some hundred thousand of which belong to the libraries, and frees next to
nothing; the GPU has long done what it was given.
fix: without gc.collect() (host-bound).
fix2: what is done with a batch is one CUDA graph (launch-bound).
useless: words and labels are copied to tensors that are allocated once.
"""
import gc

import fixable

TOGETHER = 16

run = fixable.Program(__doc__, steps=208, warm_up=2 * TOGETHER, multiple=TOGETHER)
torch, transformers = fixable.load_torch("transformers")

BATCH, LENGTH, WORDS, KINDS, SETS, LOOK_EVERY = 32, 256, 8000, 6, 16, 5 * TOGETHER


def messages():
    """Words of messages, of which each kind has some that it likes, and their kinds."""
    chance = torch.Generator().manual_seed(20)
    kinds = torch.randint(0, KINDS, (SETS, BATCH), generator=chance)
    words = torch.randint(0, WORDS, (SETS, BATCH, LENGTH), generator=chance)
    liked = torch.rand(words.shape, generator=chance) < 0.1
    return torch.where(liked, words % 50 + 50 * kinds.unsqueeze(2), words).pin_memory(), kinds.pin_memory()


def make(variant):
    fixable.seed(torch)
    words, kinds = messages()
    config = transformers.BertConfig(vocab_size=WORDS, hidden_size=768, num_hidden_layers=6, num_attention_heads=12,
                                     intermediate_size=3072, num_labels=KINDS, max_position_embeddings=LENGTH)
    model = transformers.BertForSequenceClassification(config).cuda().train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-5, fused=True)
    places = [torch.zeros_like(part[0], device="cuda") for part in (words, kinds)] if variant in ("useless", "fix2") else None
    turn, seen = [0], []

    def learn(word, kind):
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = model(input_ids=word, labels=kind).loss / TOGETHER
        loss.backward()
        return loss

    if variant == "fix2":
        graph, learnt = fixable.capture(torch, lambda: learn(*places), before=lambda: optimizer.zero_grad(set_to_none=False))

    def step():
        at = turn[0] % SETS
        turn[0] += 1
        if places:
            word, kind = (place.copy_(part[at], non_blocking=True) for place, part in zip(places, (words, kinds)))
        else:
            word, kind = (part[at].to("cuda", non_blocking=True) for part in (words, kinds))  # cause: delayed
        if variant == "fix2":
            graph.replay()
            loss = learnt
        else:
            loss = learn(word, kind)
        if turn[0] % TOGETHER == 0:
            optimizer.step()
            optimizer.zero_grad(set_to_none=variant != "fix2")
            if variant != "fix":
                gc.collect()  # cause: loader
        if turn[0] % LOOK_EVERY == 0:
            seen[:] = [loss.item()]

    return fixable.Work(step, torch.cuda.synchronize, lambda: [p.detach().abs().mean().item() for p in model.parameters()])


run.main(make)
