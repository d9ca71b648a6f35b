/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "report/base/alloc.h"
#include "report/base/units.h"
#include "report/output/json/out_json.h"

void out_json_put_gpu_time(json_t *o, const struct model_gpu_time *t)
{
	bool known = isfinite(t->total);

	json_put(o, "gpu_total_ns", json_ns(t->total));
	json_put(o, "gpu_mean_ns", json_share(t->mean));
	json_put(o, "gpu_low_ns", json_ns(t->low));
	json_put(o, "gpu_high_ns", json_ns(t->high));
	json_put(o, "gpu_known_share", json_share(t->known));
	json_put(o, "samples", known ? json_count(t->samples) : json_null());
}

/* What a device and the whole GPU side have in common; all null where there is nothing. */
static void put_busy(json_t *o, const struct model_gpu_busy *b)
{
	json_t *idle_by = json_object();

	json_put(o, "busy_ns", json_ns(b ? b->busy : NAN));
	json_put(o, "busy_low_ns", json_ns(b ? b->low : NAN));
	json_put(o, "busy_high_ns", json_ns(b ? b->high : NAN));
	json_put(o, "busy_share", json_share(b ? b->busy / b->window : NAN));
	json_put(o, "comm_ns", json_ns(b ? b->comm : NAN));
	json_put(o, "idle_ns", json_ns(b ? b->idle : NAN));
	for (int i = 0; i < TF_IDLES; i++)
		json_put(idle_by, model_idle_names[i], json_ns(b ? b->by[i] : NAN));
	json_put(o, "idle_by", idle_by);
	json_put(o, "window_ns", json_ns(b ? b->window : NAN));
	json_put(o, "kernels_busy_ns", json_ns(b ? b->kernels : NAN));
	json_put(o, "copies_busy_ns", json_ns(b ? b->copies : NAN));
	json_put(o, "overlap_ns", json_ns(b ? b->overlap : NAN));
	json_put(o, "overlap_possible_ns", json_ns(b ? b->possible : NAN));
	json_put(o, "unknown_work_share", json_share(b ? b->unknown / b->work : NAN));
}

static json_t *busy_slices(const struct overview_device *d, const struct overview *p)
{
	json_t *list = json_array();

	for (size_t i = 0; i < p->count; i++)
		json_push(list, d->covered[i] > 0 ? json_share(fmin(1, d->busy[i] / p->width))
		                                  : json_null());
	return list;
}

/* The slices of one process that used the device; of several there is no one picture. */
static json_t *slices_of(const struct model *m, const struct model_gpu_device *device)
{
	const struct overview *p = m->process_count == 1 ? &m->processes[0].overview : NULL;

	for (size_t i = 0; p && i < p->device_count; i++)
		if (p->devices[i].index == device->index)
			return busy_slices(&p->devices[i], p);
	return json_null();
}

static json_t *devices(const struct model *m)
{
	json_t *list = json_array();

	for (size_t i = 0; i < m->gpu.device_count; i++) {
		const struct model_gpu_device *d = &m->gpu.devices[i];
		json_t *o = json_object();
		json_put(o, "index", json_count(d->index));
		json_put(o, "name", json_text(d->name));
		json_put(o, "host", json_text(d->host));
		json_put(o, "processes", json_count(d->processes));
		put_busy(o, d->known ? &d->time : NULL);
		json_put(o, "busy_slices", slices_of(m, d));
		json_push(list, o);
	}
	return list;
}

static json_t *pair(const struct model_pair_line *line)
{
	json_t *o = json_object();

	json_put(o, "pairs", json_count(line->count));
	json_put(o, "mean_ns", json_share(line->mean));
	json_put(o, "deviation_ns", json_share(line->deviation));
	return o;
}

static void put_kind(json_t *o, const struct model_gpu_kind *k)
{
	char date[UNIT_BYTES];
	bool calibrated = k && isfinite(k->calibrated);

	json_put(o, "null_kernel_ns", k ? json_share(k->null_kernel) : json_null());
	json_put(o, "off_ns", k ? json_share(k->off) : json_null());
	json_put(o, "measured_gpu", k ? json_boolean(k->source != KIND_UNMEASURED) : json_null());
	json_put(o, "source", json_text(k ? model_kind_source_names[k->source] : NULL));
	json_put(o, "calibrated_at", json_text(calibrated ? unit_date(date, k->calibrated) : NULL));
}

