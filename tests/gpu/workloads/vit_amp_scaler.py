# SPDX-License-Identifier: Apache-2.0
"""timm: ViT training with float16 autocast and a GradScaler, whose scale and whose loss are logged at each step.

Wrong: .item() and get_scale() wait for the GPU at each step, and only then the host augments the next batch.
fix: nothing is read at each step; the loss is read every 25 steps, and the fused optimizer looks at the scale on the device (sync-bound).
useless: set_to_none=False keeps the gradients' memory.
"""
import fixable

run = fixable.Program(__doc__, steps=150, warm_up=6)
torch, timm, numpy = fixable.load_torch("timm", "numpy")
nn = torch.nn

BATCH = 128


def make(variant):
    fixable.seed(torch)
    model = timm.create_model("vit_tiny_patch16_224", pretrained=False, num_classes=100).cuda().train()
    fixed = variant == "fix"
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True if fixed else None)
    scaler = torch.amp.GradScaler("cuda")
    loss_of = nn.CrossEntropyLoss()
    images = torch.randn(2, BATCH, 3, 224, 224, device="cuda")
    labels = torch.randint(0, 100, (2, BATCH), device="cuda")
    random = numpy.random.default_rng(20)
    logged, turn = [], [0]

    def mixing():
        """Weights of mixup and boxes of cutmix, on the host."""
        share = random.beta(0.8, 0.8, BATCH).astype(numpy.float32)
        boxes = random.integers(0, 224, (BATCH, 4))
        masks = numpy.zeros((BATCH, 112, 112), numpy.float32)
        for mask, (top, left, bottom, right) in zip(masks, boxes // 2):
            mask[min(top, bottom):max(top, bottom), min(left, right):max(left, right)] = 1.0
        return torch.from_numpy(share * masks.mean(axis=(1, 2)))

    def step():
        turn[0] += 1
        x, y = images[turn[0] % 2], labels[turn[0] % 2]
        share = mixing().pin_memory().to("cuda", non_blocking=True)
        x = x * share.view(-1, 1, 1, 1) + x.flip(0) * (1.0 - share).view(-1, 1, 1, 1)
        optimizer.zero_grad(set_to_none=variant != "useless")
        with torch.autocast("cuda", dtype=torch.float16):
            loss = loss_of(model(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)  # cause: wait
        scaler.update()  # cause: wait
        if not fixed:
            logged[:] = [loss.item(), scaler.get_scale()]  # cause: wait
        elif turn[0] % 25 == 0:
            logged[:] = [loss.item()]

    return fixable.Work(step, torch.cuda.synchronize, lambda: logged[:1])


run.main(make)
