# SPDX-License-Identifier: Apache-2.0
"""Programs run bare and, many times, watched: what must be the same, and where their calls must stand.

A row says which program, and what of it is compared. A try is one watched run of it in a folder of its own; several go on at
a time. CAMPAIGN_TRIES=200 is the acceptance run (make campaign), `make test` does fewer.
"""
import collections
import concurrent.futures
import contextlib
import dataclasses
import json
import math
import os
import pathlib
import re
import shutil
import signal
import subprocess
import threading

import against_truth
from conftest import BUILD, SHIM, SIM, environment, report

TRIES = int(os.environ.get('CAMPAIGN_TRIES', '20'))
HANG_S = float(os.environ.get('CAMPAIGN_HANG_S', '60')) # what takes a moment and is not done by then hangs
PATIENCE = int(os.environ.get('CAMPAIGN_PATIENCE', '3')) # failures after which the rest of a row's tries is left out
AT_ONCE = (os.cpu_count() or 1) + 1
PROGRAMS = BUILD / 'tests/e2e'

OURS = re.compile(r'^cudaspy: .*$', re.MULTILINE)
CLOSING = re.compile(r'cudaspy: (?P<file>/\S+\.cudaspy): \d+ calls, \d+ records lost; cudaspy report (?P=file)')
MEASURED = re.compile(r'^measure (\S+) (-?\d+)\n', re.MULTILINE)
MADE = re.compile(r'^made (\S+) (\d+)$', re.MULTILINE)


@contextlib.contextmanager
def nothing(folder, number):
    """What a try needs around it, here nothing; gives variables for the program's environment."""
    yield {}


@dataclasses.dataclass
class Row:
    program: object        # of tests/e2e/programs, or a path
    args: tuple = ()       # '{folder}' is the try's; a function makes one of the try's number
    variables: dict = dataclasses.field(default_factory=dict)
    counts: str = 'exact'  # 'cut': the process ended amid calls; 'made': of what it says that it made; '': not compared
    spare: dict = dataclasses.field(default_factory=dict) # calls, by name, that may have ended before there was a recording
    inherited: int = 0     # calls that a forked child was forked out of
    early: bool = False    # children may be forked while cuInit, done in the driver, has not returned to the shim
    state: str = ''        # of every process
    said: object = None    # (try): our lines are as they should be; else they are closing lines
    output: bool = True    # is compared: stdout and stderr
    around: object = nothing
    meanwhile: object = None # (process, folder, number), once the program has said "ready"
    check: object = None   # (try, bare try), when all else is well
    share: int = 1         # one try in so many: slow, and little is left to chance


class Try:
    """A run that has ended, bare or watched."""

    def __init__(self, folder, variables, status, out, err):
        self.folder, self.variables, self.status = folder, variables, status
        self.measured = {name: int(value) for name, value in MEASURED.findall(out)}
        self.made = {name: int(calls) for name, calls in MADE.findall(out)}
        self.out = MEASURED.sub('', out)
        self.ours = OURS.findall(err)
        self.err = OURS.sub('', err).strip()
        self.recordings = sorted(folder.glob('*.cudaspy')) + sorted(folder.glob('*/*.cudaspy'))

    def outcome(self, row):
        return (self.status, self.out, self.err) if row.output else self.status

    def reports(self):
        """By process: each has one recording."""
        found = {}
        for file in self.recordings:
            r = report(file)
            pid = r['processes'][0]['pid']
            assert pid not in found, 'two recordings of one process'
            found[pid] = r
        return found

    def truths(self):
        """By process, of those that called."""
        found = {}
        for file in self.folder.glob('truth*'):
            truth = json.loads(subprocess.run([SIM / 'truth', file], stdout=subprocess.PIPE, check=True).stdout)
            if against_truth.happened(truth):
                found[truth['pid']] = truth
        return found


# ---- one run -----------------------------------------------------------------------------------------------------------

