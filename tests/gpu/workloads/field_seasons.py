# SPDX-License-Identifier: Apache-2.0
"""PyTorch: what grows on the fields of a country is told by how their colours change through a year, as satellites see them
every week, where no cloud is in the way; a transformer learns it in bfloat16, and its teachers want to see all that goes on.

Wrong: the loss and the share of hits are read before the backward pass, and behind it each weight's gradient is asked whether
it is a number; then their norm is read. At each of these waits the GPU rests until Python has launched something new.
fix: all of this is computed as before, but kept on the GPU and looked at every 50 steps (sync-bound).
fix2: the gradients' norm, which is read anyway, tells whether one of them is not a number (sync-bound).
fix3: forward and backward pass and the optimizer's step are CUDA graphs; all is read between them as before (launch-bound).
useless: zero_grad(set_to_none=False) keeps the gradients' memory.
"""
import math

import fixable

LOOK_EVERY = 50

run = fixable.Program(__doc__, steps=350, warm_up=LOOK_EVERY, multiple=LOOK_EVERY)
torch = fixable.load_torch()
nn = torch.nn

FIELDS, WEEKS, BANDS, CROPS, BATCH, WIDTH, LAYERS, HEADS, CLOUDS, UNSURE = 40000, 48, 10, 14, 256, 384, 6, 6, 0.3, 0.1


class Seasons(nn.Module):
    """Scores of the crops, for the colours of fields in each week."""

    def __init__(self):
        super().__init__()
        self.first, self.when = nn.Linear(BANDS, WIDTH), nn.Parameter(0.02 * torch.randn(WEEKS, WIDTH))
        layer = nn.TransformerEncoderLayer(WIDTH, HEADS, 4 * WIDTH, dropout=0.0, activation="gelu", batch_first=True,
                                           norm_first=True)
        self.layers = nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False)
        self.last = nn.Linear(WIDTH, CROPS)

    def forward(self, seen):
        return self.last(self.layers(self.first(seen) + self.when).mean(dim=1))


def country():
    """The colours of fields, (FIELDS, WEEKS, BANDS), and what is said to grow there; some farmers are mistaken."""
    crops = torch.randint(0, CROPS, (FIELDS,), device="cuda")
    week = torch.linspace(0.0, 1.0, WEEKS, device="cuda")
    ripe, long = 0.2 + 0.6 * torch.rand(CROPS, 1, device="cuda"), 0.05 + 0.15 * torch.rand(CROPS, 1, device="cuda")
    green = torch.exp(-((week - ripe) / long).square())
    colours = torch.randn(CROPS, 1, BANDS, device="cuda") * green[:, :, None]
    seen = colours[crops] + 0.8 * torch.randn(FIELDS, WEEKS, BANDS, device="cuda")
    cloudy = torch.rand(FIELDS, WEEKS, 1, device="cuda") < CLOUDS
    seen = torch.where(cloudy, 3.0 + 0.3 * torch.randn(FIELDS, WEEKS, 1, device="cuda"), seen)
    mistaken = torch.rand(FIELDS, device="cuda") < UNSURE
    return seen, torch.where(mistaken, torch.randint(0, CROPS, (FIELDS,), device="cuda"), crops)


def make(variant):
    fixable.seed(torch)
    seen, said = country()
    model = Seasons().cuda().train()
    named = list(model.named_parameters())
    weights = [weight for _, weight in named]
    adam = torch.optim.AdamW(weights, lr=2e-4, fused=True, capturable=variant == "fix3")
    pending, usual = [], [2.6, 0.1, 1.0]  # the loss, the share of hits, the gradients' norm

    def note(*told):
        for number, value in enumerate(told):
            usual[number] += 0.02 * (value - usual[number])

    def watch_gradients():
        for name, weight in named:
            if torch.isnan(weight.grad).any():  # cause: wait,copy
                raise ArithmeticError("the gradient of %s is not a number" % name)

    def learn_watched(loss, hits):
        now, share = loss.item(), hits.item()  # cause: wait,copy
        if math.isnan(now):
            raise ArithmeticError("the loss is not a number")
        if graphs:
            graphs[1].replay()
        else:
            loss.backward()
        if variant != "fix2":
            watch_gradients()  # cause: wait,copy
        norm = clipped().item()  # cause: wait,copy
        if not math.isfinite(norm):
            raise ArithmeticError("a gradient is not a number")
        if graphs:
            graphs[3].replay()
        else:
            adam.step()
        note(now, share, norm)

    def learn(loss, hits):
        loss.backward()
        wrong = torch.stack([torch.isnan(weight.grad).any() for weight in weights]).any()
        norm = nn.utils.clip_grad_norm_(weights, 1.0)
        adam.step()
        pending.append(torch.stack((loss.detach(), hits, norm, wrong.float())))
        if len(pending) == LOOK_EVERY:
            look()

    def look():
        """What the last steps have come to."""
        for now, share, norm, wrong in torch.stack(pending).tolist():
            if wrong or math.isnan(now) or not math.isfinite(norm):
                raise ArithmeticError("something was not a number in the last %d steps" % LOOK_EVERY)
            note(now, share, norm)
        pending.clear()

    def looked_at():
        """The loss of some fields, and the share of hits."""
        rows = torch.randint(0, FIELDS, (BATCH,), device="cuda")
        crops = said[rows]
        with torch.autocast("cuda", dtype=torch.bfloat16, cache_enabled=variant != "fix3"):
            scores = model(seen[rows])
        loss = nn.functional.cross_entropy(scores.float(), crops)
        return loss, (scores.detach().argmax(dim=1) == crops).float().mean()

    def clipped():
        if graphs:
            graphs[2].replay()
            return length
        return nn.utils.clip_grad_norm_(weights, 1.0)

    def captured():
        """Graphs of the passes, of clipping and of the optimizer's step, and what the first and the third give."""
        made = [torch.cuda.CUDAGraph() for _ in range(4)]

        def warm():
            adam.zero_grad()
            looked_at()[0].backward()
            nn.utils.clip_grad_norm_(weights, 1.0)
            adam.step()

        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                warm()
        torch.cuda.current_stream().wait_stream(side)
        adam.zero_grad()
        with torch.cuda.graph(made[0]):
            told = looked_at()
        with torch.cuda.graph(made[1], pool=made[0].pool()):
            told[0].backward()
        with torch.cuda.graph(made[2], pool=made[0].pool()):
            norm = nn.utils.clip_grad_norm_(weights, 1.0)
        with torch.cuda.graph(made[3], pool=made[0].pool()):
            adam.step()
        return made, told, norm

    graphs, told, length = captured() if variant == "fix3" else (None, None, None)

    def step():
        if graphs:
            graphs[0].replay()
            loss, hits = told
        else:
            adam.zero_grad(set_to_none=variant != "useless")
            loss, hits = looked_at()
        if variant == "fix":
            learn(loss, hits)
        else:
            learn_watched(loss, hits)  # cause: wait,copy

    return fixable.Work(step, torch.cuda.synchronize, lambda: usual[:2])


run.main(make)
