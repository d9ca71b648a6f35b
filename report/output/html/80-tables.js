// SPDX-License-Identifier: Apache-2.0
// Tables: sorted by any column, searched, all rows on demand; and where calls were made.

const FEW = 12;

// columns: [title, value of a row, format (of a number, and its row) or null (a text), what a text is shown as]; `sort`: the column that sorts at first.
// `expand` adds to a row's first cell.
function table(parent, name, rows, columns, sort, expand) {
	const box = put(parent, 'div', {});
	const state = { sort: sort || 0, down: true, all: false, words: '' };
	const tools = put(box, 'div.tools', {});
	const search = put(null, 'input', { type: 'search', placeholder: 'search', oninput: () => {
		state.words = search.value.toLowerCase();
		paint();
	}, 'aria-label': 'Search ' + name });
	if (rows.length > 3) {
		tools.append(search);
	}
	const says = put(tools, 'span.soft.small', { 'aria-live': 'polite' });
	const scroll = put(box, 'div.scroll', { tabindex: 0, role: 'region', 'aria-label': name });
	const t = put(scroll, 'table', {}), head = put(put(t, 'thead', {}), 'tr', {}), body = put(t, 'tbody', {});
	const more = put(box, 'button', { type: 'button', onclick: () => {
		state.all = !state.all;
		paint();
	} });
	put(t, 'caption', { hidden: true }, name);
	const heads = columns.map(([title, , format], i) => {
		const th = put(head, format ? 'th.num' : 'th', { scope: 'col' });
		const b = put(th, 'button', { type: 'button', onclick: () => {
			state.down = state.sort === i ? !state.down : Boolean(format);
			state.sort = i;
			paint();
		} }, title);
		return [th, b, title];
	});
	const lower = rows.map((r) => columns.map(([, value, format]) => (format ? '' : text(value(r)).toLowerCase())).join('\n'));

	function order(a, b) {
		const [, value] = columns[state.sort], x = value(a), y = value(b);
		if (x === null || x === undefined || y === null || y === undefined) { // what is not known is last, whatever the order
			return (x === null || x === undefined ? 1 : 0) - (y === null || y === undefined ? 1 : 0);
		}
		const sign = state.down ? -1 : 1;
		return sign * (typeof x === 'string' ? x.localeCompare(y) : x - y);
	}

	function paint() {
		const found = rows.filter((_, i) => !state.words || lower[i].includes(state.words)).sort(order);
		const shown = state.all ? found : found.slice(0, FEW);
		heads.forEach(([th, b, title], i) => {
			if (state.sort === i) {
				th.setAttribute('aria-sort', state.down ? 'descending' : 'ascending');
			} else {
				th.removeAttribute('aria-sort');
			}
			b.textContent = title + (state.sort === i ? (state.down ? ' \u2193' : ' \u2191') : '');
		});
		body.replaceChildren(...shown.map(rowOf));
		more.hidden = found.length <= FEW;
		more.textContent = state.all ? 'show fewer' : 'show all ' + count(found.length);
		says.textContent = state.words ? count(found.length) + ' of ' + count(rows.length) + ' match' : '';
	}

	function rowOf(r) {
		const tr = put(null, 'tr', {});
		columns.forEach(([, value, format, brief], i) => {
			const v = value(r);
			if (format) {
				put(tr, 'td.num', {}, format(v, r));
			} else if (i === 0) {
				const full = text(v), short = brief ? brief(full) : full;
				const cell = put(put(tr, 'td.name', {}), 'div.cell.mono', {}, short);
				if (short !== full || full.length > 90) {
					fill(cell, { title: full, role: 'button', tabindex: 0, 'aria-expanded': 'false' }, []);
					button(cell, full, () => {
						const open = tr.classList.toggle('open');
						cell.textContent = open ? full : short;
						cell.setAttribute('aria-expanded', String(open));
					});
				}
				if (expand) {
					expand(cell.parentNode, r);
				}
			} else {
				put(tr, 'td', {}, text(v));
			}
		});
		return tr;
	}
	paint();
	return { box, find(words) {
		search.value = words;
		state.words = words.toLowerCase();
		paint();
		box.scrollIntoView({ block: 'center' });
		search.focus({ preventScroll: true });
	} };
}

