// SPDX-License-Identifier: Apache-2.0
// Kernels: what a launch costs against what it runs. Copies: bandwidth against size. Idle time by its causes.

// GPU time of one launch: mean, and its 95 % interval.
function kernelGpu(k) {
	if (!known(k.gpu_mean_ns) || !(k.gpu_mean_ns > 0)) {
		return null;
	}
	const scale = k.gpu_total_ns > 0 ? k.gpu_mean_ns / k.gpu_total_ns : null;
	return { mean: k.gpu_mean_ns, low: known(k.gpu_low_ns) && scale ? Math.max(k.gpu_low_ns * scale, 1) : k.gpu_mean_ns,
		high: known(k.gpu_high_ns) && scale ? k.gpu_high_ns * scale : k.gpu_mean_ns };
}

// What the host spends on one launch, without waiting for the queue where that is known.
function kernelLaunch(k) {
	const n = k.launches - k.first_launches;
	return known(k.launch_ns) && n > 0 && k.launch_ns > 0 ? k.launch_ns / n : known(k.api_p50_ns) && k.api_p50_ns > 0 ? k.api_p50_ns : null;
}

function launchChart(root, find) {
	const all = report.kernels.map((k) => ({ k, gpu: kernelGpu(k), launch: kernelLaunch(k) }));
	const list = all.filter((p) => p.gpu && p.launch && known(p.k.launches)).sort((a, b) => b.k.launches - a.k.launches).slice(0, 300);
	const box = section(root, 'Launch overhead against GPU time', 'A kernel each, by one launch. Above the dashed line a launch costs the host more than the GPU works for it. Size: share of launches; bars: 95\u00a0% intervals.');
	if (!list.length) {
		put(box, 'p', {}, 'n/a: of no kernel are launches and GPU time known.');
		return;
	}
	const gpuLow = Math.min(...list.map((p) => p.gpu.low)), gpuHigh = Math.max(...list.map((p) => p.gpu.high));
	const launchLow = Math.min(...list.map((p) => p.launch)), launchHigh = Math.max(...list.map((p) => p.launch));
	const least = Math.min(gpuLow, launchLow) / 1.6, most = Math.max(gpuHigh, launchHigh) * 1.6;
	const launches = list.reduce((sum, p) => sum + p.k.launches, 0);
	const above = list.filter((p) => p.launch > p.gpu.mean).reduce((sum, p) => sum + p.k.launches, 0);
	chart(box, () => 'Launch overhead against GPU time of ' + list.length + ' kernels; ' + percent(above / launches) + ' of their launches cost more than they run', (width) => Math.min(380, Math.max(280, width * 0.7)), (svg, width, height) => {
		const low = height - 44, x = logarithmic(Math.max(gpuLow / 1.6, least), most, 66, width - 12);
		const from = Math.max(gpuLow / 1.6, least), bottom = Math.max(launchLow / 1.6, least), top = launchHigh * 1.8;
		const y = logarithmic(bottom, top, low, 8);
		axisY(svg, y, 66, width - 12, decades(bottom, top), time);
		axisX(svg, x, low, decades(from, most), 'GPU time of a launch', time, width);
				const a = Math.max(from, bottom), b = Math.min(most, top);
		if (b > a) {
			draw(svg, 'line.even', { x1: x(a), y1: y(a), x2: x(b), y2: y(b) });
		}
		draw(svg, 'text.soft.halo', { x: 70, y: 18 }, 'host time of a launch');
		for (const p of list) {
			draw(svg, 'line.range', { x1: x(Math.max(p.gpu.low, from)), x2: x(p.gpu.high), y1: y(p.launch), y2: y(p.launch), opacity: 0.55 });
		}
		for (const p of list) {
			const mark = draw(svg, 'circle.mark.f-' + (p.launch > p.gpu.mean ? 'launch' : 'gpu'), { cx: x(p.gpu.mean), cy: y(p.launch), r: 4 + 10 * Math.sqrt(p.k.launches / launches), 'fill-opacity': 0.8 });
			hint(mark, shortName(p.k.name) + '\n' + count(p.k.launches) + ' launches, each ' + time(p.launch) + ' on the host\nGPU ' + time(p.gpu.mean) + ' (' + timeRange(p.gpu.low, p.gpu.high) + ')' + '\nClick: its row in the table');
			button(mark, shortName(p.k.name) + ', launch ' + time(p.launch) + ', GPU ' + time(p.gpu.mean) + ': show in the table', () => find(p.k.name));
		}
	}, true);
	legend(box, [['launch', 'costs more than it runs, ' + percent(above / launches) + ' of launches'], ['gpu', 'runs longer than it costs']]).querySelectorAll('.swatch').forEach((e) => e.classList.add('round'));
	if (all.length > list.length) {
		put(box, 'p.soft.small', {}, all.length - list.length === 1 ? '1 kernel is not drawn: its time is not known.' : count(all.length - list.length) + ' kernels are not drawn: their time is not known, or they are too few.');
	}
}

// As the tables of the text report have it, which no other kernel has; of what is no kernel, its two ends.
const briefs = new Map();

function shortName(full) {
	const name = briefs.get(full) || full;
	return name.length > 80 ? name.slice(0, 60) + ' ... ' + name.slice(-16) : name;
}

// ---- copies ----

