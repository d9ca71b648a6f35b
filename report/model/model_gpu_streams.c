/* SPDX-License-Identifier: Apache-2.0 */
/* The streams' rows, and how much of the GPU's time theirs is. */
#include <math.h>
#include <stdlib.h>

#include "report/base/alloc.h"
#include "report/model/model_internal.h"
#include "shim/core/cuda/engines.h"

#define WHOLE_KNOWN   0.5 /* of the pieces of work of a kind, those of known time, to go by these */
#define COMPARED_MOST 1e7 /* rows of streams times streams of a log, one by one */
#define HALVINGS      60  /* of an interval: as far as a double tells */

void model_add_streams(struct model_part *p)
{
	const struct recording *r = p->recording;
	struct model_gpu *gpu = &p->model->gpu;

	for (uint32_t i = 0; i < r->streams; i++) {
		const struct tf_stream *s = tf_entry(&r->map, &p->header->streams, i, sizeof(*s));
		if (!s || !(s->kernels || s->copies || s->sets || s->graphs))
			continue;
		bool known = model_device_time(p, s->device) != NULL;
		ALLOC_ROOM(gpu->streams, gpu->stream_count);
		gpu->streams[gpu->stream_count++] = (struct model_stream){
		        .pid = p->process->pid,
		        .handle = s->handle,
		        .device = s->device,
		        .flags = s->flags,
		        .kernels = s->kernels,
		        .copies = s->copies,
		        .sets = s->sets,
		        .graphs = s->graphs,
		        .kernel_ns = known ? clock_ns(&p->clock, s->kernel_ticks) : NAN,
		        .copy_ns = known ? clock_ns(&p->clock, s->copy_ticks) : NAN,
		        .overlapped = known ? clock_ns(&p->clock, s->overlapped_ticks) : NAN,
		};
	}
}

/* ---- kernels and graphs ---- */

/* Of the kept calls that gave a stream kernels, or graphs: pieces of known time. */
struct kept {
	double ns, pieces;
};

static void add_kept(struct kept (*to)[2], const struct call_log *h)
{
	for (size_t i = 0; i < h->count; i++) {
		const struct call_event *a = &h->call_events[i];
		double items = (double)a->items;
		if (a->stream >= h->stream_count || isnan(a->gpu) ||
		    (a->kind != TF_WORK_KERNEL && a->kind != TF_WORK_GRAPH))
			continue;
		struct kept *k = &to[a->stream][a->kind == TF_WORK_GRAPH];
		k->ns += a->gpu * items;
		k->pieces += items;
	}
}

/* The log's stream is the one of this row, or, of a default one, has no handle to tell. */
static bool is_same(const struct call_log_stream *a, const struct model_stream *s)
{
	const uint32_t by_default = TF_STREAM_LEGACY | TF_STREAM_PER_THREAD;

	if (s->flags & by_default)
		return !a->handle && (a->flags & s->flags & by_default) && a->device == s->device;
	return a->handle == s->handle;
}

/* Kernels (or graphs) of a stream, each as long as those of the kept calls; NaN: none is kept. */
static double as_kept(const struct call_log *h, struct kept (*kept)[2],
                      const struct model_stream *s, bool graphs)
{
	uint64_t count = graphs ? s->graphs : s->kernels;
	struct kept sum = {0};

	for (size_t i = 0; i < h->stream_count && count; i++)
		if (is_same(&h->streams[i], s)) {
			sum.ns += kept[i][graphs].ns;
			sum.pieces += kept[i][graphs].pieces;
		}
	return count ? sum.ns / sum.pieces * (double)count : 0;
}

/* What the classes of a stream's kernels and graphs say, instead of the timeline, where its calls
 * are kept. */
static void streams_as_kept(struct model *m)
{
	for (size_t p = 0; p < m->process_count; p++) {
		const struct call_log *h = &m->processes[p].call_log;
		if ((double)m->gpu.stream_count * (double)h->stream_count > COMPARED_MOST)
			continue;
		struct kept(*kept)[2] = alloc_zeroed(h->stream_count + 1, sizeof(*kept));
		add_kept(kept, h);
		for (size_t i = 0; i < m->gpu.stream_count; i++) {
			struct model_stream *s = &m->gpu.streams[i];
			double ns = as_kept(h, kept, s, false) + as_kept(h, kept, s, true);
			if (s->pid == m->processes[p].pid && s->kernel_ns > 0 && ns > 0)
				s->kernel_ns = ns;
		}
		free(kept);
	}
}

/*
 * How long kernels and graphs take in all the classes know, and of each stream those of the calls
 * that are kept. The timeline has more where it let work last until the host saw late that it had
 * ended, and twice what it moved to a later time when it had counted it already.
 */
