# SPDX-License-Identifier: Apache-2.0
"""No option is ignored: with each format it changes what is written, or is an error that says where it belongs.

The options are those of the program's own table (`cudaspy help --raw`): a new one is tried without a line here, but for a value
that changes something where its words do not give one (VALUES).
"""
import os
import re
import subprocess

import pytest

from conftest import BUILD, REPORTER, ROOT, SAMPLES, SHIM, SIM, environment

IGNORED = re.compile(r'cudaspy: \w+: --[\w-]+ (changes nothing (in|beside|with) |goes with \w+)')

VALUES = {
    'report': {'format': 'text', 'limit': '1', 'top': '1', 'color': 'always', 'skip-steps': '5', 'steps-from': 'forward',
               'phase': 'all', 'unit-per-step': '8',
               'expect-kernel': 'no such kernel', 'what-if': 'no-sync', 'output': 'out', 'sort': 'name', 'table': 'kernels',
               'names': 'mangled', 'source-root': '.'},
    'diff': {'format': 'text', 'limit': '1', 'steps': '7', 'skip-steps': '5', 'steps-from': 'forward', 'output': 'out'},
    'export': {'format': 'csv', 'table': 'kernels', 'steps-from': 'forward', 'output': 'out'},
    'check': {'format': 'text', 'source-root': '.', 'config': 'rules.toml', 'limit': 'launches <= 1', 'expect-kernel': 'no such kernel', 'steps': '7',
              'skip-steps': '5', 'steps-from': 'forward', 'save-baseline': 'saved', 'output': 'out', 'explain': 'syncs <= 1'},
}
# What no recording here has anything for, with the formats it is for and the test of it.
ELSEWHERE = {
    ('report', 'no-pager'): (('text',), 'test_report_screen.py'),
    ('report', 'source-root'): (('text', 'md', 'json'), 'test_sites.py'),
    ('export', 'steps-from'): (('sqlite',), 'test_export_sqlite.py: into a file alone'),
    ('check', 'source-root'): (('json', 'github'), 'test_sites_compared.py'),
}
# Recordings are named with these, and before them.
NAMED = {'diff': ('base', 'new'), 'check': ('baseline',)}


def table():
    """{command: ({option: takes a value}, {option: words})}"""
    out = subprocess.run([REPORTER, 'help', '--raw'], stdout=subprocess.PIPE, check=True, universal_newlines=True).stdout
    found, command = {}, None
    for line in out.splitlines():
        kind, *fields = line.split('\t')
        if kind == 'command':
            command = found.setdefault(fields[0], ({}, {}))
        elif kind == 'option':
            command[0][fields[0]] = bool(fields[2])
        elif kind == 'word':
            command[1].setdefault(fields[1], []).append(fields[2])
    return found


TABLE = table()


def many_sites(folder):
    """A program that waits at 300 places: the JSON has 200 of them without --sites."""
    program = folder / 'program'
    source = '#include "tests/e2e/programs/work.h"\nint main(void)\n{\n\twork_start();\n' + 300 * '\tCHECK(cuCtxSynchronize());\n' + '\treturn 0;\n}\n'
    subprocess.run(['gcc', '-x', 'c', '-', '-o', program, '-w', f'-I{ROOT}', f'-I{os.environ["CUDA_INC"]}', f'-L{SIM}', '-lcuda'],
                   input=source.encode(), check=True)
    return program


