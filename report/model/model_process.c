/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/model/model_internal.h"
#include "report/reader/state.h"
#include "report/base/text.h"
#include "shim/core/gpu_time/estimate.h"

/* The last return and the last entry of any thread: ticks. What came when the driver was gone does
 * not count, nor does our own exit handler ahead of it. */
static void last_signs(const struct recording *r, uint64_t *last_return, uint64_t *last_sign)
{
	const struct tf_header *h = tf_header(&r->map);
	uint64_t calls = 0;

	*last_return = *last_sign = 0;
	for (uint32_t i = 0; i < r->threads; i++) {
		const struct tf_thread *t = recording_thread(r, i);
		if (!t)
			continue;
		if (t->last_return > *last_return)
			*last_return = t->last_return;
		if (t->in_call && t->in_start > *last_sign)
			*last_sign = t->in_start;
		for (uint32_t c = 0; c < r->thread_calls; c++)
			calls += t->calls[c].calls;
	}
	if (*last_return > *last_sign)
		*last_sign = *last_return;
	if (h->exit_return && h->exit_return < *last_return &&
	    calls - h->exit_calls <= h->too_late_calls)
		*last_return = h->exit_return;
}

static void find_times(struct model_part *p)
{
	const struct tf_header *h = p->header;
	struct model_process *to = p->process;
	uint64_t last_return, last_sign;

	last_signs(p->recording, &last_return, &last_sign);
	p->end = last_sign > h->last_seen ? last_sign : h->last_seen;
	if (h->closed > p->end)
		p->end = h->closed;
	if (h->left > p->end)
		p->end = h->left;
	to->wall = clock_between(&p->clock, h->load, p->end);
	to->start_realtime = clock_realtime(&p->clock, h->load);
	to->end_realtime = clock_realtime(&p->clock, p->end);
	to->window = to->startup = to->window_start_realtime = to->window_end_realtime = NAN;
	/* Behind every sign of life it cannot have begun: the recording is damaged, or was killed
	 * just then. */
	if (!h->window_start || to->never_opened || h->window_start > p->end)
		return;
	p->window_start = h->window_start;
	p->window_end = last_return > h->window_start ? last_return : h->window_start;
	to->window = clock_between(&p->clock, p->window_start, p->window_end);
	to->startup = clock_between(&p->clock, h->load, h->window_start);
	to->window_start_realtime = clock_realtime(&p->clock, p->window_start);
	to->window_end_realtime = clock_realtime(&p->clock, p->window_end);
}

static char *command_of(const struct model_part *p)
{
	uint32_t bytes;
	const char *text =
	        p->header->command ? tf_text(&p->recording->map, p->header->command, &bytes) : NULL;

	if (!text)
		return NULL;
	while (bytes && !text[bytes - 1])
		bytes--;
	char *arguments = alloc_copy(text, bytes), *line = text_command(arguments, bytes);
	free(arguments);
	return line;
}

static void add_devices(struct model_part *p)
{
	const struct recording *r = p->recording;
	struct model_process *to = p->process;

	for (uint32_t i = 0; i < r->devices; i++) {
		const struct tf_device *d = tf_entry(&r->map, &p->header->devices, i, sizeof(*d));
		if (!d)
			continue;
		ALLOC_ROOM(to->devices, to->device_count);
		to->devices[to->device_count++] = (struct model_device){
		        .name = model_text(d->name, sizeof(d->name)),
		        .index = d->index,
		        .memory_bytes = d->memory_bytes,
		        .simulated = d->simulated != 0,
		};
	}
	for (uint32_t i = 0; i < r->libraries; i++) {
		const struct tf_library *l =
		        tf_entry(&r->map, &p->header->libraries, i, sizeof(*l));
		if (!l)
			continue;
		ALLOC_ROOM(to->libraries, to->library_count);
		to->libraries[to->library_count++] = (struct model_library){
		        .path = model_text(l->path, sizeof(l->path)),
		        .kind = l->kind,
		        .version = l->version,
		};
	}
}

static char *call_name(const struct recording *r, uint32_t id)
{
	const struct tf_call *call =
	        tf_entry(&r->map, &tf_header(&r->map)->calls, id, sizeof(*call));

	return call && id < r->calls ? model_text(call->name, sizeof(call->name)) : NULL;
}

/* The calls that had not returned when the process was last seen, or now while it runs. */
static void add_flights(struct model_part *p)
{
	const struct recording *r = p->recording;
	struct model_process *to = p->process;
	double now =
	        to->state == PROCESS_RUNNING ? state_now() : clock_monotonic(&p->clock, p->end);

	if (to->state == PROCESS_COMPLETE)
		return;
	for (uint32_t i = 0; i < r->threads; i++) {
		const struct tf_thread *t = recording_thread(r, i);
		if (!t || !t->in_call || t->death)
			continue;
		double age = now - clock_monotonic(&p->clock, t->in_start);
		ALLOC_ROOM(to->flights, to->flight_count);
		to->flights[to->flight_count++] = (struct model_flight){
		        .api = call_name(r, t->in_call - 1),
		        .tid = t->tid,
		        .thread = model_text(t->name, sizeof(t->name)),
		        .age = age < 0 ? 0 : age,
		};
	}
}

