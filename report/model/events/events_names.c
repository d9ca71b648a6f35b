/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "report/model/events/events_internal.h"

struct events_clock events_clock(const struct events *e)
{
	return (struct events_clock){.ns_per_tick = e->clock.ns_per_tick,
	                             .load = e->header->load,
	                             .window = e->header->window_start,
	                             .last_seen = e->header->last_seen};
}

const struct events_class *events_classes(const struct events *e)
{
	return e->times.classes;
}

bool events_stream_is_default(const struct events *e, uint32_t stream)
{
	return stream < EVENTS_STREAMS && e->streams.is_default[stream];
}

uint64_t events_stream_number(const struct events *e, uint32_t stream)
{
	return events_stream_is_default(e, stream) ? 7 : 13ull + stream;
}

uint32_t events_last(const struct events *e)
{
	return e->number;
}

uint32_t events_calls(const struct events *e)
{
	return e->recording->calls;
}

uint32_t events_graphs(const struct events *e)
{
	return e->recording->graphs;
}

uint32_t events_threads(const struct events *e)
{
	return e->recording->threads;
}

static const struct tf_call *call_at(const struct events *e, uint32_t name)
{
	const struct recording *r = e->recording;

	return name < r->calls ? tf_entry(&r->map, &e->header->calls, name, sizeof(struct tf_call))
	                       : NULL;
}

const char *events_call_name(const struct events *e, uint32_t name, size_t *bytes)
{
	const struct tf_call *call = call_at(e, name);

	*bytes = call ? strnlen(call->name, sizeof(call->name)) : 0;
	return call ? call->name : NULL;
}

struct events_thread events_thread(const struct events *e, uint32_t thread)
{
	const struct tf_thread *t = recording_thread(e->recording, thread);

	if (!t)
		return (struct events_thread){.id = thread, .name = ""};
	return (struct events_thread){
	        .id = t->tid, .name = t->name, .bytes = strnlen(t->name, sizeof(t->name))};
}

bool events_flight(const struct events *e, uint32_t thread, struct events_flight *f)
{
	const struct tf_thread *t = recording_thread(e->recording, thread);
	const struct tf_call *call =
	        t && t->in_call && !t->death ? call_at(e, t->in_call - 1) : NULL;

	if (!call || t->in_start < e->header->load)
		return false;
	*f = (struct events_flight){t->in_start, t->in_call - 1, call->level};
	return true;
}

/* A text of an area; NULL where there is none. */
static const char *text_at(const struct events *e, uint64_t offset, size_t *bytes)
{
	uint32_t length = 0;
	const char *text = tf_text(&e->recording->map, offset, &length);

	*bytes = text ? length : 0;
	return text;
}

const char *events_kernel_name(const struct events *e, uint32_t kernel, size_t *bytes)
{
	const struct recording *r = e->recording;
	const struct tf_kernel *k =
	        kernel < r->kernels && kernel < TF_KERNELS_MAX
	                ? tf_entry(&r->map, &e->header->kernels, kernel, sizeof(*k))
	                : NULL;
	const char *name = k ? text_at(e, k->name, bytes) : NULL;

	if (name && *bytes)
		return name;
	*bytes = strlen("(other)");
	return kernel == TF_KERNEL_OTHER ? "(other)" : NULL;
}

const char *events_range_name(const struct events *e, uint32_t name, size_t *bytes)
{
	const struct tf_nvtx_range *range =
	        tf_entry(&e->recording->map, &e->header->ranges, name, sizeof(*range));

	*bytes = 0;
	return range ? text_at(e, range->name, bytes) : NULL;
}

bool events_shape(const struct events *e, uint32_t cls, struct events_shape *shape)
{
	const struct tf_work *w = e->works && cls < TF_WORKS ? &e->works[cls] : NULL;

	if (!w || w->kind != TF_WORK_KERNEL)
		return false;
	*shape = (struct events_shape){
	        .grid = {w->grid_x, w->grid_y, w->grid_z},
	        .block = {w->block_x, w->block_y, w->block_z},
	        .shared_bytes = w->shared_bytes,
	        .registers = w->registers,
	        .static_shared = w->static_shared,
	        .warps_per_sm = w->warps_per_sm,
	        .blocks_per_sm = w->blocks_per_sm,
	};
	return true;
}
