# SPDX-License-Identifier: Apache-2.0
"""PyTorch: an inference server; four threads take requests from a queue and run the model on one request at a time.

Wrong: each request is a run of short kernels, and the threads take turns at launching them.
fix: each thread replays a CUDA graph of the model (launch-bound).
fix2: a thread takes up to 16 waiting requests as one batch (launch-bound).
useless: eight threads instead of four.
"""
import queue
import threading

import fixable

run = fixable.Program(__doc__, steps=3200, warm_up=160, multiple=16)
torch = fixable.load_torch()
nn = torch.nn

LENGTH, WIDTH, CLIENTS_AHEAD = 32, 256, 256


def make(variant):
    fixable.seed(torch)
    layer = nn.TransformerEncoderLayer(WIDTH, 4, 512, dropout=0.0, batch_first=True, norm_first=True)
    model = nn.Sequential(nn.TransformerEncoder(layer, 4, enable_nested_tensor=False), nn.Linear(WIDTH, 16)).cuda().train()
    requests = [torch.randn(LENGTH, WIDTH) for _ in range(32)]
    most = 16 if variant == "fix2" else 1
    waiting, answered = queue.Queue(maxsize=CLIENTS_AHEAD), threading.Semaphore(0)
    answers = {}

    class Served:
        """What a thread of the server has of its own."""

        def __init__(self):
            if variant == "fix":
                self.x = torch.zeros(1, LENGTH, WIDTH, device="cuda")
                with torch.no_grad():
                    self.graph, self.y = fixable.capture(torch, lambda: model(self.x))

        def answer(self, batch):
            with torch.no_grad():
                if variant == "fix":
                    self.x.copy_(batch)
                    self.graph.replay()
                    return self.y.cpu()
                return model(batch.cuda()).cpu()  # cause: launch

        def serve(self):
            while True:
                taken = [waiting.get()]
                while len(taken) < most:
                    try:
                        taken.append(waiting.get_nowait())
                    except queue.Empty:
                        break
                results = self.answer(torch.stack([requests[i % len(requests)] for i in taken]))
                for i, result in zip(taken, results):
                    answers[i % len(requests)] = result
                    answered.release()

    threads = 1 if variant == "fix2" else 8 if variant == "useless" else 4
    for served in [Served() for _ in range(threads)]:
        threading.Thread(target=served.serve, daemon=True).start()

    def loop(steps):
        for number in range(steps):
            waiting.put(number)
        for _ in range(steps):
            answered.acquire()

    return fixable.Work(loop=loop, wait=torch.cuda.synchronize, values=lambda: answers[0].reshape(-1).tolist())


run.main(make)
