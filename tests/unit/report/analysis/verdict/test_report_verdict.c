/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/analysis/verdict/verdict.h"
#include "tests/unit/play.h"
#include "tests/unit/unit.h"

#define MS 1e6

/* A run of 1 s of one thread on one device; each test adds where its time went. */
struct run {
	struct model m;
	struct verdict verdict;
	struct model_process process;
};

static void start(struct run *r)
{
	memset(r, 0, sizeof(*r));
	r->process = (struct model_process){.state = PROCESS_COMPLETE, .window = 1000 * MS};
	r->m.processes = &r->process;
	r->m.process_count = 1;
	r->m.has_host = true;
	r->m.host_window = 1000 * MS;
	r->m.totals.launches = 5000;
	r->m.gpu.has_busy = true;
	r->m.gpu.estimated = true;
	r->m.gpu.busy = (struct model_gpu_busy){.window = 1000 * MS, .work = 5000};
}

/* `busy` is known to `percent` either way; all of it are kernels. */
static void busy(struct run *r, double ms, double percent)
{
	struct model_gpu_busy *b = &r->m.gpu.busy;

	b->busy = b->kernels = ms * MS;
	b->low = b->busy * (1 - percent / 100);
	b->high = b->busy * (1 + percent / 100);
	b->idle = b->window - b->busy;
}

static const struct verdict *judge(struct run *r)
{
	struct whatifs *whatifs = whatif_start(&r->m);

	free(r->verdict.reason);
	verdict_make(&r->verdict, &r->m, whatifs);
	whatif_end(whatifs);
	assert_non_null(r->verdict.reason);
	return &r->verdict;
}

static void end(struct run *r)
{
	free(r->verdict.reason);
}

static void is(struct run *r, const char *cls, const char *confidence, const char *reason)
{
	const struct verdict *v = judge(r);

	assert_string_equal(verdict_names[v->cls], cls);
	assert_string_equal(verdict_confidences[v->confidence], confidence);
	if (!strstr(v->reason, reason))
		fail_msg("'%s' is not in: %s", reason, v->reason);
	end(r);
	v = NULL;
	r->verdict.reason = NULL;
}

static void launch_bound(struct run *r)
{
	start(r);
	busy(r, 200, 2);
	r->m.host.launch = r->m.host.launch_api = 900 * MS;
	r->m.host.outside = 100 * MS;
	r->m.gpu.busy.by[TF_IDLE_LAUNCH] = 750 * MS;
	r->m.gpu.busy.by[TF_IDLE_OUTSIDE] = 100 * MS;
}

static void test_launch(void **state)
{
	struct run r;

	launch_bound(&r);
	is(&r, "launch-bound", "high", "GPU busy 20.0 % (estimated 19.6 to 20.4 %)");
	is(&r, "launch-bound", "high", "launching 90.0 %");
	is(&r, "launch-bound", "high", "save about 67.5 %"); /* 0.9 of the idle time */
	is(&r, "launch-bound", "high", "Runner-up: host-bound (about 10.0 %)");
	/* Launching for long while the GPU works is not what makes it slow. */
	r.m.gpu.busy.by[TF_IDLE_LAUNCH] = 10 * MS;
	assert_int_equal(judge(&r)->cls, VERDICT_HOST);
	end(&r);
}

static void test_gpu(void **state)
{
	struct run r;

	start(&r);
	busy(&r, 970, 1);
	r.m.host.sync = 600 * MS;
	r.m.host.launch = 50 * MS;
	r.m.host.back_pressure = 350 * MS;
	r.m.host.launch_api = 400 * MS;
	is(&r, "gpu-bound", "high",
	   "save 5 % of 1.00 s of window. Runner-up: sync-bound (about 3.0 %)");
	/* The interval reaches to where waiting less would gain enough. */
	r.m.gpu.busy.low = 940 * MS;
	is(&r, "gpu-bound", "low", "GPU busy 97.0 % (estimated 94.0 to 98.0 %)");
	/* But where the host waits for it all the time it is busy: waits prove it. */
	r.m.host.sync_useful = 580 * MS;
	r.m.gpu.busy.low = 840 * MS;
	is(&r, "gpu-bound", "medium", "GPU busy 97.0 % (estimated 84.0 to 98.0 %)");
	r.m.host.sync_useful = 400 * MS;
	is(&r, "gpu-bound", "low", "GPU busy 97.0 % (estimated 84.0 to 98.0 %)");
}

