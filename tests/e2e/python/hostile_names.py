# SPDX-License-Identifier: Apache-2.0
"""Waits in code whose file and function have names that nobody expects: a line of JSON with the files.

usage: hostile_names.py [MORE...]    file names
"""
import json
import os
import sys

import planted

NAMES = ['x' * 1000000, '\u20ac' * 5000, '/tmp/a\nb.py', '/tmp/\x1b[31mred\x1b[0m.py', 'a;b c 1.py', '\udcff\udc80.py', '', '/tmp/\u202egnp.py',
         '<script>alert(1)</script>.py', 'nul\0here.py', '%0A::error::x.py', '"quoted", comma.py', '\x7f\x9b.py'] + sys.argv[1:]


def main():
    planted.start()
    for name in NAMES:
        space = {}
        exec('def f(g):\n    g()\n', space)
        f = space['f']
        f.__code__ = f.__code__.replace(co_filename=name, co_name=name)
        f(planted.item)
    print(json.dumps({'pid': os.getpid(), 'names': NAMES}))


if __name__ == '__main__':
    main()
