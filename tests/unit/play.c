/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/play.h"

#include <math.h>
#include <string.h>

#include "report/analysis/replay/replay.h"
#include "shim/core/work/work_class.h"
#include "tests/unit/render.h"
#include "tests/unit/unit.h"

void play_start(struct play *p)
{
	memset(p, 0, sizeof(*p));
	made_start(&p->made, 64u << 20, 16, MADE_AREAS);
	made_clock(&p->made, 0, 1000000000, 1755767727123000000);
	made_clock(&p->made, 400000000, 1200000000, 1755767727323000000);
	struct tf_header *h = made_header(&p->made);
	struct tf_store *keep = tf_at(&p->made.map, h->keep, sizeof(*keep));
	h->gpu_mode = TF_GPU_SAMPLE;
	keep->page_records = 4096;
	keep->pages_max = 16;
	p->launch = made_call(&p->made, "cuLaunchKernel", SPY_CLASS_LAUNCH, SPY_LEVEL_DRIVER);
	p->copy = made_call(&p->made, "cuMemcpyAsync", SPY_CLASS_COPY, SPY_LEVEL_DRIVER);
	p->sync = made_call(&p->made, "cuStreamSynchronize", SPY_CLASS_SYNC, SPY_LEVEL_DRIVER);
	p->mark = made_call(&p->made, "cuEventRecord", SPY_CLASS_EVENT, SPY_LEVEL_DRIVER);
	p->wait_mark = made_call(&p->made, "cuEventSynchronize", SPY_CLASS_SYNC, SPY_LEVEL_DRIVER);
	p->alloc = made_call(&p->made, "cuMemAlloc_v2", SPY_CLASS_ALLOC, SPY_LEVEL_DRIVER);
	p->release = made_call(&p->made, "cuMemFree_v2", SPY_CLASS_ALLOC, SPY_LEVEL_DRIVER);
	p->query = made_call(&p->made, "cuStreamQuery", SPY_CLASS_QUERY, SPY_LEVEL_DRIVER);
	made_kernel(&p->made, "");
	p->kernel = made_kernel(&p->made, "solve");
	p->thread[0] = made_thread(&p->made, 7, "main", 65536);
	p->thread[1] = made_thread(&p->made, 8, "other", 65536);
	p->tail = -1e9;
	/* An empty kernel counts 0.59 us. */
	made_pairs(made_work(&p->made, (struct tf_work){.kind = TF_WORK_NULL}, 0), TF_PAIR_IDLE,
	           100, 1e3 * KERNEL_EMPTY_US + 740, 1);
}

struct tf_record play_call(const struct play *p, uint16_t id, double us)
{
	uint64_t from = 2001000 + (uint64_t)(p->host * 2000);

	return (struct tf_record){.call = id, .start = from, .end = from + (uint64_t)(us * 2000)};
}

void play_returns(struct play *p, const struct tf_record *r)
{
	made_return(&p->made, p->thread[p->who], *r);
	p->host += (double)(r->end - r->start) / 2000;
}

void play_launch(struct play *p, double own, double us)
{
	double place = p->queued >= 1024 ? p->queue[p->queued % 1024] : 0;
	double took = own + fmax(0, place - p->host);

	made_launch(&p->made, p->thread[p->who], p->launch, p->kernel, 1,
	            2001000 + (uint64_t)(p->host * 2000),
	            2001000 + (uint64_t)((p->host + took) * 2000));
	p->host += took;
	p->tail = fmax(p->host + 1.8, p->tail + 0.75) + us;
	p->queue[p->queued++ % 1024] = p->tail;
}

void play_sync(struct play *p)
{
	double took = fmax(1, p->tail + 3.2 - p->host);
	struct tf_record r = play_call(p, p->sync, took);

	play_returns(p, &r);
}

void play_alloc(struct play *p, double us, bool is_free)
{
	double took = is_free ? us + fmax(0, p->tail - p->host) : us;
	struct tf_record r = play_call(p, is_free ? p->release : p->alloc, took);

	r.alloc.address = 0x7000;
	r.alloc.bytes = 4096;
	r.alloc.memory = SPY_MEM_DEVICE;
	r.alloc.is_free = is_free;
	play_returns(p, &r);
}