/* A busy GPU leaves so little that both changes would save the same. */
static void test_told_apart(void **state)
{
	struct verdict_input in = {
	        .window = 1000 * MS, .busy = 400 * MS, .busy_low = 300 * MS, .busy_high = 500 * MS};
	struct verdict v = {.cls = VERDICT_LAUNCH,
	                    .first = VERDICT_LAUNCH,
	                    .second = VERDICT_HOST,
	                    .gain = 0.55,
	                    .second_gain = 0.2};

	assert_true(verdict_is_told_apart(&v, &in));
	in.busy_high = 740 * MS; /* 0.26 are left of the 0.55 */
	assert_true(verdict_is_told_apart(&v, &in));
	in.busy_high = 760 * MS;
	assert_false(verdict_is_told_apart(&v, &in));
	v.first = v.cls = VERDICT_COPY; /* it takes GPU time away */
	assert_true(verdict_is_told_apart(&v, &in));
	/* So does the end of waits that keep copies from running beside kernels. */
	v.first = v.cls = VERDICT_SYNC;
	in.busy = in.busy_high;
	in.kernels = 500 * MS;
	assert_false(verdict_is_told_apart(&v, &in));
	in.replay[VERDICT_SYNC].mean = 0.3;
	assert_true(verdict_is_told_apart(&v, &in));
	v.first = v.cls = VERDICT_GPU;
	assert_true(verdict_is_told_apart(&v, &in));
}

/* Two pairs of classes whose numbers have the same sum are different pairs. */
static void test_mixed_with_another_pair(void **state)
{
	struct run r;

	start(&r);
	busy(&r, 500, 2);
	r.m.host.copy = 400 * MS;
	r.m.host.outside = r.m.gpu.busy.by[TF_IDLE_OUTSIDE] = 400 * MS;
	r.m.host.sync = 300 * MS;
	r.m.gpu.busy.comm = 190 * MS;
	is(&r, "mixed", "medium", "copy-bound and host-bound nearly alike");
	/* At the most that it may be busy: communication, and the first of what is left to save. */
	r.m.gpu.busy.high = 750 * MS;
	is(&r, "mixed", "low", "copy-bound and host-bound nearly alike");
}

static void test_sync(void **state)
{
	struct run r;

	start(&r);
	busy(&r, 600, 2);
	r.m.host.sync = 700 * MS;
	r.m.host.launch = r.m.host.launch_api = 200 * MS;
	r.m.host.outside = 100 * MS;
	r.m.gpu.busy.by[TF_IDLE_LAUNCH] = 200 * MS;
	is(&r, "sync-bound", "high",
	   "waiting 70.0 %, and fewer or later waits would save about 40.0 %");
	r.m.host.launch = r.m.host.launch_api = r.m.gpu.busy.by[TF_IDLE_LAUNCH] = 300 * MS;
	is(&r, "sync-bound", "medium", "Runner-up: launch-bound (about 27.0 %)");
}

static void test_copy(void **state)
{
	struct run r;

	start(&r);
	busy(&r, 970, 1);
	r.m.gpu.busy.kernels = 300 * MS;
	r.m.host.sync = 900 * MS;
	is(&r, "copy-bound", "high", "save about 67.0 %");
	/* They were seen to end late: they took less. */
	r.m.gpu.copies.known = 1;
	r.m.gpu.copies.high = 10 * MS;
	is(&r, "gpu-bound", "high", "");
	r.m.gpu.copies.known = 0.5;
	is(&r, "copy-bound", "high", "");
	/* Copies beside the kernels hold up nothing. */
	r.m.gpu.busy.kernels = 970 * MS;
	is(&r, "gpu-bound", "high", "");
}

/* Tensors that are copied within the GPU are its work: no copy between host and GPU is in the way.
 */
