# SPDX-License-Identifier: Apache-2.0
"""transformers and peft: a small GPT-2 is taught the language of a trade by LoRA; the words of its texts are split into pieces
anew each time, and now and then a merge of two pieces is left out (BPE dropout), so that it knows words by more than one way.
Texts are put behind each other in rows, and do not see each other.

Wrong: words are split in Python before each step, for which the GPU waits.
fix: twenty-four batches are split before the loop, and used in turns (host-bound).
fix2: what is learnt from a batch is one CUDA graph (launch-bound).
useless: the numbers of the pieces are copied to tensors that are allocated once.
"""
import collections
import random

import fixable

run = fixable.Program(__doc__, steps=160, warm_up=8)
torch, numpy, transformers, peft = fixable.load_torch("numpy", "transformers", "peft")
F = torch.nn.functional

ROWS, LENGTH, WIDTH, LAYERS, HEADS, WORDS, MERGES, TEXTS = 20, 192, 384, 3, 6, 1500, 300, 400
LEFT_OUT, SETS, LOOK_EVERY, BEGIN = 0.1, 24, 20, 0
SYLLABLES = "ba con ter in pro ve si on le ra mo du ti lu ne fra gi ka sto per al em".split()


def merges_of(words):
    """What the training of byte-pair encoding gives: {two pieces: (when they are merged, the new piece)}."""
    split, merges, known = [list(word) for word in words], {}, 1 + 26
    for rank in range(MERGES):
        counts = collections.Counter(pair for pieces in split for pair in zip(pieces, pieces[1:]))
        (one, other), _ = max(counts.items(), key=lambda item: (item[1], item[0]))
        merges[one, other] = rank, known
        for pieces in split:
            at = 0
            while at < len(pieces) - 1:
                if pieces[at] == one and pieces[at + 1] == other:
                    pieces[at:at + 2] = [known]
                at += 1
        known += 1
    return merges


def language():
    """(merges, texts): a text is a list of words, a word a list of letters' numbers."""
    luck = random.Random(20)
    words = ["".join(luck.choice(SYLLABLES) for _ in range(luck.randint(2, 4))) for _ in range(WORDS)]
    words = [[1 + ord(letter) - ord("a") for letter in word] for word in words]
    texts = [[words[min(int(luck.paretovariate(0.7)), WORDS) - 1] for _ in range(luck.randint(20, 90))] for _ in range(TEXTS)]
    return merges_of(words), texts


def make(variant):
    fixable.seed(torch)
    merges, texts = language()
    config = transformers.GPT2Config(vocab_size=1 + 26 + MERGES, n_positions=LENGTH, n_embd=WIDTH, n_layer=LAYERS, n_head=HEADS,
                                     resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, use_cache=False,
                                     bos_token_id=BEGIN, eos_token_id=BEGIN)
    model = transformers.GPT2LMHeadModel(config).to(torch.bfloat16)
    lora = peft.LoraConfig(r=8, lora_alpha=16, target_modules=["c_attn"], lora_dropout=0.0, fan_in_fan_out=True,
                           task_type="CAUSAL_LM")
    model = peft.get_peft_model(model, lora).cuda().train()
    learns = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(learns, lr=2e-4, fused=True, capturable=variant == "fix2")
    before = torch.ones(LENGTH, LENGTH, dtype=torch.bool, device="cuda").tril()
    turn, last, seen = [0], [], []

    def split(word, luck):
        """The pieces of a word."""
        pieces = list(word)  # cause: loader
        while len(pieces) > 1:  # cause: loader
            found = []  # cause: loader
            for at in range(len(pieces) - 1):  # cause: loader
                merge = merges.get((pieces[at], pieces[at + 1]))  # cause: loader
                if merge is not None and luck.random() >= LEFT_OUT:  # cause: loader
                    found.append((*merge, at))  # cause: loader
            if not found:  # cause: loader
                break
            _, merged, at = min(found)  # cause: loader
            pieces[at:at + 2] = [merged]  # cause: loader
        return pieces

    def batch(number):
        """(pieces, the text that each of them belongs to)"""
        luck = random.Random(number % SETS)
        ids, owners = [], []
        for _ in range(ROWS):
            row, of = [], []
            while len(row) < LENGTH:
                text = luck.randrange(TEXTS)
                row.append(BEGIN)
                of.append(text)
                for word in texts[text]:  # cause: loader
                    pieces = split(word, luck)  # cause: loader
                    row.extend(pieces)  # cause: loader
                    of.extend([text] * len(pieces))  # cause: loader
                    if len(row) >= LENGTH:
                        break
            ids.append(row[:LENGTH])
            owners.append(of[:LENGTH])
        return torch.tensor(ids), torch.tensor(owners)

    made = [batch(number) for number in range(SETS)] if variant == "fix" else None

    def learn(ids, owners):
        sees = (owners[:, None, :, None] == owners[:, None, None, :]) & before
        scores = model(input_ids=ids, attention_mask=sees).logits
        loss = F.cross_entropy(scores[:, :-1].flatten(0, 1).float(), ids[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.detach()

    if variant in ("fix2", "useless"):
        places = [torch.zeros(ROWS, LENGTH, dtype=torch.int64, device="cuda") for _ in range(2)]
    if variant == "fix2":
        graph, learnt = fixable.capture(torch, lambda: learn(*places), before=optimizer.zero_grad)

    def step():
        parts = made[turn[0] % SETS] if made else batch(turn[0])  # cause: loader
        turn[0] += 1
        if variant in ("fix2", "useless"):
            for place, part in zip(places, parts):
                place.copy_(part)
            parts = places
        else:
            parts = [part.to("cuda") for part in parts]  # cause: delayed
        if variant == "fix2":
            graph.replay()
            last[:] = [learnt]
        else:
            last[:] = [learn(*parts)]
        if turn[0] % LOOK_EVERY == 0:
            seen[:] = [float(last[0])]

    return fixable.Work(step, torch.cuda.synchronize, lambda: fixable.sample_of(torch, *last))


run.main(make)
