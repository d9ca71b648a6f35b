// SPDX-License-Identifier: Apache-2.0
// Figures as text, and elements. What comes from the recording goes into the page as text alone: textContent, attributes that
// are no addresses. What is not known is null, and reads "n/a".

const NA = 'n/a';
const SPACE = '\u202f'; // narrow, does not break

function known(v) {
	return typeof v === 'number' && isFinite(v);
}

function digits(v, n) {
	if (v === 0) {
		return '0';
	}
	const big = Math.abs(v) >= 10 ** n ? Math.round(v) : Number(v.toPrecision(n));
	return big.toLocaleString('en-US', { maximumSignificantDigits: 15 });
}

function timeUnit(ns) {
	const a = Math.abs(ns);
	return a >= 1e9 ? [1e9, 's'] : a >= 1e6 ? [1e6, 'ms'] : a >= 1e3 ? [1e3, 'us'] : [1, 'ns'];
}

function time(ns) {
	if (!known(ns)) {
		return NA;
	}
	if (ns !== 0 && Math.abs(ns) < 1) { // of a step, what the run has once
		return '<1' + SPACE + 'ns';
	}
	const [unit, name] = timeUnit(ns);
	return digits(ns / unit, 3) + SPACE + name;
}

// "3.1 to 4.2 ms": both in the unit of the larger one.
function timeRange(low, high) {
	if (!known(low) || !known(high)) {
		return NA;
	}
	const [unit, name] = timeUnit(Math.max(Math.abs(low), Math.abs(high)));
	const a = digits(low / unit, 3), b = digits(high / unit, 3);
	return (a === b ? a : a + ' to ' + b) + SPACE + name;
}

function percent(share) {
	if (!known(share)) {
		return NA;
	}
	const p = 100 * share;
	if (p > 0 && p < 0.05) {
		return '<0.1' + SPACE + '%';
	}
	return (p === 0 ? '0' : p.toFixed(1)) + SPACE + '%'; // as the terminal has it
}

function percentRange(low, high) {
	if (!known(low) || !known(high)) {
		return NA;
	}
	const a = percent(low), b = percent(high);
	return a === b ? a : a.replace(SPACE + '%', '') + ' to ' + b;
}

// A call as programs have it: nvcc makes a launch a call of __cudaLaunchKernel.
function callName(name) {
	return name ? name.replace(/^__cuda/, 'cuda') : NA;
}

// Python's qualified name from the innermost function on that it stands in; of C++ without the type it returns and its arguments.
function functionName(name) {
	const inner = name.replace(/^.*\.<locals>\.(?=.)/, '');
	let depth = 0, from = 0;
	for (let i = 0; i < inner.length && !inner.includes('operator'); i++) {
		const c = inner[i];
		if (c === '(' && depth === 0 && i > from && /[\w>]/.test(inner[i - 1])) {
			return inner.slice(from, i);
		}
		depth += c === '<' || c === '(' ? 1 : c === '>' || c === ')' ? -1 : 0;
		if (c === ' ' && depth === 0) {
			from = i + 1;
		}
	}
	return inner;
}

function count(n) {
	return known(n) ? (Number.isInteger(n) ? n.toLocaleString('en-US') : digits(n, 3)) : NA;
}

// "1 outlier", "2 outliers".
function many(n, what) {
	return count(n) + ' ' + what + (n === 1 ? '' : 's');
}

function bytes(n) {
	if (!known(n)) {
		return NA;
	}
	const names = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
	let i = 0;
	while (n >= 1024 && i < 4) {
		n /= 1024;
		i++;
	}
	return digits(n, 3) + SPACE + names[i];
}

function rate(perNs) {
	return known(perNs) ? digits(perNs, 3) + SPACE + 'GB/s' : NA;
}

function ratio(v) {
	return known(v) ? (v > 0 && v < 0.001 ? '<0.001x' : digits(v, 3) + 'x') : NA;
}

// Sentences that were not written here, in parts: no line ends between a figure and its unit.
function words(sentence) {
	return sentence.split(/([<>]?\d[\d.,]* (?:%|[num]?s|[KMGT]?i?B|[KMG]B\/s)(?![\w/]))/).map((part, i) => (i % 2 ? put(null, 'span.keep', {}, part) : part));
}

function text(v) {
	return v === null || v === undefined || v === '' ? NA : String(v);
}

// ---- elements ----

// put(parent or null, 'p.soft', {title: ...}, child or text, ...): a new element; a text child is a text node.
function fill(e, attributes, children) {
	for (const [name, value] of Object.entries(attributes || {})) {
		if (name.startsWith('on')) {
			e.addEventListener(name.slice(2), value);
		} else if (value !== null && value !== undefined && value !== false) {
			e.setAttribute(name, value === true ? '' : value);
		}
	}
	for (const child of children) {
		if (child !== null && child !== undefined) {
			e.append(child);
		}
	}
	return e;
}

function make(create, parent, what, attributes, children) {
	const [tag, ...classes] = what.split('.');
	const e = create(tag);
	if (classes.length) {
		e.setAttribute('class', classes.join(' '));
	}
	fill(e, attributes, children);
	if (parent) {
		parent.append(e);
	}
	return e;
}

function put(parent, what, attributes, ...children) {
	return make((tag) => document.createElement(tag), parent, what, attributes, children);
}

function draw(parent, what, attributes, ...children) {
	return make((tag) => document.createElementNS('http://www.w3.org/2000/svg', tag), parent, what, attributes, children);
}

let lastId = 0;
function newId() {
	return 'e' + ++lastId;
}

// A part of the page with a heading; in the list of parts that the navigation shows.
const parts = [];
function section(parent, title, about, long) {
	const id = newId();
	const e = put(parent, long ? 'section.card.long' : 'section.card', { id, 'aria-labelledby': id + 'h' });
	put(e, 'h2', { id: id + 'h' }, title);
	if (about) {
		put(e, 'p.soft.small', {}, about);
	}
	parts.push([id, title]);
	return e;
}

function legend(parent, items) {
	const list = put(parent, 'ul.legend', {});
	for (const [color, label, value] of items) {
		put(list, 'li', {}, put(null, 'span.swatch.f-' + color, { 'aria-hidden': 'true' }),
			label + (value === undefined ? '' : '  ' + value));
	}
	return list;
}