static void test_copies_within_the_gpu(void **state)
{
	struct model_copy copy = {.direction = SPY_DIR_DTOD,
	                          .memory = SPY_MEM_DEVICE,
	                          .count = 1000,
	                          .gpu = {.total = 300 * MS, .low = 295 * MS, .high = 305 * MS}};
	struct run r;

	start(&r);
	busy(&r, 970, 1);
	r.m.gpu.busy.kernels = 670 * MS;
	r.m.gpu.copies = (struct model_gpu_time){.known = 1, .high = 305 * MS};
	r.m.host.sync = 900 * MS;
	r.m.copies = &copy;
	r.m.copy_count = 1;
	is(&r, "gpu-bound", "high", "");
	/* Where they are most of its work, fewer of them are what helps. */
	copy.gpu.low = 700 * MS;
	copy.gpu.total = r.m.gpu.copies.high = r.m.gpu.copies.total = 720 * MS;
	r.m.gpu.busy.kernels = 250 * MS;
	is(&r, "copy-bound", "high", "fewer copies within the GPU would save about 72.0 %");
	assert_true(r.verdict.copies_within);
	copy.gpu = (struct model_gpu_time){.total = 300 * MS, .low = 295 * MS, .high = 305 * MS};
	r.m.gpu.copies = (struct model_gpu_time){.known = 1, .total = 300 * MS, .high = 305 * MS};
	r.m.gpu.busy.kernels = 670 * MS;
	copy.direction = SPY_DIR_HTOD;
	is(&r, "copy-bound", "high", "save about 30.0 %");
}

/* A small result copied to the host at each step is a wait by another name. */
static void test_small_copies(void **state)
{
	struct model_copy copy = {.direction = SPY_DIR_DTOH,
	                          .memory = SPY_MEM_PAGEABLE,
	                          .count = 1000,
	                          .bytes = 4000,
	                          .total = 700 * MS};
	struct run r;

	start(&r);
	busy(&r, 300, 2);
	r.m.host.copy = 700 * MS;
	r.m.copies = &copy;
	r.m.copy_count = 1;
	is(&r, "sync-bound", "high", "waiting 70.0 %");
	copy.bytes = (uint64_t)1000 << 20;
	is(&r, "copy-bound", "high", "in copy calls 70.0 %");
}

/*
 * Copies that the GPU does while no kernel runs. Fewer of them would save all of that time; but
 * where no change of copies gains anything they are not what slows the program, and where copies
 * and kernels would run side by side without the waits, these are.
 */
static void test_copies_that_waits_keep_apart(void **state)
{
	struct verdict_input in = {.window = 1000 * MS,
	                           .busy = 700 * MS,
	                           .kernels = 450 * MS, /* 250 ms of copies alone */
	                           .replayed = true};
	double gain[VERDICT_CLASSES];

	verdict_gains(&in, in.busy, gain);
	assert_near(gain[VERDICT_COPY], 0, 1e-9);
	in.copies_gain = true;
	verdict_gains(&in, in.busy, gain);
	assert_near(gain[VERDICT_COPY], 0.25, 1e-9);
	in.replay[VERDICT_SYNC].mean = 0.24; /* the waits' end saves less than the copies take */
	verdict_gains(&in, in.busy, gain);
	assert_near(gain[VERDICT_COPY], 0.25, 1e-9);
	in.replay[VERDICT_SYNC].mean = 0.26;
	in.replay[VERDICT_COPY].mean = 0.02;
	verdict_gains(&in, in.busy, gain);
	assert_near(gain[VERDICT_COPY], 0.02, 1e-9);
	assert_near(gain[VERDICT_SYNC], 0.26, 1e-9);
	/* However much a change of the copies gains by itself, that is what it gains ... */
	in.replay[VERDICT_COPY].mean = VERDICT_LEAST_GAIN + 0.01;
	verdict_gains(&in, in.busy, gain);
	assert_near(gain[VERDICT_COPY], VERDICT_LEAST_GAIN + 0.01, 1e-9);
	/* ... unless it is as good as the waits' end: then both keep them apart. */
	in.replay[VERDICT_COPY].mean = 0.22;
	verdict_gains(&in, in.busy, gain);
	assert_near(gain[VERDICT_COPY], 0.25, 1e-9);
}

