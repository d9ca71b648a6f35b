# SPDX-License-Identifier: Apache-2.0
"""timm: a small MobileNet with an exponential moving average of its weights, kept by timm's ModelEmaV2.

Wrong: the average is four launches for each of some hundreds of tensors, at each step.
fix: ModelEmaV3, which hands all tensors to one foreach call (launch-bound).
fix2: the same, and the whole step is one CUDA graph (launch-bound).
useless: set_to_none=False keeps the gradients' memory.
"""
import fixable

run = fixable.Program(__doc__, steps=120, warm_up=5)
torch, timm, utils = fixable.load_torch("timm", "timm.utils")
nn = torch.nn

BATCH, SIZE, CLASSES, DECAY = 32, 128, 100, 0.99


def make(variant):
    fixable.seed(torch)
    model = timm.create_model("mobilenetv3_small_100", pretrained=False, num_classes=CLASSES).cuda().train()
    average = (utils.ModelEmaV3 if variant in ("fix", "fix2") else utils.ModelEmaV2)(model, decay=DECAY)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    loss_of = nn.CrossEntropyLoss()
    images = torch.randn(4, BATCH, 3, SIZE, SIZE, device="cuda")
    labels = torch.randint(0, CLASSES, (4, BATCH), device="cuda")
    static_x, static_y = images[0].clone(), labels[0].clone()
    turn = [0]

    def train(x, y):
        loss = loss_of(model(x), y)
        loss.backward()
        optimizer.step()
        average.update(model)  # cause: launch
        return loss

    if variant == "fix2":
        graph, _ = fixable.capture(torch, lambda: train(static_x, static_y), before=optimizer.zero_grad)

    def step():
        at = turn[0] % 4
        turn[0] += 1
        if variant == "fix2":
            static_x.copy_(images[at])
            static_y.copy_(labels[at])
            graph.replay()
        else:
            optimizer.zero_grad(set_to_none=variant != "useless")
            train(images[at], labels[at])

    return fixable.Work(step, torch.cuda.synchronize,
                        lambda: fixable.sample_of(torch, average.module.get_classifier().weight.abs()))


run.main(make)
