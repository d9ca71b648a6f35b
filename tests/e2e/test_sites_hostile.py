# SPDX-License-Identifier: Apache-2.0
"""Call sites of recordings, names and files that mean harm: a report is made, soon, and nothing of it is taken for a text of ours."""
import json
import os
import subprocess

import pytest

from call_sites import interpreters, moved, python, recording_of, run_python, run_reporter, text_of
from conftest import BUILD, REPORTER, ROOT, SHIM, report

DAMAGE = r'''
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include "shim/core/format/trace_map.h"
/* One word of what call sites have in a recording becomes another. */
int main(int count, char **args)
{
	struct stat st;
	int fd = open(args[1], O_RDWR);
	fstat(fd, &st);
	struct tf_map m = {mmap(NULL, st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), st.st_size};
	struct tf_sites *a = tf_at(&m, tf_header(&m)->sites, sizeof(*a));
	uint64_t values[] = {0, 1, 7, 255, 65535, 1ull << 31, 1ull << 32, ~0ull, 64, 1ull << 63, st.st_size, st.st_size - 64,
	                     tf_header(&m)->sites};
	srand(atoi(args[2]));
	struct tf_table *tables[] = {&a->codes, &a->sites, &a->objects};
	struct tf_table *t = tables[rand() % 3];
	uint64_t *at = (uint64_t *)a + rand() % 24;
	uint8_t *entry = t->count ? tf_entry(&m, t, rand() % t->count, t->entry_bytes) : NULL;
	switch (entry ? rand() % 4 : 0) {
	case 0:
		break;
	case 1:
		at = (uint64_t *)t + rand() % 3;
		break;
	case 2:
		at = (uint64_t *)entry + rand() % (t->entry_bytes / 8);
		break;
	case 3: { /* what it leads to: frames, a text, a line table */
		uint64_t offset = ((uint64_t *)entry)[t == &a->codes ? rand() % 3 : t == &a->objects ? 3 : 0];
		uint8_t *p = tf_at(&m, offset, 64);
		if (p)
			at = (uint64_t *)p + rand() % 8;
		break;
	}
	}
	*at = rand() % 2 ? values[rand() % 13] : *at ^ 1ull << rand() % 64;
	return 0;
}
'''