static void test_ties(void **state)
{
	assert_true(verdict_is_close(0.10, 0.081));
	assert_false(verdict_is_close(0.10, 0.079));
	assert_true(verdict_is_close(0.50, 0.42));
	assert_false(verdict_is_close(0.90, 0.75)); /* 10 and 4 times as fast */
	assert_true(verdict_is_close(0.90, 0.885));
	assert_true(verdict_is_close(1, 1));
	assert_false(verdict_is_close(1, 0.9));
}

/* What timing took of the program is not what slows it. */
static void test_sampling(void **state)
{
	struct run r;

	start(&r);
	busy(&r, 900, 1);
	r.m.host.sync = 900 * MS;
	r.m.host.sampling = 90 * MS; /* for 10 ms of it the GPU had work */
	r.m.gpu.busy.by[TF_IDLE_OWN] = 80 * MS;
	is(&r, "gpu-bound", "high", "GPU busy 97.8 %");
	assert_near(r.verdict.window, 920 * MS, 1e-9);
}

/* Nor is a program that it changed much judged as surely. */
static void test_own_cost(void **state)
{
	struct run r;

	launch_bound(&r);
	r.m.own_share = 0.02;
	is(&r, "launch-bound", "high", "");
	r.m.own_share = 0.021;
	is(&r, "launch-bound", "medium", "");
	r.m.gpu.partial = true;
	is(&r, "launch-bound", "low", "");
	r.m.own_share = NAN;
	is(&r, "launch-bound", "medium", "");
}

static void test_alloc_host_comm(void **state)
{
	struct run r;

	start(&r);
	busy(&r, 200, 2);
	r.m.host.alloc = 300 * MS;
	r.m.host.module = 300 * MS;
	r.m.host.outside = 200 * MS;
	is(&r, "alloc-bound", "high", "60.0 %");
	r.m.host.outside = r.m.gpu.busy.by[TF_IDLE_OUTSIDE] = 800 * MS;
	r.m.host.alloc = r.m.host.module = 0;
	is(&r, "host-bound", "high", "save about 80.0 %");
	start(&r);
	busy(&r, 980, 2);
	r.m.gpu.busy.comm = 400 * MS;
	is(&r, "comm-bound", "high", "GPU communicating 40.0 %");
	r.m.gpu.busy.comm = 80 * MS; /* near the least that counts */
	is(&r, "comm-bound", "medium", "GPU communicating 8.0 %");
}

static void test_mixed(void **state)
{
	struct run r;

	start(&r);
	busy(&r, 450, 1);
	r.m.host.sync = 480 * MS;
	r.m.host.outside = r.m.gpu.busy.by[TF_IDLE_OUTSIDE] = 500 * MS;
	assert_int_equal(judge(&r)->first, VERDICT_HOST);
	assert_int_equal(r.verdict.second, VERDICT_SYNC);
	end(&r);
	r.verdict.reason = NULL;
	is(&r, "mixed", "medium", "host-bound and sync-bound nearly alike");
	start(&r); /* half busy, and nothing that a change would shorten */
	busy(&r, 500, 1);
	is(&r, "inconclusive", "low", "no single change would save 5 %");
}

/* Of 100 ms each. */
static struct overview ten_slices(double (*host)[TF_HOSTS], struct overview_device *device)
{
	return (struct overview){
	        .count = 10, .width = 100 * MS, .host = host, .devices = device, .device_count = 1};
}

/* The verdict is of what comes after code was loaded, where that is seen. */
static void test_startup(void **state)
{
	double host[10][TF_HOSTS] = {{0}}, gpu[10] = {0};
	struct overview_device device = {.busy = gpu, .covered = gpu};
	struct run r;

	launch_bound(&r);
	r.m.host.module = r.m.host.other = 200 * MS;
	r.m.host.launch = r.m.host.launch_api = 550 * MS;
	r.m.gpu.busy.by[TF_IDLE_LAUNCH] = 400 * MS;
	r.process.overview = ten_slices(host, &device);
	for (int i = 0; i < 10; i++)
		host[i][i < 2 ? TF_HOST_MODULE : i < 4 ? TF_HOST_OTHER : TF_HOST_LAUNCH] = 100 * MS;
	for (int i = 4; i < 10; i++)
		gpu[i] = 33 * MS;
	is(&r, "launch-bound", "high", "of 600 ms of window after start-up");
	assert_near(r.verdict.startup, 400 * MS, 1e-9);
	/* The GPU's idle time of it goes with it. */
	r.m.gpu.busy.by[TF_IDLE_OUTSIDE] = 210 * MS;
	assert_near(verdict_take(&r.m).idle_outside, 10 * MS, 1e-9);
	assert_near(verdict_take(&r.m).idle_launch, 400 * MS, 1e-9);
	/* A program that does so most of the time is not starting. */
	for (int i = 0; i < 7; i++)
		host[i][TF_HOST_MODULE] = 300 * MS;
	assert_near(judge(&r)->startup, 0, 0);
	end(&r);
}

