# SPDX-License-Identifier: Apache-2.0
"""PyTorch, Transformers: a map service learns which words of an address are its street, number, code, town and region, whatever
the order that a country writes them in. As in the course on token classification, a DataLoader's collate function makes pieces of
words with a fast tokenizer (trained on the addresses), gives each word's tag to its first piece (word_ids), and has
DataCollatorForTokenClassification pad all; a small nn.TransformerEncoder learns from 80 addresses at a time.

Wrong: addresses are cleaned, made to pieces and padded anew in each epoch, by the thread that launches; the GPU waits for that.
fix: the same batches are made once before the loop, and lie in the host's memory (host-bound).
fix2: a step on the GPU is launched as one CUDA graph; the collate function does what it did (launch-bound).
useless: losses that are noted, one of 25, stay on the device to the end.
"""
import collections
import itertools
import os
import random
import re
import unicodedata

import fixable

os.environ["TOKENIZERS_PARALLELISM"] = "false"
run = fixable.Program(__doc__, steps=300, warm_up=10)
torch, transformers, tokenizers, models, normalizers, splitters, trainers = fixable.load_torch(
    "transformers", "tokenizers", "tokenizers.models", "tokenizers.normalizers", "tokenizers.pre_tokenizers",
    "tokenizers.trainers")
nn = torch.nn

ADDRESSES, BATCH, LENGTH, PIECES, WIDE, HEADS, LAYERS, IGNORED, NOTED = 1280, 80, 32, 1500, 128, 4, 2, -100, 25
TAGS = 5
STREET, NUMBER, CODE, TOWN, REGION = range(TAGS)
ORDERS = ((NUMBER, STREET, TOWN, REGION, CODE), (STREET, NUMBER, CODE, TOWN, REGION), (CODE, REGION, TOWN, STREET, NUMBER))
SYLLABLES = "ba be da de ga go ha ka ko la le lin ma mo na nor pa ra ri sa sel ta ter to v\u00e1 v\u00e9 w\u00f6 z\u00fc".split()
SHORT = {"st": "street", "rd": "road", "ave": "avenue", "ln": "lane", "sq": "square", "nr": "number", "apt": "flat"}
MARKS, DIGITS = re.compile(r"[^\w/-]+"), re.compile(r"(\d+)\s*[-/]\s*(\d+)")


def written():
    """Addresses as people write them: words, and the tag of each."""
    luck = random.Random(20)
    names = [["".join(luck.choices(SYLLABLES, k=luck.randint(2, 4))).capitalize() for _ in range(luck.randint(1, 2))]
             for _ in range(900)]
    kinds = ["Street", "St.", "Rd.", "Road", "Ave.", "Avenue", "Ln.", "Sq."]
    for _ in range(ADDRESSES):
        house = str(luck.randint(1, 300))
        parts = {STREET: luck.choice(names[:500]) + [luck.choice(kinds)], TOWN: luck.choice(names[500:860]),
                 NUMBER: luck.choice(([house], ["Nr.", house], [house + "/" + luck.choice("1234"), "Apt."])),
                 CODE: ["%05d," % luck.randint(0, 99999)], REGION: luck.choice(names[860:])}
        order = luck.choice(ORDERS)
        yield [word for part in order for word in parts[part]], [part for part in order for _ in parts[part]]


def cleaned(word):
    plain = "".join(c for c in unicodedata.normalize("NFKD", word.lower()) if not unicodedata.combining(c))
    plain = DIGITS.sub(r"\1/\2", MARKS.sub("", plain))
    return SHORT.get(plain, plain)


def trained(addresses):
    """A tokenizer of word pieces."""
    tokenizer = tokenizers.Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = splitters.BertPreTokenizer()
    trainer = trainers.WordPieceTrainer(vocab_size=PIECES, special_tokens=["[PAD]", "[UNK]"], show_progress=False)
    tokenizer.train_from_iterator([" ".join(map(cleaned, words)) for words, _ in addresses], trainer)
    return transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]")


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        layer = nn.TransformerEncoderLayer(WIDE, HEADS, 2 * WIDE, dropout=0.0, activation="gelu", batch_first=True,
                                           norm_first=True)
        self.pieces = nn.Embedding(PIECES, WIDE)
        self.places = nn.Parameter(0.1 * torch.randn(LENGTH, WIDE))
        self.layers = nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False)
        self.told = nn.Linear(WIDE, TAGS)

    def forward(self, ids):
        return self.told(self.layers(self.pieces(ids) + self.places, src_key_padding_mask=ids == 0))


def endless(loader):
    while True:
        yield from loader  # cause: loader


def make(variant):
    fixable.seed(torch)
    network = Tagger().cuda().train()
    addresses = list(written())
    tokenizer = trained(addresses)
    padded = transformers.DataCollatorForTokenClassification(tokenizer, padding="max_length", max_length=LENGTH)

    def collate(some):
        """Pieces and tags of some addresses, (2, BATCH, LENGTH)."""
        texts = [[cleaned(word) for word in words] for words, _ in some]  # cause: loader
        made = tokenizer(texts, is_split_into_words=True, truncation=True, max_length=LENGTH)  # cause: loader
        rows = []
        for number, (_, tags) in enumerate(some):
            labels, before = [], None
            for word in made.word_ids(number):  # cause: loader
                labels.append(IGNORED if word is None or word == before else tags[word])
                before = word
            rows.append({"input_ids": made["input_ids"][number], "attention_mask": made["attention_mask"][number],
                         "labels": labels})
        batch = padded(rows)  # cause: loader
        return torch.stack((batch["input_ids"], batch["labels"])).to(torch.int32)

    loader = torch.utils.data.DataLoader(addresses, batch_size=BATCH, collate_fn=collate)
    batches = itertools.cycle(list(loader)) if variant == "fix" else endless(loader)
    both = next(iter(loader)).cuda()
    weights = list(network.parameters())
    optimizer = torch.optim.AdamW(weights, lr=5e-5, weight_decay=0.01, capturable=True)
    usual, notes, turn = torch.full((), 1.6, device="cuda"), collections.deque(maxlen=4), [0]

    def clear():
        optimizer.zero_grad(set_to_none=True)

    def learn():
        """Learns from the addresses in `both`; the gradients are clear before."""
        chances = network(both[0])
        loss = nn.functional.cross_entropy(chances.flatten(0, 1), both[1].flatten().long(), ignore_index=IGNORED)
        loss.backward()
        nn.utils.clip_grad_norm_(weights, 1.0)
        optimizer.step()
        usual.lerp_(loss.detach(), 0.02)

    if variant == "fix2":
        graph, _ = fixable.capture(torch, learn, before=clear)
    else:
        for _ in range(3):  # as many steps as before a graph is made
            clear()
            learn()

    def train(steps):
        for batch in itertools.islice(batches, steps):  # cause: loader
            both.copy_(batch, non_blocking=True)  # cause: delayed
            if variant == "fix2":
                graph.replay()
            else:
                clear()
                learn()
            turn[0] += 1
            if turn[0] % NOTED == 0:
                notes.append(usual.clone() if variant == "useless" else usual.item())

    def values():
        """The loss, lately and at last."""
        return [float(note) for note in notes] + [float(usual)]

    return fixable.Work(loop=train, wait=torch.cuda.synchronize, values=values)


run.main(make)
