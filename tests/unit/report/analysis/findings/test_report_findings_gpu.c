/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/report/analysis/findings/findings_fixture.h"

/* The GPU is busy for 900 of 1000 ms, by these kernels. */
static void kernels(struct run *r, struct model_kernel *k, size_t count)
{
	run_start(r);
	run_call(r, SPY_CLASS_OTHER, 0, 1);
	run_idle(r, TF_IDLE_LAUNCH, 100);
	r->m.gpu.busy.busy = 900 * MS;
	r->m.kernels = k;
	r->m.kernel_count = count;
	r->m.gpu.launched.total = 0;
	for (size_t i = 0; i < count; i++)
		r->m.gpu.launched.total += k[i].gpu.total;
	r->m.host.sync_useful = 800 * MS;
	r->verdict.cls = VERDICT_GPU;
}

static struct model_kernel kernel(const char *name, double ms)
{
	return (struct model_kernel){
	        .name = (char *)name, .launches = 1000, .gpu = {.total = ms * MS, .mean = ms * US}};
}

static void test_dominant_kernel(void **state)
{
	struct model_kernel k[] = {kernel("solve", 600), kernel("gather", 150),
	                           kernel("scatter", 150)};
	struct run r;

	kernels(&r, k, 3);
	run_has(&r, "dominant-kernel", 0.3,
	        "solve takes 600 ms, 66.7 % of the GPU's time in kernels and graphs. Twice as "
	        "fast, it would shorten the window by some 30.0 %.");
	struct model_phase loop = {.kind = PHASE_LOOP};
	r.m.phase = &loop;
	run_has(&r, "dominant-kernel", 0.3,
	        "solve takes 600 ms of the loop, 66.7 % of the GPU's time in kernels and graphs. "
	        "Twice as fast, it would shorten the loop by some 30.0 %.");
	r.m.phase = NULL;
	struct model_stream streams[] = {{.kernel_ns = 750 * MS}, {.kernel_ns = 750 * MS}};
	r.m.gpu.streams = streams; /* each of two needs 750 */
	r.m.gpu.stream_count = 2;
	run_has(&r, "dominant-kernel", 0.25, "some 25.0 %");
	r.m.gpu.stream_count = 1;
	run_has(&r, "dominant-kernel", 0.3, "some 30.0 %");
	r.m.host.sync_useful = 100 * MS; /* the host needs the other 900 for itself */
	run_has(&r, "dominant-kernel", 0.1, "some 10.0 %");
	r.m.host.sync_useful = 0;
	run_has_not(&r, "dominant-kernel");
	r.m.host.sync_useful = 800 * MS;
	k[0].gpu.total = NAN; /* not known which is the largest of all */
	r.m.gpu.launched.total = 900 * MS;
	run_has_not(&r, "dominant-kernel");
	run_end(&r);
}

/* Of one kernel it is news only that the GPU decides. */
static void test_one_kernel(void **state)
{
	struct model_kernel k[] = {kernel("all", 900)};
	struct run r;

	kernels(&r, k, 1);
	run_has(&r, "dominant-kernel", 0.45, "100.0 %");
	assert_int_equal(run_finding(&r, "dominant-kernel")->severity, SEVERITY_INFO);
	r.verdict.cls = VERDICT_SYNC;
	run_has_not(&r, "dominant-kernel");
	run_end(&r);
}

static void test_even_kernels(void **state)
{
	struct model_kernel k[] = {kernel("a", 300), kernel("b", 300), kernel("c", 300)};
	struct run r;

	kernels(&r, k, 3);
	run_has_not(&r, "dominant-kernel");
	run_end(&r);
}

/* 64 threads with 40 KiB each: 5 blocks of 2 warps on 64. */
static struct model_shape small_blocks(void)
{
	return (struct model_shape){.grid = {1024, 1, 1},
	                            .block = {64, 1, 1},
	                            .shared_bytes = 40 << 10,
	                            .launches = 1000,
	                            .registers = 32,
	                            .blocks_per_sm = 5,
	                            .warps_per_sm = 64};
}

