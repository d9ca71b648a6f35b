# SPDX-License-Identifier: Apache-2.0
"""timm: parts on a conveyor belt are looked at by an EfficientNet, one picture after the other, as the camera takes them.

Wrong: some three hundred short kernels a picture, which Python launches slower than they run.
fix: what is done to a picture, the network included, is one CUDA graph (launch-bound).
useless: what the last pictures showed is read every 250 pictures instead of every 25.
"""
import fixable

run = fixable.Program(__doc__, steps=700, warm_up=12)
torch, timm = fixable.load_torch("timm")

KINDS, SIZE, PICTURES = 12, 224, 8


@torch.no_grad()
def make(variant):
    fixable.seed(torch)
    model = timm.create_model("efficientnet_b0", pretrained=False, num_classes=KINDS).cuda().eval()
    pictures = torch.randint(0, 256, (PICTURES, 1, 3, SIZE, SIZE), dtype=torch.uint8, device="cuda")
    middle = torch.tensor([0.485, 0.456, 0.406], device="cuda").view(1, 3, 1, 1)
    spread = torch.tensor([0.229, 0.224, 0.225], device="cuda").view(1, 3, 1, 1)
    shares, most = torch.full((KINDS,), 1.0 / KINDS, device="cuda"), torch.zeros(KINDS, device="cuda")
    taken = pictures[0].clone()
    look_every = 250 if variant == "useless" else 25
    turn, told = [0], []

    def look(picture):
        """Adds what a picture seems to show to the shares of the last ones."""
        x = (picture.float() / 255.0 - middle) / spread  # cause: launch
        chances = model(x).softmax(dim=1)[0]  # cause: launch
        shares.mul_(0.95).add_(chances, alpha=0.05)  # cause: launch
        most.copy_(torch.maximum(most, chances))  # cause: launch

    if variant == "fix":
        graph, _ = fixable.capture(torch, lambda: look(taken))

    @torch.no_grad()
    def step():
        picture = pictures[turn[0] % PICTURES]
        turn[0] += 1
        if variant == "fix":
            taken.copy_(picture)
            graph.replay()
        else:
            look(picture)
        if turn[0] % look_every == 0:
            told[:] = shares.tolist() + most.tolist()

    return fixable.Work(step, torch.cuda.synchronize, lambda: list(told))


run.main(make)
