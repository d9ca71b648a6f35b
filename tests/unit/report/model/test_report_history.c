/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "report/model/model.h"
#include "shim/core/cuda/streams.h"
#include "shim/core/work/work_class.h"
#include "tests/unit/recording.h"
#include "tests/unit/render.h"
#include "tests/unit/unit.h"

static void model_of(struct model *m, const struct made *made)
{
	assert_true(render_model(m, made->map.base, made_bytes(made)));
	assert_int_equal(m->process_count, 1);
}

static const char *call_of(const struct call_log *h, size_t i)
{
	return h->calls[h->call_events[i].call].name;
}

static void test_sample(void **state)
{
	struct made made;
	struct model m;

	made_sample(&made, MADE_AREAS);
	model_of(&m, &made);
	const struct call_log *h = &m.processes[0].call_log;
	assert_int_equal(h->count, 29);
	assert_int_equal(h->all, 29);
	assert_true(h->whole);
	assert_false(h->lost);
	assert_near(h->window, 1450300, 1e-9);
	assert_near(h->until, 1450300, 1e-9);
	assert_near(h->coverage, 1, 1e-9);
	for (size_t i = 1; i < h->count; i++)
		assert_true(h->call_events[i].start >= h->call_events[i - 1].start);

	/* 20 launches, 10 us apart, 4 us each, on the legacy default stream. */
	const struct call_event *a = &h->call_events[1];
	assert_string_equal(call_of(&m.processes[0].call_log, 1), "cudaLaunchKernel");
	assert_near(a->start, 10000, 1e-9);
	assert_near(a->end, 14000, 1e-9);
	assert_int_equal(a->cls, SPY_CLASS_LAUNCH);
	assert_int_equal(a->kind, TF_WORK_KERNEL);
	assert_int_equal(a->items, 1);
	assert_true(isnan(a->gpu)); /* never timed */
	assert_string_equal(h->works[a->work].kernel,
	                    "void vector_add<float>(float const*, float const*, "
	                    "float*, int)");
	assert_int_equal(h->works[a->work].grid[0], 64);
	assert_int_equal(h->streams[a->stream].flags, TF_STREAM_LEGACY);
	assert_int_equal(h->threads[a->thread].tid, 4711);

	size_t at = call_log_at(h, 200000); /* the copies */
	a = &h->call_events[at];
	assert_string_equal(call_of(h, at), "cudaMemcpyAsync");
	assert_int_equal(a->kind, TF_WORK_COPY);
	assert_int_equal(a->direction, SPY_DIR_HTOD);
	assert_int_equal(a->memory, SPY_MEM_PAGEABLE);
	assert_true(a->async);
	assert_int_equal(a->bytes, 1 << 20);
	a = &h->call_events[h->count - 1];
	assert_int_equal(a->kind, TF_WORK_GRAPH);
	assert_int_equal(h->works[a->work].graph, 0x7f00beef);
	a = &h->call_events[call_log_at(h, 502000)]; /* the other thread's allocation that failed */
	assert_int_equal(a->cls, SPY_CLASS_ALLOC);
	assert_int_equal(a->result, 2);
	assert_int_equal(h->threads[a->thread].tid, 4712);
	model_free(&m);
	made_free(&made);
}

/* A recording whose rings hold what the test puts there, 0.5 ns a tick; the window starts at tick
 * 2001000. */
static struct tf_thread *start(struct made *made, uint64_t ring)
{
	made_start(made, 16u << 20, 16, MADE_AREAS);
	made_clock(made, 0, 1000000000, 1755767727123000000);
	made_clock(made, 400000000, 1200000000, 1755767727323000000);
	made_header(made)->gpu_mode = TF_GPU_SAMPLE;
	made_kernel(made, "");
	return made_thread(made, 7, "main", ring);
}

static struct tf_record record(uint16_t call, double at_us, double us)
{
	uint64_t start = 2001000 + (uint64_t)(at_us * 2000);

	return (struct tf_record){
	        .call = call, .start = start, .end = start + (uint64_t)(us * 2000)};
}

