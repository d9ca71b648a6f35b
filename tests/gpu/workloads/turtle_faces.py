# SPDX-License-Identifier: Apache-2.0
"""PyTorch with transformers: sea turtles are known by the scales of their faces. Divers' photos of 48 turtles, 64 by 64 points,
go to a small vision transformer (ViT) that learns a vector of each face; the cosines to one vector of each turtle, less a
margin for the right one, go to the cross entropy (CosFace). A station learns from 16 photos at a time, as an island's computer
has done.

Wrong: model and photos are small, so that a step is hundreds of kernels of some microseconds, which Python launches one by one,
slower than they run.
fix: a whole step (forward, backward, clipping, AdamW) is one CUDA graph (launch-bound).
useless: the loss, which is read every 50 steps, comes to pinned memory.
"""
import fixable

run = fixable.Program(__doc__, steps=500, warm_up=12)
torch, transformers = fixable.load_torch("transformers")
F = torch.nn.functional

TURTLES, SIDE, TOGETHER, BATCHES, LAYERS, WIDE, SCALE, MARGIN, SHOWN = 48, 64, 16, 30, 6, 192, 16.0, 0.15, 50


def photos():
    """Photos, (BATCHES, TOGETHER, 3, SIDE, SIDE), and which turtle is on each: its own pattern of scales, in any light."""
    turtles = torch.randint(TURTLES, (BATCHES, TOGETHER), device="cuda")
    coarse = torch.rand(TURTLES, 1, 9, 9, device="cuda")
    scales = F.interpolate(coarse, size=(SIDE, SIDE), mode="bilinear", align_corners=False)
    seams = (scales - 0.5).abs().mul_(-14.0).exp_()
    light = 0.6 + 0.5 * torch.rand(BATCHES, TOGETHER, 1, 1, 1, device="cuda")
    colours = torch.tensor([0.5, 1.0, 0.9], device="cuda").view(3, 1, 1)  # of what is seen below water
    found = (seams[turtles] * 2.0 - 0.6) * light * colours
    return found + 0.3 * torch.randn(found.shape, device="cuda"), turtles


class Faces(torch.nn.Module):
    """A ViT and a vector of each turtle; gives the cosines between those and the vectors of the faces."""

    def __init__(self):
        super().__init__()
        config = transformers.ViTConfig(
            hidden_size=WIDE, num_hidden_layers=LAYERS, num_attention_heads=3, intermediate_size=2 * WIDE, image_size=SIDE,
            patch_size=8, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
        self.seen = transformers.ViTModel(config, add_pooling_layer=False)
        self.turtles = torch.nn.Parameter(torch.randn(TURTLES, WIDE))

    def forward(self, pictures):
        faces = self.seen(pixel_values=pictures).last_hidden_state[:, 0]
        return F.normalize(faces, dim=1) @ F.normalize(self.turtles, dim=1).t()


def make(variant):
    fixable.seed(torch)
    pictures, turtles = photos()
    model = Faces().cuda().train()
    weights = [w for w in model.parameters() if w.requires_grad]
    optimizer = torch.optim.AdamW(weights, lr=1e-4, weight_decay=0.05, capturable=True)
    picture, turtle = pictures[0].clone(), turtles[0].clone()
    usual, margins = torch.full((), 4.0, device="cuda"), MARGIN * torch.eye(TURTLES, device="cuda")
    landing = torch.zeros((), pin_memory=True) if variant == "useless" else None
    turn, curve = [0], []

    def clear():
        optimizer.zero_grad(set_to_none=True)

    def learn():
        """Learns from the photos in `picture`, and notes the loss."""
        cosines = model(picture)  # cause: launch
        margin = margins.index_select(0, turtle)  # cause: launch
        loss = F.cross_entropy(SCALE * (cosines - margin), turtle, label_smoothing=0.1)  # cause: launch
        loss.backward()  # cause: launch
        torch.nn.utils.clip_grad_norm_(weights, 1.0)  # cause: launch
        optimizer.step()  # cause: launch
        usual.lerp_(loss.detach(), 0.02)  # cause: launch

    if variant == "fix":
        graph, _ = fixable.capture(torch, learn, before=clear)
    else:
        for _ in range(3):  # as many steps as before a graph is made
            clear()
            learn()

    def shown():
        """The loss, for the curve on the station's screen."""
        if variant == "useless":
            landing.copy_(usual, non_blocking=True)
            torch.cuda.current_stream().synchronize()
            return landing.item()
        return usual.item()

    def step():
        number = turn[0] % BATCHES
        picture.copy_(pictures[number])
        turtle.copy_(turtles[number])
        if variant == "fix":
            graph.replay()
        else:
            clear()
            learn()  # cause: launch
        turn[0] += 1
        if turn[0] % SHOWN == 0:
            curve.append(shown())

    def values():
        """The loss, and how large the vectors of the turtles have become."""
        with torch.no_grad():
            return [float(usual), float(model.turtles.norm(dim=1).mean()), float(model.turtles.abs().mean())]

    return fixable.Work(step, torch.cuda.synchronize, values)


run.main(make)
