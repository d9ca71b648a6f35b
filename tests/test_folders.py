# SPDX-License-Identifier: Apache-2.0
"""What conftest.py makes of a run, by one of its own: temporary folders, the last line."""
import os
import subprocess
import sys

import pytest

from conftest import ROOT

TESTS = '''
import os, pathlib, tempfile
import pytest

@pytest.fixture(scope='module')
def shared(tmp_path_factory):
    return tmp_path_factory.mktemp('shared')

def test_first(tmp_path, shared):
    (tmp_path / 'closed').mkdir()
    (tmp_path / 'closed/file').write_text('x')
    (tmp_path / 'closed').chmod(0)
    (pathlib.Path(os.environ['TMPDIR']) / 'left').write_text('x')
    assert tempfile.gettempdir() == os.environ['TMPDIR']
    (shared / 'first').write_text(str(tmp_path))

def test_second(tmp_path, shared):
    (tmp_path / 'evidence').write_text('x')
    assert not pathlib.Path((shared / 'first').read_text()).exists()
    assert not os.environ.get('FAIL')

def test_elsewhere():
    pytest.skip('a reason')
'''


def run(tmp_path, fail, *options):
    (tmp_path / 'conftest.py').write_text((ROOT / 'tests/conftest.py').read_text())
    (tmp_path / 'test_it.py').write_text(TESTS)
    (tmp_path / 'T').mkdir()
    env = dict(os.environ, TMPDIR=str(tmp_path / 'T'), FAIL=fail, PYTHONPATH=str(ROOT / 'tests/e2e'))
    p = subprocess.run([sys.executable, '-m', 'pytest', '-q', '-p', 'no:cacheprovider', *options, 'test_it.py'], cwd=tmp_path, env=env,
                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True)
    assert p.returncode == bool(fail), p.stdout
    assert p.stdout.splitlines()[-1] == f'{1 if fail else 2} passed, {1 if fail else 0} failed, 1 skipped'
    left = [f for f in (tmp_path / 'T').rglob('*') if f.is_file()]
    if not fail:
        assert list((tmp_path / 'T').iterdir()) == [], p.stdout
    else: # the folder of the test that failed, and what it shared with others, named
        assert sorted(f.name for f in left) == ['evidence', 'first']
        for file in left:
            assert str(file.parent) in p.stdout


@pytest.mark.parametrize('fail', ['', 'yes'])
def test_what_a_run_leaves(tmp_path, fail):
    run(tmp_path, fail)


@pytest.mark.parametrize('fail', ['', 'yes'])
def test_what_a_run_beside_one_another_leaves(tmp_path, fail):
    pytest.importorskip('xdist', reason='python3-pytest-xdist is not installed: runs tests beside one another')
    run(tmp_path, fail, '--numprocesses=2')
