# SPDX-License-Identifier: Apache-2.0
"""PyTorch: how the sea's salt comes into the ground water under a coast where wells pump: salt spreads, and goes with the
water, in small steps of time. The ground is 240 by 256 by 384 cells here; that of the whole coast is too large for the GPU, so
it lies in pinned memory of the host, and goes through the GPU slab by slab, each with a bit of its neighbours.

Wrong: a slab comes, goes on in time, and goes back on one stream: no kernel runs while a copy does, and no two copies.
fix: copies there and copies back have streams of their own, and events tell what must be done before what (copy-bound).
fix2: a slab goes on by four steps of time before it goes back, with four neighbours instead of one (copy-bound).
useless: the wells are looked at every 20 steps instead of every 4.
"""
import fixable

LOOK_EVERY, LOOK_SELDOM = 4, 20

run = fixable.Program(__doc__, steps=130, warm_up=LOOK_SELDOM, multiple=LOOK_SELDOM)
torch = fixable.load_torch()

LAYERS, ROWS, COLUMNS, SLABS, TIMES, SPREADS, SEA, WELLS = 240, 256, 384, 6, 4, 0.08, 35.0, 6
DEEP, PLACES = LAYERS // SLABS, 3  # one that comes, one that goes on in time, and one that goes back
INNER = slice(1, -1)


def ground():
    """Where salt is at first, in pinned memory, and how fast water goes along the columns, (ROWS, COLUMNS)."""
    along = torch.linspace(0.0, 1.0, COLUMNS, device="cuda")
    down = torch.linspace(0.0, 1.0, ROWS, device="cuda")[:, None]
    layers = torch.linspace(0.0, 6.0, LAYERS, device="cuda")[:, None, None]
    front = 0.3 + 0.2 * down + 0.05 * layers.sin()
    salt = SEA * torch.sigmoid(40.0 * (front - along)) + 0.2 * torch.rand(LAYERS, ROWS, COLUMNS, device="cuda")
    pinned = torch.empty(LAYERS, ROWS, COLUMNS, pin_memory=True)
    water = 0.04 * (0.3 + down) * (1.0 - 0.8 * along) + 0.01 * torch.rand(ROWS, COLUMNS, device="cuda")
    return pinned.copy_(salt), water


@torch.no_grad()
def make(variant):
    fixable.seed(torch)
    now, water = ground()
    then = torch.empty(LAYERS, ROWS, COLUMNS, pin_memory=True).copy_(now)
    sides = [now, then]
    water = (0.5 * water)[INNER, INNER].contiguous()
    at_once = TIMES if variant == "fix2" else 1  # steps of time between there and back
    main = torch.cuda.current_stream()
    there, back = (torch.cuda.Stream(), torch.cuda.Stream()) if variant == "fix" else (main, main)
    places = [torch.empty(DEEP + 2 * at_once, ROWS, COLUMNS, device="cuda") for _ in range(PLACES)]
    came, done = [[torch.cuda.Event() for _ in range(PLACES)] for _ in range(2)]
    gone = [torch.cuda.Event() for _ in range(SLABS)]
    look_every, turn, told = LOOK_SELDOM if variant == "useless" else LOOK_EVERY, [0], [0.0] * WELLS

    def advance(salt):
        """A step of time for all that is not at an edge; what is wrong at a slab's edge goes one layer on by that."""
        middle, after, before = salt[INNER, INNER, INNER], salt[INNER, INNER, 2:], salt[INNER, INNER, :-2]
        around = salt[2:, INNER, INNER] + salt[:-2, INNER, INNER]
        around += salt[INNER, 2:, INNER]
        around += salt[INNER, :-2, INNER]
        around += after
        around += before
        around.add_(middle, alpha=-6.0)
        drift = after - before
        middle.add_(around, alpha=SPREADS)
        middle.addcmul_(drift, water, value=-1.0)

    def bring(slab, old):
        """A slab and its neighbours, and where its own first layer is."""
        first, last = max(0, slab * DEEP - at_once), min(LAYERS, (slab + 1) * DEEP + at_once)
        place = places[slab % PLACES][:last - first]
        with torch.cuda.stream(there):
            there.wait_event(gone[min(slab + 1, SLABS - 1)])  # of the pass before, which wrote what is read now
            there.wait_event(gone[(slab - PLACES) % SLABS])  # what lay in this place
            place.copy_(old[first:last], non_blocking=True)  # cause: copy
            came[slab % PLACES].record(there)
        return place, slab * DEEP - first

    def take_back(slab, place, skip, new):
        with torch.cuda.stream(back):
            back.wait_event(done[slab % PLACES])
            new[slab * DEEP:(slab + 1) * DEEP].copy_(place[skip:skip + DEEP], non_blocking=True)  # cause: copy
            gone[slab].record(back)

    def go_through():
        """All slabs, from one side of the host's memory to the other one."""
        old, new = sides
        for slab in range(SLABS):
            place, skip = bring(slab, old)  # cause: copy
            main.wait_event(came[slab % PLACES])
            for _ in range(at_once):
                advance(place)
            done[slab % PLACES].record(main)
            take_back(slab, place, skip, new)  # cause: copy
        sides.reverse()

    @torch.no_grad()
    def step():
        for _ in range(TIMES // at_once):
            go_through()  # cause: copy
        turn[0] += 1
        if turn[0] % look_every == 0:
            gone[-1].synchronize()
            told[:] = sides[0][::LAYERS // WELLS, ROWS // 2, COLUMNS // 2].tolist()[:WELLS]

    return fixable.Work(step, torch.cuda.synchronize, lambda: list(told))


run.main(make)
