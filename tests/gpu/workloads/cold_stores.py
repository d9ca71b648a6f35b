# SPDX-License-Identifier: Apache-2.0
"""PyTorch and transformers: cold stores for fish and fruit pay a price of power that changes by the hour, so they want to know a
day ahead how warm a hall will be, and what its machines will draw. A small PatchTST learns that from four days of six series
(air, door, power, brine, load and weather), hour by hour: forward, backward, clipping and AdamW are a step.

Wrong: the model is tiny, and a step is some two hundred kernels of two or three microseconds, which Python launches one by one.
fix: the whole step of training, from the forward pass to the optimizer, is one CUDA graph (launch-bound).
useless: the loss is not read every 50 steps, but kept on the device.
"""
import fixable

run = fixable.Program(__doc__, steps=1200, warm_up=20)
torch, numpy, transformers = fixable.load_torch("numpy", "transformers")

HOURS, SERIES, PAST, AHEAD, BATCH, PLANS, EVERY = 8760, 6, 96, 24, 48, 64, 50


def measured(random):
    """A year of six series, each of which has a mean of about zero and a spread of about one, (HOURS, SERIES)."""
    hour = numpy.arange(HOURS)
    day, year = 2.0 * numpy.pi * hour / 24.0, 2.0 * numpy.pi * hour / 8760.0
    weather = -numpy.cos(year) + 0.5 * numpy.sin(day - 2.0) + numpy.cumsum(random.normal(0.0, 0.02, HOURS))
    door = numpy.clip(numpy.sin(day - 1.5), 0.0, None) * (hour % 168 < 120) + random.normal(0.0, 0.1, HOURS)
    load = numpy.convolve(door, numpy.ones(36) / 18.0, mode="same")
    air, brine = numpy.zeros(HOURS), numpy.zeros(HOURS)
    for h in range(1, HOURS):
        brine[h] = 0.92 * brine[h - 1] - 0.3 * air[h - 1] + random.normal(0.0, 0.05)
        air[h] = 0.85 * air[h - 1] + 0.2 * door[h] + 0.1 * weather[h] + 0.15 * brine[h] + random.normal(0.0, 0.03)
    power = 0.6 * weather + 0.8 * load - 0.5 * brine + random.normal(0.0, 0.1, HOURS)
    series = numpy.stack((air, door, power, brine, load, weather), axis=1)
    return ((series - series.mean(axis=0)) / series.std(axis=0)).astype(numpy.float32)


def windows(random):
    """The hours of each batch's windows, one window behind the other, (PLANS, BATCH * (PAST + AHEAD))."""
    starts = random.integers(0, HOURS - PAST - AHEAD, (PLANS, BATCH, 1))
    return (starts + numpy.arange(PAST + AHEAD)).reshape(PLANS, -1)


def forecaster():
    return transformers.PatchTSTForPrediction(transformers.PatchTSTConfig(
        num_input_channels=SERIES, context_length=PAST, prediction_length=AHEAD, patch_length=16, patch_stride=8, d_model=64,
        num_attention_heads=4, num_hidden_layers=3, ffn_dim=128, norm_type="layernorm", pooling_type=None, loss="mse"))


def make(variant):
    fixable.seed(torch)
    random = numpy.random.default_rng(20)
    hours = torch.from_numpy(measured(random)).cuda()
    plans = torch.from_numpy(windows(random)).cuda()
    model = forecaster().cuda().train()
    weights = [w for w in model.parameters() if w.requires_grad]
    optimizer = torch.optim.AdamW(weights, lr=3e-4, weight_decay=0.01, fused=True, capturable=True)
    window = torch.zeros(BATCH * (PAST + AHEAD), SERIES, device="cuda")
    both = window.view(BATCH, PAST + AHEAD, SERIES)
    past, ahead = both[:, :PAST], both[:, PAST:]
    usual = torch.zeros((), device="cuda")
    turn, noted = [0], []

    def train():
        optimizer.zero_grad(set_to_none=True)
        loss = model(past_values=past, future_values=ahead).loss  # cause: launch
        loss.backward()  # cause: launch
        torch.nn.utils.clip_grad_norm_(weights, 1.0)  # cause: launch
        optimizer.step()  # cause: launch
        usual.lerp_(loss.detach(), 0.02)  # cause: launch

    def captured():
        """The graph of a step; weights and what the optimizer knows are as they were before."""
        before = [w.detach().clone() for w in weights]
        graph, _ = fixable.capture(torch, train)
        with torch.no_grad():
            for weight, old in zip(weights, before):
                weight.copy_(old)
            for known in optimizer.state.values():
                for number in known.values():
                    number.zero_()
            usual.zero_()
        return graph

    learn = captured().replay if variant == "fix" else train

    def step():
        torch.index_select(hours, 0, plans[turn[0] % PLANS], out=window)  # cause: launch
        turn[0] += 1
        learn()  # cause: launch
        if turn[0] % EVERY == 0:
            noted.append(usual.clone() if variant == "useless" else usual.item())

    return fixable.Work(step, torch.cuda.synchronize,
                        lambda: [usual.item(), model.head.projection.weight.abs().mean().item()])


run.main(make)
