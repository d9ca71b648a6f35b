// SPDX-License-Identifier: Apache-2.0
// Two runs on one page, a step of each beside the other: what takes longer, by which kernel, call and line.

// A side as far as it is known: of a baseline nothing is but what the comparison has.
function sideOf(data) {
	if (!data) {
		return null;
	}
	useRun(data);
	const loop = loops().length ? loops()[0].number && phase : null;
	const steps = phase && phase.kind === 'loop' ? phase.steps : report.steps.count;
	return { report, judged, step: stepTime(), all: stepTime() || report.verdict.window_ns, scope: scope(), loop,
		// Tables are of all of the run: so is what a step has of them.
		steps: stepTime() && steps > 0 ? steps : null, host: hostShares(judged.host), gpu: busyShares(judged.gpu) };
}

function signed(ns) {
	return known(ns) ? (ns > 0 ? '+' : ns < 0 ? '\u2212' : '') + time(Math.abs(ns)) : NA;
}

// "after is 1.96x faster: 84 -> 43 ms; waits 3,000 -> 1", as the text form opens.
function diffSentence(headline) {
	return headline.text.charAt(0).toUpperCase() + headline.text.slice(1) + '.';
}

function diffHeader(root, d) {
	const top = put(root, 'header.top', {});
	put(top, 'span.brand', {}, 'cudaspy');
	put(top, 'span.run', {}, 'two runs compared');
	themeSwitch(top);
	const side = (name, s) => put(root, 'p.soft.small.wide', {}, name + ': ', put(null, 'span.mono', {}, s.recordings.slice(0, 3).join(', ') +
		(s.recordings.length > 3 ? ' and ' + (s.recordings.length - 3) + ' more' : '')), ' \u00b7 ' + text(s.gpus) + ' \u00b7 driver ' + text(s.driver) + ' \u00b7 ' + s.state);
	side('before', d.before);
	side('after', d.after);
}

function diffAlerts(main, d) {
	const list = [];
	if ([page.before, page.after].some((s) => s && s.extra.simulated)) {
		list.push('Simulated GPU: no kernel ran, and times on the device are made up.');
	}
	if (d.machines_differ) {
		list.push('Times are not compared: ' + d.machines_differ);
	}
	for (const s of [d.before, d.after]) {
		(s.missing || []).forEach((m) => list.push('Missing: ' + m));
	}
	list.forEach((t) => put(main, 'p.alert', {}, ...words(t)));
}

// ---- a step before and after ----

function diffBars(main, before, after) {
	const box = section(main, before.step && after.step ? 'A step, before and after' : 'The run, before and after',
		`Before: ${before.scope}, ${time(before.all)}; after: ${after.scope}, ${time(after.all)}${before.step && after.step ? ', from one step to the next, means' : ''}; the first recording of each side. Hatched: the 95\u00a0% interval of GPU busy.`);
	const most = Math.max(before.all, after.all);
	const label = () => [['before', before], ['after', after]].map(([n, s]) => `${n}: ${time(s.all)}, GPU busy ${busyText(s.gpu)}`).join('; ');
	chart(box, label, 176, (svg, width) => {
		const left = width < 500 ? 76 : 92, x = linear(0, most, left, width - 8);
		[['before', before, 0], ['after', after, 76]].forEach(([name, s, y]) => {
			const w = x(s.all) - left, g = s.gpu;
			const range = g && known(g.low) ? [left + w * g.low, left + w * g.high] : null;
			const segments = g && [['gpu', 'working', g.mean - g.comm], ['comm', 'communicating', g.comm], ['idle', 'idle', 1 - g.mean]];
			[['GPU', segments, y], ['host', s.host, y + 32]].forEach(([kind, list, at]) => {
				draw(svg, 'text', { x: 0, y: at + 19 }, name + ' ' + kind);
				if (list) {
					stack(svg, left, at + 2, w, 27, list.map(([c, l, share]) => [c, l, share, `${name}, ${kind}: ${l}\n${percent(share)}, ${time(share * s.all)}`]), kind === 'GPU' ? range : null);
				} else {
					draw(svg, 'rect.band', { x: left, y: at + 2, width: w, height: 27 });
					draw(svg, 'text.soft', { x: left + 6, y: at + 20 }, 'not known');
				}
			});
			if (range) {
				hatched(svg, ...range, y + 2, 27);
			}
		});
		axisX(svg, x, 142, ticks(0, most, width < 500 ? 3 : 8), null, timeTick(most), width);
	});
	const kinds = new Map([before, after].flatMap((s) => (s.host || []).filter(([, , v]) => v > 0.004).map(([c, l]) => [c, l])));
	legend(box, [['gpu', 'GPU working'], ['idle', 'GPU idle'], ...kinds]);
}

