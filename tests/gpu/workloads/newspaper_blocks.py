# SPDX-License-Identifier: Apache-2.0
"""PyTorch with torchvision: an archive has scans of old newspapers, and for each page an ALTO file (XML) of the text recognition,
with blocks of text, their lines and words. Which blocks are articles, advertisements, headings, lists of prices or of ships is
told for six pages at a time, from the picture (half of a ResNet-18, and roi_align) and from the words of each block.

Wrong: Python reads the XML of each page and counts letters, and then the scans come from pageable memory by a copy of 24.5 MB
that waits; the GPU has nothing to do in either.
fix: the files are read once before the loop (host-bound).
fix2: the scans are in pinned memory, and the host does not wait for their copy (copy-bound).
fix3: the kernels of a step are one CUDA graph, behind the same reading and the same copy (launch-bound).
useless: the mean of the answers is read at the end only, not every 25 steps.
"""
import xml.etree.ElementTree as ElementTree

import fixable

run = fixable.Program(__doc__, steps=350, warm_up=10)
torch, torchvision, numpy, ops = fixable.load_torch("torchvision", "numpy", "torchvision.ops")
nn = torch.nn
F = nn.functional

PAGES, HEIGHT, WIDTH, SMALLER, SETS, EACH = 6, 2400, 1700, 5, 4, 25
ACROSS, DOWN, LINES, WORDS, KINDS, FACTS = 5, 8, 3, 4, 5, 5
BLOCKS = ACROSS * DOWN  # of a page
STRIDE = 8 * SMALLER  # pixels of a scan between places of the picture's features


def alto(random):
    """The ALTO file of a page: columns of blocks."""
    wide, high = WIDTH // ACROSS, HEIGHT // DOWN
    parts = ['<alto><Layout><Page WIDTH="%d" HEIGHT="%d"><PrintSpace>' % (WIDTH, HEIGHT)]
    for block in range(BLOCKS):
        left, top = (block % ACROSS) * wide + 8, (block // ACROSS) * high + 8
        capitals, digits = random.random(2) * 0.3
        parts.append('<TextBlock ID="B%d" HPOS="%d" VPOS="%d" WIDTH="%d" HEIGHT="%d">' % (block, left, top, wide - 16, high - 16))
        for line in range(LINES):
            parts.append("<TextLine>")
            for word in range(WORDS):
                letters = "".join(random.choice(list("etaoinshrdlu"), random.integers(3, 9)))
                letters = letters.upper() if random.random() < capitals else letters
                letters = str(random.integers(1, 9999)) if random.random() < digits else letters
                parts.append('<String CONTENT="%s" HPOS="%d" VPOS="%d" WIDTH="70" HEIGHT="%d" WC="%.2f"/>' % (
                    letters, left + 80 * word, top + 80 * line, random.integers(20, 60), random.uniform(0.4, 1.0)))
            parts.append("</TextLine>")
        parts.append("</TextBlock>")
    return "".join(parts + ["</PrintSpace></Page></Layout></alto>"])


def facts_of(files):
    """For each block its page, its corners in pixels, and what is counted of its words: (PAGES * BLOCKS, 5 + FACTS)."""
    rows = []
    for page, text in enumerate(files):
        for block in ElementTree.fromstring(text).iter("TextBlock"):  # cause: loader
            left, top = float(block.get("HPOS")), float(block.get("VPOS"))
            words = list(block.iter("String"))
            content = "".join(word.get("CONTENT") for word in words)
            capitals = sum(letter.isupper() for letter in content) / len(content)  # cause: loader
            digits = sum(letter.isdigit() for letter in content) / len(content)  # cause: loader
            sure = sum(float(word.get("WC")) for word in words) / len(words)
            tall = sum(int(word.get("HEIGHT")) for word in words) / len(words)
            rows.append((page, left, top, left + float(block.get("WIDTH")), top + float(block.get("HEIGHT")),
                         capitals, digits, sure, tall / 40.0, len(content) / len(words) / 6.0))
    return torch.from_numpy(numpy.array(rows, dtype=numpy.float32))


def scans():
    """Grey pages on the host, (PAGES, 1, HEIGHT, WIDTH), with ink on paper."""
    for _ in range(SETS):
        paper = 225.0 + 12.0 * torch.rand(PAGES, 1, HEIGHT, WIDTH, device="cuda")
        ink = torch.rand(PAGES, 1, HEIGHT, WIDTH, device="cuda") < 0.12
        yield (paper - 150.0 * ink).to(torch.uint8).cpu()


@torch.no_grad()
def make(variant):
    fixable.seed(torch)
    random = numpy.random.default_rng(20)
    files = [[alto(random) for _ in range(PAGES)] for _ in range(SETS)]
    read = [facts_of(pages) for pages in files] if variant == "fix" else None
    pictures = [pages.pin_memory() if variant == "fix2" else pages for pages in scans()]
    resnet = torchvision.models.resnet18(weights=None)
    first = nn.Conv2d(1, 64, 7, stride=2, padding=3, bias=False)
    body = nn.Sequential(first, resnet.bn1, resnet.relu, resnet.maxpool, resnet.layer1, resnet.layer2).cuda().eval()
    head = nn.Sequential(nn.Linear(128 + FACTS, 64), nn.ReLU(), nn.Linear(64, KINDS)).cuda().eval()
    pages = torch.zeros(PAGES, 1, HEIGHT, WIDTH, dtype=torch.uint8, device="cuda")
    blocks = facts_of(files[0]).cuda()
    usual, graph, turn, told = torch.zeros(KINDS, device="cuda"), None, [0], []

    def look():
        """The kinds of all blocks, by chances."""
        light = (F.avg_pool2d(pages.float(), SMALLER) - 200.0) / 60.0
        seen = ops.roi_align(body(light), blocks[:, :5], output_size=7, spatial_scale=1.0 / STRIDE, sampling_ratio=2)
        kinds = head(torch.cat((seen.mean(dim=(2, 3)), blocks[:, 5:]), dim=1)).softmax(dim=1)
        usual.lerp_(kinds.mean(dim=0), 0.05)

    if variant == "fix3":
        graph, _ = fixable.capture(torch, look)
        usual.zero_()

    @torch.no_grad()
    def step():
        number = turn[0] % SETS
        turn[0] += 1
        blocks.copy_(read[number] if read else facts_of(files[number]))  # cause: loader,delayed
        if variant == "fix2":
            pages.copy_(pictures[number], non_blocking=True)
        else:
            pages.copy_(pictures[number])  # cause: copy,wait
        if graph is not None:
            graph.replay()
        else:
            look()
        if variant != "useless" and turn[0] % EACH == 0:
            told[:] = usual.tolist()

    return fixable.Work(step, torch.cuda.synchronize, usual.tolist)


run.main(make)
