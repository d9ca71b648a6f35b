// SPDX-License-Identifier: Apache-2.0
// The run on a strip: its phases, how busy the GPU was, and switches that show what a change would make of it.

const WHAT_IF = {
	graphs: 'Launch by CUDA graphs',
	pinned: 'Copy from pinned memory',
	'no-sync': 'Wait only at the end',
	'no-alloc': 'Allocate nothing in the loop',
	overlap: 'Overlap copies with kernels',
	'host=0': 'No time outside CUDA',
	'cpu-wait=0': 'Threads always have a CPU',
	fused: 'Fuse small kernels',
	'graphs-unchanged': 'Launch graphs as they are',
};
let chosen = null; // the what-if that is on

function phaseName(p) {
	return p.kind === 'loop' ? 'loop ' + p.number : p.kind === 'start' ? 'start-up' : 'end';
}

// [color, label, start, end, phase]; times since the window began.
function stripParts() {
	const list = [];
	for (const p of report.phases) {
		const color = p.kind === 'loop' ? (p.number % 2 ? 'loop' : 'loop2') : 'start';
		const stretches = p.kind === 'loop' && p.stretches.length > 1 && p.stretches.length === p.stretch_count ? p.stretches : [p];
		for (const s of stretches) {
			if (known(s.start_ns) && known(s.end_ns)) {
				list.push([color, phaseName(p), s.start_ns, s.end_ns, p]);
			}
		}
	}
	if (!list.length && known(report.window_ns)) {
		const start = Math.min(report.verdict.startup_ns || 0, report.window_ns);
		if (start > 0) {
			list.push(['start', 'start-up', 0, start, null]);
		}
		list.push(['loop', 'the run', start, report.window_ns, null]);
	}
	return list.sort((a, b) => a[2] - b[2]);
}

function phaseHint(label, p, start, end) {
	if (!p) {
		return label + ': ' + time(end - start);
	}
	return [label + ': ' + time(p.time_ns) + ', ' + percent(p.share_of_window) + ' of the window',
		p.kind === 'loop' ? count(p.steps) + ' steps of ' + time(extra.phase_steps[report.phases.indexOf(p)]) + (p.name ? ', ' + p.name : '') : null,
		p.verdict && p.verdict.class !== 'inconclusive' ? p.verdict.class + ', confidence ' + p.verdict.confidence : null,
		p.gpu && known(p.gpu.busy_share) ? 'GPU busy ' + percent(p.gpu.busy_share) + (known(p.gpu.busy_share_low) ? ' (' + percentRange(p.gpu.busy_share_low, p.gpu.busy_share_high) + ')' : '') : 'GPU busy n/a',
	].filter(Boolean).join('\n');
}

function busyCurves() {
	return extra.processes.filter((p) => p.slice_ns > 0 && known(p.slices_from_ns) && p.busy.some(known));
}

// The phases, and below them how busy the GPU was; where a change is chosen, the run as it would be.
function runChart(box, withCurves, list, until) {
	const curves = withCurves ? busyCurves() : [];
	const label = () => 'The run, ' + time(until) + ': ' + list.slice(0, 12).map((s) => s[1] + ' from ' + time(s[2]) + ' to ' + time(s[3])).join(', ') +
		(!withCurves && chosen ? '. With the change: ' + whatIfText(chosen) : '');
	// Names stand beside the rows, or above them where the page is narrow.
	const rows = () => (withCurves ? (curves.length ? 2 : 1) : chosen ? 2 : 1);
	const above = (width) => (width < 500 ? 17 : 0);
	const height = (width) => (withCurves ? (curves.length ? 102 : 62) : chosen ? 102 : 64) + rows() * above(width);
	return chart(box, label, height, (svg, width) => {
		const left = width < 500 ? 0 : 92, x = linear(0, until, left, width - 2);
		let y = 2 + above(width);
		for (const [color, name, start, end, p] of list) {
			segment(svg, x, y, color, name, start, end, phaseHint(name, p, start, end), p !== null && p === phase);
		}
		side(svg, left, y, withCurves ? 'phases' : 'as it was');
		y += 38;
		if (!withCurves) {
			y = chosen ? changed(svg, x, y + 2 + above(width), list, chosen, left) : y;
		}
		if (curves.length) {
			const low = y + 38 + above(width);
			draw(svg, 'rect.band', { x: x(0), y: low - 36, width: x(until) - x(0), height: 36 });
			for (const p of curves) {
				curve(svg, x, low, p, until, curves.length);
			}
			side(svg, left, low - 36, report.gpu.estimated ? 'GPU busy, est.' : 'GPU busy', '0 to 100 %');
			y = low;
		}
		axisX(svg, x, y, ticks(0, until, width < 500 ? 3 : 8), null, timeTick(until), width);
	});
}

function runEnd(list) {
	return Math.max(...list.map((s) => s[3]), report.window_ns || 0, 1);
}

function strip(root) {
	const list = stripParts();
	if (list.length) {
		const drawn = runEnd(list), all = report.wall_ns; // a program may do much else before its first CUDA call
		put(root, 'h3', {}, 'The run, ' + (all > 1.05 * drawn ? time(all) + '; drawn from its first CUDA call on, ' : '') + time(drawn));
		runChart(root, true, list, runEnd(list));
	}
}

// The name of the row whose upper edge is y, in one or two lines.
function side(svg, left, y, ...lines) {
	if (!left) {
		draw(svg, 'text.soft', { x: 0, y: y - 5 }, lines.join(', '));
		return;
	}
	lines.forEach((words, i) => draw(svg, 'text.soft', { x: 0, y: y + (lines.length > 1 ? 16 + 14 * i : 20) }, words));
}

