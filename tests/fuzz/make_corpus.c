/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the fuzzers' seeds: into one folder small recordings of each kind and kernel names, into
 * the other rules, settings and baselines.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/packed.h"
#include "tests/unit/recording.h"

static const char *folder;

static void save(struct made *m, const char *name)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	made_write(m, path);
	made_free(m);
}

/* From `at`, how many bytes follow that are zero (or are not, but for gaps too short to count). */
static uint32_t run_of(const uint8_t *data, uint64_t at, uint64_t end, bool zeros)
{
	uint64_t until = at, gap = 0;

	for (uint64_t i = at; i < end && (zeros ? !data[i] : gap < PACKED_GAP); i++) {
		gap = data[i] ? 0 : gap + 1;
		until = zeros || data[i] ? i + 1 : until;
	}
	return (uint32_t)(until - at);
}

static void save_packed(struct made *m, const char *name)
{
	char path[4096];
	uint64_t end = made_bytes(m);

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	made_header(m)->file_end = end;
	FILE *f = fopen(path, "w");
	bool bad = !f || fwrite(PACKED, 1, PACKED_MAGIC, f) != PACKED_MAGIC;
	for (uint64_t at = 0; !bad && at < end;) {
		struct packed_piece piece = {.zeros = run_of(m->map.base, at, end, true)};
		at += piece.zeros;
		piece.bytes = run_of(m->map.base, at, end, false);
		bad = fwrite(&piece, sizeof(piece), 1, f) != 1 ||
		      fwrite(m->map.base + at, 1, piece.bytes, f) != piece.bytes;
		at += piece.bytes;
	}
	if (bad || fclose(f))
		exit(2);
	made_free(m);
}

static void save_text(const char *text, const char *name)
{
	char path[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	f = fopen(path, "w");
	if (!f || fputs(text, f) < 0 || fclose(f))
		exit(2);
}

static void empty(struct made *m)
{
	made_start(m, 1 << 20, 4, 0);
}

/* Killed in a sync, its ring full. */
static void killed(struct made *m)
{
	made_start(m, 1 << 20, 4, 0);
	made_clock(m, 0, 1000, 1755767727123000000);
	made_clock(m, 4000000, 2001000, 1755767727125000000);
	uint16_t launch = made_call(m, "cuLaunchKernel", SPY_CLASS_LAUNCH, SPY_LEVEL_DRIVER);
	uint16_t sync = made_call(m, "cuCtxSynchronize", SPY_CLASS_SYNC, SPY_LEVEL_DRIVER);
	made_kernel(m, "");
	uint32_t kernel = made_kernel(m, "_ZN2at6native13reduce_kernelILi512ELi1EEEvT0_");
	struct tf_thread *t = made_thread(m, 7, "py\033[31m", 4);
	for (uint64_t i = 0; i < 9; i++)
		made_launch(m, t, launch, kernel, 1, 2002000 + i * 1000, 2002500 + i * 1000);
	t->in_call = sync + 1u;
	t->in_start = 2100000;
	made_header(m)->last_seen = 3900000;
}

/* What NVML said of two devices. */
static void surrounded(struct made *m)
{
	made_start(m, 1 << 20, 4, 0);
	made_clock(m, 0, 1000, 1755767727123000000);
	made_clock(m, 4000000, 2001000, 1755767727125000000);
	made_header(m)->driver_version = 12020;
	made_library(m, TF_LIBRARY_RUNTIME, "/usr/lib/libcudart.so.13", 13000);
	struct tf_environment *e = made_environment(m, 2);
	for (unsigned i = 0; i < SPY_ENVIRONMENT_COUNT; i++) {
		made_told(&e->devices[0].first, i, i, 1000000);
		made_told(&e->devices[0].last, i, 1000 * i, 3000000);
		made_told(&e->devices[1].first, i, 0x4c, 1000000);
	}
	e->devices[0].last.pids[0] = 4711;
	e->devices[0].last.pids[1] = 815;
}

/* CUPTI's times, and two devices. */
static void counted(struct made *m)
{
	made_sampled(m);
	struct tf_header *h = made_header(m);
	struct tf_work *works = tf_at(&m->map, h->works, TF_WORKS * sizeof(*works));
	h->gpu_mode = TF_GPU_CUPTI;
	for (struct tf_work *w = works; w < works + TF_WORKS; w++) {
		w->exact_count = w->count;
		w->exact_ns = (double)w->count * 2500;
	}
	made_device(m, "NVIDIA A100", false);
	*made_device_time(m, 1) = (struct tf_device_time){.total.busy = 5000000, .work = 3};
}

/* The first letter says what it is read as. */
static void checks(void)
{
	static const char *const rules[] = {
	        "Rlaunches <= +0",
	        "Rcopy_bytes_per_step >= -5.5MiB",
	        "Rkernel \"a.*\\\"(b|c)\": launches_per_step != 3",
	        "Rrange \"train_step\" syncs = 0",
	        "Rgpu_busy_share >= 60%",
	        "Rverdict != sync-bound",
	        "Rlaunch_p50_ns <= +15%",
	};
	char name[32];

	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		snprintf(name, sizeof(name), "rule%zu", i);
		save_text(rules[i], name);
	}
	save_text(
	        "Tbaseline = \"a.json\"\nskip_steps = 5\nsteps_from = 'step'\nallow_killed = true\n"
	        "limits = [ \"launches <= 1\", # why\n 'kernel \"a\" launches = 0' ]\n",
	        "settings");
	save_text("T[,]\n", "settings3");
	save_text("Tsteps = 100\nlimits = []\n", "settings2");
	save_text(
	        "B{\"schema\": \"cudaspy.baseline/1\", \"recordings\": 2, \"machine\": {\"gpus\": "
	        "\"A\", \"driver\": \"13.0\", \"gpu_mode\": \"off\"}, \"steps\": 10, \"counts\": "
	        "{\"launches\": [40, 41], \"syncs\": 7}, \"times\": {\"launch_p50_ns\": [2.5, "
	        "null]}, "
	        "\"verdict\": \"gpu-bound\", \"kernels\": {\"k\": [1, 0]}, \"apis\": {}, "
	        "\"copy_kinds\": {\"x\": 1}}",
	        "baseline");
	save_text("B{\"schema\": \"cudaspy.baseline/1\", \"recordings\": 1, \"per_step\": "
	          "{\"source\": "
	          "\"nvtx\", \"name\": \"s\", \"count\": 9, \"judged\": 8, \"launches\": 2, "
	          "\"syncs\": "
	          "{\"mean\": 1.5, \"min\": 1, \"max\": 2, \"error\": 0.1, \"freedom\": 9}}, "
	          "\"ranges\": "
	          "[{\"name\": \"s\", \"domain\": \"d\", \"parent\": null, \"count\": 9, "
	          "\"counted\": 9, "
	          "\"launches\": 18}, {\"name\": \"f\", \"parent\": 0, \"count\": 9, \"counted\": "
	          "9}]}",
	          "steps");
}