def runs_in(pid, folder):
    """Asked of each thread: a process whose first one has ended has no folder."""
    for thread in os.listdir(f'/proc/{pid}/task'):
        with contextlib.suppress(OSError):
            if f'{os.readlink(f"/proc/{pid}/task/{thread}/cwd")}/'.startswith(f'{folder}/'):
                return True
    return False


def all_in(folder):
    """Whatever still runs of a try: its processes have its folder as theirs, also those that left its session."""
    for pid in filter(str.isdigit, os.listdir('/proc')):
        with contextlib.suppress(OSError):
            if runs_in(pid, folder):
                yield int(pid)


def place_in(pid, address):
    """The object, and how far behind its first mapping."""
    first = {}
    for line in pathlib.Path(f'/proc/{pid}/maps').read_text().splitlines():
        extent, *_, name = line.split(maxsplit=5)
        begin, end = (int(n, 16) for n in extent.split('-'))
        first.setdefault(name, begin)
        if begin <= address < end:
            return f'{os.path.basename(name)}+{address - first[name]:#x}'
    return f'{address:#x}'


def where_they_are(pids):
    """Each thread: the system call that it is in, and where it made it."""
    lines = []
    for pid in pids:
        with contextlib.suppress(OSError):
            for tid in os.listdir(f'/proc/{pid}/task'):
                at = pathlib.Path(f'/proc/{pid}/task/{tid}/syscall').read_text().split()
                name = pathlib.Path(f'/proc/{pid}/task/{tid}/comm').read_text().strip()
                where = f'in system call {at[0]}, {place_in(pid, int(at[-1], 16))}' if len(at) > 1 else ' '.join(at)
                lines.append(f'  {pid}/{tid} {name}: {where}')
    return '\n'.join(lines)


def first_line(process):
    """Byte by byte: the rest is for communicate()."""
    line = b''
    while not line.endswith(b'\n'):
        byte = os.read(process.stdout.fileno(), 1)
        if not byte:
            break
        line += byte
    return line.decode()


def command(row, folder, number):
    program = row.program if '/' in str(row.program) else PROGRAMS / row.program
    args = (a(number) if callable(a) else a for a in row.args)
    return [str(program), *(str(a).replace('{folder}', str(folder)) for a in args)]


def finish(row, process, folder, number):
    """stdout and stderr; after HANG_S there is nobody left to write them."""
    late = []

    def give_up():
        pids = list(all_in(folder))
        late.append(where_they_are(pids))
        for pid in pids:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)

    timer = threading.Timer(HANG_S, give_up)
    timer.start()
    try:
        early = first_line(process) if row.meanwhile else ''
        if early == 'ready\n':
            row.meanwhile(process, folder, number)
        out, err = process.communicate()
    finally:
        timer.cancel()
    assert not late, f'hangs\n{late[0]}'
    return early + out, err


def attempt(row, folder, number, watched, judge=None):
    """Runs it, lets judge(try) look at what it left, and returns it."""
    folder.mkdir(parents=True)
    with row.around(folder, number) as more:
        variables = environment(folder, (SHIM,) if watched else (), sim=f'{PROGRAMS}/harm:{SIM}',
                                **{'SIM_COST': 0, 'HARM_FAULTS': 1 if watched else None, **row.variables, **more})
        process = subprocess.Popen(command(row, folder, number), env=variables, cwd=folder, stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True,
                                   errors='replace')
        out, err = finish(row, process, folder, number)
        done = Try(folder, variables, process.returncode, out, err)
        if judge:
            judge(done)
        return done


# ---- what is compared --------------------------------------------------------------------------------------------------

def only_closing_lines(done):
    strange = [line for line in done.ours if not CLOSING.fullmatch(line)]
    assert not strange, f'says {strange}'
    assert len(done.ours) <= len(done.recordings), 'more closing lines than recordings'


