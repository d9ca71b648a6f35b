# SPDX-License-Identifier: Apache-2.0
"""`cudaspy export --format sqlite`: nsys' tables, the report's tables, the queries of the manual page, and nsys-ai."""
import json
import re
import sqlite3
import subprocess
import time

import pytest

from conftest import REPORTER, ROOT, SAMPLES, VIRTUAL_TIME, python_reader, report
from test_check import record


def export(out, *recordings, **more):
    p = subprocess.run([REPORTER, 'export', '-f', 'sqlite', '-o', str(out), *map(str, recordings)], stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE, timeout=300, universal_newlines=True, **more)
    assert p.returncode == 0 and p.stdout == '' and p.stderr == '', p.stderr
    db = sqlite3.connect(f'file:{out}?mode=ro', uri=True)
    db.row_factory = sqlite3.Row
    return db


def rows(db, query, *values):
    return [dict(row) for row in db.execute(query, values)]


def one(db, query, *values):
    (value,), = db.execute(query, values)
    return value


@pytest.fixture
def recorded(run):
    return run('sync_every_step', 200, CUDASPY_GPU='sample', CUDASPY_TRACE=1, CUDASPY_SITES='all', **VIRTUAL_TIME)


def test_it_is_sound(recorded, tmp_path):
    db = export(tmp_path / 'a.sqlite', recorded.recording)
    assert [tuple(row) for row in db.execute('PRAGMA integrity_check')] == [('ok',)]
    assert one(db, 'PRAGMA freelist_count') == 0
    indexes = {row['name'] for row in rows(db, "SELECT name FROM sqlite_master WHERE type = 'index'")}
    assert {'kernel_correlation', 'copy_correlation', 'range_start'} <= indexes
    assert not [p for p in tmp_path.iterdir() if 'sqlite' in p.name and p.name != 'a.sqlite']
    meta = dict(tuple(row) for row in db.execute('SELECT name, value FROM META_DATA_EXPORT'))
    assert meta['EXPORTED_BY'].startswith('cudaspy ') and meta['SCHEMA'] == 'cudaspy.sqlite/1'
    assert (meta['CUDASPY_GPU'], meta['SIMULATED_GPU']) == ('sample', '1')


def test_calls_and_work_are_all_there(recorded, tmp_path):
    db, whole = export(tmp_path / 'a.sqlite', recorded.recording), recorded.report
    assert one(db, 'SELECT count(*) FROM CUPTI_ACTIVITY_KIND_RUNTIME') == whole['totals']['calls']
    assert one(db, 'SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL') == whole['totals']['launches']
    assert one(db, 'SELECT count(*) FROM CUPTI_ACTIVITY_KIND_MEMCPY') == whole['totals']['copies']
    assert one(db, 'SELECT sum(bytes) FROM CUPTI_ACTIVITY_KIND_MEMCPY') == whole['totals']['copy_bytes']
    assert one(db, 'SELECT count(*) FROM CUPTI_ACTIVITY_KIND_MEMSET') == whole['totals']['sets']
    assert one(db, 'SELECT count(*) FROM CUPTI_ACTIVITY_KIND_SYNCHRONIZATION') == whole['totals']['syncs']
    by_name = {row['name']: row for row in rows(db, '''
        SELECT value AS name, count(*) AS calls, sum(end - start) AS ns
        FROM CUPTI_ACTIVITY_KIND_RUNTIME JOIN StringIds ON id = nameId GROUP BY 1''')}
    for api in whole['apis']:
        row = by_name[re.sub('^__cuda', 'cuda', api['name'])]
        assert row['calls'] == api['calls'], api['name']
        assert row['ns'] == pytest.approx(api['total_ns'], rel=1e-3, abs=api['calls']), api['name']
    covered, = rows(db, 'SELECT * FROM cudaspy_covered')
    assert (covered['whole'], covered['unplaced'], covered['left_out']) == (1, 0, 0)


