/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "shim/core/format/histogram.h"
#include "shim/core/work/work_class.h"
#include "tests/unit/recording.h"

struct tf_work *made_work(struct made *m, struct tf_work key, uint64_t count)
{
	struct tf_work *w = work_find(&m->map, &key);

	if (!w)
		abort();
	w->count = count;
	w->ticks = count * 8000;
	return w;
}

void made_pairs(struct tf_work *w, enum tf_pair regime, uint64_t count, double mean,
                double deviation)
{
	w->pairs[regime] = (struct tf_pairs){
	        .count = (uint32_t)count,
	        .least_ns = (uint32_t)mean,
	        .sum_ns = (double)count * mean,
	        .sum_squares =
	                (double)count * mean * mean + (double)(count - 1) * deviation * deviation,
	};
}

struct tf_device_time *made_device_time(struct made *m, uint32_t device)
{
	struct tf_header *h = made_header(m);

	h->devices_time[device] = m->map.alloc(&m->map, sizeof(struct tf_device_time));
	return tf_at(&m->map, h->devices_time[device], sizeof(struct tf_device_time));
}

struct tf_stream *made_stream(struct made *m, uint64_t handle, uint32_t flags)
{
	struct tf_stream *s = tf_append(&m->map, &made_header(m)->streams);

	s->handle = handle;
	s->flags = flags;
	tf_publish(&made_header(m)->streams);
	return s;
}

uint64_t made_hist(struct made *m, uint64_t ticks, uint32_t count)
{
	uint64_t offset = m->map.alloc(&m->map, sizeof(struct tf_hist));
	struct tf_hist *hist = tf_at(&m->map, offset, sizeof(*hist));

	hist->buckets[hist_bucket(ticks)] = count;
	hist->count = count;
	return offset;
}

void made_calls(struct made *m, struct tf_thread *t, uint16_t call, uint64_t calls, uint64_t ticks)
{
	struct tf_call *c = tf_entry(&m->map, &made_header(m)->calls, call, sizeof(*c));

	t->calls[call] = (struct tf_call_stat){
	        .calls = calls, .sum_ticks = ticks, .max_ticks = calls ? ticks / calls : 0};
	t->items[c->cls] += calls;
}

void made_launches(struct made *m, struct tf_thread *t, uint32_t kernel, uint64_t launches,
                   uint64_t ticks, uint64_t first_ticks)
{
	uint32_t *page = &t->kernel_pages[kernel / TF_KERNEL_PAGE];
	uint64_t bytes = TF_KERNEL_PAGE * sizeof(struct tf_kernel_stat);

	if (!*page)
		*page = (uint32_t)(m->map.alloc(&m->map, bytes) / 64);
	struct tf_kernel_stat *s = tf_at(&m->map, (uint64_t)*page * 64, bytes);
	s[kernel % TF_KERNEL_PAGE] = (struct tf_kernel_stat){
	        .launches = launches,
	        .sum_ticks = ticks,
	        .first_ticks = first_ticks,
	        .max_ticks = first_ticks,
	        .kernel = kernel,
	};
}

void made_copies(struct tf_thread *t, enum spy_direction direction, enum spy_memory memory,
                 bool async, uint64_t count, uint64_t bytes, uint64_t ticks)
{
	t->copies[TF_COPY_KIND(direction, memory, async)] = (struct tf_copy_stat){
	        .count = count, .bytes = bytes, .sum_ticks = ticks, .max_ticks = ticks};
}

#define MS 2000000ull /* ticks */

static struct tf_work launch_key(uint32_t kernel, uint32_t grid)
{
	return (struct tf_work){.kind = TF_WORK_KERNEL,
	                        .id = kernel,
	                        .grid_x = grid,
	                        .grid_y = 1,
	                        .grid_z = 1,
	                        .block_x = 256,
	                        .block_y = 1,
	                        .block_z = 1};
}

static struct tf_work copy_key(enum tf_work_kind kind, enum spy_direction direction,
                               enum spy_memory memory, uint64_t bytes)
{
	return (struct tf_work){.kind = (uint8_t)kind,
	                        .direction = (uint8_t)direction,
	                        .memory = (uint8_t)memory,
	                        .async = 1,
	                        .size = work_size_bucket(bytes)};
}

