# SPDX-License-Identifier: Apache-2.0
"""timm: an MLP-Mixer is trained in float32, as PyTorch does it without being asked: no tensor core takes part in a matrix product.

Wrong: nothing on the host: the GPU computes throughout, in the slowest way there is (gpu-bound).
fix: autocast to bfloat16 (gpu-bound).
useless: fused=True for the optimizer.
"""
import fixable

run = fixable.Program(__doc__, steps=55, warm_up=2)
torch, timm = fixable.load_torch("timm")

BATCH, CLASSES, LOOK_EVERY = 32, 100, 10


def make(variant):
    fixable.seed(torch)
    model = timm.create_model("mixer_b16_224", pretrained=False, num_classes=CLASSES).cuda().train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.05, fused=True if variant == "useless" else None)
    loss_of = torch.nn.CrossEntropyLoss(label_smoothing=0.1)
    images = torch.randn(4, BATCH, 3, 224, 224, device="cuda")
    labels = torch.randint(0, CLASSES, (4, BATCH), device="cuda")
    turn, seen = [0], []

    def step():
        at = turn[0] % 4
        turn[0] += 1
        optimizer.zero_grad()
        with torch.autocast("cuda", torch.bfloat16, enabled=variant == "fix"):
            loss = loss_of(model(images[at]), labels[at])
        loss.backward()
        optimizer.step()
        if turn[0] % LOOK_EVERY == 0:
            seen[:] = [loss.item()]

    return fixable.Work(step, torch.cuda.synchronize, lambda: list(seen))


run.main(make)
