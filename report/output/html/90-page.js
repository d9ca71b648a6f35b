// SPDX-License-Identifier: Apache-2.0
// Puts the page together.

function buildReport(root, main) {
	header(root);
	root.append(main);
	alerts(main);
	verdict(main);
	const first = put(main, 'section.card', { 'aria-label': 'The run, and what host and GPU do in it' });
	strip(first);
	bars(first);
	top3(main);
	const below = put(main, 'div', {});
	whatIfs(below);
	// Marks above open what stands below.
	let openTimeline = () => {};
	stepsOverTime(below, (t) => openTimeline(t));
	openTimeline = timelines(below);
	stepColumns(below, openTimeline);
	let kernels = null;
	const pair = put(below, 'div.pair', {});
	launchChart(pair, (name) => kernels.find(name));
	copyChart(pair);
	idleChart(below);
	ranks(below);
	findings(below);
	sites(below);
	kernels = kernelTable(below);
	otherTables(below);
	about(below);
	below.before(navigation());
	return 'cudaspy: ' + report.verdict.class + ', ' + (report.processes[0] ? text(report.processes[0].command) : 'no process');
}

function build() {
	const root = document.getElementById('page');
	patterns(root);
	put(root, 'a.skip', { href: '#main' }, 'Skip to the report');
	const main = put(null, 'main', { id: 'main' });
	if (page.report) {
		useRun(page);
	}
	document.title = page.diff ? buildDiff(root, main) : buildReport(root, main);
	document.body.append(tip);
	hintsOn(document.body);
	let width = innerWidth;
	addEventListener('resize', () => {
		if (innerWidth !== width) {
			width = innerWidth;
			paintAll();
		}
	});
	addEventListener('beforeprint', paintAll);
	addEventListener('afterprint', paintAll);
	paintInTurn(0, () => document.documentElement.setAttribute('data-ready', ''));
}

build();
