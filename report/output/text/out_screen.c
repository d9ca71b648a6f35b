/* SPDX-License-Identifier: Apache-2.0 */
/* The report on one screen: what matters most, in 24 lines of what the terminal is wide. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/base/text.h"
#include "report/base/units.h"
#include "report/output/text/out_screen.h"

#define LINES_MOST   24
#define KERNELS      5
#define KERNELS_LESS 2 /* where there is no room for more */
#define GAP_LINES    2 /* for what is not known */

/* From top to bottom. */
enum group {
	GROUP_RUN,
	GROUP_VERDICT,
	GROUP_LOOP,
	GROUP_ALARMS,
	GROUP_BARS,
	GROUP_CHANGES,
	GROUP_KERNELS,
	GROUP_UNKNOWN,
	GROUP_RECORDING,
	GROUP_MORE,
	GROUPS
};

struct screen {
	struct text_layout page;
	struct {
		char *text;
		size_t bytes, lines;
	} groups[GROUPS];
};

static struct text_layout *begin(struct screen *s, enum group g)
{
	free(s->groups[g].text);
	s->groups[g].text = NULL;
	s->page.to = open_memstream(&s->groups[g].text, &s->groups[g].bytes);
	if (!s->page.to)
		alloc_failed();
	return &s->page;
}

static void end(struct screen *s, enum group g)
{
	if (fclose(s->page.to))
		alloc_failed();
	s->groups[g].lines = 0;
	for (const char *c = s->groups[g].text; *c; c++)
		s->groups[g].lines += *c == '\n';
}

static size_t lines_of(const struct screen *s)
{
	size_t sum = 0;

	for (int g = 0; g < GROUPS; g++)
		sum += s->groups[g].lines;
	return sum;
}

/* Its first lines alone. */
static void cut(struct screen *s, enum group g, size_t lines)
{
	char *c = s->groups[g].text;

	if (s->groups[g].lines <= lines)
		return;
	s->groups[g].lines = lines;
	while (lines--)
		c = strchr(c, '\n') + 1;
	*c = 0;
}

/* ---- the groups ---- */

/* "8 x NVIDIA H100 80GB HBM3" of the first process' devices (free it). */
static char *devices(const struct model *m)
{
	const struct model_process *p = &m->processes[0];
	size_t alike = 0;

	if (!p->device_count)
		return alloc_string("an unknown GPU");
	const char *name = p->devices[0].name;
	for (size_t i = 0; name && i < p->device_count; i++)
		alike += p->devices[i].name && !strcmp(p->devices[i].name, name);
	name = name ? name : "unknown GPU";
	if (p->device_count == 1)
		return alloc_string(name);
	return alike == p->device_count
	               ? alloc_format("%zu x %s", alike, name)
	               : alloc_format("%s and %zu other devices", name, p->device_count - 1);
}

/* A command line without the folders of its program; whole where that is in quotes. */
static const char *program_of(const char *command)
{
	size_t n = *command == '\'' ? 0 : strcspn(command, " ");

	while (n && command[n - 1] != '/')
		n--;
	return command + n;
}

/* The same in so many columns: first without the folders of its files (free it). */
static char *command_in(const char *command, size_t columns)
{
	char *text = NULL;

	if (text_width(command) <= columns)
		return alloc_string(command);
	while (*command) {
		size_t word = strcspn(command, " "), from = 0;
		for (size_t i = 0; *command == '/' && i + 1 < word; i++)
			from = command[i] == '/' ? i + 1 : from;
		word += strspn(command + word, " ");
		alloc_append(&text, "%.*s", (int)(word - from), command + from);
		command += word;
	}
	char *fit = text_fit(text, columns);
	free(text);
	return fit;
}

static void run(const struct screen_report *r, struct text_layout *page)
{
	const struct model *m = r->m;
	const struct model_process *p = &m->processes[0];
	size_t room = page->width - TEXT_LAYOUT_LABEL, taken = 0;
	char *on = m->simulated ? NULL : devices(m), *command;

	if (m->simulated)
		text_layout_alarm(page, "simulated",
		                  "simulated GPU: no kernel ran, GPU times made up");
	if (on)
		taken = text_width(on) + 4;
	char *processes = m->process_count > 1 ? alloc_format("%zu processes: ", m->process_count)
	                  : p->rank            ? alloc_format("rank %s: ", p->rank)
	                                       : alloc_string("");
	taken += text_width(processes);
	command = command_in(p->command ? program_of(p->command) : "unknown command",
	                     room > taken + 20 ? room - taken : 20);
	text_layout_fact(page, "run", "%s%s%s%s", processes, command, on ? " on " : "",
	                 on ? on : "");
	free(processes);
	free(command);
	free(on);
}

