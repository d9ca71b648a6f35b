# SPDX-License-Identifier: Apache-2.0
"""PyTorch: how much of its blood a heart pumps out at each beat (ejection fraction), from films of ultrasound: six clips of 16
pictures are taken from a patient's film at other moments of the beat, and a network of convolutions in space and in time
(R(2+1)D with 18 layers) tells the fraction from each; the mean and how much the clips differ are kept for the patient.

Wrong: nothing (gpu-bound); the convolutions keep the GPU busy all the time, and the host is far ahead of it.
fix: a step is one CUDA graph; it gains little (launch-bound).
useless: the patients' mean is read every 100 steps, not every 20.
"""
import fixable

run = fixable.Program(__doc__, steps=250, warm_up=10)
torch, video = fixable.load_torch("torchvision.models.video")

FILMS, FRAMES, SIZE, CLIPS, LENGTH, EVERY = 16, 96, 112, 6, 16, 2
MEAN, SPREAD = 70.0, 55.0


def films():
    """Pictures of beating hearts: a bright ring that gets wider and narrower, with speckles, (FILMS * FRAMES, SIZE, SIZE)."""
    along = torch.linspace(-1.0, 1.0, SIZE, device="cuda")
    far = torch.hypot(along[:, None] * 1.2, along)
    rest, pumped, beats = (low + (high - low) * torch.rand(FILMS, 1, device="cuda")
                           for low, high in ((0.45, 0.65), (0.15, 0.65), (2.0, 4.0)))
    time = torch.linspace(0.0, 6.2832, FRAMES, device="cuda")
    ring = rest * (1.0 - pumped * 0.25 * (1.0 - torch.cos(beats * time)))
    light = torch.exp(-((far - ring.reshape(-1, 1, 1)) / 0.09) ** 2)
    speckles = torch.rand(FILMS * FRAMES, SIZE, SIZE, device="cuda")
    return (255.0 * (0.15 + 0.85 * light) * (0.4 + 0.6 * speckles)).to(torch.uint8)


def used_to(network, clips):
    """Has the layers that normalise learn what the pictures are like."""
    for layer in network.modules():
        if isinstance(layer, torch.nn.BatchNorm3d):
            layer.momentum = None  # the mean of all
    network.train()
    for some in clips:
        network(some)
    return network.eval()


@torch.no_grad()
def make(variant):
    fixable.seed(torch)
    pictures = films()
    begins = torch.randint(0, FRAMES - EVERY * LENGTH, (FILMS, CLIPS, 1), device="cuda")
    begins += FRAMES * torch.arange(FILMS, device="cuda").view(FILMS, 1, 1)
    frames = begins + EVERY * torch.arange(LENGTH, device="cuda")
    network = video.r2plus1d_18(weights=None)
    network.fc = torch.nn.Linear(network.fc.in_features, 1)
    network.cuda()
    chosen, usual = frames[0].clone(), torch.zeros(2, device="cuda")
    turn, told, often = [0], [0.0, 0.0], 100 if variant == "useless" else 20

    def clips_at(index):
        grey = (pictures[index].float() - MEAN) / SPREAD
        return grey.unsqueeze(1).expand(-1, 3, -1, -1, -1)

    used_to(network, (clips_at(frames[film]) for film in (0, 5, 10)))

    @torch.no_grad()
    def measure():
        fraction = 100.0 * torch.sigmoid(network(clips_at(chosen))[:, 0])
        usual.mul_(0.98).add_(torch.stack((fraction.mean(), fraction.std())), alpha=0.02)

    one = measure
    if variant == "fix":
        graph, _ = fixable.capture(torch, measure)
        one = graph.replay
        usual.zero_()

    def step():
        chosen.copy_(frames[turn[0] % FILMS])
        turn[0] += 1
        one()
        if turn[0] % often == 0:
            told[:] = usual.tolist()

    return fixable.Work(step, torch.cuda.synchronize, usual.tolist)


run.main(make)
