// SPDX-License-Identifier: Apache-2.0
// What all charts have: they are drawn anew in the width they get; axes; hints; ranges drawn as ranges.

const charts = [];

// A chart redraws itself with draw(svg, width); `label` is what a screen reader says of it. With `parts` it has marks that can
// be reached one by one.
function chart(parent, label, height, paint, parts) {
	const box = put(parent, 'div.chart', {});
	const c = {
		box, width: 0,
		paint() {
			const width = Math.floor(box.clientWidth);
			if (width < 40) {
				return;
			}
			c.width = width;
			const h = typeof height === 'function' ? height(width) : height;
			const svg = draw(null, 'svg', { width, height: h, viewBox: `0 0 ${width} ${h}`, role: parts ? 'group' : 'img',
				'aria-label': typeof label === 'function' ? label() : label });
			paint(svg, width, h);
			box.replaceChildren(svg);
		},
	};
	charts.push(c);
	return c;
}

function paintAll() {
	for (const c of charts) {
		c.paint();
	}
}

// What is in sight at once, the rest when the page can be used already.
function paintInTurn(from, then) {
	for (let i = from; i < charts.length; i++) {
		if (charts[i].box.getBoundingClientRect().top > innerHeight) {
			setTimeout(() => {
				charts[i].paint();
				paintInTurn(i + 1, then);
			}, 0);
			return;
		}
		charts[i].paint();
	}
	then();
}

// The hatching of what is estimated: once for all charts.
function patterns(parent) {
	const svg = draw(parent, 'svg', { width: 0, height: 0, 'aria-hidden': 'true' });
	const p = draw(draw(svg, 'defs', {}), 'pattern', { id: 'hatch', width: 6, height: 6, patternUnits: 'userSpaceOnUse',
		patternTransform: 'rotate(45)' });
	draw(p, 'line.hatch', { x1: 0, y1: 0, x2: 0, y2: 6 });
}

// ---- hints ----

const tip = put(null, 'div.tip', { hidden: true });
const hints = new WeakMap();

function hint(e, words) {
	hints.set(e, words);
	return e;
}

function showHint(e, x, y) {
	const words = hints.get(e);
	if (!words) {
		tip.hidden = true;
		return;
	}
	tip.textContent = typeof words === 'function' ? words() : words;
	tip.hidden = false;
	const box = tip.getBoundingClientRect();
	tip.style.left = Math.max(4, Math.min(x + 14, innerWidth - box.width - 6)) + 'px';
	tip.style.top = (y + 18 + box.height > innerHeight ? Math.max(4, y - box.height - 10) : y + 16) + 'px';
}

function hintsOn(root) {
	root.addEventListener('pointermove', (event) => showHint(event.target, event.clientX, event.clientY));
	root.addEventListener('pointerdown', (event) => showHint(event.target, event.clientX, event.clientY));
	root.addEventListener('pointerleave', () => { tip.hidden = true; });
	root.addEventListener('focusin', (event) => {
		const box = event.target.getBoundingClientRect();
		if (event.target.matches(':focus-visible')) {
			showHint(event.target, box.x + box.width / 2, box.y + box.height / 2);
		}
	});
	root.addEventListener('focusout', () => { tip.hidden = true; });
	root.addEventListener('keydown', (event) => {
		if (event.key === 'Escape') {
			tip.hidden = true;
		}
	});
	addEventListener('scroll', () => { tip.hidden = true; }, { passive: true });
}

// A mark that does something: by mouse, touch and keyboard.
function button(e, label, act) {
	fill(e, { tabindex: 0, role: 'button', 'aria-label': label, onclick: act,
		onkeydown: (event) => {
			if (event.key === 'Enter' || event.key === ' ') {
				event.preventDefault();
				act();
			}
		} }, []);
	e.classList.add('hot');
	return e;
}

// ---- axes ----