/* Enough calls of every sort to be played again: launches, copies, waits, allocations, events. */
static void recent(struct made *m)
{
	static const struct {
		const char *name;
		enum spy_class cls;
	} calls[] = {
	        {"cuLaunchKernel", SPY_CLASS_LAUNCH},      {"cuMemcpyAsync", SPY_CLASS_COPY},
	        {"cuStreamSynchronize", SPY_CLASS_SYNC},   {"cuMemFree_v2", SPY_CLASS_ALLOC},
	        {"cuEventRecord", SPY_CLASS_EVENT},        {"cuStreamWaitEvent", SPY_CLASS_EVENT},
	        {"cuEventSynchronize", SPY_CLASS_SYNC},    {"cuStreamQuery", SPY_CLASS_QUERY},
	        {"cuGraphLaunch", SPY_CLASS_GRAPH_LAUNCH}, {"cuCtxSynchronize", SPY_CLASS_SYNC}};
	const uint16_t count = sizeof(calls) / sizeof(calls[0]);

	made_sampled(m);
	uint32_t first = made_header(m)->calls.count;
	m->calls_most = first + count;
	for (uint16_t i = 0; i < count; i++)
		made_call(m, calls[i].name, calls[i].cls, SPY_LEVEL_DRIVER);
	struct tf_thread *t = made_thread(m, 9, "busy", 256);
	for (uint16_t i = 0; i < 200; i++) {
		struct tf_record r = {.start = 2001000 + i * 100000ull,
		                      .end = 2001000 + i * 100000ull + 50000,
		                      .call = (uint16_t)(first + i % count),
		                      .stream = i % 3 ? 0x5000u + i % 2 : 0};
		if (i % count >= 4 && i % count <= 6)
			r.event.event = 0x6000;
		if (i % count == 0) {
			r.launch.kernel = 1; /* timed in this shape */
			r.launch.grid_x = 64;
			r.launch.block_x = 256;
			r.launch.grid_y = r.launch.grid_z = 1;
			r.launch.block_y = r.launch.block_z = 1;
		} else if (i % count == 1) {
			r.copy.bytes = 4u << 20;
			r.copy.memory = SPY_MEM_PINNED;
			r.copy.async = 1;
		} else if (i % count == 3) {
			r.alloc.is_free = 1;
			r.alloc.memory = SPY_MEM_DEVICE;
		} else if (i % count == 8) {
			r.graph.graph = 0;
			r.graph.handle = 0x7f00beef;
		}
		made_record(m, t, r);
	}
}

int main(int argc, char **argv)
{
	struct made m;

	if (argc != 3) {
		fprintf(stderr, "usage: %s RECORDINGS CHECKS\n", argv[0]);
		return 2;
	}
	folder = argv[1];
	made_sample(&m, 0);
	save(&m, "sample");
	empty(&m);
	save(&m, "empty");
	killed(&m);
	save(&m, "killed");
	surrounded(&m);
	save(&m, "surrounded");
	made_sampled(&m);
	save_packed(&m, "sampled");
	counted(&m);
	save_packed(&m, "counted");
	made_stepped(&m);
	save_packed(&m, "stepped");
	recent(&m);
	save_packed(&m, "recent");
	save_text("_ZN7cutlass6KernelINS_4gemm6kernel4GemmINS1_11threadblock12MmaPipelinedIS4_S4_"
	          "EEEEEEvNT_6ParamsE",
	          "name");
	save_text("_Z1fI1AIS_S_ES1_IS1_S1_EEvT_T0_", "references");
	folder = argv[2];
	checks();
	return 0;
}
