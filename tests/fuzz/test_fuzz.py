# SPDX-License-Identifier: Apache-2.0
"""The reporter on damaged and hostile recordings: a bounded run of the fuzzer, from its seeds and what it kept."""
import os

import pytest

from conftest import make


def test_a_bounded_run_finds_nothing():
    p = make('fuzz', f'FUZZ_SECONDS={os.environ.get("FUZZ_SECONDS", 20)}')
    if 'skip fuzz' in p.stdout:
        pytest.skip(p.stdout.strip())
    assert p.returncode == 0, p.stdout
    assert 'stat::number_of_executed_units' in p.stdout, p.stdout
