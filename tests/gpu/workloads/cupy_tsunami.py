# SPDX-License-Identifier: Apache-2.0
"""CuPy: a tsunami crosses a bay (shallow water, fluxes of Rusanov); how far each tick goes depends on the fastest wave (CFL), and
twelve gauges along the coast write down how high the water stands, and when.

Wrong: behind each tick its length is read by float() for the clock, and the gauges by .get(); the GPU waits for the next launch.
fix: lengths and gauges of forty ticks are left on the device, where they are already, and read at once (sync-bound).
fix2: what a tick launches is one CUDA graph; its length and its gauges are still read behind it (launch-bound).
useless: the water of the next tick is written to arrays that are made once, in turns, instead of new ones.
"""
import fixable

run = fixable.Program(__doc__, steps=500, warm_up=6)
cupy, numpy = fixable.load_cupy("numpy")

ROWS, COLUMNS, TICKS, GAUGES, THREADS, CELL, CFL = 1536, 1280, 40, 12, 256, 50.0, 0.4
WET = 1e-3  # m; a cell with less is dry

KERNELS = """
#define ROWS %(ROWS)d
#define COLUMNS %(COLUMNS)d
#define CELL %(CELL)ff
#define WET %(WET)gf
#define G 9.81f

struct Cell { float h, u, v, bed; };

__device__ Cell cell(const float* h, const float* hu, const float* hv, const float* bed, int y, int x) {
    // Beyond the rim it goes on as at the rim.
    y = min(max(y, 0), ROWS - 1);
    x = min(max(x, 0), COLUMNS - 1);
    const int i = y * COLUMNS + x;
    Cell c;
    c.h = h[i];
    c.bed = bed[i];
    const float one = c.h > WET ? 1.0f / c.h : 0.0f;
    c.u = hu[i] * one;
    c.v = hv[i] * one;
    return c;
}

struct Flux { float mass, along, across; };

__device__ Flux flux(float hl, float ul, float wl, float hr, float ur, float wr) {
    // Of Rusanov, from left to right; u goes through the side, w along it.
    const float fast = fmaxf(fabsf(ul) + sqrtf(G * hl), fabsf(ur) + sqrtf(G * hr));
    const float ml = hl * ul, mr = hr * ur;
    Flux f;
    f.mass = 0.5f * (ml + mr) - 0.5f * fast * (hr - hl);
    f.along = 0.5f * (ml * ul + 0.5f * G * hl * hl + mr * ur + 0.5f * G * hr * hr) - 0.5f * fast * (mr - ml);
    f.across = 0.5f * (ml * wl + mr * wr) - 0.5f * fast * (hr * wr - hl * wl);
    return f;
}

extern "C" __global__ void speeds(const float* h, const float* hu, const float* hv, float* fastest) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const float deep = h[i], one = deep > WET ? 1.0f / deep : 0.0f;
    fastest[i] = fmaxf(fabsf(hu[i]), fabsf(hv[i])) * one + sqrtf(G * fmaxf(deep, 0.0f));
}

extern "C" __global__ void tick(const float* h, const float* hu, const float* hv, const float* bed, const float* length,
                                float* h_next, float* hu_next, float* hv_next) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x, y = i / COLUMNS, x = i %% COLUMNS;
    const float ratio = length[0] / CELL;
    const Cell here = cell(h, hu, hv, bed, y, x);
    float mass = 0.0f, mx = 0.0f, my = 0.0f;
    for (int side = 0; side < 4; side++) {  // east, west, south, north; the bed as Audusse and others have it
        const int dx = (side == 0) - (side == 1), dy = (side == 2) - (side == 3), sign = dx + dy;
        const Cell there = cell(h, hu, hv, bed, y + dy, x + dx);
        const float top = fmaxf(here.bed, there.bed);
        const float own = fmaxf(0.0f, here.h + here.bed - top), other = fmaxf(0.0f, there.h + there.bed - top);
        const float u = dx ? here.u : here.v, w = dx ? here.v : here.u;
        const float u_there = dx ? there.u : there.v, w_there = dx ? there.v : there.u;
        const Flux f = sign > 0 ? flux(own, u, w, other, u_there, w_there) : flux(other, u_there, w_there, own, u, w);
        const float along = f.along + 0.5f * G * (here.h * here.h - own * own);
        mass -= sign * f.mass;
        mx -= sign * (dx ? along : f.across);
        my -= sign * (dx ? f.across : along);
    }
    const float deep = fmaxf(here.h + ratio * mass, 0.0f);
    const float speed = sqrtf(here.u * here.u + here.v * here.v);
    const float rubbed = deep > WET ? 1.0f / (1.0f + length[0] * G * 0.000625f * speed * powf(deep, -1.333333f)) : 0.0f;
    h_next[i] = deep;
    hu_next[i] = (here.h * here.u + ratio * mx) * rubbed;
    hv_next[i] = (here.h * here.v + ratio * my) * rubbed;
}
""" % globals()


