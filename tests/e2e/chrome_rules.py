# SPDX-License-Identifier: Apache-2.0
"""What holds of every trace of `cudaspy export --format chrome`: Kineto's form, what readers drop without it, and the rules
that PyTorch's validator of traces checks."""
import bisect
import collections
import gzip
import json
import re
import subprocess

from conftest import REPORTER

RUNTIME, GPU = {'cuda_runtime', 'cuda_driver'}, {'kernel', 'gpu_memcpy', 'gpu_memset'}
# ts and dur come with three decimals: ns, to be compared without rounding.
NUMBER = re.compile(r'"(ts|dur)":(\d+)\.(\d{3})\b')


def ns(text):
    """Text of a trace whose times are whole ns."""
    return NUMBER.sub(lambda m: f'"{m[1]}":{int(m[2]) * 1000 + int(m[3])}', text)


class Trace:
    """A trace as it was written: times in ns."""

    def __init__(self, path):
        data = path.read_bytes()
        self.text = (gzip.decompress(data) if path.suffix == '.gz' else data).decode('ascii')
        assert not re.search(r'"(ts|dur)":(?!\d+\.\d{3}[,}])', self.text)
        self.whole = json.loads(ns(self.text))
        self.events = self.whole['traceEvents']
        self.slices = [e for e in self.events if e['ph'] == 'X']
        self.calls = [e for e in self.slices if e['cat'] in RUNTIME]
        self.work = [e for e in self.slices if e['cat'] in GPU]
        self.syncs = [e for e in self.slices if e['cat'] == 'cuda_sync']
        self.annotations = [e for e in self.slices if e['cat'] == 'user_annotation']
        self.flows = [e for e in self.events if e['ph'] in 'sf']
        self.drawn = self.whole['cudaspyDrawn']['processes']

    def named(self, what):
        """{(pid, tid): name} of processes or threads."""
        return {(e['pid'], e['tid']): e['args']['name'] for e in self.events if e['ph'] == 'M' and e['name'] == f'{what}_name'}

    def busy(self, **which):
        """Union of the work of these pids, ns."""
        return union([(e['ts'], e['ts'] + e['dur']) for e in self.work if all(e[k] == v for k, v in which.items())])


def union(spans):
    busy, until = 0, 0
    for start, end in sorted(spans):
        busy += max(0, end - max(start, until))
        until = max(until, end)
    return busy


def export(recordings, path, *options, status=0):
    """The trace; of an error its one line."""
    recordings = recordings if isinstance(recordings, list) else [recordings]
    p = subprocess.run([REPORTER, 'export', '--format', 'chrome', '-o', path, *options, *recordings], stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE, timeout=120, universal_newlines=True, errors='replace')
    assert p.returncode == status, p.stderr
    assert p.stdout == ''
    if status:
        assert p.stderr.startswith('cudaspy: ') and p.stderr.count('\n') == 1, p.stderr
        return p.stderr
    return Trace(path)


# ---- the form ----

def check_form(t):
    w = t.whole
    assert w['schemaVersion'] == 1 and w['displayTimeUnit'] == 'ms' and isinstance(w['baseTimeNanoseconds'], int)
    assert t.events[0]['ph'] == 'M' # readers lose a launch that is the first event of all
    assert w['cudaspyDrawn']['events'] == len(t.events)
    for e in t.slices:
        assert {'ph', 'cat', 'name', 'pid', 'tid', 'ts', 'dur', 'args'} <= set(e), e
        assert isinstance(e['name'], str) and e['dur'] >= 0
    for e in t.work:
        assert e['args']['device'] >= 0 and e['args']['stream'] > 0, e # 0 is no stream to readers
        assert e['args']['timed'] in ('by CUPTI', 'by events around it', 'by work like it', 'guessed')
        assert e['args'].get('estimated', False) == (e['args']['timed'] in ('by work like it', 'guessed'))
    for e in t.calls:
        assert 'stream' not in e['args'] # it would be taken for work of the GPU
    numbers = [e['args']['correlation'] for e in t.calls if 'correlation' in e['args']]
    assert len(set(numbers)) == len(numbers) and all(n > 0 for n in numbers)
    tracks = {(e['pid'], e['tid']) for e in t.slices}
    assert tracks <= set(t.named('thread'))
    assert {pid for pid, _ in tracks} <= {pid for pid, _ in t.named('process')}
    totals = {k: sum(p[k] for p in t.drawn) for k in ('calls', 'gpu work', 'flows', 'syncs', 'ranges', 'steps')}
    assert totals == {'calls': len(t.calls), 'gpu work': len(t.work), 'flows': len(t.flows) / 2, 'syncs': len(t.syncs),
                      'ranges': len(t.annotations) - totals['steps'],
                      'steps': sum(e['name'].startswith('ProfilerStep#') for e in t.annotations)}