def test_calls_covered_are_the_programs(run, tmp_path):
    """How CUDA carries out a call is recorded too, and no call of the program's."""
    r = run('streams', 20, CUDASPY_GPU='sample', CUDASPY_TRACE=1, **VIRTUAL_TIME)
    db = export(tmp_path / 'a.sqlite', r.recording)
    covered, = rows(db, 'SELECT * FROM cudaspy_covered')
    assert covered['calls'] == covered['all_calls'] == one(db, 'SELECT count(*) FROM CUPTI_ACTIVITY_KIND_RUNTIME')


def test_the_joins_of_nsys_hold(recorded, tmp_path):
    """A kernel is joined with its call by correlation and process, and does not start before it."""
    db = export(tmp_path / 'a.sqlite', recorded.recording)
    joined = rows(db, '''
        SELECT k.start AS started, r.start AS called, api.value AS api, name.value AS kernel, k.gridX, k.blockX, k.streamId
        FROM CUPTI_ACTIVITY_KIND_KERNEL k
        JOIN CUPTI_ACTIVITY_KIND_RUNTIME r ON k.correlationId = r.correlationId AND k.globalPid = (r.globalTid & -16777216)
        JOIN StringIds api ON api.id = r.nameId JOIN StringIds name ON name.id = k.demangledName''')
    assert len(joined) == recorded.report['totals']['launches']
    kernel, = recorded.report['kernels']
    for row in joined:
        assert row['started'] >= row['called']
        assert (row['api'], row['kernel']) == ('cudaLaunchKernel', kernel['name'])
        assert [row['gridX'], row['blockX']] == [kernel['grid'][0], kernel['block'][0]]
        assert row['streamId'] > 0
    process, = recorded.report['processes']
    assert one(db, 'SELECT DISTINCT (globalTid >> 24) & 0xFFFFFF FROM CUPTI_ACTIVITY_KIND_RUNTIME') == process['pid']
    assert one(db, '''SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE shortName NOT IN (SELECT id FROM StringIds)
        OR timed NOT IN (SELECT id FROM ENUM_CUDASPY_TIMED)''') == 0


def test_gpu_time_is_that_of_the_timeline(recorded, tmp_path):
    """What is estimated says so; together it comes to what the report says, within its interval."""
    db, gpu = export(tmp_path / 'a.sqlite', recorded.recording), recorded.report['gpu']
    drawn = sum(one(db, f'SELECT total(end - start) FROM CUPTI_ACTIVITY_KIND_{kind}') for kind in ('KERNEL', 'MEMCPY', 'MEMSET'))
    assert gpu['busy_low_ns'] * 0.9 <= drawn <= gpu['busy_high_ns'] * 1.1
    assert one(db, 'SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE timed IN (1, 2)') == 200


def test_the_reports_tables_stand_beside(recorded, tmp_path):
    db = export(tmp_path / 'a.sqlite', recorded.recording)
    whole = report('--sites', '-n', 'all', recorded.recording)
    assert rows(db, 'SELECT launches, copies, syncs FROM cudaspy_totals') == [{k: whole['totals'][k] for k in ('launches', 'copies', 'syncs')}]
    assert [row['kind'] for row in rows(db, 'SELECT kind FROM cudaspy_phases')] == [p['kind'] for p in whole['phases']]
    assert one(db, 'SELECT count(*) FROM cudaspy_sites') == len(whole['sites']) > 0
    assert one(db, 'SELECT count(*) FROM cudaspy_sites_frames') == sum(len(s['frames']) for s in whole['sites'])
    assert [row['id'] for row in rows(db, 'SELECT id FROM cudaspy_findings')] == [f['id'] for f in whole['findings']]
    assert one(db, "SELECT count(*) FROM cudaspy_what_if WHERE change = 'no-sync'") == 1
    steps = rows(db, 'SELECT * FROM cudaspy_steps WHERE loop = 1 ORDER BY start_ns')
    assert len(steps) == whole['steps']['count'] and steps[5]['launches'] == 1
    assert steps[5]['start_ns'] + steps[5]['duration_ns'] <= steps[6]['start_ns'] + 1
    estimates = rows(db, 'SELECT * FROM cudaspy_estimates')
    busy, = [e for e in estimates if (e['what'], e['name']) == ('gpu_busy', 'run')]
    assert busy['value'] == pytest.approx(whole['gpu']['busy_ns'], rel=1e-6)
    assert all(e['low'] <= e['value'] <= e['high'] for e in estimates if e['low'] is not None)


