# SPDX-License-Identifier: Apache-2.0
"""PyTorch, transformers: a library has thousands of medieval chants written in GABC, letters for the places of notes on a staff of
four lines, with signs for their shapes. A small BERT learns to tell which of the eight church modes a chant is in. For each batch
of 48 chants the notation is read: clefs, flats and bars are followed, so that a note becomes its height and its shape.

Wrong: Python reads the notation of the chants anew in each epoch, by the thread that calls the GPU, and the GPU waits for it.
fix: the batches, which are the same in each epoch, are read once before the loop (host-bound).
fix2: forward, backward and the optimizer are one CUDA graph; the notation is read as before (launch-bound).
useless: a batch of 98 KB is copied from pinned memory.
"""
import random
import re

import fixable

run = fixable.Program(__doc__, steps=240, warm_up=8)
torch, transformers = fixable.load_torch("transformers")

BATCHES, BATCH, NOTES, LENGTH, MODES, SHOWN = 24, 48, 240, 128, 8, 25
CLEFS = {"c1": 3, "c2": 5, "c3": 7, "c4": 9, "f3": 4, "f4": 6}  # the place of do, or do below fa; d, f, h, j are lines
BARS = {",": 2, ";": 3, ":": 4, "::": 5}
SHAPES = {"v": 1, "w": 2, "o": 3, "s": 4, "~": 5, ".": 6, "_": 7}
PLACES = "abcdefghijklm"
LOW, FLAT, HEIGHTS, LEANS = 16, 32, 80, 8  # do is LOW; what a flat adds; kinds of heights; the shape of a note that leans
FINALS, TENORS = (2, 2, 3, 3, 4, 4, 5, 5), (6, 4, 8, 6, 8, 6, 9, 8)  # by mode; do is 1
SYLLABLES = "Ky ri e lé i son Chri ste Glo ra Al lú ia Dó mi nus Sanc tus be ne dí ci te om nes gen".split()
GROUP = re.compile(r"\(([^)]*)\)")


def chant(luck, mode):
    """A made-up chant in GABC: groups of notes about the tenor of the mode, and its final note at ends."""
    clef = luck.choice(("c3", "c4"))
    written, step, left = ["(%s)" % clef], FINALS[mode], NOTES
    while left > 0:
        group = []
        for _ in range(luck.randint(1, 6)):
            pull = 0.3 * (TENORS[mode] - step) if luck.random() < 0.7 else FINALS[mode] - step
            step += max(-3, min(3, round(luck.gauss(pull, 1.2))))
            place = min(max(step + CLEFS[clef] - 8, 0), 12)
            step = place - CLEFS[clef] + 8
            letter = PLACES[place]
            if step % 7 == 0 and luck.random() < 0.3:
                group.append(letter + "x")
            sign = luck.choice(("", "", "v", "w", "o", "s", "~", ".", "_"))
            group.append(letter.upper() if luck.random() < 0.1 else letter + sign)
            left -= 1
        written.append("%s(%s)" % (luck.choice(SYLLABLES), "/".join(group) if luck.random() < 0.2 else "".join(group)))
        if luck.random() < 0.1:
            written.append("*(%s)" % luck.choice((",", ";", ":")))
    return " ".join(written) + " (::)"


def read(gabc):
    """The heights of what is sung, from do, and the shapes of the notes; bars are heights of their own, and 1 is the begin."""
    heights, shapes, flats, do = [1], [0], set(), 9
    for group in GROUP.findall(gabc):  # cause: loader
        if group in CLEFS:  # cause: loader
            do = CLEFS[group]  # cause: loader
        elif group in BARS:  # cause: loader
            heights.append(BARS[group])  # cause: loader
            shapes.append(0)  # cause: loader
            flats.clear()  # cause: loader
        else:
            for sign in group:  # cause: loader
                place = PLACES.find(sign.lower()) if sign.isalpha() else -1  # cause: loader
                if place >= 0:  # cause: loader
                    height = LOW + place - do  # cause: loader
                    heights.append(height + FLAT if place in flats else height)  # cause: loader
                    shapes.append(LEANS if sign.isupper() else 0)  # cause: loader
                elif sign == "x":  # cause: loader
                    shapes.pop()  # cause: loader
                    flats.add((heights.pop() - LOW + do) % FLAT)  # cause: loader
                elif sign in SHAPES:  # cause: loader
                    shapes[-1] = SHAPES[sign]  # cause: loader
    return heights, shapes


def make(variant):
    fixable.seed(torch)
    torch.set_float32_matmul_precision("high")
    luck = random.Random(20)
    all_modes = [luck.randrange(MODES) for _ in range(BATCHES * BATCH)]
    chants = [chant(luck, mode) for mode in all_modes]
    modes = torch.tensor(all_modes, device="cuda").view(BATCHES, BATCH)
    config = transformers.BertConfig(
        vocab_size=HEIGHTS, type_vocab_size=LEANS + 1, hidden_size=256, num_hidden_layers=4, num_attention_heads=4,
        intermediate_size=1024, max_position_embeddings=LENGTH, num_labels=MODES, hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0)
    model = transformers.BertForSequenceClassification(config).to("cuda").train()
    rule = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True, capturable=True)
    sung = torch.zeros(2, BATCH, LENGTH, dtype=torch.int64, device="cuda")
    mode, usual = modes[0].clone(), torch.zeros((), device="cuda")
    landing = torch.empty(2, BATCH, LENGTH, dtype=torch.int64, pin_memory=True) if variant == "useless" else None
    turn, told = [0], []

    def batch(number):
        """Heights and shapes of the first notes of a batch's chants."""
        made = [read(gabc) for gabc in chants[number * BATCH:(number + 1) * BATCH]]  # cause: loader
        heights, shapes = [own[:LENGTH] for own, _ in made], [own[:LENGTH] for _, own in made]  # cause: loader
        return torch.tensor([heights, shapes])  # cause: loader

    def learn():
        """A step of training with the batch that is in place."""
        guess = model(input_ids=sung[0], token_type_ids=sung[1]).logits
        loss = torch.nn.functional.cross_entropy(guess, mode)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        rule.step()
        usual.lerp_(loss.detach(), 0.02)

    ready = [batch(number) for number in range(BATCHES)] if variant == "fix" else None
    if variant == "fix2":
        first = [weight.detach().clone() for weight in model.parameters()]
        graph, _ = fixable.capture(torch, learn, before=rule.zero_grad)
        with torch.no_grad():
            for weight, start in zip(model.parameters(), first):
                weight.copy_(start)
                for kept in rule.state[weight].values():
                    kept.zero_()
            usual.zero_()

    def step():
        number = turn[0] % BATCHES
        given = ready[number] if ready else batch(number)  # cause: loader
        sung.copy_(given if landing is None else landing.copy_(given))  # cause: delayed
        mode.copy_(modes[number])
        if variant == "fix2":
            graph.replay()
        else:
            rule.zero_grad()
            learn()
        turn[0] += 1
        if turn[0] % SHOWN == 0:
            told.append(usual.item())

    return fixable.Work(step, torch.cuda.synchronize, lambda: [usual.item()])


run.main(make)