// What grew and what shrank, as bars from the middle.
function diffParts(main, before, after) {
	const ns = (s, name) => (s.host ? (s.host.find(([, l]) => l === name) || [0, 0, 0])[2] * s.all : null);
	const names = new Map([before, after].flatMap((s) => (s.host || []).map(([c, l]) => [l, c])));
	const list = [...names].map(([name, color]) => ['host: ' + name, color, ns(before, name), ns(after, name)]);
	if (before.gpu && after.gpu) {
		list.push(['GPU: working', 'gpu', before.gpu.mean * before.all, after.gpu.mean * after.all]);
		list.push(['GPU: idle', 'idle', (1 - before.gpu.mean) * before.all, (1 - after.gpu.mean) * after.all]);
	}
	const rows = list.filter(([, , a, b]) => known(a) && known(b)).map(([n, c, a, b]) => [n, c, a, b, b - a]).sort((p, q) => Math.abs(q[4]) - Math.abs(p[4])).slice(0, 10);
	if (!rows.length) {
		return;
	}
	const box = section(main, 'What takes longer, what less', 'The difference of each part of ' + (before.step && after.step ? 'a step' : 'the run') + '; to the right: more than before.');
	const most = Math.max(...rows.map((r) => Math.abs(r[4])), 1);
	chart(box, () => rows.map((r) => r[0] + ' ' + signed(r[4])).join(', '), () => rows.length * 40, (svg, width) => {
		const x = linear(-most, most, 4, width - 4);
		draw(svg, 'line.axis', { x1: x(0), x2: x(0), y1: 0, y2: rows.length * 40 });
		rows.forEach(([name, color, a, b, change], i) => {
			const y = i * 40;
			draw(svg, 'text', { x: 0, y: y + 13 }, name);
			draw(svg, 'text.soft', { x: width, y: y + 13, 'text-anchor': 'end' }, signed(change) + (width < 500 ? '' : ` (${time(a)}, now ${time(b)})`));
			hint(draw(svg, 'rect.seg.f-' + color, { x: Math.min(x(0), x(change)), y: y + 18, width: Math.max(1, Math.abs(x(change) - x(0))), height: 14 }), `${name}\n${time(a)}, now ${time(b)}`);
		});
	});
	if ([before, after].some((s) => s.report.gpu.estimated)) {
		put(box, 'p.soft.small', {}, 'GPU times are estimates: their intervals are in the bars above.');
	}
}

// ---- tables ----

// Rows of both sides by a key: [{ name, a, b }], a or b null.
function pair(before, after, key) {
	const rows = new Map();
	before.forEach((r) => rows.set(key(r), { name: key(r), a: r, b: null }));
	after.forEach((r) => {
		const row = rows.get(key(r)) || { name: key(r), a: null, b: null };
		row.b = row.b || r;
		rows.set(row.name, row);
	});
	return [...rows.values()];
}

