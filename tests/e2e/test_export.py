# SPDX-License-Identifier: Apache-2.0
"""`cudaspy export`: the command, where its output goes, and the tables."""
import collections
import contextlib
import csv
import gzip
import io
import json
import os
import re
import signal
import sqlite3
import subprocess

import pytest

from conftest import BUILD, REPORTER, ROOT, VIRTUAL_TIME, environment, python_reader, reader, report


def export(*args, status=0, **more):
    """What it wrote on standard output, as bytes."""
    p = subprocess.run([REPORTER, 'export', *map(str, args)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120,
                       **more)
    assert p.returncode == status, p.stderr.decode(errors='replace')
    assert (p.stderr == b'') == (status == 0), p.stderr
    return p.stdout


def complaint(*args, **more):
    """The one line of an export that fails."""
    p = subprocess.run([REPORTER, 'export', *map(str, args)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120,
                       universal_newlines=True, **more)
    assert p.returncode == 2 and p.stdout == ''
    line, = p.stderr.splitlines()
    assert line.startswith('cudaspy: ')
    return line


def formats():
    """By name, what --help says of each."""
    text = export('--help').decode()
    return dict(re.findall(r'^  (\S+) {2,}(.*)$', text.split('\nFormats:\n')[1], re.MULTILINE))


@pytest.fixture
def recording(run):
    return run('sync_every_step', 50, CUDASPY_GPU='sample', **VIRTUAL_TIME).recording


def table(recording, name):
    return list(csv.DictReader(io.StringIO(export('-f', 'csv', '-t', name, recording).decode())))


def tables(text):
    """By name, of all of them in one CSV text."""
    found = {}
    for part in text.split('\r\n\r\n'):
        name, rest = part.split('\r\n', 1)
        assert name not in found
        found[name] = list(csv.DictReader(io.StringIO(rest)))
    return found


def test_tables_have_what_the_report_has(recording):
    whole = report('--sites', '-n', 'all', recording)
    found = tables(export('-f', 'csv', recording).decode())
    run, = found['run']
    assert (run['schema'], int(run['window_ns'])) == (whole['schema'], whole['window_ns'])
    assert (run['id'], run['processes']) == (whole['run']['id'] or '', '1')
    totals, = found['totals']
    assert {k: int(v) if v else None for k, v in totals.items()} == whole['totals']
    for name in 'apis', 'kernels', 'copies', 'works', 'streams', 'findings', 'processes':
        rows = found.get(name, [])
        assert len(rows) == len(whole[name]), name
        for row, entry in zip(rows, whole[name]):
            for key, value in entry.items():
                if isinstance(value, int) and not isinstance(value, bool):
                    assert int(row[key]) == value, (name, key)
                elif value is None:
                    assert row[key] == '', (name, key)
    assert [row['change'] for row in found['what_if']][:2] == ['graphs', 'pinned']
    assert len(found['gpu_devices']) == 1
    assert {row['processes_row'] for row in found['processes_devices']} == {'0'}


def test_one_table(recording):
    kernel, = table(recording, 'kernels')
    assert kernel['launches'] == '50' and kernel['name'].startswith('step(')
    assert 'did you mean kernels?' in complaint('-f', 'csv', '-t', 'kernls', recording)
    assert 'it has run, totals' in complaint('-f', 'md', '-t', 'x', recording)


def test_markdown(recording):
    text = export('-f', 'md', recording).decode()
    assert text.startswith('# cudaspy export\n\n## run\n\n| schema |')
    for block in re.findall(r'(?:^\|.*\n)+', text, re.MULTILINE):
        columns = {len(re.findall(r'(?<!\\)\|', line)) for line in block.splitlines()}
        assert len(columns) == 1, block


def test_hostile_names(run, tmp_path):
    """What a program calls itself is neither a formula nor markup, and stays on its line."""
    command = tmp_path / '=HYPERLINK("x")|<b>\r\n\x1b[31m\udcff'
    command.symlink_to(ROOT / 'build/samples/sim/vector_add')
    recording = run(command, 1).recording
    row, = table(recording, 'processes')
    assert '\x1b' not in row['command'] and '\n' not in row['command'] and r'\x1b' in row['command']
    text = export('-f', 'md', '-t', 'processes', recording).decode()
    assert len(text.strip().splitlines()) == 7 and r'\<b\>' in text and '\x1b' not in text


def test_text_goes_to_standard_output_or_a_file(recording, tmp_path):
    text = export('-f', 'csv', '-t', 'totals', recording)
    assert export('-f', 'csv', '-t', 'totals', '-o', tmp_path / 'a.csv', recording) == b''
    assert (tmp_path / 'a.csv').read_bytes() == text
    export('-f', 'csv', '-t', 'totals', '-o', tmp_path / 'a.csv.gz', recording)
    assert gzip.decompress((tmp_path / 'a.csv.gz').read_bytes()) == text
    assert export('-f', 'csv', '-t', 'totals', '-o', '/dev/stdout', recording) == text


def test_a_file_keeps_its_mode_and_links_stay(recording, tmp_path):
    old = tmp_path / 'old.csv'
    old.write_text('old')
    old.chmod(0o640)
    (tmp_path / 'link.csv').symlink_to('old.csv')
    export('-f', 'csv', '-o', tmp_path / 'link.csv', recording)
    assert (tmp_path / 'link.csv').is_symlink() and old.read_text().startswith('run\n')
    assert old.stat().st_mode & 0o777 == 0o640
    previous = os.umask(0o027)
    try:
        export('-f', 'csv', '-o', tmp_path / 'new.csv', recording)
    finally:
        os.umask(previous)
    assert (tmp_path / 'new.csv').stat().st_mode & 0o777 == 0o640


def test_a_dash_is_standard_output(recording, tmp_path):
    def out(*args):
        return subprocess.run([REPORTER, *map(str, args)], cwd=tmp_path, stdout=subprocess.PIPE, check=True, timeout=120).stdout
    for command in (['export', '-f', 'csv', recording], ['export', '-f', 'pprof', recording], ['report', '-f', 'json', recording],
                    ['report', '-f', 'html', recording], ['diff', recording, recording], ['check', '--limit', 'syncs <= 1000', recording]):
        assert out(*command, '-o', '-') == out(*command) != b''
    assert 'name one with -o' in complaint('-f', 'sqlite', '-o', '-', recording, cwd=tmp_path)
    assert not (tmp_path / '-').exists()


def test_what_fails_leaves_what_was_there(recording, tmp_path):
    out = tmp_path / 'out.csv'
    out.write_text('old')
    complaint('-f', 'csv', '-t', 'nothing', '-o', out, recording)
    # A limit on the size of files is as good as a full disk.
    complaint('-f', 'csv', '-o', out, recording, preexec_fn=lambda: limit(1000))
    assert out.read_text() == 'old'
    assert [p.name for p in tmp_path.iterdir() if p.suffix != '.cudaspy' and p.name != 'truth'] == ['out.csv']
    assert 'No such file' in complaint('-f', 'csv', '-o', tmp_path / 'no/where.csv', recording)
    assert 'directory' in complaint('-f', 'csv', '-o', tmp_path, recording)
    with open('/dev/full', 'w') as full:
        p = subprocess.run([REPORTER, 'export', '-f', 'csv', recording], stdout=full, stderr=subprocess.PIPE)
    assert p.returncode == 2 and b'No space left' in p.stderr


def limit(size):
    import resource
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def test_what_is_asked_must_go_together(recording, tmp_path):
    assert 'no --format' in complaint(recording)
    assert 'did you mean csv?' in complaint('-f', 'csvs', recording)
    assert '--format xml: unknown; one of ' in complaint('-f', 'xml', recording)
    assert '--table goes with' in complaint('-f', 'bmf', '-t', 'kernels', recording)


def test_parquet_is_made_by_others(recording, tmp_path):
    """The error names them, and the lines of docs/EXPORTS.md work: as many kernels as were launched."""
    line = complaint('-f', 'parquet', recording)
    assert 'DuckDB' in line and '--format sqlite or csv' in line and 'parquet' not in formats()
    section = (ROOT / 'docs/EXPORTS.md').read_text().split('\n**Parquet** ')[1].split('\n## ')[0]
    scripts = [s.replace('\\"', '"') for s in re.findall(r'^    python3 -c "(.*?[^\\])"$', section, re.MULTILINE | re.DOTALL)]
    assert len(scripts) == 2
    export('-f', 'sqlite', '-o', tmp_path / 'run.sqlite', recording)
    export('-f', 'csv', '-t', 'kernels', '-o', tmp_path / 'kernels.csv', recording)
    for script, count in zip(scripts, ('count(*)', 'sum(launches)')):
        read = f"print(duckdb.sql(\"SELECT {count} FROM 'kernels.parquet'\").fetchall()[0][0])"
        p = python_reader('-c', f'{script}\n{read}', cwd=tmp_path)
        assert (p.returncode, p.stdout.strip()) == (0, '50'), p.stderr


def test_binary_does_not_go_to_a_terminal(recording):
    master, slave = os.openpty()
    try:
        p = subprocess.run([REPORTER, 'export', '-f', 'pprof', recording], stdout=slave, stderr=subprocess.PIPE)
    finally:
        os.close(slave)
        os.close(master)
    assert p.returncode == 2 and b'pprof is not for a terminal: name a file with -o' in p.stderr


def test_formats_are_documented():
    """docs/EXPORTS.md and the manual page have each of them."""
    page = (ROOT / 'report/cudaspy.1').read_text()
    section = re.search(r'^\.SS cudaspy export$(.*?)^\.S[SH]', page, re.MULTILINE | re.DOTALL).group(1)
    rows = re.findall(r'^\| `([a-z-]+)` \|', (ROOT / 'docs/EXPORTS.md').read_text().split('\n## ')[0], re.MULTILINE)
    assert rows == list(formats())
    for name in formats():
        assert re.search(rf'^\.B.*(?<![a-z]){name}(?![a-z])', section.replace('\\-', '-'), re.MULTILINE), name


# ---- many kinds of recordings ----------------------------------------------------------------------------------------

@pytest.fixture(scope='module')
def many(tmp_path_factory):
    """Recordings of start-up, loops, graphs, ranges, many streams, several processes, nothing at all."""
    folder = tmp_path_factory.mktemp('many')
    programs = {'phases': ['tests/e2e/phases', 2], 'crowd': ['tests/e2e/crowd', 2, 100], 'graphs': ['samples/sim/graph_replay', 60],
                'streams': ['samples/sim/streams', 60], 'two': [], 'vector_add': ['samples/sim/vector_add', 1]}
    for mode in 'sample', 'off':
        for name, command in programs.items():
            (folder / f'{name}-{mode}').mkdir()
            env = environment(folder, CUDASPY_OUT=f'{folder}/{name}-{mode}/', CUDASPY_GPU=mode, CUDASPY_SITES='all')
            env['CUDASPY_RUN_ID'] = f'run-{name}-{mode}'
            args = [BUILD / command[0], *map(str, command[1:])] if command else ['sh', '-c', '"$0" 30 & "$0" 40; wait', BUILD / 'samples/sim/pageable_copies']
            subprocess.run(args, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=120, check=True)
    found = sorted(p for p in folder.iterdir() if p.is_dir())
    assert [len(list(p.iterdir())) for p in found] == [2 if p.name.startswith('two') else 1 for p in found]
    return found


@pytest.mark.parametrize('name', ['csv', 'md', 'folded', 'openmetrics', 'bmf', 'gha-benchmark', 'pprof'])
def test_every_format_of_every_recording(many, name, tmp_path):
    for folder in many:
        out = tmp_path / folder.name
        export('-f', name, '-o', out, folder)
        assert out.stat().st_size > 0
        assert b'nan' not in out.read_bytes().lower().replace(b'nanosec', b'') or name == 'pprof'


# ---- openmetrics -----------------------------------------------------------------------------------------------------

SAMPLE = re.compile(r'(cudaspy_[a-z0-9_]+)(?:\{((?:[a-z_]+="(?:[^"\\]|\\.)*",?)+)\})? (\S+)')


def metrics(text):
    """By name and labels."""
    found = {}
    for line in text.splitlines():
        if line.startswith('#'):
            continue
        name, labels, value = SAMPLE.fullmatch(line).groups()
        pairs = tuple(re.findall(r'([a-z_]+)="((?:[^"\\]|\\.)*)"', labels or ''))
        assert (name, pairs) not in found, line
        found[name, pairs] = float(value)
    return found


def test_openmetrics_is_clean(many):
    promtool = reader('promtool')
    for folder in many:
        text = export('-f', 'openmetrics', folder)
        assert text.endswith(b'\n# EOF\n') and text.count(b'# EOF') == 1
        p = subprocess.run([promtool, 'check', 'metrics'], input=text, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        assert p.returncode == 0 and p.stdout == b'', p.stdout.decode()


def test_openmetrics_has_the_figures_of_the_report(recording):
    whole, found = report(recording), metrics(export('-f', 'openmetrics', recording).decode())
    assert found['cudaspy_launches', ()] == whole['totals']['launches']
    assert found['cudaspy_window_seconds', ()] == pytest.approx(whole['window_ns'] / 1e9)
    busy = {dict(labels)['bound']: value for (name, labels), value in found.items() if name == 'cudaspy_gpu_busy_ratio'}
    assert busy['estimate'] == pytest.approx(whole['gpu']['busy_share'], rel=1e-6)
    assert busy['low'] <= busy['estimate'] <= busy['high']
    host = sum(value for (name, _), value in found.items() if name == 'cudaspy_host_seconds')
    assert host == pytest.approx(whole['host']['window_ns'] / 1e9, rel=1e-6)
    verdict, = [dict(labels) for name, labels in found if name == 'cudaspy_verdict_info']
    assert verdict == {'class': whole['verdict']['class'], 'confidence': whole['verdict']['confidence']}


def test_openmetrics_leaves_out_what_is_unknown(run):
    found = metrics(export('-f', 'openmetrics', run('sync_every_step', 20).recording).decode())
    assert not [name for name, _ in found if name.startswith('cudaspy_gpu')]
    assert ('cudaspy_implicit_syncs', ()) not in found


def test_openmetrics_escapes_labels(run, tmp_path):
    command = tmp_path / 'a"} 1\nx{y="\\n'
    command.symlink_to(ROOT / 'build/samples/sim/vector_add')
    text = export('-f', 'openmetrics', run(command, 1).recording)
    info, = [dict(labels) for name, labels in metrics(text.decode()) if name == 'cudaspy_run_info']
    assert r'a\"} 1\\x0ax{y=\"' in info['command']
    p = subprocess.run([reader('promtool'), 'check', 'metrics'], input=text, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert p.returncode == 0 and p.stdout == b'', p.stdout.decode()


# ---- history of runs -------------------------------------------------------------------------------------------------

def test_bmf_follows_its_schema(many):
    """https://bencher.dev/docs/reference/bencher-metric-format: names, measures, value and its bounds, nothing else."""
    for folder in many:
        found = json.loads(export('-f', 'bmf', folder))
        assert found['run']['launches']['value'] == report(folder)['totals']['launches']
        for benchmark, measures in found.items():
            # Names of benchmarks have at most 1024 characters, those of measures 64.
            assert re.fullmatch(r'run|loop \d+', benchmark) and measures and max(map(len, measures)) <= 64
            for measure, metric in measures.items():
                assert re.fullmatch(r'[a-z-]+', measure)
                assert {'value'} <= set(metric) <= {'value', 'lower_value', 'upper_value'}, measure
                assert all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in metric.values())
                assert metric.get('lower_value', metric['value']) <= metric['value'] <= metric.get('upper_value', metric['value'])
        assert ('gpu-busy-percent' in found['run']) == (report(folder)['gpu']['busy_share'] is not None)


def test_steps_have_an_interval(run):
    r = run('sync_every_step', 300, CUDASPY_GPU='sample', **VIRTUAL_TIME)
    steps = report(r.recording)['steps']
    time = json.loads(export('-f', 'bmf', r.recording))['loop 1']['step-time-ns']
    assert time['value'] == pytest.approx(steps['duration_ns']['p50'], rel=1e-6)
    assert steps['duration_ns']['min'] <= time['lower_value'] <= time['value'] <= time['upper_value'] <= steps['duration_ns']['max']


def test_gha_benchmark(many):
    """What benchmark-action/github-action-benchmark takes with tool: customSmallerIsBetter.

    Its parser wants a JSON array that is not empty, compares entries by name and unit, and rewrites a range of the form
    "± 1.5" or "+-1.5" alone, which an interval is not: ours is shown as it stands.
    """
    for folder in many:
        entries = json.loads(export('-f', 'gha-benchmark', folder))
        assert entries and len({e['name'] for e in entries}) == len(entries)
        for e in entries:
            low, high = map(float, e['range'].split('..')) if 'range' in e else (e['value'], e['value'])
            assert low <= e['value'] * (1 + 1e-5) + 1e-9 and e['value'] <= high * (1 + 1e-5) + 1e-9, e
            assert not re.search(r'\+-|±', e.get('range', ''))
        for e in entries:
            assert {'name', 'unit', 'value'} <= set(e) <= {'name', 'unit', 'value', 'range', 'extra'}
            assert isinstance(e['value'], (int, float)) and all(isinstance(e[k], str) for k in e if k != 'value')
        by_name = {e['name']: e for e in entries}
        assert 'run: gpu-busy' not in by_name
        busy = report(folder)['gpu']['busy_share']
        if busy is not None:
            assert by_name['run: gpu-idle']['value'] == pytest.approx(100 * (1 - busy), rel=1e-6)


# ---- profiles --------------------------------------------------------------------------------------------------------

def pprof(*args):
    p = subprocess.run([reader('pprof'), *map(str, args)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60,
                       universal_newlines=True)
    assert p.returncode == 0, p.stderr
    return p.stdout


def profile(path):
    """What pprof reads: the types, and of each sample its values, labels and the functions of its stack, innermost first."""
    text = pprof('-raw', path)
    locations = {}
    for line in text.split('\nLocations\n')[1].split('\nMappings')[0].splitlines():
        m = re.match(r' *(\d+): 0x[0-9a-f]+ (?:M=\d+ )?(.*) (\S*):(\d+)(?::\d+)? s=0', line)
        if m:
            locations[m[1]] = (m[2], m[3], int(m[4]))
    body = text.split('Samples:\n')[1].split('\nLocations\n')[0].splitlines()
    types = [t.split('/')[0] for t in body[0].replace('[dflt]', '').split()]
    samples = []
    for line in body[1:]:
        m = re.match(r'((?: *\d+)+): ([\d ]+)$', line)
        if m:
            samples.append([dict(zip(types, map(int, m[1].split()))), {}, [locations[i] for i in m[2].split()]])
        else:
            samples[-1][1].update(re.findall(r'(\S+):\[(.*?)\]', line))
    return types, samples


def test_pprof_reads_the_profile(many, tmp_path):
    """All calls are in it, with their time, whether stacks were taken of them or not."""
    reader('pprof')
    for folder in many:
        whole = report('--sites', '-n', 'all', folder)
        out = tmp_path / f'{folder.name}.pb.gz'
        export('-f', 'pprof', '-o', out, folder)
        types, samples = profile(out)
        assert types[:2] == ['calls', 'api']
        assert ('gpu' in types) == (whole['gpu']['work']['all']['gpu_total_ns'] is not None), folder
        assert sum(s[0]['calls'] for s in samples) == pytest.approx(sum(a['calls'] for a in whole['apis']), rel=1e-2), folder
        assert sum(s[0]['api'] for s in samples) == pytest.approx(sum(a['total_ns'] for a in whole['apis']), rel=1e-2), folder
        if 'gpu' in types:
            gpu = whole['gpu']['work']['all']['gpu_total_ns']
            assert sum(s[0]['gpu'] for s in samples) == pytest.approx(gpu, rel=1e-2, abs=len(samples)), folder
        assert all('kind' in labels for _, labels, _ in samples)


def test_pprof_has_stacks_on_lines(run, tmp_path):
    r = run('sync_every_step', 50, CUDASPY_SITES='all')
    export('-f', 'pprof', '-o', tmp_path / 'p.pb.gz', r.recording)
    sites = report('--sites', r.recording)['sites']
    _, samples = profile(tmp_path / 'p.pb.gz')
    waits = [s for s in samples if s[1]['kind'] == 'wait']
    assert sum(s[0]['calls'] for s in waits) == 50
    assert all(s[2][0][0] == 'cudaStreamSynchronize' and len(s[2]) > 1 for s in waits)
    named = [f['function'] for s in sites for f in s['frames'] if f['function']]
    assert set(named) <= {frame[0] for s in samples for frame in s[2]}
    assert 'cudaStreamSynchronize' in pprof('-top', '-sample_index=calls', tmp_path / 'p.pb.gz')


def test_pprof_has_labels(run, tmp_path):
    """Each stream's calls are as many as in the database; phases' as the report's; pprof finds them by label."""
    r = run('samples/sim/streams', 60, CUDASPY_SITES='off', CUDASPY_TRACE=1, CUDASPY_GPU='sample', RANK=3)
    out = tmp_path / 'p.pb.gz'
    export('-f', 'pprof', '-o', out, r.recording)
    export('-f', 'sqlite', '-o', tmp_path / 'p.sqlite', r.recording)
    with contextlib.closing(sqlite3.connect(tmp_path / 'p.sqlite')) as db:
        want = dict(db.execute("""SELECT k.streamId, count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN CUPTI_ACTIVITY_KIND_RUNTIME r
            USING (correlationId) GROUP BY 1"""))
    assert len(want) > 2
    _, samples = profile(out)
    got = collections.Counter()
    for values, labels, stack in samples:
        if labels['kind'] == 'launch':
            got[int(labels['stream'])] += values['calls']
        assert labels.get('rank') == '3' or 'device' not in labels
    assert got == want
    assert {labels['device'] for _, labels, _ in samples if 'device' in labels} == {'GPU 0'}
    stream = max(want)
    top = pprof('-top', '-sample_index=calls', f'-tagfocus=stream={stream}', out)
    assert re.search(rf'^ +{want[stream]} .* cudaLaunchKernel\w*$', top, re.MULTILINE), top
    assert f' {stream}\n' in pprof('-tags', '-sample_index=calls', out)


def test_pprof_has_phases(many, tmp_path):
    """Labels of phases are those of the report, with most of its launches in its loops; without a trace that is an estimate."""
    folder, = [f for f in many if f.name == 'phases-sample']
    export('-f', 'pprof', '-o', tmp_path / 'p.pb.gz', folder)
    phases = report(folder)['phases']
    loops = [p for p in phases if p['kind'] == 'loop']
    _, samples = profile(tmp_path / 'p.pb.gz')
    assert {labels['phase'] for _, labels, _ in samples if 'phase' in labels} >= {f'loop {p["number"]}' for p in loops}
    for p in loops:
        launches = sum(v['calls'] for v, labels, _ in samples if labels['kind'] == 'launch' and labels.get('phase') == f'loop {p["number"]}')
        assert launches == pytest.approx(p['per_step']['launches'] * p['steps'], rel=0.05), p
    assert 'phase=loop 1' in pprof('-top', '-sample_index=calls', '-tagfocus=phase=loop 1', tmp_path / 'p.pb.gz')


def test_pprof_has_ranks(many, tmp_path):
    """Two processes of a run: what each took is told apart."""
    folder, = [f for f in many if f.name == 'two-sample']
    export('-f', 'pprof', '-o', tmp_path / 'p.pb.gz', folder)
    _, samples = profile(tmp_path / 'p.pb.gz')
    copies = sum(v['calls'] for v, labels, stack in samples if stack[0][0] == 'cudaMemcpy')
    assert copies == sum(a['calls'] for a in report(folder)['apis'] if a['name'] == 'cudaMemcpy')


def test_the_same_export_gives_the_same_bytes(recording):
    assert export('-f', 'pprof', recording) == export('-f', 'pprof', recording)


def test_folded(many):
    """A stack, a space, nanoseconds: their sum is the API time of the run."""
    for folder in many:
        total = 0
        for line in export('-f', 'folded', folder).decode().splitlines():
            stack, ns = line.rsplit(' ', 1)
            assert len(stack.split(';')) > 1 and all(stack.split(';'))
            total += int(ns)
        assert total == pytest.approx(sum(a['total_ns'] for a in report(folder)['apis']), rel=1e-2)
