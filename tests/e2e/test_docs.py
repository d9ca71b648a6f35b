# SPDX-License-Identifier: Apache-2.0
"""What README.md and docs/ say about the tree and the program, held against both.

Paths, links, names in code, variables, options and JSON keys: what is named exists, and of what can be listed nothing is
left out.
"""
import functools
import json
import os
import re
import shlex
import subprocess
import sys
import time

import pytest

from conftest import BUILD, REPORTER, ROOT, SAMPLES, SHIM, SIM, environment, need_nvtx

DOCS = sorted((ROOT / 'docs').glob('*.md'))
PAGES = [ROOT / 'README.md', *DOCS]
ids = [p.name for p in PAGES]


@functools.lru_cache(maxsize=None)
def tree():
    """Every file of the checkout, by its path; nothing that was built or downloaded."""
    found = []
    for folder, folders, files in os.walk(ROOT):
        folders[:] = [f for f in folders if not f.startswith(('.git', 'build', '__pycache__', '.cache'))]
        here = os.path.relpath(folder, ROOT)
        found += [os.path.normpath(os.path.join(here, f)) for f in files]
    return frozenset(found)


@functools.lru_cache(maxsize=None)
def source(*suffixes, under=('shim', 'report', 'tests', 'scripts', 'cuda_samples')):
    """The text of all files with these endings, in one."""
    return '\n'.join((ROOT / f).read_text(errors='replace') for f in sorted(tree())
                     if f.endswith(suffixes) and f.split('/')[0] in under and f != 'tests/e2e/test_docs.py')


def prose(page):
    """A page without its indented blocks, which show what programs print."""
    return re.sub(r'^    .*$', '', page.read_text(), flags=re.M)


# ---- paths, links, names --------------------------------------------------------------------------------------------

PATH = re.compile(r'(?<![\w./~-])((?:shim|report|tests|scripts|docs|cuda_samples)/[\w./*{},-]*)')
FILE = re.compile(r'`([\w.-]+\.(?:c|h|py|def|mk|S|cu|cpp|md|map|ptx))`')


def braces(path):
    m = re.search(r'\{([^{}]*)\}', path)
    if not m:
        return [path]
    return [p for part in m[1].split(',') for p in braces(path[:m.start()] + part + path[m.end():])]


@pytest.mark.parametrize('page', PAGES, ids=ids)
def test_paths_exist(page):
    missing = []
    for named in PATH.findall(page.read_text()):
        for path in braces(named.rstrip('.,:')):
            if not list(ROOT.glob(path)) if '*' in path else not (ROOT / path).exists():
                missing.append(path)
    assert missing == []


@pytest.mark.parametrize('page', PAGES, ids=ids)
def test_files_exist(page):
    """Of files that are named without their folder."""
    names = {os.path.basename(f) for f in tree()}
    assert [f for f in FILE.findall(page.read_text()) if f not in names] == []


def anchors(page):
    """Those that GitHub makes of the headings."""
    found = []
    for title in re.findall(r'^#+ (.*)$', page.read_text(), flags=re.M):
        anchor = re.sub(r'[^\w\- ]', '', title.strip().lower()).replace(' ', '-')
        same = sum(1 for a in found if a == anchor or re.fullmatch(re.escape(anchor) + r'-\d+', a))
        found.append(f'{anchor}-{same}' if same else anchor)
    return found


@pytest.mark.parametrize('page', PAGES, ids=ids)
def test_links_resolve(page):
    dead = []
    for target in re.findall(r'\]\(([^)\s]+)\)', page.read_text()):
        if re.match(r'\w+:', target):
            continue
        path, _, anchor = target.partition('#')
        to = (page.parent / path) if path else page
        if not to.exists() or (anchor and (to.suffix != '.md' or anchor not in anchors(to))):
            dead.append(target)
    assert dead == []


def test_every_document_is_linked_from_the_readme():
    linked = set(re.findall(r'\]\(docs/(\w+\.md)', (ROOT / 'README.md').read_text()))
    assert linked == {p.name for p in DOCS}


