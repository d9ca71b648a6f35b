// SPDX-License-Identifier: Apache-2.0
// Processes side by side, all findings, and what this recording is and is not.

// An estimate as its range alone: there is little room.
function rankBusy(p) {
	return known(p.busy_low) && p.busy_high > p.busy_low ? percentRange(p.busy_low, p.busy_high) : percent(p.busy_share);
}

function ranks(root) {
	if (extra.processes.length < 2) {
		return;
	}
	const list = extra.processes, slowest = Math.max(...list.map((p) => p.step_p50_ns || 0));
	const box = section(root, 'Processes side by side', 'GPU busy above, the host below: shares of all of the time from the process\' first CUDA call to its last, not of the loop alone. ' +
		(report.gpu.estimated ? 'Hatched: the 95\u00a0% interval of GPU busy, in proportion to that of the run. ' : '') +
		(report.processes.length > list.length ? 'The first ' + count(list.length) + ' of ' + count(report.processes.length) + '.' : ''), true);
	const name = (p) => (p.rank === null ? 'process ' + p.pid : 'rank ' + p.rank + ' (' + p.pid + ')');
	chart(box, () => list.map((p) => name(p) + ': GPU busy ' + rankBusy(p) + ', step ' + time(p.step_p50_ns)).join('; '), () => list.length * 62, (svg, width) => {
		const left = width < 620 ? 0 : 250;
		list.forEach((p, i) => {
			const y = i * 62, top = left ? y : y + 18, h = left ? 20 : 15;
			draw(svg, 'text', { x: 0, y: y + 13 }, name(p) + (left ? '' : ', step ' + time(p.step_p50_ns) + ', busy ' + rankBusy(p)));
			if (left) {
				draw(svg, 'text.soft', { x: 0, y: y + 30 }, 'step ' + time(p.step_p50_ns) + (p.steps ? ' (median of ' + count(p.steps) + ')' : '') + (slowest > 0 && p.step_p50_ns === slowest ? ', slowest' : ''));
				draw(svg, 'text.soft', { x: 0, y: y + 46 }, 'GPU busy ' + rankBusy(p));
			}
			const w = width - left - 2;
			if (known(p.busy_share)) {
				const range = known(p.busy_low) ? [left + w * p.busy_low, left + w * p.busy_high] : null;
				stack(svg, left, top, w, h, [['gpu', 'GPU busy', p.busy_share], ['idle', 'GPU idle', 1 - p.busy_share]], range);
				if (range) {
					hatched(svg, ...range, top, h);
				}
			} else {
				draw(svg, 'rect.band', { x: left, y: top, width: w, height: h });
			}
			const host = hostShares(p.host);
			if (host) {
				stack(svg, left, top + h + 3, w, h, host.map(([c, l, s]) => [c, l, s]));
			}
		});
	});
	const all = new Map();
	for (const p of list) {
		(hostShares(p.host) || []).forEach(([c, l, s]) => s > 0.005 && all.set(c, l));
	}
	legend(box, [['gpu', 'GPU busy'], ...[...all].map(([c, l]) => [c, l])]);
}

function findings(root) {
	const rest = changes().slice(3);
	if (!rest.length) {
		return;
	}
	const box = section(root, 'Also seen', null, true);
	for (const c of rest) {
		const d = put(box, 'details', {}, put(null, 'summary', {}, c.title + ': ' + gainText(c)));
		if (c.site) {
			put(d, 'p.place.mono.wrap', {}, place(c.site));
		}
		put(d, 'p.small', {}, ...words(c.evidence || NA));
		put(d, 'p.small', {}, ...words(c.fix || ''));
	}
}

// Those of a process; null where there is none.
function runtimes(versions) {
	const told = [...new Set(versions.filter(Boolean))], rest = versions.filter((v) => !v).length;
	const unknown = rest ? many(rest, 'runtime') + ' of unknown version' : '';
	return told.length ? 'runtime ' + told.join(', ') + (rest ? ' and ' + unknown : '') : unknown || null;
}

function about(root) {
	const o = report.overhead, l = report.lost;
	const box = section(root, 'About this recording', null, true);
	box.id = 'about';
	parts[parts.length - 1][0] = 'about';
	if (report.warnings.length) {
		const list = put(box, 'ul.alert.small', { 'aria-label': 'Warnings' });
		report.warnings.forEach((t) => put(list, 'li', {}, ...words(t)));
	}
	const facts = put(box, 'dl.facts', {});
	const fact = (name, value) => fill(facts, {}, [put(null, 'dt', {}, name), put(null, 'dd', {}, ...words(value))]);
	for (const p of report.processes.slice(0, 16)) {
		fact('process ' + p.pid, [text(p.command), p.state, 'CUDA driver ' + text(p.driver_version), runtimes(p.runtime_versions),
			'file ' + p.file, p.damaged ? 'damaged: ' + p.damaged : null].filter(Boolean).join('; '));
	}
	fact('GPU times', { sample: 'estimated from ' + count(report.gpu.work.all.samples) + ' timed pieces of work', cupti: 'exact, by CUPTI' + (report.gpu.partial ? ', of a part of the run' : ''), off: 'not taken (CUDASPY_GPU=off)' }[report.gpu.mode] || 'not known');
	fact('without a known time', percent(report.gpu.unknown_work_share) + ' of the pieces of GPU work');
	fact('records lost', count(l.records) + ' of ' + count(known(l.records) ? l.written + l.records : null) + (l.calls ? ', and ' + count(l.calls) + ' calls' : ''));
	fact('cost of recording', 'at most ' + percent(o.own_share) + ' of a thread\'s time over the whole run; ' + time(o.per_call_ns) + ' a call, ' + time(o.samples_ns) + ' for timing GPU work, ' + time(o.collector_ns) + ' of a helper thread');
	fact('not intercepted', report.gaps.length ? report.gaps.slice(0, 20).map((g) => g.name).join(', ') : 'nothing that was seen');
	fact('machine', report.environment.known ? (report.environment.troubles.join('; ') || 'nothing unusual') : 'not asked: ' + text(report.environment.reason));
	fact('written by', report.generated_by);
	if (page.cut) {
		fact('cut', 'lists to ' + count(page.cut.rows) + ' rows, texts to ' + count(page.cut.characters) + ' characters, so that the page stays small; cudaspy report --format json has all of it');
	}
}

function navigation() {
	const nav = put(null, 'nav', { 'aria-label': 'Parts of the report' }), list = put(nav, 'ul', {});
	for (const [id, title] of parts) {
		put(put(list, 'li', {}), 'a', { href: '#' + id }, title);
	}
	return nav;
}
