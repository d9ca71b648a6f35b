/* SPDX-License-Identifier: Apache-2.0 */
#include "report/model/kernel_times.h"

#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/reader/reader.h"
#include "shim/core/gpu_time/estimate.h"

static char *kernel_name(const struct recording *r, uint32_t id)
{
	const struct tf_kernel *k =
	        id < r->kernels ? tf_entry(&r->map, &tf_header(&r->map)->kernels, id, sizeof(*k))
	                        : NULL;
	uint32_t bytes;
	const char *name = k && k->name ? tf_text(&r->map, k->name, &bytes) : NULL;

	return name ? alloc_copy(name, bytes) : alloc_string("");
}

static void read_works(const struct recording *r, struct kernel_times *t)
{
	const struct tf_header *h = tf_header(&r->map);
	const struct tf_work *works =
	        h->works ? tf_at(&r->map, h->works, TF_WORKS * sizeof(*works)) : NULL;
	struct estimate_costs costs;

	estimate_costs(&r->map, &costs);
	t->null_pairs = costs.cost[ESTIMATE_KERNEL][TF_PAIR_IDLE].count +
	                costs.cost[ESTIMATE_KERNEL][TF_PAIR_BUSY].count;
	for (uint32_t i = 0; works && i < TF_WORKS; i++) {
		const struct tf_work *w = &works[i];
		const uint64_t count = t->exact ? w->exact_count
		                                : (uint64_t)w->pairs[TF_PAIR_IDLE].count +
		                                          w->pairs[TF_PAIR_BUSY].count;
		if (w->kind != TF_WORK_KERNEL || !count)
			continue;
		ALLOC_ROOM(t->rows, t->count);
		t->rows[t->count++] = (struct kernel_times_row){
		        .name = kernel_name(r, w->id),
		        .grid = w->grid_x,
		        .block = w->block_x,
		        .count = count,
		        /* Pairs: whatever the empty kernel was taken to last. */
		        .ns = estimate_ns(&costs, w) - (t->exact ? 0 : costs.kind.null_kernel_ns),
		};
	}
}

/* A text of a file that need not end. */
static char *text_of(const char *text, size_t room)
{
	return alloc_copy(text, strnlen(text, room));
}

static void read_machine(const struct recording *r, struct kernel_times_machine *m)
{
	const struct tf_header *h = tf_header(&r->map);
	const struct tf_environment *e =
	        h->environment ? tf_at(&r->map, h->environment, sizeof(*e)) : NULL;

	if (e && *e->driver_version)
		m->driver_text = text_of(e->driver_version, sizeof(e->driver_version));
	for (uint32_t i = 0; i < r->devices; i++) {
		const struct tf_device *d = tf_entry(&r->map, &h->devices, i, sizeof(*d));
		if (!d)
			continue;
		ALLOC_ROOM(m->devices, m->count);
		m->devices[m->count++] =
		        (struct kernel_times_device){.name = text_of(d->name, sizeof(d->name)),
		                                     .index = d->index,
		                                     .driver = h->driver_version,
		                                     .simulated = d->simulated != 0};
	}
}

void kernel_times_machine_free(struct kernel_times_machine *m)
{
	for (size_t i = 0; i < m->count; i++)
		free(m->devices[i].name);
	free(m->devices);
	free(m->driver_text);
	*m = (struct kernel_times_machine){0};
}

void kernel_times_free(struct kernel_times *t)
{
	for (size_t i = 0; i < t->count; i++)
		free(t->rows[i].name);
	free(t->rows);
	kernel_times_machine_free(&t->machine);
	*t = (struct kernel_times){0};
}

int kernel_times_read(const char *path, struct kernel_times *t, char **why)
{
	char error[READER_ERROR_BYTES];
	struct warnings warnings = {0};
	struct recording r;

	*t = (struct kernel_times){0};
	if (recording_open(&r, path, &warnings, error)) {
		*why = alloc_string(error);
		warnings_free(&warnings);
		return -1;
	}
	t->exact = tf_header(&r.map)->gpu_mode == TF_GPU_CUPTI;
	read_works(&r, t);
	read_machine(&r, &t->machine);
	recording_close(&r);
	warnings_free(&warnings);
	return 0;
}