@pytest.fixture(scope='module')
def recordings(tmp_path_factory):
    """Those in which each option has something to change: a name and a file each."""
    folder = tmp_path_factory.mktemp('recordings')

    def record(name, program, *args, status=(0,), **variables):
        to = folder / name
        to.mkdir()
        p = subprocess.run([program, *map(str, args)], env=environment(to, CUDASPY_QUIET=1, **variables), cwd=to, timeout=120,
                           stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        assert p.returncode in status
        return next(to.glob('*.cudaspy'))

    programs = BUILD / 'tests/e2e'
    nvtx = {'NVTX_INJECTION64_PATH': SHIM} if (programs / 'nvtx_ranges').exists() else {}
    return [record('waits', SAMPLES / 'sim/sync_every_step', 400, CUDASPY_GPU='sample'),
            record('ranges', programs / 'steps', 40, 'log', **nvtx),
            record('more', programs / 'steps', 60, 'launch', 'alloc', **nvtx),
            record('phases', programs / 'phases', 3, CUDASPY_GPU='sample', status=(0, 1, 2)),
            record('crowd', programs / 'crowd', 40, 5, status=(0, 1, 2)),
            record('longer', SAMPLES / 'sim/sync_every_step', 500),
            record('sites', many_sites(folder), CUDASPY_SITES='all'),
            record('killed', programs / 'steps', 40, 'kill', status=(-9,))]


@pytest.fixture(scope='module')
def ask(tmp_path_factory, recordings):
    """ask('report', 'json', option) -> [(status, stdout, stderr)], one for each way to ask; each asked once."""
    folder = tmp_path_factory.mktemp('asked')
    (folder / 'rules.toml').write_text('limits = ["syncs <= 3"]\n')
    base = folder / 'base.json'
    subprocess.run([REPORTER, 'check', '--save-baseline', base, recordings[1]], check=True)
    ways = {'report': [[r] for r in recordings],
            'export': [[r] for r in recordings],
            'diff': [[recordings[1], recordings[2]], [recordings[0], recordings[5]]],
            'check': [['-b', base, '-l', 'launches_per_step <= +0', r] for r in recordings[1:]] + [['-b', base, recordings[1]], ['-l', 'launches <= 1000', recordings[-1]], []]}
    cache = {}

    def go(command, form, *option):
        key = command, form, option
        if key not in cache:
            cache[key] = []
            for way in ways[command]:
                p = subprocess.run([REPORTER, command, '--format', form, *option, *map(str, way)], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, cwd=folder, timeout=120, stdin=subprocess.DEVNULL,
                                   env={k: v for k, v in os.environ.items() if k != 'COLUMNS'})
                cache[key].append((p.returncode, p.stdout, p.stderr.decode()))
                for name in {'out', 'saved'} & {f.name for f in folder.iterdir()}:
                    (folder / name).unlink()
        return cache[key]

    return go


def value_of(command, option):
    """One that is not the default; of words the last."""
    takes, words = TABLE[command]
    if not takes[option]:
        return f'--{option}'
    value = VALUES[command].get(option) or words.get(option, [None])[-1]
    assert value, f'--{option} of {command}: VALUES needs a value that changes something'
    return f'--{option}={value}'


CASES = [(command, form, option) for command in ('report', 'diff', 'check', 'export') for form in TABLE[command][1]['format']
         for option in TABLE[command][0] if option not in NAMED.get(command, ())]


@pytest.mark.parametrize('command, form, option', CASES, ids=['-'.join(c) for c in CASES])
def test_an_option_changes_something_or_is_an_error(ask, command, form, option):
    if option == 'format':
        return # of itself the last counts
    if option == 'steps-from' and not (BUILD / 'tests/e2e/nvtx_ranges').exists():
        pytest.skip('NVTX headers are not there (scripts/setup --test fetches them): programs with ranges were not built')
    if form in ELSEWHERE.get((command, option), [()])[0]:
        return
    without, given = ask(command, form), ask(command, form, value_of(command, option))
    refused = [status == 2 and not out and IGNORED.match(err) for status, out, err in given]
    assert all(refused) or (not any(refused) and given != without), given[0][1][:2000]


@pytest.mark.parametrize('args, part', [
    (['report', '--table', 'kernels'], '--table changes nothing in --format text: it is for csv'),
    (['report', '-f', 'csv', '--names', 'full'], '--names changes nothing in --format csv --table apis: it is for text, md and csv:kernels'),
    (['report', '-f', 'json', '--full-names'], '--full-names changes nothing in --format json'),
    (['report', '-f', 'csv', '--table', 'copies', '--sort', 'name'], '--sort changes nothing in --format csv --table copies'),
    (['diff', '-f', 'json', '--all', 'a', 'b'], '--all changes nothing in --format json'),
    (['check', '--metrics', '-f', 'json'], '--format changes nothing beside --metrics'),
    (['check', '--explain', 'syncs <= 1', '-l', 'syncs <= 2'], '--limit changes nothing beside --explain'),
    (['check', '--save-baseline', 'x', '-f', 'json', 'a'], '--format changes nothing beside --save-baseline'),
    (['check', '--metrics', 'a'], 'a: --metrics judges no recording'),
    (['run', '--force', 'true'], '--force changes nothing without --output'),
    (['run', '--trace-max', '1G', 'true'], '--trace-max changes nothing without --trace'),
    (['run', '--gpu', 'off', '--budget', '2', 'true'], '--budget changes nothing with --gpu off'),
])
def test_what_it_says(tmp_path, args, part):
    p = subprocess.run([REPORTER, *args], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True,
                       env={k: v for k, v in os.environ.items() if not k.startswith('CUDASPY')})
    assert p.returncode == 2 and p.stderr.startswith(f'cudaspy: {args[0]}: {part}'[:9]) and part in p.stderr, p.stderr
    assert len(p.stderr.splitlines()) == 1 and not p.stdout