@pytest.mark.parametrize('page', DOCS, ids=[p.name for p in DOCS])
def test_every_document_shows_something(page):
    """A table, or a picture of more than a line."""
    text = page.read_text()
    assert re.search(r'^\|[-|]+\|$', text, flags=re.M) or '```mermaid' in text or \
        re.search(r'(?:^    .*[-|+<>].*\n){3}', text, flags=re.M)


@pytest.mark.parametrize('page', PAGES, ids=ids)
def test_names_in_code_exist(page):
    """Functions, constants and structures, where a page names them as `name()`, `TF_NAME`, `struct name`."""
    code = source('.c', '.h', '.S', '.def', '.py', '.cpp', '.cu')
    words = set(re.findall(r'\w+', code))
    text = prose(page)
    names = re.findall(r'`(\w+)\(\)`', text) + re.findall(r'`((?:TF|SPY|TL|SPAN|ESTIMATE|VERDICT|FINDING|METRIC)_\w+)`', text) + \
        re.findall(r'`(?:struct|enum) (\w+)`', text)
    assert [n for n in names if n not in words and not re.search('_(?:WHAT|NAME)$', n)] == [] # these stand for any


@pytest.mark.parametrize('page', PAGES, ids=ids)
def test_make_targets_exist(page):
    rules = '\n'.join((ROOT / f).read_text() for f in sorted(tree()) if f == 'Makefile' or f.endswith('.mk'))
    targets = set(re.findall(r'^([\w-]+)(?= ?[\w -]*:(?!=))', rules, flags=re.M)) | \
        {t for line in re.findall(r'^([\w -]+):(?!=)', rules, flags=re.M) for t in line.split()}
    named = re.findall(r'(?:`|^    \$ |^    )make ([a-z][\w-]*)', page.read_text(), flags=re.M)
    assert [t for t in named if t not in targets] == []


def test_readme_is_of_one_screen_or_two():
    assert len((ROOT / 'README.md').read_text().splitlines()) <= 120


# ---- variables and options ------------------------------------------------------------------------------------------

def test_variables_are_those_that_are_read():
    """The table of the shim's options, and what else is asked for by name; in the pages no other, and none is left out."""
    known = set(re.findall(r'"(CUDASPY_[A-Z_]+)', source('.c', '.h', under=('shim', 'report'))))
    table, = [f for f in tree() if f.endswith('/options_parse.c')]
    options = set(re.findall(r'\{"(CUDASPY_[A-Z_]+)"', (ROOT / table).read_text()))
    assert len(options) >= 10 and options <= known
    named = {v for p in PAGES for v in re.findall(r'\bCUDASPY_[A-Z_]+[A-Z]\b', p.read_text())}
    assert named == {v for v in known if re.fullmatch(r'CUDASPY_[A-Z_]+[A-Z]', v)}
    commands = (ROOT / 'docs/COMMANDS.md').read_text()
    assert [v for v in sorted(named) if f'| `{v}` |' not in commands] == []


def help_of(*command):
    return subprocess.run([REPORTER, 'help', *command], stdout=subprocess.PIPE, universal_newlines=True, check=True).stdout


def commands():
    return re.findall(r'^  ([a-z]+) ', help_of(), flags=re.M)


def section(page, title):
    text = page.read_text()
    m = re.search(rf'^## .*`{re.escape(title)}.*\n((?:(?!## ).*\n?)*)', text, flags=re.M)
    assert m, f'{page.name} has no section for {title}'
    return m[1]


def test_commands_are_all_there():
    assert len(commands()) >= 6
    for name in commands():
        section(ROOT / 'docs/COMMANDS.md', f'cudaspy {name}')


@pytest.mark.parametrize('command', ['report', 'diff', 'check', 'export', 'run', 'calibrate', 'version', 'help'])
def test_options_are_those_of_help(command):
    """Each option of `cudaspy help COMMAND` has a row, with its letter and what it takes; and no row is of none."""
    shown = set(re.findall(r'^  (?:-(\w), |    )--([\w-]+)(?: ([A-Za-z|.]+))?(?=  )', help_of(command), flags=re.M))
    text = section(ROOT / 'docs/COMMANDS.md', f'cudaspy {command}')
    rows = set(re.findall(r'^\| (?:`-(\w)`, )?`--([\w-]+)(?: ([A-Za-z|.]+))?` \|', text.replace('\\|', '|'), flags=re.M))
    assert rows == shown


