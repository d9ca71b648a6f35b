/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "tests/unit/recording.h"

static void *append(struct made *m, struct tf_table *t)
{
	void *entry = tf_append(&m->map, t);

	if (!entry)
		abort();
	tf_publish(t);
	return entry;
}

uint32_t made_range(struct made *m, uint32_t parent, const char *name, uint64_t count,
                    struct tf_counts counts)
{
	struct tf_table *ranges = &made_header(m)->ranges;
	uint64_t text = made_string(m, name, strlen(name));

	if (!ranges->count) /* entry 0 takes what found no place */
		append(m, ranges);
	uint64_t hist = made_hist(m, 20000, (uint32_t)count);
	struct tf_nvtx_range *r = append(m, ranges);
	const struct tf_nvtx_range *in = tf_entry(&m->map, ranges, parent, sizeof(*in));
	*r = (struct tf_nvtx_range){.name = text,
	                            .parent = parent ? parent + 1 : 0,
	                            .level = parent ? (uint16_t)(in->level + 1) : 0,
	                            .hist = hist,
	                            .count = count,
	                            .counted = count,
	                            .ticks = count * 20000,
	                            .min_ticks = 20000,
	                            .max_ticks = 20000,
	                            .counts = counts,
	                            .rows = (uint32_t)count,
	                            .stride = 1};
	return ranges->count - 1;
}

uint32_t made_loop(struct made *m, enum spy_class cls, uint64_t marker, uint64_t steps)
{
	struct tf_table *loops = &made_header(m)->loops;
	struct tf_loop *p = append(m, loops);

	*p = (struct tf_loop){.cls = (uint8_t)cls,
	                      .marker = marker,
	                      .steps = steps,
	                      .events = 3 * steps,
	                      .alike_x1000 = 1000 * steps,
	                      .rows = (uint32_t)steps,
	                      .stride = 1};
	return loops->count - 1;
}

void made_step(struct made *m, uint32_t source, uint16_t flags, uint64_t start,
               struct tf_counts counts)
{
	struct tf_table *steps = &made_header(m)->steps;
	struct tf_step *s = append(m, steps);

	*s = (struct tf_step){.start = start,
	                      .end = start + 20000,
	                      .source = source,
	                      .flags = flags,
	                      .counts = counts};
}

void made_stepped(struct made *m)
{
	const struct tf_counts step = {.launches = 3, .syncs = 1, .copies = 1, .copy_bytes = 4096},
	                       forward = {.launches = 2};
	struct tf_counts all = {.launches = 60, .syncs = 20, .copies = 20, .copy_bytes = 81920};

	made_start(m, 1 << 20, 4, 0);
	made_clock(m, 0, 1000, 1755767727123000000);
	made_clock(m, 4000000, 2001000, 1755767727125000000);
	made_call(m, "cuLaunchKernel", SPY_CLASS_LAUNCH, SPY_LEVEL_DRIVER);
	made_call(m, "cuStreamSynchronize", SPY_CLASS_SYNC, SPY_LEVEL_DRIVER);
	made_kernel(m, "");
	uint32_t kernel = made_kernel(m, "work");
	made_thread(m, 7, "main", 4);
	uint32_t outer = made_range(m, 0, "train_step", 20, all);
	uint32_t inner = made_range(m, outer, "forward", 20, (struct tf_counts){.launches = 40});
	made_loop(m, SPY_CLASS_LAUNCH, kernel, 20);
	for (uint64_t i = 0; i < 20; i++) {
		uint64_t start = 2002000 + 30000 * i;
		struct tf_counts varied = step;
		varied.launches += i % 2;
		made_step(m, outer, 0, start, step);
		made_step(m, inner, 0, start, forward);
		made_step(m, 0, TF_STEP_FOUND, start, varied);
	}
	made_close(m, 3900000);
}
