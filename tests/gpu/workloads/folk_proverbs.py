# SPDX-License-Identifier: Apache-2.0
"""PyTorch, Transformers: a small GPT-2 is taught to write proverbs in the manner of a village. The proverbs are cut into pieces
by a tokenizer that was trained on them, and laid end to end in blocks of 64 pieces, as in the course on causal language models;
the blocks stay on the GPU, and the model learns from eight of them a step.

Wrong: a step has hundreds of kernels of two or three microseconds, which Python launches one by one.
fix: a step of training is one CUDA graph (launch-bound).
useless: the loss is not read once in 50 steps.
"""
import os
import random

import fixable

os.environ["TOKENIZERS_PARALLELISM"] = "false"
run = fixable.Program(__doc__, steps=300, warm_up=10)
torch, transformers, tokenizers, models, splitters, trainers = fixable.load_torch(
    "transformers", "tokenizers", "tokenizers.models", "tokenizers.pre_tokenizers", "tokenizers.trainers")

PROVERBS, BLOCK, BATCH, PIECES, SHOWN = 6000, 64, 8, 2000, 50
BEASTS = "goat hen ox mule fox owl dog crow pike bee".split()
THINGS = "well mill plough bread roof lamp gate rope kettle barn".split()
DEEDS = "feeds fears mends sells borrows counts steals follows forgets praises".split()
KINDS = "old wet lazy patient hungry borrowed silent proud rusty early".split()
FRAMES = ("the {kind} {beast} {deed} the {thing}", "who {deed} a {kind} {thing} needs no {beast}",
          "better a {kind} {thing} than a {beast} that {deed} the {thing2}", "when the {beast} is {kind} nobody {deed} the {thing}")


def proverbs():
    luck = random.Random(20)
    for _ in range(PROVERBS):
        yield luck.choice(FRAMES).format(kind=luck.choice(KINDS), beast=luck.choice(BEASTS), deed=luck.choice(DEEDS),
                                         thing=luck.choice(THINGS), thing2=luck.choice(THINGS))


def blocks_of(texts):
    """The pieces of all texts, (blocks, BLOCK)."""
    tokenizer = tokenizers.Tokenizer(models.BPE(unk_token="[UNK]"))
    tokenizer.pre_tokenizer = splitters.Whitespace()
    trainer = trainers.BpeTrainer(vocab_size=PIECES, special_tokens=["[UNK]", "[END]"], show_progress=False)
    tokenizer.train_from_iterator(texts, trainer)
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="[UNK]", eos_token="[END]")
    line = [piece for pieces in fast(texts)["input_ids"] for piece in pieces + [fast.eos_token_id]]
    many = len(line) // (BLOCK * BATCH) * BATCH
    return torch.tensor(line[:many * BLOCK]).view(many, BLOCK)


def make(variant):
    fixable.seed(torch)
    blocks = blocks_of(list(proverbs())).cuda()
    config = transformers.GPT2Config(vocab_size=PIECES, n_positions=BLOCK, n_embd=256, n_layer=6, n_head=4, resid_pdrop=0.0,
                                     embd_pdrop=0.0, attn_pdrop=0.0, bos_token_id=1, eos_token_id=1)
    model = transformers.GPT2LMHeadModel(config).cuda().train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.01, capturable=True)
    ids = blocks[:BATCH].clone()
    usual, turn, curve = torch.full((), 7.0, device="cuda"), [0], []

    def clear():
        optimizer.zero_grad(set_to_none=True)

    def learn():
        """Learns from the pieces in `ids`, and notes the loss."""
        loss = model(input_ids=ids, labels=ids).loss  # cause: launch
        loss.backward()  # cause: launch
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # cause: launch
        optimizer.step()  # cause: launch
        usual.lerp_(loss.detach(), 0.02)  # cause: launch

    if variant == "fix":
        graph, _ = fixable.capture(torch, learn, before=clear)
    else:
        for _ in range(3):  # as many steps as before a graph is made
            clear()
            learn()

    def step():
        first = turn[0] * BATCH % len(blocks)
        ids.copy_(blocks[first:first + BATCH])
        if variant == "fix":
            graph.replay()
        else:
            clear()
            learn()  # cause: launch
        turn[0] += 1
        if variant != "useless" and turn[0] % SHOWN == 0:
            curve.append(usual.item())

    def values():
        """The loss, and how large the vectors of the pieces have become."""
        return [usual.item(), float(model.transformer.wte.weight.detach().norm())]

    return fixable.Work(step, torch.cuda.synchronize, values)


run.main(make)