// ---- what is listed ----

const interval = (low, high) => ['95\u00a0% interval', (r) => r[high], (v, r) => (known(v) && r[high] > r[low] ? timeRange(r[low], r[high]) : known(v) ? 'exact' : NA)];

// Estimates that have no interval beside them say what they are.
const est = (format) => (v) => format(v) + (known(v) && v > 0 && report.gpu.estimated ? ' est.' : '');

function kernelTable(root) {
	const box = section(root, 'Kernels', many(report.kernels.length, 'kernel') + ' by GPU time, of all of the run.', true);
	return table(box, 'Kernels', report.kernels, [
		['kernel', (k) => k.name, null, shortName],
		['GPU time', (k) => k.gpu_total_ns, time],
		interval('gpu_low_ns', 'gpu_high_ns'),
		['of GPU time', (k) => k.gpu_share, percent],
		['launches', (k) => k.launches, count],
		['in graphs', (k) => k.graph_launches, count],
		['one on the GPU', (k) => k.gpu_mean_ns, time],
		['launch p50', (k) => k.api_p50_ns, time],
		['all launches', (k) => k.api_total_ns, time],
		['queued p50', (k) => k.queue_p50_ns, time],
		['occupancy', (k) => k.occupancy, percent],
	], report.kernels.some((k) => known(k.gpu_total_ns)) ? 1 : 4);
}

function otherTables(root) {
	const list = [
		['Phases', report.phases, [['phase', (p) => phaseName(p) + (p.name ? ', ' + p.name : ''), null], ['time', (p) => p.time_ns, time], ['of the window', (p) => p.share_of_window, percent], ['begins', (p) => p.start_ns, time],
			['steps', (p) => p.steps, count], ['step, mean', (p) => extra.phase_steps[report.phases.indexOf(p)], time], ['a step alone, p99', (p) => p.step_ns.p99, time], ['GPU busy', (p) => p.gpu.busy_share, percent],
			['95\u00a0% interval', (p) => p.gpu.busy_share_low, (v, p) => percentRange(p.gpu.busy_share_low, p.gpu.busy_share_high)], ['verdict', (p) => (p.verdict ? p.verdict.class + (p.verdict.class === 'inconclusive' ? '' : ', ' + p.verdict.confidence) : ''), null]]],
		['Calls', report.apis, [['call', (a) => callName(a.name), null], ['time', (a) => a.total_ns, time], ['calls', (a) => a.calls, count], ['failed', (a) => a.failed, count],
			['mean', (a) => a.mean_ns, time], ['p50', (a) => a.p50_ns, time], ['p99', (a) => a.p99_ns, time], ['longest', (a) => a.max_ns, time], ['class', (a) => a.class, null]]],
		['Copies', report.copies, [['copies', (c) => text(c.direction) + ', ' + text(c.host_memory) + (c.async ? ', async' : ''), null], ['count', (c) => c.count, count], ['bytes', (c) => c.bytes, bytes],
			['host time', (c) => c.api_total_ns, time], ['GPU time', (c) => c.gpu_total_ns, time], interval('gpu_low_ns', 'gpu_high_ns'), ['bandwidth', (c) => (known(c.gpu_bytes_per_s) ? c.gpu_bytes_per_s / 1e9 : null), est(rate)]]],
		['NVTX ranges', report.ranges, [['range', (r) => '\u00a0'.repeat(2 * Math.min(r.level, 20)) + r.name, null], ['time', (r) => r.total_ns, time], ['count', (r) => r.count, count], ['mean', (r) => r.mean_ns, time], ['p99', (r) => r.p99_ns, time],
			['launches', (r) => r.launches, count], ['waits', (r) => r.syncs, count], ['GPU time', (r) => r.gpu_ns, est(time)]]],
		['Threads', report.host.threads, [['thread', (t) => text(t.name) + ' (' + t.tid + ')', null], ['in CUDA', (t) => t.api_ns, time], ['calls', (t) => t.calls, count], ['launches', (t) => t.launches, count],
			['launching', (t) => t.launch_ns, time], ['waiting, GPU works', (t) => t.sync_useful_ns, time], ['waiting, GPU idle', (t) => t.sync_wasted_ns, time], ['outside CUDA', (t) => t.outside_ns, time], ['waited for a CPU', (t) => t.cpu_wait_ns, time]]],
		['Streams', report.streams || [], [['stream', (s) => s.id + ', ' + s.kind + ', GPU ' + s.device, null], ['kernels', (s) => s.kernels, count], ['graphs', (s) => s.graphs, count], ['copies', (s) => s.copies, count],
			['kernel time', (s) => s.kernel_ns, est(time)], ['copy time', (s) => s.copy_ns, est(time)], ['of it beside kernels', (s) => s.overlapped_ns, est(time)]]],
		['Graphs', report.graphs, [['graph', (g) => g.id, null], ['launches', (g) => g.launches, count], ['host time', (g) => g.api_total_ns, time], ['GPU time', (g) => g.gpu_total_ns, time], interval('gpu_low_ns', 'gpu_high_ns'),
			['nodes', (g) => g.nodes, count], ['kernels', (g) => g.kernel_nodes, count], ['updates', (g) => g.updates, count]]],
	];
	for (const [title, rows, columns] of list) {
		if (rows.length) {
			const sort = columns[1][0] === 'count' ? 2 : 1;
			table(section(root, title, null, true), title, rows, columns, title === 'NVTX ranges' ? 1 : sort);
		}
	}
}