/* Making the context is start-up however long it takes, to the moment at which the GPU is first
 * given work. */
static void test_startup_until_first_work(void **state)
{
	double host[10][TF_HOSTS] = {{0}}, gpu[10] = {0};
	struct overview_device device = {.busy = gpu, .covered = gpu};
	struct run r;

	launch_bound(&r);
	r.m.host.other = 650 * MS;
	r.m.host.outside = 0;
	r.m.host.launch = r.m.host.launch_api = 350 * MS;
	r.m.gpu.busy.by[TF_IDLE_OUTSIDE] = 650 * MS;
	r.m.gpu.busy.by[TF_IDLE_LAUNCH] = 150 * MS;
	r.process.overview = ten_slices(host, &device);
	r.process.overview.first_work = 650 * MS;
	for (int i = 0; i < 10; i++)
		host[i][i < 7 ? TF_HOST_OTHER : TF_HOST_LAUNCH] = 100 * MS;
	host[6][TF_HOST_OTHER] = host[6][TF_HOST_LAUNCH] = 50 * MS;
	for (int i = 6; i < 10; i++)
		gpu[i] = i == 6 ? 28 * MS : 57 * MS;
	is(&r, "launch-bound", "high", "of 350 ms of window after start-up");
	assert_near(r.verdict.startup, 650 * MS, 1e-9);
	/* One that worked outside CUDA meanwhile did not make its context. */
	for (int i = 0; i < 7; i++) {
		host[i][TF_HOST_OUTSIDE] = host[i][TF_HOST_OTHER];
		host[i][TF_HOST_OTHER] = 0;
	}
	r.m.host.outside = r.m.host.other;
	r.m.host.other = 0;
	assert_near(judge(&r)->startup, 0, 0);
	end(&r);
}

/* The window begins within a slice: what lies before it in that slice is nobody's. */
static void test_window_within_a_slice(void **state)
{
	double host[10][TF_HOSTS] = {{0}}, gpu[10] = {0};
	struct overview_device device = {.busy = gpu, .covered = gpu};
	struct run r;

	launch_bound(&r);
	r.process.overview = ten_slices(host, &device);
	r.process.overview.width = 110 * MS;
	r.process.overview.window = 100 * MS;
	host[0][TF_HOST_OUTSIDE] = 10 * MS;
	for (int i = 0; i < 10; i++) {
		host[i][TF_HOST_LAUNCH] = i ? 100 * MS : 0;
		host[i][TF_HOST_OUTSIDE] = 10 * MS;
		gpu[i] = 22 * MS;
	}
	assert_near(judge(&r)->startup, 0, 0);
	assert_near(r.verdict.window, 1000 * MS, 1e-9);
	end(&r);
}