function diffKernels(main, before, after) {
	const per = before.steps && after.steps;
	const each = (s, r, k) => (r && known(r[k]) ? r[k] / (per ? s.steps : 1) : null);
	// One that did not run took no time; one whose time is not known has none here.
	const gpu = (s, r, k) => (r ? each(s, r, k) : 0);
	const rows = pair(before.report.kernels, after.report.kernels, (k) => k.name).map((r) => {
		const a = gpu(before, r.a, 'gpu_total_ns'), b = gpu(after, r.b, 'gpu_total_ns'), both = known(a) && known(b);
		const low = both ? gpu(after, r.b, 'gpu_low_ns') - gpu(before, r.a, 'gpu_high_ns') : null;
		const high = both ? gpu(after, r.b, 'gpu_high_ns') - gpu(before, r.a, 'gpu_low_ns') : null;
		return { name: r.name, a, b, change: both ? b - a : null, low, high, was: r.a ? each(before, r.a, 'launches') : 0, is: r.b ? each(after, r.b, 'launches') : 0,
			size: both ? Math.abs(b - a) : null };
	});
	const box = section(main, 'Kernels', 'GPU time ' + (per ? 'a step: of all of the run, over its steps' : 'of all of the run') + '. A range of the difference that holds 0 tells no difference.', true);
	table(box, 'Kernels compared', rows, [
		['kernel', (r) => r.name, null, shortName],
		['changed by', (r) => r.size, (v, r) => signed(r.change)],
		['at least, at most', (r) => r.low, (v, r) => (known(r.low) && known(r.high) && r.high > r.low ? signed(r.low) + ' to ' + signed(r.high) : known(r.change) ? 'exact' : NA)],
		['GPU time was', (r) => r.a, time], ['is', (r) => r.b, time],
		['launches were', (r) => r.was, count], ['are', (r) => r.is, count],
	], 1);
}

function diffSites(main, before, after) {
	const per = before.steps && after.steps;
	const key = (s) => s.api + '\n' + (s.headline === null || !s.frames[s.headline] ? 'not known' : frameText(s.frames[s.headline]).replace(/^(.*, )?.*\/([^/]*)$/, '$1$2'));
	const sum = (list) => {
		const sums = new Map();
		for (const s of list) {
			const to = sums.get(key(s)) || { key: key(s), ns: 0, wasted: null };
			to.ns += s.api_total_ns;
			to.wasted = known(s.wasted_ns) ? (to.wasted || 0) + s.wasted_ns : to.wasted;
			sums.set(to.key, to);
		}
		return [...sums.values()];
	};
	const each = (s, r, k) => (r ? (known(r[k]) ? r[k] / (per ? s.steps : 1) : null) : 0);
	const rows = pair(sum(before.report.sites), sum(after.report.sites), (s) => s.key).map((r) => {
		const [api, at] = r.name.split('\n'), a = each(before, r.a, 'ns'), b = each(after, r.b, 'ns');
		return { api, at, a, b, change: b - a, size: Math.abs(b - a), was: each(before, r.a, 'wasted'), is: each(after, r.b, 'wasted') };
	});
	if (!rows.length) {
		return;
	}
	const box = section(main, 'Where calls are made', 'Host time ' + (per ? 'a step' : 'of all of the run') + ' of waits, copies, allocations and sampled launches, by line; lines that moved stand twice.', true);
	table(box, 'Sites compared', rows, [
		['place', (r) => r.at, null], ['changed by', (r) => r.size, (v, r) => signed(r.change)], ['was', (r) => r.a, time], ['is', (r) => r.b, time],
		['waiting, GPU idle, was', (r) => r.was, time], ['is', (r) => r.is, time], ['call', (r) => callName(r.api), null],
	], 1);
}

const unitOf = (name) => (name.includes('_ns') ? time : name.includes('share') ? percent : name.includes('bytes') ? bytes : count);
const median = (s) => (s ? s.median : null);

// Below a figure's name: what it is.
function figureWords(td, r) {
	const whole = r.name.replace(/^loop\./, '').replace(/_per_step$/, ''), words = page.metrics[r.name] || page.metrics[whole];
	if (words) {
		put(td, 'div.soft.small.about', {}, words + (page.metrics[r.name] ? '' : whole.length < r.name.length ? ', a step' : ''));
	}
}

