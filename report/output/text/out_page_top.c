/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/base/names.h"
#include "report/output/text/out_page.h"
#include "report/base/units.h"

static const char *or_unknown(const char *text)
{
	return text ? text : "unknown";
}

static void what_ran(const struct model_process *p, struct text_layout *page)
{
	char *rank = p->rank ? alloc_format(", rank %s", p->rank) : alloc_string("");
	char *fork = p->forked_from ? alloc_format(", forked from %llu",
	                                           (unsigned long long)p->forked_from)
	                            : alloc_string("");

	text_layout_fact(page, "command", "%s", or_unknown(p->command));
	char *threads = model_process_is_known(p) ? alloc_format(", %llu thread%s using CUDA",
	                                                         (unsigned long long)p->threads,
	                                                         p->threads == 1 ? "" : "s")
	                                          : alloc_string("");
	text_layout_fact(page, "process", "%llu on %s%s%s%s", (unsigned long long)p->pid,
	                 or_unknown(p->host), rank, fork, threads);
	free(threads);
	free(rank);
	free(fork);
}

static void times(const struct model *m, struct text_layout *page)
{
	char date[UNIT_BYTES], wall[UNIT_BYTES], window[UNIT_BYTES], startup[UNIT_BYTES],
	        first[UNIT_BYTES];
	const struct model_process *p = &m->processes[0];

	text_layout_fact(page, "time",
	                 "%s wall, %s window (first CUDA call to the last), started %s",
	                 unit_time(wall, m->wall), unit_time(window, m->window),
	                 unit_date(date, m->start_realtime));
	if (m->process_count == 1 && p->first_call)
		text_layout_fact(page, "start-up", "%s before the window, %s of it in %s",
		                 unit_time(startup, m->startup), unit_time(first, p->first_call_ns),
		                 p->first_call);
	else
		text_layout_fact(page, "start-up", "%s before the window",
		                 unit_time(startup, m->startup));
}

/* What the first process found; ranks of one run use the same software and their own devices. */
static void machine(const struct model *m, struct text_layout *page)
{
	const struct model_process *p = &m->processes[0];
	char memory[UNIT_BYTES], version[MODEL_VERSION_BYTES];
	char *list = alloc_string("");

	for (size_t i = 0; i < p->device_count; i++) {
		const struct model_device *d = &p->devices[i];
		alloc_append(&list, "%s%u: %s, %s%s", i ? "; " : "", d->index, or_unknown(d->name),
		             unit_bytes(memory, (double)d->memory_bytes),
		             d->simulated ? " (simulated GPU)" : "");
	}
	text_layout_fact(page, "devices", "%s", *list ? list : "unknown");
	free(list);
	list = alloc_format("driver %s", model_version(version, p->driver_version));
	for (size_t i = 0; i < p->library_count; i++) {
		const struct model_library *l = &p->libraries[i];
		const char *kinds[] = {[TF_LIBRARY_RUNTIME] = "runtime",
		                       [TF_LIBRARY_TOOL] = "tool",
		                       [TF_LIBRARY_STATIC_RUNTIME] = "static runtime in"};
		if (l->kind == TF_LIBRARY_DRIVER || l->kind > TF_LIBRARY_STATIC_RUNTIME ||
		    !kinds[l->kind])
			continue;
		const char *base = l->path ? strrchr(l->path, '/') : NULL;
		alloc_append(&list, "; %s %s%s%s%s", kinds[l->kind],
		             base ? base + 1 : or_unknown(l->path), l->version ? " (" : "",
		             l->version ? model_version(version, l->version) : "",
		             l->version ? ")" : "");
	}
	text_layout_fact(page, "CUDA", "%s", list);
	free(list);
}

/* Of damaged recordings no count is known; false = there is none. */
static bool damaged(const struct model *m, struct text_layout *page)
{
	size_t count = 0;

	for (size_t i = 0; i < m->process_count; i++) {
		const struct model_process *p = &m->processes[i];
		if (!p->damage)
			continue;
		if (m->process_count > 1)
			text_layout_alarm(page, "damaged", "process %llu: %s",
			                  (unsigned long long)p->pid, p->damage);
		else
			text_layout_alarm(page, "state", "damaged: %s", p->damage);
		count++;
	}
	return count;
}

