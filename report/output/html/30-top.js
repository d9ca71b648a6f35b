// SPDX-License-Identifier: Apache-2.0
// The first screen: what was recorded, the verdict in one sentence, the host and the GPU on one axis, what to change first.

let report, extra, judged, phase;

// The run that all of the functions are of; a comparison has two.
function useRun(data) {
	report = data.report;
	extra = data.extra;
	judged = extra.judged;
	phase = report.phase === null ? null : report.phases[report.phase];
	report.kernels.forEach((k, i) => briefs.set(k.name, extra.kernel_briefs[i]));
}

// Of what the figures are: "loop 1", "the run after start-up".
function scope() {
	if (!phase) {
		return 'the run after start-up';
	}
	return phase.kind === 'loop' ? (loops().length > 1 ? 'loop ' + phase.number : 'the loop') : phase.kind === 'start' ? 'start-up' : 'the end';
}

function loops() {
	return report.phases.filter((p) => p.kind === 'loop');
}

// A step of what is judged, ns; null where there are none.
function stepTime() {
	if (phase && phase.kind === 'loop') {
		return extra.phase_steps[report.phase]; // as the terminal: from one step to the next
	}
	return phase ? null : report.steps.duration_ns.mean;
}

function stepCount() {
	return phase ? phase.steps : report.steps.judged;
}

// Of a share of the judged time: what it is of a step, or of all.
function part(share) {
	const all = stepTime() || report.verdict.window_ns;
	return known(share) && known(all) ? share * all : null;
}

// ---- host and GPU, as categories with a colour each ----

const HOST = [
	['launch_ns', 'launching', 'launch'],
	['back_pressure_ns', 'launch queue full', 'back'],
	['contention_ns', 'held up in launches', 'cont'],
	['sync_useful_ns', 'waiting, GPU works', 'useful'],
	['sync_wasted_ns', 'waiting, GPU idle', 'wasted'],
	['copy_ns', 'copying', 'copy'],
	['alloc_ns', 'allocating', 'alloc'],
	['module_ns', 'loading code', 'module'],
	['other_cuda_ns', 'other CUDA calls', 'other'],
	['outside_ns', 'outside CUDA', 'outside'],
	['sampling_ns', 'cudaspy itself', 'own'],
];

const IDLE = [
	['launch', 'the host launches', 'launch'],
	['sync', 'the host waits', 'wasted'],
	['copy', 'the host copies', 'copy'],
	['alloc', 'the host allocates or frees', 'alloc'],
	['module', 'the host loads code', 'module'],
	['outside', 'the host is outside CUDA', 'outside'],
	['dependency', 'work waits for other work', 'other'],
	['unknown', 'not known', 'unknown'],
	['sampling', 'cudaspy holds the host up', 'own'],
];

// [color, label, share] of the host's time; null where there is no host split.
function hostShares(host) {
	if (!host || !known(host.outside_ns)) {
		return null;
	}
	let list = HOST.map(([key, label, color]) => [color, label, host[key]]);
	if (!known(host.launch_ns)) { // without GPU time launches and waits are not divided
		list = [['launch', 'in launches', host.launch_api_ns], ['useful', 'waiting', host.sync_ns], ...list.slice(5)];
	}
	const all = list.reduce((sum, [, , ns]) => sum + (ns || 0), 0);
	return all > 0 ? list.filter(([, , ns]) => ns > 0).map(([color, label, ns]) => [color, label, ns / all]) : null;
}

// Busy as shares: mean, low, high; null where it is not known.
function busyShares(gpu) {
	if (!gpu || !known(gpu.busy_ns) || !(gpu.window_ns > 0)) {
		return null;
	}
	const of = (ns) => (known(ns) ? Math.min(1, ns / gpu.window_ns) : null);
	return { mean: of(gpu.busy_ns), low: of(gpu.busy_low_ns), high: of(gpu.busy_high_ns), comm: of(gpu.comm_ns) || 0 };
}

