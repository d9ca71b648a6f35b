# SPDX-License-Identifier: Apache-2.0
"""`cudaspy export`: the command, where its output goes, and the tables."""
import csv
import gzip
import io
import os
import re
import signal
import subprocess

import pytest

from conftest import REPORTER, ROOT, report


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
    return run('sync_every_step', 50, CUDASPY_GPU='sample').recording


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
    line = complaint('-f', 'parquet', recording)
    assert '--format parquet: unknown; one of csv, md' in line


def test_formats_are_documented():
    """docs/EXPORTS.md and the manual page have each of them."""
    page = (ROOT / 'report/cudaspy.1').read_text()
    section = re.search(r'^\.SS cudaspy export$(.*?)^\.S[SH]', page, re.MULTILINE | re.DOTALL).group(1)
    rows = re.findall(r'^\| `([a-z-]+)` \|', (ROOT / 'docs/EXPORTS.md').read_text(), re.MULTILINE)
    assert rows == list(formats())
    for name in formats():
        assert re.search(rf'^\.B.*(?<![a-z]){name}(?![a-z])', section.replace('\\-', '-'), re.MULTILINE), name
