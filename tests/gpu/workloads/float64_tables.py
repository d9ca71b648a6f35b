# SPDX-License-Identifier: Apache-2.0
"""PyTorch: a network on tables of NumPy, which are float64; each goes to the GPU as it is, and becomes float32 there.

Wrong: twice the bytes, from pageable memory: the host is held up and the GPU waits for each table.
fix: the tables lie in pinned memory, and are copied with non_blocking=True (copy-bound).
fix2: the same, as float32 (copy-bound).
useless: the table goes to a tensor that is allocated once.
"""
import fixable

run = fixable.Program(__doc__, steps=300, warm_up=8)
torch, numpy = fixable.load_torch("numpy")
nn = torch.nn

TABLES, ROWS, COLUMNS, WIDTH = 6, 12288, 512, 1024


def make(variant):
    fixable.seed(torch)
    torch.set_float32_matmul_precision("high")
    random = numpy.random.default_rng(20)
    tables = [random.standard_normal((ROWS, COLUMNS)) for _ in range(TABLES)]
    goals = [table[:, :8].mean(axis=1, keepdims=True) for table in tables]
    ready = []
    if variant in ("fix", "fix2"):
        kind = torch.float64 if variant == "fix" else torch.float32
        ready = [(torch.from_numpy(t).to(kind).pin_memory(), torch.from_numpy(g).to(kind).pin_memory())
                 for t, g in zip(tables, goals)]
    static_x = torch.empty(ROWS, COLUMNS, dtype=torch.float64, device="cuda")
    static_y = torch.empty(ROWS, 1, dtype=torch.float64, device="cuda")
    model = nn.Sequential(nn.Linear(COLUMNS, WIDTH), nn.SiLU(), nn.Linear(WIDTH, WIDTH), nn.SiLU(), nn.Linear(WIDTH, 1)).cuda()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    turn, seen = [0], []

    def table(at):
        if ready:
            x, y = (t.to("cuda", non_blocking=True) for t in ready[at])
        elif variant == "useless":
            x, y = static_x.copy_(torch.from_numpy(tables[at])), static_y.copy_(torch.from_numpy(goals[at]))
        else:
            x, y = torch.as_tensor(tables[at], device="cuda"), torch.as_tensor(goals[at], device="cuda")  # cause: copy
        return x.float(), y.float()

    def step():
        x, y = table(turn[0] % TABLES)
        turn[0] += 1
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        seen[:] = [loss.detach()]

    return fixable.Work(step, torch.cuda.synchronize, lambda: fixable.sample_of(torch, *seen))


run.main(make)