static void add_works(struct made *m, uint32_t fast, uint32_t slow, uint32_t never, uint32_t graph)
{
	struct tf_work *w = made_work(m, (struct tf_work){.kind = TF_WORK_EMPTY}, 0);

	made_pairs(w, TF_PAIR_IDLE, 10, 1300, 20);
	w = made_work(m, (struct tf_work){.kind = TF_WORK_NULL}, 0);
	made_pairs(w, TF_PAIR_IDLE, 20, 2700, 40);
	made_pairs(w, TF_PAIR_BUSY, 5, 2740, 30);
	w = made_work(m, launch_key(fast, 64), 1000);
	made_pairs(w, TF_PAIR_IDLE, 16, 5110, 100); /* 3,000 ns */
	w->registers = 40;
	w->blocks_per_sm = 4; /* of 8 warps each */
	w->warps_per_sm = 64;
	w = made_work(m, launch_key(fast, 128), 500);
	made_pairs(w, TF_PAIR_BUSY, 9, 7150, 90); /* 5,000 ns */
	w = made_work(m, launch_key(slow, 64), 100);
	made_pairs(w, TF_PAIR_IDLE, 1, 102110, 0); /* 100 us */
	made_work(m, launch_key(never, 7), 10);
	w = made_work(m, (struct tf_work){.kind = TF_WORK_GRAPH, .id = graph}, 5);
	made_pairs(w, TF_PAIR_IDLE, 2, 52110, 10); /* 50 us */
	w = made_work(m, copy_key(TF_WORK_COPY, SPY_DIR_HTOD, SPY_MEM_PINNED, 4 << 20), 20);
	w->bytes = 20ull * (4 << 20);
	made_pairs(w, TF_PAIR_IDLE, 4, 85310, 50); /* 80 us */
	w = made_work(m, copy_key(TF_WORK_COPY, SPY_DIR_HTOD, SPY_MEM_PAGEABLE, 1 << 20), 10);
	w->bytes = 10ull * (1 << 20);
	made_pairs(w, TF_PAIR_IDLE, 5, 54300, 50); /* 21.875 us at the rate of the pinned ones */
	w = made_work(m, copy_key(TF_WORK_SET, SPY_DIR_UNKNOWN, SPY_MEM_DEVICE, 4096), 2);
	w->bytes = 2 * 4096;
	made_pairs(w, TF_PAIR_IDLE, 2, 3300, 10); /* 2,000 ns */
}

/* 16 ms of 20 busy. */
static void add_busy(struct made *m)
{
	struct tf_header *h = made_header(m);
	struct tf_device_time *d = made_device_time(m, 0);
	struct tf_slices *s = tf_at(&m->map, h->slices, sizeof(*s));

	d->total.busy = 16 * MS;
	d->total.comm = MS / 2;
	d->total.kernels = 156 * MS / 10;
	d->total.copies = 18 * MS / 10;
	d->total.idle[TF_IDLE_LAUNCH] = MS;
	d->total.idle[TF_IDLE_SYNC] = 3 * MS / 2;
	d->total.idle[TF_IDLE_OUTSIDE] = MS / 2;
	d->total.idle[TF_IDLE_UNKNOWN] = MS;
	d->from = h->window_start;
	d->until = h->window_start + 20 * MS;
	d->work = 1637;
	d->work_unknown = 10;
	s->origin = h->load;
	s->width = MS;
	s->used = 22;
	for (int i = 1; i <= 20; i++) {
		d->slices.busy[i].busy = i < 5 ? MS / 10 : 9 * MS / 10;
		d->slices.busy[i].idle[TF_IDLE_LAUNCH] = MS - d->slices.busy[i].busy;
		s->slice[i].host_ticks[i < 5 ? TF_HOST_MODULE : TF_HOST_LAUNCH] = MS;
	}
	struct tf_stream *stream = made_stream(m, 0, TF_STREAM_LEGACY);
	stream->kernels = 1610;
	stream->graphs = 5;
	stream->sets = 2;
	stream->kernel_ticks = 1575 * MS / 100;
	stream = made_stream(m, 0x7f001000, 1);
	stream->copies = 30;
	stream->copy_ticks = 18 * MS / 10;
	stream->overlapped_ticks = 14 * MS / 10;
}

