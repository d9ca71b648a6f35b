# SPDX-License-Identifier: Apache-2.0
"""PyTorch: which energies neutrons leave in a chain of spins is told from two halves of the chain, each with 512 states, and
from what couples them: the method of Lanczos makes 40 pairs of numbers from one state, and a continued fraction makes the
spectrum of those.

Wrong: each of the two numbers of an iteration is read by .item(), as it is made, and the GPU runs dry before more comes.
fix: the numbers stay on the device, where states are multiplied by them; all are read once behind the last one (sync-bound).
fix2: an iteration is one CUDA graph, behind which its two numbers are read together (launch-bound).
useless: the products go to arrays that are made once.
"""
import fixable

run = fixable.Program(__doc__, steps=500, warm_up=12)
torch, numpy = fixable.load_torch("numpy")

STATES, TERMS, MOMENTA, ITERATIONS, ENERGIES, BLUR, TINY = 512, 5, 6, 40, 64, 0.1, 1e-6


def halves():
    """What acts on the left half, side by side (STATES, TERMS * STATES), and what acts on the right one, (TERMS, STATES, STATES):
    the energy of each half by itself, and three couplings of their ends."""
    def some(scale):
        one = torch.randn(STATES, STATES, device="cuda") * (scale / (2.0 * STATES) ** 0.5)
        return (one + one.T) * 0.5
    unity = torch.eye(STATES, device="cuda")
    left = [some(1.0), unity] + [some(0.6) for _ in range(TERMS - 2)]
    right = [unity, some(1.0)] + [some(0.6) for _ in range(TERMS - 2)]
    return torch.cat(left, dim=1), torch.stack(right)


def spectrum(numbers, at):
    """The continued fraction of pairs of numbers."""
    found = numpy.zeros(ENERGIES, dtype=numpy.complex64)
    for own, next_one in reversed(numbers):
        found = 1.0 / (at - own - (next_one * next_one) * found)
    return found.imag / -numpy.pi


@torch.no_grad()
def make(variant):
    fixable.seed(torch)
    left, right = halves()
    begins = torch.randn(MOMENTA, STATES, STATES, device="cuda")
    begins /= begins.flatten(1).norm(dim=1)[:, None, None]
    at = (numpy.linspace(-2.5, 2.5, ENERGIES) + 1j * BLUR).astype(numpy.complex64)
    parts = torch.empty(TERMS, STATES, STATES, device="cuda") if variant == "useless" else None
    whole = torch.empty(STATES, STATES, device="cuda") if variant == "useless" else None
    turn, usual = [0], [0.0, 0.0]

    def applied(state):
        """The energy's operator at work on a state of both halves."""
        states = state.expand(TERMS, STATES, STATES)
        if variant == "useless":
            torch.bmm(states, right, out=parts)
            return torch.mm(left, parts.view(TERMS * STATES, STATES), out=whole)
        return torch.mm(left, torch.bmm(states, right).view(TERMS * STATES, STATES))

    def read_each(state):
        before, link, numbers = torch.zeros_like(state), 0.0, []
        for _ in range(ITERATIONS):
            new = applied(state)
            own = torch.dot(new.view(-1), state.reshape(-1)).item()  # cause: wait,copy
            new.add_(state, alpha=-own).add_(before, alpha=-link)
            link = torch.linalg.vector_norm(new).item()  # cause: wait,copy
            numbers.append((own, link))
            if link < TINY:
                break
            before, state = state, new / link
        return numbers

    def read_once(state):
        before, link, numbers = torch.zeros_like(state), torch.zeros((), device="cuda"), []
        for _ in range(ITERATIONS):
            new = applied(state)
            own = torch.dot(new.view(-1), state.reshape(-1))
            new.addcmul_(state, own, value=-1.0).addcmul_(before, link, value=-1.0)
            link = torch.linalg.vector_norm(new)
            numbers += [own, link]
            before, state = state, new / link
        return torch.stack(numbers).view(ITERATIONS, 2).tolist()

    now, last, both = begins[0].clone(), torch.zeros(STATES, STATES, device="cuda"), torch.zeros(2, device="cuda")

    def iteration():
        """One iteration in place, from `now` and `last` and the numbers in `both`."""
        new = applied(now)
        own = torch.dot(new.view(-1), now.view(-1))
        new.addcmul_(now, own, value=-1.0).addcmul_(last, both[1], value=-1.0)
        link = torch.linalg.vector_norm(new)
        last.copy_(now)
        torch.div(new, link, out=now)
        torch.stack((own, link), out=both)

    if variant == "fix2":
        graph, _ = fixable.capture(torch, iteration)

    def replayed(state):
        now.copy_(state)
        last.zero_()
        both.zero_()
        numbers = []
        for _ in range(ITERATIONS):
            graph.replay()
            numbers.append(both.tolist())
            if numbers[-1][1] < TINY:
                break
        return numbers

    lanczos = {"fix": read_once, "fix2": replayed}.get(variant, read_each)

    @torch.no_grad()
    def step():
        numbers = lanczos(begins[turn[0] % MOMENTA])  # cause: wait,copy
        turn[0] += 1
        heights = spectrum(numbers, at)
        usual[0] += 0.02 * (float(heights.max()) - usual[0])
        usual[1] += 0.02 * (float(heights[:ENERGIES // 3].mean()) - usual[1])

    return fixable.Work(step, torch.cuda.synchronize, lambda: list(usual))


run.main(make)
