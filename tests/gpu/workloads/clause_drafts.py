# SPDX-License-Identifier: Apache-2.0
"""PyTorch, Transformers: a notary's office has a small language model that goes on with the clauses of a contract. Sixteen openings
of a clause, which a clerk has chosen, are written on word by word up to 128 words, with a static cache of keys and values; words
that a draft has had already are less welcome. The drafts are read when they are whole.

Wrong: a step of decoding is some 310 little kernels, which the host launches one by one, and each takes less than its launch.
fix: a step of decoding is one CUDA graph (launch-bound).
useless: the drafts, when they are whole, come to pinned memory.
"""
import inspect
import os
import random

import fixable

os.environ["TOKENIZERS_PARALLELISM"] = "false"
run = fixable.Program(__doc__, steps=640, warm_up=20)
torch, transformers, tokenizers, models, splitters, trainers = fixable.load_torch(
    "transformers", "tokenizers", "tokenizers.models", "tokenizers.pre_tokenizers", "tokenizers.trainers")

DRAFTS, OPENING, LENGTH, WORDS, WIDE, LAYERS, WEARY, HIDDEN, SLOW = 16, 20, 128, 1600, 512, 8, 0.5, -1e9, 0.02
PARTS = "con der fac gen hold in jur lia mor no ob par quit re sub ten un vest war".split()
KINDS = ("The buyer shall", "The seller warrants that", "Neither party may", "Any dispute under this deed", "The tenant pays")


def written():
    """Clauses of old contracts: each begins with one of some phrases."""
    luck = random.Random(20)
    words = ["".join(luck.choices(PARTS, k=luck.randint(1, 4))) for _ in range(2400)]
    often = [1.0 / (rank + 8) for rank in range(len(words))]
    return [" ".join([luck.choice(KINDS)] + luck.choices(words, often, k=luck.randint(30, 60)) + ["."]) for _ in range(1500)]


def trained(clauses):
    """A tokenizer of whole words."""
    tokenizer = tokenizers.Tokenizer(models.WordLevel(unk_token="[UNK]"))
    tokenizer.pre_tokenizer = splitters.Whitespace()
    trainer = trainers.WordLevelTrainer(vocab_size=WORDS, special_tokens=["[PAD]", "[UNK]"], show_progress=False)
    tokenizer.train_from_iterator(clauses, trainer)
    return transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]")


@torch.no_grad()
def make(variant):
    fixable.seed(torch)
    clauses = written()
    tokenizer = trained(clauses)
    cut = tokenizer(clauses[:DRAFTS], padding="max_length", truncation=True, max_length=OPENING, return_tensors="pt")
    openings = torch.zeros(DRAFTS, LENGTH + 1, dtype=torch.long)
    openings[:, :OPENING] = cut["input_ids"]
    openings = openings.cuda()
    model = transformers.LlamaForCausalLM(transformers.LlamaConfig(
        vocab_size=WORDS, hidden_size=WIDE, intermediate_size=3 * WIDE, num_hidden_layers=LAYERS, num_attention_heads=8,
        num_key_value_heads=8, max_position_embeddings=LENGTH, pad_token_id=0)).cuda().eval()
    memory = transformers.StaticCache(config=model.config, max_cache_len=LENGTH)
    called = "cache" if "cache" in inspect.signature(model.forward).parameters else "past_key_values"  # by version
    past = {called: memory}
    order, place = torch.arange(LENGTH, device="cuda"), torch.zeros(1, dtype=torch.long, device="cuda")
    word, once = openings[:, :1].clone(), torch.ones(DRAFTS, 1, device="cuda")
    had, drafts = torch.zeros(DRAFTS, WORDS, device="cuda"), openings.clone()
    usual, turn, texts = torch.zeros(2, device="cuda"), [0], []
    landing = torch.empty(DRAFTS, LENGTH + 1, dtype=torch.long, pin_memory=True) if variant == "useless" else None

    def begin():
        """All drafts are at their first word."""
        memory.reset()
        place.zero_()
        had.zero_()
        word.copy_(openings[:, :1])

    def write():
        """Reads the word of each draft, and tells the next one: of its opening, or the likeliest one."""
        had.scatter_add_(1, word, once)  # cause: launch
        later = (order > place).float().mul_(HIDDEN).view(1, 1, 1, LENGTH).expand(DRAFTS, 1, 1, LENGTH)  # cause: launch
        told = model(input_ids=word, attention_mask=later, position_ids=place.expand(DRAFTS, 1),  # cause: launch
                     cache_position=place, use_cache=True, **past)
        best, likeliest = (told.logits[:, -1] - WEARY * had).max(dim=1, keepdim=True)  # cause: launch
        place.add_(1)  # cause: launch
        word.copy_(torch.where(place < OPENING, openings.index_select(1, place), likeliest))  # cause: launch
        drafts.index_copy_(1, place, word)  # cause: launch
        usual.lerp_(torch.stack((best.mean(), word.float().mean())), SLOW)  # cause: launch

    if variant == "fix":
        graph, _ = fixable.capture(torch, write)
    else:
        for _ in range(3):  # as many steps as before a graph is made
            write()
    begin()
    usual.zero_()

    def step():
        if variant == "fix":
            graph.replay()
        else:
            with torch.no_grad():
                write()  # cause: launch
        turn[0] += 1
        if turn[0] % (LENGTH - 1) == 0:
            whole = (drafts if landing is None else landing.copy_(drafts)).tolist()
            texts[:] = [tokenizer.decode(whole[0])]
            begin()

    return fixable.Work(step, torch.cuda.synchronize, usual.tolist)


run.main(make)
