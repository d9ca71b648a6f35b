// SPDX-License-Identifier: Apache-2.0
// Steps: how long each took, and what host and GPU did in those whose calls were kept.

// The timeline of a step, or undefined.
function timelineOf(process, start) {
	return extra.timelines.find((t) => t.process === process && Math.abs(t.start_ns - start) < 2);
}

function stepTable(row) {
	const [process, start, duration, gpu, launch, launches, syncs, outlier] = row;
	return { process, start, duration, gpu, launch, launches, syncs, outlier: outlier === 1 };
}

function stepHint(s) {
	return [(s.outlier ? 'Outlier: ' : '') + 'step at ' + time(s.start) + ' took ' + time(s.duration),
		extra.processes.length > 1 ? 'process ' + extra.processes[s.process].pid : null,
		'GPU time of its work ' + time(s.gpu) + (known(s.gpu) && report.gpu.estimated ? ', estimated' : ''),
		count(s.launches) + ' launches in ' + time(s.launch) + ', ' + count(s.syncs) + ' waits',
		timelineOf(s.process, s.start) ? 'Click: its timeline' : s.outlier ? 'Its timeline is not here: its calls were not kept (CUDASPY_KEEP, CUDASPY_TRACE), or others are longer' : null].filter(Boolean).join('\n');
}

function stepsOverTime(root, openTimeline) {
	const rows = extra.steps.rows.map(stepTable).filter((s) => known(s.duration) && known(s.start));
	if (rows.length < 2) {
		return;
	}
	const spread = report.steps.duration_ns, outliers = rows.filter((s) => s.outlier);
	const box = section(root, 'Steps over time', count(report.steps.judged) + ' steps, ' + text(report.steps.source === 'nvtx' ? 'NVTX range ' + shortName(text(report.steps.name)) : 'found by ' + shortName(text(report.steps.name))) +
		': median ' + time(spread.p50) + ', shortest ' + time(spread.min) + ', longest ' + time(spread.max) + '; ' +
		(report.steps.outlier_count ? many(report.steps.outlier_count, 'outlier') + ', much longer than the median' : 'no outliers') + '.' +
		(extra.steps.of > rows.length ? ' Drawn: ' + count(rows.length) + ', the shortest and the longest of each moment.' : ''));
	const least = Math.min(...rows.map((s) => s.duration)), most = Math.max(...rows.map((s) => s.duration));
	const log = most > 12 * Math.max(least, 1);
	const from = Math.min(...rows.map((s) => s.start)), to = Math.max(...rows.map((s) => s.start + s.duration));
	chart(box, () => 'Steps over time: median ' + time(spread.p50) + ', longest ' + time(most) + ', ' + many(outliers.length, 'outlier') + ' drawn', 250, (svg, width, height) => {
		const low = height - 44, x = linear(from, to, 66, width - 10);
		const y = log ? logarithmic(Math.max(least * 0.8, 1), most * 1.3, low, 8) : linear(0, most * 1.08, low, 8);
		const marks = log ? decades(Math.max(least * 0.8, 1), most * 1.3) : ticks(0, most * 1.08, 5);
		axisY(svg, y, 66, width - 10, marks.length > 1 ? marks : [least, spread.p50, most], log ? time : timeTick(most));
		axisX(svg, x, low, ticks(from, to, width < 500 ? 3 : 8), 'time since the window began', timeTick(to), width);
		if (known(spread.p50)) {
			draw(svg, 'line.even', { x1: 66, x2: width - 10, y1: y(spread.p50), y2: y(spread.p50) });
		}
		for (const s of rows) {
			stepMark(svg, x(s.start), y(s.duration), s, openTimeline);
		}
	}, true);
	legend(box, [['useful', 'a step'], ['wasted', 'an outlier'], ['gpu', 'its timeline is below: click it']]).querySelectorAll('.swatch').forEach((e) => e.classList.add('round'));
	put(box, 'p.soft.small', {}, 'Dashes: the median.' + (log ? ' Durations are on a logarithmic scale.' : ''));
}

