# SPDX-License-Identifier: Apache-2.0
"""`cudaspy report --format html`, `cudaspy diff --format html` and `cudaspy run --html`, in a headless Chromium.

The page is held against the JSON report that it carries. Without a browser the tests that need one are skipped, with the
reason.
"""
import json
import os
import re
import sqlite3
import stat
import subprocess

import pytest

import browser as chromium
from conftest import REPORTER, SAMPLES, SHIM, SIM, VIRTUAL_TIME, environment, report
from html_data import data_of, packed_data_in

MOST_BYTES = 2_000_000
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
        path = page_of(tmp_path, *recordings, options=options)
        page = browser.open(path, **view)
        page.path = path
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
    assert stat.S_IMODE(page.stat().st_mode) == 0o600 # as the recording
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

READY = 'document.documentElement.hasAttribute("data-ready")'
VIEWS = {'laptop': {}, 'dark': {'dark': True}, 'phone': {'width': 390, 'height': 844, 'touch': True},
         'dark phone': {'width': 390, 'height': 844, 'touch': True, 'dark': True}}


def heading(page):
    return page.eval('document.querySelector("h1").innerText')


def column(page, table, title):
    """What a column of a table shows."""
    return page.eval(f"""(() => {{ const t = document.querySelector('[aria-label="{table}"] table');
        const i = [...t.querySelectorAll('th')].findIndex((h) => h.innerText.startsWith('{title}'));
        return [...t.querySelectorAll('tbody tr')].map((r) => r.children[i].innerText); }})()""")


def header(page, table, title):
    """A selector of the button that sorts by a column."""
    place = page.eval(f"""[...document.querySelectorAll('[aria-label="{table}"] th')].findIndex((h) => h.innerText.startsWith('{title}'))""")
    assert place >= 0, (table, title)
    return f'[aria-label="{table}"] th:nth-child({place + 1}) button'


def test_it_shows_the_verdict_and_asks_for_nothing(record, show):
    page = show(record('sync_every_step'))
    page.wait_for(READY)
    assert page.console == []
    assert len(page.requests) == 1 and page.requests[0].startswith('file://')
    assert 'sync-bound' in page.eval('document.querySelector(".chips").innerText')
    # The sentence is the terminal's, whole.
    screen = subprocess.run([REPORTER, 'report', record('sync_every_step')], stdout=subprocess.PIPE, universal_newlines=True, check=True).stdout
    assert heading(page).startswith('sync-bound, ') and ' '.join(heading(page).split()) in ' '.join(screen.split()), screen
    assert 'Simulated GPU' in page.eval('document.querySelector(".alert").innerText')


def test_the_first_screen_has_what_matters(record, show):
    """On a laptop's 800 pixels, without scrolling: the sentence, the strip, both bars, the first change and what it saves."""
    page = show(record('sync_every_step'))
    page.wait_for(READY)
    ends = page.eval("""['h1', 'main > section', 'article h3', 'article .gain'].map(
        (s) => document.querySelector(s).getBoundingClientRect().bottom)""")
    assert max(ends) <= 800, ends
    assert page.eval('document.querySelectorAll("main > section svg").length') == 2
    finding, = [f for f in data_of(page.path)['report']['findings'] if f['id'] == 'sync-every-step']
    gain = page.eval('document.querySelector("article .gain").innerText')
    assert re.match(r'saves [\d.]+ to [\d.]+\s(us|ms) a step$', gain), gain
    assert finding['title'] == page.eval('document.querySelector("article h3").innerText')


def test_the_first_change_is_the_terminals(record, show):
    """Also where the verdict alone tells what it saves, and no finding predicts it."""
    page = show(record('copy_back_and_forth'))
    page.wait_for(READY)
    change, = data_of(page.path)['extra']['verdict_changes']
    screen = subprocess.run([REPORTER, 'report', record('copy_back_and_forth')], stdout=subprocess.PIPE, universal_newlines=True, check=True).stdout
    assert change['what'] in re.search(r'^ 1 (.*)', screen, re.MULTILINE)[1]
    assert change['what'].capitalize() == page.eval('document.querySelector("article h3").innerText')
    saves = ' '.join(re.search(r'^ 1 .*  (\S.*)', screen, re.MULTILINE)[1].split())
    told = page.eval('document.querySelector("article .gain").innerText').replace('\u202f', ' ')
    unit = saves.split()[-1]  # told once on the screen
    assert told.replace(f' {unit},', ',').startswith(f'saves {saves}')


def two_ranks(record):
    return [record('exposed_allreduce', name=f'rank {r}', CUDASPY_RUN_ID='0123456789abcdef', RANK=r, LOCAL_RANK=r, WORLD_SIZE=2)
            for r in range(2)]


