# SPDX-License-Identifier: Apache-2.0
"""Numba: a protein of 4096 atoms moves in water, and it is asked which of its skin the water can reach (Shrake and Rupley), and
how that skin is charged. In each picture of the motion, 480 places around each atom are tried: a place that lies within no other
atom is free, and has a potential by the charges nearby. What each atom has of the skin is kept as a running mean on the GPU.

Wrong: each picture has its own arrays; Numba asks the driver for each of them, and gives them back in bunches, for which the GPU
must be done.
fix: the arrays are made before the first picture (alloc-bound).
useless: the skin, which is looked at every 100 pictures, comes to pinned memory.
"""
import math

import fixable

LOOK_EVERY = 100

run = fixable.Program(__doc__, steps=2400, warm_up=20)
numpy, _, cuda = fixable.load_numba()

ATOMS, SIDE, PICTURES, POINTS, MOST, FEW, MANY = 4096, 15, 32, 480, 128, 32, 128
BLOCKS, GRID = ATOMS // FEW, (ATOMS // MANY, POINTS)
NOUGHT, ONE, WATER, APART, SHARE, SPHERE, COULOMB = (
    numpy.float32(number) for number in (0.0, 1.0, 1.4, 2.4, 0.02, 4.0 * math.pi / POINTS, 3.32))


@cuda.jit
def settle(pictures, picture, sizes, atoms):
    """Atoms of a picture, each as large as water keeps away from its middle."""
    atom = cuda.grid(1)
    for axis in range(3):
        atoms[axis, atom] = pictures[picture, axis, atom]
    atoms[3, atom] = sizes[atom] + WATER


@cuda.jit
def find_near(atoms, near, counts):
    """Which other atoms could cover something of each atom's skin."""
    atom = cuda.grid(1)
    x, y, z, size = atoms[0, atom], atoms[1, atom], atoms[2, atom], atoms[3, atom]
    found = 0
    for other in range(ATOMS):
        a, b, c, reach = atoms[0, other] - x, atoms[1, other] - y, atoms[2, other] - z, atoms[3, other] + size
        if a * a + b * b + c * c < reach * reach and other != atom and found < MOST:
            near[found, atom] = other
            found += 1
    counts[atom] = found


@cuda.jit
def spread(atoms, sphere, places):
    """The places around each atom."""
    atom, point = cuda.grid(1), cuda.blockIdx.y
    for axis in range(3):
        places[axis, point, atom] = atoms[axis, atom] + atoms[3, atom] * sphere[axis, point]


@cuda.jit
def try_all(atoms, near, counts, places, free):
    """One where a place is free, and nought elsewhere."""
    atom, point = cuda.grid(1), cuda.blockIdx.y
    x, y, z = places[0, point, atom], places[1, point, atom], places[2, point, atom]
    left = ONE
    for number in range(counts[atom]):
        other = near[number, atom]
        a, b, c, reach = atoms[0, other] - x, atoms[1, other] - y, atoms[2, other] - z, atoms[3, other]
        if a * a + b * b + c * c < reach * reach:
            left = NOUGHT
            break
    free[point, atom] = left


@cuda.jit
def charge(atoms, charges, near, counts, places, free, potential):
    """The potential at free places, by the atoms nearby."""
    atom, point = cuda.grid(1), cuda.blockIdx.y
    total = NOUGHT
    if free[point, atom] > NOUGHT:
        x, y, z = places[0, point, atom], places[1, point, atom], places[2, point, atom]
        total = charges[atom] / atoms[3, atom]
        for number in range(counts[atom]):
            other = near[number, atom]
            a, b, c = atoms[0, other] - x, atoms[1, other] - y, atoms[2, other] - z
            total += charges[other] / math.sqrt(a * a + b * b + c * c)
    potential[point, atom] = total * COULOMB


@cuda.jit
def add_up(atoms, free, potential, skin):
    """How much skin each atom has, and the mean potential there, as running means."""
    atom = cuda.grid(1)
    count, total = NOUGHT, NOUGHT
    for point in range(POINTS):
        count += free[point, atom]
        total += potential[point, atom]
    area = count * SPHERE * atoms[3, atom] * atoms[3, atom]
    skin[0, atom] += SHARE * (area - skin[0, atom])
    skin[1, atom] += SHARE * (total / max(count, ONE) - skin[1, atom])