function diffTimes(main, d) {
	const rows = Object.entries(d.times).map(([name, t]) => ({ name, t, is: median(t.after), was: median(t.before) }));
	const box = section(main, 'Times and shares', d.times_judged ? 'Medians of the recordings. Bounds hold with 99\u00a0% confidence each.'
		: 'Whether a change is more than noise is not known: that takes three recordings a side, of equal machines.', true);
	table(box, 'Times', rows, [
		['figure', (r) => r.name, null],
		['was', (r) => r.was, (v, r) => unitOf(r.name)(v)], ['is', (r) => r.is, (v, r) => unitOf(r.name)(v)],
		['after over before', (r) => (known(r.t.ratio) ? r.t.ratio : r.was > 0 && known(r.is) && 'ratio' in r.t ? r.is / r.was : null), ratio],
		['99\u00a0% bounds', (r) => r.t.lower, (v, r) => (known(r.t.lower) ? ('ratio' in r.t ? ratio(r.t.lower) + ' to ' + ratio(r.t.upper) : percentRange(r.t.lower, r.t.upper)) : NA)],
		['beyond noise', (r) => text(r.t.beyond_noise === 'none' ? (known(r.t.lower) ? 'no' : 'no scatter') : r.t.beyond_noise), null],
	], 0, figureWords);
}

function diffCounts(main, d) {
	const rows = Object.entries(d.counts).filter(([, c]) => c.changed !== false).map(([name, c]) => ({ name, was: median(c.before), is: median(c.after), change: c.difference }));
	const box = section(main, 'Counts', 'Exact. ' + (rows.length ? 'Those that changed, or are not known.' : 'None of ' + Object.keys(d.counts).length + ' changed.'), true);
	if (rows.length) {
		table(box, 'Counts', rows, [['figure', (r) => r.name, null], ['was', (r) => r.was, (v, r) => unitOf(r.name)(v)], ['is', (r) => r.is, (v, r) => unitOf(r.name)(v)],
			['change', (r) => r.change, (v) => (v > 0 ? '+' : v < 0 ? '\u2212' : '') + count(known(v) ? Math.abs(v) : v)]], 0, figureWords);
	}
	const calls = (d.apis || []).filter((a) => a.changed);
	if (calls.length) {
		table(section(main, 'Calls that are made more or less often', null, true), 'Calls compared', calls, [['call', (a) => callName(a.name), null], ['change', (a) => Math.abs((median(a.after) || 0) - (median(a.before) || 0)),
			(v, a) => ((median(a.after) || 0) > (median(a.before) || 0) ? '+' : '\u2212') + count(v)], ['were', (a) => (a.before ? a.before.median : 0), count], ['are', (a) => (a.after ? a.after.median : 0), count],
			['p50 was', (a) => median(a.p50_ns.before), time], ['p50 is', (a) => median(a.p50_ns.after), time]], 1);
	}
}

function buildDiff(root, main) {
	const d = page.diff;
	diffHeader(root, d);
	root.append(main);
	diffAlerts(main, d);
	put(main, 'h1', {}, ...words(diffSentence(d.headline)));
	const chips = put(main, 'ul.chips', { 'aria-label': 'verdicts' });
	[['before', d.before], ['after', d.after]].forEach(([name, s]) => put(chips, 'li.chip', {}, name + ' ', put(null, 'b', {}, text(s.verdict))));
	put(chips, 'li.chip', {}, 'recordings ', put(null, 'b', {}, d.before.count + ' and ' + d.after.count + (d.times_judged ? '' : ': not enough to tell noise')));
	const before = sideOf(page.before), after = sideOf(page.after);
	const damaged = before && after && (before.report.lost.damaged || after.report.lost.damaged);
	if (before && after && !damaged && known(before.all) && known(after.all)) {
		diffBars(main, before, after);
		diffParts(main, before, after);
		diffKernels(main, before, after);
		diffSites(main, before, after);
	} else {
		put(main, 'p', {}, 'One side is a baseline, or damaged, or its time is not known: there is no picture of a step.');
	}
	diffTimes(main, d);
	diffCounts(main, d);
	return 'cudaspy: ' + diffSentence(d.headline);
}
