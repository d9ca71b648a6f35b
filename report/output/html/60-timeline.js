// SPDX-License-Identifier: Apache-2.0
// One stretch of the run call by call: host threads above, streams below; zoom and pan by mouse, touch and keys.

const WHY = { median: 'a step like most', outlier: 'an outlier', longest: 'the longest kept', shortest: 'the shortest kept', last: 'the last kept', 'last calls': 'the last calls' };
const ROW = 26, NARROW_ROW = 36; // on a phone a lane's name stands above it

// Whose word a piece's times are; as enum html_timed has it.
const TIMED = [
	'estimated: by what work like it takes, the order of its stream, and the waits for it',
	'exact, by CUPTI',
	'guessed: nothing like it was timed; by the order of its stream, and the waits for it',
];

// Rows of numbers, `n` a row.
function rowsOf(flat, n) {
	const list = [];
	for (let i = 0; i + n <= flat.length; i += n) {
		list.push(flat.slice(i, i + n));
	}
	return list;
}

function lanesOf(t) {
	const threads = t.threads.map((name) => ({ name, host: true, events: [] }));
	const streams = t.streams.map((name) => ({ name, host: false, events: [] }));
	const calls = rowsOf(t.calls, 4);
	calls.forEach(([thread, call, start, duration], i) => {
		const [name, cls] = [callName(t.call_names[call][0]), t.call_names[call][1]];
		threads[thread].events.push({ start, duration, color: CLASS_COLORS[cls] || 'other', name, lane: threads[thread], index: i });
	});
	for (const [stream, work, start, duration, by, timed] of rowsOf(t.work, 6)) {
		const name = shortName(t.work_names[work]);
		streams[stream].events.push({ start, duration, color: name.startsWith('copy ') || name === 'set' ? 'copy' : 'gpu', name, lane: streams[stream], by, timed });
	}
	return { threads, streams, calls };
}

function eventHint(t, lanes, e) {
	const list = [e.name, (e.lane.host ? '' : 'runs ') + (known(e.duration) ? time(e.duration) : 'for a time that is not known') + ', at ' + time(e.start)];
	if (!e.lane.host) {
		list.push(TIMED[e.timed]);
		const call = lanes.calls[e.by];
		if (call) {
			list.push('given by ' + callName(t.call_names[call[1]][0]) + ', ' + time(e.start - call[2] - call[3]) + ' after its return');
		}
	}
	return list.join('\n');
}

function timelineTitle(t) {
	return (WHY[t.why] || t.why) + ', at ' + time(t.start_ns) + ', ' + time(t.duration_ns) + (extra.processes.length > 1 ? ', process ' + extra.processes[t.process].pid : '');
}

function timelines(root) {
	if (!extra.timelines.length) {
		return () => {};
	}
	const box = section(root, 'Timeline', 'Host threads above, GPU streams below. Drag to move; the wheel with Ctrl, two fingers, or + and \u2212 zoom; arrow keys move, 0 shows all.');
	const view = { t: extra.timelines[0], from: 0, to: 1 };
	const tools = put(box, 'div.tools', {});
	const select = put(tools, 'select', { onchange: () => open(extra.timelines[Number(select.value)]) });
	const label = put(null, 'label', {}, 'Stretch ', select);
	tools.append(label);
	extra.timelines.forEach((t, i) => put(select, 'option', { value: i }, timelineTitle(t)));
	for (const [words, name, act] of [['+', 'Zoom in', () => zoom(0.5)], ['\u2212', 'Zoom out', () => zoom(2)], ['\u2190', 'Earlier', () => move(-0.3)], ['\u2192', 'Later', () => move(0.3)], ['all', 'Show all', () => all()]]) {
		put(tools, 'button', { type: 'button', 'aria-label': name, title: name, onclick: act }, words);
	}
	const note = put(box, 'p.soft.small', { 'aria-live': 'polite' });
	let lanes = lanesOf(view.t);
	const height = (width) => (laneLeft(width) ? ROW : NARROW_ROW) * (lanes.threads.length + lanes.streams.length) + 62;
	const c = chart(box, () => 'Timeline of ' + timelineTitle(view.t) + ', shown from ' + time(view.from) + ' to ' + time(view.to), height,
		(svg, width) => paintTimeline(svg, width, view, lanes), true);
	legend(box, [...GROUPS.filter(([color]) => color !== 'outside').map(([color, name]) => [color, name]), ['gpu', 'kernels and graphs']]);
	fill(c.box, { tabindex: 0, role: 'application', 'aria-label': 'Timeline: arrow keys move, plus and minus zoom, 0 shows all' }, []);
	c.box.classList.add('pan');

	function limit() {
		const span = Math.min(Math.max(view.to - view.from, 50), view.t.duration_ns * 1.04);
		view.from = Math.max(-view.t.duration_ns * 0.02, Math.min(view.from, view.t.duration_ns * 1.02 - span));
		view.to = view.from + span;
		c.paint();
		const from = Math.max(0, view.from), to = Math.min(view.to, view.t.duration_ns);
		note.textContent = (from === 0 && to === view.t.duration_ns ? 'Shown: all of its ' + time(to) : 'Shown: ' + time(from) + ' to ' + time(to) + ' of ' + time(view.t.duration_ns)) + '.' +
			(view.t.calls_of > lanes.calls.length ? ' Only the first ' + count(lanes.calls.length) + ' of its ' + count(view.t.calls_of) + ' calls are here.' : '') +
			(view.t.work.length && report.gpu.estimated ? ' The GPU\'s work is placed by estimates.' : '') + (view.t.work.length ? '' : ' It has no work whose time is known.');
	}
	function zoom(by, at) {
		const center = at === undefined ? (view.from + view.to) / 2 : at;
		const from = center - (center - view.from) * by, to = center + (view.to - center) * by;
		view.from = from;
		view.to = to;
		limit();
	}
	function move(by) {
		const span = view.to - view.from;
		view.from += by * span;
		view.to += by * span;
		limit();
	}
	function all() {
		view.from = -view.t.duration_ns * 0.02;
		view.to = view.t.duration_ns * 1.02;
		limit();
	}
	function open(t) {
		view.t = t;
		lanes = lanesOf(t);
		select.value = String(extra.timelines.indexOf(t));
		all();
	}
	drags(c, view, zoom, limit);
	c.box.addEventListener('keydown', (event) => {
		const act = { '+': () => zoom(0.5), '=': () => zoom(0.5), '-': () => zoom(2), ArrowLeft: () => move(-0.2), ArrowRight: () => move(0.2), 0: all, Home: all }[event.key];
		if (act && !event.ctrlKey && !event.metaKey) {
			event.preventDefault();
			act();
		}
	});
	open(view.t);
	return (t) => {
		open(t);
		box.scrollIntoView({ block: 'start' });
		c.box.focus({ preventScroll: true });
	};
}