function busyText(b) {
	if (!b) {
		return NA;
	}
	return known(b.low) && b.high - b.low > 0.0005 ? percent(b.mean) + ' (' + percentRange(b.low, b.high) + ')' : percent(b.mean);
}

function header(root) {
	const first = report.processes[0];
	const top = put(root, 'header.top', {});
	put(top, 'span.brand', {}, 'cudaspy');
	put(top, 'span.run.mono', {}, first ? text(first.command) : 'no process');
	themeSwitch(top);
	const devices = [...new Set(report.processes.flatMap((p) => p.devices.map((d) => text(d.name))))];
	const facts = [
		report.processes.length === 1 ? 'process ' + first.pid + (first.rank === null ? '' : ', rank ' + first.rank) : count(report.processes.length) + ' processes',
		first && first.host ? 'on ' + first.host : null,
		devices.join(', ') || 'GPU unknown',
		time(report.wall_ns) + ' recorded',
		report.start_time ? report.start_time.replace('T', ' ').replace(/\.\d+Z$/, ' UTC') : null,
		count(report.totals.calls) + ' CUDA calls',
		report.gpu.mode === 'off' ? 'GPU times not taken' : report.gpu.estimated === null ? 'GPU times not known'
			: report.gpu.estimated ? 'GPU times estimated from samples' : 'GPU times exact',
	];
	const line = put(root, 'p.soft.small.wide', {}, facts.filter(Boolean).join(' \u00b7 '));
	if (report.warnings.length) {
		line.append(' \u00b7 ');
		put(line, 'a.warn', { href: '#about' }, count(report.warnings.length) + (report.warnings.length === 1 ? ' warning' : ' warnings'));
	}
}

function themeSwitch(parent) {
	const names = { auto: 'Theme: automatic', light: 'Theme: light', dark: 'Theme: dark' }, order = ['auto', 'light', 'dark'];
	let now = 'auto';
	const b = put(parent, 'button.theme', { type: 'button', onclick: () => {
		now = order[(order.indexOf(now) + 1) % 3];
		if (now === 'auto') {
			document.documentElement.removeAttribute('data-theme');
		} else {
			document.documentElement.setAttribute('data-theme', now);
		}
		b.textContent = names[now];
	} }, names[now]);
}

// What has to be known before anything else is believed.
function alerts(root) {
	const list = [];
	if (extra.simulated) {
		list.push('Simulated GPU: no kernel ran, and times on the device are made up.');
	}
	if (report.lost.damaged) {
		list.push('Damaged recording: ' + report.lost.damaged);
	}
	for (const p of report.processes) {
		if (p.state === 'killed' || p.state === 'running') {
			list.push(`Process ${p.pid} ${p.state === 'killed' ? 'was killed' : 'is still running'}` +
				p.in_flight.map((f) => `; in flight: ${callName(f.api)}, ${time(f.age_ns)}`).join('') + '.');
		}
	}
	if (report.lost.share > 0.001) {
		list.push(`${percent(report.lost.share)} of the records were lost: counts and sums have them, distributions and the timeline do not.`);
	}
	for (const t of list) {
		put(root, 'p.alert', {}, ...words(t));
	}
}

function verdict(root) {
	const v = report.verdict;
	put(root, 'h1', {}, ...words(extra.sentence)); // as the terminal has it
	// The sentence says what its first half does.
	const colon = v.reason.indexOf(': '), reason = v.reason.slice(colon < 0 ? 0 : colon + 2);
	if (v.class !== 'inconclusive') { // else it says all of it
		put(root, 'p.wide', {}, ...words(reason.charAt(0).toUpperCase() + reason.slice(1)));
	}
	const chips = put(root, 'ul.chips', { 'aria-label': 'verdict' });
	const chip = (name, value) => put(chips, 'li.chip', {}, name + ' ', put(null, 'b', {}, value));
	chip('verdict', v.class);
	chip('confidence', v.confidence);
	if (v.second && v.class !== 'mixed') {
		chip('runner-up', v.second + (known(v.second_gain_share) ? ', would save ' + percent(v.second_gain_share) : ''));
	}
	chip(stepTime() === null ? 'judged' : 'step, mean', stepTime() === null ? time(v.window_ns) + ' of ' + scope()
		: time(stepTime()) + ', ' + count(stepCount()) + ' of them');
}

