# SPDX-License-Identifier: Apache-2.0
"""scripts/lint: the sources hold the house style, and what does not is told."""
import shutil
import subprocess
import sys

import pytest

from conftest import ROOT

LICENCE = 'SPDX-License-Identifier: Apache-2.0'


def lint(root, *arguments):
    p = subprocess.run([sys.executable, root / 'scripts/lint', *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                       stderr=subprocess.STDOUT, universal_newlines=True)
    return p.returncode, p.stdout


def test_the_sources():
    status, out = lint(ROOT)
    assert status == 0, out
    skipped = [line for line in out.splitlines() if line.startswith('skipped: ')]
    if skipped: # the rest was looked at, and passed
        pytest.skip('; '.join(skipped))


@pytest.fixture
def tree(tmp_path):
    """A tree with a source or two of each kind, in which all is well."""
    for name in 'scripts/lint', 'scripts/setup_wheels.txt', '.clang-format':
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    (tmp_path / 'Makefile').write_text(f'# {LICENCE}\n')
    (tmp_path / 'shim').mkdir()
    (tmp_path / 'shim/a.h').write_text(f'/* {LICENCE} */\n#ifndef A_H\n#define A_H\n#endif\n')
    (tmp_path / 'shim/a.c').write_text(f'/* {LICENCE} */\nextern char _end[];\nint a;\n')
    (tmp_path / 'scripts/b.py').write_text(f'#!/usr/bin/env python3\n# {LICENCE}\nprint()\n')
    (tmp_path / 'scripts/c').write_text(f'#!/bin/sh\n# {LICENCE}\necho\n')
    assert lint(tmp_path)[0] == 0, lint(tmp_path)[1]
    return tmp_path


FAULTS = [
    ('shim/licence.c', 'int b;\n', 'licence.c:1: no "/* SPDX'),
    ('shim/layout.c', f'/* {LICENCE} */\nint f(void)\n{{\n    return 1;\n}}\n', 'layout.c:3: not laid out'),
    ('shim/extern.c', f'/* {LICENCE} */\nextern int of_another;\n', 'extern.c:2: a declaration'),
    ('shim/guard.h', f'/* {LICENCE} */\nint b;\n', 'guard.h:1: a header without a guard'),
    ('shim/wrong_guard.h', f'/* {LICENCE} */\n#ifndef A_H\n#define B_H\n#endif\n', 'wrong_guard.h:1: a header without a guard'),
    ('scripts/licence.py', '#!/usr/bin/env python3\nprint()\n', 'licence.py:2: no "# SPDX'),
    ('scripts/syntax.py', f'# {LICENCE}\nif\n', 'syntax.py:2:'),
    ('scripts/unused.py', f'# {LICENCE}\nimport os\n', "'os' imported but unused"),
    ('scripts/twice.py', f'# {LICENCE}\ndef test_a(): pass\ndef test_a(): pass\n', "redefinition of unused 'test_a'"),
    ('scripts/licence', '#!/bin/sh\necho\n', 'licence:2: no "# SPDX'),
    ('scripts/shell', f'#!/bin/sh\n# {LICENCE}\ncd nowhere\n', 'SC2164'),
    ('Makefile', 'all:\n', 'Makefile:1: no "# SPDX'),
]
TOOLS = {'clang-format': 'not laid out', 'pyflakes': 'unused', 'shellcheck': 'SC'}


def test_faults_are_told(tree):
    for path, text, _ in FAULTS:
        (tree / path).write_text(text)
    status, out = lint(tree)
    missing = [of for tool, of in TOOLS.items() if f'no {tool}' in out]
    assert status == 1
    for _, _, told in FAULTS:
        assert told in out or any(of in told for of in missing), out
    assert 'a.h' not in out and 'a.c' not in out, out


def test_what_can_be_mended_is(tree):
    (tree / 'shim/a.c').write_text('int f(void) { return 1; }\n')
    (tree / 'scripts/c').write_text('#!/bin/sh\necho\n')
    lint(tree, '--fix')
    assert lint(tree)[0] == 0
    assert (tree / 'scripts/c').read_text() == f'#!/bin/sh\n# {LICENCE}\necho\n'
    assert (tree / 'shim/a.c').read_text().startswith(f'/* {LICENCE} */\nint f(void)')


def test_a_long_file_of_the_product_is_no_fault(tree):
    (tree / 'shim/a.c').write_text(f'/* {LICENCE} */\n' + 'int a;\n' * 400)
    status, out = lint(tree)
    assert status == 0 and 'a.c:1: note: 401 lines' in out, out


@pytest.mark.skipif(not shutil.which('git'), reason='no git here')
def test_what_is_built_is_not_kept(tree):
    def git(*arguments):
        subprocess.run(['git', '-C', tree, *arguments], check=True, stdout=subprocess.DEVNULL)

    (tree / '.gitignore').write_text('__pycache__/\n')
    (tree / 'scripts/__pycache__').mkdir()
    (tree / 'scripts/__pycache__/b.pyc').write_text('')
    git('init', '-q')
    git('add', '.')
    assert lint(tree)[0] == 0, lint(tree)[1]
    git('add', '-f', 'scripts/__pycache__/b.pyc')
    status, out = lint(tree)
    assert status == 1 and 'scripts/__pycache__/b.pyc:1: is built' in out, out
