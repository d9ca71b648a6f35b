/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recording and a timeline over it, with calls, classes of known durations, and what came out. A
 * tick is a nanosecond. Included by the tests of the timeline alone.
 */
#ifndef TESTS_UNIT_TIMELINE_FIXTURE_H
#define TESTS_UNIT_TIMELINE_FIXTURE_H

#include <string.h>

#include "shim/core/gpu_time/estimate.h"
#include "shim/core/timeline/timeline.h"
#include "shim/core/work/work_class.h"
#include "tests/unit/recording.h"
#include "tests/unit/unit.h"

#define WINDOW         2000000ull
#define LATENCY        5000 /* start and return together, until it is learned otherwise */
#define START          1800 /* of it, at most */
#define RETURN         (LATENCY - START)
#define GAP            750
#define COST           2150 /* of a pair around a kernel */
#define NULL_KERNEL_NS 740  /* CUPTI's time of the empty kernel, on a GPU that nobody measured */

enum {
	LAUNCH,
	GRAPH,
	COPY,
	SYNC,
	STREAM_SYNC,
	EVENT_SYNC,
	RECORD,
	WAIT,
	QUERY,
	CREATE,
	FREE,
	MODULE,
	SET_CURRENT,
	OTHER,
	HOST_FUNCTION
};

static struct made made;
static struct timeline *timeline;
static uint32_t kernels[8];

static inline struct tf_header *header(void)
{
	return made_header(&made);
}

/* The class of a record's work takes that long. */
static inline struct tf_work *lasts(struct tf_record r, enum tf_work_kind kind, double ns)
{
	struct tf_work key, *w;

	work_key(&key, kind, &r);
	w = work_find(&made.map, &key);
	w->pairs[TF_PAIR_IDLE] =
	        (struct tf_pairs){10, (uint32_t)(ns < 1e9 ? ns + COST : 1e9), (ns + COST) * 10,
	                          (ns + COST) * (ns + COST) * 10};
	return w;
}

static inline struct tf_record a_kernel(unsigned kernel)
{
	struct tf_record r = {.call = LAUNCH};

	r.launch.kernel = kernels[kernel];
	r.launch.grid_x = r.launch.items = 1;
	return r;
}