static void scale_kernels(struct model *m)
{
	struct model_gpu *gpu = &m->gpu;
	double all = (double)m->totals.launches + (double)m->totals.graph_launches, placed = 0,
	       sum = 0;

	if (!gpu->estimated || !(gpu->launched.known >= WHOLE_KNOWN) || !(all > 0))
		return;
	streams_as_kept(m);
	for (size_t i = 0; i < gpu->stream_count; i++) {
		const struct model_stream *s = &gpu->streams[i];
		placed += (double)s->kernels + (double)s->graphs;
		sum += s->kernel_ns; /* NaN: not known */
	}
	if (!(sum > 0))
		return;
	double by = gpu->launched.total * fmin(1, placed / all) / sum;
	for (size_t i = 0; i < gpu->stream_count; i++)
		gpu->streams[i].kernel_ns = rint(gpu->streams[i].kernel_ns * by);
}

/* ---- copies and sets ---- */

/* What a piece of this kind takes that was never timed, as the timeline guesses it; NaN where there
 * is none. */
static double guess_of(const struct model_gpu *gpu, enum tf_work_kind kind)
{
	double ns = 0, pieces = 0;

	for (size_t i = 0; i < gpu->class_count; i++) {
		const struct model_gpu_class *c = &gpu->classes[i];
		double count = (double)c->count;
		if (c->kind != (uint32_t)kind || !c->count || !isnan(c->mean))
			continue;
		ns += count * cuda_guess_ns(kind, (enum spy_direction)c->direction,
		                            (double)c->bytes / count);
		pieces += count;
	}
	return ns / pieces;
}

/* What work of this kind takes in all: pieces of unknown time as long as the rest or, where they
 * are the most, as long as they are guessed to be; NaN where nothing tells it. */
static double whole_of(const struct model_gpu *gpu, const struct model_gpu_time *t,
                       enum tf_work_kind kind, uint64_t count)
{
	if (!count)
		return 0;
	if (t->known >= WHOLE_KNOWN)
		return t->total / t->known;
	double known = t->sum.known > 0 ? t->sum.known : 0;
	return (known > 0 ? t->total : 0) + fmax(0, (double)count - known) * guess_of(gpu, kind);
}

static double copies_of(const struct model_gpu *gpu, double longest)
{
	double sum = 0;

	for (size_t i = 0; i < gpu->stream_count; i++) {
		const struct model_stream *s = &gpu->streams[i];
		if (!isnan(s->copy_ns))
			sum += fmin(s->copy_ns, longest * (double)(s->copies + s->sets));
	}
	return sum;
}

/* So that all streams' copies and sets take `most` together, the longest of them are cut. */
static void cut_streams(struct model_gpu *gpu, double most)
{
	double low = 0, high = most;

	if (!(copies_of(gpu, INFINITY) > most))
		return;
	for (int i = 0; i < HALVINGS; i++) {
		double middle = (low + high) / 2;
		*(copies_of(gpu, middle) > most ? &high : &low) = middle;
	}
	for (size_t i = 0; i < gpu->stream_count; i++) {
		struct model_stream *s = &gpu->streams[i];
		if (isnan(s->copy_ns))
			continue;
		s->copy_ns = rint(fmin(s->copy_ns, high * (double)(s->copies + s->sets)));
		s->overlapped = fmin(s->overlapped, s->copy_ns);
	}
}

static void cut_copies(struct model_gpu_busy *b, double most)
{
	if (!(b->copies > most))
		return;
	b->copies = rint(most);
	b->possible = fmin(b->possible, b->copies);
	b->overlap = fmin(b->overlap, b->possible);
}

/*
 * The timeline lets a copy last until the host saw that work had ended, which may be late by far,
 * and then counts it for its stream again. What copies take is known by their classes: no figure
 * of the copies alone is more than that. How long the device was busy stays as it was seen.
 */
static void bound_copies(struct model *m)
{
	struct model_gpu *gpu = &m->gpu;
	double most = whole_of(gpu, &gpu->copies, TF_WORK_COPY, m->totals.copies) +
	              whole_of(gpu, &gpu->sets, TF_WORK_SET, m->totals.sets);

	if (!gpu->estimated || !(most > 0))
		return;
	cut_streams(gpu, most);
	gpu->busy.copies = gpu->busy.overlap = gpu->busy.possible = 0;
	for (size_t i = 0; i < gpu->device_count; i++) {
		struct model_gpu_busy *b = &gpu->devices[i].time;
		cut_copies(b, most);
		gpu->busy.copies += b->copies;
		gpu->busy.overlap += b->overlap;
		gpu->busy.possible += b->possible;
	}
	cut_copies(&gpu->busy, most);
}

void model_finish_streams(struct model *m)
{
	scale_kernels(m);
	bound_copies(m);
}
