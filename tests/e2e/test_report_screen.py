# SPDX-License-Identifier: Apache-2.0
"""The first screen of `cudaspy report`: 24 lines of 80 columns on every sample, the brief form of at most 4 KB, the pager, colours.

The samples run sampled on the simulated GPU, in virtual time, as in test_verdicts.py.
"""
import errno
import fcntl
import functools
import json
import os
import pty
import re
import signal
import struct
import subprocess
import termios
import time

import pytest

from conftest import BUILD, REPORTER, ROOT, SAMPLES, SHIM, SIM, VIRTUAL_TIME, environment
from test_verdicts import CLASSES, NAMES, SIMULATED, THREADS

BRIEF_BYTES = 4096
HEADINGS = ['cudaspy brief 1', 'VERDICT', 'RUN', 'FIGURES', 'FINDINGS', 'UNKNOWN', 'HOW TO GET IT']
# Words that those who read a report for the first time stumbled over.
STUMBLES = ['waiting for nothing', 'busy has what waits show', 'calls of other kinds', 'l/GPU', 'what is left may not']


def cudaspy(*args, status=0, **variables):
    env = {k: v for k, v in os.environ.items() if k not in ('COLUMNS', 'NO_COLOR', 'PAGER', 'LESS')}
    env.update({k: str(v) for k, v in variables.items()})
    p = subprocess.run([REPORTER, *map(str, args)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120, env=env,
                       universal_newlines=True)
    assert p.returncode == status, p.stderr
    return p.stderr if status else p.stdout


# Of samples whose recording is large: six reports of each are written.
FEWER = {'many_small_copies': [1000], 'polling': [600], 'many_tiny_launches': [20000], 'threads': [5000], 'threads_fixed': [5000]}


@pytest.fixture(scope='module')
def record(tmp_path_factory):
    """record('streams', CUDASPY_GPU='off'): the recording of a sample, or of a program of tests/e2e."""

    @functools.lru_cache(maxsize=None)
    def go(name, *args, **variables):
        folder = tmp_path_factory.mktemp(name.replace('/', '_'))
        program = BUILD / name if '/' in name else SAMPLES / 'sim' / name
        quick = SIMULATED if name in THREADS else {**SIMULATED, **VIRTUAL_TIME}
        mode = variables.get('CUDASPY_GPU', 'sample')
        sim = SIM if mode != 'cupti' else f'{SIM}:{SIM}/cupti13'
        env = environment(folder, sim=sim, **{'CUDASPY_GPU': 'sample', **quick, **variables})
        p = subprocess.run([program, *map(str, args or FEWER.get(name, ()))], env=env, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, timeout=300)
        assert p.returncode == 0, p.stdout
        recording, = folder.glob('*.cudaspy')
        return recording

    return go


def flat_words(text):
    """With what was wrapped on one line."""
    return re.sub(r'\n {4,}', ' ', text)


def check_screen(text, columns=80):
    lines = text.splitlines()
    assert 5 <= len(lines) <= 24, text
    assert max(map(len, lines)) <= columns, text
    assert any(word in text for word in CLASSES), text
    assert [line for line in lines if re.match(r'\s*%(?![A-Za-z])', line)] == [], text
    assert [words for words in STUMBLES if words in text] == [], text
    assert lines[-1].startswith('more:       cudaspy report --all'), text
    host = re.search(r'^host {8}([A-Za-z:.]+)(.*(?:\n {12}.*)*)', text, flags=re.M)
    for letter in set(host.group(1)) if host else ():
        assert re.search(rf'(^|[ ,]){re.escape(letter)} [a-z]', host.group(2)), text
    if 'CUDASPY_RANGE never opened' not in text:
        assert re.search(r'^own cost +(\S+ % of (the loop|the window|start-up|the run)|not known), a helper .*; lost: ', flat_words(text),
                         flags=re.M), text
    for label in 'run', 'verdict':
        assert len([line for line in lines if line.startswith(label + ' ')]) == 1, text


def check_brief(text):
    assert len(text.encode()) <= BRIEF_BYTES, text
    assert [line for line in text.splitlines() if line in HEADINGS] == HEADINGS, text
    assert '\x1b' not in text
    assert re.search(r'^own cost of cudaspy: (\S+ % of .+|not known); a helper .+ on another core \(measured\)$', text, flags=re.M), text
    for part in re.split(r'\n\n[A-Z ]+\n', text)[1:]:
        assert part.strip(), text


def check_brief_agrees(brief, screen):
    """A step is what it is on the screen, and what changes save is of that step."""
    steps, takes = re.search(r'(\d+) steps of ([\d.]+ \w+)', ' '.join(screen.split())).groups()
    loop = re.search(r'^loop: (\d+) steps of ([\d.]+ \w+) on average', brief, flags=re.M)
    if loop:
        assert loop.groups() == (steps, takes), brief
        assert set(re.findall(r'of each step of ([\d.]+ \w+)', brief)) <= {takes}, brief


@pytest.mark.parametrize('name', NAMES)
def test_every_sample(record, name):
    recording = record(name)
    report = json.loads(cudaspy('report', '-f', 'json', recording))
    text = cudaspy('report', recording)
    check_screen(text)
    flat = ' '.join(text.split())
    verdict = report['verdict']
    assert verdict['class'] in flat
    if verdict['class'] != 'inconclusive':
        assert f'{verdict["confidence"]} confidence' in flat
    check_screen(cudaspy('report', recording, COLUMNS=200), 200)
    check_screen(cudaspy('report', recording, COLUMNS=60), 60)
    whole = cudaspy('report', '--all', recording)
    assert [line for line in whole.splitlines() if re.match(r'\s*%(?![A-Za-z])', line)] == [], whole
    assert [words for words in STUMBLES if words in whole] == []
    assert re.findall(r'\de[+-]\d\d', whole) == []
    brief = cudaspy('report', '-f', 'brief', recording)
    if ' steps of ' in flat:
        check_brief_agrees(brief, text)
    assert '....' not in brief and ' n/a %' not in brief
    check_brief(brief)
    assert verdict['class'] in brief
    assert f'calls {report["totals"]["calls"]}, ' in brief
    assert 'simulated GPU' in text and 'simulated GPU' in brief


def test_what_the_screen_says(record):
    text = cudaspy('report', record('sync_every_step'))
    assert re.search(r'^verdict +sync-bound, (low|medium|high) confidence: the host waits for the GPU', text, flags=re.M)
    assert re.search(r'^loop +20000 steps of \S+ us, ', text, flags=re.M) and 'start-up' in text
    bars = dict(re.findall(r'^(GPU busy|host) {4,8}([=~A-Za-z. ]{28})  ', text, flags=re.M))
    assert set(bars['GPU busy'].rstrip()) == {'=', '~'} and 'W' in bars['host']
    assert re.search(r'^ 1 wait every few steps, or for the step before +[\d.]+ \w* ?to [\d.]+ us$', text, flags=re.M)
    assert re.search(r'^   at sample\.h:\d+ in \w+: cudaStreamSynchronize$', text, flags=re.M)
    assert re.search(r'^ +[\d.]+ +[\d.]+ms .*\bstep$', text, flags=re.M)
    assert re.search(r'^own cost +\S+ % of the loop, a helper [\d.]+ m?s on another core; lost: none', text, flags=re.M)


def test_calls_have_the_names_that_programs_give_them(record):
    """nvcc makes a launch a call of __cudaLaunchKernel: --names mangled and JSON have the symbol."""
    recording = record('many_tiny_launches')
    symbols = {api['name'] for api in json.loads(cudaspy('report', '-f', 'json', recording))['apis']}
    text = cudaspy('report', '--all', recording)
    assert re.search(r' cudaLaunchKernel$', text, flags=re.M) and '__cuda' not in text + cudaspy('report', recording)
    assert ('__cudaLaunchKernel' in symbols) == ('__cudaLaunchKernel' in cudaspy('report', '--section', 'apis', '--names', 'mangled', recording))
    assert '__cuda' not in cudaspy('diff', '--all', recording, recording) + cudaspy('report', '-f', 'brief', recording)


def test_kernels_are_those_of_most_gpu_time(record):
    recording = record('first_launches')
    rows = re.findall(r'^ +[\d.<]+ +[\d.]+\ws .* (shape_\d+)$', cudaspy('report', recording), flags=re.M)
    assert len(rows) == 5
    kernels = json.loads(cudaspy('report', '-f', 'json', '--sort', 'gpu', recording))['kernels']
    assert rows == [k['name'].split('(')[0] for k in kernels[:5]]
    assert len(re.findall(r'\bshape_\d+$', cudaspy('report', '--top', '9', recording), flags=re.M)) == 9


SOURCES = re.compile(r'\((exact|measured|sampled|estimated)((?:, [^();]*| from [^();]*| by [^();]*)?)[;)]')


@pytest.mark.parametrize('name, variables', [('sync_every_step', {}), ('launch_errors', {}), ('graph_replay', {}), ('streams', {'CUDASPY_GPU': 'cupti'}),
                                             ('streams', {'CUDASPY_GPU': 'off'}), ('copy_back_and_forth', {})])
def test_the_guide_for_assistants(record, name, variables):
    """docs/FOR_ASSISTANTS.md has the headings of the brief form, in their order, and what each bracket means."""
    if variables.get('CUDASPY_GPU') == 'cupti' and not (SIM / 'cupti13').exists():
        pytest.skip("CUPTI's headers are not there, so there is no simulated CUPTI")
    guide = (ROOT / 'docs/FOR_ASSISTANTS.md').read_text()
    assert f'at most {BRIEF_BYTES} bytes' in guide
    form = re.search(r'(?:^    \S.*\n)+', guide, flags=re.M)[0]
    assert [re.split(r'  +', line.strip())[0] for line in form.splitlines()] == HEADINGS
    told = re.findall(r'^\| ([^|]+) \|', guide.split('| in brackets |')[1].split('\n\n')[0], flags=re.M)
    said = {a + b for a, b in SOURCES.findall(cudaspy('report', '-f', 'brief', record(name, **variables)))}
    assert said and said <= set(told), said - set(told)
    for command in re.findall(r'`(cudaspy report[^`]*)`', guide):
        cudaspy(*command.replace('NAME', 'kernels').split()[1:], record(name, **variables))


UNITS = {'ns': 1, 'us': 1e3, 'ms': 1e6, 's': 1e9, '': 1}
SORTED = {'total': 'API', 'mean': 'call mean', 'p50': 'p50', 'p99': 'call p99', 'max': 'call max', 'failed': 'failed', 'calls': 'launches', 'gpu': 'GPU'}


def column(text, head):
    """The figures of a column, by the place of its head's end."""
    lines = text.splitlines()
    at, = [i for i, line in enumerate(lines) if line.endswith(('kernel', 'call')) or ' kernel of ' in line or ' kernel, ' in line]
    end = re.search(rf'(?<!\S){head}(?!\S)', lines[at]).end()
    cells = [re.search(r'\S+$', line[:end]) for line in lines[at + 1:]]
    return [float(m[1]) * UNITS[m[2]] for cell in cells if cell for m in [re.fullmatch(r'([\d.]+)([num]?s|)', cell[0])] if m]


@pytest.mark.parametrize('key', SORTED)
def test_tables_show_what_they_are_sorted_by(record, key):
    """Kernels by mean, p99 or the longest call had no column of that: the mean they had is the GPU's."""
    recording = record('first_launches')
    whole = cudaspy('report', '--section', 'kernels', '--sort', key, '--top', '12', recording, COLUMNS=200).split('ALL KERNELS')[0]
    figures = column(whole.rsplit('\n', 1)[0], SORTED[key])
    assert len(figures) == 12 and figures == sorted(figures, reverse=True), whole
    screen = cudaspy('report', '--sort', key, recording)
    check_screen(screen)
    head = {'p50': 'call p50', 'calls': 'count', 'gpu': 'time'}.get(key, SORTED[key])
    figures = column(screen.split('\nnot known')[0], head)
    assert len(figures) == 5 and figures == sorted(figures, reverse=True), screen
    assert ('by estimated GPU time' in screen) == (key == 'gpu'), screen


def test_what_is_left_out_is_counted(record):
    recording = record('first_launches')
    assert '30 more kernels not shown' in cudaspy('report', '--section', 'kernels', '--top', '2', recording)
    assert '1 more kernel not shown' in cudaspy('report', '--section', 'kernels', '--top', '31', recording)


def test_kernels_whose_time_is_not_known_are_said_to_be(record):
    """Copies had 100 % of the GPU's time where no kernel was timed: code was loaded anew before each."""
    text = cudaspy('report', record('module_load_every_step', 200))
    head, *rows = text[text.index('  known % '):].splitlines()
    assert head.endswith('kernel of the run, by GPU time if known')
    assert [row.split()[:2] + row.split()[-2:] for row in rows if row.endswith('loaded_chain')] == [['n/a', 'n/a', 'n/a', 'loaded_chain']]
    assert 'GPU %' not in text


# ---- words that readers stumble over, in each form ---

def said_in(*args):
    return subprocess.run([REPORTER, *map(str, args)], stdout=subprocess.PIPE, check=True, timeout=120, universal_newlines=True).stdout


def test_no_form_has_words_that_readers_stumble_over(record):
    """Memsets are not called sets, but where rules of check have that name."""
    one, other = record('alloc_every_step', 400), record('implicit_sync', 400)
    texts = [said_in('report', '--all', '--what-if', 'graphs', one), said_in('report', '-f', 'md', '--what-if', 'graphs', one),
             said_in('report', '-f', 'brief', one), said_in('diff', one, other), said_in('diff', '-f', 'md', one, other),
             '\n'.join(re.findall(r'^# HELP \S+ (.*)$', said_in('export', '-f', 'openmetrics', one), flags=re.M))]
    for text in texts:
        assert [w for w in STUMBLES if w.lower() in text.lower()] == [], text
        assert re.findall(r'\bsets?\b(?! (?:\\\()?\(?memsets)', re.sub(r'\w+_sets?\b|reset|\bset (?:to|of)\b', '', text)) == [], text


# ---- other recordings -----------------------------------------------------------------------------------------------

@pytest.mark.parametrize('mode', ['off', 'cupti'])
def test_other_modes(record, mode):
    if mode == 'cupti' and not (SIM / 'cupti13').exists():
        pytest.skip("CUPTI's headers are not there, so there is no simulated CUPTI")
    recording = record('streams', CUDASPY_GPU=mode)
    text = cudaspy('report', recording)
    check_screen(text)
    check_brief(cudaspy('report', '-f', 'brief', recording))
    assert 'estimated GPU time' not in text
    if mode == 'off':
        assert 'not known (CUDASPY_GPU=off)' in text and 'try: CUDASPY_GPU=sample' in text


def test_a_damaged_recording(record, tmp_path):
    part = tmp_path / 'part.cudaspy'
    part.write_bytes(record('streams').read_bytes()[:65536])
    text = cudaspy('report', part)
    check_screen(text)
    assert 'damaged     the file is cut short' in text and 'lost: none' not in text and 'n/a' not in text
    check_brief(cudaspy('report', '-f', 'brief', part))


def test_a_range_that_never_opened(record):
    recording = record('streams', CUDASPY_RANGE='profiler')
    text = cudaspy('report', recording)
    check_screen(text)
    assert 'CUDASPY_RANGE never opened' in text and 'n/a' not in text
    check_brief(cudaspy('report', '-f', 'brief', recording))


def test_several_processes(tmp_path):
    for rank in 0, 1, 2:
        env = environment(tmp_path, RANK=rank, CUDASPY_RUN_ID='one', CUDASPY_GPU='sample')
        subprocess.run([SAMPLES / 'sim/exposed_allreduce'], env=env, cwd=tmp_path, check=True, stdout=subprocess.DEVNULL)
    text = cudaspy('report', tmp_path)
    check_screen(text)
    assert 'run         3 processes: ' in text
    check_brief(cudaspy('report', '-f', 'brief', tmp_path))


HANG = r'''
#include "tests/e2e/programs/work.h"
#include <stdio.h>
#include <unistd.h>
int main(void) { work_start(); work_launch(work_long, NULL); puts("ready"); fflush(stdout); cuCtxSynchronize(); return 0; }
'''


def test_a_program_that_hangs(tmp_path, compile_c):
    """What it hangs in is on the screen, while it runs and when it was killed."""
    program = compile_c(HANG, '-lcuda', '-I', str(ROOT))
    env = environment(tmp_path)
    process = subprocess.Popen([program], env=env, cwd=tmp_path, stdout=subprocess.PIPE)
    process.stdout.readline()
    recording, = tmp_path.glob('*.cudaspy')
    for _ in range(200):
        text = cudaspy('report', recording)
        if 'in flight' in text:
            break
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    check_screen(text)
    assert re.search(r'^in flight +cuCtxSynchronize, for \S+ s by now', text, flags=re.M) and 'still running' in text
    text = cudaspy('report', recording)
    check_screen(text)
    assert re.search(r'^in flight +cuCtxSynchronize, for \S+ m?s at the end', text, flags=re.M) and 'state       killed' in text
    check_brief(cudaspy('report', '-f', 'brief', recording))
    assert 'in flight: cuCtxSynchronize for ' in cudaspy('report', '-f', 'brief', recording)


# ---- options --------------------------------------------------------------------------------------------------------

def sections():
    told = re.search(r'--section NAME +this section alone, may be given again: (.*)', cudaspy('report', '--help', COLUMNS=400))[1]
    return told.split(', ')


def test_sections(record):
    recording = record('streams')
    names = sections()
    assert len(names) >= 19 and len(set(names)) == len(names)
    whole = cudaspy('report', '--all', recording)
    for name in names:
        text = cudaspy('report', '--section', name, recording)
        assert text.strip(), name
        if 'nothing in this recording' not in text:
            assert text.strip() in whole, name
    both = cudaspy('report', '--section', 'kernels', '--section', 'gpu', recording)
    assert 'Kernels (' in both and 'GPU (' in both and 'verdict' not in both and 'Host time' not in both
    markdown = cudaspy('report', '-f', 'md', '--section', 'kernels', recording)
    assert '## Kernels' in markdown and '## GPU' not in markdown


def test_a_section_that_is_none(record):
    p = cudaspy('report', '--section', 'kernel', record('streams'), status=2)
    assert len(p.splitlines()) == 1 and 'did you mean kernels?' in p
    assert all(name in p for name in sections())


def test_what_is_asked_for_follows_the_screen(record):
    recording = record('streams')
    lines = cudaspy('report', '--what-if', 'graphs', '--expect-kernel', 'branch', recording).splitlines()
    more, = [i for i, line in enumerate(lines) if line.startswith('more:')]
    below = '\n'.join(lines[more:])
    assert more < 24 and 'Expected kernels' in below and 'What if (' in below and 'Kernels (' not in below


# ---- terminals ------------------------------------------------------------------------------------------------------

def on_terminal(*args, columns=80, rows=24, **variables):
    """What a terminal of this size gets, but for the progress line, and the exit status."""
    pid, fd = pty.fork()
    if pid == 0:
        for name in 'COLUMNS', 'LINES', 'NO_COLOR', 'PAGER', 'LESS', 'LV':
            os.environ.pop(name, None)
        os.environ.update({'TERM': 'xterm', **{k: str(v) for k, v in variables.items()}})
        fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack('HHHH', rows, columns, 0, 0))
        os.execv(REPORTER, [str(REPORTER), *map(str, args)])
    seen = b''
    try:
        while True:
            data = os.read(fd, 65536)
            if not data:
                break
            seen += data
    except OSError as e:
        assert e.errno == errno.EIO
    _, status = os.waitpid(pid, 0)
    os.close(fd)
    text = seen.decode().replace('\r\n', '\n')
    # On a busy machine it takes longer than a second, and says how far it is (test_progress.py).
    return re.sub(r'\r\x1b\[K(?:[^\r\n]*\r\x1b\[K)*', '', text), os.WEXITSTATUS(status)