def test_damaged_sites(tmp_path, compile_c):
    """Whatever stands there, the report is made, and is JSON."""
    python = interpreters().get('3.11') or next(iter(interpreters().values()))
    p = run_python(python, tmp_path, 'planted.py', CUDASPY_SITES='all')
    whole = recording_of(tmp_path, json.loads(p.stdout)['pid']).read_bytes()
    damage = compile_c(DAMAGE, f'-I{ROOT}', name='damage')
    for seed in range(80):
        file = tmp_path / 'damaged.cudaspy'
        file.write_bytes(whole)
        subprocess.run([damage, file, str(seed)], check=True)
        p = subprocess.run([REPORTER, 'report', '-f', 'json', file], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
        assert p.returncode in (0, 2), (seed, p.returncode, p.stderr)
        if p.returncode == 0:
            json.loads(p.stdout)


def plain(text):
    """As the reporter reads a name: a text of C, up to 1024 characters."""
    return text[:1024].split('\0')[0]


def test_hostile_names(python, tmp_path):
    """Names of code that are a megabyte long, empty, or have control characters: the stack is read, and no output has a control
    character, a line or a column more for it."""
    more = ['../../secret.py', '/a/../../secret.py', '/secret.py']
    p = run_python(python, tmp_path, 'hostile_names.py', *more, CUDASPY_SITES='all')
    said = json.loads(p.stdout)
    recording = recording_of(tmp_path, said['pid'])
    r = report(recording, '--limit', 'all')
    assert r['sites_python_trouble'] is None and r['sites_left_out'] == 0
    files = {f['file'] for s in r['sites'] for f in s['frames'] if f['language'] == 'python' and f['function'] != 'item'}
    for name in said['names']:
        short = plain(name)
        if short.isascii() and short.isprintable() and '\\' not in short:
            assert (short or None) in files, short[:100]
    assert any('\u20ac' * 1000 in (f or '') for f in files)
    root = tmp_path / 'root' / 'src'
    root.mkdir(parents=True)
    (tmp_path / 'secret.py').write_text('one\nTOP SECRET\n')
    (tmp_path / 'root' / 'secret.py').write_text('one\nTOP SECRET\n')
    for options in ['--sites', '--limit', 'all'], ['--all-frames'], ['--sites', '--source-root', root], ['-f', 'md', '--sites'], ['-f', 'html'], ['-f', 'csv']:
        out = subprocess.run([REPORTER, 'report', *(['--all'] if '-f' not in options else []), *options, recording], stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE)
        assert out.returncode == 0, out.stderr
        text = out.stdout.decode()
        assert 'TOP SECRET' not in text
        assert 'html' not in options or '<script>alert(1)' not in text
        assert not {c for c in text if (ord(c) < 32 and c not in '\n\t\r') or ord(c) in (127, 0x202e) or 0x80 <= ord(c) < 0xa0}
    folded = tmp_path / 'out.folded'
    run_reporter('export', '-f', 'folded', '-o', folded, recording)
    for line in folded.read_text().splitlines():
        assert line.rsplit(' ', 1)[1].isdigit() and line.isprintable()


def test_a_source_file_that_is_none(moved, tmp_path):
    """A FIFO, a device or a folder in its place is not waited for, nor read."""
    recording, program, line = moved
    assert line in text_of(recording)
    size = program.stat().st_size
    program.unlink()
    os.mkfifo(program)
    assert line not in text_of(recording)
    assert line not in text_of(recording, '--source-root', program.parent)
    program.unlink()
    program.mkdir()
    assert line not in text_of(recording, '--source-root', program.parent)
    program.rmdir()
    program.symlink_to('/dev/zero')
    assert line not in text_of(recording, '--source-root', program.parent)
    program.unlink()
    with open(program, 'wb') as out: # as large as it was, and no text
        out.write(os.urandom(size))
    assert line not in text_of(recording, '--source-root', program.parent)


TABLES = r'''
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include "shim/core/format/trace_map.h"
/* What call sites have in a recording, made as costly as its format lets it be. */
int main(int count, char **args)
{
	struct stat st;
	int fd = open(args[1], O_RDWR), way = atoi(args[2]);
	fstat(fd, &st);
	struct tf_map m = {mmap(NULL, st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), st.st_size};
	struct tf_sites *a = tf_at(&m, tf_header(&m)->sites, sizeof(*a));
	uint32_t sites = tf_count(&a->sites), codes = tf_count(&a->codes);
	uint64_t most = 0, longest = 0, n = 0;
	struct tf_site *from = NULL;
	for (uint32_t i = 0; i < sites; i++) {
		struct tf_site *s = tf_entry(&m, &a->sites, i, sizeof(*s));
		if (s->frame_count > most) {
			most = s->frame_count;
			from = s;
		}
	}
	for (uint32_t i = 0; i < codes; i++) {
		struct tf_code *c = tf_entry(&m, &a->codes, i, sizeof(*c));
		uint32_t bytes = 0;
		if (c->lines && tf_text(&m, c->lines, &bytes) && bytes > n) {
			n = bytes;
			longest = c->lines;
		}
	}
	for (uint32_t i = 0; i < sites; i++) {
		struct tf_site *s = tf_entry(&m, &a->sites, i, sizeof(*s));
		if (way == 0) /* all stacks are the largest one, and larger than that */
			s->frames = from->frames, s->frame_count = 0xffffffffu;
		if (way == 1) /* their frames are the recording's header */
			s->frames = 64, s->frame_count = 65536;
		if (way == 2) { /* ranges of a thread that lead to one another */
			strcpy(s->thread, "x\x1b[31m");
			s->range = 1;
		}
		if (way == 3)
			s->calls = s->ticks = s->bytes = s->samples = s->failed = ~0ull >> (i % 2);
		if (way == 5)
			s->call = (uint16_t)(i * 40503u), s->cut = 255;
	}
	for (uint32_t i = 0; i < codes && way == 4; i++) { /* line tables that never come to an end */
		struct tf_code *c = tf_entry(&m, &a->codes, i, sizeof(*c));
		c->lines = longest;
		c->python = 0x309 + i % 7;
		c->first_line = 0xffffffffu;
		memset((char *)tf_text(&m, longest, &(uint32_t){0}), i % 2 ? 0x80 : 0xff, n);
	}
	if (way == 2)
		for (uint32_t i = 0; i < tf_count(&tf_header(&m)->ranges); i++) {
			struct tf_nvtx_range *r = tf_entry(&m, &tf_header(&m)->ranges, i, sizeof(*r));
			r->parent = 1 + (i + 1) % tf_count(&tf_header(&m)->ranges);
		}
	if (way == 6)
		a->codes.count = a->sites.count = a->objects.count = 0xffffffffu;
	if (way == 7)
		for (uint32_t i = 0; i < tf_count(&a->objects); i++) {
			struct tf_object *o = tf_entry(&m, &a->objects, i, sizeof(*o));
			o->from = 0, o->until = ~0ull, o->bias = i * 77777, o->build_id_bytes = 0xffffffffu;
		}
	return 0;
}
'''


@pytest.mark.parametrize('way', range(8))
def test_costly_sites(tmp_path, compile_c, way):
    """Absurd counts, ranges in circles, tables that lead to one another: a report is made, soon, and is JSON."""
    python = interpreters().get('3.11') or next(iter(interpreters().values()))
    p = run_python(python, tmp_path, 'planted.py', 'backward', BUILD / 'tests/e2e/libbackward.so', CUDASPY_SITES='all', NVTX_INJECTION64_PATH=SHIM)
    file = recording_of(tmp_path, json.loads(p.stdout)['pid'])
    subprocess.run([compile_c(TABLES, f'-I{ROOT}', name='tables'), file, str(way)], check=True)
    for options in ['-f', 'json'], ['--all', '--sites', '--limit', 'all'], ['-f', 'html']:
        p = subprocess.run([REPORTER, 'report', *options, file], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120)
        assert p.returncode in (0, 2), (options, p.returncode, p.stderr)
        assert b'\x1b' not in p.stdout
        if p.returncode == 0 and options[1] == 'json':
            json.loads(p.stdout)


def test_a_recording_cut_anywhere(tmp_path):
    python = interpreters().get('3.11') or next(iter(interpreters().values()))
    p = run_python(python, tmp_path, 'planted.py', CUDASPY_SITES='all')
    whole = recording_of(tmp_path, json.loads(p.stdout)['pid']).read_bytes()
    file = tmp_path / 'cut.cudaspy'
    for part in range(1, 40):
        file.write_bytes(whole[:len(whole) * part // 40 // 8 * 8])
        p = subprocess.run([REPORTER, 'report', '-f', 'json', '--sites', file], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
        assert p.returncode in (0, 2), (part, p.returncode, p.stderr)
        if p.returncode == 0:
            json.loads(p.stdout)