/* What nested calls took is folded into their caller, and not into the next one. */
static void test_nested(void **state)
{
	struct made made;
	struct model m;
	struct tf_thread *t = start(&made, 64);
	uint16_t alloc = made_call(&made, "cudaMalloc", SPY_CLASS_ALLOC, SPY_LEVEL_RUNTIME),
	         load = made_call(&made, "cuModuleLoadData", SPY_CLASS_MODULE, SPY_LEVEL_DRIVER);
	struct tf_record r = record(load, 11, 30);

	r.flags = TF_NESTED;
	made_return(&made, t, r);
	r = record(alloc, 10, 40);
	r.alloc.bytes = 4096;
	r.alloc.address = 0x7000;
	r.alloc.memory = SPY_MEM_DEVICE;
	made_return(&made, t, r);
	r = record(alloc, 60, 5);
	r.alloc.address = 0x7000;
	r.alloc.is_free = 1;
	made_return(&made, t, r);
	made_close(&made, 10001000);
	model_of(&m, &made);
	const struct call_log *h = &m.processes[0].call_log;
	assert_int_equal(h->count, 2);
	assert_int_equal(h->records, 3);
	assert_near(h->call_events[0].nested_module, 30000, 1e-6);
	assert_int_equal(h->call_events[0].bytes, 4096);
	assert_int_equal(h->call_events[0].address, 0x7000);
	assert_int_equal(h->call_events[0].memory, SPY_MEM_DEVICE);
	assert_true(h->call_events[1].is_free);
	assert_true(h->call_events[1].nested_module == 0);
	model_free(&m);
	made_free(&made);
}

/* What was ours before a call is the next call's of that thread, and no other's. */
static void test_own_time(void **state)
{
	struct made made;
	struct model m;
	struct tf_thread *t = start(&made, 64), *other = made_thread(&made, 8, "other", 64);
	uint16_t load = made_call(&made, "cuModuleLoadData", SPY_CLASS_MODULE, SPY_LEVEL_DRIVER),
	         sync = made_call(&made, "cuCtxSynchronize", SPY_CLASS_SYNC, SPY_LEVEL_DRIVER);
	struct tf_record r = record(load, 42, 1);

	made_own(&made, t, record(0, 10, 0).start, record(0, 30, 0).start);
	made_return(&made, other, record(sync, 20, 5));
	r.flags = TF_NESTED;
	made_return(&made, t, r);
	made_own(&made, t, record(0, 30, 0).start, record(0, 35, 0).start);
	made_return(&made, t, record(sync, 35, 10));
	made_return(&made, t, record(sync, 60, 1));
	made_close(&made, 10001000);
	model_of(&m, &made);
	const struct call_log *h = &m.processes[0].call_log;
	assert_int_equal(h->count, 3);
	assert_true(h->call_events[0].ours == 0);
	assert_near(h->call_events[1].ours, 25000, 1e-6);
	assert_near(h->call_events[1].start, 35000, 1e-6);
	assert_near(h->call_events[1].nested_module, 1000, 1e-6);
	assert_true(h->call_events[2].ours == 0);
	model_free(&m);
	made_free(&made);
}