void play_transfer(struct play *p, enum spy_direction direction, enum spy_memory memory,
                   uint64_t bytes, double own, double us)
{
	double from = p->host;

	if (memory == SPY_MEM_PAGEABLE) { /* its caller copies, once the work before is done */
		p->host = p->tail = fmax(p->host, p->tail) + own;
	} else {
		p->host += own;
		p->tail = fmax(p->host + 1.8, p->tail + 0.75) + us;
	}
	made_copy(&p->made, p->thread[p->who], p->copy, direction, memory, true, bytes,
	          2001000 + (uint64_t)(from * 2000), 2001000 + (uint64_t)(p->host * 2000));
}

struct play_xla play_xla(struct play *p)
{
	return (struct play_xla){
	        made_call(&p->made, "cuCtxSetCurrent", SPY_CLASS_CONTEXT, SPY_LEVEL_DRIVER),
	        made_call(&p->made, "cuLaunchHostFunc", SPY_CLASS_OTHER, SPY_LEVEL_DRIVER)};
}

void play_read(struct play *p, const struct play_xla *xla, uint64_t bytes, double us)
{
	p->who = 1;
	struct tf_record r = play_call(p, xla->current, 2);
	play_returns(p, &r);
	play_transfer(p, SPY_DIR_DTOH, SPY_MEM_PINNED, bytes, 5, us);
	r = play_call(p, xla->told, 4);
	play_returns(p, &r);
}

void play_timed(struct play *p, double us)
{
	struct tf_work key = {.kind = TF_WORK_KERNEL,
	                      .id = p->kernel,
	                      .grid_x = 1,
	                      .grid_y = 1,
	                      .grid_z = 1,
	                      .block_x = 256,
	                      .block_y = 1,
	                      .block_z = 1};

	made_pairs(made_work(&p->made, key, 0), TF_PAIR_IDLE, 400, 1e3 * (us + KERNEL_EMPTY_US), 1);
}

void play_timed_copy(struct play *p, enum spy_direction direction, uint64_t bytes, double us)
{
	struct tf_work key = {.kind = TF_WORK_COPY,
	                      .direction = (uint8_t)direction,
	                      .memory = SPY_MEM_PINNED,
	                      .async = 1,
	                      .size = work_size_bucket(bytes)};

	made_pairs(made_work(&p->made, key, 0), TF_PAIR_IDLE, 400,
	           1e3 * (us + KERNEL_EMPTY_US + 3.2), 1);
}

struct whatif_result play_ask(struct play *p, struct model *m, enum whatif what, const char *kernel,
                              double factor)
{
	struct whatif_result r;

	if (!m->process_count) {
		made_close(&p->made, 2001000 + (uint64_t)(p->host * 2000) + 1000);
		assert_true(render_model(m, p->made.map.base, made_bytes(&p->made)));
	}
	if (!p->whatifs)
		p->whatifs = whatif_start(m);
	bool known = whatif_predict(p->whatifs, what, kernel, factor, &r);
	assert_int_equal(known, r.known);
	if (!known) {
		assert_true(isnan(r.predicted) && isnan(r.speedup) && isnan(r.low));
		assert_true(r.why[0]);
		return r;
	}
	assert_true(r.least <= r.predicted && r.predicted <= r.most && r.most <= r.window);
	assert_true(r.low <= 1.01 * r.predicted && 0.99 * r.predicted <= r.high);
	assert_true(r.speedup_low <= r.speedup && r.speedup <= r.speedup_high);
	assert_near(r.saved, r.window - r.predicted, 1e-9);
	return r;
}

void play_ends(struct play *p, struct model *m)
{
	whatif_end(p->whatifs);
	model_free(m);
	made_free(&p->made);
}

void play_assert_base(const struct model *m, double part)
{
	struct replay r;

	replay_make(&r, &m->processes[0].call_log, REPLAY_MEAN);
	assert_true(r.count > 0);
	assert_near(replay_run(&r, r.call_events), r.base, part);
	replay_free(&r);
}