/* Nor is it of what is freed at the end, unless that is a good part of the run. */
static void test_teardown(void **state)
{
	double host[10][TF_HOSTS] = {{0}}, gpu[10] = {0};
	struct overview_device device = {.busy = gpu, .covered = gpu};
	struct run r;

	start(&r);
	busy(&r, 790, 1);
	r.m.host.sync = 20 * MS;
	r.m.host.back_pressure = r.m.host.launch_api = 780 * MS;
	r.m.host.alloc = 200 * MS;
	is(&r, "alloc-bound", "high", "save about 20.0 %");
	r.process.overview = ten_slices(host, &device);
	for (int i = 0; i < 10; i++) {
		host[i][i < 8 ? TF_HOST_BACK_PRESSURE : TF_HOST_ALLOC] = 100 * MS;
		gpu[i] = i < 8 ? 98.75 * MS : 0;
	}
	is(&r, "gpu-bound", "high", "of 800 ms of window");
	gpu[8] = gpu[9] = 10 * MS; /* the GPU works meanwhile: no end */
	is(&r, "alloc-bound", "high", "of 1.00 s of window");
	gpu[8] = gpu[9] = 0;
	host[7][TF_HOST_BACK_PRESSURE] = gpu[7] = 0; /* three tenths are a part of what it does */
	host[7][TF_HOST_ALLOC] = 100 * MS;
	is(&r, "alloc-bound", "high", "of 1.00 s of window");
}

/* What it would gain is not known: that is not 0. */
static void gains_are_unknown(struct run *r)
{
	const struct verdict *v = judge(r);

	assert_int_equal(v->cls, VERDICT_NONE);
	assert_true(isnan(v->gain) && isnan(v->second_gain));
	end(r);
	r->verdict.reason = NULL;
}

static void test_abstains(void **state)
{
	struct run r;

	launch_bound(&r);
	r.m.host_window = 49 * MS;
	is(&r, "inconclusive", "low", "too short: 49.0 ms after start-up");
	gains_are_unknown(&r);
	r.m.host_window = 99 * MS; /* enough for a class, and no more */
	assert_int_equal(judge(&r)->confidence, CONFIDENCE_MEDIUM);
	assert_int_equal(r.verdict.cls, VERDICT_LAUNCH);
	end(&r);
	r.verdict.reason = NULL;
	launch_bound(&r);
	r.m.totals.launches = 99;
	is(&r, "inconclusive", "low", "99 pieces of work");
	launch_bound(&r);
	r.m.totals.launches = r.m.totals.copies = 0;
	r.m.totals.sets = 3000; /* they are the GPU's work as well */
	is(&r, "launch-bound", "high", "");
	/* A graph's launch is as many as it has nodes. */
	static const struct {
		struct model_in_graphs in;
		const char *cls, *confidence, *reason;
	} graphs[] = {{{0}, "inconclusive", "low", "49 pieces of work"},
	              {{.launches = 10, .kernels = 20}, "inconclusive", "low", "98 pieces of work"},
	              {{.launches = 10, .kernels = 20, .sets = 1}, "launch-bound", "high", ""}};
	for (size_t i = 0; i < sizeof(graphs) / sizeof(graphs[0]); i++) {
		launch_bound(&r);
		r.m.totals.launches = r.m.totals.copies = 0;
		r.m.totals.graph_launches = 49;
		r.m.in_graphs = graphs[i].in;
		is(&r, graphs[i].cls, graphs[i].confidence, graphs[i].reason);
	}
	launch_bound(&r);
	r.m.lost_share = 0.3;
	is(&r, "inconclusive", "low", "30.0 % of the records are lost");
	launch_bound(&r);
	r.m.gpu.busy.unknown = 1500;
	is(&r, "launch-bound", "high", ""); /* whatever the rest took */
	r.m.gpu.busy.high = 1000 * MS;
	is(&r, "inconclusive", "low", "the GPU time of 30.0 % of the work is not known");
	launch_bound(&r);
	r.process.state = PROCESS_KILLED;
	r.process.window = 500 * MS;
	is(&r, "inconclusive", "low", "killed, and its CUDA calls span 500 ms: within");
	r.process.window = 5000 * MS;
	is(&r, "launch-bound", "high", "");
	r.m.has_host = false;
	is(&r, "inconclusive", "low", "which thread");
}

/* Launches that take all the time may be waiting for a busy GPU: only what cannot be that counts.
 */
static void test_gpu_unknown(void **state)
{
	struct run r;

	launch_bound(&r);
	r.m.gpu.has_busy = false;
	r.m.host.launch = r.m.host.contention = NAN;
	r.m.host.launch_api = 950 * MS;
	is(&r, "inconclusive", "low",
	   "(record with CUDASPY_GPU=sample or cupti); of the host's time most is launching, 95.0 "
	   "%");
	gains_are_unknown(&r);
	r.m.host.launch_api = 50 * MS;
	r.m.host.outside = 850 * MS;
	is(&r, "inconclusive", "low", "GPU time is not known");
	r.m.host.outside = 950 * MS;
	is(&r, "host-bound", "low", "GPU time is not known");
}

