# SPDX-License-Identifier: Apache-2.0
"""PyTorch and transformers: letters that emigrants wrote home are to be searched by what they mean, word by word (as ColBERT does
it): an FNet reads 128 pages of 256 pieces of words at a time, and each piece becomes a vector of 256 numbers and length one. The
vectors go to the host, where the index is built of them.

Wrong: 33.5 MB of vectors are copied to pageable memory behind each batch; the copy takes longer than the model, the host waits
for both, and the GPU has nothing to do meanwhile.
fix: the memory on the host is pinned, and the host goes on at once (copy-bound).
fix2: a batch's vectors are copied, to pageable memory as before, by another stream while the next batch is read (copy-bound).
fix3: the model is one CUDA graph (launch-bound).
useless: the vectors are made in an array that is there for good.
"""
import fixable

run = fixable.Program(__doc__, steps=500, warm_up=10)
torch, transformers = fixable.load_torch("transformers")

PAGES, PIECES, WIDTH, LAYERS, WORDS, SETS, KEPT = 128, 256, 256, 4, 8000, 12, 8


def reader():
    return transformers.FNetModel(transformers.FNetConfig(
        vocab_size=WORDS, hidden_size=WIDTH, num_hidden_layers=LAYERS, intermediate_size=4 * WIDTH, hidden_act="gelu",
        max_position_embeddings=PIECES, tpu_short_seq_length=PIECES), add_pooling_layer=False)


def letters():
    """Numbers of pieces of words; some are much more frequent than others."""
    rare = torch.rand(SETS, PAGES, PIECES, device="cuda") ** 3
    return (4.0 + rare * (WORDS - 5)).to(torch.int16)


@torch.no_grad()
def make(variant):
    fixable.seed(torch)
    torch.set_float32_matmul_precision("high")
    model = reader().cuda().eval()
    narrow = torch.nn.Linear(WIDTH, WIDTH, bias=False).cuda()
    pages = letters()
    now = torch.zeros(PAGES, PIECES, dtype=torch.int64, device="cuda")
    shelf = torch.zeros(KEPT, PAGES, PIECES, WIDTH, pin_memory=variant == "fix")
    made = torch.zeros(PAGES, PIECES, WIDTH, device="cuda") if variant == "useless" else None
    other_way = torch.cuda.Stream() if variant == "fix2" else None
    turn, pending = [0], []

    def vectors_of():
        """A vector of length one for each piece of the pages in `now`."""
        hidden = model(input_ids=now).last_hidden_state
        return torch.nn.functional.normalize(narrow(hidden), dim=2, out=made)

    if variant == "fix3":
        graph, drawn = fixable.capture(torch, vectors_of)

    def replayed():
        graph.replay()
        return drawn

    read = replayed if variant == "fix3" else vectors_of

    def keep_earlier():
        """Copies the vectors of an earlier batch as soon as they are there."""
        vectors, ready, number = pending.pop(0)
        with torch.cuda.stream(other_way):
            other_way.wait_event(ready)
            shelf[number % KEPT].copy_(vectors)

    @torch.no_grad()
    def step():
        number = turn[0]
        turn[0] += 1
        now.copy_(pages[number % SETS])
        vectors = read()
        if variant == "fix":
            shelf[number % KEPT].copy_(vectors, non_blocking=True)
        elif variant == "fix2":
            ready = torch.cuda.Event()
            ready.record()
            pending.append((vectors, ready, number))
            if len(pending) > 1:
                keep_earlier()
        else:
            shelf[number % KEPT].copy_(vectors)  # cause: copy,wait

    def wait():
        while pending:
            keep_earlier()
        torch.cuda.synchronize()

    return fixable.Work(step, wait, lambda: [page.abs().mean().item() for page in shelf])


run.main(make)