function stepMark(svg, x, y, s, openTimeline) {
	const t = timelineOf(s.process, s.start);
	const mark = draw(svg, 'circle.mark.f-' + (t ? 'gpu' : s.outlier ? 'wasted' : 'useful'), { cx: x, cy: y, r: t ? 6 : s.outlier ? 4.5 : 2.6 });
	hint(mark, () => stepHint(s));
	if (t) {
		button(mark, 'Step at ' + time(s.start) + ', ' + time(s.duration) + (s.outlier ? ', an outlier' : '') + ': show its timeline', () => openTimeline(t));
	}
}

// ---- each step's time, host and GPU ----

const CLASS_COLORS = {
	launch: 'launch', graph_launch: 'launch', copy: 'copy', set: 'copy', sync: 'useful', alloc: 'alloc', module: 'module',
};
const GROUPS = [['launch', 'launching'], ['useful', 'waiting'], ['copy', 'copying'], ['alloc', 'allocating'], ['module', 'loading code'], ['other', 'other CUDA calls'], ['outside', 'outside CUDA']];

function columnOf(row) {
	const [process, start, duration, busy, ...classes] = row;
	const sums = {};
	let inside = 0;
	classes.forEach((ns, i) => {
		const color = CLASS_COLORS[extra.step_classes[i]] || 'other';
		sums[color] = (sums[color] || 0) + ns;
		inside += ns;
	});
	sums.outside = Math.max(0, duration - inside);
	return { process, start, duration, busy, sums };
}

function stepColumns(root, openTimeline) {
	const rows = extra.step_rows.map(columnOf);
	if (!rows.length) {
		return;
	}
	const box = section(root, 'Where each step\'s time goes', count(rows.length) + ' steps out of those whose calls were kept (the latest). Left column of each: the host; right: the GPU' +
		(report.gpu.estimated ? ', whose work is placed by estimates' : rows.some((r) => known(r.busy)) ? '' : ', of which nothing is known') + '.');
	const sorted = rows.map((r) => r.duration).sort((a, b) => a - b);
	const median = sorted[Math.floor(sorted.length / 2)], cap = Math.min(sorted[sorted.length - 1], median * 4);
	const shown = (width) => (width < 500 ? rows.filter((_, i) => i % Math.ceil(rows.length / 24) === 0) : rows);
	chart(box, () => 'Time of ' + rows.length + ' steps by what the host did, and how long the GPU was busy', 240, (svg, width, height) => {
		const low = height - 26, y = linear(0, cap * 1.05, low, 8), list = shown(width), each = (width - 76) / list.length;
		axisY(svg, y, 66, width - 10, ticks(0, cap, 4), timeTick(cap));
		list.forEach((r, i) => {
			const left = 68 + i * each, w = Math.max(2, Math.min(26, each * 0.84)), half = w / 2;
			let at = 0;
			const words = () => ['Step at ' + time(r.start) + ', ' + time(r.duration), ...GROUPS.filter(([c]) => r.sums[c] > 0).map(([c, name]) => name + ' ' + time(r.sums[c])),
				'GPU busy ' + time(r.busy) + (known(r.busy) && report.gpu.estimated ? ', estimated' : '')].join('\n');
			for (const [color] of GROUPS) {
				const ns = r.sums[color] || 0, top = Math.min(at + ns, cap * 1.05);
				if (top > at) {
					hint(draw(svg, 'rect.f-' + color, { x: left, width: half, y: y(top), height: y(at) - y(top) }), words);
				}
				at = Math.max(at, top);
			}
			if (known(r.busy)) {
				hint(draw(svg, 'rect.f-gpu', { x: left + half + 0.5, width: half, y: y(Math.min(r.busy, cap)), height: low - y(Math.min(r.busy, cap)) }), words);
			}
			if (r.duration > cap * 1.05) {
				draw(svg, 'path.f-ink', { d: `M${left} ${y(cap * 1.05)}l${half} -5l${half} 5z` });
			}
		});
		axisX(svg, linear(0, 1, 68, width - 10), low, [], null, percent, width);
		draw(svg, 'text.soft', { x: 66, y: height - 6 }, 'in their order' + (cap < sorted[sorted.length - 1] ? '; triangle: longer than drawn' : ''));
	});
	legend(box, [...GROUPS.filter(([c]) => rows.some((r) => r.sums[c] > r.duration / 1000)), ...(rows.some((r) => known(r.busy)) ? [['gpu', 'GPU busy']] : [])]);
}