static void test_hostile(void **state)
{
	static const double values[] = {NAN, INFINITY, -INFINITY, -1, 0, 1, 1e300, 2e9};
	const size_t count = sizeof(values) / sizeof(values[0]);
	struct run r;

	for (size_t i = 0; i < count * count * count; i++) {
		double a = values[i % count], b = values[i / count % count],
		       c = values[i / count / count];
		launch_bound(&r);
		r.m.gpu.busy.busy = r.m.gpu.busy.comm = a;
		r.m.gpu.busy.low = r.m.host.sync = r.m.gpu.busy.kernels = b;
		r.m.gpu.busy.high = r.m.host.alloc = c;
		r.m.gpu.busy.window = r.m.host.outside = a;
		if (i & 1)
			r.m.host_window = c;
		const struct verdict *v = judge(&r);
		bool known = isfinite(v->gain); /* else all of it is not */
		assert_true(known ? v->gain >= 0 && v->gain <= 1 : v->cls == VERDICT_NONE);
		assert_true(known ? v->second_gain >= 0 &&
		                            v->second_gain <= v->gain + VERDICT_LEAST_GAIN
		                  : isnan(v->second_gain));
		assert_true(known ? isfinite(v->window) && isfinite(v->startup)
		                  : !isinf(v->window) && !isinf(v->startup));
		assert_null(strstr(v->reason, "nan"));
		assert_null(strstr(v->reason, "inf "));
		end(&r);
	}
}

/* Collectives of 1, 1 and 7 ms, one class of mean 3 ms: of the 3 ms exposed little is sure. */
static void test_exposed_collectives_that_differ(void **state)
{
	struct run r;
	struct model_gpu_class cls = {.name = "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
	                              .kind = TF_WORK_KERNEL,
	                              .count = 100,
	                              .samples = 100,
	                              .mean = 3 * MS};

	start(&r);
	busy(&r, 960, 0.1);
	r.m.host.sync = 900 * MS;
	r.m.gpu.busy.comm = 60 * MS;
	r.m.gpu.classes = &cls;
	r.m.gpu.class_count = 1;
	cls.low = cls.mean - 1.96 * 2.8 / 10 * MS;
	cls.high = cls.mean + 1.96 * 2.8 / 10 * MS;
	assert_near(verdict_sure_comm(&r.m, 60 * MS), 300 * MS * pow(0.2, 2), 0.001);
	is(&r, "gpu-bound", "medium", "GPU busy 96.0 %");
	cls.low = cls.high = cls.mean; /* all alike: it is all sure */
	is(&r, "comm-bound", "medium", "overlapping that would save about 6.0 %");
	assert_near(verdict_sure_comm(&r.m, 300 * MS), 300 * MS, 1e-9); /* all of them */
}

/* 100 steps of 1 ms: 0.6 ms of loading, then a launch and a wait of 0.4 ms for it. */
static void loading(struct call_event *call_events, size_t steps, bool waits)
{
	for (size_t i = 0; i < steps; i++) {
		double at = (double)i * MS;
		call_events[3 * i] = (struct call_event){
		        .start = at, .end = at + 0.6 * MS, .cls = SPY_CLASS_MODULE};
		call_events[3 * i + 1] = (struct call_event){.start = at + 0.6 * MS,
		                                             .end = at + 0.61 * MS,
		                                             .cls = SPY_CLASS_LAUNCH,
		                                             .kind = TF_WORK_KERNEL};
		call_events[3 * i + 2] = (struct call_event){
		        .start = at + 0.61 * MS,
		        .end = at + MS,
		        .cls = waits ? SPY_CLASS_SYNC : SPY_CLASS_QUERY,
		        .role = waits ? CUDA_ROLE_SYNC_STREAM : CUDA_ROLE_QUERY_STREAM};
	}
}

