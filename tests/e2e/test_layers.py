# SPDX-License-Identifier: Apache-2.0
"""One direction: layers.txt and what the core may use are held by the build, which fails where a file breaks them, and neither
files nor folders need one another in circles."""
import os
import re
import shutil
import subprocess

import pytest

from conftest import BUILD, ROOT, cuda_include

TOPS = {'shim': 'guest', 'report': 'host'} # and the objects of each, with the core's
MOST = 5                                   # files that may need one another
NM = os.environ.get('NM', 'nm')


# ---- circles ----

def circles(graph):
    """The sets of nodes that reach one another, of more than one node, by Tarjan; graph: node -> nodes."""
    index, low, stack, found = {}, {}, [], []

    def visit(v):
        index[v] = low[v] = len(index)
        stack.append(v)
        for w in graph.get(v, ()):
            if w not in index:
                visit(w)
            if w in stack:
                low[v] = min(low[v], low[w])
        if low[v] == index[v]:
            at = stack.index(v)
            if len(stack) - at > 1:
                found.append(sorted(stack[at:]))
            del stack[at:]

    for v in sorted(graph):
        if v not in index:
            visit(v)
    return found


def by_includes(top, root=ROOT):
    """Of each file of ours, those that it includes."""
    graph = {}
    for path in (f for pattern in ('*.c', '*.h', '*.cpp', '*.S') for f in (root / top).rglob(pattern)):
        text = path.read_text()
        graph[str(path.relative_to(root))] = set(re.findall(r'^#include "([^"]*/[^"]*)"', text, re.M))
    return graph


def by_units(top):
    """The same of each header together with the source of its name."""
    graph = {}
    for path, to in by_includes(top).items():
        unit = os.path.splitext(path)[0]
        graph.setdefault(unit, set()).update({os.path.splitext(name)[0] for name in to} - {unit})
    return graph


def by_symbols(top):
    """Of each object, those that define what it needs."""
    base = BUILD / TOPS[top]
    objects = {o for folder in (top, 'shim/core') for o in (base / folder).rglob('*.o')}
    names = {o: str(o.relative_to(base).with_suffix('')) for o in objects}
    names = {o: name for o, name in names.items() # not what is left of a file that went
             if any((ROOT / name).with_suffix(suffix).exists() for suffix in ('.c', '.cpp', '.S'))}
    assert len(names) > 50
    defined = {}
    out = subprocess.run([NM, '-A', *names], stdout=subprocess.PIPE, check=True, universal_newlines=True).stdout
    needs = {name: set() for name in names.values()}
    of = {str(o): name for o, name in names.items()}
    for line in out.splitlines():
        o, _, rest = line.partition(':')
        kind, symbol = rest.split()[-2:]
        if kind in 'Uw':
            needs[of[o]].add(symbol)
        elif kind.isupper():
            defined[symbol] = of[o]
    return {v: {defined[s] for s in to if s in defined} - {v} for v, to in needs.items()}


def of_folders(graph):
    folders = {}
    for v, to in graph.items():
        folder = os.path.dirname(v)
        folders.setdefault(folder, set()).update({os.path.dirname(w) for w in to} - {folder})
    return folders


def test_circles_are_found():
    graph = {'a': {'b'}, 'b': {'c', 'd'}, 'c': {'a'}, 'd': {'e'}, 'e': {'d', 'f'}, 'f': set()}
    assert sorted(circles(graph)) == [['a', 'b', 'c'], ['d', 'e']]


@pytest.mark.parametrize('top', TOPS)
@pytest.mark.parametrize('graph_of', [by_includes, by_units, by_symbols])
def test_no_large_circle(graph_of, top):
    graph = graph_of(top)
    assert [c for c in circles(graph) if len(c) > MOST] == []
    assert circles(of_folders(graph)) == []


# ---- the file's structures ----

# Rooms of the reporter that read what is in the file. Words for work, memory, causes and the like (enumerations) are everybody's.
SEE_THE_FILE = 'report/reader', 'report/model'
ABOVE = sorted(folder for folder in {str(f.parent.relative_to(ROOT)) for f in (ROOT / 'report').rglob('*.c')}
               if not folder.startswith(SEE_THE_FILE))


