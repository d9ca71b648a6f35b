# SPDX-License-Identifier: Apache-2.0
"""No line of a text report is wider than the terminal, from 40 columns up, whatever kernels, files and folders are called."""
import functools
import os
import subprocess
import unicodedata

import pytest

from conftest import REPORTER, SAMPLES, SHIM, SIM, VIRTUAL_TIME, environment
from test_html import HOSTILE_SOURCE
from test_verdicts import SIMULATED

WIDTHS = [40, 53, 60, 65, 72, 80, 100, 120, 160, 200]
TWICE = [f'{"conv_tile" * 10}_{i}_{"warp" * 20}_{k}_{"tail" * 20}' for i, k in ((1, 'x'), (1, 'y'), (2, 'x'))]
# One word without an end; names alike at both ends; many arguments; characters of two columns each.
KERNELS = ['k' * 900, *(f'{"gemm_tile" * 20}_{i}_{"stage" * 30}' for i in range(3)), '_ZN2at6native' + '28vectorized_elementwise_kernel' * 9 + 'E',
           *TWICE, '漢字' * 60, 'e\u0301' * 150]
FOLDER = 'a-folder-whose-name-is-longer-than-most-terminals-are-wide-and-has-no-blank-anywhere-in-it-at-all/' * 2


def columns(line):
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in 'WF' else 1 for c in line)


def text(*args, width, status=(0,)):
    env = {**os.environ, 'COLUMNS': str(width)}
    p = subprocess.run([REPORTER, *map(str, args)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120, env=env)
    assert p.returncode in status, p.stderr.decode()
    return p.stdout.decode()


def check_width(*args, status=(0,), widths=WIDTHS):
    for width in widths:
        out = text(*args, width=width, status=status)
        assert out.strip()
        assert [line for line in out.split('\n') if columns(line) > width] == [], f'{args} at {width} columns:\n{out}'


@pytest.fixture
def hostile(compile_c, tmp_path):
    """A recording of kernels with such names, in such a folder, of a program in it."""
    folder = tmp_path / FOLDER
    folder.mkdir(parents=True)
    program = folder / ('program_' * 20)
    compile_c(HOSTILE_SOURCE, '-lcuda', name='hostile').rename(program)
    image = folder / 'image'
    image.write_text('simcuda 1\n' + ''.join(f'kernel {n} fixed:5000\n' for n in KERNELS))

    def go(name, steps):
        env = environment(folder, preload=(SHIM,), **{'CUDASPY_GPU': 'sample', **SIMULATED, 'CUDASPY_OUT': str(folder / name)})
        subprocess.run([program, image, str(steps), *KERNELS], env=env, cwd=folder, check=True, timeout=120)
        return folder / name

    return go


def test_hostile_names(hostile):
    one = hostile('one.cudaspy', 300)
    check_width('report', one)
    check_width('report', '--all', one)
    check_width('report', '--sites', one)
    check_width('report', '--what-if', 'graphs', '--expect-kernel', 'gemm', one)
    check_width('diff', one, hostile('two' * 30 + '.cudaspy', 200))
    check_width('check', '--limit', 'syncs <= 20', one, status=(1,))
    base = one.parent / 'base.json'
    text('check', '--save', base, one, width=80)
    check_width('check', '--baseline', base, hostile('three.cudaspy', 250), status=(0, 1, 3))


def test_whole_names_are_whole(hostile):
    """The one exception: who asks for whole names gets them."""
    assert KERNELS[0] in text('report', '--all', '--names', 'full', hostile('one.cudaspy', 300), width=40)


def test_names_that_differ_are_told_apart(hostile):
    """However narrow it is: shown is where they differ; where that is in two places, the name goes on below."""
    one = hostile('one.cudaspy', 300)
    for width in 40, 80:
        out = text('report', '--section', 'kernels', one, width=width)
        assert [i for i in range(3) if f'..{i}_stage' in out] == [0, 1, 2], out
        whole = ''.join(line.strip() for line in out.split('\n'))
        assert [name for name in TWICE if name not in whole] == [], out


# Fewer than the samples do by themselves, where their reports have the same lines with fewer: each is written 15 times.
STEPS = {'many_tiny_launches': 20000, 'pageable_copies': 200, 'graph_replay': 2000, 'alloc_every_step': 3000, 'streams': 500,
         'launch_errors': 10, 'sync_every_step': 4000}


@pytest.fixture(scope='module')
def sample(tmp_path_factory):
    folder = tmp_path_factory.mktemp('width')

    @functools.lru_cache(maxsize=None)
    def go(name, mode):
        sim = f'{SIM}:{SIM}/cupti13' if mode == 'cupti' else SIM
        env = environment(folder, sim=sim, **{'CUDASPY_GPU': mode, **SIMULATED, **VIRTUAL_TIME,
                                              'CUDASPY_OUT': folder / f'{name}-{mode}.cudaspy'})
        subprocess.run([SAMPLES / 'sim' / name, str(STEPS[name])], env=env, cwd=folder, check=True, stdout=subprocess.DEVNULL,
                       timeout=120)
        return folder / f'{name}-{mode}.cudaspy'

    return go


@pytest.mark.parametrize('name', [name for name in STEPS if name != 'sync_every_step'])
@pytest.mark.parametrize('mode', ['sample', 'cupti', 'off'])
def test_samples(sample, name, mode):
    recording = sample(name, mode)
    for args in ['report'], ['report', '--all'], ['diff', sample('sync_every_step', mode)]:
        check_width(*args, recording, widths=[40, 60, 80, 120, 200])


@pytest.mark.parametrize('width', WIDTHS)
@pytest.mark.parametrize('command', ['', 'run', 'report', 'diff', 'bench', 'check', 'export', 'calibrate', 'version'])
def test_help(command, width):
    """Wrapped between words; nothing of it is lost."""
    wide, out = (text('help', *command.split(), width=w) for w in (400, width))
    assert [line for line in out.splitlines() if len(line) > width] == []
    assert out.split() == wide.split()


@pytest.mark.parametrize('width', WIDTHS)
@pytest.mark.parametrize('args', [['--metrics'], ['--explain', 'kernel "gemm" launches_per_step <= +0'],
                                  ['--explain', 'loop.syncs <= 20']])
def test_what_rules_can_be_about(args, width):
    assert [line for line in text('check', *args, width=width).splitlines() if len(line) > width] == []
