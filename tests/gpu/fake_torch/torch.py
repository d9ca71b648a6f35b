# SPDX-License-Identifier: Apache-2.0
"""Stands for PyTorch in tests of the acceptance script: as much of it as the scripts there use, on the simulated CUDA.

Nothing is computed: a model's layers, a backward pass and an all-reduce are launches of kernels of a fixed length.
"""
import ctypes
import multiprocessing as processes

IMAGE = b"simcuda 1\nkernel layer fixed:3000\nkernel backward fixed:20000\n" \
    b"kernel ncclDevKernel_AllReduce_Sum_f32_RING_LL fixed:600000\n" \
    b"kernel ncclDevKernel_AllReduce_Sum_f32_TREE_LL fixed:2000\n"
LAYERS = 7
SMALL_BUCKET_MB = 1000


class Driver:
    """The simulated driver, loaded at first use."""

    def __init__(self):
        self.library = self.module = None
        self.functions = {}

    def call(self, name, *arguments):
        rc = getattr(self.library, name)(*arguments)
        if rc:
            raise RuntimeError("%s: error %d" % (name, rc))

    def start(self):
        self.library = ctypes.CDLL("libcuda.so.1")
        context, self.module = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cuInit", 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
        self.call("cuCtxSetCurrent", context)
        self.call("cuModuleLoadData", ctypes.byref(self.module), IMAGE)

    def launch(self, name, count=1):
        if not self.library:
            self.start()
        if name not in self.functions:
            found = ctypes.c_void_p()
            self.call("cuModuleGetFunction", ctypes.byref(found), self.module, name.encode())
            self.functions[name] = found
        for _ in range(count):
            self.call("cuLaunchKernel", self.functions[name], 1, 1, 1, 32, 1, 1, 0, None, None, None)

    def wait(self):
        if self.library:
            self.call("cuCtxSynchronize")


driver = Driver()


class Thing:
    """Whatever is asked of it, it gives itself."""

    def __init__(self, *arguments, **more):
        pass

    def __call__(self, *arguments, **more):
        return self

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return None

    def __iter__(self):
        return iter((self,))

    def __float__(self):
        return 0.0

    def numel(self):
        return 1

    def tolist(self):
        return [0.0]

    def backward(self):
        driver.launch("backward")


class Model(Thing):
    def __call__(self, *arguments):
        if not arguments:  # of a method such as cuda()
            return self
        driver.launch("layer", LAYERS)
        return Thing()


class Reduced(Thing):
    """What a model in parallel gives: its backward pass ends in an all-reduce, a short one where buckets are small."""

    def __init__(self, small):
        self.small = small

    def backward(self):
        driver.launch("backward")
        driver.launch("ncclDevKernel_AllReduce_Sum_f32_%s_LL" % ("TREE" if self.small else "RING"))


class Parallel(Thing):
    def __init__(self, model, device_ids=None, bucket_cap_mb=25):
        self.small = bucket_cap_mb < SMALL_BUCKET_MB

    def __call__(self, *arguments):
        driver.launch("layer")
        return Reduced(self.small)


class Graph(Thing):
    def replay(self):
        driver.launch("layer")


class Spawning(Thing):
    def spawn(self, function, args, nprocs):
        children = [processes.get_context("spawn").Process(target=function, args=(rank, *args))
                    for rank in range(nprocs)]
        for child in children:
            child.start()
        for child in children:
            child.join()


nn = Thing()
nn.Sequential = Model
nn.DistributedDataParallel = Parallel
cuda = Thing()
cuda.is_available = lambda: True
cuda.device_count = lambda: 2
cuda.synchronize = driver.wait
cuda.CUDAGraph = Graph
multiprocessing = Spawning()


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return Thing()