def test_metrics_are_those_that_check_knows():
    listed = subprocess.run([REPORTER, 'check', '--metrics'], stdout=subprocess.PIPE, universal_newlines=True, check=True).stdout
    metrics = set(re.findall(r'^  (\w+) +(?:count|bytes|time|share|word) ', listed, flags=re.M))
    rows = set(re.findall(r'^\| `(\w+)` \| (?:count|bytes|time|share|word) \|', (ROOT / 'docs/CI_GATE.md').read_text(), flags=re.M))
    assert len(metrics) >= 17 and rows == metrics


def test_findings_are_those_that_are_looked_for():
    samples = (ROOT / 'cuda_samples/README.md').read_text().split('## Findings')[1]
    listed = set(re.findall(r'^\| `([a-z-]+)` \|', samples, flags=re.M)) | {'environment'}
    known = set(re.findall(r'^\s+\{"([a-z-]+)", detect_\w+', source('/findings.c', under=('report',)), flags=re.M))
    assert len(known) >= 27 and listed == known
    text = (ROOT / 'docs/REPORT.md').read_text().split('\n## Findings')[1].split('\n## ')[0]
    assert set(re.findall(r'^\| `([a-z-]+)` \|', text, flags=re.M)) == known


# ---- the file -------------------------------------------------------------------------------------------------------

def structures():
    """{structure: its fields} of the file format, unions and inner structures included."""
    paths = [f for f in tree() if re.search(r'/core/format/trace_(?!map)\w+[.]h$', f)]
    text = re.sub(r'/\*.*?\*/', '', ''.join((ROOT / p).read_text() for p in paths), flags=re.S)
    found = {}
    for m in re.finditer(r'^struct (tf_\w+) \{[ \t]*\n(.*?)^\}', text, flags=re.M | re.S):
        declared = re.findall(r'[\s*](\w+(?:\[[^\]]*\])?(?:\s*,\s*\w+(?:\[[^\]]*\])?)*)\s*;', re.sub(r'\}\s*', ' ', m[2]))
        found[m[1]] = {re.match(r'\w+', n.strip())[0] for d in declared for n in d.split(',')}
    return found


def test_file_format_names_every_structure_and_field():
    """But for what is reserved. A row begins with its field or fields; those of a union's member are named in its row."""
    text = (ROOT / 'docs/FILE_FORMAT.md').read_text()
    parts = re.split(r'^### `struct (tf_\w+)`.*$', text, flags=re.M)
    told = {name: re.findall(r'`([a-z]\w*)`', '\n'.join(re.findall(r'^\| (`.*?) \|', body, flags=re.M)))
            for name, body in zip(parts[1::2], parts[2::2])}
    real = {name: {f for f in fields if not re.match(r'(reserved|spare)\d*$', f)} for name, fields in structures().items()}
    assert len(real) >= 30
    assert {n: sorted(f - set(told.get(n, ()))) for n, f in real.items() if f - set(told.get(n, ()))} == {}
    assert {n: sorted(set(f) - real.get(n, set())) for n, f in told.items() if set(f) - real.get(n, set())} == {}


def test_file_format_names_the_version():
    paths = [f for f in tree() if re.search(r'/core/format/trace_(?!map)\w+[.]h$', f)]
    version = re.search(r'#define TF_VERSION (\d+)', ''.join((ROOT / p).read_text() for p in paths))[1]
    assert f'Version {version}' in (ROOT / 'docs/FILE_FORMAT.md').read_text()


# ---- JSON -----------------------------------------------------------------------------------------------------------

# Objects whose keys are names from the program, or metrics.
FREE = {'baseline.counts', 'baseline.times', 'baseline.kernels', 'baseline.apis', 'baseline.copy_kinds',
        'baseline.copy_kind_bytes', 'diff.counts', 'diff.times', 'bench.commands[].counts', 'bench.commands[].times', 'bench.comparison.counts', 'bench.comparison.times'}
