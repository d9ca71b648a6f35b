# SPDX-License-Identifier: Apache-2.0
"""Call sites of one run against another: diff, check, annotations."""
import json
import os

import pytest

from call_sites import HERE, interpreters, recording_of, run_python, run_reporter

EDITED = ("    item()\n    allocate()", "    item()\n    cuda.cuCtxSynchronize()\n    allocate()")
LOOP = '''
def step():
    item()
    allocate()


if __name__ == '__main__':
    start()
    for i in range(40):
        step()
    print(os.getpid())
'''


@pytest.fixture
def edited(tmp_path):
    """Two recordings of a program, which has one more wait in the second, and its text."""
    python = interpreters().get('3.11') or next(iter(interpreters().values()))
    text = (HERE / 'planted.py').read_text().split('def nested')[0] + LOOP
    recordings, texts = [], [text, text.replace(*EDITED).replace('import gc', 'import gc\nimport re')]
    for i, text in enumerate(texts):
        folder = tmp_path / f'checkout{i}'
        folder.mkdir()
        (folder / 'loop.py').write_text(text)
        p = run_python(python, tmp_path, folder / 'loop.py', CUDASPY_SITES='all')
        recordings.append(recording_of(tmp_path, p.stdout.strip()))
    return recordings, texts[1]


def line_of(text, what):
    return text.splitlines().index(what) + 1


def test_diff_tells_places_that_appeared(edited):
    (before, after), text = edited

    def sites_of(*recordings):
        """Those of the loop: a late collector sees no Python in the start-up's."""
        found = json.loads(run_reporter('diff', '-f', 'json', *recordings))['sites']
        return [s for s in found if s['function'] not in (None, 'start')]

    sites = sites_of(before, after)
    new, = [s for s in sites if s['presence'] == 'appeared']
    assert (new['api'], new['function'], new['before']) == ('cuCtxSynchronize', 'step', None)
    assert new['after']['calls'] == 40 and new['after']['line'] == line_of(text, '    cuda.cuCtxSynchronize()')
    assert not [s for s in sites if s['presence'] == 'vanished']
    item, = [s for s in sites if s['function'] == 'item'] # its lines moved
    assert item['before']['calls'] == item['after']['calls'] == 40 and item['after']['line'] == item['before']['line'] + 1
    page = run_reporter('diff', before, after, env={**os.environ, 'COLUMNS': '200'})
    assert f'loop.py:{new["after"]["line"]} in step' in page
    assert [s['function'] for s in sites_of(after, before) if s['presence'] == 'vanished'] == ['step']


@pytest.mark.parametrize('against', ['recording', 'baseline'])
def test_check_names_the_line(edited, tmp_path, against):
    (before, after), text = edited
    if against == 'baseline':
        run_reporter('check', '--save-baseline', tmp_path / 'base.json', before)
        before = tmp_path / 'base.json'
    line = line_of(text, '    cuda.cuCtxSynchronize()')
    rule, = json.loads(run_reporter('check', '-b', before, '-l', 'syncs <= +0', '-f', 'json', after, status=1))['rules']
    site = rule['site']
    assert (site['kind'], site['function'], site['line'], site['calls']) == ('wait', 'step', line, 40)
    assert site['appeared'] is True and site['calls_before'] is None
    assert f'at loop.py:{line} in step: 40 cuCtxSynchronize' in rule['message']
    rule, = json.loads(run_reporter('check', '-b', before, '-l', 'alloc_calls <= +0', '-f', 'json', after))['rules']
    assert rule['site'] is None # it passed


def test_annotations_stand_at_the_line(edited, tmp_path):
    (before, after), text = edited
    line = line_of(text, '    cuda.cuCtxSynchronize()')
    args = 'check', '-b', before, '-l', 'syncs <= +0', '-f', 'github', after
    out = run_reporter(*args, status=1, cwd=tmp_path)
    assert out.startswith(f'::error file=checkout1/loop.py,line={line},title=')
    env = {**os.environ, 'GITHUB_WORKSPACE': f'{tmp_path}/checkout1/'}
    assert run_reporter(*args, status=1, env=env).startswith(f'::error file=loop.py,line={line},')
    (tmp_path / 'other').mkdir()
    (tmp_path / 'other' / 'loop.py').write_text(text)
    env['GITHUB_WORKSPACE'] = str(tmp_path / 'other')
    out = run_reporter(*args, '--source-root', tmp_path / 'other', status=1, env=env)
    assert out.startswith(f'::error file=loop.py,line={line},')


def test_check_without_sites(edited, tmp_path):
    """Of a baseline that knows none, and of rules that no line is about."""
    (before, after), _ = edited
    base = tmp_path / 'base.json'
    run_reporter('check', '--save-baseline', base, before)
    old = json.loads(base.read_text())
    del old['sites']
    base.write_text(json.dumps(old))
    rule, = json.loads(run_reporter('check', '-b', base, '-l', 'syncs <= +0', '-f', 'json', after, status=1))['rules']
    assert rule['site']['appeared'] is None and rule['site']['kind'] == 'wait'
    rule, = json.loads(run_reporter('check', '-l', 'calls <= 1', '-f', 'json', after, status=1))['rules']
    assert rule['site'] is None
    assert json.loads(run_reporter('diff', '-f', 'json', base, after))['sites'] is None


@pytest.mark.parametrize('sites', ['x', {}, [1, None, {}], [{'kind': 'wait'}], [{'kind': 'wait', 'api': 'a', 'where': 'b', 'line': -1,
                         'calls': 'x', 'api_ns': [1], 'file': 5, 'thread': '\\x1b'}] * 300])
def test_hostile_sites_in_a_baseline(edited, tmp_path, sites):
    (before, after), _ = edited
    base = tmp_path / 'base.json'
    run_reporter('check', '--save-baseline', base, before)
    base.write_text(json.dumps({**json.loads(base.read_text()), 'sites': sites}))
    json.loads(run_reporter('check', '-b', base, '-l', 'syncs <= +0', '-f', 'json', after, status=1))
    run_reporter('diff', base, after)
