/* SPDX-License-Identifier: Apache-2.0 */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/stats.h"
#include "report/model/model_gpu_pairs.h"
#include "report/model/model_internal.h"
#include "report/output/summary.h"
#include "report/output/text/out_page.h"
#include "shim/core/work/work_class.h"
#include "tests/unit/recording.h"
#include "shim/core/gpu_time/weights.h"
#include "tests/unit/render.h"
#include "tests/unit/unit.h"

#define WINDOW 20e6 /* ns, of made_sampled() */

static struct made made;
static struct model m;

static int setup(void **state)
{
	made_sampled(&made);
	return 0;
}

static int teardown(void **state)
{
	model_free(&m);
	made_free(&made);
	return 0;
}

static void read_made(void)
{
	made_seal(&made); /* as it stands now: of a damaged one no count is known */
	assert_true(render_model(&m, made.map.base, made_bytes(&made)));
}

static const struct model_kernel *kernel_named(const char *name)
{
	for (size_t i = 0; i < m.kernel_count; i++)
		if (!strcmp(m.kernels[i].name, name))
			return &m.kernels[i];
	fail_msg("no kernel %s", name);
	return NULL;
}

static struct tf_work *works(void)
{
	return tf_at(&made.map, made_header(&made)->works, TF_WORKS * sizeof(struct tf_work));
}

static struct tf_work *work_of(enum tf_work_kind kind, uint32_t id, uint32_t grid)
{
	for (struct tf_work *w = works(); w < works() + TF_WORKS; w++)
		if (w->kind == kind && w->id == id && w->grid_x == grid)
			return w;
	fail_msg("no such class");
	return NULL;
}

static void test_kernels(void **state)
{
	read_made();
	const struct model_kernel *fast = kernel_named("fast"), *slow = kernel_named("slow"),
	                          *never = kernel_named("never");
	assert_near(fast->gpu.total, 1000 * 3000 + 500 * 5000, 1e-9);
	assert_near(fast->gpu.mean, 5.5e6 / 1500, 1e-9);
	assert_int_equal(fast->gpu.samples, 25);
	assert_near(fast->gpu.known, 1, 1e-9);
	double random = pow(1000 * stats_student_95(15) * 100 / 4, 2) +
	                pow(500 * stats_student_95(8) * 90 / 3, 2);
	double shared = 1000 * stats_student_95(19) * 40 / sqrt(20) +
	                500 * stats_student_95(4) * 30 / sqrt(5);
	double half = sqrt(random + shared * shared +
	                   pow(1000 * hypot(250, 0.01 * 3000) + 500 * hypot(250, 0.01 * 5000), 2));
	assert_near(fast->gpu.high - fast->gpu.total, half, 1e-6);
	assert_near(fast->gpu.total - fast->gpu.low, half, 1e-6);
	assert_near(slow->gpu.total, 1e7, 1e-9);
	assert_true(slow->gpu.high - slow->gpu.total >= 5e6); /* one sample */
	assert_true(isnan(never->gpu.total) && isnan(never->gpu.low) && isnan(never->gpu.mean));
	assert_near(never->gpu.known, 0, 0);
	/* Launches: 6.44 ms less 0.104 of first ones, of which the timeline says 5 / 6.356 is
	 * overhead (graphs too). */
	assert_near(m.gpu.overhead, 5e6, 1e-9);
	assert_near(m.gpu.first, 104000, 1e-9);
	assert_near(fast->overhead, (6e6 - 50000) * 5e6 / 6.356e6, 1e-9);
	assert_int_equal(fast->queued, 1000);
	assert_near(fast->queue_p50, 2000, 0.03);
	assert_near(fast->queue, 2e6, 1e-9);
	assert_true(isnan(slow->queue_p50) && isnan(slow->queue));
	assert_near(shape_occupancy(&fast->most), 0.5, 1e-9);
	assert_true(isnan(shape_occupancy(&slow->most)));
	assert_int_equal(m.gpu.untimed_count, 1);
	assert_string_equal(m.gpu.untimed[0].name, "never");
	assert_int_equal(m.gpu.untimed[0].count, 10);
}

static void test_program(void **state)
{
	read_made();
	const struct model_gpu *gpu = &m.gpu;
	assert_true(gpu->measured && gpu->estimated && !gpu->partial);
	assert_near(gpu->kernels.total, 15.5e6, 1e-9);
	assert_near(gpu->graphs.total, 0.25e6, 1e-9);
	assert_near(gpu->copies.total, 1.6e6 + 0.21875e6, 1e-5);
	assert_near(gpu->sets.total, 4000, 1e-9);
	assert_near(gpu->all.total, 15.5e6 + 0.25e6 + 1.81875e6 + 4000, 1e-5);
	assert_near(gpu->all.known, 1637.0 / 1647, 1e-9);
	assert_true(gpu->all.low > 0 && gpu->all.low < gpu->all.total);
	assert_near(gpu->busy.busy, 16e6, 1e-9);
	assert_near(gpu->busy.low, 16e6 * gpu->all.low / gpu->all.total, 1e-9);
	assert_true(gpu->busy.high <= WINDOW);
	assert_near(gpu->busy.comm, 0.5e6, 1e-9);
	assert_near(gpu->busy.idle, 4e6, 1e-12);
	assert_near(gpu->busy.by[TF_IDLE_SYNC], 1.5e6, 1e-12);
	assert_near(gpu->busy.by[TF_IDLE_UNKNOWN], 1e6, 1e-12);
	assert_near(gpu->busy.overlap, 1.4e6, 1e-9);
	assert_int_equal(gpu->device_count, 1);
	assert_true(gpu->devices[0].known);
	assert_int_equal(gpu->stream_count, 2);
	assert_near(gpu->streams[1].overlapped, 1.4e6, 1e-9);
	assert_near(gpu->null[TF_PAIR_IDLE].mean, 2700, 1e-9);
	assert_near(gpu->null[TF_PAIR_IDLE].deviation, 40, 1e-6);
	assert_int_equal(gpu->empty[TF_PAIR_BUSY].count, 0);
	assert_true(isnan(gpu->empty[TF_PAIR_BUSY].mean));
}

