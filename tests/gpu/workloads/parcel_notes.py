# SPDX-License-Identifier: Apache-2.0
"""transformers: a parcel service reads what customers write to the driver ("leave it at the Millers', second floor"): a BERT tells
for each token whether it belongs to a name, a street, a number, a floor, a place or a time; notes come in batches of 128.

Wrong: the tags and chances of the batch are read from the GPU one note after the other, and each read waits for a copy of its own.
fix: the tags and chances of all notes are read at once (sync-bound).
fix2: so they are, and not before the next batch has been sent off (sync-bound).
useless: the tokens go to the GPU from pinned memory.
"""
import fixable

LOOK_EVERY = 20

run = fixable.Program(__doc__, steps=360, warm_up=LOOK_EVERY, multiple=LOOK_EVERY)
torch, transformers = fixable.load_torch("transformers")

NOTES, LENGTH, SHORTEST, SETS, WORDS, WIDTH, LAYERS, HEADS, KEEP = 128, 128, 24, 6, 16000, 768, 6, 12, 0.2
TAGS = ("nothing", "name", "street", "number", "floor", "place", "time")
START, END = 1, 2


def tagger():
    config = transformers.BertConfig(vocab_size=WORDS, hidden_size=WIDTH, intermediate_size=4 * WIDTH, num_hidden_layers=LAYERS,
                                     num_attention_heads=HEADS, max_position_embeddings=LENGTH, num_labels=len(TAGS),
                                     initializer_range=0.04, pad_token_id=0)
    model = transformers.BertForTokenClassification(config)
    return model.to("cuda", torch.bfloat16).eval()


def inbox():
    """Batches of notes as a tokenizer gives them: (tokens and which of them are no padding, the notes' lengths)."""
    for _ in range(SETS):
        lengths = torch.randint(SHORTEST, LENGTH + 1, (NOTES,))
        tokens = torch.randint(10, WORDS, (NOTES, LENGTH))
        real = torch.arange(LENGTH) < lengths[:, None]
        tokens[:, 0] = START
        tokens[torch.arange(NOTES), lengths - 1] = END
        yield torch.stack((tokens * real, real.long())), lengths.tolist()


class Ledger:
    """What the notes were found to say, as the drivers' telephones get it; and some figures for the service's log."""

    def __init__(self):
        self.parts, self.sure, self.usual = dict.fromkeys(TAGS, 0), 0.0, [0.0, 0.0]
        self.notes = 0

    def add(self, tags, chances, length):
        """A note: tokens of one kind that follow each other are one part of it."""
        before = 0
        for tag in tags[1:length - 1]:
            if tag != before:
                if tag:
                    self.parts[TAGS[tag]] += 1
                before = tag
        self.sure += sum(chances[1:length - 1]) / (length - 2)
        self.notes += 1

    def write(self):
        """The log's line for some batches."""
        found = sum(self.parts.values()) / self.notes
        self.usual[0] += KEEP * (found - self.usual[0])
        self.usual[1] += KEEP * (self.sure / self.notes - self.usual[1])
        self.parts, self.sure, self.notes = dict.fromkeys(TAGS, 0), 0.0, 0


@torch.no_grad()
def make(variant):
    fixable.seed(torch)
    model, batches, ledger = tagger(), list(inbox()), Ledger()
    if variant == "useless":
        batches = [(notes.pin_memory(), lengths) for notes, lengths in batches]
    turn, waiting = [0], []

    def tagged(notes):
        """The likeliest tag of each token, and how likely it is: two of (NOTES, LENGTH)."""
        tokens, real = notes.to("cuda", non_blocking=variant == "useless")
        logits = model(input_ids=tokens, attention_mask=real).logits
        chances, tags = logits.float().softmax(dim=2).max(dim=2)
        return tags, chances

    def note_by_note(tags, chances, lengths):
        for number, length in enumerate(lengths):
            ledger.add(tags[number].tolist(), chances[number].tolist(), length)  # cause: wait,copy

    def at_once(tags, chances, lengths):
        for one in zip(tags.tolist(), chances.tolist(), lengths):
            ledger.add(*one)

    def later(*batch):
        """Reads the batch before this one, which is done or nearly so."""
        tags, chances, lengths = batch
        landing = [torch.empty(each.shape, dtype=each.dtype, pin_memory=True) for each in (tags, chances)]
        for place, each in zip(landing, (tags, chances)):
            place.copy_(each, non_blocking=True)
        done = torch.cuda.Event()
        done.record()
        waiting.append((landing, lengths, done))
        if len(waiting) > 1:
            read_first()

    def read_first():
        landing, lengths, done = waiting.pop(0)
        done.synchronize()
        at_once(*landing, lengths)

    @torch.no_grad()
    def step():
        notes, lengths = batches[turn[0] % SETS]
        tags, chances = tagged(notes)
        turn[0] += 1
        if variant == "fix":
            at_once(tags, chances, lengths)
        elif variant == "fix2":
            later(tags, chances, lengths)
        else:
            note_by_note(tags, chances, lengths)  # cause: wait,copy
        if turn[0] % LOOK_EVERY == 0:
            while waiting:
                read_first()
            ledger.write()

    return fixable.Work(step, torch.cuda.synchronize, lambda: list(ledger.usual))


run.main(make)
