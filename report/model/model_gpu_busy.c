/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/model/model_internal.h"
#include "shim/core/cuda/engines.h"

/* A copy is taken to go at 20 bytes a ns where nothing else is known, and the bus has 64 at most.
 */
#define GUESS_BELOW 0.7
/* Of the pieces of work, those of known duration, for the timeline to be told at all. */
#define KNOWN_LEAST 0.01
/* Of the kernels' and graphs' time, on one stream: so it is in each phase of the run. */
#define ONE_STREAM 0.95
/* Of the pieces of work, those of known time, for the rest to be as long as they. */
#define WHOLE_KNOWN 0.5
#define LITTLE      0.05 /* of the pieces of work, those of unknown duration */

static bool same(const char *a, const char *b)
{
	return a && b && !strcmp(a, b);
}

/* The model's row of a device of a machine; an earlier process may have made it. */
static struct model_gpu_device *device_row(struct model_gpu *gpu, const struct model_process *p,
                                           uint32_t index, const char *name)
{
	for (size_t i = 0; i < gpu->device_count; i++) {
		struct model_gpu_device *d = &gpu->devices[i];
		if (d->index == index && same(d->host, p->host) && same(d->name, name))
			return d;
	}
	ALLOC_ROOM(gpu->devices, gpu->device_count);
	gpu->devices[gpu->device_count] = (struct model_gpu_device){
	        .host = alloc_string(p->host), .name = alloc_string(name), .index = index};
	return &gpu->devices[gpu->device_count++];
}

/*
 * A device's time in the process' window. What the timeline did not follow is idle of unknown
 * cause; counters that cannot be are cut to the window.
 */
static struct model_gpu_busy busy_of(const struct model_part *p, const struct tf_device_time *d)
{
	const struct tf_busy *t = &d->total;
	struct model_gpu_busy b = {.window = p->process->window};
	double idle = 0;

	b.busy = fmin(clock_ns(&p->clock, t->busy), b.window);
	b.comm = fmin(clock_ns(&p->clock, t->comm), b.busy);
	b.kernels = fmin(clock_ns(&p->clock, t->kernels), b.busy);
	b.copies = fmin(clock_ns(&p->clock, t->copies), b.busy);
	b.overlap = rint(fmax(0, b.kernels + b.copies - b.busy));
	b.possible = fmin(b.kernels, b.copies);
	b.work = (double)d->work;
	b.unknown = fmin((double)d->work_unknown, b.work);
	b.guessed = fmin(clock_ns(&p->clock, d->guessed_ticks), b.busy);
	for (int i = 0; i < TF_IDLES; i++) {
		b.by[i] = clock_ns(&p->clock, t->idle[i]);
		idle += b.by[i];
	}
	double room = b.window - b.busy, fit = idle > room ? room / idle : 1;
	b.by[TF_IDLE_UNKNOWN] += fmax(0, room - idle);
	for (int i = 0; i < TF_IDLES; i++) {
		b.by[i] = rint(b.by[i] * fit);
		b.idle += b.by[i];
	}
	return b;
}

static void busy_add(struct model_gpu_busy *to, const struct model_gpu_busy *b)
{
	to->window += b->window;
	to->busy += b->busy;
	to->comm += b->comm;
	to->idle += b->idle;
	for (int i = 0; i < TF_IDLES; i++)
		to->by[i] += b->by[i];
	to->kernels += b->kernels;
	to->copies += b->copies;
	to->overlap += b->overlap;
	to->possible += b->possible;
	to->work += b->work;
	to->unknown += b->unknown;
	to->guessed += b->guessed;
}

const struct tf_device_time *model_device_time(const struct model_part *p, uint32_t device)
{
	const struct tf_device_time *d =
	        device < TF_DEVICES_TIMED
	                ? tf_at(&p->recording->map, p->header->devices_time[device], sizeof(*d))
	                : NULL;

	if (!p->timed || !d || !d->work)
		return NULL;
	uint64_t known = d->work_unknown < d->work ? d->work - d->work_unknown : 0;
	/* Where hardly a piece of work had a known duration in time, the timeline rests on the
	 * waits alone: on something only if the times became known later. */
	return (double)known > KNOWN_LEAST * (double)d->work || p->pieces_known > 0.5 * p->pieces
	               ? d
	               : NULL;
}

