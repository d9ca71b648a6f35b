# SPDX-License-Identifier: Apache-2.0
"""`cudaspy report --format html` and `cudaspy run --html`, in a headless Chromium.

The page is held against the JSON report that it carries. Without a browser the tests that need one are skipped, with the
reason.
"""
import json
import os
import re
import stat
import subprocess

import pytest

import browser as chromium
from conftest import REPORTER, SAMPLES, SHIM, VIRTUAL_TIME, environment, report

MOST_BYTES = 2 << 20
# As the verdicts' tests have it: copies cost what the simulation says.
SIMULATED = {'SIM_DATA_MIB': '0', 'SIM_LATENCY_NS': '6000', 'CUDASPY_GPU': 'sample', **VIRTUAL_TIME}


def page_of(folder, *recordings, options=()):
    """The page of recordings, in a file."""
    path = folder / f'page-{len(list(folder.glob("page-*")))}.html'
    p = subprocess.run([REPORTER, 'report', '-f', 'html', '-o', path, *options, *recordings], stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE, universal_newlines=True, timeout=120)
    assert p.returncode == 0, p.stderr
    assert not p.stdout
    assert path.stat().st_size <= MOST_BYTES
    return path


def data_of(path):
    text = path.read_text()
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S)[1])


@pytest.fixture(scope='module')
def record(tmp_path_factory):
    """record('many_tiny_launches') -> its recording; once for all the tests that look at it."""
    cache = {}

    def go(program, *args, name=None, **variables):
        key = name or program
        if key not in cache:
            folder = tmp_path_factory.mktemp('recording')
            path = SAMPLES / 'sim' / program
            env = environment(folder, **{**SIMULATED, **variables})
            p = subprocess.run([path, *map(str, args)], env=env, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, timeout=120)
            assert p.returncode == 0, p.stderr
            cache[key], = folder.glob('*.cudaspy')
        return cache[key]

    return go


@pytest.fixture(scope='module')
def browser():
    if not chromium.find():
        pytest.skip('no chromium here (scripts/setup --test installs it): pages are not looked at')
    try:
        started = chromium.Browser()
        started.call('Browser.getVersion')
    except (OSError, chromium.Broken) as e:
        pytest.skip(f'chromium does not start here: {str(e)[-300:]}')
    with started:
        yield started


@pytest.fixture
def show(browser, tmp_path):
    """show(RECORDING...) opens their page."""
    pages = []

    def go(*recordings, options=(), **view):
        page = browser.open(page_of(tmp_path, *recordings, options=options), **view)
        pages.append(page)
        return page

    yield go
    for page in pages:
        page.close()


# ---- the file -------------------------------------------------------------------------------------------------------------

def test_the_page_carries_the_json_report(record, tmp_path):
    recording = record('sync_every_step')
    p = subprocess.run([REPORTER, 'report', '-f', 'json', '--what-if', 'all', recording], stdout=subprocess.PIPE, check=True)
    assert data_of(page_of(tmp_path, recording))['report'] == json.loads(p.stdout)


def test_run_writes_the_page_beside_the_recording(tmp_path):
    env = {**environment(tmp_path, preload=()), 'CUDASPY_LIB': str(SHIM)}
    p = subprocess.run([REPORTER, 'run', '--html', '--', SAMPLES / 'sim/vector_add', '20'], env=env, cwd=tmp_path, timeout=120,
                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
    assert p.returncode == 0, p.stderr
    recording, = tmp_path.glob('*.cudaspy')
    page = recording.with_suffix('.html')
    assert f'cudaspy: page: {page}' in p.stderr.splitlines()
    assert data_of(page)['report']['totals']['launches'] == report(recording)['totals']['launches']


def test_a_page_that_cannot_be_written_leaves_the_old_one(record, tmp_path):
    recording, old = record('sync_every_step'), tmp_path / 'old.html'
    old.write_text('old')
    full = subprocess.run(['bash', '-c', 'ulimit -f 8; trap "" XFSZ; exec "$@"', '-', REPORTER, 'report', '-f', 'html', '-o', old,
                           recording], stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
    assert full.returncode == 2
    assert full.stderr == f'cudaspy: {old}: File too large\n'
    assert old.read_text() == 'old'
    assert os.listdir(tmp_path) == ['old.html']


@pytest.mark.parametrize('name, why', [('none/page.html', 'No such file or directory'), ('.', 'Is a directory')])
def test_an_output_path_that_is_none(record, tmp_path, name, why):
    p = subprocess.run([REPORTER, 'report', '-f', 'html', '-o', tmp_path / name, record('sync_every_step')],
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
    assert p.returncode == 2
    assert p.stderr == f'cudaspy: {tmp_path / name}: {why}\n'
    assert not os.listdir(tmp_path)


def test_output_follows_links_and_keeps_rights(record, tmp_path):
    page, link = tmp_path / 'page.html', tmp_path / 'link.html'
    page.write_text('old')
    page.chmod(0o640)
    link.symlink_to(page)
    subprocess.run([REPORTER, 'report', '-f', 'html', '-o', link, record('sync_every_step')], check=True)
    assert link.is_symlink()
    assert page.read_text().startswith('<!DOCTYPE html>')
    assert stat.S_IMODE(page.stat().st_mode) == 0o640


# ---- in a browser ---------------------------------------------------------------------------------------------------------

def test_it_shows_the_verdict_and_asks_for_nothing(record, show):
    page = show(record('sync_every_step'))
    assert page.console == []
    assert len(page.requests) == 1 and page.requests[0].startswith('file://')
    assert 'sync-bound' in page.eval('document.querySelector(".chips").innerText')
    assert page.eval('document.querySelector("h1").innerText').startswith('The host waits for the GPU')
    assert 'Simulated GPU' in page.eval('document.querySelector(".alert").innerText')