const NAMES_WIDTH = 150;

function laneLeft(width) {
	return width < 500 ? 0 : NAMES_WIDTH;
}

// Mouse, touch: one pointer moves, two zoom.
function drags(c, view, zoom, limit) {
	const pointers = new Map();
	const at = (x) => {
		const box = c.box.getBoundingClientRect(), left = laneLeft(c.width);
		return view.from + (x - box.left - left) / Math.max(1, c.width - left) * (view.to - view.from);
	};
	c.box.addEventListener('wheel', (event) => {
		if (event.ctrlKey || event.metaKey) {
			event.preventDefault();
			zoom(event.deltaY < 0 ? 0.75 : 1.333, at(event.clientX));
		}
	}, { passive: false });
	c.box.addEventListener('dblclick', (event) => zoom(0.4, at(event.clientX)));
	c.box.addEventListener('pointerdown', (event) => {
		pointers.set(event.pointerId, event.clientX);
		c.box.setPointerCapture(event.pointerId);
	});
	c.box.addEventListener('pointermove', (event) => {
		const before = pointers.get(event.pointerId);
		if (before === undefined || event.clientX === before) {
			return;
		}
		if (pointers.size === 1) {
			const ns = at(before) - at(event.clientX);
			view.from += ns;
			view.to += ns;
			limit();
		} else {
			const other = [...pointers].find(([id]) => id !== event.pointerId)[1];
			const was = Math.abs(before - other), is = Math.abs(event.clientX - other);
			if (was > 4 && is > 4) {
				zoom(was / is, at((event.clientX + other) / 2));
			}
		}
		pointers.set(event.pointerId, event.clientX);
	});
	for (const end of ['pointerup', 'pointercancel']) {
		c.box.addEventListener(end, (event) => pointers.delete(event.pointerId));
	}
}

function paintTimeline(svg, width, view, lanes) {
	const left = laneLeft(width), x = linear(view.from, view.to, left, width - 4);
	const row = left ? ROW : NARROW_ROW, down = left ? 0 : 15;
	let y = 4;
	for (const lane of [...lanes.threads, ...lanes.streams]) {
		if (lane === lanes.streams[0]) {
			y += 8;
			draw(svg, 'line.axis', { x1: 0, x2: width, y1: y - 5, y2: y - 5 });
		}
		draw(svg, 'rect.band', { x: left, y: y + down, width: Math.max(0, width - left - 4), height: ROW - 6 });
		paintLane(svg, x, y + down, ROW - 6, lane, view, lanes, left, width - 4);
		const room = Math.floor(((left || width) - 6) / 6.7), name = lane.name.length > room ? lane.name.slice(0, room - 1) + '\u2026' : lane.name;
		hint(draw(svg, 'text.soft', { x: 0, y: y + (left ? 14 : 11) }, name), lane.name);
		y += row;
	}
	axisX(svg, x, y + 4, ticks(Math.max(view.from, 0), view.to, width < 500 ? 3 : 8), 'since the stretch began', (v) => time(Math.round(v)), width);
}

// Events of less than a pixel that touch are drawn as one.
function paintLane(svg, x, y, height, lane, view, lanes, left, right) {
	let lastEnd = -1, lastColor = '', group = null;
	for (const e of lane.events) {
		const start = e.start, end = e.start + (e.duration || 0);
		if (end < view.from || start > view.to) {
			continue;
		}
		const a = Math.max(x(start), left), b = Math.min(Math.max(x(end), a), right), w = b - a;
		if (w < 1 && group && e.color === lastColor && a - lastEnd < 1) {
			group.setAttribute('width', Math.max(b - Number(group.getAttribute('x')), 1));
			lastEnd = Math.max(lastEnd, b);
			continue;
		}
		const unknown = !known(e.duration);
		group = draw(svg, (unknown ? 'rect.mark.f-unknown' : 'rect.f-' + e.color), { x: a, y, width: Math.max(w, unknown ? 3 : 1), height, class: null });
		if (w > 6) {
			group.classList.add('seg');
		}
		hint(group, () => eventHint(view.t, lanes, e));
		if (w > 44) {
			const room = Math.floor((w - 8) / 6.9), name = e.name.length > room ? e.name.slice(0, Math.max(1, room - 1)) + '\u2026' : e.name;
			draw(svg, 'text.on', { x: a + 4, y: y + height / 2 + 4, 'pointer-events': 'none' }, name);
		}
		lastEnd = b;
		lastColor = e.color;
	}
}