void model_add_busy(struct model_part *p)
{
	struct model_gpu *gpu = &p->model->gpu;
	const struct model_process *process = p->process;

	if (!p->process_index) {
		gpu->mode = process->gpu_mode;
		gpu->stall = (double)p->header->stall_ns;
	}
	gpu->partial |= p->header->gpu_partial != 0;
	gpu->unplaced += (double)p->header->timeline_unknown;
	for (size_t i = 0; i < process->device_count; i++)
		device_row(gpu, process, process->devices[i].index, process->devices[i].name);
	model_add_streams(p);
	if (!(process->window > 0))
		return;
	for (uint32_t i = 0; i < TF_DEVICES_TIMED; i++) {
		const struct tf_device_time *d = model_device_time(p, i);
		if (!d)
			continue;
		const char *name = NULL;
		for (size_t k = 0; k < process->device_count && !name; k++)
			if (process->devices[k].index == i)
				name = process->devices[k].name;
		struct model_gpu_device *row = device_row(gpu, process, i, name);
		struct model_gpu_busy b = busy_of(p, d);
		row->known = true;
		row->processes++;
		busy_add(&row->time, &b);
	}
}

/*
 * The interval is that of the GPU time that the union is made of, relative to it; work of unknown
 * duration is taken to be as long as the rest at most, and by GUESS_BELOW shorter at least than it
 * was guessed to be.
 */
static void find_interval(struct model_gpu_busy *b, const struct model_gpu_time *all,
                          bool estimated)
{
	b->low = b->high = b->busy;
	if (!estimated)
		return;
	if (!(all->total > 0)) {
		b->low = b->high = NAN;
		return;
	}
	b->low = fmax(0, b->busy * all->low / all->total - GUESS_BELOW * b->guessed);
	b->high = b->window; /* where nothing of it is known */
	if (b->unknown >= b->work)
		return;
	double high = all->high / all->total * b->work / (b->work - b->unknown);
	b->high = fmin(b->busy * high, b->window);
}

/* The device whose time is known, of the only one there is; else NULL. */
static struct model_gpu_device *only_known(struct model_gpu *gpu)
{
	struct model_gpu_device *one = NULL;

	for (size_t i = 0; i < gpu->device_count; i++) {
		if (!gpu->devices[i].known)
			continue;
		if (one)
			return NULL;
		one = &gpu->devices[i];
	}
	return one;
}

/* What of a wait is no work: the way to the GPU and back, and what lies between pieces of work. */
static double pauses(const struct model *m)
{
	const struct model_totals *t = &m->totals;
	double waits = (double)t->syncs + (double)t->implicit_syncs;

	return m->gpu.busy.work * CUDA_GAP_NS + (double)t->copies * CUDA_WAKE_NS +
	       waits * (CUDA_START_NS + CUDA_RETURN_NS);
}

/*
 * While the host waits for it, or its queue is full, a device works, however little is known of how
 * long its pieces of work take: what that leaves open is the rest of its time. Not where the
 * timeline follows waits that last longer than all work, or guesses.
 */
static void bound_by_waits(struct model *m)
{
	struct model_gpu_busy *b = &m->gpu.busy;
	struct model_gpu_device *one = only_known(&m->gpu);
	double waits = m->host.sync_useful + m->host.back_pressure; /* NaN: not known */

	if (!m->gpu.estimated || !one || m->process_count != 1 || m->gpu.stretched || !(waits > 0))
		return;
	waits = fmin(waits, b->busy);
	double rest = (b->busy - waits) * (b->low / b->busy),
	       low = waits - pauses(m) - b->guessed + rest;
	if (low > b->low)
		b->low = one->time.low = low;
}

