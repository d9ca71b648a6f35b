# SPDX-License-Identifier: Apache-2.0
"""PyTorch: a small network learns to let a drone hover by evolution: 48 networks that differ a bit from the best one by now
fly from 256 starts each, and the best one goes on to where those were that flew well (evolution strategies).

Wrong: the networks fly one after the other, and each moment of a flight takes a dozen kernels for 256 drones.
fix: all networks fly at once, by products of batches of matrices (launch-bound).
fix2: the flights, one network after the other as before, are one CUDA graph (launch-bound).
useless: how well they flew is read into pinned memory.
"""
import fixable

run = fixable.Program(__doc__, steps=120, warm_up=6)
torch = fixable.load_torch()

NETWORKS, STARTS, MOMENTS, SEEN, HIDDEN, ROTORS, SPREAD, RATE, TIME = 48, 256, 6, 12, 64, 4, 0.05, 0.03, 0.05
SIZES = (SEEN * HIDDEN, HIDDEN, HIDDEN * ROTORS, ROTORS)


@torch.no_grad()
def make(variant):
    fixable.seed(torch)
    best = torch.cat([torch.randn(size, device="cuda") * scale for size, scale in zip(SIZES, (0.3, 0.0, 0.1, 0.0))])
    drift = torch.randn(SEEN, SEEN, device="cuda") * 0.3  # how a drone goes on by itself, and by its rotors
    push = torch.randn(ROTORS, SEEN, device="cuda")
    starts = torch.randn(STARTS, SEEN, device="cuda")
    landing = torch.zeros((), pin_memory=True) if variant == "useless" else None
    mean = [0.0]

    def parts(weights):
        """The matrices and biases of a network, or of many: (..., inputs, outputs) and (..., 1, outputs)."""
        first, bias, second, other = weights.split(SIZES, dim=-1)
        shape = weights.shape[:-1]
        return (first.reshape(*shape, SEEN, HIDDEN), bias.unsqueeze(-2), second.reshape(*shape, HIDDEN, ROTORS),
                other.unsqueeze(-2))

    def fly(weights):
        """How well a network flies, or each of many."""
        first, bias, second, other = parts(weights)
        state = starts.expand(*weights.shape[:-1], STARTS, SEEN)
        good = torch.zeros(weights.shape[:-1], device="cuda")  # cause: launch
        for _ in range(MOMENTS):
            hidden = torch.tanh(state @ first + bias)  # cause: launch
            rotors = torch.tanh(hidden @ second + other)  # cause: launch
            state = state + TIME * (torch.sin(state) @ drift + rotors @ push)  # cause: launch
            good = good - state.square().mean(dim=(-2, -1)) - 0.01 * rotors.square().mean(dim=(-2, -1))  # cause: launch
        return good

    def fly_all(networks):
        if variant == "fix":
            return fly(networks)
        return torch.stack([fly(weights) for weights in networks])  # cause: launch

    if variant == "fix2":
        place = best.expand(NETWORKS, -1).clone()
        graph, given = fixable.capture(torch, lambda: fly_all(place))

    @torch.no_grad()
    def step():
        half = torch.randn(NETWORKS // 2, sum(SIZES), device="cuda")
        noise = torch.cat((half, -half))
        networks = best + SPREAD * noise
        if variant == "fix2":
            place.copy_(networks)
            graph.replay()
            good = given
        else:
            good = fly_all(networks)  # cause: launch
        ranks = good.argsort().argsort().float() / (NETWORKS - 1) - 0.5
        best.add_(ranks @ noise, alpha=RATE / (NETWORKS * SPREAD))
        if variant == "useless":
            landing.copy_(good.mean(), non_blocking=True)
            torch.cuda.current_stream().synchronize()
            told = landing.item()
        else:
            told = good.mean().item()
        mean[0] += 0.05 * (told - mean[0])

    return fixable.Work(step, torch.cuda.synchronize, lambda: list(mean))


run.main(make)