def structures_above(root=ROOT):
    """FILE:LINE: NAME of structures, functions and numbers of the format that other rooms name."""
    headers = '\n'.join(f.read_text() for f in (root / 'shim/core/format').glob('*.h'))
    numbers = set(re.findall(r'^#define (TF_\w+)', headers, re.M))
    words = set(re.findall(r'^enum (tf_\w+)', headers, re.M))
    for path in sorted(f for f in (root / 'report').rglob('*') if f.suffix in ('.c', '.h', '.def')):
        name = str(path.relative_to(root))
        if os.path.dirname(name).startswith(SEE_THE_FILE):
            continue
        for number, line in enumerate(path.read_text().splitlines(), 1):
            yield from (f'{name}:{number}: {word}' for word in re.findall(r'\b(?:tf|TF)_\w+', line)
                        if word in numbers or (word.startswith('tf_') and word not in words))


def test_the_files_structures_stay_below():
    assert list(structures_above()) == []


@pytest.mark.parametrize('text, found', [
    ('const struct tf_record *r;', ['tf_record']), ('if (a->flags & TF_CAPTURED)', ['TF_CAPTURED']), ('k = tf_entry(&m);', ['tf_entry']),
    ('enum tf_work_kind kind = TF_WORK_COPY;', []), ('int stf_x, TF_WORK_NONE;', [])])
def test_structures_above_are_found(tree, text, found):
    line = planted(tree, 'report/analysis/flow/flow.c', text)
    assert list(structures_above(tree)) == [f'report/analysis/flow/flow.c:{line}: {name}' for name in found]


def test_no_room_above_may_name_structures(tree):
    """One planted in each."""
    assert {'report/calibrate', 'report/cli', 'report/gate', 'report/output/export'} < set(ABOVE)
    lines = {folder: planted(tree, f'{folder}/planted.c', 'struct tf_header *h;') for folder in ABOVE}
    assert sorted(structures_above(tree)) == sorted(f'{folder}/planted.c:{line}: tf_header' for folder, line in lines.items())


# ---- what breaks the build ----

@pytest.fixture
def tree(tmp_path):
    """A copy of what check_layers looks at."""
    for name in 'shim', 'report':
        shutil.copytree(ROOT / name, tmp_path / name)
    for name in 'layers.txt', 'scripts/check_layers', 'scripts/check_core', 'Makefile':
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def check_layers(tree, *tops):
    p = subprocess.run(['scripts/check_layers', *tops], cwd=tree, stderr=subprocess.PIPE, universal_newlines=True)
    assert p.returncode == bool(p.stderr)
    return p.stderr.splitlines()


def test_tree_keeps_to_its_layers(tree):
    assert check_layers(tree) == []


def planted(tree, path, text):
    """Adds lines to a file; the number of the last one."""
    path = tree / path
    path.parent.mkdir(exist_ok=True)
    with path.open('a') as f:
        f.write(text + '\n')
    return len(path.read_text().splitlines())


@pytest.mark.parametrize('path, text, what', [
    ('report/base/alloc.c', '#include "report/cli/commands.h"', 'report/base may not include report/cli'),
    ('report/model/model.c', '# include "report/analysis/analysis.h"', 'report/model may not include report/analysis'),
    ('shim/core/work/slices.c', '#include "shim/base/clock.h"', 'shim/core/work may not include shim/base'),
    ('report/output/text/out_text.c', '#include "report/gate/rules_internal.h"',
     'report/gate/rules_internal.h is of report/gate alone'),
    ('report/base/alloc.c', '#include "text.h"', '"text.h" is no path from the root of the tree'),
    ('report/base/alloc.c', '#include "../base/text.h"', '"../base/text.h" is no path from the root of the tree'),
    ('report/base/alloc.c', '#include "report/base/nothing.h"', '"report/base/nothing.h" is no path from the root of the tree'),
])
def test_planted_include(tree, path, text, what):
    line = planted(tree, path, text)
    wrong, = check_layers(tree)
    assert wrong.startswith(f'{path}:{line}: {what}')
    assert check_layers(tree, 'shim' if path.startswith('report') else 'report') == []


