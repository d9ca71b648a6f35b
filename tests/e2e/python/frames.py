# SPDX-License-Identifier: Apache-2.0
"""What the reader of frames says of this program, against what Python says at the same place.

usage: frames.py LIBRARY PART [ARGUMENTS]    prints "frames N" where N stacks were alike

Runs on every CPython that is looked at, so it is written for the oldest.
"""
import asyncio
import contextlib
import ctypes
import functools
import gc
import importlib
import importlib.util
import os
import sys
import threading
import time

LIBRARY = ctypes.CDLL(sys.argv[1])
READ, SNAPSHOT = 1, 0
compared = 0


def find_python():
    """What the shim finds in the loader's list."""
    api = ctypes.pythonapi
    address = lambda name: ctypes.addressof(ctypes.c_char.in_dll(api, name))
    start = LIBRARY.reader_start
    start.argtypes = [ctypes.c_void_p] * 5 + [ctypes.c_uint]
    function = ctypes.cast(api.PyGILState_GetThisThreadState, ctypes.c_void_p).value
    version = sys.version_info[0] << 8 | sys.version_info[1]
    return start(address('_PyRuntime'), function, address('PyCode_Type'), address('PyUnicode_Type'),
                 address('PyBytes_Type'), version)


TEXT = ctypes.create_string_buffer(1 << 20)
NAME = 'co_qualname' if sys.version_info >= (3, 11) else 'co_name'


def check():
    """The caller's stack, read both ways, is what Python says. The frame of this function is left out."""
    global compared
    for plain in (READ, SNAPSHOT) if threading.current_thread() is threading.main_thread() else (SNAPSHOT,):
        text = ctypes.create_string_buffer(1 << 16)
        n = LIBRARY.reader_stack(text, ctypes.c_size_t(len(text)), plain)
        got = text.value.decode().splitlines()[1:]
        want, frame = [], sys._getframe(1)
        while frame and len(want) < 200:
            code = frame.f_code
            want.append(f'{code.co_filename}\t{getattr(code, NAME)}\t{frame.f_lineno}')
            frame = frame.f_back
        assert n % 1000 == len(got) + 1 and (n < 1000) == (len(want) == len(got)), (n, len(got), len(want))
        for a, b in zip(got, want):
            assert a == b, f'{plain}: got {a!r}, Python says {b!r}\n' + '\n'.join(got)
        compared += 1


# ---- places ----------------------------------------------------------------------------------------------------------

def generator():
    for i in range(3):
        check()
        yield i
        check(
        )
    yield from inner_generator()


def inner_generator():
    check(); yield 1
    [check() for _ in range(2)]; yield 2


def decorated(f):
    @functools.wraps(f)
    def wrapper(*args):
        check()
        return (lambda: f(
            *args))()
    return wrapper


@decorated
@functools.lru_cache(maxsize=None)
def cached(n):
    check()
    return n


def things():
    class Thing:
        def __init__(self):
            check()

        @property
        def value(self):
            check()
            return 1

        @classmethod
        def made(cls):
            check()
            return cls()

        def __del__(self):
            check()

        def __eq__(self, other):
            check()
            return True

        __hash__ = None

        class Inner:
            check()

            def method(self):
                check()

    Thing().value, Thing.made() == 1, Thing.Inner().method()


async def coroutine(n):
    check()
    await asyncio.sleep(0)
    check()
    if n:
        await coroutine(n - 1)
    async for i in ticks():
        check()
    async with manager():
        check()


async def ticks():
    for i in range(2):
        check()
        yield i


@contextlib.asynccontextmanager
async def manager():
    check()
    yield
    check()


@contextlib.contextmanager
def context():
    check()
    try:
        yield
    finally:
        check()


def raises():
    try:
        check()
        1 / 0
    except ZeroDivisionError:
        check()
        try:
            raise KeyError('x')
        except KeyError:
            check()
    finally:
        check()
    with context():
        check()
    try:
        with context():
            raise ValueError
    except ValueError:
        check()


def deep(n):
    if n:
        deep(n - 1)
    else:
        check()


def long_function():
    """Far from its first line, and with lines that go back."""
    lines = ['def far(check):'] + ['    x = [1,', '         2]'] * 400 + ['    for i in (1,', '              2): check()'] + \
        ['    y = 1'] * 300 + ['    check()']
    space = {}
    exec(compile('\n'.join(lines), '<made of text>', 'exec'), space)
    space['far'](check)


def ünïcode_名前():
    check()