/* GPU times are not known, but that it had no work while the host loaded code is. */
static void test_what_the_gpu_had_no_work_for(void **state)
{
	struct run r;
	struct call_event call_events[3000];
	struct verdict_gain gain[VERDICT_CLASSES];

	start(&r);
	r.m.gpu.has_busy = false;
	r.m.gpu.mode = TF_GPU_SAMPLE;
	r.m.host.module = 600 * MS;
	r.m.host.sync = 390 * MS;
	r.process.call_log = (struct call_log){.call_events = call_events,
	                                       .count = 3000,
	                                       .thread_count = 1,
	                                       .whole = true,
	                                       .window = 1000 * MS,
	                                       .until = 1000 * MS};
	loading(call_events, 1000, true);
	assert_near(verdict_pending(&r.m, gain), 0.4, 0.01);
	assert_near(gain[VERDICT_ALLOC].low, 0.6, 0.01);
	assert_true(gain[VERDICT_SYNC].low == 0 && gain[VERDICT_SYNC].high > 0.38);
	is(&r, "alloc-bound", "medium", "it had work for at most 40.0 % of the steady window");
	/* Where nothing waited it may have had work all the time. */
	loading(call_events, 1000, false);
	assert_near(verdict_pending(&r.m, gain), 1, 0.01);
	assert_int_equal(judge(&r)->cls, VERDICT_NONE);
	end(&r);
	/* A wait for all of one device says nothing of another. */
	loading(call_events, 1000, true);
	for (size_t i = 2; i < 3000; i += 3) {
		call_events[i].role = CUDA_ROLE_SYNC_ALL;
		call_events[i].device = 1;
	}
	assert_near(verdict_pending(&r.m, gain), 1, 0.01);
	for (size_t i = 2; i < 3000; i += 3)
		call_events[i].device = 0;
	assert_near(verdict_pending(&r.m, gain), 0.4, 0.01);
	r.process.call_log.thread_count = 2; /* who waited for whom is not known */
	assert_true(isnan(verdict_pending(&r.m, gain)));
}

static void advises(const struct run *r, const char *advice)
{
	char *why = verdict_unknown_work(&r->m);

	assert_non_null(why);
	assert_non_null(strstr(why, advice));
	free(why);
}

/* Why CUPTI did not tell is said as far as it is known. */
static void test_what_tells_more_gpu_time(void **state)
{
	struct run r;

	start(&r);
	r.m.gpu.busy.work = r.m.gpu.busy.unknown = 1000;
	r.m.gpu.mode = TF_GPU_SAMPLE;
	advises(&r, "run it for longer, or with CUDASPY_GPU=cupti");
	r.m.gpu.mode = TF_GPU_CUPTI;
	advises(&r, "too late or not at all");
	r.process.state = PROCESS_KILLED;
	advises(&r, "before the program was killed");
	r.m.gpu.partial = true;
	advises(&r, "another tool took CUPTI");
	r.m.gpu.busy.unknown = 0;
	assert_null(verdict_unknown_work(&r.m));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_launch),
	        cmocka_unit_test(test_gpu),
	        cmocka_unit_test(test_told_apart),
	        cmocka_unit_test(test_mixed_with_another_pair),
	        cmocka_unit_test(test_sync),
	        cmocka_unit_test(test_copy),
	        cmocka_unit_test(test_small_copies),
	        cmocka_unit_test(test_copies_within_the_gpu),
	        cmocka_unit_test(test_copies_that_waits_keep_apart),
	        cmocka_unit_test(test_ties),
	        cmocka_unit_test(test_sampling),
	        cmocka_unit_test(test_own_cost),
	        cmocka_unit_test(test_alloc_host_comm),
	        cmocka_unit_test(test_mixed),
	        cmocka_unit_test(test_startup),
	        cmocka_unit_test(test_startup_until_first_work),
	        cmocka_unit_test(test_window_within_a_slice),
	        cmocka_unit_test(test_teardown),
	        cmocka_unit_test(test_abstains),
	        cmocka_unit_test(test_gpu_unknown),
	        cmocka_unit_test(test_hostile),
	        cmocka_unit_test(test_exposed_collectives_that_differ),
	        cmocka_unit_test(test_what_the_gpu_had_no_work_for),
	        cmocka_unit_test(test_what_tells_more_gpu_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