def test_planted_folder(tree):
    planted(tree, 'report/new/new.c', 'int new;')
    assert check_layers(tree) == ['report/new/new.c:1: no line of layers.txt is of report/new']


def test_planted_circle(tree):
    planted(tree, 'layers.txt', 'report/base: report/cli')
    wrong, = check_layers(tree)
    assert re.match(r'layers\.txt:\d+: a circle: report.* -> report/base -> ', wrong + ' -> ')


def test_planted_line(tree):
    line = planted(tree, 'layers.txt', 'report/gone: report/base')
    assert check_layers(tree) == [f'layers.txt:{line}: there is no folder report/gone']


@pytest.mark.parametrize('target', ['cudaspy', 'libcudaspy.so'])
def test_build_checks(tree, target):
    """Without a tree that builds: what make would run, and that it fails when it does."""
    for name in 'tests', 'cuda_samples':
        (tree / name).symlink_to(ROOT / name)
    env = {k: v for k, v in os.environ.items() if k not in ('MAKEFLAGS', 'O')}
    env['CUDA_HOME'] = os.path.dirname(cuda_include())
    plan = subprocess.run(['make', '-n', f'build/{target}'], cwd=tree, env=env, stdout=subprocess.PIPE, check=True,
                          universal_newlines=True).stdout
    assert 'scripts/check_layers' in plan
    assert ('scripts/check_core' in plan) == (target == 'libcudaspy.so')
    line = planted(tree, 'report/base/alloc.c', '#include "report/cli/commands.h"')
    p = subprocess.run(['make', 'build/layers.ok'], cwd=tree, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                       universal_newlines=True)
    assert p.returncode and f'report/base/alloc.c:{line}: ' in p.stderr
    assert not (tree / 'build/layers.ok').exists()


# ---- what the core may use ----

def check_core(*objects):
    core = [BUILD / 'guest' / f.relative_to(ROOT).with_suffix('.o') for f in (ROOT / 'shim/core').rglob('*.c')]
    objects = [*core, *objects]
    return subprocess.run([ROOT / 'scripts/check_core', NM, *objects], cwd=ROOT, stderr=subprocess.PIPE,
                          universal_newlines=True)


@pytest.mark.parametrize('source, what', [
    ('void *malloc(unsigned long); void *f(void) { return malloc(8); }', 'malloc is not in'),
    ('int printf(const char *, ...); void f(void) { printf("%d", 1); }', 'printf is not in'),
    ('int snprintf(char *, unsigned long, const char *, ...); void f(char *s) { snprintf(s, 9, "%d", 1); }',
     'snprintf is not in'), # the options' alone
    ('int count; void f(void) { count++; }', 'count can be written to (.bss)'),
    ('int f(void) { static int count = 1; return count++; }', 'can be written to (.data)'),
    ('_Thread_local int count; void f(void) { count++; }', 'can be written to (.tbss)'),
])
def test_planted_in_core(tmp_path, source, what):
    (tmp_path / 'work').mkdir()
    made = tmp_path / 'work/planted.o'
    subprocess.run([os.environ.get('CC', 'gcc'), '-fPIC', '-O2', '-fno-builtin', '-x', 'c', '-', '-c', '-o', made],
                   input=source, check=True, universal_newlines=True)
    p = check_core(made)
    assert p.returncode == 1
    wrong = p.stderr.splitlines()
    assert all(line.startswith(f'{made}: ') for line in wrong) and any(what in line for line in wrong)


def test_core_keeps_to_its_list(tmp_path):
    assert check_core().stderr == ''
    made = tmp_path / 'constant.o'
    subprocess.run([os.environ.get('CC', 'gcc'), '-fPIC', '-x', 'c', '-', '-c', '-o', made], check=True, universal_newlines=True,
                   input='extern const char *const names[]; const char *const names[] = {"a", "b"};')
    assert check_core(made).returncode == 0