static const struct model_copy *copy_row(enum spy_direction direction)
{
	for (size_t i = 0; i < m.copy_count; i++)
		if (m.copies[i].direction == direction)
			return &m.copies[i];
	fail_msg("no copy");
	return NULL;
}

/* The bytes of copies that were never timed did not go in the time of the others. */
static void test_rate_of_copies(void **state)
{
	struct tf_work key = {.kind = TF_WORK_COPY,
	                      .direction = SPY_DIR_DTOD,
	                      .memory = SPY_MEM_DEVICE,
	                      .async = 1,
	                      .size = work_size_bucket(4096)};
	struct tf_work *timed = made_work(&made, key, 5);

	timed->bytes = 5 * 4096;
	made_pairs(timed, TF_PAIR_IDLE, 4, 6110, 50);
	key.size = work_size_bucket(1 << 30);
	made_work(&made, key, 10)->bytes = 10ull << 30;
	const uint64_t *first =
	        tf_entry(&made.map, &made_header(&made)->threads, 0, sizeof(*first));
	made_copies(tf_at(&made.map, *first, sizeof(struct tf_thread)), SPY_DIR_DTOD,
	            SPY_MEM_DEVICE, true, 15, (10ull << 30) + 5 * 4096, 15000);
	read_made();
	const struct model_copy *c = copy_row(SPY_DIR_DTOD);
	assert_near(c->gpu.known, 5.0 / 15, 1e-9);
	assert_near(c->timed_bytes, 5 * 4096, 1e-9);
}

static struct tf_graph *graph_at(uint32_t number)
{
	return tf_entry(&made.map, &made_header(&made)->graphs, number, sizeof(struct tf_graph));
}

static const struct model_graph *graph_row(uint64_t handle)
{
	for (size_t i = 0; i < m.graph_count; i++)
		if (m.graphs[i].handle == handle)
			return &m.graphs[i];
	fail_msg("no graph");
	return NULL;
}

/* The five launches of a class are of two graphs, 50 us each; a third graph did that and something
 * else. */
static void test_graphs_that_share_a_class(void **state)
{
	read_made();
	double half = m.gpu.graphs.high - m.gpu.graphs.total;
	model_free(&m);
	uint32_t second = made_graph(&made, 0x2000, 1), third = made_graph(&made, 0x3000, 1);
	work_of(TF_WORK_GRAPH, 0, 0)->id = TF_GRAPH_ALIKE;
	graph_at(0)->launches = 3;
	graph_at(second)->launches = 2;
	graph_at(0)->content = graph_at(second)->content = 1;
	graph_at(third)->launches = 7;
	graph_at(third)->content = TF_GRAPH_SEVERAL;
	read_made();
	assert_near(graph_row(0x7f00beef)->gpu.total, 0.15e6, 1e-9);
	assert_near(graph_row(0x2000)->gpu.total, 0.1e6, 1e-9);
	assert_near(graph_row(0x2000)->gpu.mean, 0.05e6, 1e-9);
	assert_true(isnan(graph_row(0x3000)->gpu.total) && isnan(graph_row(0x3000)->gpu.low));
	assert_near(m.gpu.graphs.total, 0.25e6, 1e-9);
	assert_int_equal(m.gpu.graphs.samples, 2);
	/* They are off together. */
	assert_near(m.gpu.graphs.high - m.gpu.graphs.total, half, 1e-9);
}

/* A damaged table of graphs, or of classes. */
static void test_graphs_of_no_content(void **state)
{
	static const uint32_t ids[] = {UINT32_MAX, TF_GRAPH_ALIKE, TF_GRAPH_ALIKE | 1, 1,
	                               0x7fffffff},
	                      contents[] = {0, 1, 2, 3, UINT32_MAX - 1, UINT32_MAX};

	for (unsigned i = 0; i < 5; i++)
		for (unsigned k = 0; k < 6; k++) {
			made_sampled(&made);
			work_of(TF_WORK_GRAPH, 0, 0)->id = ids[i];
			graph_at(0)->content = contents[k];
			graph_at(0)->launches = UINT64_MAX;
			read_made();
			assert_near(m.gpu.graphs.total, 0.25e6, 1e-9);
			double row = m.graphs[0].gpu.total;
			assert_true(isnan(row) || (row >= 0 && row <= 0.25e6 * 1.000001));
			teardown(state);
		}
	made_sampled(&made);
}