// Its name stands where no range [from, to] is drawn.
function segment(svg, x, y, color, name, start, end, words, isJudged, range) {
	const w = Math.max(x(end) - x(start), 0.7);
	const r = hint(draw(svg, 'rect.seg.f-' + color, { x: x(start), y, width: w, height: 32 }), words);
	if (isJudged && loops().length > 1) {
		r.classList.add('chosen');
	}
	const [from, to] = clear(x(start), x(start) + w, range);
	if (to - from > name.length * 6.8 + 8) {
		draw(svg, 'text.on', { x: (from + to) / 2, y: y + 20, 'text-anchor': 'middle', 'pointer-events': 'none' }, name);
	}
}

function curve(svg, x, low, p, until, of) {
	let d = '', open = false;
	p.busy.forEach((share, i) => {
		const from = p.slices_from_ns + i * p.slice_ns, to = from + p.slice_ns;
		if (!known(share) || to <= 0 || from >= until) {
			d += open ? `V${low}Z` : '';
			open = false;
			return;
		}
		const a = x(Math.max(from, 0)), b = x(Math.min(to, until)), y = low - 36 * Math.min(1, share);
		d += (open ? `V${y}H${b}` : `M${a} ${low}V${y}H${b}`);
		open = true;
	});
	d += open ? `V${low}Z` : '';
	hint(draw(svg, 'path.f-gpu', { d, opacity: of > 1 ? 0.45 : 1 }), 'GPU busy over time' + (of > 1 ? ', process ' + p.pid : '') +
		(report.gpu.estimated ? ', estimated' : ''));
}

// ---- what-ifs ----

function whatIfText(w) {
	if (!known(w.speedup)) {
		return 'not known: ' + text(w.unknown_because);
	}
	const low = known(w.predicted_low_ns) ? w.predicted_low_ns : w.predicted_ns;
	const high = known(w.predicted_high_ns) ? w.predicted_high_ns : w.predicted_ns;
	const step = stepTime(), f = step ? step / w.window_ns : 1;
	return (step ? 'a step' : scope()) + ' takes ' + time(w.predicted_ns * f) + ' (' + timeRange(low * f, high * f) + ') in place of ' +
		time(w.window_ns * f) + ': ' + ratio(w.speedup) + ' as fast (' + ratio(w.speedup_low) + ' to ' + ratio(w.speedup_high) + ')';
}

function matters(w) {
	return known(w.speedup) && w.speedup >= 1.01;
}

// The strip as it would be: what is judged is shorter, what comes behind it earlier. Where it may be longer it is hatched.
function changed(svg, x, y, list, w, left) {
	side(svg, left, y, 'with it');
	if (!known(w.speedup)) {
		draw(svg, 'text.soft', { x: x(0), y: y + 20 }, 'not known');
		return y + 38;
	}
	const target = phase && list.some((s) => s[4] === phase) ? phase : null;
	const isTarget = (p, i) => (target ? p === target : i === list.length - 1);
	const all = list.reduce((sum, [, , start, end, p], i) => sum + (isTarget(p, i) ? end - start : 0), 0), end = list[list.length - 1][3];
	const range = [w.predicted_low_ns, w.predicted_high_ns].map((ns) => x(end - all * (1 - ns / w.window_ns)));
	let earlier = 0;
	list.forEach(([color, name, from, to, p], i) => {
		const takes = (to - from) * (isTarget(p, i) ? w.predicted_ns / w.window_ns : 1);
		segment(svg, x, y, color, name, from - earlier, from - earlier + takes, phaseHint(name, p, from, to), false, range);
		earlier += to - from - takes;
	});
	hatched(svg, ...range, y, 32);
	return y + 38;
}

function whatIfs(root) {
	const list = stripParts();
	if (!report.what_if.length || !list.length) {
		return;
	}
	const box = section(root, 'What if', 'A switch draws the run as it would be with that change alone, by a replay of the recorded calls. Ends of the 95\u00a0% range are hatched.');
	const row = put(box, 'div.switches', { role: 'group', 'aria-label': 'Changes' });
	const c = runChart(box, false, list, runEnd(list));
	const says = put(box, 'p.small', { 'aria-live': 'polite' });
	const gain = (w) => (known(w.speedup) ? w.speedup : 0);
	const order = [...report.what_if].sort((a, b) => gain(b) - gain(a)), buttons = new Map();
	const choose = (w) => {
		chosen = w;
		for (const [other, e] of buttons) {
			e.setAttribute('aria-pressed', String(other === chosen));
		}
		says.replaceChildren(...words(!order.some((o) => known(o.speedup)) ? 'What changes would gain is not known: ' + text(order[0].unknown_because) + '.' : w ? (WHAT_IF[w.change] || w.change) + ': ' + whatIfText(w) + '.' + (w.assumptions.length ? ' This takes for granted: ' + w.assumptions.join('; ') + '.' : '') : 'No change is chosen.'));
		c.paint();
	};
	for (const w of order) {
		const name = WHAT_IF[w.change] || w.change;
		buttons.set(w, put(row, 'button', { type: 'button', 'aria-pressed': 'false', onclick: () => choose(chosen === w ? null : w) },
			name + ' ', put(null, 'span', {}, !known(w.speedup) ? NA : matters(w) ? ratio(w.speedup) : 'no gain')));
	}
	choose(order.find((w) => matters(w) && !BOUNDS.includes(w.change)) || null);
}
