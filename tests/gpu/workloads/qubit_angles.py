# SPDX-License-Identifier: Apache-2.0
"""PyTorch: a circuit of twelve qubits is simulated, gate by gate, and its angles learn to make the energy of a chain of spins
small, as one tries out what shall run on a quantum computer later.

Wrong: each gate is a few kernels on 4096 numbers, with more on the way back, which Python launches slower than they run.
fix: circuit, gradients and optimizer are one CUDA graph (launch-bound).
useless: the energy is read every 250 steps instead of every 25.
"""
import fixable

run = fixable.Program(__doc__, steps=300, warm_up=8)
torch = fixable.load_torch()

QUBITS, LAYERS, FIELD = 12, 5, 0.8
STATES = 2 ** QUBITS


def signs():
    """(what the Z of each qubit gives in each state, the sign that the CZ gates along the chain give it)"""
    bits = torch.arange(STATES, device="cuda").unsqueeze(0) >> torch.arange(QUBITS - 1, -1, -1, device="cuda").unsqueeze(1) & 1
    pairs = (bits[:-1] & bits[1:]).sum(dim=0)
    return 1.0 - 2.0 * bits.float(), 1.0 - 2.0 * (pairs % 2).float()


def make(variant):
    fixable.seed(torch)
    spins, entangled = signs()
    bonds = (spins[:-1] * spins[1:]).sum(dim=0)
    nothing = torch.zeros(STATES, device="cuda")
    nothing[0] = 1.0
    angles = (0.3 * torch.randn(LAYERS, QUBITS, device="cuda")).requires_grad_()
    optimizer = torch.optim.Adam([angles], lr=0.02, capturable=variant == "fix")
    look_every = 250 if variant == "useless" else 25
    turn, last, told = [0], [], []

    def parts(state, qubit):
        return state.reshape(2 ** qubit, 2, -1)

    def circuit():
        c, s = torch.cos(angles / 2.0), torch.sin(angles / 2.0)  # cause: launch
        gates = torch.stack((c, -s, s, c), dim=-1).view(LAYERS, QUBITS, 2, 2)  # cause: launch
        state = nothing
        for layer in gates.unbind():
            for qubit, gate in enumerate(layer.unbind()):
                state = torch.einsum("ab,lbr->lar", gate, parts(state, qubit))  # cause: launch
            state = state.reshape(STATES) * entangled  # cause: launch
        return state

    def energy(state):
        """Neighbours like to point the same way, and the field pulls all of them aside."""
        found = -(state.square() * bonds).sum()  # cause: launch
        for qubit in range(QUBITS):
            part = parts(state, qubit)
            found = found - FIELD * (part * part.flip(1)).sum()  # cause: launch
        return found

    def learn():
        loss = energy(circuit())
        optimizer.zero_grad()
        loss.backward()  # cause: launch in pt_autograd
        optimizer.step()  # cause: launch
        return loss.detach()

    if variant == "fix":
        begin = angles.detach().clone()
        graph, reached = fixable.capture(torch, learn)
        with torch.no_grad():
            angles.copy_(begin)
            for part in optimizer.state[angles].values():
                part.zero_()

    def step():
        turn[0] += 1
        if variant == "fix":
            graph.replay()
            last[:] = [reached]
        else:
            last[:] = [learn()]
        if turn[0] % look_every == 0:
            told[:] = [last[0].item()]

    return fixable.Work(step, torch.cuda.synchronize, lambda: [last[0].item()])


run.main(make)