/* Records were lost: the classes have half of the launches, the exact counts have all. */
static void test_thinned(void **state)
{
	work_of(TF_WORK_KERNEL, 1, 64)->count /= 2;
	work_of(TF_WORK_KERNEL, 1, 128)->count /= 2;
	work_of(TF_WORK_GRAPH, 0, 0)->count = 1;
	read_made();
	assert_near(kernel_named("fast")->gpu.total, 5.5e6, 1e-9);
	assert_near(m.gpu.graphs.total, 0.25e6, 1e-9);
}

/* Of a kernel whose classes were not all timed: below 5 % the others stand for them, from there on
 * the figure says what share it stands for. */
static void test_partly_timed(void **state)
{
	struct tf_work *w = work_of(TF_WORK_KERNEL, 1, 128);

	memset(w->pairs, 0, sizeof(w->pairs));
	read_made();
	assert_near(kernel_named("fast")->gpu.total, 3e6, 1e-9);
	assert_near(kernel_named("fast")->gpu.mean, 3000, 1e-9);
	assert_near(kernel_named("fast")->gpu.known, 2.0 / 3, 1e-9);
	assert_int_equal(m.gpu.untimed_count, 2);
	model_free(&m);
	w->count = 60;
	work_of(TF_WORK_KERNEL, 1, 64)->count = 1440;
	read_made();
	const struct model_gpu_time *t = &kernel_named("fast")->gpu;
	assert_near(t->total, 1500 * 3000, 1e-9);
	assert_near(t->known, 1, 1e-9);
	assert_true(t->total - t->low >= 60 * 3000); /* they may have taken no time */
}

/* CUPTI's times are exact: no interval, no samples, nothing said to be estimated. */
static void test_exact(void **state)
{
	made_header(&made)->gpu_mode = TF_GPU_CUPTI;
	for (struct tf_work *w = works(); w < works() + TF_WORKS; w++) {
		memset(w->pairs, 0, sizeof(w->pairs));
		w->exact_count = w->count;
		w->exact_ns = (double)w->count * 1000;
	}
	work_of(TF_WORK_KERNEL, 1, 64)->exact_count = 900; /* 100 records were dropped */
	read_made();
	const struct model_gpu_time *t = &kernel_named("fast")->gpu;
	assert_false(m.gpu.estimated);
	assert_near(t->total, 1.5e6, 1e-9);
	assert_near(t->low, t->total, 0);
	assert_near(t->high, t->total, 0);
	assert_near(t->known, 1400.0 / 1500, 1e-9);
	assert_int_equal(t->samples, 0);
	assert_near(m.gpu.busy.low, 16e6, 0);
	assert_near(m.gpu.busy.high, 16e6, 0);
	struct rendered r;
	assert_true(render(&r, made.map.base, made_bytes(&made)));
	assert_null(strstr(r.text, "estimated"));
	assert_non_null(strstr(r.text, "exact, by CUPTI"));
	rendered_free(&r);
}

static json_t *at(json_t *value, const char *path)
{
	char copy[128], *rest = NULL;

	snprintf(copy, sizeof(copy), "%s", path);
	for (char *word = strtok_r(copy, ".", &rest); word; word = strtok_r(NULL, ".", &rest))
		value = json_is_array(value) ? json_array_get(value, (size_t)atoi(word))
		                             : json_object_get(value, word);
	if (!value)
		fail_msg("nothing at %s", path);
	return value;
}

static json_t *rendered_json(void)
{
	struct rendered r;

	made_seal(&made);
	assert_true(render(&r, made.map.base, made_bytes(&made)));
	json_t *root = json_loads(r.json, JSON_REJECT_DUPLICATES, NULL);
	assert_non_null(root);
	rendered_free(&r);
	return root;
}

/* Without GPU time every figure of it is null, and never 0. */
static void test_off(void **state)
{
	static const char *const null[] = {
	        "gpu.busy_ns",
	        "gpu.busy_low_ns",
	        "gpu.busy_share",
	        "gpu.comm_ns",
	        "gpu.idle_ns",
	        "gpu.idle_by.sync",
	        "gpu.idle_by.unknown",
	        "gpu.estimated",
	        "gpu.launch_ns",
	        "gpu.work.all.gpu_total_ns",
	        "gpu.devices.0.busy_ns",
	        "gpu.devices.0.idle_by.launch",
	        "gpu.devices.0.busy_slices",
	        "kernels.0.gpu_total_ns",
	        "kernels.0.queue_p50_ns",
	        "kernels.0.queue_count",
	        "kernels.0.samples",
	        "kernels.0.launch_ns",
	        "copies.0.gpu_total_ns",
	        "copies.0.gpu_bytes_per_s",
	        "graphs.0.gpu_total_ns",
	        "streams.0.kernel_ns",
	        "host.back_pressure_ns",
	        "host.sync_useful_ns",
	        "totals.implicit_syncs",
	};

	made_header(&made)->gpu_mode = TF_GPU_OFF;
	json_t *root = rendered_json();
	for (size_t i = 0; i < sizeof(null) / sizeof(null[0]); i++)
		if (!json_is_null(at(root, null[i])))
			fail_msg("%s is not null", null[i]);
	assert_string_equal(json_string_value(at(root, "gpu.mode")), "off");
	json_decref(root);
}

/* While it was waited for it worked: what is open is the rest, and what the waits are no work of.
 */