SPAN = {'least', 'median', 'most'}


def documented(null=''):
    """{path: keys}, or of those alone that `null` is said of. The report's own paths stand alone, those of other documents
    begin with its name."""
    found = {}
    for titles, body in re.findall(r'^### (`.*)\n((?:(?!#).*\n?)*)', (ROOT / 'docs/JSON.md').read_text(), flags=re.M):
        rows = re.findall(r'^\| `(\w+)` \| [^|]*\| ([^|]*) \|', body, flags=re.M)
        keys = [key for key, said in rows if null in ('', said)]
        assert rows and len(keys) == len(set(keys)), titles
        for path in re.findall(r'`([^`]+)`', titles):
            found[path] = set(keys)
    return found


def collect(value, path, known, to):
    """Adds the keys of each object in `value` to those met at its path."""
    if isinstance(value, list):
        for item in value:
            collect(item, f'{path}[]', known, to)
        return
    if not isinstance(value, dict):
        return
    if path not in FREE:
        parent, _, last = path.rpartition('.')
        name = path if path in known else f'{parent}.*' if parent and '[' not in last else path
        for place in ('diff.counts.*.before', 'diff.counts.*.after') if set(value) == SPAN else (name,):
            to.setdefault(place, set()).update(value)
            to.setdefault('null', set()).update(f'{place}/{key}' for key, item in value.items() if item is None)
        path = name
    for key, item in value.items():
        inner = key if path == 'report' else f'{path}.{"*" if path in FREE else key}'
        collect(item, inner, known, to)


