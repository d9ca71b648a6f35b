# SPDX-License-Identifier: Apache-2.0
"""PyTorch: measurements of machines that nobody has seen before are to be noticed: a network makes features of them, and how far
these are from each known kind is told by the Mahalanobis distance.

Wrong: the distances are written as in the formula, (x - m) C (x - m)^T, which compares each measurement with all the others;
only the diagonal of it is looked at. The GPU is at work throughout (gpu-bound).
fix: (x - m) C is multiplied by (x - m) number by number, and added up by rows (gpu-bound).
useless: the whole step is one CUDA graph.
"""
import fixable

run = fixable.Program(__doc__, steps=400, warm_up=6)
torch = fixable.load_torch()
nn = torch.nn

BATCH, SENSORS, WIDTH, KINDS, SETS, LOOK_EVERY = 12288, 512, 1024, 8, 4, 20


@torch.no_grad()
def make(variant):
    fixable.seed(torch)
    torch.set_float32_matmul_precision("high")
    model = nn.Sequential(nn.Linear(SENSORS, WIDTH), nn.GELU(), nn.Linear(WIDTH, WIDTH), nn.GELU(), nn.Linear(WIDTH, WIDTH))
    model = model.cuda().eval()
    typical = torch.randn(KINDS, SENSORS, device="cuda")
    means, inverses = [], []
    for kind in range(KINDS):  # what is known of each kind: the mean of its features, and the inverse of their covariance
        known = model(typical[kind] + torch.randn(4 * WIDTH, SENSORS, device="cuda"))
        means.append(known.mean(dim=0))
        spread = torch.cov(known.t())
        more = 0.1 * spread.diagonal().mean() * torch.eye(WIDTH, device="cuda")
        inverses.append(torch.linalg.inv(spread + more))
    measured = [typical[torch.randint(0, KINDS, (BATCH,), device="cuda")] + torch.randn(BATCH, SENSORS, device="cuda")
                for _ in range(SETS)]
    usual, strange = torch.zeros(KINDS, device="cuda"), torch.zeros((), device="cuda")
    turn, told = [0], []

    def look(batch):
        features, distances = model(batch), []
        for mean, inverse in zip(means, inverses):
            far = features - mean
            if variant == "fix":
                distances.append(((far @ inverse) * far).sum(dim=1))
            else:
                distances.append(torch.diagonal(far @ inverse @ far.t()).clone())
        nearest = torch.stack(distances).min(dim=0).values
        usual.mul_(0.9).add_(torch.stack(distances).mean(dim=1), alpha=0.1)
        strange.mul_(0.9).add_((nearest > 1.3 * nearest.mean()).float().mean(), alpha=0.1)

    if variant == "useless":
        place = measured[0].clone()
        graph, _ = fixable.capture(torch, lambda: look(place))
        usual.zero_()
        strange.zero_()

    @torch.no_grad()
    def step():
        batch = measured[turn[0] % SETS]
        turn[0] += 1
        if variant == "useless":
            place.copy_(batch)
            graph.replay()
        else:
            look(batch)
        if turn[0] % LOOK_EVERY == 0:
            told[:] = [strange.item()]

    return fixable.Work(step, torch.cuda.synchronize, lambda: usual.tolist())


run.main(make)
