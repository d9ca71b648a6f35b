# SPDX-License-Identifier: Apache-2.0
"""transformers: a language model of proteins (ESM) tells what would become of a protein if one amino acid were changed: each
place is hidden in turn, 16 at once, and the log-likelihood of each of the twenty is compared with that of the one that is there.

Wrong: each of the 320 numbers is taken by .item() for a table of Python, and the GPU rests until all of them have come.
fix: the scores of a batch stay on the GPU, and are read once for 16 batches (sync-bound).
fix2: what the model does is one CUDA graph; all numbers are taken one by one behind it (launch-bound).
useless: the batch is pinned, and copied with non_blocking=True.
"""
import fixable

TOGETHER = 16

run = fixable.Program(__doc__, steps=480, warm_up=TOGETHER, multiple=TOGETHER)
torch, numpy, transformers, sdpa = fixable.load_torch("numpy", "transformers", "transformers.integrations.sdpa_attention")

ROWS, LENGTH, PROTEINS, WIDTH, LAYERS, HEADS = 16, 128, 6, 320, 6, 20
BEGIN, PAD, END, KNOWN, HIDDEN = 0, 1, 2, 33, 32
AMINO = range(4, 24)  # L A G V S E R T I D P K Q N F Y M H W C


def network():
    # No row is padded: it is told so by an attention for which transformers makes no masks.
    transformers.AttentionInterface.register("sdpa_unmasked", sdpa.sdpa_attention_forward)
    config = transformers.EsmConfig(vocab_size=KNOWN, mask_token_id=HIDDEN, pad_token_id=PAD, hidden_size=WIDTH,
                                    num_hidden_layers=LAYERS, num_attention_heads=HEADS, intermediate_size=4 * WIDTH,
                                    max_position_embeddings=1026, position_embedding_type="rotary", token_dropout=True,
                                    initializer_range=0.1, attn_implementation="sdpa_unmasked")
    return transformers.EsmForMaskedLM(config).cuda().eval()


@torch.no_grad()
def make(variant):
    fixable.seed(torch)
    random = numpy.random.default_rng(20)
    model, rows = network(), torch.arange(ROWS, device="cuda")
    proteins = random.choice(AMINO, (PROTEINS, LENGTH), p=random.dirichlet(numpy.full(len(AMINO), 3.0)))
    proteins[:, 0], proteins[:, -1] = BEGIN, END
    firsts = list(range(1, LENGTH - ROWS, ROWS))
    places = {first: torch.arange(first, first + ROWS, device="cuda") for first in firsts}
    turn, tables, pending = [0], [{} for _ in range(PROTEINS)], []

    def batch(number, first):
        """The protein, with another place hidden in each row, as it comes to the GPU."""
        ids = numpy.repeat(proteins[number, None], ROWS, axis=0)
        ids[numpy.arange(ROWS), numpy.arange(first, first + ROWS)] = HIDDEN
        ids = torch.from_numpy(ids)
        if variant == "useless":
            return ids.pin_memory().to("cuda", non_blocking=True)
        return ids.cuda()

    def understand(ids):
        return model(input_ids=ids).logits.log_softmax(dim=2)

    def note(number, first, likely):
        """Writes down how much less likely than what is there each amino acid is."""
        for row in range(ROWS):
            at = first + row
            usual = likely[row][int(proteins[number, at]) - AMINO[0]]
            for amino, value in zip(AMINO, likely[row]):
                tables[number][at, amino] = value - usual

    if variant == "fix2":
        place = torch.from_numpy(numpy.repeat(proteins[:1], ROWS, axis=0)).cuda()
        graph, understood = fixable.capture(torch, lambda: understand(place))

    @torch.no_grad()
    def step():
        number, first = turn[0] // len(firsts) % PROTEINS, firsts[turn[0] % len(firsts)]
        turn[0] += 1
        ids = batch(number, first)
        if variant == "fix2":
            place.copy_(ids)
            graph.replay()
            likely = understood
        else:
            likely = understand(ids)
        likely = likely[rows, places[first], AMINO[0]:AMINO[-1] + 1]
        if variant != "fix":
            note(number, first, [[likely[row, amino].item() for amino in range(len(AMINO))]  # cause: wait,copy
                                 for row in range(ROWS)])
            return
        pending.append((number, first, likely))
        if len(pending) == TOGETHER:
            all_likely = torch.stack([likely for _, _, likely in pending]).tolist()
            for (number, first, _), likely in zip(pending, all_likely):
                note(number, first, likely)
            pending.clear()

    def values():
        return [abs(tables[0][at, amino]) for at in range(1, 1 + ROWS) for amino in AMINO]

    return fixable.Work(step, torch.cuda.synchronize, values)


run.main(make)
