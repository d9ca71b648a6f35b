# SPDX-License-Identifier: Apache-2.0
"""PyTorch, training steps of a small convolution network: forward and backward run in different threads."""
import common

run = common.Run(__doc__, iterations=40)
torch = common.torch_on_gpu()
nn = torch.nn

model = nn.Sequential(nn.Conv2d(3, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
                      nn.Conv2d(32, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU(), nn.Flatten(),
                      nn.Linear(64 * 16 * 16, 10)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
loss_of = nn.CrossEntropyLoss()
images = torch.randn(32, 3, 32, 32).cuda()
labels = torch.randint(0, 10, (32,)).cuda()


def step():
    optimizer.zero_grad()
    loss = loss_of(model(images), labels)
    loss.backward()
    optimizer.step()


run.steady(step, torch.cuda.synchronize, warm_up=5)
run.finish(common.torch_bytes(torch, *[p for p in model.parameters()]))
