# SPDX-License-Identifier: Apache-2.0
"""timm: only a new head is trained on the features of a frozen ResNet, whose parameters still ask for their gradients.

Wrong: the backward pass goes through the whole backbone for gradients that nobody uses; the GPU is at work throughout (gpu-bound).
fix: the features are computed under torch.no_grad() (gpu-bound).
fix2: the pictures are always the same: their features are computed once, before the loop (gpu-bound).
useless: the loss is read every 20 steps instead of at each one.
"""
import fixable

run = fixable.Program(__doc__, steps=160, warm_up=4)
torch, timm = fixable.load_torch("timm")
nn = torch.nn

BATCH, CLASSES, SETS, LOOK_EVERY = 64, 40, 4, 20


def make(variant):
    fixable.seed(torch)
    backbone = timm.create_model("resnet34", pretrained=False, num_classes=0).cuda().eval()
    head = nn.Sequential(nn.Linear(512, 256), nn.ReLU(), nn.Linear(256, CLASSES)).cuda().train()
    optimizer = torch.optim.SGD(head.parameters(), lr=0.01, momentum=0.9)
    loss_of = nn.CrossEntropyLoss()
    pictures = torch.randn(SETS, BATCH, 3, 224, 224, device="cuda")
    labels = torch.randint(0, CLASSES, (SETS, BATCH), device="cuda")
    turn, seen = [0], []

    def features_of(batch):
        if variant in ("fix", "fix2"):
            with torch.no_grad():
                return backbone(batch)
        return backbone(batch)

    kept = [features_of(batch) for batch in pictures] if variant == "fix2" else None

    def step():
        at = turn[0] % SETS
        turn[0] += 1
        features = kept[at] if kept else features_of(pictures[at])
        optimizer.zero_grad()
        loss = loss_of(head(features), labels[at])
        loss.backward()
        optimizer.step()
        if variant != "useless" or turn[0] % LOOK_EVERY == 0:
            seen[:] = [loss.item()]

    return fixable.Work(step, torch.cuda.synchronize, lambda: list(seen))


run.main(make)
