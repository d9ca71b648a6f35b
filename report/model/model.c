/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/model/model_internal.h"

void model_add(struct model *m, const struct recording *r)
{
	if (!m->scratch)
		m->scratch = alloc_zeroed(1, sizeof(*m->scratch));
	ALLOC_ROOM(m->processes, m->process_count);
	struct model_part p = {
	        .model = m,
	        .recording = r,
	        .header = tf_header(&r->map),
	        .process = &m->processes[m->process_count],
	        .process_index = (uint32_t)m->process_count,
	};
	memset(p.process, 0, sizeof(*p.process));
	m->process_count++;
	clock_init(&p.clock, r);
	p.api_of = alloc_zeroed(r->calls, sizeof(*p.api_of));
	p.kernel_row = alloc_zeroed(TF_KERNELS_MAX, sizeof(*p.kernel_row));
	p.kernel_launches = alloc_zeroed(TF_KERNELS_MAX, sizeof(*p.kernel_launches));
	p.graph_row = alloc_zeroed(r->graphs, sizeof(*p.graph_row));
	model_add_process(&p);
	model_add_apis(&p);
	model_add_threads(&p);
	model_add_kernels(&p);
	model_add_graphs(&p);
	model_add_graph_nodes(&p);
	model_add_gaps(&p);
	model_add_host(&p);
	model_add_works(&p);
	model_add_busy(&p);
	model_add_sites(&p);
	model_add_overview(&p);
	model_add_environment(&p);
	model_add_call_log(&p);
	model_add_ranges(&p);
	free(p.api_of);
	free(p.kernel_row);
	free(p.kernel_launches);
	free(p.graph_row);
	free(p.works);
	clock_free(&p.clock);
}

/* From the earliest start to the latest end; one process' own figure is more exact than the wall
 * clock's. */
static void merge_times(struct model *m)
{
	double start = INFINITY, end = -INFINITY, window_start = INFINITY, window_end = -INFINITY;

	for (size_t i = 0; i < m->process_count; i++) {
		const struct model_process *p = &m->processes[i];
		start = fmin(start, p->start_realtime);
		end = fmax(end, p->end_realtime);
		window_start = fmin(window_start, p->window_start_realtime);
		window_end = fmax(window_end, p->window_end_realtime);
	}
	m->start_realtime = isfinite(start) ? start : NAN;
	m->wall = isfinite(end - start) ? end - start : NAN;
	m->window = isfinite(window_end - window_start) ? window_end - window_start : NAN;
	m->startup = isfinite(window_start - start) ? window_start - start : NAN;
	if (m->process_count == 1) {
		m->wall = m->processes[0].wall;
		m->window = m->processes[0].window;
		m->startup = m->processes[0].startup;
	}
}

/* The wall time of all threads that made calls; of a process in which none did, once. ns */
static double time_of_threads(const struct model *m)
{
	double all = 0;

	for (size_t i = 0; i < m->process_count; i++) {
		size_t threads = 0;
		for (size_t k = 0; k < m->thread_count; k++)
			threads += m->threads[k].process == i;
		all += m->processes[i].wall * (double)(threads ? threads : 1);
	}
	return all;
}

static void merge_costs(struct model *m)
{
	double calls_cost = 0, samples_cost = 0, graphs_cost = 0, sites_cost = 0, collector = 0;
	bool timed = false;

	for (size_t i = 0; i < m->process_count; i++) {
		const struct model_process *p = &m->processes[i];
		calls_cost += p->per_call * (double)p->calls;
		samples_cost += p->samples_cost;
		graphs_cost += p->graphs_cost;
		sites_cost += p->sites_cost;
		timed |= p->samples || p->samples_cost > 0;
		collector += p->collector;
		m->lost += p->lost;
		m->written += p->written;
		m->lost_calls += p->lost_calls;
	}
	m->calls_cost = calls_cost;
	m->samples_cost = timed ? samples_cost : NAN;
	m->graphs_cost = graphs_cost;
	m->sites_cost = sites_cost;
	m->collector = collector;
	m->per_call = m->totals.calls    ? calls_cost / (double)m->totals.calls
	              : m->process_count ? m->processes[0].per_call
	                                 : NAN;
	/* The collector works beside the threads, and what a call costs is measured once: the sum
	 * can be more than the threads had. */
	double own = calls_cost + samples_cost + graphs_cost + sites_cost + collector;
	double all = time_of_threads(m);
	m->overhead_share = all > 0 ? fmin(own / all, 1) : NAN;
	m->lost_share = m->written ? (double)m->lost / (double)m->written : 0;
}

void model_finish(struct model *m)
{
	model_finish_works(m);
	model_finish_busy(m);
	model_finish_apis(m);
	model_finish_environment(m);
	model_finish_kernels(m);
	model_finish_threads(m);
	model_finish_ranges(m);
	model_finish_phases(m);
	model_finish_steps(m);
	model_finish_sites(m);
	merge_times(m);
	model_finish_overheads(m);
	merge_costs(m);
	model_finish_own(m);
	for (size_t i = 0; i < m->process_count; i++)
		for (size_t k = 0; k < m->processes[i].device_count; k++)
			m->simulated |= m->processes[i].devices[k].simulated;
	model_sort(m, SORT_TOTAL);
}

static void process_free(struct model_process *p)
{
	char *texts[] = {p->path,    p->run_id,          p->host,           p->boot_id,   p->rank,
	                 p->command, p->cudaspy_version, p->working_folder, p->first_call};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		free(texts[i]);
	for (size_t i = 0; i < p->device_count; i++)
		free(p->devices[i].name);
	for (size_t i = 0; i < p->library_count; i++)
		free(p->libraries[i].path);
	for (size_t i = 0; i < p->flight_count; i++) {
		free(p->flights[i].api);
		free(p->flights[i].thread);
	}
	free(p->devices);
	free(p->libraries);
	free(p->flights);
	free(p->site_heads);
	free(p->site_of);
	free(p->kernel_driver);
	free(p->damage);
	overview_free(&p->overview);
	call_log_free(&p->call_log);
}

static void kernel_free(struct model_kernel *k)
{
	free(k->name);
	free(k->brief);
	free(k->mangled);
}

void model_free(struct model *m)
{
	for (size_t i = 0; i < m->process_count; i++)
		process_free(&m->processes[i]);
	for (size_t i = 0; i < m->thread_count; i++)
		free(m->threads[i].name);
	for (size_t i = 0; i < m->api_count; i++)
		free(m->apis[i].name);
	for (size_t i = 0; i < m->kernel_count; i++)
		kernel_free(&m->kernels[i]);
	for (size_t i = 0; i < m->gap_count; i++)
		free(m->gaps[i].name);
	for (size_t i = 0; i < m->gpu.device_count; i++) {
		free(m->gpu.devices[i].host);
		free(m->gpu.devices[i].name);
	}
	free(m->gpu.devices);
	free(m->gpu.streams);
	free(m->gpu.untimed);
	free(m->gpu.classes);
	free(m->processes);
	free(m->threads);
	free(m->apis);
	free(m->failures);
	free(m->kernels);
	free(m->copies);
	free(m->graphs);
	free(m->graph_parts);
	free(m->gaps);
	model_free_steps(m);
	model_free_phases(m);
	model_free_sites(m);
	model_free_environment(m);
	warnings_free(&m->warnings);
	free(m->own_warning);
	free(m->scratch);
	*m = (struct model){0};
}