def short_of(report, calls, spare=0):
    """Calls that were made, by name, are counted by name and in total, or lost and said to be."""
    now = {name: n for name, (n, _) in against_truth.counted(report).items()}
    missing = {name: calls.get(name, 0) - now.get(name, 0) for name in {*calls, *now}}
    missing = {name: n for name, n in missing.items() if n}
    lost = report['lost']['calls']
    assert min(missing.values(), default=0) >= 0, f'counted, but never made: {missing}'
    left = sum(missing.values()) - lost
    assert left >= 0, f'{lost} said to be lost, but only {missing} were'
    assert left <= spare, f'{left} calls in no figure: {missing}, {lost} said to be lost'
    assert report['totals']['calls'] == sum(now.values())
    return missing


def against(row, report, truth):
    calls = {name: n for name, (n, _) in against_truth.happened(truth).items()}
    spare = row.inherited if report['processes'][0]['forked_from'] else 0
    if row.spare:
        found = against_truth.counted(report)
        spare += sum(min(n, max(calls.get(name, 0) - found.get(name, (0, 0))[0], 0)) for name, n in row.spare.items())
    if row.counts == 'cut':
        spare += len(truth['threads'])
    missing = short_of(report, calls, spare)
    fewer = truth['totals']['launches'] - report['totals']['launches']
    under_way = len(truth['threads']) if row.counts == 'cut' else 0
    assert 0 <= fewer <= sum(missing.values()) + under_way, f'{fewer} launches are not in the total'


def too_early(truths, reports):
    """The first children, of which nobody could know that CUDA is up: it is not in them, and every call of theirs fails."""
    first = min((pid for pid, r in reports.items() if r['processes'][0]['forked_from']), default=math.inf)
    return {pid for pid, t in truths.items() if pid < first and not t['inits'] and t['totals']['failed'] == t['totals']['calls']}


def compare_counts(row, done):
    reports = done.reports()
    if row.counts == 'made':
        r, = reports.values()
        found = against_truth.counted(r)
        r['totals']['calls'] -= sum(n for name, (n, _) in found.items() if name not in done.made)
        r['apis'] = [api for api in r['apis'] if api['name'] in done.made]
        short_of(r, done.made)
    elif row.counts:
        truths = done.truths()
        for pid in too_early(truths, reports) - reports.keys() if row.early else ():
            del truths[pid]
        assert not truths.keys() - reports.keys(), f'{len(truths.keys() - reports.keys())} processes have no recording'
        assert not reports.keys() - truths.keys(), 'a recording of a process that did not call'
        for pid, truth in truths.items():
            against(row, reports[pid], truth)
    for r in reports.values():
        state = r['processes'][0]['state']
        assert not row.state or state == row.state, f'state {state}'


def judge(row, done, bare):
    assert done.outcome(row) == bare.outcome(row), f'{done.outcome(row)}, bare {bare.outcome(row)}, says {done.ours}'
    (row.said or only_closing_lines)(done)
    if row.counts or row.state:
        compare_counts(row, done)
    if row.check:
        row.check(done, bare)


def campaign(row, folder):
    """All of a row's tries; fails with how many of them did, and how."""
    bare = [attempt(row, folder / f'bare-{n}', n, False) for n in range(max(2, TRIES // row.share // 10))]
    assert len({b.outcome(row) for b in bare}) == 1, f'the program itself: {[b.outcome(row) for b in bare]}'
    failures, done = {}, []

    def one(number):
        if len(failures) >= PATIENCE:
            return
        mine = folder / str(number)
        try:
            attempt(row, mine, number, True, lambda t: judge(row, t, bare[0]))
            shutil.rmtree(mine)
        except AssertionError as e:
            failures[number] = str(e)
        done.append(number)

    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(one, range(max(TRIES // row.share, 2))))
    how = collections.Counter(text.split('\n')[0] for text in failures.values())
    print(*failures.values(), sep='\n') # in full: where a process was, or what it said of its end
    assert not failures, f'{len(failures)} of {len(done)} tries: ' + '; '.join(f'{n}x {text}' for text, n in how.items())