@pytest.mark.parametrize('ranks', [1, 2])
def test_a_step_is_the_terminals(record, show, ranks):
    """What it takes, what of it a change saves, and shares: the same figure in the same words on both."""
    recordings = [record('sync_every_step')] if ranks == 1 else two_ranks(record)
    page = show(*recordings)
    page.wait_for(READY)
    screen = ' '.join(subprocess.run([REPORTER, 'report', *recordings], stdout=subprocess.PIPE, universal_newlines=True, check=True).stdout.split())
    steps, takes = re.search(r'(\d+) steps of ([\d.]+ \ws),', screen).groups()
    words = body(page).replace('\u202f', ' ')
    assert f'step, mean {takes}, {int(steps):,} of them' in ' '.join(words.split()), screen
    low, high = re.search(r'([\d.]+) to ([\d.]+) % \(estimated\)', screen).groups()
    assert re.search(rf'interval of GPU busy, {re.escape(low)} to {re.escape(high)}\s%', words), screen


@pytest.mark.parametrize('view', VIEWS)
@pytest.mark.parametrize('sample', ['many_tiny_launches', 'pageable_copies', 'exposed_allreduce'])
def test_nothing_is_wider_than_the_screen(record, show, sample, view):
    page = show(record(sample), **VIEWS[view])
    page.wait_for(READY)
    assert page.console == []
    assert page.eval('document.documentElement.scrollWidth - innerWidth') <= 0
    wide = page.eval("""[...document.querySelectorAll('svg text')].filter((t) => { const b = t.getBoundingClientRect(),
        s = t.closest('svg').getBoundingClientRect(); return b.width && (b.left < s.left - 2 || b.right > s.right + 2);
        }).map((t) => t.textContent)""")
    assert wide == []


def test_tables_are_sorted(record, show):
    page = show(record('sync_every_step'))
    page.wait_for(READY)
    names = column(page, 'Calls', 'call')
    calls = [int(n.replace(',', '')) for n in column(page, 'Calls', 'calls')]
    page.click(header(page, 'Calls', 'calls'))
    assert [int(n.replace(',', '')) for n in column(page, 'Calls', 'calls')] == sorted(calls, reverse=True) or len(names) == 12
    assert page.eval("""document.querySelector('[aria-label="Calls"] th[aria-sort]').innerText""").startswith('calls')
    page.click(header(page, 'Calls', 'call'))
    ascending = column(page, 'Calls', 'call')
    assert ascending == sorted(ascending, key=str.lower)
    page.click(header(page, 'Calls', 'call'))
    assert column(page, 'Calls', 'call') != ascending
    assert page.console == []


def test_tables_are_searched(record, show):
    page = show(record('sync_every_step'))
    page.wait_for(READY)
    page.click('[aria-label="Search Calls"]')
    page.type('MEMCPY')
    names = column(page, 'Calls', 'call')
    assert names and all('memcpy' in n.lower() for n in names)
    page.type('no such call')
    assert column(page, 'Calls', 'call') == []


TIMELINE = '[role=application]'


def shown(page):
    """From when to when the timeline shows, as a screen reader hears it."""
    return page.eval(f"document.querySelector('{TIMELINE} svg').getAttribute('aria-label')").split('shown from ')[1]


def test_the_timeline_zooms_and_moves(record, show):
    page = show(record('sync_every_step'))
    page.wait_for(READY)
    assert page.eval(f"document.querySelectorAll('{TIMELINE} rect').length") > 3
    whole = shown(page)
    page.click('[aria-label="Zoom in"]')
    closer = shown(page)
    assert closer != whole
    page.click('[aria-label="Later"]')
    assert shown(page) not in (whole, closer)
    page.click('[aria-label="Show all"]')
    assert shown(page) == whole
    page.wheel(TIMELINE, -200, ctrl=True)
    page.wait_for(f"!document.querySelector('{TIMELINE} svg').getAttribute('aria-label').endsWith({json.dumps(whole)})")
    page.eval(f"document.querySelector('{TIMELINE}').focus()")
    page.key('0')
    assert shown(page) == whole
    for key in '+', '+', 'ArrowRight', '-', 'Home':
        before = shown(page)
        page.key(key)
        assert shown(page) != before, key
    assert page.console == []


def test_an_outlier_opens_its_timeline(record, show):
    page = show(record('sync_every_step'))
    page.wait_for(READY)
    mark = 'circle[role=button][aria-label*="outlier"]'
    label = page.eval(f"document.querySelector('{mark}').getAttribute('aria-label')")
    page.eval(f"document.querySelector('{mark}').focus()")
    page.key('Enter')
    chosen = page.eval("document.querySelector('select').selectedOptions[0].text")
    assert re.search(r'an outlier, at (.*), (.*)$', chosen)[2] == re.search(r'Step at .*?, (.*?),', label)[1]
    assert page.eval(f"document.activeElement === document.querySelector('{TIMELINE}')")