static void test_busy_while_waited_for(void **state)
{
	struct tf_device_time *d =
	        tf_at(&made.map, made_header(&made)->devices_time[0], sizeof(*d));

	d->work = 100; /* else what is between its pieces is as long as the waits */
	d->work_unknown = 0;
	read_made();
	double waits = m.host.sync_useful + m.host.back_pressure,
	       ratio = m.gpu.all.low / m.gpu.all.total;
	double pauses = 100 * 750 + (double)m.totals.copies * 4000 +
	                (double)(m.totals.syncs + m.totals.implicit_syncs) * 5000;
	assert_near(waits, 4e6, 1e-9);
	assert_true(4e6 - pauses > 4e6 * ratio);
	assert_near(m.gpu.busy.low, 4e6 - pauses + 12e6 * ratio, 1e-9);
	assert_near(m.gpu.devices[0].time.low, m.gpu.busy.low, 1e-9);
}

/* Where it is not known how long the host waited, that proves nothing. */
static void test_busy_without_waits(void **state)
{
	const struct tf_table *threads = &made_header(&made)->threads;

	for (uint32_t i = 0; i < threads->count; i++) {
		const uint64_t *at = tf_entry(&made.map, threads, i, sizeof(*at));
		struct tf_thread *t = tf_at(&made.map, *at, sizeof(*t));
		memset(t->split_ticks, 0, sizeof(t->split_ticks));
	}
	read_made();
	assert_true(isnan(m.host.sync_useful));
	assert_near(m.gpu.busy.low, 16e6 * m.gpu.all.low / m.gpu.all.total, 1e-9);
}

/* What was guessed while the work ran opens the interval no further than what the work took: on one
 * stream it ran one after the other, on two half of it beside the other half at most. */
static void test_busy_for_what_the_stream_took(void **state)
{
	struct tf_device_time *d =
	        tf_at(&made.map, made_header(&made)->devices_time[0], sizeof(*d));

	d->guessed_ticks = d->total.busy;
	made_header(&made)->streams.count = 1;
	made_header(&made)->timeline_unknown = 1; /* work of streams that had no place */
	read_made();
	double open = m.gpu.busy.low, gaps = m.gpu.busy.work * 750;
	double least =
	        fmin(m.gpu.all.low - gaps, m.gpu.busy.busy * m.gpu.all.low / m.gpu.all.total);
	assert_true(open < least);
	model_free(&m);

	made_header(&made)->timeline_unknown = 0;
	read_made();
	assert_near(m.gpu.busy.low, least, 1e-9);
	assert_near(m.gpu.devices[0].time.low, least, 1e-9);
	model_free(&m);

	made_header(&made)->streams.count = 2; /* the other one has copies alone */
	read_made();
	double kernels =
	        m.gpu.launched.low - (double)(m.totals.launches + m.totals.graph_launches) * 750;
	assert_near(m.gpu.busy.low, kernels, 1e-9);
	model_free(&m);

	const struct tf_table *streams = &made_header(&made)->streams;
	const struct tf_stream *one = tf_entry(&made.map, streams, 0, sizeof(*one));
	struct tf_stream *other = tf_entry(&made.map, streams, 1, sizeof(*other));
	other->kernel_ticks = one->kernel_ticks / 9; /* the busiest one has nine tenths */
	read_made();
	assert_near(m.gpu.busy.low, 0.9 * kernels, 1e-6);
	assert_true(0.9 * kernels > m.gpu.all.low / 2 - gaps);
	assert_true(model_busy_least(&m).low == 0); /* in a phase it may be another one */
}

/* The same where the mode was sample and no sample came. */
static void test_no_samples(void **state)
{
	struct tf_header *h = made_header(&made);

	memset(works(), 0, TF_WORKS * sizeof(struct tf_work));
	h->devices_time[0] = 0;
	json_t *root = rendered_json();
	assert_true(json_is_null(at(root, "gpu.busy_ns")));
	assert_true(json_is_null(at(root, "gpu.estimated")));
	assert_true(json_is_null(at(root, "kernels.0.gpu_total_ns")));
	assert_true(json_is_null(at(root, "host.back_pressure_ns")));
	assert_true(json_is_null(at(root, "host.sync_useful_ns")));
	assert_true(json_is_null(at(root, "totals.implicit_syncs")));
	json_decref(root);
}

static json_int_t whole(json_t *root, const char *path)
{
	return json_integer_value(at(root, path));
}

/* Sums that a script may rely on: to the nanosecond, whatever the clock's rate. */
static void test_json_sums(void **state)
{
	struct tf_header *h = made_header(&made);
	struct tf_device_time *d = tf_at(&made.map, h->devices_time[0], sizeof(*d));
	struct tf_clock_triple *last = tf_entry(&made.map, &h->clocks, 1, sizeof(*last));

	last->monotonic_ns += 1234567;
	for (int i = 0; i < TF_IDLES; i++)
		d->total.idle[i] += (uint64_t)i * 7777;
	json_t *root = rendered_json();
	const char *key;
	json_t *value;
	json_int_t sum = 0;
	json_object_foreach(at(root, "gpu.idle_by"), key, value) sum += json_integer_value(value);
	assert_int_equal(sum, whole(root, "gpu.idle_ns"));
	double window = (double)whole(root, "window_ns");
	assert_near((double)(whole(root, "gpu.idle_ns") + whole(root, "gpu.busy_ns")), window,
	            1e-6);
	assert_near(json_real_value(at(root, "gpu.busy_share")),
	            (double)whole(root, "gpu.busy_ns") / window, 1e-6);
	assert_true(json_is_true(at(root, "gpu.estimated")));
	assert_int_equal(json_array_size(at(root, "gpu.devices.0.busy_slices")), 22);
	assert_near(json_real_value(at(root, "gpu.devices.0.busy_slices.20")), 0.9, 1e-6);
	assert_int_equal(whole(root, "totals.implicit_syncs"), 7);
	assert_string_equal(json_string_value(at(root, "streams.1.kind")), "non_blocking");
	assert_string_equal(json_string_value(at(root, "gpu.untimed.0.name")), "never");
	assert_int_equal(whole(root, "gpu.calibration.null_idle.pairs"), 20);
	json_decref(root);
}

