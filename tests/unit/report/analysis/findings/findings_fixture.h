/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A made run for tests of findings: one process, one device, one second of steady state, and the
 * calls that a test adds, in the order of their start. Nothing is known of the GPU unless a test
 * says so. For test_report_findings_*.c alone.
 */
#ifndef TESTS_UNIT_FINDINGS_FIXTURE_H
#define TESTS_UNIT_FINDINGS_FIXTURE_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/analysis/analysis.h"
#include "report/model/model.h"
#include "tests/unit/unit.h"

#define US 1e3
#define MS 1e6

enum made_streams { LEGACY, BLOCKING, OTHER_BLOCKING, FREE, OTHER_FREE, MADE_STREAMS };

struct run {
	struct model m;
	struct verdict verdict;
	struct findings found;
	struct model_process process;
	struct call_log_stream streams[MADE_STREAMS];
	struct call_log_thread threads[4];
	struct call_log_call calls[SPY_CLASS_COUNT + 2];
	size_t room;
};

static inline void run_start(struct run *r)
{
	struct call_log *h = &r->process.call_log;

	memset(r, 0, sizeof(*r));
	r->streams[LEGACY].flags = TF_STREAM_LEGACY;
	r->streams[FREE].flags = r->streams[OTHER_FREE].flags = 1; /* CU_STREAM_NON_BLOCKING */
	for (int i = 0; i < 4; i++) {
		r->threads[i].tid = 100 + (uint64_t)i;
		snprintf(r->threads[i].name, sizeof(r->threads[i].name), "thread-%d", i);
	}
	for (int i = 0; i < SPY_CLASS_COUNT; i++) {
		snprintf(r->calls[i].name, sizeof(r->calls[i].name), "call%d", i);
		r->calls[i].cls = (uint8_t)i;
	}
	snprintf(r->calls[SPY_CLASS_QUERY].name, 20, "cudaStreamQuery");
	*h = (struct call_log){.streams = r->streams,
	                       .stream_count = MADE_STREAMS,
	                       .threads = r->threads,
	                       .thread_count = 4,
	                       .calls = r->calls,
	                       .call_count = SPY_CLASS_COUNT,
	                       .events = 4,
	                       .window = 1000 * MS,
	                       .until = 1000 * MS,
	                       .coverage = 1,
	                       .whole = true,
	                       .cpu_wait = NAN};
	r->process.window = 1000 * MS;
	r->process.launches = 1;
	r->m.processes = &r->process;
	r->m.process_count = 1;
	r->m.host_window = 1000 * MS;
	r->verdict.window = 1000 * MS;
	r->m.gpu.launched.mean = r->m.gpu.launched.total = r->m.gpu.launch_p50 = NAN;
}

/* The GPU was idle for so many ms of the second while the host did that. */
static inline void run_idle(struct run *r, enum tf_idle cause, double ms)
{
	r->m.has_host = true;
	r->m.gpu.has_busy = true;
	r->m.gpu.busy.window = 1000 * MS;
	r->m.gpu.busy.by[cause] = ms * MS;
}

/* A call of thread 0 at that time, for that time; what it is of and gives is the caller's. */
static inline struct call_event *run_call(struct run *r, enum spy_class cls, double at_us,
                                          double us)
{
	struct call_log *h = &r->process.call_log;

	if (h->count == r->room) {
		r->room = r->room ? 2 * r->room : 64;
		h->call_events = realloc(h->call_events, r->room * sizeof(*h->call_events));
	}
	struct call_event *a = &h->call_events[h->count++];
	*a = (struct call_event){.start = at_us * US,
	                         .end = (at_us + us) * US,
	                         .gpu = NAN,
	                         .gpu_start = NAN,
	                         .call = cls,
	                         .stream = CALL_LOG_NONE,
	                         .work = CALL_LOG_NONE,
	                         .event = CALL_LOG_NONE,
	                         .graph = CALL_LOG_NONE,
	                         .items = 1,
	                         .cls = (uint8_t)cls,
	                         .role = (uint8_t)cuda_role_of(r->calls[cls].name, cls)};
	return a;
}

/* A launch of 3 us of a kernel that runs for so long. */
static inline struct call_event *run_launch(struct run *r, uint32_t stream, double at_us,
                                            double gpu_us)
{
	struct call_event *a = run_call(r, SPY_CLASS_LAUNCH, at_us, 3);

	a->kind = TF_WORK_KERNEL;
	a->stream = stream;
	a->work = stream;
	a->gpu = gpu_us * US;
	return a;
}

static inline struct call_event *run_sync(struct run *r, uint32_t stream, double at_us, double us)
{
	struct call_event *a = run_call(r, SPY_CLASS_SYNC, at_us, us);

	a->role = stream == CALL_LOG_NONE ? CUDA_ROLE_SYNC_ALL : CUDA_ROLE_SYNC_STREAM;
	a->stream = stream;
	return a;
}

static inline struct call_event *run_copy_back(struct run *r, uint32_t stream, double at_us,
                                               double us)
{
	struct call_event *a = run_call(r, SPY_CLASS_COPY, at_us, us);

	a->kind = TF_WORK_COPY;
	a->stream = stream;
	a->direction = SPY_DIR_DTOH;
	a->memory = SPY_MEM_PAGEABLE;
	a->bytes = 4;
	return a;
}

/* The finding of that name, or NULL; looked for anew each time. */
static inline const struct finding *run_finding(struct run *r, const char *id)
{
	struct whatifs *whatifs = whatif_start(&r->m);

	findings_free(&r->found);
	findings_make(&r->found, &r->m, &r->verdict, whatifs);
	whatif_end(whatifs);
	for (size_t i = 0; i < r->found.count; i++)
		if (!strcmp(r->found.items[i].id, id))
			return &r->found.items[i];
	return NULL;
}

/* It is there, with this share at stake and these words in its evidence. */
static inline void run_has(struct run *r, const char *id, double share, const char *words)
{
	const struct finding *f = run_finding(r, id);

	if (!f)
		fail_msg("no finding %s", id);
	if (!isnan(share))
		assert_near(f->share, share, 0.02);
	if (!strstr(f->evidence, words))
		fail_msg("'%s' is not in: %s", words, f->evidence);
}

static inline void run_has_not(struct run *r, const char *id)
{
	const struct finding *f = run_finding(r, id);

	if (f)
		fail_msg("%s: %s", id, f->evidence);
}

static inline void run_end(struct run *r)
{
	findings_free(&r->found);
	free(r->process.call_log.call_events);
}

#endif
