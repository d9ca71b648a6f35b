/* SPDX-License-Identifier: Apache-2.0 */
/* A timeline is made, and what it has from the recording before any record comes. */
#include "shim/core/timeline/timeline_internal.h"

#include <sys/mman.h>
#include "shim/core/cuda/host_functions.h"

/* Where nothing was learned yet. */
#define LATENCY_NS       (CUDA_START_NS + CUDA_RETURN_NS)
#define NOISE_NS         3000.0 /* waits told apart from calls that found nothing to wait for */
#define DURATION_MOST_NS 1e13

/* From the recording's first and last reading of the clocks; what cannot be true is taken for a
 * nanosecond a tick. */
static double ticks_per_ns(const struct tf_map *map)
{
	const struct tf_header *h = tf_header(map);
	uint32_t count = tf_count(&h->clocks);
	const struct tf_clock_triple *first, *last;

	if (h->clock_kind == TF_CLOCK_MONOTONIC || count < 2)
		return 1;
	first = tf_entry(map, &h->clocks, 0, sizeof(*first));
	last = tf_entry(map, &h->clocks, count - 1, sizeof(*last));
	if (!first || !last || last->tick <= first->tick ||
	    last->monotonic_ns <= first->monotonic_ns)
		return 1;
	double rate = (double)(last->tick - first->tick) /
	              (double)(last->monotonic_ns - first->monotonic_ns);
	return rate > 1e-3 && rate < 1e2 ? rate : 1;
}

void tl_set_rate(struct timeline *t)
{
	uint64_t stall = tf_header(t->map)->stall_ns;

	t->ticks_per_ns = ticks_per_ns(t->map);
	t->version++;
	for (int i = 0; i < CUDA_ENGINES; i++)
		for (int k = 0; k < CUDA_ENGINES; k++)
			t->space[i][k] = tl_ticks(t, CUDA_GAP_NS) +
			                 tl_ticks(t, cuda_switch_ns((enum cuda_engine)i,
			                                            (enum cuda_engine)k));
	t->noise = tl_ticks(t, NOISE_NS);
	t->function = tl_ticks(t, CUDA_HOST_FUNCTION_NS);
	t->stall = tl_ticks(t, stall < 1000000 ? (double)stall : 0);
	t->short_work = tl_ticks(t, cuda_guess_ns(TF_WORK_KERNEL, SPY_DIR_UNKNOWN, 0));
	t->start_latency = tl_ticks(t, CUDA_START_NS);
	if (!t->latencies)
		t->latency = tl_ticks(t, LATENCY_NS);
}

uint64_t tl_ticks(const struct timeline *t, double ns)
{
	return ns > 0 ? (uint64_t)((ns < DURATION_MOST_NS ? ns : DURATION_MOST_NS) *
	                           t->ticks_per_ns)
	              : 0;
}

void tl_find_window(struct timeline *t)
{
	const struct tf_header *h = tf_header(t->map);
	/* Acquire: pairs with spy_window_begins(). */
	uint64_t start = __atomic_load_n(&h->window_start, __ATOMIC_ACQUIRE), sum = 0;

	if (!start || start >= TL_TICKS_MOST / 2)
		return;
	for (int i = 0; i < TF_HOSTS && sum < TL_TICKS_MOST / 2; i++)
		sum += h->host_ticks[i] < TL_TICKS_MOST ? h->host_ticks[i] : TL_TICKS_MOST / 2;
	if (sum >= TL_TICKS_MOST / 2)
		return;
	t->window = start;
	t->resumed = sum != 0;
	t->began = t->host_until = t->seen = start + sum;
}

struct timeline *timeline_new(struct tf_map *map)
{
	struct timeline *t = mmap(NULL, sizeof(*t), PROT_READ | PROT_WRITE,
	                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (t == MAP_FAILED)
		return NULL;
	t->map = map;
	t->mode = tf_header(map)->gpu_mode;
	if (t->mode != TF_GPU_OFF && t->mode != TF_GPU_CUPTI)
		t->mode = TF_GPU_SAMPLE;
	t->slices = tf_at(map, tf_header(map)->slices, sizeof(*t->slices));
	t->ops_mask = TL_OPS_FEW - 1;
	tl_set_rate(t);
	t->calibrated = UINT64_MAX;
	t->copies_timed = true;
	estimate_costs(map, &t->costs);
	tl_find_window(t);
	return t;
}

void timeline_is_first(struct timeline *t)
{
	t->calibrated = 0;
	t->copies_timed = t->mode == TF_GPU_CUPTI;
}

void timeline_free(struct timeline *t)
{
	if (t)
		munmap(t, sizeof(*t));
}