/* Two processes of one device: their windows and times add up. */
static void test_two_processes(void **state)
{
	char error[READER_ERROR_BYTES];

	for (uint64_t pid = 1; pid <= 2; pid++) {
		struct recording r;
		made_header(&made)->pid = pid;
		assert_int_equal(recording_from_memory(&r, made.map.base, made_bytes(&made),
		                                       &m.warnings, error),
		                 0);
		model_add(&m, &r);
		recording_close(&r);
	}
	model_finish(&m);
	assert_near(m.gpu.all.total, 2 * 17.57275e6, 1e-5);
	assert_near(kernel_named("fast")->gpu.total, 11e6, 1e-9);
	assert_int_equal(m.gpu.device_count, 1);
	assert_int_equal(m.gpu.devices[0].processes, 2);
	assert_near(m.gpu.busy.window, 2 * WINDOW, 1e-9);
	assert_near(m.gpu.busy.busy, 32e6, 1e-9);
	assert_near(m.gpu.busy.idle, 8e6, 1e-9);
}

/* A damaged file: no figure leaves its bounds, nothing is infinite, no sanitizer speaks. */
static void test_hostile(void **state)
{
	struct tf_header *h = made_header(&made);
	struct tf_device_time *d = tf_at(&made.map, h->devices_time[0], sizeof(*d));

	work_of(TF_WORK_KERNEL, 1, 64)->pairs[0].sum_ns = NAN;
	work_of(TF_WORK_KERNEL, 1, 128)->pairs[1].sum_squares = -INFINITY;
	work_of(TF_WORK_KERNEL, 2, 64)->count = UINT64_MAX;
	work_of(TF_WORK_KERNEL, 3, 7)->id = UINT32_MAX;
	struct tf_work *graph = work_of(TF_WORK_GRAPH, 0, 0);
	graph->id = UINT32_MAX;
	graph->pairs[0].count = UINT32_MAX;
	for (struct tf_work *w = works(); w < works() + TF_WORKS; w++)
		if (w->kind == TF_WORK_COPY)
			w->direction = w->memory = 0xff;
	memset(&d->total, 0xff, sizeof(d->total));
	memset(&d->slices, 0xff, sizeof(d->slices));
	struct tf_slices *s = tf_at(&made.map, h->slices, sizeof(*s));
	s->used = UINT64_MAX;
	h->devices_time[7] = UINT64_MAX;
	h->devices_time[15] = h->devices_time[0];
	h->stall_ns = UINT64_MAX;
	struct tf_stream *stream = tf_entry(&made.map, &h->streams, 0, sizeof(*stream));
	memset(stream, 0xff, sizeof(*stream));
	read_made();
	assert_true(isnan(kernel_named("fast")->gpu.total));
	assert_true(m.gpu.busy.busy <= 2 * WINDOW && m.gpu.busy.idle >= 0);
	double sum = 0;
	for (int i = 0; i < TF_IDLES; i++) {
		assert_true(m.gpu.busy.by[i] >= 0);
		sum += m.gpu.busy.by[i];
	}
	assert_near(sum, m.gpu.busy.idle, 0);
	assert_int_equal(m.warnings.count, 1);
	struct rendered r;
	assert_true(render(&r, made.map.base, made_bytes(&made)));
	const char *const outputs[] = {r.text, r.markdown, r.csv};
	for (size_t i = 0; i < sizeof(outputs) / sizeof(outputs[0]); i++)
		assert_true(!strstr(outputs[i], " nan") && !strstr(outputs[i], " inf") &&
		            !strstr(outputs[i], "-nan"));
	json_t *root = json_loads(r.json, 0, NULL);
	assert_non_null(root);
	json_decref(root);
	rendered_free(&r);
}