def protein():
    """Pictures of a ball of atoms that breathes, (PICTURES, 3, ATOMS), the atoms' sizes and their charges."""
    random = numpy.random.default_rng(20)
    line = numpy.arange(2 * SIDE) - SIDE + 0.5
    lattice = numpy.stack(numpy.meshgrid(line, line, line, indexing="ij")).reshape(3, -1)
    inner = numpy.argsort(numpy.square(lattice).sum(axis=0), kind="stable")[:ATOMS]
    rest = float(APART) * lattice[:, inner] + random.normal(0.0, 0.35, (3, ATOMS))
    begin = random.uniform(0.0, 6.28, (3, ATOMS))
    moment = numpy.arange(PICTURES)[:, None, None] * (2.0 * math.pi / PICTURES)
    pictures = rest * (1.0 + 0.01 * numpy.sin(moment)) + 0.2 * numpy.sin(moment + begin)
    sizes, charges = random.choice((1.5, 1.6, 1.7, 1.8), ATOMS), random.normal(0.05, 0.3, ATOMS)
    return [part.astype(numpy.float32) for part in (pictures, sizes, charges)]


def directions():
    """Points that are spread evenly over a sphere: (3, POINTS)."""
    number = numpy.arange(POINTS) + 0.5
    up, angle = 1.0 - 2.0 * number / POINTS, 2.399963 * number
    flat = numpy.sqrt(1.0 - up * up)
    return numpy.stack((flat * numpy.cos(angle), flat * numpy.sin(angle), up)).astype(numpy.float32)


def make(variant):
    pictures, sizes, charges = [cuda.to_device(part) for part in protein()]
    sphere, skin = cuda.to_device(directions()), cuda.to_device(numpy.zeros((2, ATOMS), dtype=numpy.float32))
    landing = cuda.pinned_array((2, ATOMS), dtype=numpy.float32) if variant == "useless" else None
    turn, kept, seen = [0], {}, []

    def array(name, shape, kind=numpy.float32):
        if variant != "fix":
            return cuda.device_array(shape, kind)  # cause: alloc
        if name not in kept:
            kept[name] = cuda.device_array(shape, kind)
        return kept[name]

    def neighbours(picture):
        atoms = array("atoms", (4, ATOMS))  # cause: alloc
        settle[BLOCKS, FEW](pictures, picture, sizes, atoms)
        near, counts = array("near", (MOST, ATOMS), numpy.int32), array("counts", (ATOMS,), numpy.int32)  # cause: alloc
        find_near[BLOCKS, FEW](atoms, near, counts)
        return atoms, near, counts

    def reached(atoms, near, counts):
        places, free = array("places", (3, POINTS, ATOMS)), array("free", (POINTS, ATOMS))  # cause: alloc
        spread[GRID, MANY](atoms, sphere, places)
        try_all[GRID, MANY](atoms, near, counts, places, free)
        potential = array("potential", (POINTS, ATOMS))  # cause: alloc
        charge[GRID, MANY](atoms, charges, near, counts, places, free, potential)
        return free, potential

    def step():
        atoms, near, counts = neighbours(turn[0] % PICTURES)  # cause: alloc
        turn[0] += 1
        free, potential = reached(atoms, near, counts)  # cause: alloc
        add_up[BLOCKS, FEW](atoms, free, potential, skin)
        if turn[0] % LOOK_EVERY == 0:
            now = skin.copy_to_host(landing) if variant == "useless" else skin.copy_to_host()
            seen[:] = [float((landing if now is None else now)[0].sum())]

    def values():
        """The skin in hundreds of square nanometres, and the mean potential of the atoms that have some."""
        area, potential = skin.copy_to_host()
        return [float(area.sum(dtype=numpy.float64)) / 1e4, float(potential[area > 1.0].mean(dtype=numpy.float64))]

    return fixable.Work(step, cuda.synchronize, values)


run.main(make)
