# SPDX-License-Identifier: Apache-2.0
"""transformers: what a listener could like next is learnt from what was played before: a small BERT finds songs that are hidden
among the last 64 of a listener (BERT4Rec). The player's logs are lines of text; those of 256 listeners make a batch.

Wrong: for each batch, logs are split, songs that were skipped or came twice are left out, names are looked up, and songs are
hidden, all by Python and while the GPU has nothing to do.
fix: that is done once, before the training; batches are copied as before (host-bound).
fix2: what is learnt from a batch is one CUDA graph (launch-bound).
useless: batches are pinned, and copied with non_blocking=True.
"""
import random

import fixable

run = fixable.Program(__doc__, steps=120, warm_up=8)
torch, numpy, transformers = fixable.load_torch("numpy", "transformers")

LISTENERS, SETS, PLAYED, LENGTH, SONGS, KNOWN, WIDTH, LAYERS, LOOK_EVERY = 256, 8, 320, 64, 7000, 6000, 256, 2, 20
HIDDEN, OTHER, BEGIN, SHORT, SHARE = 1, 2, 3, 30, 0.2  # numbers that are no songs; seconds; share of songs that are hidden


def logs():
    """What each listener has played, a line for each song: SETS of LISTENERS lists."""
    chance = numpy.random.default_rng(20)
    names = ["artist %d/song %d" % (number % 611, number) for number in range(SONGS)]
    taste = chance.integers(0, SONGS, (SETS, LISTENERS, 1))
    songs = (taste + chance.zipf(1.3, (SETS, LISTENERS, PLAYED)) % 500) % SONGS
    seconds = chance.integers(5, 260, (SETS, LISTENERS, PLAYED))
    again = chance.random((SETS, LISTENERS, PLAYED)) < 0.1
    songs[:, :, 1:] = numpy.where(again[:, :, 1:], songs[:, :, :-1], songs[:, :, 1:])
    sets = [[["%d\t%s\t%d" % (1700000000 + 211 * moment, names[song], long)
              for moment, (song, long) in enumerate(zip(*one))]
             for one in zip(some, longs)] for some, longs in zip(songs.tolist(), seconds.tolist())]
    return sets, {name: number + BEGIN for number, name in enumerate(names[:KNOWN - BEGIN])}


def make(variant):
    fixable.seed(torch)
    torch.set_float32_matmul_precision("high")
    histories, numbers = logs()
    config = transformers.BertConfig(vocab_size=KNOWN, hidden_size=WIDTH, num_hidden_layers=LAYERS, num_attention_heads=4,
                                     intermediate_size=4 * WIDTH, max_position_embeddings=LENGTH, hidden_dropout_prob=0.0,
                                     attention_probs_dropout_prob=0.0)
    model = transformers.BertForMaskedLM(config).cuda().train()
    weights = [weight for weight in model.parameters() if weight.requires_grad]
    adam = torch.optim.AdamW(weights, lr=1e-4, fused=True, capturable=variant == "fix2")
    pinned, turn, usual = variant == "useless", [0], [9.0]

    def listened(lines):
        """The last songs that a listener has heard, as numbers."""
        songs, last = [], None
        for line in lines:  # cause: loader
            _, name, seconds = line.split("\t")  # cause: loader
            if int(seconds) < SHORT or name == last:  # cause: loader
                continue
            last = name
            songs.append(numbers.get(name, OTHER))  # cause: loader
        songs = songs[-LENGTH:]
        return [OTHER] * (LENGTH - len(songs)) + songs

    def hide(songs, luck):
        """Songs of which some are hidden, and those songs (-100 elsewhere)."""
        left, wanted = list(songs), [-100] * LENGTH
        for at, song in enumerate(songs):  # cause: loader
            if song != OTHER and luck.random() < SHARE:  # cause: loader
                wanted[at] = song
                left[at] = HIDDEN if luck.random() < 0.9 else song
        return left, wanted

    def batch(number):
        luck = random.Random(number)  # for each batch the same each time, so that runs can be compared
        rows = [hide(listened(lines), luck) for lines in histories[number]]  # cause: loader
        return torch.tensor([row[0] for row in rows]), torch.tensor([row[1] for row in rows])  # cause: loader

    def learn(songs, wanted):
        loss = model(input_ids=songs, labels=wanted).loss
        loss.backward()
        adam.step()
        return loss.detach()

    ready = [batch(number) for number in range(SETS)] if variant == "fix" else None
    if variant == "fix2":
        places, begin = [part.cuda() for part in batch(0)], [weight.detach().clone() for weight in weights]
        graph, loss_there = fixable.capture(torch, lambda: learn(*places), adam.zero_grad)
        with torch.no_grad():  # as if nothing had been learnt yet
            for weight, first in zip(weights, begin):
                weight.copy_(first)
                for part in adam.state[weight].values():
                    part.zero_()

    def learnt(songs, wanted):
        if variant == "fix2":
            places[0].copy_(songs)
            places[1].copy_(wanted)
            graph.replay()
            return loss_there
        adam.zero_grad()
        return learn(songs, wanted)

    def step():
        number = turn[0] % SETS
        turn[0] += 1
        songs, wanted = ready[number] if ready else batch(number)  # cause: loader
        if pinned:
            songs, wanted = songs.pin_memory(), wanted.pin_memory()
        songs, wanted = songs.to("cuda", non_blocking=pinned), wanted.to("cuda", non_blocking=pinned)  # cause: delayed
        loss = learnt(songs, wanted)
        if turn[0] % LOOK_EVERY == 0:
            usual[0] += 0.2 * (loss.item() - usual[0])

    return fixable.Work(step, torch.cuda.synchronize, lambda: list(usual))


run.main(make)