static void warn_of_anomalies(const struct model_part *p)
{
	static const char *const texts[] = {
#define XX(id, text) text,
	        SPY_ANOMALY_MAP(XX)
#undef XX
	};
	struct warnings *w = p->recording->warnings;

	for (int i = 0; i < SPY_ANOMALY_COUNT; i++) {
		p->process->anomaly[i] = p->header->anomaly[i];
		if (p->header->anomaly[i])
			warn(w, "process %llu: %s (%llu)", (unsigned long long)p->header->pid,
			     texts[i], (unsigned long long)p->header->anomaly[i]);
	}
	if (p->header->lost_calls)
		warn(w, "process %llu: %llu calls of threads that found no place are in no figure",
		     (unsigned long long)p->header->pid, (unsigned long long)p->header->lost_calls);
	if (p->header->loops_dropped)
		warn(w, "process %llu: more than %u loops: %llu that took least are not told",
		     (unsigned long long)p->header->pid, TF_LOOPS_MAX,
		     (unsigned long long)p->header->loops_dropped);
}

/* Of what was asked for there was no room in memory. */
static void warn_of_space(const struct model_part *p)
{
	const struct tf_header *h = p->header;

	if (h->space_most && h->keep_bytes == h->space_most / 2)
		warn(p->recording->warnings,
		     "process %llu: the recording could take at most %.1f MiB of the memory that "
		     "was "
		     "free when it began: %.1f MiB of its last records are kept",
		     (unsigned long long)h->pid, (double)h->space_most / (1 << 20),
		     (double)h->keep_bytes / (1 << 20));
}

/* By event pairs or CUPTI; without them where copies that tell by their calls are most of the work.
 */
static bool is_timed(const struct model_part *p)
{
	struct estimate_costs costs;
	double staged = 0, all = 0;
	const struct tf_work *works = p->header->works ? tf_at(&p->recording->map, p->header->works,
	                                                       TF_WORKS * sizeof(*works))
	                                               : NULL;

	estimate_costs(&p->recording->map, &costs);
	for (uint32_t i = 0; works && p->header->gpu_mode != TF_GPU_OFF && i < TF_WORKS; i++) {
		const struct tf_work *w = &works[i];
		if (w->kind == TF_WORK_NONE || w->kind >= TF_WORK_EMPTY)
			continue;
		if (w->pairs[0].count || w->pairs[1].count || w->exact_count)
			return true;
		all += (double)w->count;
		if (estimate_is_staged(w) && isfinite(estimate_ns(&costs, w)))
			staged += (double)w->count;
	}
	return staged > 0.5 * all;
}

void model_add_process(struct model_part *p)
{
	const struct tf_header *h = p->header;
	struct model_process *to = p->process;

	to->path = alloc_string(p->recording->path);
	to->pid = h->pid;
	to->ppid = h->ppid;
	to->forked_from = h->forked_from;
	to->run_id = model_text(h->run_id, sizeof(h->run_id));
	if (h->run_id_from == TF_RUN_ID_OF_RUN || h->run_id_from == TF_RUN_ID_OF_RUN_ID)
		to->run_id_from =
		        h->run_id_from == TF_RUN_ID_OF_RUN ? "CUDASPY_RUN" : "CUDASPY_RUN_ID";
	to->host = model_text(h->host, sizeof(h->host));
	to->boot_id = model_text(h->boot_id, sizeof(h->boot_id));
	to->rank = model_text(h->rank, sizeof(h->rank));
	to->cudaspy_version = model_text(h->cudaspy_version, sizeof(h->cudaspy_version));
	to->command = command_of(p);
	to->working_folder = model_string(p->recording, h->working_folder);
	to->clock_kind = h->clock_kind;
	to->gpu_mode = h->gpu_mode;
	to->range_mode = h->range_mode;
	to->trace = h->trace;
	to->driver_version = h->driver_version;
	to->lost_calls = h->lost_calls;
	to->drained = p->recording->drained;
	to->state = state_of(p->recording);
	to->left_by = h->left ? (uint32_t)h->left_by : 0;
	to->damage = warnings_line(&p->recording->damage);
	to->never_opened = h->range_mode != TF_RANGE_ALL && !h->range_from;
	find_times(p);
	p->timed = is_timed(p);
	to->first_call = h->first_call && h->first_call <= UINT32_MAX
	                         ? call_name(p->recording, (uint32_t)h->first_call - 1)
	                         : NULL;
	to->first_call_ns = h->first_call ? clock_ns(&p->clock, h->first_call_ticks) : NAN;
	to->per_call = clock_ns(&p->clock, h->span_ticks_x1024) / 1024;
	to->collector = (double)h->collector_cpu_ns;
	add_devices(p);
	add_flights(p);
	warn_of_anomalies(p);
	warn_of_space(p);
}
