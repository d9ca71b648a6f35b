# SPDX-License-Identifier: Apache-2.0
"""The reporter on damaged and hostile recordings: a bounded run of the fuzzer, from its seeds and what it kept."""
import os
import subprocess

import pytest

from conftest import BUILD, ROOT


def test_a_bounded_run_finds_nothing():
    env = {k: v for k, v in os.environ.items() if k not in ('MAKEFLAGS', 'MAKELEVEL', 'MFLAGS', 'O')}
    p = subprocess.run(['make', '--no-print-directory', f'-j{os.cpu_count() or 1}', f'O={BUILD}', 'fuzz', f'FUZZ_SECONDS={env.get("FUZZ_SECONDS", 20)}'],
                       cwd=ROOT, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=1800,
                       universal_newlines=True, errors='replace')
    if 'skip fuzz' in p.stdout:
        pytest.skip(p.stdout.strip())
    assert p.returncode == 0, p.stdout
    assert 'stat::number_of_executed_units' in p.stdout, p.stdout
