/* SPDX-License-Identifier: Apache-2.0 */
/* What ran on the GPU, and which call gave it. */
#include <string.h>

#include "report/output/export/chrome.h"

void chrome_device_named(struct chrome *c, uint32_t device)
{
	char text[64];

	if (c->devices[device].named)
		return;
	c->devices[device].named = true;
	snprintf(text, sizeof(text), "\"GPU %u\"", device);
	chrome_meta(c->out, "process_labels", "labels", c->gpu_pid + device, 0, text);
	if (c->process->rank)
		snprintf(text, sizeof(text), "\"GPU %u of process %llu\"", device,
		         (unsigned long long)c->process->pid);
	chrome_meta(c->out, "process_name", "name", c->gpu_pid + device, 0, text);
	snprintf(text, sizeof(text), "%llu",
	         (unsigned long long)(CHROME_DEVICE_SORT + c->gpu_pid + device));
	chrome_meta(c->out, "process_sort_index", "sort_index", c->gpu_pid + device, 0, text);
}

/* With the name of its first track. */
struct chrome_stream *chrome_stream(struct chrome *c, uint32_t index)
{
	struct chrome_stream *s = &c->streams[index < EVENTS_STREAMS ? index : EVENTS_STREAMS - 1];

	if (!s->number && events_stream_is_default(c->events, index))
		s->number = CHROME_DEFAULT;
	else if (!s->number)
		s->number = CHROME_STREAM + (uint32_t)(s - c->streams);
	return s;
}

static void name_lane(struct chrome *c, struct chrome_stream *s, uint32_t device, uint32_t lane,
                      uint64_t tid)
{
	char text[64];

	if (lane)
		snprintf(text, sizeof(text), "\"stream %u (%u)\"", s->number, lane + 1);
	else
		snprintf(text, sizeof(text), "\"stream %u%s\"", s->number,
		         s->number == CHROME_DEFAULT ? " (default)" : " ");
	chrome_device_named(c, device);
	chrome_meta(c->out, "thread_name", "name", c->gpu_pid + device, tid, text);
	snprintf(text, sizeof(text), "%llu", (unsigned long long)tid);
	chrome_meta(c->out, "thread_sort_index", "sort_index", c->gpu_pid + device, tid, text);
}

/* ---- one piece ---- */

static const char *const timed_words[] = {[EVENTS_BY_CUPTI] = "by CUPTI",
                                          [EVENTS_BY_EVENTS] = "by events around it",
                                          [EVENTS_BY_CLASS] = "by work like it",
                                          [EVENTS_GUESSED] = "guessed"};

static void put_name(struct chrome *c, const struct events_work *w)
{
	struct chrome_out *o = c->out;

	switch (w->kind) {
	case TF_WORK_COPY:
		chrome_text(o, "gpu_memcpy\",\"name\":");
		if (w->known && !w->node)
			chrome_copy_name(o, w->direction, w->memory);
		else
			chrome_text(o, "\"Memcpy (in a graph)\"");
		break;
	case TF_WORK_SET:
		chrome_text(o, "gpu_memset\",\"name\":\"Memset (Device)\"");
		break;
	case TF_WORK_GRAPH:
		chrome_text(o, "kernel\",\"name\":");
		if (w->graph < events_graphs(c->events))
			chrome_format(o, "\"CUDA graph %u\"", w->graph);
		else
			chrome_text(o, "\"CUDA graph\"");
		break;
	default:
		chrome_text(o, "kernel\",\"name\":");
		chrome_text(o, chrome_kernel_name(c, w->kernel));
	}
}