/* The text: what a reader looks for, in 80 columns of ASCII. */
/* Classes whose pieces differ, those that lost many samples, and a GPU that nobody measured. */
static void test_doubtful(void **state)
{
	struct tf_weights *w = weights_make(&made.map, work_of(TF_WORK_KERNEL, 1, 64));
	struct weights_series series = {.nth = 0};
	struct rendered r;

	assert_non_null(w);
	for (uint64_t i = 1; i <= 20; i++)
		weights_add(w, &series, i * 50, i * 50, TF_PAIR_IDLE, i % 2 ? 3110 : 9110);
	w->tries = 40;
	const struct tf_work small = {.kind = TF_WORK_SET, .size = 20},
	                     large = {.kind = TF_WORK_SET, .size = 40};
	made_work(&made, small, 2)->bytes = 128;
	made_work(&made, large, 3)->bytes = 3 * 4096;
	assert_true(render(&r, made.map.base, made_bytes(&made)));
	char *flat = strdup(r.text);
	for (char *c = flat; *c; c++)
		if (!strncmp(c, "\n  ", 3))
			memmove(c + 1, c + 3, strlen(c + 3) + 1), *c = ' ';
	assert_non_null(
	        strstr(flat, "that differs in duration: 1 kind; most time is of fast 64,1,1"));
	assert_non_null(strstr(flat, "memsets of about 4.00KiB ("));
	assert_non_null(strstr(flat, "memsets of about 64B ("));
	assert_non_null(strstr(
	        flat, "samples or more were lost, so that the rest may not be typical: 1 kind"));
	free(flat);
	json_t *root = json_loads(r.json, 0, NULL), *works = json_object_get(root, "works"), *one;
	size_t i, mixed = 0, lossy = 0;
	json_array_foreach(works, i, one)
	{
		mixed += json_is_true(json_object_get(one, "mixed"));
		lossy += json_is_true(json_object_get(one, "lossy"));
	}
	assert_int_equal(mixed, 1);
	assert_int_equal(lossy, 1);
	assert_true(json_is_boolean(at(root, "gpu.calibration.measured_gpu")));
	json_decref(root);
	rendered_free(&r);
}

static void test_text(void **state)
{
	static const char *const told[] = {
	        "The run, ",
	        "GPU 0     ",
	        "estimated from samples",
	        "80.0  ================  busy: estimated",
	        "idle: the host was waiting",
	        "idle: cause unknown",
	        "ran beside kernels for 1.40 ms of the 1.80 ms in which they could have (77.8 %)",
	        "Never sampled, so missing from GPU times: 1 kind of work",
	        "39 samples 240us",
	        "an empty kernel between the events of a sample took 2.70 us on idle streams (20 "
	        "times)",
	        "back-pressure: the queue was full",
	        "wasted: it had none left",
	        "waited for the GPU): 7",
	        "ALL KERNELS AND GRAPHS",
	        "First launches (lazy loading), apart: 3, 104us",
	        "Low occupancy",
	        "64,1,1 x 256,1,1",
	        "non_blocking",
	};
	struct rendered r;

	made_seal(&made);
	assert_true(render(&r, made.map.base, made_bytes(&made)));
	char *flat = strdup(r.text); /* sentences may be wrapped anywhere */
	for (char *c = flat; *c; c++)
		if (!strncmp(c, "\n  ", 3) && c[3] != ' ')
			memmove(c + 1, c + 3, strlen(c + 3) + 1), *c = ' ';
	for (size_t i = 0; i < sizeof(told) / sizeof(told[0]); i++)
		if (!strstr(r.text, told[i]) && !strstr(flat, told[i]))
			fail_msg("the text does not say: %s", told[i]);
	free(flat);
	for (const char *line = r.text; *line;) {
		size_t n = strcspn(line, "\n");
		if (n > 80)
			fail_msg("%zu columns: %.*s", n, (int)n, line);
		line += n + 1;
	}
	rendered_free(&r);
}

/* Two devices: a row of each, and the program's share of both windows. */
static void test_two_devices(void **state)
{
	struct tf_device_time *d = made_device_time(&made, 1);

	made_device(&made, "NVIDIA H200", false);
	d->total.busy = 4000000; /* 2 ms */
	d->total.idle[TF_IDLE_DEPENDENCY] = 36000000;
	d->from = made_header(&made)->window_start;
	d->work = 5;
	read_made();
	assert_int_equal(m.gpu.device_count, 2);
	assert_near(m.gpu.devices[1].time.busy, 2e6, 1e-9);
	assert_near(m.gpu.devices[1].time.by[TF_IDLE_DEPENDENCY], 18e6, 1e-9);
	assert_near(m.gpu.busy.busy, 18e6, 1e-9);
	assert_near(m.gpu.busy.window, 2 * WINDOW, 1e-9);
	assert_near(m.gpu.busy.overlap, 1.4e6, 1e-9); /* the other device has no part in it */
	struct rendered r;
	assert_true(render(&r, made.map.base, made_bytes(&made)));
	assert_non_null(strstr(r.text, "GPU 1 "));
	assert_non_null(strstr(r.text, "added up, 40.0ms"));
	assert_non_null(strstr(r.text, "idle: work waited for other work"));
	rendered_free(&r);
}

/* The timeline has the device busy for longer than all its work took: the range has that too. */
static void test_stretched(void **state)
{
	struct tf_work *slow = work_of(TF_WORK_KERNEL, 2, 64);

	made_pairs(slow, TF_PAIR_IDLE, 20, 12110, 0); /* 100 of 10 us */
	read_made();
	assert_true(m.gpu.stretched);
	assert_near(m.gpu.busy.low, m.gpu.all.low, 0);
	assert_near(m.gpu.devices[0].time.low, m.gpu.all.low, 0);
	assert_near(m.gpu.busy.busy, 16e6, 1e-9);
}

/* Where a tenth of the work was of unknown duration, it may be what lasted: the range has what all
 * work took once that is far below. */
