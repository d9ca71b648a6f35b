# SPDX-License-Identifier: Apache-2.0
"""The CMocka programs: each of their tests is one here, and once more under AddressSanitizer and UBSan."""
import functools
import os
import re
import subprocess

import pytest

from conftest import BUILD, ROOT, SANITIZED, make_sanitized, need_nvtx

SOURCES = sorted((ROOT / 'tests' / 'unit').rglob('test_*.c'), key=lambda source: source.stem)
TESTS = [(source.stem, name) for source in SOURCES
         for name in re.findall(r'\bcmocka_unit_test\w*\(\s*(\w+)', source.read_text())]


@functools.lru_cache(maxsize=None)
def outcome(program):
    """What a program said of each of its tests, its exit status and its output."""
    if program.name == 'test_nvtx':
        need_nvtx()
    # Spans lie on the stack, and which is the outer one shows by where: no stack of AddressSanitizer's own (GCC 14 has it on).
    env = dict(os.environ, ASAN_OPTIONS='detect_leaks=0:detect_stack_use_after_return=0', UBSAN_OPTIONS='print_stacktrace=1')
    env.pop('CMOCKA_MESSAGE_OUTPUT', None)
    if SANITIZED in program.parents: # other cuts than in the plain build, and fewer: each takes longer
        env.setdefault('CUT_STRIDE', '101')
    p = subprocess.run([program], cwd=ROOT, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                       stderr=subprocess.STDOUT, timeout=600, universal_newlines=True, errors='replace')
    said = {name: word for word, name in re.findall(r'^\[ +(OK|SKIPPED|FAILED) +\] (\w+)$', p.stdout, re.M)}
    return said, p.returncode, p.stdout


def report_of(output, name):
    """The part of a program's output that belongs to one test."""
    m = re.search(rf'\[ RUN +\] {name}\n.*?(?=\[ RUN|\[=====|\Z)', output, re.S)
    return m[0] if m else output


@pytest.mark.parametrize('program, name', TESTS, ids=[f'{p}-{n}' for p, n in TESTS])
def test_unit(program, name):
    said, _, output = outcome(BUILD / 'tests' / 'unit' / program)
    if said.get(name) == 'SKIPPED':
        pytest.skip(report_of(output, name))
    assert said.get(name) == 'OK', report_of(output, name)


@pytest.mark.parametrize('program', [s.stem for s in SOURCES])
def test_program_ends_well(program):
    """A program that dies, or that runs none of its tests, is not passed over."""
    said, status, output = outcome(BUILD / 'tests' / 'unit' / program)
    assert said and status == 0, output


@pytest.fixture(scope='module')
def sanitized():
    make_sanitized('unit-build')
    return SANITIZED / 'tests' / 'unit'


@pytest.mark.parametrize('program', [s.stem for s in SOURCES])
def test_sanitized(sanitized, program):
    said, status, output = outcome(sanitized / program)
    assert said and status == 0, output
    assert 'runtime error' not in output and 'Sanitizer' not in output, output