/* Streams by handle, flags from their making; a handle used again means another stream. */
static void test_streams_and_events(void **state)
{
	struct made made;
	struct model m;
	struct tf_thread *t = start(&made, 64);
	uint16_t create = made_call(&made, "cuStreamCreate", SPY_CLASS_STREAM, SPY_LEVEL_DRIVER);
	uint16_t mark = made_call(&made, "cudaEventRecord", SPY_CLASS_EVENT, SPY_LEVEL_RUNTIME);
	uint16_t wait = made_call(&made, "cudaStreamWaitEvent", SPY_CLASS_EVENT, SPY_LEVEL_RUNTIME);
	uint16_t sync = made_call(&made, "cudaEventSynchronize", SPY_CLASS_SYNC, SPY_LEVEL_RUNTIME);

	for (int i = 0; i < 2; i++) {
		struct tf_record r = record(create, i * 100, 1);
		r.stream = 0x5000;
		r.arg[0] = i ? 1 : 0;
		made_return(&made, t, r);
		r = record(mark, i * 100 + 10, 1);
		r.stream = 0x5000;
		r.event.event = 0x6000;
		made_return(&made, t, r);
		r = record(wait, i * 100 + 20, 1);
		r.flags = TF_PTDS;
		r.event.event = 0x6000;
		made_return(&made, t, r);
		r = record(sync, i * 100 + 30, 1);
		r.event.event = 0x6001;
		made_return(&made, t, r);
	}
	made_close(&made, 10001000);
	model_of(&m, &made);
	const struct call_log *h = &m.processes[0].call_log;
	assert_int_equal(h->count, 8);
	assert_int_equal(h->events, 2);
	assert_int_equal(h->call_events[1].role, CUDA_ROLE_EVENT_RECORD);
	assert_int_equal(h->call_events[2].role, CUDA_ROLE_EVENT_WAIT);
	assert_int_equal(h->call_events[3].role, CUDA_ROLE_SYNC_EVENT);
	assert_int_equal(h->call_events[1].event, h->call_events[2].event);
	assert_int_not_equal(h->call_events[1].event, h->call_events[3].event);
	assert_int_equal(h->call_events[3].stream, CALL_LOG_NONE);
	assert_int_equal(h->streams[h->call_events[1].stream].flags, 0);
	assert_int_equal(h->streams[h->call_events[5].stream].flags, 1);
	assert_int_not_equal(h->call_events[1].stream, h->call_events[5].stream);
	assert_int_equal(h->streams[h->call_events[2].stream].flags, TF_STREAM_PER_THREAD);
	assert_int_equal(h->call_events[2].stream, h->call_events[6].stream);
	model_free(&m);
	made_free(&made);
}

/* Of more calls than are kept (256) the latest are there, and it is said from when on. */
static void test_recent(void **state)
{
	struct made made;
	struct model m;
	struct tf_thread *t = start(&made, 1024);
	uint16_t query = made_call(&made, "cudaStreamQuery", SPY_CLASS_QUERY, SPY_LEVEL_RUNTIME);

	for (int i = 0; i < 1000; i++)
		made_return(&made, t, record(query, i * 10, 5));
	made_close(&made, 2001000 + 20000000);
	model_of(&m, &made);
	const struct call_log *h = &m.processes[0].call_log;
	assert_false(h->whole);
	assert_int_equal(h->all, 1000);
	/* The first one kept ended at 7445 us; it may have had company, so it is left out. */
	assert_int_equal(h->count, 255);
	assert_near(h->call_events[0].start, 7450e3, 1e-9);
	assert_near(h->from, 7445e3, 1e-9);
	assert_near(h->until, 9995e3, 1e-9);
	assert_near(h->coverage, (9995 - 7445) / 9995.0, 1e-9);
	assert_int_equal(call_log_at(h, 7455e3), 1);
	assert_int_equal(call_log_at(h, 1e12), h->count);
	model_free(&m);
	made_free(&made);
}

static struct tf_record launch(uint16_t call, uint32_t kernel, uint32_t grid, double at_us)
{
	struct tf_record r = record(call, at_us, 5);

	r.launch.kernel = kernel;
	r.launch.grid_x = grid;
	r.launch.grid_y = r.launch.grid_z = r.launch.block_y = r.launch.block_z = 1;
	r.launch.block_x = 256;
	r.launch.items = 1;
	return r;
}

static struct tf_work *timed(struct made *made, uint32_t kernel, uint32_t grid)
{
	struct tf_work key = {.kind = TF_WORK_KERNEL,
	                      .id = kernel,
	                      .grid_x = grid,
	                      .grid_y = 1,
	                      .grid_z = 1,
	                      .block_x = 256,
	                      .block_y = 1,
	                      .block_z = 1};

	return made_work(made, key, 0);
}

