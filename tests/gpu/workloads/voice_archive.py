# SPDX-License-Identifier: Apache-2.0
"""PyTorch, Transformers: a broadcasting archive wants to know who speaks in its old programmes. Its recordings are cut into pieces
of ten seconds; a Wav2Vec2 of the usual size in bfloat16 listens to 24 of them at a time. A piece is described by the mean and the
spread of its frames, and compared with the 400 speakers whose voices are known; their tallies, and how like the best one is,
are kept.

Wrong: nothing; the host launches all of it in less time than the GPU takes (gpu-bound).
useless: a step is one CUDA graph.
"""
import fixable

run = fixable.Program(__doc__, steps=120, warm_up=6)
torch, transformers = fixable.load_torch("transformers")

RATE, SECONDS, PIECES, BATCHES, SPEAKERS, SHOWN, SLOW = 16000, 10, 24, 16, 400, 20, 0.05


def programmes():
    """Batches of recordings on the GPU, 16 bits a sample: voices with some overtones, and the noise of old tapes."""
    time = torch.arange(RATE * SECONDS, device="cuda") / RATE
    for _ in range(BATCHES):
        pitch = 90.0 + 150.0 * torch.rand(PIECES, 1, device="cuda")
        phase = 2.0 * torch.pi * (pitch * time + 3.0 * torch.sin(5.0 * time + pitch))
        sound = sum(torch.sin(overtone * phase) / overtone for overtone in range(1, 6))
        sound = sound * torch.sin(9.0 * time + 0.1 * pitch).clamp(min=0.0) + 0.1 * torch.randn_like(sound)
        yield (6000.0 * sound).clamp(-32767.0, 32767.0).to(torch.int16)


@torch.no_grad()
def make(variant):
    fixable.seed(torch)
    model = transformers.Wav2Vec2Model(transformers.Wav2Vec2Config()).to("cuda", torch.bfloat16).eval()
    known = torch.nn.functional.normalize(torch.randn(2 * model.config.hidden_size, SPEAKERS, device="cuda"), dim=0)
    batches = list(programmes())
    heard = torch.zeros(PIECES, RATE * SECONDS, dtype=torch.int16, device="cuda")
    usual, tallies = torch.zeros(1, device="cuda"), torch.zeros(SPEAKERS, device="cuda")
    turn, curve = [0], []

    def listen():
        """Who speaks in the pieces of `heard`."""
        sound = heard.float()
        spread, mean = torch.std_mean(sound, dim=1, keepdim=True)
        frames = model(((sound - mean) / spread).bfloat16()).last_hidden_state.float()
        spread, mean = torch.std_mean(frames, dim=1)
        alike = torch.nn.functional.normalize(torch.cat((mean, spread), dim=1), dim=1) @ known
        usual.lerp_(alike.amax(dim=1).mean().view(1), SLOW)
        tallies.lerp_(torch.softmax(20.0 * alike, dim=1).mean(dim=0), SLOW)

    heard.copy_(batches[0])
    if variant == "useless":
        graph, _ = fixable.capture(torch, listen)
    else:
        for _ in range(3):  # as many steps as before a graph is made
            listen()

    def step():
        heard.copy_(batches[turn[0] % BATCHES])
        if variant == "useless":
            graph.replay()
        else:
            with torch.no_grad():
                listen()
        turn[0] += 1
        if turn[0] % SHOWN == 0:
            curve.append(usual.item())

    def values():
        """How like the best speakers are, and how far the tallies differ."""
        return [usual.item(), float(tallies.sum()), float(tallies.std())]

    return fixable.Work(step, torch.cuda.synchronize, values)


run.main(make)
