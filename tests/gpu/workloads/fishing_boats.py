# SPDX-License-Identifier: Apache-2.0
"""PyTorch and torchvision: which boats fish, and how, is told from the messages with which ships tell each other where they are
(AIS): the sentences of 64 boats, 24 of each, are read and checked, the boats' ways are drawn to pictures of 64 by 64 points (the
way, speeds and courses), and a ResNet-18 tells trawlers, long lines, ferries and others apart.

Wrong: Python reads the sentences, letter by letter, and draws the ways, between two calls of the net; the GPU waits for it
(host-bound).
fix: the pictures have been made before the loop, and are copied as before (host-bound).
fix2: the net and what follows are launched as one CUDA graph, behind the same copy (launch-bound).
useless: the pictures go to an array on the device that is made once.
"""
import fixable

run = fixable.Program(__doc__, steps=250, warm_up=8)
torch, torchvision, numpy = fixable.load_torch("torchvision", "numpy")

BOATS, MESSAGES, SETS, SIZE, KINDS, READ = 64, 24, 6, 64, 5, 25
BETWEEN, DEGREE, WIDE = 8, 600000.0, 200.0  # points between two messages; a degree in the messages; points of a degree


def sentence(boat, speed, longitude, latitude, course):
    """What a boat sends: a message of 168 bits, six of which are a letter, and a checksum."""
    bits = 1
    for value, width in ((0, 2), (boat, 30), (7, 4), (128, 8), (speed, 10), (1, 1), (longitude & 0xFFFFFFF, 28),
                         (latitude & 0x7FFFFFF, 27), (course, 12), (511, 9), (60, 6), (0, 2), (0, 3), (0, 1), (0, 19)):
        bits = bits << width | value
    sixes = [bits >> shift & 63 for shift in range(162, -1, -6)]
    text = "AIVDM,1,1,,A,%s,0" % "".join(chr(six + 48 if six < 40 else six + 56) for six in sixes)
    check = 0
    for byte in text.encode():
        check ^= byte
    return "!%s*%02X" % (text, check)


def heard():
    """Sets of sentences in the order of time."""
    random = numpy.random.default_rng(20)
    for number in range(SETS):
        speeds = random.choice([35, 80, 110, 180, 5], BOATS)[:, None] + random.integers(0, 20, (BOATS, MESSAGES))
        turns = random.normal(0.0, 0.5, (BOATS, MESSAGES)) * (speeds < 100) + random.normal(0.0, 0.03, (BOATS, MESSAGES))
        courses = numpy.cumsum(turns, axis=1) + random.uniform(0.0, 6.28, (BOATS, 1))
        east = 6.0 + numpy.cumsum(speeds * numpy.sin(courses), axis=1) * 1e-4
        north = 56.0 + numpy.cumsum(speeds * numpy.cos(courses), axis=1) * 6e-5
        courses = (courses % (2.0 * numpy.pi)) * (3599.0 / (2.0 * numpy.pi))
        yield [sentence(219000000 + 1000 * number + boat, int(speeds[boat, at]), int(east[boat, at] * DEGREE),
                        int(north[boat, at] * DEGREE), int(courses[boat, at]))
               for at in range(MESSAGES) for boat in range(BOATS)]


def signed(value, width):
    return value - (1 << width) if value >> (width - 1) else value


def message(line):
    """Whose it is, and speed, course, longitude and latitude."""
    text, given = line[1:].split("*")
    check = 0
    for byte in text.encode():
        check ^= byte  # cause: loader
    if check != int(given, 16):
        raise ValueError("a sentence is broken: %s" % line)
    bits = 0
    for letter in text.split(",")[5]:
        six = ord(letter) - 48  # cause: loader
        bits = bits << 6 | (six - 8 if six > 40 else six)  # cause: loader
    return bits >> 130 & 0x3FFFFFFF, (bits >> 108 & 0x3FF, bits >> 40 & 0xFFF,
                                      signed(bits >> 79 & 0xFFFFFFF, 28) / DEGREE, signed(bits >> 52 & 0x7FFFFFF, 27) / DEGREE)


def drawn(lines):
    """Pictures of the boats' ways, (BOATS, 3, SIZE, SIZE), of bytes."""
    boats = {}
    for line in lines:
        boat, told = message(line)  # cause: loader
        boats.setdefault(boat, []).append(told)
    ways = numpy.array(list(boats.values()))
    part = numpy.linspace(0.0, 1.0, BETWEEN, endpoint=False)[:, None]
    ways = (ways[:, :-1, None] + (ways[:, 1:] - ways[:, :-1])[:, :, None] * part).reshape(len(boats), -1, 4)
    speed, course = (ways[:, :, 0] * 0.9).clip(0, 255), (ways[:, :, 1] / 15.0).clip(0, 255)
    places = (ways[:, :, 2:] - ways[:, :, 2:].mean(axis=1, keepdims=True)) * WIDE + SIZE / 2
    right, down = places.clip(0, SIZE - 1).astype(numpy.int64).transpose(2, 0, 1)
    pictures, boat = numpy.zeros((len(boats), 3, SIZE, SIZE), dtype=numpy.uint8), numpy.arange(len(boats))[:, None]
    for layer, value in enumerate((255, speed.astype(numpy.uint8), course.astype(numpy.uint8))):
        pictures[boat, layer, down, right] = value
    return torch.from_numpy(pictures)


@torch.no_grad()
def make(variant):
    fixable.seed(torch)
    net = torchvision.models.resnet18(weights=None, num_classes=KINDS).eval()
    net = net.to("cuda", torch.bfloat16, memory_format=torch.channels_last)
    sets = list(heard())
    ready = [drawn(lines) for lines in sets] if variant == "fix" else None
    there = torch.zeros(BOATS, 3, SIZE, SIZE, dtype=torch.uint8, device="cuda")
    usual, turn, told = torch.zeros(KINDS, device="cuda"), [0], [0.0] * KINDS

    def judge(pictures):
        scores = net(pictures.to(torch.bfloat16, memory_format=torch.channels_last).div_(255.0))
        usual.lerp_(scores.float().mul_(0.1).softmax(dim=1).mean(dim=0), 0.05)

    if variant == "fix2":
        graph, _ = fixable.capture(torch, lambda: judge(there))
        usual.zero_()

    @torch.no_grad()
    def step():
        pictures = ready[turn[0] % SETS] if ready else drawn(sets[turn[0] % SETS])  # cause: loader
        turn[0] += 1
        if variant == "fix2":
            there.copy_(pictures)
            graph.replay()
        else:
            judge(there.copy_(pictures) if variant == "useless" else pictures.cuda())  # cause: delayed
        if turn[0] % READ == 0:
            told[:] = usual.tolist()

    return fixable.Work(step, torch.cuda.synchronize, lambda: usual.tolist())


run.main(make)