def executed():
    exec("check()\nfor i in range(2):\n    check()", {'check': check})
    exec(compile('def f(): check()\nf()', '/no/such/文件.py', 'exec'), {'check': check})
    eval('[check() for _ in range(3)]', {'check': check})
    ünïcode_名前()


def comprehensions():
    [check() for _ in range(2)]
    {check() for _ in range(2)}
    {i: check() for i in range(2)}
    list(check() for _ in range(2))
    sorted([3, 1, 2], key=lambda x: (check(), x)[1])
    list(map(lambda x: check(), [1, 2]))


def traced():
    def trace(frame, event, argument):
        return trace
    sys.settrace(trace)
    check()
    list(generator())
    sys.settrace(None)
    sys.setprofile(lambda *a: None)
    check()
    sys.setprofile(None)


def reloaded(folder):
    """The same names, other lines, often at the same addresses."""
    path = os.path.join(folder, 'reloaded_module.py')
    sys.path.insert(0, folder)
    for i in range(60):
        with open(path, 'w') as out:
            out.write('import __main__\n' + '\n' * (i % 7) + 'def f():\n' + '    x = 1\n' * (i % 5) + '    __main__.check()\n')
        os.utime(path, (i, i))
        importlib.invalidate_caches()
        module = importlib.reload(sys.modules['reloaded_module']) if i else importlib.import_module('reloaded_module')
        module.f()
        if i % 10 == 0:
            gc.collect()


