# SPDX-License-Identifier: Apache-2.0
"""torchvision: a museum teaches a network to tell of which town and time an old coin is, from photographs of its collection: a
ResNet-18 in bfloat16 with channels last; threads have decoded the photographs into pinned memory.

Wrong: each step is some 250 launches, which take the host longer than the GPU needs to run them, though the next batch is brought on a
stream of its own, photographs are turned and lit on the GPU and an average of the weights is kept by few kernels.
fix: what is launched for a batch is one CUDA graph (launch-bound).
useless: the losses are read behind 20 steps.
"""
import fixable

LOOK_EVERY = 20

run = fixable.Program(__doc__, steps=200, warm_up=LOOK_EVERY, multiple=LOOK_EVERY)
torch, torchvision = fixable.load_torch("torchvision")
F = torch.nn.functional

COINS, SIZE, SETS, MINTS, KEEP, RATE, SMOOTH = 224, 160, 4, 160, 0.999, 0.02, 0.1


def collection():
    """Batches of photographs, as bytes in pinned memory, and of their mints: a coin has a rim, letters and a head."""
    at = torch.linspace(-1.0, 1.0, SIZE)
    far = (at.view(SIZE, 1).square() + at.square()).sqrt()
    around = torch.atan2(at.view(SIZE, 1), at)
    for _ in range(SETS):
        mints = torch.randint(0, MINTS, (COINS,))
        letters = (3 + mints % 16).view(COINS, 1, 1, 1)
        heads = (2.0 + mints // 16).view(COINS, 1, 1, 1)
        drawn = 60.0 * (letters * around + 6.28 * torch.rand(COINS, 1, 1, 1)).sin() * ((far > 0.7) & (far < 0.85))
        drawn = drawn + 50.0 * (heads * 4.0 * far).cos() * (far < 0.6)
        metal = torch.tensor([150.0, 120.0, 80.0]).view(3, 1, 1) * (0.8 + 0.4 * torch.rand(COINS, 1, 1, 1))
        photos = torch.where(far < 0.95, metal + drawn, 20.0) + 8.0 * torch.randn(COINS, 3, SIZE, SIZE)
        yield photos.clamp(0.0, 255.0).to(torch.uint8).pin_memory(), mints.pin_memory()


class Ahead:
    """Brings the next batch to the GPU beside the kernels of the one before."""

    def __init__(self, batches):
        self.batches, self.turn, self.stream = batches, 0, torch.cuda.Stream()
        self.bring()

    def bring(self):
        photos, mints = self.batches[self.turn % SETS]
        self.turn += 1
        with torch.cuda.stream(self.stream):
            self.next = photos.to("cuda", non_blocking=True), mints.to("cuda", non_blocking=True)

    def take(self):
        now = torch.cuda.current_stream()
        now.wait_stream(self.stream)
        photos, mints = self.next
        for tensor in (photos, mints):
            tensor.record_stream(now)
        self.bring()
        return photos, mints


def make(variant):
    fixable.seed(torch)
    model = torchvision.models.resnet18(weights=None, num_classes=MINTS).to("cuda", memory_format=torch.channels_last).train()
    weights = list(model.parameters())
    sgd = torch.optim.SGD(weights, lr=RATE, momentum=0.9, weight_decay=1e-4, foreach=True)
    kept = [weight.detach().clone() for weight in weights]
    ahead = Ahead(list(collection()))
    mean = torch.tensor([0.485, 0.456, 0.406], device="cuda").view(3, 1, 1)
    deviation = torch.tensor([0.229, 0.224, 0.225], device="cuda").view(3, 1, 1)
    turn, pending, usual = [0], [], [5.0]
    places = None

    def lit(photos):
        """Photographs in other light, some of them turned over, as the network wants them."""
        photos = photos.to(memory_format=torch.channels_last).float() / 255.0  # cause: launch
        turned = torch.rand(COINS, 1, 1, 1, device="cuda") < 0.5  # cause: launch
        photos = torch.where(turned, photos.flip(3), photos) * (0.8 + 0.4 * torch.rand(COINS, 1, 1, 1, device="cuda"))  # cause: launch
        return (photos - mean) / deviation  # cause: launch

    def learn(photos, mints):
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = F.cross_entropy(model(photos), mints, label_smoothing=SMOOTH)  # cause: launch
        sgd.zero_grad()
        loss.backward()  # cause: launch
        sgd.step()  # cause: launch
        with torch.no_grad():
            torch._foreach_lerp_(kept, weights, 1.0 - KEEP)  # cause: launch
        return loss.detach()

    def captured():
        """A graph of a batch that lies in `places`, and its loss; what was learnt on the way there is forgotten."""
        before = {name: value.clone() for name, value in model.state_dict().items()}
        graph, loss = fixable.capture(torch, lambda: learn(lit(places[0]), places[1]), before=sgd.zero_grad)
        model.load_state_dict(before)
        for weight, copy in zip(weights, kept):
            copy.copy_(weight.detach())
            sgd.state[weight]["momentum_buffer"].zero_()
        return graph, loss

    if variant == "fix":
        torch.cuda.current_stream().wait_stream(ahead.stream)
        places = [tensor.clone() for tensor in ahead.next]
        graph, given = captured()

    def learnt(photos, mints):
        """The batch's loss."""
        if variant != "fix":
            return learn(lit(photos), mints)  # cause: launch
        for place, tensor in zip(places, (photos, mints)):
            place.copy_(tensor)
        graph.replay()
        return given

    def note(loss):
        usual[0] += 0.05 * (loss - usual[0])

    def step():
        photos, mints = ahead.take()
        loss = learnt(photos, mints)  # cause: launch
        turn[0] += 1
        if variant != "useless":
            note(loss.item())
            return
        pending.append(loss)
        if turn[0] % LOOK_EVERY == 0:
            for one in torch.stack(pending).tolist():
                note(one)
            pending.clear()

    return fixable.Work(step, torch.cuda.synchronize, lambda: list(usual))


run.main(make)