def anonymous_kib(*args):
    """The most memory of its own that a process was seen with."""
    p, most = subprocess.Popen([REPORTER, *map(str, args)]), 0
    while p.poll() is None:
        try:
            most = max(most, int(re.search(r'RssAnon:\s+(\d+)', open(f'/proc/{p.pid}/status').read())[1]))
        except (OSError, TypeError): # it is gone
            pass
        time.sleep(0.002)
    assert p.returncode == 0
    return most


def test_memory_does_not_grow_with_the_rows(tmp_path):
    """Pages that are kept, and what sorts an index, each took up to 64 MiB."""
    def kib(calls):
        recording, = record(tmp_path / str(calls), SAMPLES / 'sim/many_tiny_launches', calls, CUDASPY_TRACE=1).glob('*.cudaspy')
        return anonymous_kib('export', '-f', 'sqlite', '-o', tmp_path / f'{calls}.sqlite', recording)
    assert kib(900000) < max(kib(300000), kib(310000)) + 20 * 1024 # a peak may be missed


def columns(db, table):
    return {row['name'] for row in rows(db, f'PRAGMA table_info({table})')}


def test_tables_are_there_where_they_are_empty(recorded, run, tmp_path):
    """With the columns that they have elsewhere."""
    db = export(tmp_path / 'a.sqlite', recorded.recording)
    r = run('vector_add', 1, CUDASPY_SITES='off', CUDASPY_OUT=tmp_path / 'little.cudaspy')
    assert r.status == 0
    little = export(tmp_path / 'little.sqlite', tmp_path / 'little.cudaspy')
    for table in 'phases', 'kernels', 'copies', 'sites', 'sites_frames', 'findings', 'what_if', 'steps', 'estimates':
        assert columns(little, f'cudaspy_{table}'), table
        if one(db, f'SELECT count(*) FROM cudaspy_{table}') and not one(little, f'SELECT count(*) FROM cudaspy_{table}'):
            assert columns(little, f'cudaspy_{table}') <= columns(db, f'cudaspy_{table}'), table


def test_without_gpu_time_there_are_no_tables_of_it(run, tmp_path):
    db = export(tmp_path / 'a.sqlite', run('sync_every_step', 20).recording)
    assert one(db, 'SELECT count(*) FROM CUPTI_ACTIVITY_KIND_RUNTIME') > 0
    assert rows(db, "SELECT * FROM sqlite_master WHERE name = 'CUPTI_ACTIVITY_KIND_KERNEL'") == []


def test_ranges_graphs_and_several_processes(run, tmp_path):
    graphs = run('graph_replay', 60, CUDASPY_GPU='sample', CUDASPY_OUT=tmp_path / 'graphs.cudaspy')
    db = export(tmp_path / 'g.sqlite', tmp_path / 'graphs.cudaspy')
    assert one(db, 'SELECT count(*) FROM CUPTI_ACTIVITY_KIND_GRAPH_TRACE') == report(tmp_path / 'graphs.cudaspy')['totals']['graph_launches']
    assert graphs.status == 0
    folder = tmp_path / 'two'
    folder.mkdir()
    for n in 30, 40:
        run('pageable_copies', n, CUDASPY_GPU='sample', CUDASPY_OUT=f'{folder}/', CUDASPY_RUN_ID='two')
    db = export(tmp_path / 't.sqlite', folder)
    assert one(db, 'SELECT count(DISTINCT globalPid) FROM CUPTI_ACTIVITY_KIND_MEMCPY') == 2
    assert one(db, 'SELECT count(*) FROM CUPTI_ACTIVITY_KIND_MEMCPY WHERE srcKind = 0 OR dstKind = 0') > 0
    assert one(db, 'SELECT count(*) FROM CUPTI_ACTIVITY_KIND_RUNTIME') == report(folder)['totals']['calls']


