# SPDX-License-Identifier: Apache-2.0
"""Steps whose work a library's thread of its own gives and reads, which runs no Python, while this one waits for it.

waits.py LIBRARY STEPS [HOW]: "moves": at another line each time; "twice": each step at two lines; "two": another thread of
Python gives work as well; "library": a library of Python waits, at another line each time; "tuned": ahead of the steps there are
more reads of another kind, at another line; "warmed": 16 of the same kind.
"""
import ctypes
import os
import sys
import threading
import time

library = ctypes.CDLL(sys.argv[1])
how = sys.argv[3] if len(sys.argv) > 3 else ''


def read():
    return library.read_result()


def step():
    library.launch()
    return read()


# As if these lines stood below one another.
MOVES = [compile("\n" * (200 + n) + "library.read_result()", __file__, "exec") for n in range(97)]


def moving(number):
    library.launch()
    exec(MOVES[number % 97])


def twice():
    library.launch()
    library.read_result() # the first
    library.read_result() # the second


def by_library(number):
    library.launch()
    exec(compile("\n" * (number % 97) + "library.read_result()", "/lib/python3.99/waiting.py", "exec")) # by a library


def tune():
    library.launch()
    library.tune_result()


def warm():
    library.launch()
    library.read_result() # to warm up


def beside():
    library.enter()
    while not over:
        library.launch()
        begun.set()
        time.sleep(0.0001)


library.start()
if 'SITES_READY' in os.environ: # until the collector has found Python (programs/sites_ready.h)
    ctypes.CDLL(os.environ['SITES_READY']).wait_until_ready()
over = False
other = threading.Thread(target=beside)
begun = threading.Event()
if how == 'two':
    other.start()
    begun.wait()
STEPS = {'moves': moving, 'library': by_library, 'twice': lambda _: twice()}
for i in range(16 if how == 'warmed' else 0):
    warm()
if how == 'tuned':
    for i in range(2 * int(sys.argv[2])):
        tune()
for i in range(int(sys.argv[2])):
    STEPS.get(how, lambda _: step())(i)
over = True
if how == 'two':
    other.join()
library.end()