static void put_args(struct chrome *c, const struct events_work *w, uint32_t stream, uint64_t ns)
{
	struct chrome_out *o = c->out;

	chrome_text(o, ",\"args\":{");
	if (w->known) {
		chrome_text(o, "\"External id\":");
		chrome_number(o, w->number);
		chrome_text(o, ",\"correlation\":");
		chrome_number(o, w->number);
		chrome_put(o, ",", 1);
	}
	chrome_text(o, "\"device\":");
	chrome_number(o, w->device);
	chrome_text(o, ",\"stream\":");
	chrome_number(o, stream);
	if (w->known && !w->node && (w->kind == TF_WORK_COPY || w->kind == TF_WORK_SET)) {
		chrome_text(o, ",\"bytes\":");
		chrome_number(o, w->bytes);
		if (ns)
			chrome_format(o, ",\"memory bandwidth (GB/s)\":%.3f",
			              (double)w->bytes / (double)ns);
	}
	if (w->kind == TF_WORK_GRAPH && w->graph < events_graphs(c->events))
		chrome_format(o, ",\"graph id\":%u", w->graph);
	if (w->node)
		chrome_text(o, ",\"graph node\":true");
	chrome_text(o, chrome_class_tail(c, w->cls));
	chrome_text(o, w->timed == EVENTS_BY_CLASS || w->timed == EVENTS_GUESSED
	                       ? ",\"estimated\":true,\"timed\":\""
	                       : ",\"timed\":\"");
	chrome_text(o, timed_words[w->timed]);
	chrome_text(o, "\"}}");
}

/* s at the call, f at the work. */
static void flow(struct chrome *c, const char *ends, uint64_t id, uint64_t pid, uint64_t tid,
                 uint64_t ns)
{
	struct chrome_out *o = c->out;

	chrome_begin(o);
	chrome_text(o, ends);
	chrome_number(o, id);
	chrome_text(o, ",\"pid\":");
	chrome_number(o, pid);
	chrome_text(o, ",\"tid\":");
	chrome_number(o, tid);
	chrome_text(o, ",\"ts\":");
	chrome_us(o, ns);
	chrome_put(o, "}", 1);
}

static void note(struct chrome *c, struct chrome_stream *s, const struct events_work *w,
                 uint64_t start, uint64_t end)
{
	struct chrome_device *d = &c->devices[w->device];

	s->last[s->last_at].start = start;
	s->last[s->last_at].end = end;
	s->last[s->last_at].number = w->number;
	s->last_at = (s->last_at + 1) % CHROME_LAST;
	s->device = w->device;
	d->pieces++;
	if (end > d->until) {
		d->busy += end - (start > d->until ? start : d->until);
		d->until = end;
	}
	c->totals.works++;
	c->totals.estimated += w->timed == EVENTS_BY_CLASS || w->timed == EVENTS_GUESSED;
}

void chrome_work(struct chrome *c, const struct events_work *w)
{
	struct chrome_stream *s = chrome_stream(c, w->stream);
	uint64_t start = chrome_ns(c, w->start), end = chrome_ns(c, w->end);
	const uint64_t given = w->known ? chrome_ns(c, w->given) : 0, as_is = start;
	struct chrome_out *o = c->out;

	if (w->device >= EVENTS_DEVICES)
		return;
	if (start < given)
		start = given;
	if (end < start)
		end = start;
	const uint32_t lane = chrome_lane(&s->lanes, &start, &end);
	const uint64_t tid = s->number + (uint64_t)lane * CHROME_TID_LANES,
	               pid = c->gpu_pid + w->device;
	c->totals.moved += start != as_is;
	if (lane >= s->lanes_named) {
		s->lanes_named = lane + 1;
		name_lane(c, s, w->device, lane, tid);
	}
	chrome_waits_until(c, s, start);
	chrome_begin(o);
	chrome_text(o, "{\"ph\":\"X\",\"cat\":\"");
	put_name(c, w);
	chrome_text(o, ",\"pid\":");
	chrome_number(o, pid);
	chrome_text(o, ",\"tid\":");
	chrome_number(o, tid);
	chrome_span(o, start, end);
	put_args(c, w, s->number, end - start);
	if (w->known && w->first) {
		flow(c, "{\"ph\":\"s\",\"cat\":\"ac2g\",\"name\":\"ac2g\",\"id\":", w->number,
		     c->pid, chrome_tid(c, w->thread), given);
		flow(c, "{\"ph\":\"f\",\"cat\":\"ac2g\",\"name\":\"ac2g\",\"bp\":\"e\",\"id\":",
		     w->number, pid, tid, start);
		c->totals.flows++;
	}
	note(c, s, w, start, end);
}