static void test_low_occupancy(void **state)
{
	struct model_kernel k[] = {kernel("scramble", 500), kernel("other", 400)};
	struct run r;

	k[0].most = small_blocks();
	kernels(&r, k, 2);
	run_has(&r, "low-occupancy", 0.5,
	        "scramble runs for 50.0 % of the window. Of its blocks (64 x 1 x 1 threads, 32 "
	        "registers a thread, 40.0KiB of shared memory) 5 fit a multiprocessor: 15.6 % of "
	        "its 64 warps.");
	r.m.gpu.estimated = true;
	run_has(&r, "low-occupancy", 0.5, "for an estimated 50.0 %");
	k[0].most.grid[0] = 64; /* too few blocks for it to matter */
	run_has_not(&r, "low-occupancy");
	k[0].most = small_blocks();
	k[0].most.blocks_per_sm = 32;
	run_has_not(&r, "low-occupancy");
	k[0].most = small_blocks();
	k[0].most.registers = 0; /* the driver was not asked */
	run_has_not(&r, "low-occupancy");
	k[0].most = small_blocks();
	k[0].gpu.total = 50 * MS; /* it matters little */
	run_has_not(&r, "low-occupancy");
	k[0].gpu.total = 500 * MS;
	k[0].name = "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n__5x_cublas"; /* made so by a library */
	run_has_not(&r, "low-occupancy");
	k[0].name = "my_gemm"; /* the program's own */
	run_has(&r, "low-occupancy", 0.5, "my_gemm runs for ");
	run_end(&r);
}

#define ALL_REDUCE "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgs)"

static void test_exposed_communication(void **state)
{
	struct model_kernel k[] = {kernel("backward", 500), kernel(ALL_REDUCE, 400)};
	struct run r;

	kernels(&r, k, 2);
	r.m.gpu.busy.comm = 300 * MS;
	run_has(&r, "exposed-communication", 0.3,
	        "Communication ran alone for 300 ms, 30.0 % of the window and 33.3 % of the time "
	        "that the GPU was busy; most of it is " ALL_REDUCE ", 1000 launches of 400 us "
	        "each.");
	assert_null(strstr(run_finding(&r, "exposed-communication")->evidence, "late"));
	/* What is estimated errs by some per cent, what is exact does not. */
	r.m.gpu.busy.comm = 60 * MS;
	run_has(&r, "exposed-communication", 0.06, "60.0 ms");
	r.m.gpu.estimated = true;
	run_has_not(&r, "exposed-communication");
	r.m.gpu.busy.comm = 300 * MS;
	r.m.gpu.has_busy = false;
	run_has_not(&r, "exposed-communication");
	run_end(&r);
}

/* In a collective those that are early wait for the last. */
static void test_late_rank(void **state)
{
	struct model_kernel k[] = {kernel("backward", 500), kernel(ALL_REDUCE, 400)};
	struct call_log_work works[] = {
	        {.kernel = ALL_REDUCE, .mean = 400 * US, .call_events = 100},
	        {.kernel = ALL_REDUCE, .mean = 100 * US, .call_events = 100}};
	struct model_process both[2];
	struct run r;

	kernels(&r, k, 2);
	r.m.gpu.busy.comm = 300 * MS;
	both[0] = both[1] = r.process;
	both[1].call_log.call_events = NULL;
	both[1].call_log.count = 0;
	both[0].rank = (char *)"0";
	both[1].pid = 4712;
	for (int i = 0; i < 2; i++) {
		both[i].call_log.works = &works[i];
		both[i].call_log.work_count = 1;
	}
	r.m.processes = both;
	r.m.process_count = 2;
	run_has(&r, "exposed-communication", 0.3,
	        "It takes 100 us in process 4712 and 400 us in rank 0, which waits in it: process "
	        "4712 comes late.");
	works[1].mean = 380 * US;
	assert_null(strstr(run_finding(&r, "exposed-communication")->evidence, "late"));
	works[1].mean = NAN;
	assert_null(strstr(run_finding(&r, "exposed-communication")->evidence, "late"));
	run_end(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_dominant_kernel),       cmocka_unit_test(test_one_kernel),
	        cmocka_unit_test(test_even_kernels),          cmocka_unit_test(test_low_occupancy),
	        cmocka_unit_test(test_exposed_communication), cmocka_unit_test(test_late_rank),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