static void add_host(struct made *m, struct tf_thread *t)
{
	static const uint64_t us[TF_HOSTS] = {
	        [TF_HOST_LAUNCH] = 5000,      [TF_HOST_BACK_PRESSURE] = 1000,
	        [TF_HOST_CONTENTION] = 460,   [TF_HOST_SYNC_USEFUL] = 3000,
	        [TF_HOST_SYNC_WASTED] = 1500, [TF_HOST_COPY] = 500,
	        [TF_HOST_OUTSIDE] = 8540,
	};
	struct tf_header *h = made_header(m);

	for (int i = 0; i < TF_HOSTS; i++)
		t->split_ticks[i] = h->host_ticks[i] = us[i] * (MS / 1000);
	t->split_ticks[TF_HOST_OUTSIDE] = 0; /* the timeline does not count it for a thread */
	t->implicit_syncs = 7;
	t->samples = 39;
	t->sample_ticks = 480000; /* 240 us */
	t->last_return = h->window_start + 20 * MS;
	h->timeline_upto = t->last_return;
}

void made_sampled(struct made *m)
{
	made_start(m, 8u << 20, 8, MADE_AREAS);
	struct tf_header *h = made_header(m);
	h->gpu_mode = TF_GPU_SAMPLE;
	h->stall_ns = 8000;
	h->span_ticks_x1024 = 80 * 1024;
	made_clock(m, 0, 1000000000, 1755767727123000000);
	made_clock(m, 400000000, 1200000000, 1755767727323000000); /* 0.5 ns a tick */
	uint16_t launch = made_call(m, "cuLaunchKernel", SPY_CLASS_LAUNCH, SPY_LEVEL_DRIVER);
	uint16_t copy = made_call(m, "cuMemcpyHtoDAsync_v2", SPY_CLASS_COPY, SPY_LEVEL_DRIVER);
	uint16_t sync = made_call(m, "cuStreamSynchronize", SPY_CLASS_SYNC, SPY_LEVEL_DRIVER);
	uint16_t replay = made_call(m, "cuGraphLaunch", SPY_CLASS_GRAPH_LAUNCH, SPY_LEVEL_DRIVER);
	uint16_t set = made_call(m, "cuMemsetD8Async", SPY_CLASS_SET, SPY_LEVEL_DRIVER);
	made_kernel(m, "");
	uint32_t fast = made_kernel(m, "fast"), slow = made_kernel(m, "slow"),
	         never = made_kernel(m, "never");
	uint32_t graph = made_graph(m, 0x7f00beef, 4000000);
	made_device(m, "NVIDIA H200", false);
	struct tf_thread *t = made_thread(m, 4711, "python3", 4);
	made_calls(m, t, launch, 1610, 1610 * 8000);
	made_calls(m, t, copy, 30, MS);
	made_calls(m, t, sync, 5, 4 * MS);
	made_calls(m, t, replay, 5, 40000);
	made_calls(m, t, set, 2, 0);
	made_launches(m, t, fast, 1500, 1500 * 8000, 100000);
	made_launches(m, t, slow, 100, 100 * 8000, 100000);
	made_launches(m, t, never, 10, 10 * 8000, 8000);
	made_copies(t, SPY_DIR_HTOD, SPY_MEM_PINNED, true, 20, 20ull * (4 << 20), MS / 2);
	made_copies(t, SPY_DIR_HTOD, SPY_MEM_PAGEABLE, true, 10, 10ull * (1 << 20), MS / 2);
	struct tf_kernel *k = tf_entry(&m->map, &h->kernels, fast, sizeof(*k));
	k->queue_hist = made_hist(m, 4000, 1000);
	k->queue_count = 1000;
	k->queue_ticks = 4000000;
	add_works(m, fast, slow, never, graph);
	add_busy(m);
	add_host(m, t);
	made_close(m, t->last_return + 1000);
}
