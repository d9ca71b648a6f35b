# SPDX-License-Identifier: Apache-2.0
"""Steps whose work a library's thread of its own gives and reads, which runs no Python, while this one waits for it.

waits.py LIBRARY STEPS [MOVES]: MOVES=1: it does not wait, and is at another line each time.
"""
import ctypes
import sys

library = ctypes.CDLL(sys.argv[1])
moves = len(sys.argv) > 3


def read():
    return library.read_result()


def step():
    library.launch()
    return read()


def moving(number):
    library.launch()
    library.ask()
    exec("\n" * (number % 97) + "library.busy()")  # at a line of its own
    library.answered()


library.start()
for i in range(int(sys.argv[2])):
    moving(i) if moves else step()
library.end()