def check_tracks(t):
    """On one track slices lie in one another or apart: readers drop others."""
    tracks = collections.defaultdict(list)
    for e in t.slices:
        tracks[e['pid'], e['tid']].append((e['ts'], -e['dur'], e))
    for slices in tracks.values():
        open_until = []
        for start, minus, e in sorted(slices, key=lambda s: s[:2]):
            end = start - minus
            while open_until and open_until[-1] <= start:
                open_until.pop()
            assert not open_until or end <= open_until[-1], e
            if end > start:
                open_until.append(end)


def check_causes(t):
    """Each piece of work by its call, which began before; by `correlation` and by `External id`; one flow from one to the
    other, whose ends lie in their slices."""
    calls = {e['args']['correlation']: e for e in t.calls if 'correlation' in e['args']}
    assert all(e['args']['External id'] == n for n, e in calls.items())
    ends = {'s': {}, 'f': {}}
    for e in t.flows:
        assert e['cat'] == 'ac2g' and e['id'] not in ends[e['ph']]
        ends[e['ph']][e['id']] = e
    assert set(ends['s']) == set(ends['f'])
    first = {}
    for e in t.work:
        if 'correlation' not in e['args']:
            continue
        call = calls[e['args']['correlation']]
        assert e['args']['External id'] == e['args']['correlation'] and 'result' not in call['args']
        assert call['ts'] <= e['ts'], (call, e)
        first.setdefault(e['args']['correlation'], []).append(e)
    assert set(first) == set(ends['s'])
    for number, work in first.items():
        start, finish = ends['s'][number], ends['f'][number]
        call = calls[number]
        assert (start['pid'], start['tid']) == (call['pid'], call['tid'])
        assert call['ts'] <= start['ts'] <= call['ts'] + call['dur'], (start, call)
        assert (finish['pid'], finish['tid'], finish['ts']) in [(e['pid'], e['tid'], e['ts']) for e in work]
        assert finish['bp'] == 'e'
    return calls


def check_waits(t):
    """What PyTorch's validator asks of waits; event records of the driver count too."""
    records = {e['args']['correlation']: e for e in t.calls if re.match(r'cu(da)?EventRecord', e['name'])}
    kernels = collections.defaultdict(list)
    for e in t.work:
        kernels[e['pid'], e['args']['stream']].append((e['ts'], e['ts'] + e['dur']))
    for spans in kernels.values():
        spans.sort()
    for e in t.syncs:
        args = e['args']
        assert e['name'] == args['cuda_sync_kind']
        if e['name'] in ('Stream Wait Event', 'Event Sync'):
            record = records[args['wait_on_cuda_event_record_corr_id']]
            assert record['ts'] <= e['ts'] and args['wait_on_stream'] > 0
        if e['name'] == 'Stream Sync': # not while work of its stream runs
            spans = kernels[e['pid'], args['stream']]
            at = bisect.bisect_left(spans, (e['ts'],)) # those before begin earlier
            assert not any(end > e['ts'] for _, end in spans[max(0, at - 3):at]), e
        if args['stream'] >= 0: # readers count it as the GPU's time
            assert e['dur'] == 0


def check(t):
    check_form(t)
    check_tracks(t)
    check_causes(t)
    check_waits(t)
    return t
