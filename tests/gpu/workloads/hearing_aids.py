# SPDX-License-Identifier: Apache-2.0
"""PyTorch: a maker of hearing aids tries a network that takes noise out of speech, on 128 ears at once. The sound comes in hops
of four milliseconds, as in the aid itself: filters that are learnt make 192 bands of the last eight milliseconds, two cells of
GRU say how much of each band is speech, and other filters make sound of it again, which a limiter keeps below what hurts. A
step is 32 hops; how far what is heard is from the speech is noted on the device.

Wrong: each hop is some forty kernels of two or three microseconds, launched one by one, and the GPU waits for the next one.
fix: the hops of a step are one CUDA graph with the same kernels (launch-bound).
useless: the notes, at which one looks every 50 steps, come to pinned memory.
"""
import fixable

run = fixable.Program(__doc__, steps=300, warm_up=6)
torch = fixable.load_torch()
nn = torch.nn

EARS, HOP, WINDOW, BANDS, STATE, HOPS, SETS = 128, 64, 128, 192, 160, 32, 8
RATE, LOUDEST, FALLS, LOOK = 16000.0, 0.25, 0.995, 50


def sounds():
    """Speech as it should be heard, with syllables and overtones, and what comes with noise, (SETS, EARS, HOPS * HOP) each."""
    moments = torch.arange(SETS * HOPS * HOP, device="cuda") / RATE
    pitch = 90.0 + 130.0 * torch.rand(EARS, 1, device="cuda")
    syllables = torch.sin(6.2832 * (2.5 + torch.rand(EARS, 1, device="cuda")) * moments).clamp(min=0.0)
    voice = sum(torch.sin(6.2832 * k * pitch * moments + k) / k for k in range(1, 9))
    speech = 0.15 * syllables * voice
    noisy = speech + 0.08 * torch.randn(EARS, moments.numel(), device="cuda")
    return [s.view(EARS, SETS, HOPS * HOP).transpose(0, 1).contiguous() for s in (speech, noisy)]


class Aid(nn.Module):
    """The network and what it remembers of the sound so far."""

    def __init__(self):
        super().__init__()
        self.encode = nn.Linear(WINDOW, BANDS, bias=False)
        self.norm = nn.LayerNorm(BANDS)
        self.fast, self.slow = nn.GRUCell(BANDS, STATE), nn.GRUCell(STATE, STATE)
        self.shares = nn.Linear(STATE, BANDS)
        self.decode = nn.Linear(BANDS, WINDOW, bias=False)
        for name, width in (("recent", WINDOW), ("fast_state", STATE), ("slow_state", STATE), ("tail", HOP), ("level", 1)):
            self.register_buffer(name, torch.zeros(EARS, width))

    def forget(self):
        for memory in self.buffers():
            memory.zero_()

    def hear(self, new):
        """The sound of a hop without noise, and which share of all bands is left."""
        recent = torch.cat((self.recent[:, HOP:], new), dim=1)  # cause: launch
        bands = torch.relu(self.encode(recent))  # cause: launch
        told = self.norm(torch.log1p(100.0 * bands))  # cause: launch
        fast = self.fast(told, self.fast_state)  # cause: launch
        slow = self.slow(fast, self.slow_state)  # cause: launch
        shares = torch.sigmoid(self.shares(slow))  # cause: launch
        clean = self.decode(bands * shares)  # cause: launch
        out = clean[:, :HOP] + self.tail  # cause: launch
        level = torch.maximum(self.level * FALLS, out.abs().amax(dim=1, keepdim=True))  # cause: launch
        out = out * (LOUDEST / (level + 1e-4)).clamp(max=1.0)  # cause: launch
        self.recent.copy_(recent)  # cause: launch
        self.fast_state.copy_(fast)  # cause: launch
        self.slow_state.copy_(slow)  # cause: launch
        self.tail.copy_(clean[:, HOP:])  # cause: launch
        self.level.copy_(level)  # cause: launch
        return out, shares.mean()  # cause: launch


@torch.no_grad()
def make(variant):
    fixable.seed(torch)
    speech, noisy = sounds()
    aid = Aid().cuda().eval()
    wanted, comes = torch.zeros_like(speech[0]), torch.zeros_like(noisy[0])
    notes = torch.zeros(2, device="cuda")  # how far off it is, and which share is left
    landing = torch.empty(2, pin_memory=True) if variant == "useless" else None
    turn, usual = [0], [0.0, 0.0]

    def hops():
        """What comes in a step, hop by hop."""
        for k in range(HOPS):
            part = slice(k * HOP, (k + 1) * HOP)
            heard, share = aid.hear(comes[:, part])  # cause: launch
            off = (heard - wanted[:, part]).square().mean().sqrt()  # cause: launch
            notes.mul_(0.999).add_(torch.stack((off, share)), alpha=0.001)  # cause: launch

    graph = None
    if variant == "fix":
        graph, _ = fixable.capture(torch, hops)
        aid.forget()
        notes.zero_()

    def look():
        if variant == "useless":
            landing.copy_(notes, non_blocking=True)
            torch.cuda.current_stream().synchronize()
            usual[:] = landing.tolist()
        else:
            usual[:] = notes.tolist()

    @torch.no_grad()
    def step():
        number = turn[0] % SETS
        turn[0] += 1
        wanted.copy_(speech[number])
        comes.copy_(noisy[number])
        if graph:
            graph.replay()
        else:
            hops()  # cause: launch
        if turn[0] % LOOK == 0:
            look()

    return fixable.Work(step, torch.cuda.synchronize, notes.tolist)


run.main(make)