// Round values from 0 to `most`, about `n` of them.
function ticks(least, most, n) {
	const span = most - least;
	if (!(span > 0)) {
		return [least];
	}
	const raw = span / Math.max(1, n), ten = 10 ** Math.floor(Math.log10(raw));
	const step = [1, 2, 2.5, 5, 10].map((f) => f * ten).find((s) => s >= raw * 0.999);
	const list = [];
	for (let i = Math.ceil(least / step - 1e-9); i * step <= most + step * 1e-6; i++) {
		list.push(i * step);
	}
	return list;
}

// Powers of ten, and where these are few 2 and 5 times them.
function decades(least, most) {
	const of = (factors) => {
		const list = [];
		for (let e = Math.floor(Math.log10(least)); 10 ** e <= most; e++) {
			list.push(...factors.map((f) => f * 10 ** e).filter((v) => v >= least * 0.9999 && v <= most * 1.0001));
		}
		return list;
	};
	const list = of([1]);
	return list.length > 2 ? list : of([1, 2, 5]);
}

function linear(from, to, a, b) {
	return (v) => a + (to > from ? (v - from) / (to - from) : 0) * (b - a);
}

function logarithmic(from, to, a, b) {
	const l = Math.log(from), w = Math.log(to) - l;
	return (v) => a + (w > 0 ? (Math.log(v) - l) / w : 0.5) * (b - a);
}

// Times on one axis have one unit.
function timeTick(most) {
	const [unit, name] = timeUnit(most);
	return (v) => (v === 0 ? '0' : digits(v / unit, 4) + SPACE + name);
}

function axisX(svg, x, y, values, name, format, width) {
	let last = -1e9;
	for (const v of values) {
		const at = x(v), label = format(v), w = label.length * 6.4;
		draw(svg, 'line.axis', { x1: at, x2: at, y1: y, y2: y + 5 });
		const left = Math.min(Math.max(at - w / 2, 0), width - w);
		if (left > last + 6) {
			draw(svg, 'text.soft', { x: left + w / 2, y: y + 18, 'text-anchor': 'middle' }, label);
			last = left + w;
		}
	}
	if (name) {
		draw(svg, 'text.soft', { x: width / 2, y: y + 36, 'text-anchor': 'middle' }, name);
	}
}

function axisY(svg, y, left, right, values, format) {
	for (const v of values) {
		draw(svg, 'line.axis', { x1: left, x2: right, y1: y(v), y2: y(v) });
		draw(svg, 'text.soft', { x: left - 6, y: y(v) + 4, 'text-anchor': 'end' }, format(v));
	}
}

// ---- stacked bars ----

// Segments [color, label, share of all, words]; from x, `width` wide. No label stands where a range [from, to] is drawn.
function stack(svg, x, y, width, height, segments, range) {
	let at = x;
	for (const [color, label, share, words] of segments) {
		const w = width * share;
		if (!(w > 0)) {
			continue;
		}
		hint(draw(svg, 'rect.seg.f-' + color, { x: at, y, width: Math.max(w, 0.5), height }), words || label + ' ' + percent(share));
		const [from, to] = clear(at, at + w, range);
		if (to - from > label.length * 6.6 + 10) {
			draw(svg, 'text.on', { x: from + 6, y: y + height / 2 + 4, 'pointer-events': 'none' }, label);
		}
		at += w;
	}
	return at;
}

// The longer part of what `range` leaves of from..to.
function clear(from, to, range) {
	if (!range || range[1] - range[0] <= 1 || range[1] < from || range[0] > to) {
		return [from, to];
	}
	return range[0] - from > to - range[1] ? [from, range[0]] : [range[1], to];
}

// What may be more or less: hatched between both ends, which have posts.
function hatched(svg, x1, x2, y, height) {
	if (!(x2 - x1 > 1)) {
		return;
	}
	draw(svg, 'rect.f-own', { x: x1, y, width: x2 - x1, height, 'pointer-events': 'none', opacity: 0.2 });
	draw(svg, 'rect', { x: x1, y, width: x2 - x1, height, fill: 'url(#hatch)', 'pointer-events': 'none', opacity: 0.55 });
	draw(svg, 'path.range', { d: `M${x1} ${y - 3}v${height + 6}M${x2} ${y - 3}v${height + 6}`, 'pointer-events': 'none' });
}