// ---- sites ----

function frameText(f) {
	return (f.function ? functionName(f.function) + ', ' : '') + (f.file ? f.file + (f.line ? ':' + f.line : '') : text(f.module) + (known(f.offset) ? '+0x' + f.offset.toString(16) : ''));
}

function sites(root) {
	if (!report.sites.length) {
		return;
	}
	const box = section(root, 'Where calls are made', 'Stacks of waits, copies, allocations and sampled launches; the line shown is the innermost that is not a library\'s.' +
		(report.sites_left_out ? ' ' + count(report.sites_left_out) + ' more are not on this page.' : ''), true);
	if (report.sites_python_trouble) {
		put(box, 'p.soft.small', {}, 'Frames of Python are missing: ' + report.sites_python_trouble);
	}
	table(box, 'Sites', report.sites, [
		['place', (s) => (s.headline === null || !s.frames[s.headline] ? 'not known' : frameText(s.frames[s.headline])), null],
		['host time', (s) => s.api_total_ns, (v, s) => time(v) + (s.estimated ? ' est.' : '')],
		['waiting, GPU idle', (s) => s.wasted_ns, time],
		['GPU time', (s) => s.gpu_total_ns, est(time)],
		['calls', (s) => (s.calls === null ? s.calls_estimated : s.calls), (v, s) => (known(v) ? count(Math.round(v)) : 'over ' + count(s.seen)) + (s.calls === null && known(v) ? ' est.' : '')],
		['call', (s) => callName(s.api), null],
		['kind', (s) => s.kind, null],
	], 1, (td, s) => {
		if (s.frames.length < 2) {
			return;
		}
		const more = put(td, 'details.small', {}, put(null, 'summary', {}, many(s.frames.length, 'frame')));
		more.addEventListener('toggle', () => {
			if (more.open && more.children.length === 1) {
				const list = put(more, 'ol.stack.mono', {});
				for (const f of s.frames) {
					put(list, f.library ? 'li.lib' : 'li', {}, frameText(f));
				}
			}
		});
	});
}
