# SPDX-License-Identifier: Apache-2.0
"""transformers: medicines, doses and side effects are found in doctors' letters by a small BERT, and the best sequence of tags
for each letter by a conditional random field (Viterbi's way through a table, from its end to its start).

Wrong: on the way back, each tag is read by .item() to know where in the table to look next: hundreds of waits for a number.
fix: the whole table is brought to the host at once, where the ways are gone back in lists (sync-bound).
fix2: BERT and the way to the table's end are one CUDA graph; the tags are read as they were (launch-bound).
useless: the letters lie in pinned memory, and are copied with non_blocking=True.
"""
import fixable

run = fixable.Program(__doc__, steps=240, warm_up=12, multiple=12)
torch, transformers = fixable.load_torch("transformers")
nn = torch.nn

LETTERS, LENGTH, SETS, KNOWN, SHORTEST = 16, 40, 12, 8000, 24
TAGS = ["O", "B-DRUG", "I-DRUG", "B-DOSE", "I-DOSE", "B-EFFECT", "I-EFFECT"]


class Tagger(nn.Module):
    """BERT, and what each tag is worth at each place."""

    def __init__(self):
        super().__init__()
        config = transformers.BertConfig(vocab_size=KNOWN, hidden_size=256, num_hidden_layers=4, num_attention_heads=4,
                                         intermediate_size=1024, max_position_embeddings=64)
        self.bert = transformers.BertModel(config, add_pooling_layer=False)
        self.tags = nn.Linear(256, len(TAGS))
        self.start = nn.Parameter(0.5 * torch.randn(len(TAGS)))
        self.moves = nn.Parameter(0.5 * torch.randn(len(TAGS), len(TAGS)))  # from, to

    def forward(self, ids, there):
        return self.tags(self.bert(ids, attention_mask=there[:, None, None, :]).last_hidden_state)

    def forth(self, scores, there):
        """(what the best way to each last tag is worth, for each place the tag before each tag)."""
        total, table = self.start + scores[:, 0], []
        for at in range(1, LENGTH):
            best, before = (total[:, :, None] + self.moves).max(dim=1)
            table.append(before)
            total = torch.where(there[:, at, None], best + scores[:, at], total)
        return total, table

    def back(self, total, table, lengths):
        """The best way of each letter."""
        ways = []
        for letter, length in enumerate(lengths):
            tag = total[letter].argmax().item()  # cause: wait,copy
            way = [tag]
            for before in reversed(table[:length - 1]):
                tag = before[letter, tag].item()  # cause: wait,copy
                way.append(tag)
            ways.append(way[::-1])
        return ways

    def back_in_lists(self, total, table, lengths):
        whole = torch.cat((torch.stack(table), total.argmax(dim=1).expand(1, len(TAGS), -1).transpose(1, 2))).tolist()
        ways = []
        for letter, length in enumerate(lengths):
            tag = whole[-1][letter][0]
            way = [tag]
            for at in range(length - 2, -1, -1):
                tag = whole[at][letter][tag]
                way.append(tag)
            ways.append(way[::-1])
        return ways


def found_in(way):
    """What is found in a letter, as (kind, first place, last place)."""
    things = []
    for at, tag in enumerate(way):
        if TAGS[tag].startswith("B-"):
            things.append([TAGS[tag][2:], at, at])
        elif things and TAGS[tag] == "I-" + things[-1][0] and things[-1][2] == at - 1:
            things[-1][2] = at
    return things


@torch.no_grad()
def make(variant):
    fixable.seed(torch)
    model = Tagger().cuda().eval()
    model.tags.weight.mul_(20.0)  # as if it had learnt to be sure
    pinned = variant == "useless"
    letters = [torch.randint(10, KNOWN, (LETTERS, LENGTH)) for _ in range(SETS)]
    lengths = [torch.randint(SHORTEST, LENGTH + 1, (LETTERS,)) for _ in range(SETS)]
    there = [(torch.arange(LENGTH) < some[:, None]) for some in lengths]
    lengths = [some.tolist() for some in lengths]
    if pinned:
        letters, there = [part.pin_memory() for part in letters], [part.pin_memory() for part in there]
    turn, counts = [0], [0] * len(TAGS)

    def through(ids, mask):
        return model.forth(model(ids, mask), mask)

    if variant == "fix2":
        places = [letters[0].cuda(), there[0].cuda()]
        graph, ends = fixable.capture(torch, lambda: through(*places))

    @torch.no_grad()
    def step():
        number = turn[0] % SETS
        turn[0] += 1
        if variant == "fix2":
            places[0].copy_(letters[number])
            places[1].copy_(there[number])
            graph.replay()
            total, table = ends
        else:
            ids, mask = (part[number].to("cuda", non_blocking=pinned) for part in (letters, there))
            total, table = through(ids, mask)
        if variant == "fix":
            ways = model.back_in_lists(total, table, lengths[number])
        else:
            ways = model.back(total, table, lengths[number])  # cause: wait,copy
        for way in ways:
            for kind, first, last in found_in(way):
                counts[TAGS.index("B-" + kind)] += 1
                counts[0] += last - first

    return fixable.Work(step, torch.cuda.synchronize, lambda: [count / turn[0] for count in counts])


run.main(make)
