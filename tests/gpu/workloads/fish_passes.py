# SPDX-License-Identifier: Apache-2.0
"""PyTorch: beside a weir there is a fish pass with a camera, and a small network of timm learns at night which of nine species
swam through it by day. Pictures are small and come in batches of 16, as in the example from which this was taken; a night's
pictures are on the GPU before. Every fifty steps the running loss goes to a diary.

Wrong: the network has many short layers for small pictures: some 700 kernels of two to four microseconds are launched one by
one in a step, and launching takes several times as long as they do.
fix: the step, from the picture to the new weights, is one CUDA graph (launch-bound).
useless: the running loss comes to pinned memory.
"""
import fixable

run = fixable.Program(__doc__, steps=300, warm_up=10)
torch, timm, losses, optimizers = fixable.load_torch("timm", "timm.loss", "timm.optim")

SPECIES, BATCH, SIDE, SETS, LOOK = 9, 16, 96, 32, 50


def night():
    """Batches of pictures in 8 bits, (BATCH, 3, SIDE, SIDE), and the species that men have seen in them."""
    looks = torch.rand(SPECIES, 3, SIDE // 8, SIDE // 8, device="cuda")
    looks = torch.nn.functional.interpolate(looks, size=(SIDE, SIDE), mode="bilinear", align_corners=False)
    for _ in range(SETS):
        kinds = torch.randint(0, SPECIES, (BATCH,), device="cuda")
        water = torch.rand(BATCH, 3, SIDE, SIDE, device="cuda")
        light = 0.7 + 0.3 * torch.rand(BATCH, 1, 1, 1, device="cuda")
        yield (255.0 * light * (0.45 * looks[kinds] + 0.55 * water)).to(torch.uint8), kinds


def make(variant):
    fixable.seed(torch)
    seen = list(night())
    model = timm.create_model("mobilenetv3_small_050", pretrained=False, num_classes=SPECIES).cuda().train()
    criterion = losses.LabelSmoothingCrossEntropy(smoothing=0.1)
    optimizer = optimizers.create_optimizer_v2(model, opt="momentum", lr=0.01, weight_decay=1e-4, momentum=0.9)
    mean = torch.tensor([110.0, 110.0, 110.0], device="cuda").view(1, 3, 1, 1)
    spread = torch.tensor([55.0, 55.0, 55.0], device="cuda").view(1, 3, 1, 1)
    frames = torch.empty(BATCH, 3, SIDE, SIDE, dtype=torch.uint8, device="cuda")
    kinds = torch.zeros(BATCH, dtype=torch.long, device="cuda")
    usual = torch.zeros((), device="cuda")
    landing = torch.empty((), pin_memory=True) if variant == "useless" else None
    turn, diary = [0], []

    def forget():
        optimizer.zero_grad(set_to_none=True)

    def update():
        """Learns from the batch that is in `frames` and `kinds`."""
        pictures = frames.float().sub_(mean).div_(spread)
        loss = criterion(model(pictures), kinds)  # cause: launch
        loss.backward()  # cause: launch
        torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0)  # cause: launch
        optimizer.step()  # cause: launch
        usual.lerp_(loss.detach(), 0.02)

    if variant == "fix":
        frames.copy_(seen[0][0])
        kinds.copy_(seen[0][1])
        begin = {name: tensor.clone() for name, tensor in model.state_dict().items()}
        graph, _ = fixable.capture(torch, update, forget)
        model.load_state_dict(begin)
        for state in optimizer.state.values():
            state["momentum_buffer"].zero_()
        usual.zero_()

    def read():
        if variant == "useless":
            landing.copy_(usual, non_blocking=True)
            torch.cuda.current_stream().synchronize()
            return landing.item()
        return usual.item()

    def step():
        pictures, species = seen[turn[0] % SETS]
        turn[0] += 1
        frames.copy_(pictures)
        kinds.copy_(species)
        if variant == "fix":
            graph.replay()
        else:
            forget()
            update()  # cause: launch
        if turn[0] % LOOK == 0:
            diary.append(read())

    return fixable.Work(step, torch.cuda.synchronize, lambda: [usual.item()])


run.main(make)
