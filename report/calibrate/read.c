/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/calibrate/calibrate.h"
#include "report/reader/reader.h"
#include "shim/core/gpu_time/estimate.h"

static int kernel_code(const struct recording *r, uint32_t id)
{
	const struct tf_kernel *k =
	        id < r->kernels ? tf_entry(&r->map, &tf_header(&r->map)->kernels, id, sizeof(*k))
	                        : NULL;
	uint32_t bytes;
	const char *name = k && k->name ? tf_text(&r->map, k->name, &bytes) : NULL;

	for (int i = 0; name && i < CALIBRATE_CODES; i++)
		if (bytes == strlen(calibrate_code_names[i]) &&
		    !memcmp(name, calibrate_code_names[i], bytes))
			return i;
	return -1;
}

static int kind_of(const struct recording *r, const struct tf_work *w)
{
	int code = w->kind == TF_WORK_KERNEL ? kernel_code(r, w->id) : -1;

	for (int i = 0; code >= 0 && i < CALIBRATE_KINDS; i++)
		if ((int)calibrate_kinds[i].code == code && calibrate_kinds[i].grid == w->grid_x &&
		    calibrate_kinds[i].block == w->block_x)
			return i;
	return -1;
}

static uint64_t pairs_of(const struct tf_work *w)
{
	return (uint64_t)w->pairs[TF_PAIR_IDLE].count + w->pairs[TF_PAIR_BUSY].count;
}

static void read_works(const struct recording *r, struct calibrate_run *run)
{
	const struct tf_header *h = tf_header(&r->map);
	const struct tf_work *works =
	        h->works ? tf_at(&r->map, h->works, TF_WORKS * sizeof(*works)) : NULL;
	struct estimate_costs costs;

	estimate_costs(&r->map, &costs);
	run->null_pairs = costs.cost[ESTIMATE_KERNEL][TF_PAIR_IDLE].count +
	                  costs.cost[ESTIMATE_KERNEL][TF_PAIR_BUSY].count;
	for (uint32_t i = 0; works && i < TF_WORKS; i++) {
		int kind = kind_of(r, &works[i]);
		if (kind < 0)
			continue;
		run->count[kind] = run->exact ? works[i].exact_count : pairs_of(&works[i]);
		if (!run->count[kind])
			continue;
		run->ns[kind] = estimate_ns(&costs, &works[i]);
		if (!run->exact) /* whatever the empty kernel was taken to last */
			run->ns[kind] -= costs.kind.null_kernel_ns;
	}
}

/* A text of a file that need not end. */
static char *text_of(const char *text, size_t room)
{
	return alloc_copy(text, strnlen(text, room));
}

static void read_machine(const struct recording *r, struct calibrate_machine *m)
{
	const struct tf_header *h = tf_header(&r->map);
	const struct tf_environment *e =
	        h->environment ? tf_at(&r->map, h->environment, sizeof(*e)) : NULL;

	*m = (struct calibrate_machine){0};
	if (e && *e->driver_version)
		m->driver_text = text_of(e->driver_version, sizeof(e->driver_version));
	for (uint32_t i = 0; i < r->devices; i++) {
		const struct tf_device *d = tf_entry(&r->map, &h->devices, i, sizeof(*d));
		if (!d)
			continue;
		ALLOC_ROOM(m->devices, m->count);
		m->devices[m->count++] =
		        (struct calibrate_device){.name = text_of(d->name, sizeof(d->name)),
		                                  .index = d->index,
		                                  .driver = h->driver_version,
		                                  .simulated = d->simulated != 0};
	}
}

void calibrate_machine_free(struct calibrate_machine *m)
{
	for (size_t i = 0; i < m->count; i++)
		free(m->devices[i].name);
	free(m->devices);
	free(m->driver_text);
	*m = (struct calibrate_machine){0};
}

int calibrate_read(const char *path, struct calibrate_run *run, struct calibrate_machine *machine,
                   char **why)
{
	char error[READER_ERROR_BYTES];
	struct warnings warnings = {0};
	struct recording r;

	*run = (struct calibrate_run){0};
	for (int i = 0; i < CALIBRATE_KINDS; i++)
		run->ns[i] = NAN;
	if (recording_open(&r, path, &warnings, error)) {
		*why = alloc_string(error);
		warnings_free(&warnings);
		return -1;
	}
	run->exact = tf_header(&r.map)->gpu_mode == TF_GPU_CUPTI;
	read_works(&r, run);
	if (machine)
		read_machine(&r, machine);
	recording_close(&r);
	warnings_free(&warnings);
	return 0;
}
