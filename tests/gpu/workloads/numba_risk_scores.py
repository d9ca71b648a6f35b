# SPDX-License-Identifier: Apache-2.0
"""Numba: a biobank tells 16384 people's inherited risk of 24 diseases. Their genotypes are packed, four to a byte, 4096 variants to
a block, as in files of PLINK. For each block the common genotype of a variant is found, which stands in where one is missing, and
the weights of the diseases are added up; six blocks are a genome, and risks are made comparable at each fourth genome.

Wrong: each block of 17 MB goes from pageable memory, and the GPU waits for it.
fix: the blocks lie in pinned memory (copy-bound).
fix2: the next block is copied, from pageable memory still, on another stream while the kernels of this one run (copy-bound).
useless: the array of comparable risks is made once.
"""
import fixable

run = fixable.Program(__doc__, steps=800, warm_up=24)
numpy, numba, cuda = fixable.load_numba()

PEOPLE, VARIANTS, BLOCKS, DISEASES, CHUNK, GENOMES, MISSING = 16384, 4096, 6, 24, 128, 4, 3
BYTES, CHUNKS, THREADS = PEOPLE // 4, VARIANTS // CHUNK, 128
float32, int32 = numba.float32, numba.int32


@cuda.jit
def count(block, usual):
    """The mean genotype of each variant, of the people who have one: a block of threads for a variant."""
    sums = cuda.shared.array(THREADS, int32)
    known = cuda.shared.array(THREADS, int32)
    variant, own = cuda.blockIdx.x, cuda.threadIdx.x
    total, found = int32(0), int32(0)
    for at in range(own, BYTES, THREADS):
        four = int32(block[variant, at])
        for place in range(4):
            genotype = (four >> (2 * place)) & 3
            if genotype != MISSING:
                total += genotype
                found += 1
    sums[own], known[own] = total, found
    cuda.syncthreads()
    half = THREADS // 2
    while half > 0:
        if own < half:
            sums[own] += sums[own + half]
            known[own] += known[own + half]
        cuda.syncthreads()
        half //= 2
    if own == 0:
        usual[variant] = float32(sums[0]) / float32(max(known[0], 1))


@cuda.jit(device=True)
def worth(four, place, usual):
    """The genotype at a place of a byte, or the mean one."""
    genotype = (four >> (2 * place)) & 3
    return usual if genotype == MISSING else float32(genotype)


@cuda.jit
def weigh(block, usual, weights, parts):
    """The risk of four people for a disease by a chunk of the block's variants."""
    at, chunk, disease = cuda.grid(1), cuda.blockIdx.y, cuda.blockIdx.z
    one, two, three, four = float32(0.0), float32(0.0), float32(0.0), float32(0.0)
    for variant in range(chunk * CHUNK, (chunk + 1) * CHUNK):
        packed, weight, mean = int32(block[variant, at]), weights[disease, variant], usual[variant]
        one += weight * worth(packed, 0, mean)
        two += weight * worth(packed, 1, mean)
        three += weight * worth(packed, 2, mean)
        four += weight * worth(packed, 3, mean)
    parts[chunk, disease, 0, at], parts[chunk, disease, 1, at] = one, two
    parts[chunk, disease, 2, at], parts[chunk, disease, 3, at] = three, four


@cuda.jit
def add_up(parts, risks, first):
    """Adds the chunks to the risks, which begin anew with the first block."""
    at, place, disease = cuda.grid(1), cuda.blockIdx.y, cuda.blockIdx.z
    total = float32(0.0) if first else risks[disease, place, at]
    for chunk in range(CHUNKS):
        total += parts[chunk, disease, place, at]
    risks[disease, place, at] = total


@cuda.jit
def compare(risks, comparable):
    """Each risk against that of the first person."""
    at, place, disease = cuda.grid(1), cuda.blockIdx.y, cuda.blockIdx.z
    comparable[disease, place, at] = risks[disease, place, at] - risks[disease, 0, 0]


def genomes(pinned):
    """The blocks: bytes of four genotypes each, by how common the variants are, and the weights of the diseases."""
    random = numpy.random.default_rng(20)
    common = random.uniform(0.05, 0.5, 32)
    genotypes = random.binomial(2, common[:, None], (32, 1024))
    genotypes[random.random((32, 1024)) < 0.02] = MISSING
    four = genotypes.reshape(32, 256, 4)
    table = (four[:, :, 0] | four[:, :, 1] << 2 | four[:, :, 2] << 4 | four[:, :, 3] << 6).astype(numpy.uint8)
    blocks = []
    for _ in range(BLOCKS):
        draws = random.integers(0, 256, (VARIANTS, BYTES), dtype=numpy.uint8)
        block = cuda.pinned_array((VARIANTS, BYTES), dtype=numpy.uint8) if pinned else numpy.empty_like(draws)
        for variant in range(VARIANTS):
            block[variant] = table[variant % 32][draws[variant]]
        blocks.append(block)
    weights = random.standard_normal((BLOCKS, DISEASES, VARIANTS)).astype(numpy.float32)
    return blocks, [cuda.to_device(0.01 * own + numpy.float32(0.002)) for own in weights]


def make(variant):
    blocks, weights = genomes(variant == "fix")
    places = [cuda.to_device(blocks[0]) for _ in range(2 if variant == "fix2" else 1)]
    shape = (DISEASES, 4, BYTES)
    usual = cuda.device_array(VARIANTS, dtype=numpy.float32)
    parts = cuda.device_array((CHUNKS, *shape), dtype=numpy.float32)
    risks = cuda.to_device(numpy.zeros(shape, dtype=numpy.float32))
    kept = cuda.device_array(shape, dtype=numpy.float32) if variant == "useless" else None
    work, side, turn, told = cuda.stream(), cuda.stream(), [0], numpy.zeros(shape, dtype=numpy.float32)
    copied, done = cuda.event(timing=False), [cuda.event(timing=False) for _ in range(2)]
    columns = BYTES // THREADS

    def scored(number, place):
        """The kernels of a block."""
        count[VARIANTS, THREADS, work](place, usual)
        weigh[(columns, CHUNKS, DISEASES), THREADS, work](place, usual, weights[number], parts)
        add_up[(columns, 4, DISEASES), THREADS, work](parts, risks, number == 0)

    def copy_ahead():
        """The kernels of a block whose copy is under way, and the copy of the next block behind those that have read its place."""
        now = turn[0] % 2
        copied.wait(work)
        scored(turn[0] % BLOCKS, places[now])
        done[now].record(work)
        done[1 - now].wait(side)
        places[1 - now].copy_to_device(blocks[(turn[0] + 1) % BLOCKS], stream=side)
        copied.record(side)

    def step():
        if variant == "fix2":
            copy_ahead()
        else:
            places[0].copy_to_device(blocks[turn[0] % BLOCKS], stream=work)  # cause: wait,copy
            scored(turn[0] % BLOCKS, places[0])
        turn[0] += 1
        if turn[0] % (BLOCKS * GENOMES) == 0:
            comparable = cuda.device_array(shape, dtype=numpy.float32) if kept is None else kept
            compare[(columns, 4, DISEASES), THREADS, work](risks, comparable)
            comparable.copy_to_host(told, stream=work)
            work.synchronize()

    return fixable.Work(step, cuda.synchronize, lambda: told.mean(axis=(1, 2)).tolist() + told.std(axis=(1, 2)).tolist())


run.main(make)