def bay():
    """(height of the bed, of the water): shallow to the east, with a coast that winds; far out the water stands higher."""
    y, x = numpy.meshgrid(numpy.linspace(0.0, 1.0, ROWS), numpy.linspace(0.0, 1.0, COLUMNS), indexing="ij")
    bed = -120.0 * (0.93 - x + 0.04 * numpy.sin(9.0 * y)) - 15.0 * numpy.sin(14.0 * x) * numpy.cos(11.0 * y)
    bed = numpy.minimum(bed, 20.0)
    deep = numpy.maximum(0.0, -bed) + (bed < -5.0) * 4.0 * numpy.exp(-((x - 0.2) / 0.05) ** 2 - ((y - 0.45) / 0.2) ** 2)
    return bed.astype(numpy.float32), deep.astype(numpy.float32)


def make(variant):
    module = cupy.RawModule(code=KERNELS)
    speeds, tick = module.get_function("speeds"), module.get_function("tick")
    bed, deep = (cupy.asarray(field) for field in bay())
    water = [deep, cupy.zeros_like(deep), cupy.zeros_like(deep)]
    sets = [[cupy.empty_like(deep) for _ in range(3)] for _ in range(2)] if variant in ("useless", "fix2") else None
    fastest, blocks = cupy.empty_like(deep), ROWS * COLUMNS // THREADS
    rows = numpy.linspace(0.05 * ROWS, 0.95 * ROWS, GAUGES).astype(int)
    wet = deep.get() > 5.0
    at = cupy.asarray([row * COLUMNS + int(numpy.flatnonzero(wet[row])[-1]) for row in rows])
    lengths, heights = cupy.zeros(TICKS, dtype=cupy.float32), cupy.zeros((TICKS, GAUGES), dtype=cupy.float32)
    length_of, height_of = [lengths[n:n + 1] for n in range(TICKS)], list(heights)
    clock, records = [0.0], []

    def go_on(number):
        """A tick; how long it was and what the gauges show go to the lists on the device."""
        speeds((blocks,), (THREADS,), (*water, fastest))
        length = length_of[number]
        cupy.divide(CFL * CELL, fastest.max(keepdims=True).reshape(1), out=length)
        after = sets[number % 2] if sets else [cupy.empty_like(deep) for _ in range(3)]
        tick((blocks,), (THREADS,), (*water, bed, length, *after))
        water[:] = after
        cupy.take(water[0], at, out=height_of[number])

    def step(tick_of=go_on):
        records.clear()
        for number in range(TICKS):
            tick_of(number)
            if variant != "fix":
                clock[0] += float(length_of[number][0])  # cause: wait,copy
                records.append((clock[0], height_of[number].get()))  # cause: wait,copy
        if variant == "fix":
            for length, shown in zip(lengths.get().tolist(), heights.get()):
                clock[0] += length
                records.append((clock[0], shown))

    def values():
        return [clock[0]] + [float(h) for _, shown in records for h in shown] + [float(abs(field).mean()) for field in water]

    wait = cupy.cuda.runtime.deviceSynchronize
    if variant == "fix2":
        own = cupy.cuda.MemoryPool()  # what a graph works in is nobody else's between its launches
        stream, graphs, first = cupy.cuda.Stream(non_blocking=True), [], [field.copy() for field in water]
        wait()
        with stream, cupy.cuda.using_allocator(own.malloc):
            for number in range(TICKS):  # all is compiled, and its memory is there, before the capture
                go_on(number)
            for number in range(TICKS):
                stream.begin_capture()
                go_on(number)
                graphs.append(stream.end_capture())
        wait()
        for field, at_first in zip(water, first):
            field[...] = at_first
        wait()

        def captured(steps):
            with stream:
                for _ in range(steps):
                    step(lambda number: graphs[number].launch(stream))

        captured.memory = own
        return fixable.Work(loop=captured, wait=wait, values=values)

    return fixable.Work(step, wait, values)


run.main(make)
