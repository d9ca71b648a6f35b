# SPDX-License-Identifier: Apache-2.0
"""PyTorch: sounds are taken apart into a few out of 49,152 short tones by orthogonal matching pursuit: that which fits best is
looked for, made orthogonal to those before, and taken away, and so on.

Wrong: which tone fits best is read by .item(), since it names the row to take, and so is how much of it there is, and how much is
left, to stop when it is little; after each of them the GPU has nothing to do until Python has launched something new.
fix: the row is taken by index_select, and what would come after the end is multiplied by zero, on the device (sync-bound).
fix2: what is done between two reads is a CUDA graph; the reads stay (launch-bound).
useless: how well the tones fit is written to a vector that is allocated once.
"""
import fixable

run = fixable.Program(__doc__, steps=240, warm_up=4)
torch = fixable.load_torch()

TONES, LENGTH, MOST, SOUNDS, IN_SOUND, NOISE, ENOUGH, LOOK_EVERY = 49152, 4096, 28, 6, 48, 0.2, 0.05, 20


def dictionary():
    """Tones of all lengths and heights, at all places, each of length one."""
    time = torch.arange(LENGTH, device="cuda", dtype=torch.float32)
    place, width, height, phase = torch.rand(4, TONES, 1, device="cuda")
    time = time - LENGTH * place
    tones = torch.exp(-(time / (40.0 + 600.0 * width)).square()) * torch.cos((0.02 + 1.5 * height) * time + 6.2832 * phase)
    return tones.div_(torch.linalg.vector_norm(tones, dim=1, keepdim=True))


@torch.no_grad()
def make(variant):
    fixable.seed(torch)
    tones = dictionary()
    sounds = []
    for _ in range(SOUNDS):
        chosen = tones[torch.randint(0, TONES, (IN_SOUND,), device="cuda")]
        sound = (chosen * torch.rand(IN_SOUND, 1, device="cuda")).sum(dim=0)
        sounds.append(sound / sound.norm() + NOISE * torch.randn(LENGTH, device="cuda") / LENGTH ** 0.5)
    left, basis, tone = sounds[0].clone(), torch.zeros(MOST, LENGTH, device="cuda"), tones[0].clone()
    place = torch.empty(TONES, device="cuda") if variant == "useless" else None
    turn, rows, seen = [0], [], []

    def fitting():
        return torch.mv(tones, left, out=place).abs().argmax()

    def straight(row, number):
        """A tone without what it shares with those before it, and how much of it is in what is left."""
        new = torch.addmv(row, basis.t(), torch.mv(basis, row), alpha=-1.0)
        new = new / torch.linalg.vector_norm(new).clamp(min=1e-6)
        basis[number].copy_(new)
        return new, (new * left).sum()

    def without(new, part):
        """Takes that away; the size of the rest."""
        left.sub_(part * new)
        return torch.linalg.vector_norm(left)

    def with_reads():
        found = []
        for number in range(MOST):
            best = fitting().item()  # cause: wait
            new, part = straight(tones[best], number)
            found.append((best, part.item()))  # cause: wait
            if without(new, found[-1][1]).item() < ENOUGH:  # cause: wait
                break
        return found

    def with_graphs():
        found = []
        for first, part, second, size in graphs:
            fits.replay()
            best = best_there.item()
            tone.copy_(tones[best])
            first.replay()
            found.append((best, part.item()))
            second.replay()
            if size.item() < ENOUGH:
                break
        return found

    def without_reads():
        found, going = [], 1.0
        for number in range(MOST):
            best = fitting().view(1)
            new, part = straight(tones.index_select(0, best)[0], number)
            found.append((best, part * going))
            going = without(new, found[-1][1]) >= ENOUGH
        return found

    if variant == "fix2":
        (fits, best_there), graphs = fixable.capture(torch, fitting), []
        for number in range(MOST):
            first, (new, part) = fixable.capture(torch, lambda number=number: straight(tone, number))
            second, size = fixable.capture(torch, lambda new=new, part=part: without(new, part))
            graphs.append((first, part, second, size))
    apart = {"fix": without_reads, "fix2": with_graphs}.get(variant, with_reads)

    @torch.no_grad()
    def step():
        left.copy_(sounds[turn[0] % SOUNDS])
        basis.zero_()
        turn[0] += 1
        rows[:] = apart()
        if turn[0] % LOOK_EVERY == 0:
            seen[:] = torch.stack([part for _, part in rows]).tolist() if variant == "fix" else [part for _, part in rows]

    return fixable.Work(step, torch.cuda.synchronize, lambda: fixable.sample_of(torch, left.abs().view(64, -1).mean(dim=1)))


run.main(make)