static void test_stretched_beside_unknown_work(void **state)
{
	static const struct {
		double pair;
		bool stretched;
	} rows[] = {{76110, false}, {12110, true}}; /* 100 pieces of 74 us, of 10 us */
	struct tf_device_time *d =
	        tf_at(&made.map, made_header(&made)->devices_time[0], sizeof(*d));

	d->work_unknown = d->work / 10;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		made_pairs(work_of(TF_WORK_KERNEL, 2, 64), TF_PAIR_IDLE, 20, rows[i].pair, 0);
		read_made();
		assert_true(m.gpu.busy.busy > m.gpu.all.high);
		assert_int_equal(m.gpu.stretched, rows[i].stretched);
		if (rows[i].stretched)
			assert_near(m.gpu.busy.low, m.gpu.all.low, 0);
		model_free(&m);
	}
	read_made();
}

/* A device whose work has no known duration is not idle: nothing is known of it. Where the samples
 * came when it was over, the waits told how long it was busy, but for what was guessed. */
static void test_unknown_device(void **state)
{
	struct tf_device_time *d =
	        tf_at(&made.map, made_header(&made)->devices_time[0], sizeof(*d));
	struct tf_work *works =
	        tf_at(&made.map, made_header(&made)->works, TF_WORKS * sizeof(*works));

	d->work_unknown = d->work;
	d->guessed_ticks = d->total.busy / 2;
	made_header(&made)->timeline_unknown = 1; /* nor what its streams did */
	read_made();
	assert_true(m.gpu.has_busy);
	assert_true(m.gpu.busy.low <= m.gpu.busy.busy / 2);
	model_free(&m);
	memset(works, 0, TF_WORKS * sizeof(*works));
	json_t *root = rendered_json();
	assert_true(json_is_null(at(root, "gpu.busy_ns")));
	assert_true(json_is_null(at(root, "gpu.devices.0.idle_ns")));
	json_decref(root);
}

/* Nor is anything known of its streams, where a class of few launches alone was timed. */
static void test_streams_of_an_unknown_device(void **state)
{
	struct tf_device_time *d =
	        tf_at(&made.map, made_header(&made)->devices_time[0], sizeof(*d));

	d->work_unknown = d->work;
	for (struct tf_work *w = works(); w < works() + TF_WORKS; w++)
		if (w != work_of(TF_WORK_KERNEL, 2, 64))
			w->pairs[0].count = w->pairs[1].count = 0;
	read_made();
	assert_true(m.gpu.stream_count > 0);
	assert_true(m.gpu.streams[0].kernels > 0);
	assert_true(isnan(m.gpu.streams[0].kernel_ns));
	assert_true(isnan(m.gpu.streams[0].overlapped));
}

/* A copy that the timeline lets last until a late wait: the streams' copies together take what the
 * copies' and sets' classes do, the ones where a piece took longest less; the device as seen. */
static void test_a_stretched_copy(void **state)
{
	struct tf_stream *s = tf_entry(&made.map, &made_header(&made)->streams, 0, sizeof(*s));
	struct tf_device_time *d =
	        tf_at(&made.map, made_header(&made)->devices_time[0], sizeof(*d));

	read_made();
	double all = m.gpu.copies.total / m.gpu.copies.known +
	             (m.totals.sets ? m.gpu.sets.total / m.gpu.sets.known : 0),
	       busy = m.gpu.busy.busy, others = 0;
	size_t streams = m.gpu.stream_count;
	assert_true(all > 0);
	for (size_t i = 1; i < streams; i++)
		others += m.gpu.streams[i].copy_ns;
	assert_true(others < all);
	model_free(&m);
	s->copies = s->copies ? s->copies : 1;
	s->copy_ticks = 30000000; /* 15 ms */
	s->overlapped_ticks = 30000000;
	d->total.copies = d->total.busy;
	read_made();
	double sum = 0;
	for (size_t i = 0; i < streams; i++) {
		sum += m.gpu.streams[i].copy_ns;
		assert_true(m.gpu.streams[i].overlapped <= m.gpu.streams[i].copy_ns);
	}
	assert_near(sum, all, 1e-3);
	assert_near(m.gpu.busy.copies, all, 1e-3);
	assert_true(m.gpu.busy.possible <= m.gpu.busy.copies);
	assert_true(m.gpu.busy.overlap <= m.gpu.busy.possible);
	assert_near(m.gpu.busy.busy, busy, 0);
}

/* Nor may a copy last beside sets of which none was timed: these take what they are guessed to. */
static void test_a_stretched_copy_beside_untimed_sets(void **state)
{
	struct tf_stream *s = tf_entry(&made.map, &made_header(&made)->streams, 0, sizeof(*s));
	double sum = 0, sets = 0;

	s->copies = s->copies ? s->copies : 1;
	s->copy_ticks = 30000000; /* 15 ms */
	for (struct tf_work *w = works(); w < works() + TF_WORKS; w++)
		if (w->kind == TF_WORK_SET) {
			w->pairs[0].count = w->pairs[1].count = 0;
			sets += (double)w->count * 1000 + (double)w->bytes / 1000;
		}
	read_made();
	assert_true(m.totals.sets > 0);
	assert_true(isnan(m.gpu.sets.total));
	for (size_t i = 0; i < m.gpu.stream_count; i++)
		sum += m.gpu.streams[i].copy_ns;
	assert_near(sum, m.gpu.copies.total / m.gpu.copies.known + sets, 1e-6);
}

/* Kernels that the timeline moved when it had counted them: all streams' kernels together take what
 * their classes do, each stream its share. */