def test_what_is_taken_for_several_kernels_is_no_graph(run, compile_c, tmp_path):
    """A copy at the head of a full queue, by which the kernels around it last: it came as a graph without a number."""
    program = compile_c('''
        #include "tests/e2e/programs/work.h"
        int main(void)
        {
            CUstream stream;
            CUdeviceptr memory;

            work_start();
            CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
            CHECK(cuMemAlloc(&memory, 8192));
            for (int i = 0; i < 4000; i++) {
                CHECK(cuMemcpyDtoDAsync(memory, memory + 4096, 64, stream));
                CHECK(work_launch(work_short, stream));
            }
            CHECK(cuCtxSynchronize());
            return 0;
        }''', '-lcuda', f'-I{ROOT}')
    r = run(program, WORK_SHORT_NS=100000, CUDASPY_GPU='sample', CUDASPY_TRACE=1, **VIRTUAL_TIME)
    assert r.status == 0
    db = export(tmp_path / 'a.sqlite', r.recording)
    assert one(db, 'SELECT count(*) FROM CUPTI_ACTIVITY_KIND_GRAPH_TRACE') == 0
    for kind in 'MEMCPY', 'KERNEL':
        assert one(db, f'SELECT count(*) FROM CUPTI_ACTIVITY_KIND_{kind} WHERE correlationId IS NOT NULL') == 4000


def test_hostile_texts_are_values(run, tmp_path):
    name = "'); DROP TABLE StringIds; --\x1b\udcff"
    command = tmp_path / name
    command.symlink_to(ROOT / 'build/samples/sim/vector_add')
    db = export(tmp_path / 'a.sqlite', run(command, 1, CUDASPY_GPU='sample').recording)
    text = one(db, 'SELECT command FROM cudaspy_processes')
    assert "'); DROP TABLE" in text and r'\xff' in text
    assert one(db, 'SELECT count(*) FROM StringIds') > 0


def test_it_needs_a_file(recorded, tmp_path):
    for out in [], ['-o', '/dev/stdout'], ['-o', str(tmp_path)]:
        p = subprocess.run([REPORTER, 'export', '-f', 'sqlite', *out, recorded.recording], stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, universal_newlines=True)
        assert p.returncode == 2 and p.stdout == '' and len(p.stderr.splitlines()) == 1