def test_what_ifs_redraw_the_strip(record, show):
    page = show(record('sync_every_step'))
    page.wait_for(READY)
    pressed = "[...document.querySelectorAll('.switches [aria-pressed=true]')].map((b) => b.innerText)"
    svg = "document.querySelector('.switches + .chart svg').getAttribute('aria-label')"
    assert page.eval(pressed)[0].startswith('Wait only at the end')
    drawn = page.eval(svg)
    assert 'With the change: a step takes' in drawn
    page.click('.switches button:nth-child(2)')
    assert len(page.eval(pressed)) == 1 and page.eval(svg) != drawn
    page.click('.switches button:nth-child(2)')
    assert page.eval(pressed) == [] and 'With the change' not in page.eval(svg)


def test_the_keyboard_reaches_everything(record, show):
    page = show(record('sync_every_step'))
    page.wait_for(READY)
    wanted = set(page.eval("""[...document.querySelectorAll('button, select, input, summary, a[href], [tabindex="0"]')].filter(
        (e) => e.getClientRects().length).map((e, i) => { e.dataset.n = i; return String(i); })"""))
    seen = set()
    for _ in range(len(wanted) + 20):
        page.key('Tab')
        n = page.eval('document.activeElement.dataset.n')
        if n in seen:
            break
        seen.add(n)
    assert wanted - seen == set()


def test_the_theme_is_switched_by_keys(record, show):
    page = show(record('sync_every_step'))
    page.wait_for(READY)
    ground = 'getComputedStyle(document.body).backgroundColor'
    light = page.eval(ground)
    page.eval("document.querySelector('.theme').focus()")
    page.key('Enter')
    assert page.eval(ground) == light
    page.key('Enter')
    assert page.eval(ground) != light


@pytest.mark.parametrize('sample', ['sync_every_step', 'pageable_copies', 'too_short'])
def test_all_that_can_be_used_has_a_name(record, show, sample):
    page = show(record(sample))
    page.wait_for(READY)
    names = page.names()
    roles = {'button', 'link', 'combobox', 'searchbox', 'textbox', 'img', 'image', 'table', 'region', 'application', 'group',
             'heading', 'columnheader', 'option', 'navigation', 'article', 'DisclosureTriangle'} - {'article', 'table'}
    assert [(role, name) for role, name in names if role in roles and not name.strip() and role != 'group'] == []
    assert [role for role, _ in names].count('main') == 1
    levels = page.eval("[...document.querySelectorAll('h1, h2, h3')].map((h) => Number(h.tagName[1]))")
    assert levels.count(1) == 1
    assert page.eval("new Set([...document.querySelectorAll('[id]')].map((e) => e.id)).size === document.querySelectorAll('[id]').length")


CONTRAST = """(() => {
    const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
    const rgba = (c) => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = c; canvas.fillRect(0, 0, 1, 1); return [...canvas.getImageData(0, 0, 1, 1).data]; };
    const light = (c) => { const [r, g, b] = c.slice(0, 3).map((v) => { v /= 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; });
        return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
    const behind = (e) => { for (; e; e = e.parentElement) { const c = rgba(getComputedStyle(e).backgroundColor); if (c[3] > 250) return c; } return [255, 255, 255, 255]; };
    const under = (t) => { const b = t.getBoundingClientRect(), x = b.x + b.width / 2, y = b.y + b.height / 2;
        for (const e of document.elementsFromPoint(x, y)) {
            if (e === t || e.tagName === 'text') continue;
            if (!(e instanceof SVGElement)) return behind(e);
            const fill = getComputedStyle(e).fill;
            if (e.tagName !== 'svg' && fill.startsWith('rgb') && getComputedStyle(e).opacity === '1') return rgba(fill);
        } return behind(t.closest('div')); };
    const bad = [];
    const walk = document.createTreeWalker(document.getElementById('page'), NodeFilter.SHOW_TEXT);
    let n = 0;
    while (walk.nextNode()) {
        const e = walk.currentNode.parentElement;
        if (!walk.currentNode.data.trim() || !e.getClientRects().length || e.closest('noscript, option, title')) continue;
        const svg = e.tagName === 'text', style = getComputedStyle(e);
        const a = light(rgba(svg ? style.fill : style.color)), b = light(svg ? under(e) : behind(e));
        const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        n++;
        if (ratio < 4.5) bad.push([walk.currentNode.data.slice(0, 40), ratio.toFixed(2)]);
    }
    return [n, bad];
})()"""


