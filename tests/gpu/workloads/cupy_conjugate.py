# SPDX-License-Identifier: Apache-2.0
"""CuPy: conjugate gradients; the two scalar products of each iteration are read by float(), as one writes it in NumPy.

Wrong: the host waits twice an iteration, and the GPU then for the host.
fix: the scalars stay on the device, and the remainder is looked at every 50 iterations (sync-bound).
fix2: what lies between two reads is captured into a CUDA graph; the reads stay (launch-bound).
useless: the iteration works in arrays that are allocated once.
"""
import fixable

run = fixable.Program(__doc__, steps=3000, warm_up=50, multiple=50)
cupy, numpy = fixable.load_cupy("numpy")

SIZE = 1 << 21


def make(variant):
    b = cupy.asarray(numpy.random.default_rng(20).standard_normal(SIZE))
    x, r, p = cupy.zeros(SIZE), b.copy(), b.copy()
    q, work = cupy.empty(SIZE), cupy.empty(SIZE)
    number = float if variant != "fix" else lambda value: value
    squared, turn, left = [number(cupy.dot(r, r))], [0], []

    def product():
        """A tridiagonal matrix times p, into q."""
        cupy.multiply(p, 2.5, out=q)
        q[1:] -= p[:-1]
        q[:-1] -= p[1:]

    def step():
        product()
        share = squared[0] / number(cupy.dot(p, q))  # cause: wait,copy
        if variant == "useless":
            cupy.multiply(p, share, out=work)
            x.__iadd__(work)
            cupy.multiply(q, share, out=work)
            r.__isub__(work)
        else:
            x.__iadd__(share * p)
            r.__isub__(share * q)
        now = number(cupy.dot(r, r))  # cause: wait,copy
        p.__imul__(now / squared[0])
        p.__iadd__(r)
        squared[0] = now
        turn[0] += 1
        if turn[0] % 50 == 0:  # begun anew, before the remainder is nothing
            left[:] = [float(squared[0])]
            x.fill(0.0)
            r[:] = b
            p[:] = b
            squared[0] = number(cupy.dot(r, r))

    def values():
        return cupy.asnumpy(x[:1024]).tolist() + left

    if variant == "fix2":
        stream = cupy.cuda.Stream(non_blocking=True)
        factor, found = cupy.zeros(()), cupy.zeros(())

        def begin():
            product()
            found[...] = cupy.dot(p, q)

        def middle():
            x.__iadd__(factor * p)
            r.__isub__(factor * q)
            found[...] = cupy.dot(r, r)

        def end():
            p.__imul__(factor)
            p.__iadd__(r)

        def graph_of(part):
            for _ in range(2):  # the pool then has all memory that a capture needs
                part()
            stream.synchronize()
            stream.begin_capture()
            part()
            return stream.end_capture()

        def anew():
            x.fill(0.0)
            r[:] = b
            p[:] = b
            squared[0] = float(cupy.dot(r, r))

        cupy.cuda.runtime.deviceSynchronize()
        with stream:
            graphs = [graph_of(part) for part in (begin, middle, end)]
            anew()

        def captured():
            graphs[0].launch(stream)
            factor.fill(squared[0] / float(found))
            graphs[1].launch(stream)
            now = float(found)
            factor.fill(now / squared[0])
            graphs[2].launch(stream)
            squared[0] = now
            turn[0] += 1
            if turn[0] % 50 == 0:
                left[:] = [squared[0]]
                anew()

        def loop(steps):
            with stream:
                for _ in range(steps):
                    captured()

        return fixable.Work(loop=loop, wait=cupy.cuda.runtime.deviceSynchronize, values=values)
    return fixable.Work(step, cupy.cuda.runtime.deviceSynchronize, values)


run.main(make)
