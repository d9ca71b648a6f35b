# SPDX-License-Identifier: Apache-2.0
"""PyTorch: a puzzle maker wants a program that fills crosswords. Where some letters of an answer are known from those that cross
it, the words that fit are looked up, and a network learns to tell the right one among 12 of them by its clue: the clue is read by
its syllables, an answer by its letters. Clues and answers are made up; a step is 160 clues.

Wrong: words that fit are looked up in Python anew in each epoch, by the thread that calls the GPU, and the GPU waits for them.
fix: the batches, which are the same in each epoch, are made once before the loop (host-bound).
fix2: the network's step is one CUDA graph; the words are looked up as before (launch-bound).
useless: a batch is copied from pinned memory.
"""
import random

import fixable

run = fixable.Program(__doc__, steps=250, warm_up=12)
torch = fixable.load_torch()

ANSWERS, SYLLABLES, CLUE, LONGEST, BATCHES, BATCH, CHOICE, WIDE, READ = 12000, 600, 8, 10, 24, 160, 12, 192, 25
BLANK = 26  # behind the last letter, and where none is known


def book(luck):
    """Answers of four to ten letters, each with the syllables of its clue, and where each letter is found."""
    answers = set()
    while len(answers) < ANSWERS:
        answers.add("".join(luck.choice("aeiou" if place % 2 else "bcdfghklmnprstvw") for place in range(luck.randint(4, LONGEST))))
    answers = sorted(answers)
    clues = [[(7 * ord(letter) + 31 * place + luck.randrange(3)) % SYLLABLES for place, letter in enumerate((answer * 2)[:CLUE])]
             for answer in answers]
    having = {}
    for number, answer in enumerate(answers):
        for place, letter in enumerate(answer):
            having.setdefault((len(answer), place, letter), set()).add(number)
    return answers, clues, having


def fitting(answer, known, having):
    """The numbers of all words that have these letters of the answer."""
    sets = sorted((having[len(answer), place, answer[place]] for place in known), key=len)  # cause: loader
    return sorted(sets[0].intersection(*sets[1:]))  # cause: loader


def spelt(answer):
    """The letters of a word as numbers."""
    return [ord(letter) - 97 for letter in answer] + [BLANK] * (LONGEST - len(answer))  # cause: loader


class Solver(torch.nn.Module):
    """How well each word fits the clue."""

    def __init__(self):
        super().__init__()
        self.syllables = torch.nn.Embedding(SYLLABLES, WIDE)
        self.letters = torch.nn.Embedding(27, 24)
        self.clue = torch.nn.Sequential(torch.nn.Linear(WIDE, WIDE), torch.nn.GELU(), torch.nn.Linear(WIDE, WIDE))
        self.word = torch.nn.Sequential(torch.nn.Linear(24 * LONGEST, 2 * WIDE), torch.nn.GELU(), torch.nn.LayerNorm(2 * WIDE),
                                        torch.nn.Linear(2 * WIDE, WIDE))

    def forward(self, clues, words):
        asked = self.clue(self.syllables(clues).mean(dim=1))
        given = self.word(self.letters(words).flatten(2))
        return torch.einsum("bw,bcw->bc", asked, given) * WIDE ** -0.5


def make(variant):
    fixable.seed(torch)
    answers, clues, having = book(random.Random(20))
    solver = Solver().to("cuda")
    rule = torch.optim.AdamW(solver.parameters(), lr=2e-4, fused=True, capturable=True)
    places = (torch.zeros(BATCH, CLUE, dtype=torch.int64, device="cuda"),
              torch.zeros(BATCH, CHOICE, LONGEST, dtype=torch.int64, device="cuda"),
              torch.zeros(BATCH, dtype=torch.int64, device="cuda"))
    usual, turn, curve = torch.full((), 2.5, device="cuda"), [0], []

    def batch(number):
        """Clues, words that fit what is known, and which of them is right."""
        luck = random.Random(number)
        asked, words, right = [], [], []
        for _ in range(BATCH):
            own = luck.randrange(ANSWERS)
            answer = answers[own]
            known = luck.sample(range(len(answer)), luck.randint(1, 2))  # cause: loader
            others = [other for other in fitting(answer, known, having) if other != own] or [own]  # cause: loader
            chosen = [own, *luck.choices(others, k=CHOICE - 1)]  # cause: loader
            luck.shuffle(chosen)  # cause: loader
            asked.append(clues[own])
            words.append([spelt(answers[other]) for other in chosen])  # cause: loader
            right.append(chosen.index(own))
        return torch.tensor(asked), torch.tensor(words), torch.tensor(right)  # cause: loader

    def learn():
        """Forward, backward and the weights of the network."""
        loss = torch.nn.functional.cross_entropy(solver(places[0], places[1]), places[2])
        loss.backward()
        torch.nn.utils.clip_grad_norm_(solver.parameters(), 1.0)
        rule.step()
        usual.lerp_(loss.detach(), 0.05)

    def clear():
        rule.zero_grad(set_to_none=True)

    if variant == "fix2":
        start = {name: part.clone() for name, part in solver.state_dict().items()}
        graph, _ = fixable.capture(torch, learn, clear)
        solver.load_state_dict(start)
        for state in rule.state.values():
            for part in state.values():
                part.zero_()
        usual.fill_(2.5)
    ready = [batch(number) for number in range(BATCHES)] if variant == "fix" else None

    def step():
        number = turn[0] % BATCHES
        given = ready[number] if ready else batch(number)  # cause: loader
        for place, part in zip(places, given):
            place.copy_(part.pin_memory() if variant == "useless" else part, non_blocking=True)  # cause: delayed
        if variant == "fix2":
            graph.replay()
        else:
            clear()
            learn()
        turn[0] += 1
        if turn[0] % READ == 0:
            curve.append(usual.item())

    return fixable.Work(step, torch.cuda.synchronize, lambda: [usual.item()])


run.main(make)
