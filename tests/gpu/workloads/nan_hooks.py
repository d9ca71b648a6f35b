# SPDX-License-Identifier: Apache-2.0
"""timm: features of pictures by a ViT in half precision; a hook on each module raises where an output is not a number.

Wrong: each hook waits for the GPU, and the next module is launched only then.
fix: the hooks keep one flag on the device, which is read every 25 batches (sync-bound).
useless: inference_mode instead of no_grad.
"""
import fixable

run = fixable.Program(__doc__, steps=120, warm_up=4)
torch, timm = fixable.load_torch("timm")

BATCH, LOOK_EVERY = 128, 25


class Watch:
    """Looks at what each module gives."""

    def __init__(self, model, keep):
        self.bad, self.keep = torch.zeros((), dtype=torch.bool, device="cuda"), keep
        for name, module in model.named_modules():
            if not list(module.children()):
                module.register_forward_hook(self.hook(name))

    def hook(self, name):
        def look(module, inputs, output):
            found = torch.isnan(output).any()
            if self.keep:
                self.bad.logical_or_(found)
            elif found:  # cause: wait
                raise FloatingPointError("%s gives what is not a number" % name)
        return look

    def check(self):
        if self.bad.item():
            raise FloatingPointError("some module gives what is not a number")


def make(variant):
    fixable.seed(torch)
    model = timm.create_model("vit_base_patch16_224", pretrained=False, num_classes=0).to("cuda", torch.float16).eval()
    watch = Watch(model, keep=variant == "fix")
    pictures = torch.randn(4, BATCH, 3, 224, 224, device="cuda", dtype=torch.float16)
    context = torch.inference_mode if variant == "useless" else torch.no_grad
    turn, seen = [0], []

    def step():
        at = turn[0] % 4
        turn[0] += 1
        with context():
            seen[:] = [model(pictures[at])]
        if variant == "fix" and turn[0] % LOOK_EVERY == 0:
            watch.check()

    return fixable.Work(step, torch.cuda.synchronize, lambda: fixable.sample_of(torch, seen[0].abs()))


run.main(make)