static void verdict(const struct screen_report *r, struct text_layout *page)
{
	enum verdict_class cls = r->a->verdict.cls;

	text_layout_fact_in(page,
	                    cls == VERDICT_GPU    ? TEXT_GREEN
	                    : cls == VERDICT_NONE ? TEXT_YELLOW
	                                          : TEXT_RED,
	                    "verdict", "%s", r->s->sentence);
}

/* Start-up, where that is judged: there are no steps in it. */
static void startup(const struct screen_report *r, struct text_layout *page)
{
	char time[UNIT_BYTES], wall[UNIT_BYTES], judged[UNIT_BYTES];

	text_layout_fact(page, "phase",
	                 "start-up, %s of the run's %s; judged is what follows the first CUDA "
	                 "call, %s",
	                 unit_time_apart(time, r->s->startup), unit_time_apart(wall, r->m->wall),
	                 unit_time_apart(judged, r->s->judged_ns));
}

static void loop(const struct screen_report *r, struct text_layout *page)
{
	const struct model *m = r->m;
	const struct model_phase *p = r->s->loop;
	char step[UNIT_BYTES], share[UNIT_BYTES], wall[UNIT_BYTES], until[UNIT_BYTES],
	        window[UNIT_BYTES], judged[UNIT_BYTES];

	unit_time_apart(wall, m->wall);
	if (!p && isnan(m->window))
		return;
	if (!p && r->a->phase < m->phases.count) {
		startup(r, page);
		return;
	}
	if (!p) {
		/* What the verdict leaves out is start-up here, whatever the phases are. */
		double before = fmax(0, m->startup) + fmax(0, r->a->verdict.startup);
		char *steps = m->steps.source == STEPS_NONE || !m->steps.judged
		                      ? alloc_string("no steps found")
		                      : alloc_format("in it %llu steps of %s",
		                                     (unsigned long long)m->steps.count,
		                                     unit_time_apart(step, m->steps.duration.mean));
		text_layout_fact(page, "time",
		                 "%s in all: start-up %s, %s judged, %s; %s from the first CUDA "
		                 "call to the last",
		                 wall, unit_time_apart(until, before),
		                 isfinite(r->s->judged_ns)
		                         ? unit_time_apart(judged, r->s->judged_ns)
		                         : "nothing",
		                 steps, unit_time_apart(window, m->window));
		free(steps);
		return;
	}
	double time = p->time / (double)p->part_count;
	char *which = m->phases.loops > 1 ? alloc_format("%u of %zu: ", p->number, m->phases.loops)
	                                  : alloc_string("");
	char *beside = p->threads > 1 ? alloc_format(" in %zu threads side by side", p->threads)
	                              : alloc_string("");
	double each = summary_step_judged(r->a, p);
	char *warm = summary_warm(r->a, p), *parts = summary_parts(m, p, each);
	text_layout_fact(page, "loop",
	                 "%s%llu steps of %s%s%s%s, %s %% of the run's %s; start-up %s%s%s", which,
	                 (unsigned long long)p->steps, unit_time_apart(step, each), beside, warm,
	                 parts, unit_percent(share, time, m->wall), wall,
	                 unit_time_apart(until, r->s->startup), r->s->before,
	                 r->a->phase < m->phases.count ? "" : "; judged is the whole run");
	free(warm);
	free(parts);
	free(beside);
	free(which);
}

static void unknown(const struct screen_report *r, struct text_layout *page)
{
	size_t room = GAP_LINES * (page->width - TEXT_LAYOUT_LABEL) - 16, shown = 0;
	char *line = alloc_string("");

	for (size_t i = 0; i < r->s->gap_count; i++) {
		const struct summary_gap *g = &r->s->gaps[i];
		if (i && strlen(line) + strlen(g->what) + strlen(g->how) + 10 > room)
			break;
		alloc_append(&line, "%s%s (try: %s)", i ? "; " : "", g->what, g->how);
		shown++;
	}
	if (!shown)
		text_layout_fact(page, "not known", "nothing that matters");
	else if (shown < r->s->gap_count)
		text_layout_fact(page, "not known", "%s; and %zu more", line,
		                 r->s->gap_count - shown);
	else
		text_layout_fact(page, "not known", "%s", line);
	free(line);
}

