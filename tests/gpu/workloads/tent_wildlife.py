# SPDX-License-Identifier: Apache-2.0
"""timm: a drone counts animals, and its GhostNet adapts itself to the light of the day while it flies (TENT): behind each eight
pictures the scales and shifts of its batch norms make a step that makes the answers more certain.

Wrong: some seven hundred short kernels for eight pictures, forth and back, which Python launches slower than they run.
fix: what is done with eight pictures, the step of the optimizer included, is one CUDA graph (launch-bound).
useless: the pictures lie in pinned memory, and are copied with non_blocking=True.
"""
import fixable

run = fixable.Program(__doc__, steps=250, warm_up=10)
torch, timm = fixable.load_torch("timm")
nn = torch.nn

KINDS, SIZE, PICTURES, SETS, RATE, LOOK_EVERY = 40, 224, 8, 12, 2.5e-4, 25


def ready(model):
    """As TENT wants it: statistics of the batch itself, and nothing but scales and shifts of the norms to learn."""
    model.requires_grad_(False)
    learnt = []
    for part in model.modules():
        if isinstance(part, nn.BatchNorm2d):
            part.track_running_stats, part.running_mean, part.running_var = False, None, None
            part.weight.requires_grad_(True)
            part.bias.requires_grad_(True)
            learnt += [part.weight, part.bias]
    return learnt


def flight():
    """Pictures from above: grass of many lights, and spots on it."""
    y, x = torch.meshgrid(torch.linspace(0.0, 6.0, SIZE), torch.linspace(0.0, 6.0, SIZE), indexing="ij")
    for number in range(SETS):
        light = 90.0 + 12.0 * number + 25.0 * torch.rand(PICTURES, 3, 1, 1)
        waves = 20.0 * torch.sin(x + 0.5 * number) * torch.cos(y * (1.0 + torch.rand(PICTURES, 1, 1, 1)))
        spots = -60.0 * (torch.rand(PICTURES, 1, SIZE, SIZE) > 0.995)
        noise = 8.0 * torch.randn(PICTURES, 3, SIZE, SIZE)
        yield (light + waves + spots + noise).clamp(0.0, 255.0).byte()


def make(variant):
    fixable.seed(torch)
    pictures = list(flight())
    if variant == "useless":
        pictures = [batch.pin_memory() for batch in pictures]
    model = timm.create_model("ghostnet_100", pretrained=False, num_classes=KINDS, drop_rate=0.0).cuda().train()
    learnt = ready(model)
    optimizer = torch.optim.SGD(learnt, lr=RATE, momentum=0.9, foreach=True)
    middle = torch.tensor([0.485, 0.456, 0.406], device="cuda").view(1, 3, 1, 1)
    spread = torch.tensor([0.229, 0.224, 0.225], device="cuda").view(1, 3, 1, 1)
    seen, unsure = torch.zeros(KINDS, device="cuda"), torch.zeros((), device="cuda")
    turn, told = [0], []

    def adapt(batch):
        """Counts what is to be seen, and learns from it."""
        scores = model((batch.float() / 255.0 - middle) / spread)  # cause: launch
        logs = scores.log_softmax(dim=1)  # cause: launch
        entropy = -(logs.exp() * logs).sum(dim=1).mean()  # cause: launch
        optimizer.zero_grad()
        entropy.backward()  # cause: launch
        optimizer.step()  # cause: launch
        with torch.no_grad():
            seen.mul_(0.98).add_(logs.exp().sum(dim=0))  # cause: launch
            unsure.lerp_(entropy, 0.02)  # cause: launch

    if variant == "fix":
        kept = [p.detach().clone() for p in learnt]
        taken = pictures[0].cuda()
        graph, _ = fixable.capture(torch, lambda: adapt(taken))
        with torch.no_grad():
            for p, old in zip(learnt, kept):
                p.copy_(old)
                optimizer.state[p]["momentum_buffer"].zero_()
            seen.zero_()
            unsure.zero_()

    def step():
        batch = pictures[turn[0] % SETS]
        turn[0] += 1
        if variant == "fix":
            taken.copy_(batch)
            graph.replay()
        else:
            adapt(batch.to("cuda", non_blocking=variant == "useless"))
        if turn[0] % LOOK_EVERY == 0:
            told[:] = seen.tolist() + [unsure.item()]

    return fixable.Work(step, torch.cuda.synchronize, lambda: [float(unsure)] + [p.detach().abs().mean().item() for p in learnt])


run.main(make)
