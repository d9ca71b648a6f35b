# SPDX-License-Identifier: Apache-2.0
"""PyTorch Geometric: the weather of the next six hours is told by a network on a mesh around the globe, from that the next six
hours, and so on; what it tells for all points, 13 levels and 6 quantities goes to an archive on the host.

Wrong: .cpu() copies each forecast to new pageable memory, and only then the next one begins.
fix: a forecast comes to one of four places in pinned memory, and is waited for there (copy-bound).
fix2: a thread with a stream of its own takes the forecasts, by .cpu() as before, beside the next one's kernels (copy-bound).
fix3: a forecast's kernels are one CUDA graph (launch-bound).
useless: forecasts are written to two tensors on the device that are made once, in turns.
"""
import queue
import threading

import fixable

run = fixable.Program(__doc__, steps=500, warm_up=12)
torch, nets = fixable.load_torch("torch_geometric.nn")
nn = torch.nn

POINTS, NEAR, FIELDS, WIDTH, LAYERS, HOURS, KEPT, AHEAD = 40962, 8, 78, 128, 4, 4, 4, 2
STATIONS = [100, 9000, 20000, 31000, 40000]


def globe():
    """Points that lie on the sphere as seeds in a sunflower, and edges from each one's neighbours to it."""
    number = torch.arange(POINTS, device="cuda").float() + 0.5
    height, angle = 1.0 - 2.0 * number / POINTS, (2.399963 * number.double()).float()
    flat = (1.0 - height.square()).sqrt()
    points = torch.stack((flat * angle.cos(), flat * angle.sin(), height), dim=1)
    nearest = torch.cat([(part @ points.t()).topk(NEAR + 1, dim=1).indices[:, 1:] for part in points.split(2048)])
    to = torch.arange(POINTS, device="cuda").repeat_interleave(NEAR)
    return points, torch.stack((nearest.reshape(-1), to))


class Mesh(nn.Module):
    def __init__(self):
        super().__init__()
        self.into, self.out = nn.Linear(FIELDS + 4, WIDTH), nn.Linear(WIDTH, FIELDS)
        self.layers = nn.ModuleList(nets.GraphConv(WIDTH, WIDTH) for _ in range(LAYERS))
        self.norms = nn.ModuleList(nn.LayerNorm(WIDTH) for _ in range(LAYERS))

    def forward(self, state, known, edges, weights):
        x = self.into(torch.cat((state, known), dim=1))
        for layer, norm in zip(self.layers, self.norms):
            x = x + nn.functional.silu(norm(layer(x, edges, weights)))
        return self.out(x)


@torch.no_grad()
def make(variant):
    fixable.seed(torch)
    points, edges = globe()
    weights = torch.full((edges.shape[1],), 1.0 / NEAR, device="cuda")
    suns = torch.tensor([[1.0, 0.0, 0.2], [0.0, 1.0, 0.2], [-1.0, 0.0, 0.2], [0.0, -1.0, 0.2]], device="cuda")
    known = [torch.cat((points, (points @ sun).clamp(min=0.0)[:, None]), dim=1) for sun in suns]  # where it is, and the sunshine
    model = Mesh().cuda().eval()
    state = [torch.sin(3.0 * points @ torch.randn(3, FIELDS, device="cuda"))]
    places = [torch.empty(POINTS, FIELDS, pin_memory=True) for _ in range(KEPT)] if variant == "fix" else None
    rooms = [torch.empty(POINTS, FIELDS, device="cuda") for _ in range(2)] if variant == "useless" else None
    archive, turn, filed, failed = [None] * KEPT, [0], [0], []
    waiting, stream = queue.Queue(maxsize=AHEAD), torch.cuda.Stream()

    def forecast(now, shone):
        return torch.tanh(now + 0.2 * model(now, shone, edges, weights), out=rooms[turn[0] % 2] if rooms else None)

    def file(fields):
        archive[filed[0] % KEPT] = fields
        filed[0] += 1

    def write():
        while True:
            new, made = waiting.get()
            try:
                stream.wait_event(made)
                with torch.cuda.stream(stream):
                    file(new.cpu())
            except Exception as e:
                failed.append(e)
            del new
            waiting.task_done()

    if variant == "fix2":
        threading.Thread(target=write, name="archive", daemon=True).start()
    elif variant == "fix3":
        first, place = state[0].clone(), known[0].clone()
        graph, _ = fixable.capture(torch, lambda: state[0].copy_(forecast(state[0], place)))
        state[0].copy_(first)

    @torch.no_grad()
    def step():
        if failed:
            raise failed[0]
        shone = known[turn[0] % HOURS]
        if variant == "fix3":
            place.copy_(shone)
            graph.replay()
        else:
            state[0] = forecast(state[0], shone)
        turn[0] += 1
        if variant == "fix":
            fields = places[filed[0] % KEPT]
            fields.copy_(state[0], non_blocking=True)
            torch.cuda.current_stream().synchronize()
            file(fields)
        elif variant == "fix2":
            state[0].record_stream(stream)
            waiting.put((state[0], torch.cuda.current_stream().record_event()))
        else:
            file(state[0].cpu())  # cause: copy

    def wait():
        waiting.join()
        torch.cuda.synchronize()

    def values():
        last = archive[(filed[0] - 1) % KEPT]
        return last.abs().mean(dim=0).tolist() + last[STATIONS].abs().mean(dim=1).tolist()

    return fixable.Work(step, wait, values)


run.main(make)