static json_t *calibration(const struct model_gpu *gpu)
{
	json_t *o = json_object();

	json_put(o, "empty_idle", pair(&gpu->empty[TF_PAIR_IDLE]));
	json_put(o, "empty_busy", pair(&gpu->empty[TF_PAIR_BUSY]));
	json_put(o, "null_idle", pair(&gpu->null[TF_PAIR_IDLE]));
	json_put(o, "null_busy", pair(&gpu->null[TF_PAIR_BUSY]));
	put_kind(o, gpu->kind.null_kernel > 0 ? &gpu->kind : NULL);
	return o;
}

static json_t *untimed(const struct model_gpu *gpu)
{
	json_t *list = json_array();

	for (size_t i = 0; i < gpu->untimed_count; i++) {
		const struct model_untimed *u = &gpu->untimed[i];
		json_t *o = json_object(), *grid = json_array(), *block = json_array();
		for (int k = 0; k < 3; k++) {
			json_push(grid, json_count(u->grid[k]));
			json_push(block, json_count(u->block[k]));
		}
		json_put(o, "kind", json_text(model_work_name(u->kind)));
		json_put(o, "name", json_text(u->name));
		json_put(o, "grid", grid);
		json_put(o, "block", block);
		json_put(o, "count", json_count(u->count));
		json_put(o, "share", json_share((double)u->count / gpu->all.sum.pieces));
		json_push(list, o);
	}
	return list;
}

json_t *out_json_gpu(const struct model *m)
{
	const struct model_gpu *gpu = &m->gpu;
	json_t *o = json_object();
	const struct {
		const char *key;
		const struct model_gpu_time *t;
	} sums[] = {{"all", &gpu->all},
	            {"kernels", &gpu->kernels},
	            {"graphs", &gpu->graphs},
	            {"copies", &gpu->copies},
	            {"sets", &gpu->sets}};
	json_t *work = json_object();

	json_put(o, "mode", json_text(m->process_count ? model_gpu_mode_name(gpu->mode) : NULL));
	json_put(o, "estimated", gpu->measured ? json_boolean(gpu->estimated) : json_null());
	json_put(o, "partial", json_boolean(gpu->partial));
	put_busy(o, gpu->has_busy ? &gpu->busy : NULL);
	for (size_t i = 0; i < sizeof(sums) / sizeof(sums[0]); i++) {
		json_t *sum = json_object();
		out_json_put_gpu_time(sum, sums[i].t);
		json_put(work, sums[i].key, sum);
	}
	json_put(o, "work", work);
	json_put(o, "launch_ns", json_ns(gpu->overhead));
	json_put(o, "launch_p50_ns", json_ns(gpu->launch_p50));
	json_put(o, "first_launches", out_json_count(m, gpu->firsts));
	json_put(o, "first_ns", json_ns(model_is_known(m) ? gpu->first : NAN));
	json_put(o, "queue_p50_ns", json_ns(gpu->queue_p50));
	json_put(o, "queue_total_ns", json_ns(gpu->queue));
	json_put(o, "queue_count", isfinite(gpu->queue) ? json_count(gpu->queued) : json_null());
	json_put(o, "launch_per_gpu", json_share(model_launch_per_gpu(gpu)));
	json_put(o, "unplaced_records", json_ns(gpu->unplaced));
	json_put(o, "calibration", calibration(gpu));
	json_put(o, "untimed", untimed(gpu));
	json_put(o, "devices", devices(m));
	return o;
}

json_t *out_json_streams(const struct model *m)
{
	if (!m->gpu.stream_count)
		return json_null();
	json_t *list = json_array();

	for (size_t i = 0; i < m->gpu.stream_count; i++) {
		const struct model_stream *s = &m->gpu.streams[i];
		char *id = alloc_format("%#llx", (unsigned long long)s->handle);
		json_t *o = json_object();
		json_put(o, "id", json_text(id));
		json_put(o, "pid", json_count(s->pid));
		json_put(o, "device", json_count(s->device));
		json_put(o, "kind", json_text(model_stream_kind(s->flags)));
		json_put(o, "kernels", json_count(s->kernels));
		json_put(o, "graphs", json_count(s->graphs));
		json_put(o, "copies", json_count(s->copies));
		json_put(o, "sets", json_count(s->sets));
		json_put(o, "kernel_ns", json_ns(s->kernel_ns));
		json_put(o, "copy_ns", json_ns(s->copy_ns));
		json_put(o, "overlapped_ns", json_ns(s->overlapped));
		json_push(list, o);
		free(id);
	}
	return list;
}