static inline int start_mode(enum tf_gpu_mode mode)
{
	static const struct {
		const char *name;
		uint8_t cls;
	} calls[] = {
	        {"cuLaunchKernel", SPY_CLASS_LAUNCH},    {"cuGraphLaunch", SPY_CLASS_GRAPH_LAUNCH},
	        {"cuMemcpyAsync", SPY_CLASS_COPY},       {"cuCtxSynchronize", SPY_CLASS_SYNC},
	        {"cuStreamSynchronize", SPY_CLASS_SYNC}, {"cuEventSynchronize", SPY_CLASS_SYNC},
	        {"cuEventRecord", SPY_CLASS_EVENT},      {"cuStreamWaitEvent", SPY_CLASS_EVENT},
	        {"cuStreamQuery", SPY_CLASS_QUERY},      {"cuStreamCreate", SPY_CLASS_STREAM},
	        {"cuMemFree_v2", SPY_CLASS_ALLOC},       {"cuModuleLoadData", SPY_CLASS_MODULE},
	        {"cuCtxSetCurrent", SPY_CLASS_CONTEXT},  {"cuDeviceGetAttribute", SPY_CLASS_OTHER},
	        {"cuLaunchHostFunc", SPY_CLASS_OTHER},
	};

	made_start(&made, 32u << 20, 16, MADE_AREAS);
	header()->clock_kind = TF_CLOCK_MONOTONIC;
	header()->window_start = WINDOW;
	header()->gpu_mode = mode;
	for (unsigned i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		assert_int_equal(made_call(&made, calls[i].name, calls[i].cls, SPY_LEVEL_DRIVER),
		                 i);
	made_kernel(&made, "");
	for (unsigned i = 0; i < 7; i++)
		kernels[i] = made_kernel(&made, "a kernel");
	kernels[7] = made_kernel(&made, "ncclDevKernel_AllReduce_Sum_f32_RING_LL");
	made_thread(&made, 100, "one", 4);
	made_thread(&made, 101, "two", 4);
	struct tf_work null = {.kind = TF_WORK_NULL}, *w = work_find(&made.map, &null);
	w->pairs[TF_PAIR_IDLE] = (struct tf_pairs){10, (uint32_t)(COST + NULL_KERNEL_NS),
	                                           (COST + NULL_KERNEL_NS) * 10, 0};
	lasts(a_kernel(0), TF_WORK_KERNEL, 10000);
	lasts(a_kernel(1), TF_WORK_KERNEL, 50000);
	lasts(a_kernel(7), TF_WORK_KERNEL, 40000);
	timeline = timeline_new(&made.map);
	assert_non_null(timeline);
	return 0;
}

static inline int start(void **state)
{
	return start_mode(TF_GPU_SAMPLE);
}

static inline int start_exact(void **state)
{
	return start_mode(TF_GPU_CUPTI);
}

static inline int start_off(void **state)
{
	return start_mode(TF_GPU_OFF);
}

static inline int end(void **state)
{
	timeline_free(timeline);
	made_free(&made);
	return 0;
}

/* Times are given since the window's start. */
static inline void feed(uint32_t thread, struct tf_record r, uint64_t from, uint64_t to)
{
	const struct tf_call *c = tf_entry(&made.map, &header()->calls, r.call, sizeof(*c));
	struct tf_work key, *work = NULL;

	r.start = WINDOW + from;
	r.end = WINDOW + to;
	r.thread = (uint16_t)thread;
	if (work_kind(c->cls) != TF_WORK_NONE && !r.result &&
	    !(r.flags & (TF_CAPTURED | TF_NO_ARGS))) {
		work_key(&key, work_kind(c->cls), &r);
		work = work_find(&made.map, &key);
		work->count++;
	}
	timeline_call(timeline, thread, &r, c->cls, work);
}

static inline void launch_on(uint32_t thread, uint64_t stream, unsigned kernel, uint64_t from,
                             uint64_t to)
{
	struct tf_record r = a_kernel(kernel);

	r.stream = stream;
	feed(thread, r, from, to);
}

static inline void launch(unsigned kernel, uint64_t from, uint64_t to)
{
	launch_on(0, 0, kernel, from, to);
}

static inline void call(unsigned id, uint64_t stream, uint64_t from, uint64_t to)
{
	feed(0, (struct tf_record){.call = (uint16_t)id, .stream = stream}, from, to);
}

static inline void on_event(unsigned id, uint64_t event, uint64_t stream, uint64_t from,
                            uint64_t to)
{
	struct tf_record r = {.call = (uint16_t)id, .stream = stream};

	r.event.event = event;
	feed(0, r, from, to);
}

static inline void make_stream(uint64_t stream, unsigned flags, uint64_t from)
{
	struct tf_record r = {.call = CREATE, .stream = stream};

	r.arg[0] = flags;
	feed(0, r, from, from + 100);
}

static inline struct tf_record a_copy(enum spy_direction direction, enum spy_memory memory,
                                      bool async, uint64_t bytes)
{
	struct tf_record r = {.call = COPY};

	r.copy.bytes = bytes;
	r.copy.items = 1;
	r.copy.direction = (uint8_t)direction;
	r.copy.memory = (uint8_t)memory;
	r.copy.async = async;
	return r;
}

static inline struct tf_device_time *on_device(unsigned device)
{
	return tf_at(&made.map, header()->devices_time[device], sizeof(struct tf_device_time));
}

static inline const struct tf_busy *total(void)
{
	return &on_device(0)->total;
}

static inline const struct tf_kernel *kernel_at(unsigned kernel)
{
	return tf_entry(&made.map, &header()->kernels, kernels[kernel], sizeof(struct tf_kernel));
}

static inline struct tf_thread *thread_at(uint32_t thread)
{
	const uint64_t *offset = tf_entry(&made.map, &header()->threads, thread, sizeof(*offset));

	return tf_at(&made.map, *offset, sizeof(struct tf_thread));
}

static inline const uint64_t *split(uint32_t thread)
{
	return thread_at(thread)->split_ticks;
}

static inline void assert_busy_sums(const struct tf_busy *b, uint64_t all)
{
	uint64_t sum = b->busy;

	for (int i = 0; i < TF_IDLES; i++)
		sum += b->idle[i];
	assert_int_equal(sum, all);
	assert_true(b->comm <= b->busy && b->kernels <= b->busy && b->copies <= b->busy);
	assert_true(b->kernels + b->copies >= b->busy);
}

/* What holds of every timeline: times divide without rest, and slices sum to totals. */
static inline void assert_sums(void)
{
	const struct tf_slices *s = tf_at(&made.map, header()->slices, sizeof(*s));
	uint64_t host = 0;

	for (int state = 0; state < TF_HOSTS; state++) {
		uint64_t sum = 0;
		for (unsigned i = 0; i < TF_SLICES; i++)
			sum += s->slice[i].host_ticks[state];
		assert_int_equal(sum, header()->host_ticks[state]);
		host += sum;
	}
	assert_int_equal(host, header()->timeline_upto ? header()->timeline_upto - WINDOW : 0);
	for (unsigned d = 0; d < TF_DEVICES_TIMED; d++) {
		const struct tf_device_time *time = on_device(d);
		struct tf_busy sum = {0};
		if (!time)
			continue;
		assert_busy_sums(&time->total, time->until - time->from);
		for (unsigned i = 0; i < TF_SLICES; i++)
			for (unsigned w = 0; w < sizeof(sum) / 8; w++)
				((uint64_t *)&sum)[w] +=
				        ((const uint64_t *)&time->slices.busy[i])[w];
		assert_memory_equal(&sum, &time->total, sizeof(sum));
	}
}

static inline void finish(void)
{
	timeline_finish(timeline);
	assert_sums();
}

#endif
