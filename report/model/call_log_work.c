/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "report/base/alloc.h"
#include "report/model/call_log_internal.h"
#include "report/model/model_gpu_pairs.h"
#include "shim/core/work/work_class.h"

/* The classes that are used, as the calibration wants them. */
static void calibrate_from(struct call_log_works_of *w)
{
	struct tf_work *used = alloc_zeroed(TF_WORKS, sizeof(*used));
	uint32_t count = 0;

	for (uint32_t i = 0; i < TF_WORKS; i++)
		if (w->works[i].kind)
			used[count++] = w->works[i];
	model_calibrate(w->calibration, &w->part->recording->map, used, count);
	free(used);
}

void works_start(struct call_log_works_of *w, const struct model_part *p)
{
	*w = (struct call_log_works_of){.part = p};
	w->works = tf_at(&p->recording->map, p->header->works, TF_WORKS * sizeof(*w->works));
	w->rows = alloc_zeroed(TF_WORKS, sizeof(*w->rows));
	w->calibration = alloc_zeroed(1, sizeof(*w->calibration));
	if (w->works)
		calibrate_from(w);
}

static void add_time(struct call_log_work *row, const struct call_log_works_of *w,
                     const struct tf_work *work)
{
	bool timed = w->part->header->gpu_mode == TF_GPU_SAMPLE ||
	             w->part->header->gpu_mode == TF_GPU_CUPTI;
	struct model_work_time t =
	        timed ? model_work_time(work, w->calibration) : (struct model_work_time){0};

	row->mean = row->low = row->high = NAN;
	if (!t.known || !isfinite(t.mean))
		return;
	row->exact = t.exact;
	row->mean = t.mean;
	row->low = fmax(0, t.mean - model_work_below(&t));
	row->high = t.mean + model_work_above(&t);
	if (!isfinite(row->low) || !isfinite(row->high))
		row->low = row->high = row->mean;
}

static const char *kernel_name(const struct model_part *p, uint32_t id)
{
	uint32_t row = id < TF_KERNELS_MAX ? p->kernel_row[id] : UINT32_MAX;

	return row < p->model->kernel_count ? p->model->kernels[row].name : NULL;
}

static uint32_t add_row(struct call_log_works_of *w, struct call_log *h, enum tf_work_kind kind,
                        const struct tf_work *work)
{
	ALLOC_ROOM(h->works, h->work_count);
	struct call_log_work *row = &h->works[h->work_count];

	*row = (struct call_log_work){
	        .kernel = kind == TF_WORK_KERNEL ? kernel_name(w->part, work->id) : NULL,
	        .kind = (uint8_t)kind,
	        .direction = work->direction < SPY_DIR_COUNT ? work->direction : SPY_DIR_UNKNOWN,
	        .memory = work->memory < SPY_MEM_COUNT ? work->memory : SPY_MEM_UNKNOWN,
	        .async = work->async,
	        .grid = {work->grid_x, work->grid_y, work->grid_z},
	        .block = {work->block_x, work->block_y, work->block_z},
	        .shared_bytes = work->shared_bytes,
	        .bytes = work->count ? work->bytes / work->count : 0,
	};
	if (kind == TF_WORK_GRAPH) {
		const struct tf_graph *g = model_graph(w->part, work->id);
		row->graph = g ? g->handle : 0;
	}
	add_time(row, w, work);
	return (uint32_t)h->work_count++;
}

uint32_t works_row(struct call_log_works_of *w, struct call_log *h, enum tf_work_kind kind,
                   const struct tf_record *r)
{
	struct tf_work key;

	work_key(&key, kind, r);
	const struct tf_work *work = w->works ? work_known(&w->part->recording->map, &key) : NULL;
	if (!work) /* the table was full */
		return CALL_LOG_NONE;
	uint32_t place = (uint32_t)(work - w->works);
	if (!w->rows[place])
		w->rows[place] = add_row(w, h, kind, work) + 1;
	h->works[w->rows[place] - 1].call_events++;
	return w->rows[place] - 1;
}

static int by_kernel(const void *a, const void *b)
{
	const struct call_log_work *x = *(struct call_log_work *const *)a,
	                           *y = *(struct call_log_work *const *)b;

	if (x->kernel != y->kernel)
		return (uintptr_t)x->kernel < (uintptr_t)y->kernel ? -1 : 1;
	return x < y ? -1 : x > y;
}

/* Of one kernel's shapes: those without a time get the mean of the others, and all of its doubt. */
static void share(struct call_log_work **rows, size_t count)
{
	double sum = 0, low = INFINITY, high = 0, call_events = 0;

	for (size_t i = 0; i < count; i++)
		if (!isnan(rows[i]->mean)) {
			sum += rows[i]->mean * (double)rows[i]->call_events;
			call_events += (double)rows[i]->call_events;
			low = fmin(low, rows[i]->low);
			high = fmax(high, rows[i]->high);
		}
	for (size_t i = 0; call_events > 0 && i < count; i++)
		if (isnan(rows[i]->mean)) {
			rows[i]->mean = sum / call_events;
			rows[i]->low = fmin(low, rows[i]->mean);
			rows[i]->high = fmax(high, rows[i]->mean);
		}
}

void works_finish(struct call_log_works_of *w, struct call_log *h)
{
	struct call_log_work **rows = alloc_zeroed(h->work_count, sizeof(*rows));
	size_t count = 0;

	for (size_t i = 0; i < h->work_count; i++)
		if (h->works[i].kind == TF_WORK_KERNEL && h->works[i].kernel)
			rows[count++] = &h->works[i];
	if (count)
		qsort(rows, count, sizeof(*rows), by_kernel);
	for (size_t i = 0, next; i < count; i = next) {
		for (next = i + 1; next < count && rows[next]->kernel == rows[i]->kernel;)
			next++;
		share(&rows[i], next - i);
	}
	free(rows);
	free(w->rows);
	free(w->calibration);
}