function copyChart(root) {
	const list = report.works.filter((w) => w.kind === 'copy' && w.mean_ns > 0 && w.bytes > 0 && w.count > 0)
		.map((w) => ({ w, size: w.bytes / w.count, rate: w.bytes / w.count / w.mean_ns,
			low: known(w.high_ns) ? w.bytes / w.count / w.high_ns : null, high: w.low_ns > 0 ? w.bytes / w.count / w.low_ns : null }))
		.slice(0, 400);
	const box = section(root, 'Copies: bandwidth against size', report.totals.copies ? count(report.totals.copies) + ' copies, ' + bytes(report.totals.copy_bytes) +
		'; ' + count(report.totals.pageable_copies) + ' of memory that is not pinned. Bars: 95\u00a0% intervals.' : null);
	if (!list.length) {
		put(box, 'p', {}, report.totals.copies === 0 ? 'No copies were made.' : 'n/a: no copy has a known GPU time.');
		return;
	}
	const least = Math.min(...list.map((p) => p.rate)) / 2, most = Math.max(...list.map((p) => p.rate)) * 2;
	const small = Math.min(...list.map((p) => p.size)) / 2, large = Math.max(...list.map((p) => p.size)) * 2;
	const pinned = (p) => p.w.memory === 'pinned', pageable = (p) => p.w.memory === 'pageable';
	chart(box, () => 'Bandwidth of ' + list.length + ' kinds of copies, ' + rate(least * 2) + ' to ' + rate(most / 2), (width) => Math.min(380, Math.max(280, width * 0.7)), (svg, width, height) => {
		const low = height - 44, x = logarithmic(small, large, 80, width - 12), y = logarithmic(least, most, low, 8);
		axisY(svg, y, 80, width - 12, decades(least, most), rate);
		const sizes = [];
		for (let e = Math.ceil(Math.log2(small) / 5) * 5; 2 ** e <= large; e += 5) {
			sizes.push(2 ** e);
		}
		if (!sizes.length) {
			sizes.push(Math.sqrt(small * large));
		}
		axisX(svg, x, low, sizes, 'bytes of a copy', bytes, width);
		for (const p of list) {
			if (known(p.low) && known(p.high)) {
				draw(svg, 'line.range', { x1: x(p.size), x2: x(p.size), y1: y(Math.max(p.low, least)), y2: y(Math.min(p.high, most)), opacity: 0.55 });
			}
			const words = text(p.w.direction) + ', ' + text(p.w.memory) + ' memory\n' + count(p.w.count) + ' copies of ' + bytes(p.size) + '\n' + rate(p.rate) +
				(known(p.low) && known(p.high) ? ' (' + digits(p.low, 3) + ' to ' + rate(p.high) + ')' : '');
			hint(shape(svg, x(p.size), y(p.rate), 3.5 + 4 * Math.log10(1 + p.w.count) / 3, pinned(p) ? 'useful' : pageable(p) ? 'wasted' : 'other', pageable(p)), words);
		}
	});
	legend(box, [['useful', 'pinned'], ['wasted', 'pageable (squares)'], ['other', 'between devices, or not known']]);
}

function shape(svg, x, y, r, color, square) {
	return square ? draw(svg, 'rect.mark.f-' + color, { x: x - r, y: y - r, width: 2 * r, height: 2 * r, 'fill-opacity': 0.85 })
		: draw(svg, 'circle.mark.f-' + color, { cx: x, cy: y, r, 'fill-opacity': 0.85 });
}

// ---- idle ----

function idleChart(root) {
	const gpu = judged.gpu, box = section(root, 'GPU idle, by cause', 'What the thread was doing meanwhile that gave the work which ended the idle time. Shares are of ' + scope() + (gpu && report.gpu.devices.length > 1 ? ', of all devices' : '') + '.');
	if (!gpu || !known(gpu.idle_ns) || !(gpu.window_ns > 0)) {
		put(box, 'p', {}, 'n/a: how long the GPU was busy is not known.');
		return;
	}
	const list = IDLE.map(([key, name, color]) => [name, color, gpu.idle_by[key]]).filter(([, , ns]) => ns > 0).sort((a, b) => b[2] - a[2]);
	const busy = busyShares(gpu), most = list.length ? list[0][2] / gpu.window_ns : 1;
	put(box, 'p', {}, 'Idle ' + percent(gpu.idle_ns / gpu.window_ns) + (known(busy.low) && busy.high > busy.low ? ' (' + percentRange(1 - busy.high, 1 - busy.low) + ')' : '') +
		(part(1) ? ', ' + time(part(gpu.idle_ns / gpu.window_ns)) + (stepTime() ? ' of each step' : '') : '') + '.' + (report.gpu.estimated ? ' Each cause\'s part is estimated; the interval is of all of it.' : ''));
	chart(box, () => 'Idle by cause: ' + list.map(([name, , ns]) => name + ' ' + percent(ns / gpu.window_ns)).join(', '), () => Math.max(30, list.length * 44), (svg, width) => {
		list.forEach(([name, color, ns], i) => {
			const share = ns / gpu.window_ns, y = i * 44;
			draw(svg, 'text', { x: 0, y: y + 13 }, name);
			draw(svg, 'text.soft', { x: width, y: y + 13, 'text-anchor': 'end' }, percent(share) + (known(part(share)) ? ', ' + time(part(share)) : ''));
			hint(draw(svg, 'rect.seg.f-' + color, { x: 0, y: y + 19, width: Math.max(1, width * share / most), height: 14 }), name + '\n' + percent(share) + ' of ' + scope());
		});
	});
}