/* "12 processes: 10 complete, 2 killed"; of a damaged recording that alone is known. */
static void states(const struct model *m, struct text_layout *page)
{
	size_t counts[PROCESS_STATES + 1] = {0};
	char *line = alloc_format("%zu processes", m->process_count);
	const char *before = ":";

	for (size_t i = 0; i < m->process_count; i++)
		counts[m->processes[i].damage ? PROCESS_STATES : m->processes[i].state]++;
	for (int s = 0; s <= PROCESS_STATES; s++) {
		if (!counts[s])
			continue;
		alloc_append(&line, "%s %zu %s", before, counts[s],
		             s < PROCESS_STATES ? process_state_names[s] : "damaged");
		before = ",";
	}
	text_layout_fact(page, "state", "%s", line);
	free(line);
}

static void state(const struct model *m, struct text_layout *page)
{
	static const char *const left[] = {[TF_LEFT_EXIT] = "by _exit()",
	                                   [TF_LEFT_QUICK_EXIT] = "by quick_exit()",
	                                   [TF_LEFT_EXEC] = "by becoming another program",
	                                   [TF_LEFT_HANDLERS] = "amid its exit handlers"};
	const struct model_process *p = &m->processes[0];
	char age[UNIT_BYTES];

	if (m->process_count > 1)
		states(m, page);
	if (damaged(m, page) || m->process_count > 1)
		; /* said */
	else if (p->state == PROCESS_KILLED)
		text_layout_alarm(
		        page, "state",
		        "killed: the process ended without saying so; counts are exact up to then");
	else if (p->state == PROCESS_ENDED)
		text_layout_fact(page, "state", "ended %s: counts are exact up to then",
		                 p->left_by <= TF_LEFT_HANDLERS && left[p->left_by]
		                         ? left[p->left_by]
		                         : "without its exit handlers");
	else
		text_layout_fact(page, "state", "%s",
		                 p->state == PROCESS_RUNNING ? "running: figures up to now"
		                                             : "complete");
	for (size_t i = 0; i < m->process_count; i++)
		for (size_t k = 0; k < m->processes[i].flight_count; k++) {
			const struct model_flight *f = &m->processes[i].flights[k];
			text_layout_alarm(page, "calls", "in flight: %s, %s (thread %llu %s)",
			                  or_unknown(f->api ? name_call(f->api) : NULL),
			                  unit_time_apart(age, f->age), (unsigned long long)f->tid,
			                  or_unknown(f->thread));
		}
}

char *out_page_own_share(const struct model *m, const struct analysis *a)
{
	char share[UNIT_BYTES];
	double own = model_own_judged(m, a->of);
	const char *of = a->of->phase ? out_page_judged(a->of->phase) : "the window";

	if (isnan(own)) { /* nothing says what of it fell where */
		own = m->own_share;
		of = "the run";
	}
	if (isnan(own))
		return alloc_string("not known");
	return alloc_format("%s %% of %s", unit_percent(share, own, 1), of);
}

static void loss_and_cost(const struct model *m, const struct analysis *a, struct text_layout *page)
{
	char share[UNIT_BYTES], each[UNIT_BYTES], samples[UNIT_BYTES], asked[UNIT_BYTES],
	        stacks[UNIT_BYTES], collector[UNIT_BYTES];
	uint64_t timed = 0;
	bool known = model_is_known(m);

	for (size_t i = 0; i < m->process_count; i++)
		timed += m->processes[i].samples;
	if (!known)
		text_layout_alarm(page, "lost", "not known; nor is any count");
	else if (m->lost_calls)
		text_layout_alarm(page, "lost", "%llu calls, which are in no figure",
		                  (unsigned long long)m->lost_calls);
	if (known && m->lost)
		text_layout_alarm(
		        page, "lost",
		        "%llu records of %llu (%s %%): percentiles and time slices lack them%s",
		        (unsigned long long)m->lost, (unsigned long long)m->written,
		        unit_percent(share, (double)m->lost, (double)m->written),
		        m->lost_calls ? "" : ", counts and sums do not");
	if (known && !m->lost && !m->lost_calls)
		text_layout_fact(page, "lost", "nothing: %llu calls, all counted",
		                 (unsigned long long)m->totals.calls);
	char *sampling = timed ? alloc_format(", %llu samples %s", (unsigned long long)timed,
	                                      unit_time(samples, m->samples_cost))
	                       : alloc_string("");
	char *graphs = m->graphs_cost > 0 ? alloc_format(", comparing graphs %s",
	                                                 unit_time(asked, m->graphs_cost))
	                                  : alloc_string("");
	char *sites = m->sites_cost > 0
	                      ? alloc_format(", call sites %s", unit_time(stacks, m->sites_cost))
	                      : alloc_string("");
	char *calls = known ? alloc_format("%llu", (unsigned long long)m->totals.calls)
	                    : alloc_string("n/a");
	char *own = out_page_own_share(m, a);
	char *run =
	        isfinite(m->own_share) && isfinite(model_own_judged(m, a->of))
	                ? alloc_format(", %s %% of the run", unit_percent(share, m->own_share, 1))
	                : alloc_string("");
	text_layout_fact(page, "own cost",
	                 "in your threads %s%s; a helper %s on another core (%s calls x "
	                 "%s%s%s%s)",
	                 own, run, unit_time_apart(collector, m->collector), calls,
	                 unit_time(each, m->per_call), sampling, graphs, sites);
	free(calls);
	free(run);
	free(own);
	free(sampling);
	free(sites);
	free(graphs);
}