/*
 * No device is busy for longer than its work takes, that of unknown time as long as the rest. Where
 * the timeline has more (the host saw late that work had ended, or a slow call was taken for one
 * that waited), the interval reaches down to that. Work of unknown duration may be what lasted:
 * where there is more than a little of it, the two intervals must be apart.
 */
static void bound_by_work(struct model_gpu *gpu)
{
	struct model_gpu_device *one = only_known(gpu);
	struct model_gpu_busy *b = &gpu->busy;
	double least = b->unknown > LITTLE * b->work ? b->low : b->busy;

	if (!gpu->estimated || !gpu->has_busy || !(gpu->all.known >= WHOLE_KNOWN) ||
	    !(least > gpu->all.high / gpu->all.known))
		return;
	gpu->stretched = true;
	b->low = fmin(b->low, gpu->all.low);
	if (one)
		one->time.low = b->low;
}

/* The share of the kernels' and graphs' time that the busiest stream has; 0 where it is not known.
 */
static double busiest_share(const struct model_gpu *gpu)
{
	double most = 0, sum = 0;

	for (size_t i = 0; i < gpu->stream_count; i++) {
		most = fmax(most, gpu->streams[i].kernel_ns);
		sum += gpu->streams[i].kernel_ns; /* NaN: not known */
	}
	return sum > 0 ? most / sum : 0;
}

/* For how long one stream with this share of the kernels and graphs works. */
static struct model_gpu_time stream_works(const struct model *m, double share)
{
	const struct model_gpu *gpu = &m->gpu;
	const struct model_totals *t = &m->totals;
	double gaps = ((double)t->launches + (double)t->graph_launches) * CUDA_GAP_NS;

	if (!gpu->estimated || gpu->device_count != 1 || gpu->unplaced > 0)
		share = 0;
	return (struct model_gpu_time){.total = fmax(0, gpu->launched.total - gaps) * share,
	                               .low = fmax(0, gpu->launched.low - gaps) * share};
}

struct model_gpu_time model_busy_least(const struct model *m)
{
	double share = busiest_share(&m->gpu);

	return stream_works(m, share >= ONE_STREAM ? share : 0);
}

/*
 * Nor for less than its busiest stream's work takes, or all streams' side by side: what the
 * timeline guessed, before it knew how long pieces take, is open no further. In a run of few
 * samples the timeline may have even less than that, and the interval reaches up to it. What lies
 * between two pieces may be in their times.
 */
static void bound_by_streams(struct model *m)
{
	struct model_gpu *gpu = &m->gpu;
	struct model_gpu_busy *b = &gpu->busy;
	struct model_gpu_device *one = only_known(gpu);

	if (!gpu->estimated || !one || !gpu->stream_count)
		return;
	double least = gpu->all.low / (double)gpu->stream_count;
	if (b->high < least)
		b->high = one->time.high = fmin(gpu->all.high, b->window);
	if (gpu->device_count != 1 || gpu->unplaced > 0)
		return;
	/* By as much as its times are known, the busy time is. */
	least = fmax(least - b->work * CUDA_GAP_NS, stream_works(m, busiest_share(gpu)).low);
	least = fmin(least, b->busy * gpu->all.low / gpu->all.total);
	if (b->low < least)
		b->low = one->time.low = least;
}

void model_finish_busy(struct model *m)
{
	struct model_gpu *gpu = &m->gpu;

	gpu->estimated = gpu->mode == TF_GPU_SAMPLE || gpu->all.samples;
	for (size_t i = 0; i < gpu->device_count; i++) {
		struct model_gpu_device *d = &gpu->devices[i];
		if (!d->known)
			continue;
		gpu->has_busy = true;
		busy_add(&gpu->busy, &d->time);
		find_interval(&d->time, &gpu->all, gpu->estimated);
	}
	model_finish_streams(m);
	if (gpu->has_busy)
		find_interval(&gpu->busy, &gpu->all, gpu->estimated);
	bound_by_work(gpu);
	bound_by_streams(m);
	bound_by_waits(m);
	gpu->measured = gpu->has_busy || isfinite(gpu->all.total);
}