def test_a_full_disk_leaves_nothing(recorded, tmp_path):
    def limit():
        import resource
        import signal
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (50000, 50000))

    folder = tmp_path / 'out'
    folder.mkdir()
    p = subprocess.run([REPORTER, 'export', '-f', 'sqlite', '-o', folder / 'a.sqlite', recorded.recording], preexec_fn=limit,
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
    assert p.returncode == 2 and len(p.stderr.splitlines()) == 1 and 'a.sqlite: ' in p.stderr
    assert list(folder.iterdir()) == []


def queries():
    """Those of the manual page: .nf ... .fi behind .SS Queries."""
    page = (ROOT / 'report/cudaspy.1').read_text()
    section = re.search(r'^\.SS Queries$(.*?)^\.S[SH]', page, re.MULTILINE | re.DOTALL).group(1)
    return [text.replace('\\-', '-').replace('\\(aq', "'").strip() for text in re.findall(r'^\.nf$(.*?)^\.fi$', section, re.MULTILINE | re.DOTALL)]


def test_the_queries_of_the_manual_page(recorded, tmp_path):
    db = export(tmp_path / 'a.sqlite', recorded.recording)
    found = queries()
    assert len(found) >= 4
    for query in found:
        assert rows(db, query.rstrip(';')), query


# ---- nsys-ai ---------------------------------------------------------------------------------------------------------

def nsys_ai(folder, *args):
    # It would fetch an extension of DuckDB into the home folder; without one it takes SQLite itself.
    proxy = 'http://127.0.0.1:9'
    return python_reader('-m', 'nsys_ai', *args, timeout=300, cwd=folder,
                         more_env={'HOME': str(folder), 'HTTP_PROXY': proxy, 'http_proxy': proxy, 'https_proxy': proxy})


def test_nsys_ai_reads_it(recorded, tmp_path):
    out = tmp_path / 'a.sqlite'
    export(out, recorded.recording)
    p = nsys_ai(tmp_path, 'doctor', out)
    assert p.returncode == 0 and re.search(r'GPUs +\[OK', p.stdout) and ', 0 failed' in p.stdout, p.stdout + p.stderr
    p = nsys_ai(tmp_path, 'skill', 'run', 'top_kernels', out)
    assert p.returncode == 0 and re.search(r'step\(unsigned int\*.* 200 ', p.stdout), p.stdout + p.stderr
    for skill, said in ('critical_path', 'on-path'), ('sync_cost_analysis', 'Sync Density'):
        p = nsys_ai(tmp_path, 'skill', 'run', skill, out)
        assert p.returncode == 0 and re.search(said, p.stdout), (skill, p.stdout + p.stderr)


def test_nsys_ai_finds_what_is_slower(run, tmp_path):
    """Of two runs that differ in one kernel: the slower one is told, by that kernel, and its gate fails on it alone."""
    for name in 'dominant_kernel', 'dominant_kernel_fixed':
        recording = tmp_path / f'{name}.cudaspy'
        assert run(f'samples/sim/{name}', 100, CUDASPY_GPU='sample', CUDASPY_TRACE=1, CUDASPY_OUT=recording, **VIRTUAL_TIME).status == 0
        export(tmp_path / f'{name}.sqlite', recording)
    slow, fast = tmp_path / 'dominant_kernel.sqlite', tmp_path / 'dominant_kernel_fixed.sqlite'

    def diff(before, after):
        p = nsys_ai(tmp_path, 'diff', before, after, '--format', 'json', '--no-ai', '--gate', '3')
        return p.returncode, json.loads(p.stdout[p.stdout.index('{'):])

    status, found = diff(fast, slow)
    assert status == 1 and found['verdict'] == 'regression_likely', found
    assert [k['name'] for k in found['top_regressions']][:1] == ['solve'], found['top_regressions']
    assert found['top_regressions'][0]['delta_ns'] == pytest.approx(found['after']['total_gpu_ns'] - found['before']['total_gpu_ns'], rel=0.1)
    status, found = diff(slow, fast)
    assert status == 0 and found['verdict'] == 'improvement_likely', found
    assert [k['name'] for k in found['top_improvements']][:1] == ['solve'], found['top_improvements']
    status, found = diff(slow, slow)
    assert status == 0 and not found['top_regressions'], found


def test_nsys_ai_compares_two(recorded, run, tmp_path):
    export(tmp_path / 'a.sqlite', recorded.recording)
    other = run('sync_every_step', 200, CUDASPY_GPU='sample', CUDASPY_TRACE=1, CUDASPY_OUT=tmp_path / 'b.cudaspy')
    assert other.status == 0
    export(tmp_path / 'b.sqlite', tmp_path / 'b.cudaspy')
    p = nsys_ai(tmp_path, 'diff', tmp_path / 'a.sqlite', tmp_path / 'b.sqlite', '--format', 'json')
    assert p.returncode == 0, p.stderr
    verdict = json.loads(p.stdout[p.stdout.index('{'):])
    assert 'verdict' in json.dumps(verdict)