@pytest.fixture(scope='module')
def printed(tmp_path_factory):
    """{path: keys} of all that a row of recordings makes the program print; they have something of everything."""
    need_nvtx()
    folder = tmp_path_factory.mktemp('printed')
    known, met = documented(), {}

    def record(name, program, *args, **variables):
        to = folder / name
        to.mkdir()
        env = environment(to, **variables)
        p = subprocess.run([program, *map(str, args)], env=env, cwd=to, timeout=300, stdin=subprocess.DEVNULL,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True)
        assert p.returncode == 0, p.stdout
        recording, = to.glob('*.cudaspy')
        return recording

    def ask(kind, *args, status=(0,), variables={}):
        p = subprocess.run([REPORTER, *map(str, args)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300, cwd=folder,
                           env={**os.environ, 'LD_LIBRARY_PATH': str(SIM), **variables})
        assert p.returncode in status, p.stderr.decode(errors='replace')
        collect(json.loads(p.stdout), kind, known, met)
        return json.loads(p.stdout)

    programs = BUILD / 'tests/e2e'
    sample = SAMPLES / 'sim'
    three = [record(f'sampled{i}', sample / 'sync_every_step', 3000, CUDASPY_GPU='sample') for i in range(3)]
    ask('report', 'report', '-f', 'json', '--what-if', 'no-sync', '--expect-kernel', 'step', '--expect-kernel', 'none', three[0],
        status=(1,))
    ask('report', 'report', '-f', 'json', '--what-if', 'graphs',
        record('in_the_way', programs / 'whole_steps', 'log', 100, CUDASPY_GPU='sample'))
    ask('diff', 'diff', '-f', 'json', '--base', *three, '--new', *three)
    long, short = ([sample / name, 300] for name in ('sync_every_step', 'sync_every_step_fixed'))
    for more, commands in (['--bare'], [*long, '--', *short]), (['--keep', folder / 'kept'], long):
        ask('bench', 'bench', '-f', 'json', '-n', 6, '-w', 0, *more, '--', *commands)
    for name, arguments in ('launch_errors', []), ('graph_every_step', [40]):
        ask('report', 'report', '-f', 'json', record(name, sample / name, *arguments, RANK=1))
    ask('report', 'report', '-f', 'json', record('graphs', programs / 'remade', 'capture', 3, CUDASPY_GPU='sample'))
    ask('report', 'report', '-f', 'json', record('gaps', programs / 'load_plugins', f'local:2:{programs}/libplugin_proc.so',
                                                 f'deepbind:3:{programs}/libplugin_plt.so'))
    named = [record(f'named{i}', programs / 'nvtx_ranges', 30, NVTX_INJECTION64_PATH=SHIM) for i in range(3)]
    varied = [record(f'varied{i}', programs / 'steps', 60, f'vary={i + 1}', NVTX_INJECTION64_PATH=SHIM) for i in range(3)]
    for r in named[0], varied[0]:
        ask('report', 'report', '-f', 'json', r)
    for name, recordings in ('three', three), ('named', named), ('varied', varied):
        base = folder / f'{name}.json'
        p = subprocess.run([REPORTER, 'check', '--steps', '30', '--save-baseline', base, *recordings])
        assert p.returncode == 0
        collect(json.loads(base.read_text()), 'baseline', known, met)
    ask('diff', 'diff', '-f', 'json', '--base', *named, '--new', *varied)
    ask('diff', 'diff', '-f', 'json', '--base', *named, '--new', *named)
    ask('check', 'check', '-f', 'json', '-b', folder / 'three.json', '-l', 'gpu_busy_share >= -5%', *three, status=(0, 1, 3))
    others = [record(f'others{i}', programs / 'steps', 60, f'vary={i + 7}', NVTX_INJECTION64_PATH=SHIM) for i in range(3)]
    ask('check', 'check', '-f', 'json', '-b', varied[0], '-l', 'launches_per_step <= +0', *others, status=(0, 1, 3))
    ask('check', 'check', '-f', 'json', '-b', folder / 'varied.json', '-l', 'launches_per_step <= +0',
        '-l', 'launch_p50_ns <= +15%', '-l', 'syncs <= 1000000', '-l', 'verdict = host-bound', *varied, status=(0, 1, 3))
    all_sites = record('all_sites', sample / 'sync_every_step', 300, CUDASPY_SITES='all')
    ask('check', 'check', '-f', 'json', '-b', folder / 'three.json', '-l', 'syncs <= 1', all_sites, status=(1,))
    if sys.version_info < (3, 16): # threads that run no Python, which work for one that does
        ask('report', 'report', '-f', 'json', record('threads', sys.executable, '-B', ROOT / 'tests/e2e/python/planted.py', 'backward',
                                                     BUILD / 'tests/e2e/libbackward.so', CUDASPY_SITES='all'))
    if (SIM / 'cupti13').exists():
        ask('calibrate', 'calibrate', '-f', 'json', '--dry-run',
            variables={'LD_LIBRARY_PATH': f'{SIM}:{SIM}/cupti13', 'XDG_CACHE_HOME': folder})
    else: # the toolkit has no CUPTI headers
        met.update({path: keys for path, keys in known.items() if path.startswith('calibrate')})
    assert slow_step(folder, record, ask)['steps']['outliers']
    assert in_flight(folder, programs, ask)
    return met


SLOW_STEP = r'''
#include "tests/e2e/programs/work.h"
#include <unistd.h>
int main(void)
{
	CUstream stream;
	work_start();
	CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	for (int i = 0; i < 200; i++) {
		CHECK(work_launch(work_short, stream));
		CHECK(work_launch(work_short, stream));
		CHECK(cuStreamSynchronize(stream));
		if (i == 100)
			sleep(1);
	}
	return 0;
}
'''


def slow_step(folder, record, ask):
    """The report of a program with one step that takes a second."""
    program = folder / 'slow_step'
    subprocess.run(['gcc', '-x', 'c', '-', '-o', program, '-w', f'-I{ROOT}', f'-I{os.environ["CUDA_INC"]}', f'-L{BUILD / "sim"}',
                    '-lcuda'], input=SLOW_STEP.encode(), check=True)
    return ask('report', 'report', '-f', 'json', record('slow', program))


def in_flight(folder, programs, ask):
    """What is in flight in a program that waits for a kernel of a minute, as soon as it does."""
    to = folder / 'waits'
    to.mkdir()
    process = subprocess.Popen([programs / 'steady', 'wait'], env=environment(to), cwd=to, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        assert process.stdout.readline() == b'ready\n'
        recording, = to.glob('*.cudaspy')
        for _ in range(600):
            found = ask('report', 'report', '-f', 'json', recording)['processes'][0]['in_flight']
            if found:
                break
            time.sleep(0.05)
    finally:
        process.kill()
        process.communicate()
    return found


def test_json_keys_of_which_it_is_said_are_never_null(printed):
    never = {f'{path}/{key}' for path, keys in documented('-').items() for key in keys}
    assert len(never) > 200 and sorted(never & printed['null']) == []


def test_json_keys_that_are_printed_are_documented(printed):
    known = {'null': printed['null'], **documented()}
    assert {p: sorted(k - known.get(p, set())) for p, k in printed.items() if k - known.get(p, set())} == {}


def test_json_keys_that_are_documented_are_printed(printed):
    printed['baseline.ranges[]'] |= printed['baseline.per_step'] # those of zero are left out
    for place in 'since', 'until': # by chance here: test_sites_findings.py has them
        printed.setdefault(f'findings[].site.{place}', printed['sites[].after'])
    for place in 'sites', 'findings[].site': # test_sites_meanwhile.py has it
        printed.setdefault(f'{place}[].meanwhile' if place == 'sites' else f'{place}.meanwhile', printed['sites[].after'])
    assert {p: sorted(k - printed.get(p, set())) for p, k in documented().items() if k - printed.get(p, set())} == {}


# ---- what to type ---------------------------------------------------------------------------------------------------

def options_and_words():
    """{command: {option: takes a value}}, {(command, option): words that it takes}, as the program tells them."""
    out = subprocess.run([REPORTER, 'help', '--raw'], stdout=subprocess.PIPE, universal_newlines=True, check=True).stdout
    options, words, name, long = {}, {}, None, {}
    for kind, *fields in (line.split('\t') for line in out.splitlines()):
        if kind == 'command':
            name = fields[0]
            options[name], long[name] = {'-h': False, '--help': False}, {}
        elif kind == 'option':
            for spelling in filter(None, [f'--{fields[0]}', fields[1] and f'-{fields[1]}']):
                options[name][spelling] = bool(fields[2])
                long[name][spelling] = fields[0]
        elif kind == 'word':
            words.setdefault((fields[0], fields[1]), set()).add(fields[2])
    options['help']['--raw'] = False
    return options, {(c, s): words[c, n] for c in long for s, n in long[c].items() if (c, n) in words}


def commands_of(text):
    """[the words of it] for each command of ours in a block, or between backquotes."""
    for line in re.sub(r' *\\\n\s*', ' ', text).splitlines():
        blocks = re.findall(r'`([^`]+)`', line) + ([line.strip()] if re.match(r'    |cudaspy ', line) else [])
        for block in blocks:
            for command in re.findall(r'(?:^|[;&|] *|\$ )(?:[A-Z_]+=\S+ )*(cudaspy [a-z]+(?: [^|;&]*)?)', block):
                try:
                    words = shlex.split(command, comments=True)
                except ValueError: # part of a sentence
                    continue
                yield words[1:]


def test_commands_can_be_typed():
    """Whatever page says so: the command, its options and the words that they take are the program's."""
    options, words = options_and_words()
    pages = {p.name: p.read_text() for p in [ROOT / 'README.md', *(ROOT / 'docs').glob('*.md')]}
    pages['cudaspy.1'] = re.sub(r'\\f.', '', (ROOT / 'report/cudaspy.1').read_text().replace('\\-', '-'))
    looked, wrong = 0, []
    for page, text in pages.items():
        for command, *rest in commands_of(text):
            if command not in options:
                continue # what it says of itself: "cudaspy brief 1"
            looked += 1
            for i, word in enumerate(rest):
                name, equals, value = word.partition('=')
                if word in ('--', '->', '-->'):
                    break
                if not re.match(r'--?[a-z]', word):
                    continue
                if name not in options[command]:
                    wrong.append(f'{page}: cudaspy {command} {word}')
                    continue
                value = value if equals else rest[i + 1] if options[command][name] and i + 1 < len(rest) else None
                if (command, name) in words and value and re.fullmatch('[a-z-]+', value) and value not in words[command, name]:
                    wrong.append(f'{page}: cudaspy {command} {name} {value}')
    assert wrong == [] and looked > 80