// ---- GPU and host on one axis ----

function bars(root) {
	const gpu = busyShares(judged.gpu), host = hostShares(judged.host);
	const all = stepTime() || report.verdict.window_ns || null; // of no time there are shares alone
	const box = root;
	put(box, 'h3', {}, (stepTime() ? 'A step of ' : 'All of ') + scope() + (known(all) ? ', ' + time(all) : '') +
		(stepTime() ? ', the mean of ' + count(stepCount()) : ''),
		put(null, 'span.soft.small', {}, gpu && known(gpu.low) && gpu.high > gpu.low ? '  \u00b7  hatched: the 95\u00a0% interval of GPU busy, ' + percentRange(gpu.low, gpu.high) : ''));
	const idle = gpu ? 1 - gpu.mean : null;
	const segments = gpu && [['gpu', 'working', gpu.mean - gpu.comm], ['comm', 'communicating alone', gpu.comm], ['idle', 'idle', idle]];
	const label = () => 'GPU busy ' + busyText(gpu) + '. Host: ' + (host ? host.map(([, l, s]) => l + ' ' + percent(s)).join(', ') : NA) + '.';
	chart(box, label, 106, (svg, width) => {
		const x = linear(0, 1, 48, width - 8), w = width - 56;
		const range = gpu && known(gpu.low) ? [x(gpu.low), x(gpu.high)] : null;
		bar(svg, 'GPU', 4, segments, x, w, all, range);
		if (range) {
			hatched(svg, ...range, 4, 34);
		}
		bar(svg, 'host', 46, host, x, w, all);
		const values = ticks(0, known(all) ? all : 1, width < 500 ? 3 : 8);
		axisX(svg, (v) => x(known(all) ? v / all : v), 82, values, null, known(all) ? timeTick(all) : percent, width);
	});
	const parts = [];
	for (const [color, name, share] of [...(segments || []), ...(host || [])]) {
		if (share > 0.004) {
			parts.push([color, (color === 'gpu' || color === 'comm' || color === 'idle' ? 'GPU ' : 'host ') + name,
				percent(share) + (known(all) ? ', ' + time(share * all) : '')]);
		}
	}
	legend(box, parts);
	if (!gpu) {
		put(box, 'p.soft.small', {}, 'GPU busy is not known: ' + (report.gpu.mode === 'off' ? 'it was recorded with CUDASPY_GPU=off.' : 'too little of its work was timed.'));
	}
}

function bar(svg, name, y, segments, x, w, all, range) {
	draw(svg, 'text', { x: 0, y: y + 21 }, name);
	if (!segments) {
		draw(svg, 'rect', { x: x(0), y, width: w, height: 34, class: 'band' });
		draw(svg, 'text.soft', { x: x(0) + 8, y: y + 21 }, 'not known');
		return;
	}
	stack(svg, x(0), y, w, 34, segments.map(([color, label, share]) => [color, label, share,
		`${name}: ${label}\n${percent(share)}${known(all) ? ', ' + time(share * all) : ''}`]), range);
}

// ---- what to change first ----

// No change that one makes, but what all of it is worth.
const BOUNDS = ['host=0', 'cpu-wait=0'];

// What saves less is none of the three, as in the terminal.
const LEAST_GAIN = 0.01;

