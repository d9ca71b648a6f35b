# SPDX-License-Identifier: Apache-2.0
"""PyTorch, timm: a land survey enters into its maps what shape a roof has: flat, gabled, hipped and so on. A ResNet-50 of timm
learns from pictures that were taken from a plane, 96 at a time. So that one sees which layers learn, the log has, for each array of
weights, how long its gradient is against the weights.

Wrong: both lengths are read by .item() for each of the 161 arrays, one after the other, at each step.
fix: the lengths stay on the device; they are read together where the log is shown, every 25 steps (sync-bound).
fix2: a step of learning is one CUDA graph; the lengths are taken and read as before (launch-bound).
useless: the lengths that are read every 25 steps come to pinned memory.
"""
import fixable

run = fixable.Program(__doc__, steps=125, warm_up=6)
torch, timm, optim = fixable.load_torch("timm", "timm.optim")
nn = torch.nn

PICTURES, SIZE, BATCH, SHAPES, SHOWN, TINY, SLOW = 1536, 128, 96, 8, 25, 1e-12, 0.05


def survey():
    """Pictures of roofs as bytes, and their shapes, on the GPU: what is built has edges at some angles, by its shape."""
    shapes = torch.arange(PICTURES, device="cuda") % SHAPES
    angle = (shapes * (torch.pi / SHAPES) + 0.1 * torch.randn(PICTURES, device="cuda")).view(-1, 1, 1)
    down = torch.linspace(-1.0, 1.0, SIZE, device="cuda")[:, None]
    right = torch.linspace(-1.0, 1.0, SIZE, device="cuda")
    ridge = torch.cos(angle) * right + torch.sin(angle) * down
    roof = (ridge.abs() < 0.5).float() * (1.0 + (ridge > 0.0)) / 2.0
    colour = 0.3 + 0.5 * torch.rand(PICTURES, 3, 1, 1, device="cuda")
    seen = 255.0 * (roof[:, None] * colour + 0.1 * torch.rand(PICTURES, 3, SIZE, SIZE, device="cuda"))
    return seen.clamp_(0.0, 255.0).to(torch.uint8), shapes


def make(variant):
    fixable.seed(torch)
    pictures, shapes = survey()
    mixed = torch.randperm(PICTURES, device="cuda")
    batches = list(zip(pictures[mixed].split(BATCH), shapes[mixed].split(BATCH)))
    model = timm.create_model("resnet50", pretrained=False, num_classes=SHAPES).cuda().train()
    model = model.to(memory_format=torch.channels_last)
    optimizer = optim.create_optimizer_v2(model, opt="sgd", lr=2e-3, momentum=0.9, weight_decay=1e-4)
    weights = list(model.parameters())
    seen, right = torch.empty_like(batches[0][0]), torch.empty_like(batches[0][1])
    lengths = torch.zeros(2, len(weights), device="cuda")  # of the gradients, of the weights
    places = list(zip(weights, *(row.unbind() for row in lengths)))
    landing = torch.empty(lengths.shape, pin_memory=True) if variant == "useless" else None
    usual, turn, log, shown = torch.full((), 2.0, device="cuda"), [0], [0.0] * len(weights), []

    def clear():
        optimizer.zero_grad(set_to_none=True)

    def learn():
        """Learns from the pictures in `seen`, and notes the loss."""
        inside = seen.to(torch.float32, memory_format=torch.channels_last).div_(127.5).sub_(1.0)
        loss = nn.functional.cross_entropy(model(inside), right)
        loss.backward()
        optimizer.step()
        usual.lerp_(loss.detach(), SLOW)

    @torch.no_grad()
    def write_log():
        """How long each gradient is, and each array of weights."""
        for number, (weight, gradient_long, weight_long) in enumerate(places):
            torch.linalg.vector_norm(weight.grad, out=gradient_long)
            torch.linalg.vector_norm(weight, out=weight_long)
            if variant != "fix":
                log[number] = gradient_long.item() / (weight_long.item() + TINY)  # cause: wait,copy

    seen.copy_(batches[0][0])
    right.copy_(batches[0][1])
    if variant == "fix2":
        graph, _ = fixable.capture(torch, learn, before=clear)
    else:
        for _ in range(3):  # as many steps as before a graph is made
            clear()
            learn()

    def step():
        for place, part in zip((seen, right), batches[turn[0] % len(batches)]):
            place.copy_(part)
        if variant == "fix2":
            graph.replay()
        else:
            clear()
            learn()
        write_log()  # cause: wait,copy
        turn[0] += 1
        if turn[0] % SHOWN == 0:
            gradients, sizes = (lengths if landing is None else landing.copy_(lengths)).tolist()
            shown[:] = [gradient / (size + TINY) for gradient, size in zip(gradients, sizes)]

    def values():
        """The loss, and how large the weights of the last layer have become."""
        return [usual.item(), float(lengths[1].mean()), float(weights[-2].detach().norm())]

    return fixable.Work(step, torch.cuda.synchronize, values)


run.main(make)
