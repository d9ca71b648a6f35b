# SPDX-License-Identifier: Apache-2.0
"""PyTorch: the people in the villages of an online game remember what they have seen: each has a memory of 1024 numbers, which a
GRU cell turns into a new one by what happened near to it, and from which its moods come. Eight villages take turns, with 6144
people each; their memories lie in the host's memory, as they are part of the saved game, and go to the GPU and back.

Wrong: the memories are copied to and from ordinary (pageable) memory, slowly, and the host waits for each copy, while the GPU
computes nothing.
fix: the memories lie in pinned memory, and nothing waits for their copies (copy-bound).
fix2: the next village's memories come by another stream, while the GPU works on this one's (copy-bound).
useless: the memories come to an array on the GPU that is made once.
"""
import fixable

run = fixable.Program(__doc__, steps=300, warm_up=16)
torch = fixable.load_torch()

VILLAGES, PEOPLE, MEMORY, SEEN, MOODS, HAPPENINGS, SHOWN = 8, 6144, 1024, 256, 6, 5, 40


def networks():
    """The cell that remembers, and what tells moods (calm, glad, afraid, angry, tired, curious) from a memory."""
    return torch.nn.GRUCell(SEEN, MEMORY).cuda(), torch.nn.Linear(MEMORY, MOODS).cuda()


@torch.no_grad()
def make(variant):
    fixable.seed(torch)
    cell, moods = networks()
    seen = torch.randn(HAPPENINGS, PEOPLE, SEEN, device="cuda")
    memories = [0.1 * torch.randn(PEOPLE, MEMORY) for _ in range(VILLAGES)]
    if variant == "fix":
        memories = [memory.pin_memory() for memory in memories]
    usual = torch.zeros(MOODS, device="cuda")
    turn, curve = [0], []
    places = [torch.empty(PEOPLE, MEMORY, device="cuda") for _ in range({"fix2": 2, "useless": 1}.get(variant, 0))]
    other = torch.cuda.Stream() if variant == "fix2" else None
    if variant == "fix2":
        places[0].copy_(memories[0])

    def brought(village):
        """The memories of a village on the GPU."""
        if variant == "fix2":
            return places[turn[0] % 2]
        if variant == "useless":
            return places[0].copy_(memories[village])
        return memories[village].to("cuda", non_blocking=variant == "fix")  # cause: copy,wait

    def bring_next():
        """The next village's memories, behind the launches for this one."""
        with torch.cuda.stream(other):
            places[(turn[0] + 1) % 2].copy_(memories[(turn[0] + 1) % VILLAGES])

    @torch.no_grad()
    def step():
        village = turn[0] % VILLAGES
        new = cell(seen[turn[0] % HAPPENINGS], brought(village))  # cause: copy,wait
        felt = torch.tanh(moods(new)).mean(dim=0)
        usual.lerp_(felt, 0.02)
        if variant == "fix2":
            bring_next()
        memories[village].copy_(new, non_blocking=variant == "fix")  # cause: copy,wait
        turn[0] += 1
        if turn[0] % SHOWN == 0:
            curve.append(usual.tolist())

    def values():
        """The moods, and how much each village remembers."""
        return usual.tolist() + [float(memory.abs().mean()) for memory in memories]

    return fixable.Work(step, torch.cuda.synchronize, values)


run.main(make)
