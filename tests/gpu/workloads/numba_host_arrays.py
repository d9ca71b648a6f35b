# SPDX-License-Identifier: Apache-2.0
"""Numba: CUDA kernels that are given NumPy arrays, each of which is copied to the GPU and back at each call.

Wrong: the copies take many times what the kernels run.
fix: the arrays are device arrays, copied once before and once behind the loop (copy-bound).
useless: blocks of 512 threads instead of 256.
"""
import warnings

import fixable

run = fixable.Program(__doc__, steps=300, warm_up=4)
numpy, _, cuda = fixable.load_numba()
warnings.simplefilter("ignore")  # Numba's word on host arrays is what this program is about

COUNT = 1 << 20


@cuda.jit
def diffuse(field, out):
    i = cuda.grid(1)
    if 0 < i < field.size - 1:
        out[i] = field[i] + 0.2 * (field[i - 1] - 2.0 * field[i] + field[i + 1])


@cuda.jit
def damp(field, weights):
    i = cuda.grid(1)
    if i < field.size:
        field[i] *= weights[i]


def make(variant):
    random = numpy.random.default_rng(20)
    host = [random.random(COUNT, dtype=numpy.float32), numpy.zeros(COUNT, numpy.float32),
            numpy.full(COUNT, 0.9999, numpy.float32)]
    field, out, weights = [cuda.to_device(a) for a in host] if variant == "fix" else host
    threads = 512 if variant == "useless" else 256
    blocks = (COUNT + threads - 1) // threads
    arrays = [field, out]

    def step():
        diffuse[blocks, threads](arrays[0], arrays[1])  # cause: copy
        damp[blocks, threads](arrays[1], weights)  # cause: copy
        arrays.reverse()

    def values():
        now = arrays[0]
        return (now.copy_to_host() if variant == "fix" else now)[:4096].tolist()

    return fixable.Work(step, cuda.synchronize, values)


run.main(make)