def places(folder):
    check()
    for _ in range(3): # cold code, then code that was specialised
        list(generator())
        cached(1), cached(2), cached(1)
        things()
        asyncio.run(coroutine(2))
        raises()
        comprehensions()
        executed()
        long_function()
        traced()
    for n in (1, 10, 60, 120, 130, 500):
        sys.setrecursionlimit(n + 200)
        deep(n)
    sys.setrecursionlimit(1000)
    reloaded(folder)
    threads = [threading.Thread(target=list, args=(generator(),)) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for i in range(50): # code is specialised meanwhile
        comprehensions()


def greenlets():
    import greenlet

    def other():
        check()
        main.switch()
        deep(5)
        greenlet.greenlet(lambda: check()).switch()
        main.switch()
        check()
    main = greenlet.getcurrent()
    g = greenlet.greenlet(other)
    g.switch()
    check()
    g.switch()
    check()
    g.switch()
    print('greenlets')


# ---- many stacks while everything moves ------------------------------------------------------------------------------

def stress(stacks, folder):
    walks = LIBRARY.reader_walks
    stop = threading.Event()
    done, done_reloads = [], [0]

    def walk(n, plain):
        if n:
            return walk(n - 1, plain)
        for _ in range(100):
            walks(stacks // 4 // 100 // 10, 10, None, plain)
        done.append(plain)

    def garbage():
        while not stop.is_set():
            cycle = []
            cycle.append(cycle)
            exec(compile('def f(x):\n' + '\n' * (len(done) % 5) + ' return [x for x in range(3)]\nf(1)', 'g.py', 'exec'), {})
            gc.collect(0)

    def reloads():
        path = os.path.join(folder, 'moving_module.py')
        sys.path.insert(0, folder)
        for i in range(1 << 30):
            if stop.is_set():
                return
            with open(path, 'w') as out:
                out.write('\n' * (i % 7) + 'class C:\n    def f(self):\n' + '        x = 1\n' * (i % 5 + 1))
            os.utime(path, (i, i))
            importlib.invalidate_caches()
            module = importlib.reload(sys.modules['moving_module']) if i else importlib.import_module('moving_module')
            module.C().f()
            done_reloads[0] += 1

    def frames():
        while not stop.is_set():
            [(f.f_lineno, f.f_code) for f in sys._current_frames().values()]
            time.sleep(0.0005)

    helpers = [threading.Thread(target=f) for f in (garbage, frames, reloads)]
    for t in helpers:
        t.start()
    threads = [threading.Thread(target=walk, args=(20, SNAPSHOT)) for _ in range(2)]
    for t in threads:
        t.start()
    walk(30, READ)
    walk(3, SNAPSHOT)
    for t in threads:
        t.join()
    stop.set()
    for t in helpers:
        t.join()
    assert len(done) == 4 and done_reloads[0]
    print('reloads', done_reloads[0])
    print('stacks', stacks)


# ---- the end ---------------------------------------------------------------------------------------------------------

def ending():
    """Daemons whose stacks are read while the interpreter ends."""
    walks = LIBRARY.reader_walks

    def forever(n):
        if n:
            forever(n - 1)
        while True:
            walks(200, 1, None, SNAPSHOT)

    for n in (1, 10, 30):
        threading.Thread(target=forever, args=(n,), daemon=True).start()
    time.sleep(0.05)


def at_depth(n, f):
    return at_depth(n - 1, f) if n else f()


def tell_times(what, ns, noise, block):
    """Least, p50 and p99 of times and of the clock alone between them, in the same loop. Where that has a p99 far above its p50,
    the p99 is the machine's; the quietest: the block of so many, one after the other, that has the least p99."""
    def text(times):
        times = sorted(times)
        return 'least %.0f p50 %.0f p99 %.0f' % (times[0], times[len(times) // 2], times[len(times) * 99 // 100])
    quietest = min((ns[i:i + block] for i in range(0, len(ns), block)), key=lambda times: sorted(times)[block * 99 // 100])
    print(what, '%s ns, quietest %d: %s; the clock alone: %s' % (text(ns), block, text(quietest), text(noise)))


def cost(depth, quick):
    for plain in READ, SNAPSHOT:
        what = 'depth %d %s' % (depth, 'plain' if plain else 'snapshot')
        for name, walks, count, block in ('warm', LIBRARY.reader_times, 2000 if quick else 50000, 1000), \
                                         ('cold', LIBRARY.reader_cold, 20 if quick else 100, 20):
            ns, noise = (ctypes.c_double * count)(), (ctypes.c_double * count)()
            if at_depth(depth, lambda: walks(count, ns, noise, plain)):
                tell_times('%s %s:' % (what, name), list(ns), list(noise), block)


def cost_of_new(depth):
    """Of code that no stack was ever taken of."""
    LIBRARY.reader_first.restype = ctypes.c_double
    for plain in READ, SNAPSHOT:
        times = []
        for _ in range(100):
            source = ''.join('def f%d(x): return %s\n' % (i, 'f%d(x)' % (i + 1) if i < depth else 'x()') for i in range(depth + 1))
            space = {}
            exec(compile(source, '/some/where/new.py', 'exec'), space)
            space['f0'](lambda: times.append(LIBRARY.reader_first(plain)))
        times.sort()
        print('depth', depth, 'plain' if plain else 'snapshot', 'new p50 %.1f p99 %.1f us' % (times[50] / 1000, times[99] / 1000))


def lines():
    """Line tables, of every instruction of some modules of Python's own: what PyCode_Addr2Line() says."""
    tell = LIBRARY.reader_line
    tell.argtypes = [ctypes.c_uint, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint, ctypes.c_uint]
    truth = ctypes.pythonapi.PyCode_Addr2Line
    truth.argtypes = [ctypes.py_object, ctypes.c_int]
    version = sys.version_info[0] << 8 | sys.version_info[1]
    codes = []

    def add(code):
        codes.append(code)
        for constant in code.co_consts:
            if hasattr(constant, 'co_code'):
                add(constant)
    for name in 'argparse', 'typing', 'dataclasses', 'asyncio.base_events', 'inspect', 'decimal', 'test.test_grammar':
        try:
            path = importlib.util.find_spec(name).origin
            with open(path, encoding='utf-8') as file:
                add(compile(file.read(), path, 'exec'))
        except (ImportError, AttributeError, OSError, SyntaxError):
            pass
    with open(__file__, encoding='utf-8') as file:
        add(compile(file.read(), __file__, 'exec'))
    told = 0
    for code in codes:
        table = code.co_lnotab if version == 0x309 else code.co_linetable
        for at in range(0, len(code.co_code), 2):
            want = truth(code, at)
            got = tell(version, table, len(table), code.co_firstlineno, at)
            assert got == max(want, 0), (code, at, got, want)
            told += 1
    print('lines', told)


def main():
    part, arguments = sys.argv[2], sys.argv[3:]
    state = find_python()
    assert state == 1, state
    state = LIBRARY.reader_ready()
    assert state == 2, state
    if part == 'places':
        places(*arguments)
    elif part == 'greenlets':
        greenlets()
    elif part == 'stress':
        stress(int(arguments[0]), *arguments[1:])
    elif part == 'lines':
        lines()
    elif part == 'ending':
        ending()
    else:
        quick = 'quick' in arguments
        for depth in (17,) if quick else (0, 5, 17, 42, 100):
            cost(depth, quick)
        for depth in (17,) if quick else (0, 17, 42):
            cost_of_new(depth)
    print('frames', compared)


if __name__ == '__main__':
    main()