def plain(text):
    return re.sub(r'\x1b\[\d*m', '', text)


@pytest.fixture
def pager(tmp_path):
    """A pager that says what it got, and in which environment."""
    path = tmp_path / 'pager'
    path.write_text('#!/bin/sh\necho "PAGED LESS=$LESS"\ncat\n')
    path.chmod(0o755)
    return path


def test_colours_on_a_terminal(record):
    recording = record('sync_every_step')
    text, status = on_terminal('report', '--no-pager', recording)
    assert status == 0 and '\x1b[31mverdict\x1b[0m' in text and '\x1b[32m' in text
    check_screen(plain(text))
    assert plain(text) == cudaspy('report', recording)
    for options in ({'NO_COLOR': '1'}, {'TERM': 'dumb'}):
        assert '\x1b' not in on_terminal('report', '--no-pager', recording, **options)[0]
    assert '\x1b' not in on_terminal('report', '--no-pager', '--color', 'never', recording)[0]
    assert '\x1b[31m' in on_terminal('report', '--no-pager', '--color=always', recording, NO_COLOR='1')[0]
    assert '\x1b' not in cudaspy('report', recording)
    assert '\x1b[31m' in cudaspy('report', '--color', 'always', recording)
    assert 'one of auto, always, never' in cudaspy('report', '--color', 'sometimes', recording, status=2)


