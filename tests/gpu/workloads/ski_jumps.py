# SPDX-License-Identifier: Apache-2.0
"""PyTorch: how far a ski jumper will fly is told from how body and skis are held: cameras give 24 points in space, 128 times from
the edge of the ramp on, and a transformer learns the length of the jump from 192 jumps at once, and besides where the points are
at the next moment, so that it knows how bodies move.

Wrong: nothing; the GPU is busy with products of matrices in bfloat16 all the time (gpu-bound).
useless: the loss is read by the host behind the last jump only.
"""
import fixable

run = fixable.Program(__doc__, steps=150, warm_up=10)
torch, functional = fixable.load_torch("torch.nn.functional")

JUMPS, MOMENTS, POINTS, SETS, READ_EACH = 192, 128, 24, 4, 20
WIDE, HEADS, HIDDEN, LAYERS = 768, 12, 3072, 6


def jumps():
    """Points in space by their distance from the hip, (SETS, JUMPS, MOMENTS, POINTS * 3), and how far the jumps went (a hundred
    metres and so many tens)."""
    base = torch.randn(POINTS * 3, device="cuda") * 0.5
    style = torch.randn(SETS, JUMPS, 1, 4, device="cuda")
    ways = torch.randn(4, POINTS * 3, device="cuda") * 0.2
    moments = torch.linspace(0.0, 3.0, MOMENTS, device="cuda")
    swing = torch.stack((moments.sin(), (2.0 * moments).cos(), moments / 3.0, torch.ones_like(moments)), dim=1)
    points = base + (style * swing) @ ways + 0.03 * torch.randn(SETS, JUMPS, MOMENTS, POINTS * 3, device="cuda")
    far = 2.0 + 0.6 * style[:, :, 0, 0] - 0.4 * style[:, :, 0, 2] + 0.5 * torch.randn(SETS, JUMPS, device="cuda")
    return points, far


class Judge(torch.nn.Module):
    """The length of a jump, and the points at each next moment."""

    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(POINTS * 3, WIDE)
        self.moment = torch.nn.Parameter(0.02 * torch.randn(MOMENTS, WIDE))
        layer = torch.nn.TransformerEncoderLayer(WIDE, HEADS, HIDDEN, dropout=0.0, activation="gelu", batch_first=True,
                                                 norm_first=True)
        self.body = torch.nn.TransformerEncoder(layer, LAYERS, norm=torch.nn.LayerNorm(WIDE), enable_nested_tensor=False)
        self.far, self.next = torch.nn.Linear(WIDE, 1), torch.nn.Linear(WIDE, POINTS * 3)

    def forward(self, points):
        x = self.body(self.first(points) + self.moment)
        return self.far(x.mean(dim=1))[:, 0], self.next(x[:, :-1])


def make(variant):
    fixable.seed(torch)
    model = Judge().cuda()
    points, far = jumps()
    adam = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    usual, turn, told = torch.ones((), device="cuda"), [0], []

    def step():
        number = turn[0] % SETS
        turn[0] += 1
        adam.zero_grad(set_to_none=True)
        with torch.autocast("cuda", dtype=torch.bfloat16):
            length, following = model(points[number])
        loss = functional.smooth_l1_loss(length.float(), far[number])
        loss = loss + functional.mse_loss(following.float(), points[number, :, 1:])
        loss.backward()
        adam.step()
        usual.lerp_(loss.detach(), 0.02)
        if variant != "useless" and turn[0] % READ_EACH == 0:
            told[:] = [usual.item()]

    return fixable.Work(step, torch.cuda.synchronize, lambda: [usual.item()])


run.main(make)