/* GPU time is that of the class; a shape that was never timed has that of the kernel's others. */
static void test_gpu_time(void **state)
{
	struct made made;
	struct model m;
	struct tf_thread *t = start(&made, 64);
	uint16_t call = made_call(&made, "cuLaunchKernel", SPY_CLASS_LAUNCH, SPY_LEVEL_DRIVER);
	uint32_t kernel = made_kernel(&made, "k");
	struct tf_record r;

	made_pairs(made_work(&made, (struct tf_work){.kind = TF_WORK_NULL}, 0), TF_PAIR_IDLE, 20,
	           2740, 10);
	made_pairs(timed(&made, kernel, 1), TF_PAIR_IDLE, 10, 12000, 100);
	for (uint32_t i = 0; i < 4; i++) {
		made_launch(&made, t, call, kernel, 1 + i % 2, 2001000 + i * 100000,
		            2011000 + i * 100000);
	}
	r = launch(call, kernel, 1, 300);
	r.flags = TF_CAPTURED;
	made_return(&made, t, r);
	made_close(&made, 10001000);
	model_of(&m, &made);
	const struct call_log *h = &m.processes[0].call_log;
	assert_int_equal(h->count, 5);
	assert_near(h->call_events[0].gpu, 10000, 1e-6);
	assert_near(h->call_events[1].gpu, 10000, 1e-6);
	assert_int_not_equal(h->call_events[0].work, h->call_events[1].work);
	assert_true(h->works[h->call_events[0].work].low < 10000);
	assert_true(h->works[h->call_events[0].work].high > 10000);
	assert_true(isnan(h->call_events[0].gpu_start));
	assert_int_equal(h->call_events[4].kind, TF_WORK_NONE);
	assert_int_equal(h->call_events[4].work, CALL_LOG_NONE);
	model_free(&m);
	made_free(&made);
}

/* Each stream's kernels take what the classes of those that it was given do, whatever the timeline
 * let them last. */
static void test_gpu_time_of_streams(void **state)
{
	struct made made;
	struct model m;
	struct tf_thread *t = start(&made, 64);
	uint16_t call = made_call(&made, "cuLaunchKernel", SPY_CLASS_LAUNCH, SPY_LEVEL_DRIVER);
	uint32_t kernel = made_kernel(&made, "k");
	const uint64_t handles[2] = {1, 0x7f00};

	made_pairs(made_work(&made, (struct tf_work){.kind = TF_WORK_NULL}, 0), TF_PAIR_IDLE, 20,
	           2740, 10);
	for (uint32_t grid = 1; grid <= 2; grid++) {
		struct tf_work *w = timed(&made, kernel, grid);
		made_pairs(w, TF_PAIR_IDLE, 10, grid == 1 ? 5000 : 12000, 100);
		w->count = 4;
	}
	made_launches(&made, t, kernel, 8, 80000, 0);
	for (uint32_t i = 0; i < 8; i++) {
		struct tf_record r = launch(call, kernel, 1 + i % 2, 10 + 50 * i);
		r.stream = handles[i % 2];
		made_return(&made, t, r);
	}
	made_device_time(&made, 0)->work = 8;
	for (size_t i = 0; i < 2; i++) {
		struct tf_stream *s = made_stream(&made, handles[i],
		                                  i ? CUDA_STREAM_NON_BLOCKING : TF_STREAM_LEGACY);
		s->kernels = i ? 4 : 0; /* the drain finds the legacy one's row, and counts */
		s->kernel_ticks = 2000000;
	}
	made_close(&made, 10001000);
	model_of(&m, &made);
	assert_int_equal(m.gpu.stream_count, 2);
	assert_int_equal(m.gpu.streams[0].kernels, 4);
	assert_int_equal(m.gpu.streams[1].kernels, 4);
	assert_near(m.gpu.launched.total, 52000, 1e-6);
	assert_near(m.gpu.streams[0].kernel_ns, 12000, 1e-6);
	assert_near(m.gpu.streams[1].kernel_ns, 40000, 1e-6);
	model_free(&m);
	made_free(&made);
}

/* A call at the instant where two steps meet is of the second one alone, however ticks become ns.
 */
