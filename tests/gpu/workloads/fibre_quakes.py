# SPDX-License-Identifier: Apache-2.0
"""PyTorch and transformers: a service finds when the waves of small earthquakes come to places along telephone cables, whose
glass fibre is used as a row of seismometers. A request has what some 40 to 96 places of a cable heard in a minute or less, 200
numbers a second; each cable has as many places as it has, and each piece its own length. A Wav2Vec2 tells for each moment how
likely it has the first (P) or the second wave (S). A thread does that, and clients have two requests with it.

Wrong: the service shares the GPU with others, so somebody lets it empty the cache of PyTorch's allocator behind each request;
all the memory goes back to the driver, and has to be asked for anew.
fix: the cache is left as it is (alloc-bound).
fix2: answers stay on the device, and are read for twelve requests together (sync-bound).
useless: answers come to pinned memory.
"""
import queue
import threading

import fixable

run = fixable.Program(__doc__, steps=400, warm_up=12, multiple=12)
torch, transformers, numpy = fixable.load_torch("transformers", "numpy")

PLACES, SECONDS, RATE, AT_ONCE, TOGETHER = (64, 40, 96, 56, 80, 48), (58, 50), 200, 2, 12
WIDTH, LAYERS, WAVES = 256, 4, 192


def requests():
    """Counts (int16) of the recorders: noise, and two waves that run along the cable."""
    random = numpy.random.default_rng(20)
    for seconds in SECONDS:
        for places in PLACES:
            length = (seconds + int(random.integers(0, 3))) * RATE
            heard = random.normal(0.0, 200.0, (places, length))
            times = numpy.arange(length) / RATE
            for first, slow, strong in ((12.0, 0.05, 900.0), (20.0, 0.09, 2000.0)):
                since = times - (first + slow * numpy.arange(places))[:, None]
                heard += strong * (since > 0.0) * numpy.exp(-0.4 * since.clip(0.0)) * numpy.sin(38.0 * since)
            yield heard.clip(-32000.0, 32000.0).astype(numpy.int16)


def model_of():
    config = transformers.Wav2Vec2Config(
        hidden_size=WIDTH, num_hidden_layers=LAYERS, num_attention_heads=4, intermediate_size=4 * WIDTH,
        feat_extract_norm="group", conv_dim=(WAVES,) * 5, conv_stride=(3, 2, 2, 2, 2), conv_kernel=(10, 3, 3, 3, 3),
        num_conv_pos_embeddings=32, num_conv_pos_embedding_groups=16, num_labels=3)
    return transformers.Wav2Vec2ForAudioFrameClassification(config).cuda().eval()


class Service:
    """A thread that answers requests in the order in which they come."""

    def __init__(self, answer):
        self.asked, self.answers, self.waiting = queue.Queue(), queue.Queue(), 0
        threading.Thread(target=self.serve, args=(answer,), name="picker", daemon=True).start()

    @torch.no_grad()
    def serve(self, answer):
        while True:
            heard = self.asked.get()
            try:
                self.answers.put(answer(heard))  # cause: alloc
            except Exception as e:
                self.answers.put(e)

    def ask(self, heard):
        self.asked.put(heard)
        self.waiting += 1

    def take(self):
        found = self.answers.get()
        self.waiting -= 1
        if isinstance(found, Exception):
            raise found
        return found


def make(variant):
    fixable.seed(torch)
    model, asked = model_of(), list(requests())
    landing = torch.empty(max(PLACES), 3, pin_memory=True) if variant == "useless" else None
    turn, kept, usual = [0], [], [0.0, 0.0, 0.0]

    def picks(heard):
        """For each place how sure the surest P and S are, and when P comes, as a share of the piece: (places, 3)."""
        counts = torch.from_numpy(heard).cuda().float()  # cause: alloc
        counts = (counts - counts.mean(dim=1, keepdim=True)) / (counts.std(dim=1, keepdim=True) + 1.0)  # cause: alloc
        chances = model(counts).logits.softmax(dim=2)  # cause: alloc
        when = torch.linspace(0.0, 1.0, chances.shape[1], device="cuda")  # cause: alloc
        first = (chances[:, :, 1] * when).sum(dim=1) / chances[:, :, 1].sum(dim=1)  # cause: alloc
        return torch.cat((chances[:, :, 1:].amax(dim=1), first.unsqueeze(1)), dim=1)  # cause: alloc

    def answer(heard):
        found = picks(heard)  # cause: alloc
        if variant == "useless":
            part = landing[:len(found)]
            part.copy_(found, non_blocking=True)
            torch.cuda.current_stream().synchronize()
            found = part.clone()
        elif variant != "fix2":
            found = found.cpu()
        if variant != "fix":
            torch.cuda.empty_cache()  # cause: alloc
        return found

    service = Service(answer)

    def note(found):
        for k, number in enumerate(found.mean(dim=0).tolist()):
            usual[k] += 0.02 * (number - usual[k])

    def read():
        if kept:
            for found in torch.cat(kept).cpu().split([len(k) for k in kept]):
                note(found)
            kept.clear()

    def take():
        found = service.take()
        if variant != "fix2":
            note(found)
            return
        kept.append(found)
        if len(kept) == TOGETHER:
            read()

    def step():
        service.ask(asked[turn[0] % len(asked)])
        turn[0] += 1
        if service.waiting == AT_ONCE:
            take()

    def wait():
        while service.waiting:
            take()
        read()
        torch.cuda.synchronize()

    return fixable.Work(step, wait, lambda: list(usual))


run.main(make)
