# SPDX-License-Identifier: Apache-2.0
"""PyTorch: aerodromes want to know an hour ahead whether there will be fog; a small network learns it from their hourly reports
(METAR), of which a step has nine for each of 128 cases: eight that it sees, and the one that it should foretell.

Wrong: Python reads the 1152 reports word by word, in several milliseconds, before the network gets them; the GPU waits for that.
fix: all reports are read before the loop (host-bound).
fix2: a step of the training is one CUDA graph of the same kernels (launch-bound).
useless: what was read goes to the GPU from pinned memory.
"""
import math
import re

import fixable

run = fixable.Program(__doc__, steps=400, warm_up=15)
torch, numpy = fixable.load_torch("numpy")

CASES, SEEN, SETS, KNOWN, TOLD, CODES = 128, 8, 12, 16, 25, ("FG", "BR", "RA", "DZ", "SN")
COVER = {"FEW": 0.2, "SCT": 0.45, "BKN": 0.75, "OVC": 1.0}
WIND = re.compile(r"(\d{3}|VRB)(\d{2})(?:G(\d{2}))?KT")
CLOUD = re.compile(r"(FEW|SCT|BKN|OVC)(\d{3})(CB|TCU)?")
HEAT = re.compile(r"(M?\d{2})/(M?\d{2})")
WEATHER = re.compile(r"(\+|-|VC)?(?:MI|BC|FZ|SH|TS)*((?:FG|BR|RA|DZ|SN)+)")


def degrees(number):
    return "%s%02d" % ("M" if number < 0 else "", abs(number))


def written(random, case, hour, wet, wind, mild):
    """A report as a station sends it."""
    sight = int(min(9999, max(50, 100 * round(90.0 * math.exp(-2.2 * wet) * (0.6 + 0.08 * wind)))))
    words = ["METAR", "ED%s%s" % (chr(65 + case % 26), chr(65 + case // 26)), "12%02d50Z" % (hour % 24)]
    if wind < 3:
        words.append("VRB%02dKT" % wind)
    else:
        gust = "G%02d" % (wind + 11) if random.random() < 0.15 else ""
        words.append("%03d%02d%sKT" % (10 * random.integers(1, 37), wind, gust))
    words.append("%04d" % sight)
    if sight < 1000:
        words.append("FZFG" if mild < 0 else "FG")
    elif sight < 5000:
        words += ["BR"] if random.random() < 0.6 else ["-DZ", "BR"]
    elif random.random() < 0.2:
        words.append("-SN" if mild < 1 else random.choice(["-RA", "SHRA", "+RA"]))
    for k in range(random.integers(1, 4)):
        words.append("%s%03d" % (random.choice(list(COVER)), 2 + int(30 * max(0.0, 1.4 - wet)) + 15 * k))
    words += ["%s/%s" % (degrees(mild), degrees(mild - int(6 * max(0.0, 1.5 - wet)))), "Q%04d" % random.integers(990, 1035)]
    return " ".join(words)


def archive():
    """Reports of sets of cases, hour by hour."""
    random = numpy.random.default_rng(20)
    for _ in range(SETS):
        texts = []
        for case in range(CASES):
            wet, wind, mild = random.uniform(0.0, 1.5), int(random.integers(0, 16)), int(random.integers(-6, 15))
            for hour in range(SEEN + 1):
                wet = min(2.5, max(0.0, wet + random.normal(0.05, 0.15)))
                texts.append(written(random, case, hour, wet, wind, mild))
        yield texts


def number_of(text):
    return -float(text[1:]) if text[0] == "M" else float(text)


def read(text):
    """The numbers of a report: wind, gusts, sight, weather, clouds, temperatures and pressure."""
    row = [0.0] * KNOWN
    lowest = 120.0
    for word in text.split()[3:]:
        if found := WIND.fullmatch(word):
            way, speed, gust = found.groups()
            row[2] = float(speed) / 10.0
            row[3] = float(gust or speed) / 10.0
            if way != "VRB":
                row[0] = row[2] * math.sin(math.radians(float(way)))
                row[1] = row[2] * math.cos(math.radians(float(way)))
        elif word.isdigit():
            row[4] = math.log(max(50.0, float(word)) / 2000.0)
        elif found := CLOUD.fullmatch(word):
            row[10] = max(row[10], COVER[found[1]])
            if COVER[found[1]] > 0.5:
                lowest = min(lowest, float(found[2]))
        elif found := HEAT.fullmatch(word):
            row[11], row[12] = number_of(found[1]) / 10.0, number_of(found[2]) / 10.0
            row[13] = row[11] - row[12]
        elif found := WEATHER.fullmatch(word):
            strength = {"-": 0.5, "+": 2.0}.get(found[1], 1.0)
            for k, code in enumerate(CODES):
                if code in found[2]:
                    row[5 + k] = strength
        elif word[0] == "Q":
            row[14] = (float(word[1:]) - 1013.0) / 10.0
    row[15] = math.log1p(lowest) / 3.0
    return row


def read_all(texts):
    return numpy.array([read(text) for text in texts], dtype=numpy.float32).reshape(CASES, SEEN + 1, KNOWN)  # cause: loader


def make(variant):
    fixable.seed(torch)
    nn, functional = torch.nn, torch.nn.functional
    net = nn.Sequential(nn.Conv1d(KNOWN, 64, 3, padding=1), nn.GELU(), nn.Conv1d(64, 64, 3, padding=1), nn.GELU(), nn.Flatten(),
                        nn.Linear(64 * SEEN, 128), nn.GELU(), nn.Linear(128, 2)).cuda()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    texts = list(archive())
    ready = [read_all(one) for one in texts] if variant == "fix" else None
    landing = torch.zeros(CASES, SEEN + 1, KNOWN, pin_memory=True) if variant == "useless" else None
    reports = torch.from_numpy(read_all(texts[0])).cuda()
    told, usual, turn = torch.zeros(2, device="cuda"), [0.0, 0.0], [0]

    def clear():
        optimizer.zero_grad(set_to_none=True)

    def train():
        seen, sight = reports[:, :SEEN].transpose(1, 2), reports[:, SEEN, 4]
        guess = net(seen)
        fog = functional.binary_cross_entropy_with_logits(guess[:, 0], (sight < -0.7).float())
        miss = functional.mse_loss(guess[:, 1], sight)
        (fog + miss).backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        told.lerp_(torch.stack((fog.detach(), miss.detach())), 0.05)

    if variant == "fix2":
        graph, _ = fixable.capture(torch, train, clear, 3)
    else:
        for _ in range(3):
            clear()
            train()

    def step():
        number = turn[0] % SETS
        numbers = ready[number] if variant == "fix" else read_all(texts[number])  # cause: loader
        if landing is not None:
            landing.copy_(torch.from_numpy(numbers))
            reports.copy_(landing)
        else:
            reports.copy_(torch.from_numpy(numbers))  # cause: delayed
        if variant == "fix2":
            graph.replay()
        else:
            clear()
            train()
        turn[0] += 1
        if turn[0] % TOLD == 0:
            usual[:] = told.tolist()

    return fixable.Work(step, torch.cuda.synchronize, lambda: list(usual))


run.main(make)
