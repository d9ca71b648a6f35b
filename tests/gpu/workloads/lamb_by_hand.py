# SPDX-License-Identifier: Apache-2.0
"""torchvision: a small RegNet is trained by LAMB, as one writes it from the paper: a loop over the parameters.

Wrong: a dozen short kernels for each of two hundred tensors, launched by Python.
fix: the same by torch._foreach_ functions, each of which takes all tensors (launch-bound).
fix2: the whole step, as it is, is one CUDA graph (launch-bound).
useless: set_to_none=False keeps the gradients' memory.
"""
import fixable

run = fixable.Program(__doc__, steps=120, warm_up=4)
torch, torchvision = fixable.load_torch("torchvision")

BATCH, SIZE, CLASSES, LEAST, MOST = 16, 112, 50, 0.01, 10.0


class Lamb(torch.optim.Optimizer):
    def __init__(self, parameters, lr=2e-3, betas=(0.9, 0.999), eps=1e-6, weight_decay=0.01):
        super().__init__(parameters, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay})
        for group in self.param_groups:
            for p in group["params"]:
                self.state[p] = {"mean": torch.zeros_like(p), "square": torch.zeros_like(p)}

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            beta1, beta2 = group["betas"]
            for p in group["params"]:
                mean, square = self.state[p]["mean"], self.state[p]["square"]
                mean.mul_(beta1).add_(p.grad, alpha=1.0 - beta1)  # cause: launch
                square.mul_(beta2).addcmul_(p.grad, p.grad, value=1.0 - beta2)  # cause: launch
                update = mean / (square.sqrt() + group["eps"])  # cause: launch
                update.add_(p, alpha=group["weight_decay"])  # cause: launch
                weight_norm, update_norm = p.norm(), update.norm()  # cause: launch
                trust = (weight_norm / (update_norm + group["eps"])).clamp(LEAST, MOST)  # cause: launch
                p.sub_(update * trust * group["lr"])  # cause: launch


class ForeachLamb(Lamb):
    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            beta1, beta2 = group["betas"]
            weights = group["params"]
            grads = [p.grad for p in weights]
            means, squares = ([self.state[p][name] for p in weights] for name in ("mean", "square"))
            torch._foreach_mul_(means, beta1)
            torch._foreach_add_(means, grads, alpha=1.0 - beta1)
            torch._foreach_mul_(squares, beta2)
            torch._foreach_addcmul_(squares, grads, grads, value=1.0 - beta2)
            below = torch._foreach_sqrt(squares)
            torch._foreach_add_(below, group["eps"])
            updates = torch._foreach_div(means, below)
            torch._foreach_add_(updates, weights, alpha=group["weight_decay"])
            weight_norms, update_norms = (torch.stack(torch._foreach_norm(each)) for each in (weights, updates))
            trust = (weight_norms / (update_norms + group["eps"])).clamp(LEAST, MOST) * -group["lr"]
            torch._foreach_mul_(updates, list(trust.unbind()))
            torch._foreach_add_(weights, updates)


def make(variant):
    fixable.seed(torch)
    model = torchvision.models.regnet_y_400mf(num_classes=CLASSES).cuda().train()
    optimizer = (ForeachLamb if variant == "fix" else Lamb)(model.parameters())
    loss_of = torch.nn.CrossEntropyLoss(label_smoothing=0.1)
    images = torch.randn(4, BATCH, 3, SIZE, SIZE, device="cuda")
    labels = torch.randint(0, CLASSES, (4, BATCH), device="cuda")
    static_x, static_y = images[0].clone(), labels[0].clone()
    turn, seen = [0], []

    def train(x, y):
        loss = loss_of(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    if variant == "fix2":
        graph, static_loss = fixable.capture(torch, lambda: train(static_x, static_y), before=optimizer.zero_grad)

    def step():
        at = turn[0] % 4
        turn[0] += 1
        if variant == "fix2":
            static_x.copy_(images[at])
            static_y.copy_(labels[at])
            graph.replay()
            loss = static_loss
        else:
            optimizer.zero_grad(set_to_none=variant != "useless")
            loss = train(images[at], labels[at])
        seen[:] = [loss.detach()]

    return fixable.Work(step, torch.cuda.synchronize, lambda: fixable.sample_of(torch, *seen))


run.main(make)