static void test_gpu_time_where_steps_meet(void **state)
{
	struct made made;
	struct model m;
	struct tf_thread *t = start(&made, 64);
	uint16_t call = made_call(&made, "cuLaunchKernel", SPY_CLASS_LAUNCH, SPY_LEVEL_DRIVER);
	uint32_t kernel = made_kernel(&made, "k");
	const uint64_t step = 20000; /* ticks, as made_step() makes them */

	made_clock(&made, 800000000, 1380952381, 1755767727503952381); /* 2.1 ticks a ns */
	made_pairs(made_work(&made, (struct tf_work){.kind = TF_WORK_NULL}, 0), TF_PAIR_IDLE, 20,
	           2740, 10);
	made_pairs(timed(&made, kernel, 1), TF_PAIR_IDLE, 10, 5000, 100);
	made_loop(&made, SPY_CLASS_LAUNCH, kernel, 50);
	for (uint64_t i = 0; i < 50; i++) {
		made_launch(&made, t, call, kernel, 1, 2001000 + i * step, 2003000 + i * step);
		made_step(&made, 0, TF_STEP_FOUND, 2001000 + i * step,
		          (struct tf_counts){.launches = 1});
	}
	made_launch(&made, t, call, kernel, 1, 2001000 + 50 * step, 2003000 + 50 * step);
	made_close(&made, 10001000);
	model_of(&m, &made);
	const struct model_spread_of *gpu = &m.steps.work[WORK_FIGURES - 1];
	assert_int_equal(m.steps.timed, 50);
	assert_near(gpu->min, 3000, 1e-6);
	assert_near(gpu->max, 3000, 1e-6);
	model_free(&m);
	made_free(&made);
}

/* CUPTI's record of a launch's kernel tells when it ran. */
static void test_exact(void **state)
{
	struct made made;
	struct model m;
	struct tf_thread *t = start(&made, 64);
	uint16_t call = made_call(&made, "cuLaunchKernel", SPY_CLASS_LAUNCH, SPY_LEVEL_DRIVER);
	uint32_t kernel = made_kernel(&made, "k");
	struct tf_header *header = made_header(&made);

	header->gpu_mode = TF_GPU_CUPTI;
	header->activity_ring =
	        made.map.alloc(&made.map, sizeof(struct tf_ring) + 4 * sizeof(struct tf_record));
	struct tf_ring *ring = tf_at(&made.map, header->activity_ring, sizeof(*ring));
	ring->capacity = 4;
	made_launch(&made, t, call, kernel, 1, 2101000, 2111000);
	made_launch(&made, t, call, kernel, 1, 2201000, 2211000);
	struct tf_record r = {.call = TF_CALL_ACTIVITY,
	                      .thread = TF_WORK_KERNEL,
	                      .start = 2121000,
	                      .end = 2129000,
	                      .stream = TF_CAUSE(0, 2101000)};
	r.activity.kernel = kernel;
	ring->slots[ring->head++] = r;
	r.stream = 0; /* of an unknown call */
	ring->slots[ring->head++] = r;
	made_close(&made, 10001000);
	model_of(&m, &made);
	const struct call_log *h = &m.processes[0].call_log;
	assert_int_equal(h->count, 2);
	assert_near(h->call_events[0].gpu_start, 60000, 1e-9);
	assert_near(h->call_events[0].gpu, 4000, 1e-9);
	assert_true(isnan(h->call_events[1].gpu_start));
	model_free(&m);
	made_free(&made);
}