// Findings by what they save, what the verdict says besides, and predictions that no finding has.
function changes() {
	const list = report.findings.map((f) => ({ id: f.id, title: f.title, speedup: f.predicted_speedup, low: f.predicted_speedup_low,
		high: f.predicted_speedup_high, share: f.share, severity: f.severity, evidence: f.evidence, site: f.site, fix: f.fix }));
	for (const v of extra.verdict_changes) {
		const faster = (saved) => (known(saved) ? 1 / (1 - Math.min(saved, 0.999)) : null), own = list.find((c) => c.id === v.finding);
		const gain = { speedup: faster(v.saved), low: faster(v.saved_low), high: known(v.saved_low) ? faster(v.saved_high) : null };
		if (own) {
			Object.assign(own, gain);
		} else {
			list.push({ title: v.what[0].toUpperCase() + v.what.slice(1), ...gain, share: null,
				evidence: 'The verdict: ' + report.verdict.reason, site: v.site, fix: '' });
		}
	}
	for (const w of report.what_if) {
		if (w.speedup >= 1.02 && !BOUNDS.includes(w.change) && !list.some((f) => known(f.speedup) && Math.abs(f.speedup - w.speedup) < 1e-6)) {
			list.push({ title: WHAT_IF[w.change] || w.change, speedup: w.speedup, low: w.speedup_low, high: w.speedup_high, share: null,
				evidence: w.assumptions.length ? 'This takes for granted: ' + w.assumptions.join('; ') + '.' : '', site: null, fix: w.how });
		}
	}
	// What may gain nothing stands behind what is not known.
	const gain = (c) => (!known(c.speedup) ? 1.005 : c.speedup);
	return list.map((c, i) => [c, i]).sort((a, b) => gain(b[0]) - gain(a[0]) || a[1] - b[1]).map(([c]) => c);
}

function gainText(c) {
	if (!known(c.speedup)) {
		return known(c.share) ? 'concerns ' + percent(c.share) + ' of ' + scope() : 'gain not known';
	}
	const saved = (s) => part(1 - 1 / s);
	const low = saved(c.low), high = saved(c.high), all = part(1);
	const middle = time(saved(c.speedup)), most = time(high);
	const upTo = (middle !== most && saved(c.speedup) > 0 ? middle + ', ' : '') + 'up to ' + most;
	const range = !known(low) || !known(high) ? 'about ' + middle : low < all / 1000 ? upTo : timeRange(low, high);
	return 'saves ' + range + (stepTime() ? ' a step' : '');
}

function place(site) {
	const at = site.file ? site.file + (site.line ? ':' + site.line : '') : text(site.module);
	return (site.function ? functionName(site.function) + ', ' : '') + at;
}

function top3(root) {
	const list = changes().filter((c) => !known(c.speedup) || 1 - 1 / c.speedup >= LEAST_GAIN);
	put(root, 'h2', {}, list.length ? 'What to change first' : 'No change was found that would save 1\u00a0% or more');
	const cards = put(root, 'div.cards', {});
	for (const c of list.slice(0, 3)) {
		const card = put(cards, 'article.card', {});
		put(card, 'h3', {}, c.title);
		put(card, 'p.gain', {}, gainText(c));
		if (known(c.speedup)) {
			const low = ratio(c.low), high = ratio(c.high);
			put(card, 'p.soft.small', {}, 'predicted: ' + ratio(c.speedup) + (!known(c.low) || low === high ? '' : ' (' + low.replace('x', '') + ' to ' + high + ')') + ' as fast, ' + scope());
		}
		if (c.site) {
			put(card, 'p.place.mono.wrap', {}, place(c.site) + (known(c.site.share) ? ' (' + percent(c.site.share) + ' of ' + callName(c.site.api) + ')' : ''));
		}
		const more = put(card, 'details', {}, put(null, 'summary', {}, 'why, and how'));
		put(more, 'p.small', {}, ...words(c.evidence || NA));
		put(more, 'p.small', {}, ...words(c.fix || ''));
	}
	if (list.length > 1) {
		put(root, 'p.soft.small', {}, 'Gains are of each change alone; they do not add up.');
	}
}