@pytest.mark.parametrize('dark', [False, True], ids=['light', 'dark'])
@pytest.mark.parametrize('sample', ['sync_every_step', 'pageable_copies'])
def test_contrast(record, show, sample, dark):
    page = show(record(sample), dark=dark, height=9000)
    page.wait_for(READY)
    looked, bad = page.eval(CONTRAST)
    assert looked > 100
    assert bad == []


def test_it_prints(record, show):
    page = show(record('sync_every_step'), dark=True)
    page.wait_for(READY)
    pdf = page.pdf()
    assert pdf.startswith(b'%PDF') and len(pdf) > 20000
    assert 2 <= len(re.findall(rb'/Type\s*/Page\b', pdf)) <= 14
    assert page.console == []


def test_without_scripts_it_says_so(record, show):
    page = show(record('sync_every_step'), script=False)
    nodes = ' '.join(name for _, name in page.names())
    assert 'cudaspy report prints the same as text' in ' '.join(nodes.split())


# ---- other recordings -----------------------------------------------------------------------------------------------------

def body(page):
    page.wait_for(READY)
    assert page.console == []
    return page.eval('document.body.innerText')


def test_without_gpu_times(record, show):
    page = show(record('vector_add', name='off', CUDASPY_GPU='off'))
    words = body(page)
    assert 'GPU times not taken' in words
    assert 'GPU busy is not known' in words
    assert 'n/a' in words and 'NaN' not in words and 'null' not in words and 'undefined' not in words


def test_without_steps(record, show):
    words = body(show(record('too_short')))
    assert words.count('inconclusive: ') == 1
    assert 'Steps over time' not in words
    assert 'NaN' not in words and 'null' not in words and 'undefined' not in words


def test_a_run_of_no_time(record, browser, tmp_path):
    def stop(data):
        data['report']['verdict']['window_ns'] = data['report']['window_ns'] = 0

    page = browser.open(respoken(page_of(tmp_path, record('too_short')), stop))
    body(page)
    page.close()


def test_exact_times_are_no_estimates(record, show):
    if not (SIM / 'cupti13').exists():
        pytest.skip("CUPTI's headers are not there, so there is no simulated CUPTI")
    page = show(record('copy_not_overlapped', name='cupti', CUDASPY_GPU='cupti', sim=f'{SIM}:{SIM}/cupti13'))
    words = body(page)
    assert 'GPU times exact' in words
    assert 'estimate' not in page.eval(f"document.querySelector('{TIMELINE}').parentElement.innerText")