static void verdict(const struct verdict *v, struct text_layout *page)
{
	if (v->cls == VERDICT_NONE)
		text_layout_fact(page, "verdict", "inconclusive: %s", or_unknown(v->reason));
	else
		text_layout_fact(page, "verdict", "%s (%s confidence): %s", verdict_names[v->cls],
		                 verdict_confidences[v->confidence], or_unknown(v->reason));
}

static void range(const struct model *m, struct text_layout *page)
{
	const struct model_process *p = &m->processes[0];
	size_t never = 0;

	for (size_t i = 0; i < m->process_count; i++)
		never += m->processes[i].never_opened;
	if (never == m->process_count) {
		char *why = model_never_opened(p->range_mode);
		text_layout_alarm(page, "range", "%s", why);
		free(why);
	} else if (never) {
		text_layout_alarm(page, "range", "never opened in %zu of %zu processes", never,
		                  m->process_count);
	} else if (p->range_mode == TF_RANGE_PROFILER) {
		text_layout_fact(page, "range", "between cuProfilerStart and cuProfilerStop only");
	} else if (p->range_mode == TF_RANGE_TIME) {
		text_layout_fact(page, "range", "a part of the run only, by time");
	}
}

void out_page_top(const struct model *m, const struct analysis *a, struct text_layout *page)
{
	if (m->simulated)
		text_layout_alarm(page, "simulated",
		                  "simulated GPU: no kernel ran, GPU times made up");
	if (m->own_warning)
		text_layout_alarm(page, "warning", "%s", m->own_warning);
	char *own = model_own_judged_warning(m, a->of);
	if (own)
		text_layout_alarm(page, "warning", "%s", own);
	free(own);
	if (m->process_count == 1)
		what_ran(&m->processes[0], page);
	else if (m->process_count)
		text_layout_fact(page, "run", "%s, %zu processes",
		                 or_unknown(m->processes[0].run_id), m->process_count);
	if (!m->process_count)
		return;
	verdict(&a->verdict, page);
	out_page_loop(m, a, page);
	times(m, page);
	machine(m, page);
	out_page_environment(m, page);
	range(m, page);
	state(m, page);
	loss_and_cost(m, a, page);
	for (size_t i = 0; i < m->warnings.count; i++)
		text_layout_alarm(page, "warning", "%s", m->warnings.text[i]);
	if (m->warnings.left_out)
		text_layout_alarm(page, "warning", "and %zu more", m->warnings.left_out);
}

void out_page_processes(const struct model *m, struct text_layout *page)
{
	static const struct text_layout_column columns[] = {
	        {"pid", false},    {"rank", false},  {"state", true},   {"wall", false},
	        {"window", false}, {"calls", false}, {"failed", false}, {"launches", false},
	        {"lost", false},   {"command", true}};
	struct text_layout_table t;

	if (m->process_count < 2)
		return;
	text_layout_heading(page, "Processes");
	table_start(&t, columns, sizeof(columns) / sizeof(columns[0]));
	for (size_t i = 0; i < m->process_count; i++) {
		const struct model_process *p = &m->processes[i];
		bool known = model_process_is_known(p);
		out_page_count(&t, (double)p->pid);
		table_cell(&t, "%s", p->rank ? p->rank : "-");
		table_cell(&t, "%s", process_state_names[p->state]);
		out_page_time(&t, p->wall);
		out_page_time(&t, p->window);
		out_page_count(&t, known ? (double)p->calls : NAN);
		out_page_count(&t, known ? (double)p->failed : NAN);
		out_page_count(&t, known ? (double)p->launches : NAN);
		out_page_count(&t, known ? (double)p->lost : NAN);
		table_cell(&t, "%s", or_unknown(p->command));
	}
	table_print(&t, page);
}
