# SPDX-License-Identifier: Apache-2.0
"""PyTorch: a small TransformerEncoder trained eagerly with Adam, four texts a batch; the loss is read every 20 steps.

Wrong: hundreds of short kernels a step, launched by Python.
fix: forward, backward and optimizer are one CUDA graph (launch-bound).
useless: set_to_none=False keeps the gradients' memory.
"""
import fixable

run = fixable.Program(__doc__, steps=400, warm_up=10, multiple=20)
torch = fixable.load_torch()
nn = torch.nn

BATCH, LENGTH, WIDTH, LAYERS, VOCABULARY = 4, 64, 256, 4, 1000


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, WIDTH)
        layer = nn.TransformerEncoderLayer(WIDTH, 4, 4 * WIDTH, dropout=0.0, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False)
        self.head = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, tokens):
        return self.head(self.layers(self.embed(tokens)))  # cause: launch


def make(variant):
    fixable.seed(torch)
    model = Model().cuda().train()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, capturable=variant == "fix")
    loss_of = nn.CrossEntropyLoss()
    texts = torch.randint(0, VOCABULARY, (8, BATCH, LENGTH), device="cuda")
    static_text = texts[0].clone()
    turn, logged = [0], []

    def train(text):
        loss = loss_of(model(text).flatten(0, 1), text.roll(-1, dims=1).flatten())  # cause: launch
        loss.backward()  # cause: launch in pt_autograd
        optimizer.step()  # cause: launch
        return loss

    if variant == "fix":
        graph, static_loss = fixable.capture(torch, lambda: train(static_text), before=optimizer.zero_grad)

    def step():
        turn[0] += 1
        text = texts[turn[0] % len(texts)]
        if variant == "fix":
            static_text.copy_(text)
            graph.replay()
            loss = static_loss
        else:
            optimizer.zero_grad(set_to_none=variant != "useless")
            loss = train(text)
        if turn[0] % 20 == 0:
            logged[:] = [loss.item()]

    return fixable.Work(step, torch.cuda.synchronize, lambda: list(logged))


run.main(make)