def test_the_terminals_width(record):
    recording = record('sync_every_step')
    text, _ = on_terminal('report', '--no-pager', recording, columns=200)
    assert plain(text) == cudaspy('report', recording, COLUMNS=200)
    assert max(map(len, plain(text).splitlines())) > 100


def test_the_pager(record, pager, tmp_path):
    recording = record('sync_every_step')
    text, status = on_terminal('report', recording, PAGER=pager)
    assert status == 0 and text.startswith('PAGED LESS=FRX\n') and 'verdict' in text
    assert on_terminal('report', recording, PAGER=f'{pager} -x', LESS='S')[0].startswith('PAGED LESS=S\n')
    for other in '', 'cat', tmp_path / 'nowhere', f'{tmp_path}/nowhere -x':
        text, status = on_terminal('report', recording, PAGER=other)
        assert status == 0 and 'PAGED' not in text and text.count('more:') == 1, other
    assert 'PAGED' not in on_terminal('report', '--no-pager', recording, PAGER=pager)[0]
    assert 'PAGED' not in cudaspy('report', recording, PAGER=pager)
    out = tmp_path / 'out.txt'
    assert on_terminal('report', '-o', out, recording, PAGER=pager)[0] == ''
    assert out.read_text() == cudaspy('report', recording)
    assert 'PAGED' not in on_terminal('report', '-f', 'json', recording, PAGER=pager)[0]


def test_a_pager_that_ends_early(record, tmp_path):
    path = tmp_path / 'head'
    path.write_text('#!/bin/sh\nexec head -1\n')
    path.chmod(0o755)
    text, status = on_terminal('report', '--all', record('sync_every_step'), PAGER=path)
    assert status == 0 and len(text.splitlines()) == 1
    assert SHIM.exists()


@pytest.mark.parametrize('name', ['#a', '-x', '~a', 'a{1,2}', 'a[1]', 'a!b', 'a b', "a'b"])
def test_the_last_line_is_no_other_command_to_a_shell(record, tmp_path, name):
    """It names the recording, or says that the name is to be given."""
    (tmp_path / f'{name}.cudaspy').write_bytes(record('vector_add').read_bytes())
    p = subprocess.run([REPORTER, 'report', '--', f'{name}.cudaspy'], cwd=tmp_path, stdout=subprocess.PIPE, universal_newlines=True, check=True)
    assert p.stdout.splitlines()[-1] == 'more:       cudaspy report --all FILE (FILE: this recording)'