static void test_kernels_counted_twice(void **state)
{
	struct tf_table *streams = &made_header(&made)->streams;
	struct tf_stream *s[2] = {tf_entry(&made.map, streams, 0, sizeof(*s[0])),
	                          tf_entry(&made.map, streams, 1, sizeof(*s[1]))};

	s[0]->kernel_ticks = 300000000; /* 150 ms in a window of 20 */
	s[1]->kernel_ticks = 100000000;
	read_made();
	assert_int_equal(m.gpu.stream_count, 2);
	assert_int_equal(m.gpu.streams[0].kernels + m.gpu.streams[0].graphs +
	                         m.gpu.streams[1].kernels + m.gpu.streams[1].graphs,
	                 m.totals.launches + m.totals.graph_launches);
	assert_near(m.gpu.streams[0].kernel_ns, 0.75 * m.gpu.launched.total, 1e-6);
	assert_near(m.gpu.streams[1].kernel_ns, 0.25 * m.gpu.launched.total, 1e-6);
}

/* What cannot be told from nothing is no 0. */
static void test_time_too_short_to_tell(void **state)
{
	const struct model_gpu_time brief = {.total = 0, .low = 0, .high = 5000, .known = 1};
	const struct model_gpu_time work = {.total = 5000, .low = 4500, .high = 5500, .known = 1};
	static const struct text_layout_column columns[] = {{"GPU", false}, {"+-%", false}};
	struct text_layout page = {.to = tmpfile(), .markdown = true};
	struct text_layout_table t;

	table_start(&t, columns, 2);
	out_page_gpu_cells(&t, &brief);
	assert_string_equal(t.cells[0], "<5.00us");
	assert_string_equal(t.cells[1], "n/a");
	out_page_gpu_cells(&t, &work);
	assert_string_equal(t.cells[2], "5.00us");
	assert_string_equal(t.cells[3], "10.0");
	table_print(&t, &page);
	fclose(page.to);
}

/* In the first screen, under what is not known. */
static bool is_told_to_calibrate(void)
{
	struct analysis a;
	struct summary s;
	bool told = false;

	analysis_make(&a, &m, m.phases.main);
	summary_make(&s, &m, &a);
	for (size_t i = 0; i < s.gap_count; i++)
		told |= !strcmp(s.gaps[i].how, "cudaspy calibrate");
	summary_free(&s);
	analysis_free(&a);
	return told;
}

/* Where the figure is from that no run can measure: the report says it, and what to do about it. */
static void test_kind_of_gpu(void **state)
{
	static const struct {
		const char *name;
		uint32_t null, off;
		const char *text, *json;
		bool told;
	} rows[] = {
	        {"NVIDIA H200", 0, 0, "590 ns +- 250 ns are the kernel, by CUPTI on another GPU",
	         "\"source\": \"built-in\"", false},
	        {"NVIDIA A100", 0, 0, "This kind of GPU was not measured",
	         "\"source\": \"not measured\"", true},
	        {"NVIDIA A100", 1010, 320, "1.01 us +- 320 ns are the kernel, by CUPTI on this",
	         "\"source\": \"calibrated\"", false},
	};
	struct tf_device *d = tf_entry(&made.map, &made_header(&made)->devices, 0, sizeof(*d));
	struct rendered r;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		strcpy(d->name, rows[i].name);
		d->null_kernel_ns = rows[i].null;
		d->off_ns = rows[i].off;
		d->calibrated = rows[i].null ? 1763888888 : 0;
		assert_true(render(&r, made.map.base, made_bytes(&made)));
		for (char *at = r.text; (at = strstr(at, "\n  ")); at++)
			memmove(at + 1, at + 3, strlen(at + 3) + 1); /* lines as one */
		for (char *at = r.text; (at = strchr(at, '\n')); at++)
			*at = ' ';
		assert_non_null(strstr(r.text, rows[i].text));
		assert_non_null(strstr(r.json, rows[i].json));
		rendered_free(&r);
		model_free(&m);
		read_made();
		assert_int_equal(is_told_to_calibrate(), rows[i].told);
		/* Where nobody measured the kind all classes are off the same way. */
		assert_true((m.processes[0].call_log.off_apart > 0) == !rows[i].told);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test_setup_teardown(test_kernels, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_program, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_rate_of_copies, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_graphs_that_share_a_class, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_graphs_of_no_content, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_thinned, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_partly_timed, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_exact, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_off, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_busy_while_waited_for, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_busy_without_waits, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_busy_for_what_the_stream_took, setup,
	                                        teardown),
	        cmocka_unit_test_setup_teardown(test_no_samples, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_json_sums, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_two_processes, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_two_devices, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_stretched, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_stretched_beside_unknown_work, setup,
	                                        teardown),
	        cmocka_unit_test_setup_teardown(test_unknown_device, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_streams_of_an_unknown_device, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_hostile, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_doubtful, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_text, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_a_stretched_copy, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_a_stretched_copy_beside_untimed_sets, setup,
	                                        teardown),
	        cmocka_unit_test_setup_teardown(test_kernels_counted_twice, setup, teardown),
	        cmocka_unit_test(test_time_too_short_to_tell),
	        cmocka_unit_test_setup_teardown(test_kind_of_gpu, setup, teardown),
	};

	return cmocka_run_group_tests_name("gpu", tests, NULL, NULL);
}
