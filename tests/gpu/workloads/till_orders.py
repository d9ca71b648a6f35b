# SPDX-License-Identifier: Apache-2.0
"""transformers: a chain of restaurants gets orders as people write them ("two fried noodles, no nuts, and tea"); a small Llama
writes 64 of them anew as lines for the till, word by word, and a word is only taken if a line of the menu goes on with it.

Wrong: for each order and each word, Python looks through all lines of the menu, and the words that it found go to the GPU; this
takes about as long as the launches of the model's short kernels. The GPU rests most of the time.
fix: what may follow is a table on the GPU, by the place in the menu; words are read when orders are done (host-bound).
fix2: the model's part of a word is one CUDA graph (launch-bound).
useless: the words that were found go to the GPU from pinned memory.
"""
import random

import fixable

PROMPT, LENGTH = 32, 40  # words of what someone wrote, and of the lines for the till

run = fixable.Program(__doc__, steps=10 * LENGTH, warm_up=LENGTH, multiple=LENGTH)
torch, transformers = fixable.load_torch("transformers")

ORDERS, DISHES, WORDS, FIRSTS, WIDTH, LAYERS, SETS, END = 64, 500, 4096, 90, 512, 6, 4, 0


def menu():
    """Lines of the menu: some words for a dish, some for how one wants it, and END."""
    luck, lines = random.Random(20), set()
    while len(lines) < DISHES:
        dish = [luck.randrange(1, FIRSTS)] + [luck.randrange(FIRSTS, WORDS) for _ in range(luck.randint(1, 2))]
        for _ in range(luck.randint(1, 4)):
            lines.add(tuple(dish + [luck.randrange(FIRSTS, WORDS) for _ in range(luck.randint(0, 3))] + [END]))
    return sorted(lines)


def table_of(lines):
    """Which words may follow at each place of the menu, and to which place they lead; behind END it begins anew."""
    places = {(): 0}
    for line in lines:
        for at in range(1, len(line)):
            places.setdefault(line[:at], len(places))
    permitted, following = torch.zeros(len(places), WORDS, dtype=torch.bool), torch.zeros(len(places), WORDS, dtype=torch.long)
    for line in lines:
        for at, word in enumerate(line):
            permitted[places[line[:at]], word] = True
            following[places[line[:at]], word] = places.get(line[:at + 1], 0)
    return permitted.cuda(), following.cuda()


@torch.no_grad()
def make(variant):
    fixable.seed(torch)
    config = transformers.LlamaConfig(
        vocab_size=WORDS, hidden_size=WIDTH, intermediate_size=3 * WIDTH, num_hidden_layers=LAYERS, num_attention_heads=8,
        num_key_value_heads=8, max_position_embeddings=256)
    model = transformers.LlamaForCausalLM(config).to("cuda", torch.bfloat16).eval()
    cache = transformers.StaticCache(config=config, max_cache_len=PROMPT + LENGTH)
    lines = menu()
    written = torch.randint(0, WORDS, (SETS, ORDERS, PROMPT), device="cuda")
    token = torch.zeros(ORDERS, 1, dtype=torch.long, device="cuda")
    position = torch.zeros(1, dtype=torch.long, device="cuda")
    sure = torch.zeros(ORDERS, device="cuda")
    texts, pending, turn, usual = [[] for _ in range(ORDERS)], [], [0], [0.0, 0.0]
    if variant == "fix":
        permitted, following = table_of(lines)
        place = torch.zeros(ORDERS, dtype=torch.long, device="cuda")

    def forward(ids, positions):
        """The scores of all words behind these."""
        logits = model(input_ids=ids, position_ids=positions.expand(ORDERS, -1), past_key_values=cache,
                       use_cache=True).logits  # cause: launch
        return logits[:, -1].float()

    def prefill():
        cache.reset()
        position.fill_(PROMPT)
        return forward(written[turn[0] // LENGTH % SETS], torch.arange(PROMPT, device="cuda"))

    def decode():
        scores = forward(token, position)  # cause: launch
        position.add_(1)
        return scores

    if variant == "fix2":
        prefill()
        graph, given = fixable.capture(torch, decode)

    def may_follow(text):
        """The words by which a line of the menu goes on that begins with what is written of the last line."""
        line = tuple(text[len(text) - text[::-1].index(END):] if END in text else text)  # cause: loader
        at = len(line)
        return {dish[at] for dish in lines if dish[:at] == line}  # cause: loader

    def mask():
        """0 for words that may follow, for each order, and minus infinity for others."""
        rows, words = [], []
        for row, text in enumerate(texts):
            found = may_follow(text)  # cause: loader
            rows.extend([row] * len(found))
            words.extend(found)
        found = torch.tensor((rows, words))  # cause: loader
        found = found.pin_memory().to("cuda", non_blocking=True) if variant == "useless" else found.cuda()  # cause: delayed
        allowed = torch.full((ORDERS, WORDS), -torch.inf, device="cuda")
        allowed[found[0], found[1]] = 0.0
        return allowed

    def choose(scores):
        """Takes the best word of each order that may follow."""
        if variant == "fix":
            best, word = scores.masked_fill(~permitted[place], -torch.inf).max(dim=1)
            place.copy_(following[place, word])
            pending.append(word)
        else:
            best, word = (scores + mask()).max(dim=1)  # cause: loader
            for text, one in zip(texts, word.tolist()):
                text.append(one)
        token.copy_(word.unsqueeze(1))
        sure.add_(best)

    def deliver():
        """Orders are done, and the till would take them; notes how many lines one has, and how sure the words were."""
        if variant == "fix":
            texts[:] = torch.stack(pending, dim=1).tolist()
            place.zero_()
            pending.clear()
        usual[0] += 0.1 * (sum(text.count(END) for text in texts) / ORDERS - usual[0])
        usual[1] += 0.1 * (float(sure.mean()) / LENGTH - usual[1])
        sure.zero_()
        texts[:] = [[] for _ in range(ORDERS)]

    @torch.no_grad()
    def step():
        if turn[0] % LENGTH == 0:
            scores = prefill()
        elif variant == "fix2":
            graph.replay()
            scores = given
        else:
            scores = decode()  # cause: launch
        choose(scores)  # cause: loader
        turn[0] += 1
        if turn[0] % LENGTH == 0:
            deliver()

    return fixable.Work(step, torch.cuda.synchronize, lambda: list(usual))


run.main(make)