/* A copy of 5 ms, behind it a kernel and a copy of 4 and 1 us, where `works` is 3. */
static void untrue_copy(struct model *m, struct made *to, uint64_t bytes, unsigned works)
{
	struct made made;
	struct tf_thread *t = start(&made, 64);
	uint16_t launch_call =
	                 made_call(&made, "cuLaunchKernel", SPY_CLASS_LAUNCH, SPY_LEVEL_DRIVER),
	         copy_call =
	                 made_call(&made, "cuMemcpyDtoDAsync_v2", SPY_CLASS_COPY, SPY_LEVEL_DRIVER);
	uint32_t kernel = made_kernel(&made, "k");
	struct tf_header *header = made_header(&made);
	const uint64_t at[] = {2101000, 2201000, 2301000},
	               ran[][2] = {{2121000, 12121000}, {2221000, 2229000}, {2321000, 2323000}};

	header->gpu_mode = TF_GPU_CUPTI;
	header->activity_ring =
	        made.map.alloc(&made.map, sizeof(struct tf_ring) + 4 * sizeof(struct tf_record));
	struct tf_ring *ring = tf_at(&made.map, header->activity_ring, sizeof(*ring));
	ring->capacity = 4;
	for (unsigned i = 0; i < works; i++) {
		if (i == 1)
			made_launch(&made, t, launch_call, kernel, 1, at[i], at[i] + 10000);
		else
			made_copy(&made, t, copy_call, SPY_DIR_DTOD, SPY_MEM_DEVICE, true, bytes,
			          at[i], at[i] + 10000);
		struct tf_record r = {.call = TF_CALL_ACTIVITY,
		                      .thread = i == 1 ? TF_WORK_KERNEL : TF_WORK_COPY,
		                      .start = ran[i][0],
		                      .end = ran[i][1],
		                      .stream = TF_CAUSE(0, at[i])};
		r.activity.kernel = kernel;
		ring->slots[ring->head++] = r;
	}
	struct tf_work key = {.kind = TF_WORK_COPY,
	                      .direction = SPY_DIR_DTOD,
	                      .memory = SPY_MEM_DEVICE,
	                      .async = 1,
	                      .size = work_size_bucket(bytes)};
	struct tf_work *w = made_work(&made, key, works - works / 2);
	w->exact_count = 1;
	w->exact_ns = 1000;
	made_close(&made, 13001000);
	model_of(m, &made);
	*to = made;
}

/* A copy whose time cannot be, since a kernel of its stream ran meanwhile, has its class's. */
static void test_untrue(void **state)
{
	struct made made;
	struct model m;

	untrue_copy(&m, &made, 65536, 3);
	const struct call_log *h = &m.processes[0].call_log;
	assert_int_equal(h->count, 3);
	assert_true(isnan(h->call_events[0].gpu_start));
	assert_near(h->call_events[0].gpu, 1000, 1e-9);
	assert_near(h->call_events[1].gpu, 4000, 1e-9);
	assert_near(h->call_events[2].gpu, 1000, 1e-9);
	assert_true(isfinite(h->call_events[2].gpu_start));
	model_free(&m);
	made_free(&made);
}

/* And so has one of so few bytes, though nothing else ran. */
static void test_untrue_for_so_few_bytes(void **state)
{
	for (unsigned few = 0; few < 2; few++) {
		struct made made;
		struct model m;

		untrue_copy(&m, &made, few ? 12 : 65536, 1);
		const struct call_log *h = &m.processes[0].call_log;
		assert_int_equal(h->count, 1);
		assert_int_equal(isnan(h->call_events[0].gpu_start), few);
		assert_near(h->call_events[0].gpu, few ? 1000 : 5e6, 1e-9);
		model_free(&m);
		made_free(&made);
	}
}

/* Without kept records there is nothing, and nothing breaks. */
static void test_nothing_kept(void **state)
{
	struct made made;
	struct model m;

	made_sample(&made, 0);
	model_of(&m, &made);
	assert_int_equal(m.processes[0].call_log.count, 0);
	assert_int_equal(call_log_steady(&m.processes[0].call_log), 0);
	model_free(&m);
	made_free(&made);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_sample),
	        cmocka_unit_test(test_nested),
	        cmocka_unit_test(test_own_time),
	        cmocka_unit_test(test_streams_and_events),
	        cmocka_unit_test(test_recent),
	        cmocka_unit_test(test_gpu_time),
	        cmocka_unit_test(test_gpu_time_of_streams),
	        cmocka_unit_test(test_gpu_time_where_steps_meet),
	        cmocka_unit_test(test_exact),
	        cmocka_unit_test(test_untrue),
	        cmocka_unit_test(test_untrue_for_so_few_bytes),
	        cmocka_unit_test(test_nothing_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