def test_a_damaged_recording(record, show, tmp_path):
    whole = record('sync_every_step').read_bytes()
    cut = tmp_path / 'cut.cudaspy'
    cut.write_bytes(whole[:len(whole) * 2 // 3])
    p = subprocess.run([REPORTER, 'report', '-f', 'json', cut], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert p.returncode == 0, p.stderr
    damaged = json.loads(p.stdout)['lost']['damaged']
    assert damaged
    assert 'Damaged recording' in body(show(cut))


def test_several_processes_stand_side_by_side(record, show):
    page = show(*two_ranks(record))
    assert 'Processes side by side' in body(page)
    label = page.eval("""[...document.querySelectorAll('svg')].map((s) => s.getAttribute('aria-label')).find((l) => l && l.startsWith('rank 0'))""")
    assert re.match(r'rank 0 \(\d+\): GPU busy \d+\.\d to \d+\.\d\s%, step .*; rank 1 \(\d+\): GPU busy \d+\.\d to \d+\.\d\s%', label), label
    for p in data_of(page.path)['extra']['processes']:
        assert 0 <= p['busy_low'] < p['busy_share'] < p['busy_high'] <= 1
    assert page.eval("""[...document.querySelectorAll('svg')].find((l) => (l.getAttribute('aria-label') || '').startsWith('rank 0')).querySelectorAll('path.range').length""") == 2


# Texts with a figure and its unit that a line may end between; what is never wrapped is none.
PARTED = r"""(() => {
    const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), found = [];
    for (let n = walk.nextNode(); n; n = walk.nextNode()) {
        const e = n.parentElement;
        if (/\d (%|[num]?s)(?![\w/])/.test(n.data) && !e.closest('script, svg, .mono, option') && !getComputedStyle(e).whiteSpace.includes('nowrap')) {
            found.push(n.data);
        }
    }
    return found;
})()"""


@pytest.mark.parametrize('sample', ['many_tiny_launches', 'pageable_copies', 'memory_growth'])
def test_no_line_ends_between_a_figure_and_its_unit(record, show, compare, sample):
    """A line of the sentence began with an orphan "%"."""
    page = show(record(sample))
    page.wait_for(READY)
    assert page.eval('document.querySelectorAll("span.keep").length') > 3
    assert page.eval(PARTED) == []
    assert compare([record(sample)], [record('sync_every_step')]).eval(PARTED) == []


def test_estimates_say_what_they_are(record, show):
    """In tables too, where no interval stands beside them; exact times do not."""
    page = show(record('sync_every_step'))
    page.wait_for(READY)
    assert any(cell.endswith(' est.') for cell in column(page, 'Sites', 'GPU time'))
    assert column(page, 'Copies', 'bandwidth')[0].endswith(' est.')
    assert column(page, 'Streams', 'kernel time')[0].endswith(' est.')
    assert "Each cause's part is estimated" in body(page) and 'GPU busy, est.' in body(page)


def test_steps_of_phases_are_those_of_the_sentence(record, show):
    """From one step to the next, with what lies between them, as above and in the terminal."""
    page = show(record('sync_every_step'))
    page.wait_for(READY)
    step = re.search(r'step, mean (\S+\s\ws), ', body(page))[1]
    assert step.replace('\u202f', ' ') in [c.replace('\u202f', ' ') for c in column(page, 'Phases', 'step, mean')]


def test_a_place_has_its_line_on_a_phone(record, show):
    page = show(record('sync_every_step'), **VIEWS['phone'])
    page.wait_for(READY)
    assert page.eval("""[...document.querySelectorAll('[aria-label="Sites"] td.name .cell')].filter((c) => c.textContent.length < 60 && c.scrollHeight > c.clientHeight + 2).map((c) => c.textContent)""") == []


def test_times_too_short_to_be_told_are_not(record, compare, browser):
    """A step's part of what the run has once was +0.0025 ns."""
    def change(data):
        for site in data['after']['report']['sites']:
            site['api_total_ns'] += 50

    page = browser.open(respoken(compare([record('sync_every_step')], [record('sync_every_step_fixed')]).path, change))
    page.wait_for(READY)
    assert re.findall(r'\b0\.\d+\s?ns|0\.000\d+x', page.eval('document.body.innerText')) == []
    assert '+<1\u202fns' in column(page, 'Sites compared', 'changed by')
    page.close()


# ---- two runs ---------------------------------------------------------------------------------------------------------------

@pytest.fixture
def compare(browser, tmp_path):
    """compare([BEFORE...], [AFTER...]) opens the page of their difference."""
    pages = []

    def go(before, after, **view):
        path = tmp_path / f'diff-{len(pages)}.html'
        p = subprocess.run([REPORTER, 'diff', '-f', 'html', '-o', path, '--base', *before, '--new', *after], stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, universal_newlines=True, timeout=120)
        assert p.returncode == 0, p.stderr
        assert path.stat().st_size <= MOST_BYTES
        page = browser.open(path, **view)
        page.path = path
        pages.append(page)
        page.wait_for(READY)
        assert page.console == [] and len(page.requests) == 1
        return page

    yield go
    for page in pages:
        page.close()


def test_diff_carries_the_json(record, compare):
    before, after = record('sync_every_step'), record('sync_every_step_fixed')
    p = subprocess.run([REPORTER, 'diff', '-f', 'json', before, after], stdout=subprocess.PIPE, check=True)
    assert data_of(compare([before], [after]).path)['diff'] == json.loads(p.stdout)


@pytest.mark.parametrize('view', VIEWS)
def test_diff_of_a_program_and_its_fix(record, compare, view):
    page = compare([record('sync_every_step')], [record('sync_every_step_fixed')], **VIEWS[view])
    assert heading(page).lower() == data_of(page.path)['diff']['headline']['text'].lower() + '.'
    assert 'faster' in heading(page)
    assert 'not enough to tell noise' in page.eval('document.querySelector(".chips").innerText')
    assert page.eval('document.documentElement.scrollWidth - innerWidth') <= 0
    sites = page.eval("document.querySelector('[aria-label=\"Sites compared\"]').innerText")
    assert 'cudaStreamSynchronize' in sites
    counts = [figure.split('\n')[0] for figure in column(page, 'Counts', 'figure')]
    assert 'syncs' in counts and 'launches' not in counts
    words = page.eval('document.body.innerText')
    assert 'NaN' not in words and 'undefined' not in words and 'Infinity' not in words


def respoken(path, change):
    """The page with other data."""
    html, data = path.read_text(), data_of(path)
    change(data)
    text = json.dumps(data).replace('<', '\\u003c').replace('>', '\\u003e').replace('&', '\\u0026')
    start, end = html.index('id="data">') + len('id="data">'), html.index('</script>')
    other = path.with_name('other.html')
    other.write_text(html[:start] + text + html[end:])
    return other


@pytest.mark.parametrize('dark', [False, True], ids=['light', 'dark'])
def test_diff_contrast_and_names(record, compare, dark):
    page = compare([record('sync_every_step')], [record('sync_every_step_fixed')], dark=dark, height=6000)
    looked, bad = page.eval(CONTRAST)
    assert looked > 60 and bad == []
    assert [(r, n) for r, n in page.names() if r in ('button', 'link', 'searchbox', 'img', 'image', 'region', 'columnheader') and not n.strip()] == []


def test_diff_says_what_its_figures_are(record, compare):
    words = compare([record('sync_every_step')], [record('sync_every_step_fixed')]).eval('document.body.innerText')
    assert re.search(r'window_ns\s+from the end of the first CUDA call to the return of the last', words)
    assert re.search(r'syncs_per_step\s+calls whose purpose is to wait: .*, a step\s', words)


def test_names_of_functions_are_brief(record, show, browser):
    names = {'cudaError f<unsigned int*, g(int)>(CUkern_st*, void (*)(int)) [clone .constprop.0]': 'f<unsigned int*, g(int)>',
             'a::b<(c)1>::operator()(int) const': 'a::b<(c)1>::operator()(int) const', 'main': 'main', 'Net.forward': 'Net.forward',
             'std::vector<int> (anonymous namespace)::f(int)': '(anonymous namespace)::f', 'outer.<locals>.inner': 'inner', 'a(b': 'a'}

    def change(data):
        site = data['report']['sites'][0]
        data['report']['sites'] = [{**site, 'api_total_ns': 1000 - i, 'headline': 0, 'frames': [{**site['frames'][0], 'function': name, 'file': 'a.cu', 'line': 1}]}
                                   for i, name in enumerate(names)]

    page = browser.open(respoken(show(record('sync_every_step')).path, change))
    page.wait_for(READY)
    assert [place[:-len(', a.cu:1')] for place in column(page, 'Sites', 'place')] == list(names.values())
    page.close()


def test_diff_with_a_baseline(record, compare, tmp_path):
    recording, baseline = record('sync_every_step'), tmp_path / 'base.json'
    subprocess.run([REPORTER, 'check', '--save-baseline', baseline, recording], check=True, stdout=subprocess.PIPE)
    page = compare([baseline], [recording])
    assert 'One side is a baseline' in page.eval('document.body.innerText')


# Of the strips and bars: labels that stand under another one, or under the ends of a range. Lines may touch.
OVERLAPS = """[...document.querySelectorAll('.chart svg')].slice(0, 3).flatMap((svg) => {
    const box = (e) => e.getBoundingClientRect();
    const labels = [...svg.querySelectorAll('text')].map((e) => [e.textContent, box(e)]);
    const meet = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom - 4 && b.top < a.bottom - 4;
    const posts = [...svg.querySelectorAll('path.range')].flatMap((e) => { const r = box(e);
        return [r.left, r.right].map((x) => ({ left: x - 1, right: x + 1, top: r.top, bottom: r.bottom })); });
    return labels.filter(([, r]) => posts.some((p) => meet(r, p))).map(([name]) => name + ' under a post').concat(
        labels.filter(([, r], i) => labels.some(([, o], k) => k > i && meet(r, o))).map(([name]) => name + ' under a label'));
})"""


@pytest.mark.parametrize('width', [1280, 760, 390])
@pytest.mark.parametrize('sample', ['many_tiny_launches', 'sync_every_step', 'pageable_copies'])
def test_labels_can_be_read(record, show, sample, width):
    """None stands under another one, or under the ends of a range."""
    page = show(record(sample), width=width)
    page.wait_for(READY)
    if sample != 'pageable_copies': # its change is on from the beginning
        assert page.eval("document.querySelectorAll('.switches [aria-pressed=true]').length") == 1
    assert page.eval(OVERLAPS) == []


@pytest.mark.parametrize('width', [1280, 390])
def test_rows_of_the_strip_have_names(record, show, width):
    page = show(record('many_tiny_launches'), width=width)
    page.wait_for(READY)
    names = page.eval("[...document.querySelectorAll('.chart text')].map((e) => e.textContent).join(', ')")
    assert [n for n in ('phases', 'GPU busy', '0 to 100', 'as it was', 'with it') if n not in names] == []


def test_all_parts_can_be_reached_by_the_navigation(record, show):
    """On a laptop none is cut off; on a phone the row moves."""
    page = show(record('many_tiny_launches'), width=1280)
    page.wait_for(READY)
    assert page.eval("[...document.querySelectorAll('nav a')].filter((a) => a.getBoundingClientRect().right > innerWidth).length") == 0
    assert page.eval("document.querySelectorAll('nav a').length") > 8


def test_a_timeline_that_is_shown_whole_is_no_part(record, show):
    page = show(record('sync_every_step'))
    page.wait_for(READY)
    assert 'Shown: all of its ' in body(page)
    assert not re.search(r'\b1 (outliers|kernels|steps|launches) ', body(page))


def groups(flat, n):
    """Rows of `n` numbers each."""
    return [flat[i:i + n] for i in range(0, len(flat), n)]


NEAR_NS = 50 # from the first call's return to the window's start, and what is rounded


@pytest.mark.parametrize('program', ['pageable_copies', 'streams', 'blocking_copies', 'sync_every_step'])
def test_work_stands_where_exports_have_it(record, tmp_path, program):
    """Each piece begins and ends as in the database, beside the call that gave it."""
    recording, database = record(program), tmp_path / 'run.sqlite'
    subprocess.run([REPORTER, 'export', '-f', 'sqlite', '-o', database, recording], check=True)
    db = sqlite3.connect(database)
    (window,), = db.execute('SELECT end FROM CUPTI_ACTIVITY_KIND_RUNTIME ORDER BY start LIMIT 1') # of the first call
    work = {}
    for kind in 'KERNEL', 'MEMCPY', 'MEMSET':
        for called, *times in db.execute(f'''SELECT r.start, w.start, w.end FROM CUPTI_ACTIVITY_KIND_{kind} w
                                             JOIN CUPTI_ACTIVITY_KIND_RUNTIME r USING (correlationId)'''):
            work[called] = times
    timelines = data_of(page_of(tmp_path, recording))['extra']['timelines']
    compared = 0
    for t in timelines:
        begins = window + t['start_ns']
        calls = [begins + start for _, _, start, _ in groups(t['calls'], 4)]
        for _, _, start, duration, by, _ in groups(t['work'], 6):
            if by >= 0:
                called = min(work, key=lambda at: abs(at - calls[by]))
                assert [begins + start, begins + start + duration] == pytest.approx(work[called], abs=NEAR_NS)
                compared += 1
    assert compared > 3


# ---- hostile recordings ---------------------------------------------------------------------------------------------------

EVIL = ['</script><img/src=x/onerror=alert(1)>', '"\'><svg/onload=alert(2)>', '<!--<script>alert(3)//', '\u202egnp.exe\u2066\u200b',
        '\x1b[31m\x07red', '__proto__', 'javascript:alert(4)', '{{7*7}}${7*7}', '\ud7ff\U0001f600' * 30, '&lt;b&gt;&#x27;', 'constructor']

HOSTILE_SOURCE = r"""
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>

/* hostile IMAGE NAME...: launches the kernels of these names in turn. */
int main(int argc, char **argv)
{
	static char image[1 << 22];
	CUcontext context;
	CUmodule module;
	FILE *f = fopen(argv[1], "r");

	fread(image, 1, sizeof(image) - 1, f);
	prctl(PR_SET_NAME, "\"><b onx=1>");
	if (cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context) || cuModuleLoadData(&module, image))
		return 2;
	for (int step = 0; step < atoi(argv[2]); step++) {
		for (int i = 3; i < argc; i++) {
			CUfunction function;
			if (cuModuleGetFunction(&function, module, argv[i]) ||
			    cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL))
				return 3;
		}
		if (cuStreamSynchronize(NULL))
			return 4;
	}
	return 0;
}
"""


@pytest.fixture
def hostile(compile_c, run, tmp_path):
    """hostile(NAME...) -> a recording of a program whose kernels have these names."""
    program = compile_c(HOSTILE_SOURCE, '-lcuda', name='hostile')

    def go(*names, steps=300):
        image = tmp_path / 'image'
        image.write_bytes(b'simcuda 1\n' + b''.join(b'kernel %s fixed:5000\n' % n.encode('utf-8', 'surrogateescape') for n in names))
        r = run(program, image, steps, *names, **SIMULATED)
        assert r.status == 0, (r.status, r.out, r.err)
        return r.recording

    return go


def nothing_happened(page, path):
    page.wait_for(READY)
    assert page.console == []
    assert len(page.requests) == 1
    template = {'HTML', 'HEAD', 'META', 'TITLE', 'STYLE', 'BODY', 'NOSCRIPT', 'DIV', 'SCRIPT'}
    tags = set(page.eval("[...new Set([...document.querySelectorAll('*')].map((e) => e.tagName))]"))
    assert not tags & {'IMG', 'IFRAME', 'OBJECT', 'EMBED', 'LINK', 'BASE', 'FORM', 'META:', 'B:'} and template <= tags
    assert page.eval("document.querySelectorAll('script').length") == 2
    assert page.eval("""[...document.querySelectorAll('*')].flatMap((e) => [...e.attributes]).filter(
        (a) => a.name.startsWith('on') || /javascript:/.test(a.value) && a.name === 'href').length""") == 0
    assert path.read_text().count('<script') == 2 and path.read_text().count('</script') == 2


def test_hostile_names_do_nothing(hostile, show):
    names = [n for n in EVIL if not re.search(r'\s', n)]
    page = show(hostile(*names))
    nothing_happened(page, page.path)
    full = page.eval("[...document.querySelectorAll('[aria-label=Kernels] td.name .cell')].map((e) => e.title || e.textContent)")
    assert {EVIL[0], EVIL[1], EVIL[2]} <= set(full)


@pytest.mark.parametrize('kind', ['report', 'diff'])
def test_any_text_of_the_data_may_be_hostile(record, browser, tmp_path, kind):
    """Every text of the page's data in turn replaced: also those that a recording of ours cannot have."""
    page = page_of(tmp_path, record('exposed_allreduce'))
    if kind == 'diff':
        subprocess.run([REPORTER, 'diff', '-f', 'html', '-o', page, record('exposed_allreduce'), record('sync_every_step')], check=True)
    evil = 0

    def spoil(value):
        nonlocal evil
        if isinstance(value, str):
            evil += 1
            return EVIL[evil % len(EVIL)]
        if isinstance(value, list):
            return [spoil(v) for v in value]
        if isinstance(value, dict):
            return {k: spoil(v) for k, v in value.items()}
        return value

    def change(data):
        data.update(spoil(data))

    spoilt = respoken(page, change)
    shown = browser.open(spoilt)
    nothing_happened(shown, spoilt)
    shown.close()


def test_a_script_that_is_not_the_page_s_is_refused(record, browser, tmp_path):
    """The policy: should a text get out of its element after all, it does nothing."""
    page = page_of(tmp_path, record('sync_every_step'))
    page.write_text(page.read_text().replace('</body>', '<script>document.title = "bad"</script><img src=x onerror="document.title = 1">'
                                             '<style>h1 { display: none }</style></body>'))
    shown = browser.open(page)
    shown.wait_for(READY)
    assert shown.eval('document.title').startswith('cudaspy: ')
    assert shown.eval('getComputedStyle(document.querySelector("h1")).display') == 'block'
    assert len([m for m in shown.console if 'Content Security Policy' in m]) >= 3
    assert [u for u in shown.requests if not u.startswith('file:')] == []
    shown.close()


# ---- size and speed -------------------------------------------------------------------------------------------------------

def test_many_long_names_are_cut_to_fit(hostile, tmp_path, show):
    names = [f'kernel_{i:05}_' + 'x' * 230 for i in range(350)]
    page = show(hostile(*names, steps=1))
    data = data_of(page.path)
    assert page.path.stat().st_size <= MOST_BYTES
    assert len(data['report']['kernels']) == 350 and 'cut' not in data
    assert '350' in body(page)


def test_what_repeats_stands_in_a_page_once(hostile, tmp_path, show):
    """A name is in many tables and on every timeline: it takes room once, and is shown in full at each place."""
    names = [f'kernel_{i:03}_' + 'x' * 100 for i in range(20)]
    page = show(hostile(*names))
    packed, data = packed_data_in(page.path.read_text()), data_of(page.path)
    for name in names:
        assert page.path.read_text().count(f'"{name}"') == 1
        assert json.dumps(data).count(f'"{name}"') > 2
    assert len(json.dumps(packed['extra']['timelines'])) < len(json.dumps(data['extra']['timelines']))
    page.wait_for(READY)
    # The rows that are shown at first: by GPU time, so which of them is the machine's.
    shown = page.eval("[...document.querySelectorAll('[aria-label=Kernels] td.name .cell')].map((e) => e.title)")
    assert shown and set(shown) <= set(names)
    assert '[object' not in body(page) and 'undefined' not in body(page)


def test_a_page_has_room_for_all_or_says_what_is_cut(record, tmp_path):
    """The room is held against a page of many threads' worth of calls."""
    recording = record('threads', SIM_LAUNCH_LOCK=1, preload=(SHIM,), CUDASPY_CLOCK=None)
    page = page_of(tmp_path, recording)
    data = data_of(page)
    assert sum(len(t['calls']) // 4 for t in data['extra']['timelines']) <= 12000
    assert len(data['extra']['steps']['rows']) <= 1610
    assert len(data['extra']['step_rows']) <= 4 * 61


def test_it_is_soon_usable(record, show):
    """A second, on any machine that is not too busy: the best of twenty, the first of which is enough as a rule."""
    took = []
    while len(took) < 20 and min(took, default=1000) >= 1000:
        page = show(record('sync_every_step'))
        page.wait_for(READY)
        took.append(page.eval('performance.getEntriesByType("navigation")[0].domInteractive'))
    assert min(took) < 1000, took
