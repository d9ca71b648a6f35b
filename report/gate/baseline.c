/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/gate/baseline_internal.h"

#define SCHEMA "cudaspy.baseline/1"

/* One value where all recordings agree, else one for each. */
json_t *baseline_values(const struct run_set *s, baseline_value_fn of, const void *what)
{
	json_t *list = json_array();
	bool agree = true, known = false;

	for (size_t i = 0; i < s->count; i++) {
		double v = of(&s->runs[i], what);
		json_push(list, !isfinite(v)   ? json_null()
		                : v == rint(v) ? json_ns(v)
		                               : json_real(v));
		agree &= v == of(&s->runs[0], what);
		known |= isfinite(v);
	}
	if (known && !agree)
		return list;
	json_t *one = json_incref(json_array_get(list, 0));
	json_decref(list);
	return one;
}

static double value_of(const struct figures *f, const void *what)
{
	const struct metric *m = what;
	double v = f->values[m - metrics];

	/* A tenth of a nanosecond says all there is to say. */
	return m->kind == METRIC_TIME ? round(v * 10) / 10 : v;
}

struct part_key {
	size_t list; /* offset of a struct figures_parts in struct figures */
	const char *name;
	bool bytes;
};

static double count_of(const struct figures *f, const void *what)
{
	const struct part_key *key = what;
	const struct figures_part *p = parts_find(parts_of(f, key->list), key->name);

	return p ? (double)(key->bytes ? p->bytes : p->count) : 0;
}

static bool is_gated(unsigned cls)
{
	for (size_t i = 0; i < METRICS; i++)
		if (metrics[i].parts == PARTS_APIS && metrics[i].cls == cls)
			return true;
	return false;
}

/* Every name that a recording has, in order, with its count or its bytes. Of the APIs those alone
 * whose calls are judged. */
static void put_parts(json_t *root, const char *key, const struct run_set *s, size_t list,
                      bool gated, bool bytes)
{
	struct figures_parts all = {0};
	json_t *o = json_object();

	for (size_t i = 0; i < s->count; i++) {
		const struct figures_parts *p = parts_of(&s->runs[i], list);
		for (size_t k = 0; k < p->count; k++) {
			if (gated && !is_gated(p->items[k].cls))
				continue;
			ALLOC_ROOM(all.items, all.count);
			all.items[all.count] = p->items[k];
			all.items[all.count++].name = alloc_string(p->items[k].name);
		}
	}
	parts_order(&all);
	for (size_t i = 0; i < all.count; i++) {
		struct part_key of = {.list = list, .name = all.items[i].name, .bytes = bytes};
		json_t *name = json_text(all.items[i].name);
		json_put(o, json_string_value(name), baseline_values(s, count_of, &of));
		json_decref(name);
		free(all.items[i].name);
	}
	free(all.items);
	json_put(root, key, o);
}

static void baseline_put_ranks(json_t *root, const struct run_set *s)
{
	json_t *list = json_array();
	const struct figures_ranks *r = &s->runs[0].ranks;

	for (size_t i = 0; i < r->count; i++)
		json_push(list, json_text(r->names[i]));
	json_put(root, "ranks", list);
}

void baseline_write(const struct run_set *s, FILE *to)
{
	json_t *root = json_object(), *machine = json_object(), *counts = json_object(),
	       *times = json_object();
	const struct figures *first = &s->runs[0];

	if (!root || !machine || !counts || !times)
		alloc_failed();
	json_put(root, "schema", json_text(SCHEMA));
	json_put(root, "generated_by", json_text("cudaspy " CUDASPY_VERSION));
	json_put(root, "recordings", json_count(s->count));
	if (first->program)
		json_put(root, "program", json_text(first->program));
	json_put(machine, "gpus", json_text(first->machine.gpus));
	json_put(machine, "driver", json_text(first->machine.driver));
	json_put(machine, "gpu_mode", json_text(first->machine.mode));
	json_put(root, "machine", machine);
	if (first->steps_said > 0)
		json_put(root, "steps", json_ns(first->steps_said));
	for (size_t i = 0; i < METRICS; i++) {
		const struct metric *m = &metrics[i];
		if (metric_is_count(m))
			json_put(counts, m->name, baseline_values(s, value_of, m));
		else if (m->kind != METRIC_WORD)
			json_put(times, m->name, baseline_values(s, value_of, m));
	}
	baseline_put_ranks(root, s);
	json_put(root, "counts", counts);
	json_put(root, "times", times);
	json_put(root, "verdict", json_text(first->verdict));
	put_parts(root, "kernels", s, offsetof(struct figures, kernels), false, false);
	put_parts(root, "apis", s, offsetof(struct figures, apis), true, false);
	put_parts(root, "copy_kinds", s, offsetof(struct figures, copies), false, false);
	put_parts(root, "copy_kind_bytes", s, offsetof(struct figures, copies), false, true);
	baseline_put_steps(root, s);
	baseline_put_ranges(root, s);
	baseline_put_sites(root, s);
	json_dumpf(root, to, JSON_INDENT(2) | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(17));
	putc('\n', to);
	json_decref(root);
}