/* Always there: what the figures can be trusted for. */
static void recording(const struct screen_report *r, struct text_layout *page)
{
	const struct model *m = r->m;

	for (size_t i = 0; i < m->process_count; i++)
		if (m->processes[i].never_opened)
			return;
	char share[UNIT_BYTES], collector[UNIT_BYTES];
	char *own = out_page_own_share(m, r->a);
	char *lost =
	        !model_is_known(m) ? alloc_string("not known")
	        : m->lost_calls    ? alloc_format("%llu calls", (unsigned long long)m->lost_calls)
	        : m->lost          ? alloc_format("%s %% of the records",
	                                          unit_percent(share, (double)m->lost, (double)m->written))
	                           : alloc_string("none");
	bool much = m->own_warning || model_own_judged(m, r->a->of) > OWN_SHARE_BUDGET;
	text_layout_fact(page, "own cost", "%s, a helper %s on another core; lost: %s%s%s", own,
	                 unit_time_apart(collector, m->collector), lost,
	                 much ? "; the cost is too high: " : "", much ? model_own_less(m) : "");
	free(lost);
	free(own);
}

/* A shell takes the name as it stands. */
static bool is_plain(const char *name)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	                            "_./+,:=@%-";

	return *name != '-' && name[strspn(name, plain)] == 0;
}

static void more(const struct screen_report *r, struct text_layout *page)
{
	static const char all[] = "cudaspy report --all";
	const char *path = r->m->process_count == 1 ? r->m->processes[0].path : NULL;

	if (path && sizeof(all) + text_width(path) + TEXT_LAYOUT_LABEL <= page->width &&
	    is_plain(path))
		text_layout_fact(page, "more:", "%s %s", all, path);
	else /* without a name it would be the newest recording of the folder */
		text_layout_fact(page, "more:", "%s FILE (FILE: this recording)", all);
}

/* ---- together ---- */

/* Changes and kernels, as many as there is room for. */
static void fill(struct screen *s, const struct screen_report *r)
{
	size_t changes = SUMMARY_CHANGES, kernels;

	for (;; changes--) {
		out_screen_changes(r, changes, begin(s, GROUP_CHANGES));
		end(s, GROUP_CHANGES);
		size_t taken = lines_of(s);
		kernels = taken + 1 < LINES_MOST ? LINES_MOST - taken - 1 : 0;
		if (kernels >= KERNELS_LESS || changes == 1)
			break;
	}
	if (!kernels) {
		cut(s, GROUP_UNKNOWN, 1);
		cut(s, GROUP_ALARMS, OUT_SCREEN_ALARMS);
	}
	kernels = r->o->limit_given ? r->o->limit : kernels > KERNELS ? KERNELS : kernels;
	if (kernels)
		out_screen_kernels(r, kernels, begin(s, GROUP_KERNELS));
	else
		begin(s, GROUP_KERNELS);
	end(s, GROUP_KERNELS);
}

/* Blank lines where they help most, as far as there is room. */
static void put(const struct screen *s, FILE *to)
{
	static const enum group parted[] = {GROUP_CHANGES, GROUP_KERNELS, GROUP_UNKNOWN,
	                                    GROUP_BARS};
	bool blank[GROUPS] = {false};
	size_t lines = lines_of(s);

	for (size_t i = 0; i < sizeof(parted) / sizeof(parted[0]) && lines < LINES_MOST; i++) {
		if (!s->groups[parted[i]].lines)
			continue;
		blank[parted[i]] = true;
		lines++;
	}
	for (int g = 0; g < GROUPS; g++)
		if (s->groups[g].text)
			fprintf(to, "%s%s", blank[g] ? "\n" : "", s->groups[g].text);
}

void out_screen(const struct model *m, const struct analysis *a, const struct out_options *o)
{
	struct screen s = {
	        .page = {.colour = o->colour,
	                 .whole_names = o->names == NAMES_FULL || o->names == NAMES_MANGLED,
	                 .width = o->width}};
	struct summary summary;
	struct screen_report r = {.m = m, .a = a, .o = o, .s = &summary};
	static void (*const groups[GROUPS])(const struct screen_report *, struct text_layout *) = {
	        [GROUP_RUN] = run,
	        [GROUP_VERDICT] = verdict,
	        [GROUP_LOOP] = loop,
	        [GROUP_ALARMS] = out_screen_alarms,
	        [GROUP_BARS] = out_screen_bars,
	        [GROUP_UNKNOWN] = unknown,
	        [GROUP_RECORDING] = recording,
	        [GROUP_MORE] = more,
	};

	if (!m->process_count)
		return;
	summary_make(&summary, m, a);
	for (int g = 0; g < GROUPS; g++) {
		if (!groups[g])
			continue;
		groups[g](&r, begin(&s, (enum group)g));
		end(&s, (enum group)g);
	}
	fill(&s, &r);
	put(&s, o->to);
	s.page.to = o->to;
	out_page_asked(m, a, o, &s.page);
	for (int g = 0; g < GROUPS; g++)
		free(s.groups[g].text);
	summary_free(&summary);
}
