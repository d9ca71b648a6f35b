/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/gate/baseline_internal.h"
#include "report/base/complain.h"
#include "report/base/file.h"
#include "report/base/text.h"

#define RECORDINGS_MOST 10000
#define FILE_MOST       (512u << 20)
#define BYTE_ORDER_MARK "\xef\xbb\xbf" /* an editor may have put it there */

static size_t mark_bytes(const char *text, size_t bytes)
{
	size_t mark = strlen(BYTE_ORDER_MARK);

	return bytes >= mark && !memcmp(text, BYTE_ORDER_MARK, mark) ? mark : 0;
}

bool baseline_is(const char *path)
{
	char begin[4096];
	size_t bytes = file_begins(path, begin, sizeof(begin)), i = mark_bytes(begin, bytes);

	while (i < bytes && isspace((unsigned char)begin[i]))
		i++;
	return i < bytes && begin[i] == '{';
}

static const char *text_at(const json_t *o, const char *key)
{
	return json_string_value(json_object_get(o, key));
}

char *baseline_text(const json_t *value)
{
	const char *text = json_string_value(value);

	return text ? text_original(text) : NULL;
}

static char *copy_at(const json_t *o, const char *key)
{
	return baseline_text(json_object_get(o, key));
}

bool baseline_number(const json_t *value, size_t index, size_t count, double *to)
{
	if (json_is_array(value)) {
		if (json_array_size(value) != count)
			return false;
		value = json_array_get(value, index);
	}
	*to = json_is_number(value) ? json_number_value(value) : NAN;
	return !value || json_is_null(value) || (json_is_number(value) && *to >= 0);
}

static int wrong(const char *path, const char *key)
{
	complain("%s: the value of \"%s\" is no number, or not one for each recording", path, key);
	return -1;
}

static int read_parts(struct figures_parts *to, const json_t *o, size_t index, size_t count,
                      const char *path)
{
	const char *name;
	json_t *value;

	json_object_foreach((json_t *)o, name, value)
	{
		double n;
		if (!baseline_number(value, index, count, &n) || !(n < 1.8e19))
			return wrong(path, name);
		if (n <= 0)
			continue;
		ALLOC_ROOM(to->items, to->count);
		to->items[to->count++] = (struct figures_part){.name = text_original(name),
		                                               .count = (uint64_t)n,
		                                               .cls = SPY_CLASS_COUNT,
		                                               .total = NAN,
		                                               .p50 = NAN};
	}
	parts_order(to);
	return 0;
}

/* What older baselines lack. */
static int read_bytes(struct figures *f, const json_t *o, size_t index, size_t count,
                      const char *path)
{
	for (size_t i = 0; o && i < f->copies.count; i++) {
		struct figures_part *p = &f->copies.items[i];
		json_t *name = json_text(p->name);
		double n;
		bool good = baseline_number(json_object_get(o, json_string_value(name)), index,
		                            count, &n);
		json_decref(name);
		if (!good || n >= 1.8e19)
			return wrong(path, p->name);
		p->bytes = n > 0 ? (uint64_t)n : 0;
	}
	return 0;
}

static void read_ranks(struct figures_ranks *r, const json_t *list)
{
	r->known = json_is_array(list);
	for (size_t i = 0; i < json_array_size(list); i++) {
		char *name = baseline_text(json_array_get(list, i));
		if (name)
			figures_add_rank(r, name);
	}
}

static int read_run(struct figures *f, const json_t *root, size_t index, size_t count,
                    const char *path)
{
	const json_t *machine = json_object_get(root, "machine");
	const json_t *counts = json_object_get(root, "counts");
	const json_t *times = json_object_get(root, "times");

	f->name = alloc_string(path);
	f->processes = 1;
	f->wall = f->window = NAN;
	f->machine = (struct figures_machine){copy_at(machine, "gpus"), copy_at(machine, "driver"),
	                                      copy_at(machine, "gpu_mode")};
	f->program = copy_at(root, "program");
	f->verdict = copy_at(root, "verdict");
	f->steps_said = json_number_value(json_object_get(root, "steps"));
	for (size_t i = 0; i < METRICS; i++) {
		const char *name = metrics[i].name;
		const json_t *from = metric_is_count(&metrics[i]) ? counts : times;
		if (!baseline_number(json_object_get(from, name), index, count, &f->values[i]))
			return wrong(path, name);
	}
	read_ranks(&f->ranks, json_object_get(root, "ranks"));
	const char *bad = baseline_read_steps(&f->steps, root, index, count);
	bad = bad ? bad : baseline_read_ranges(&f->ranges, root, index, count);
	if (bad)
		return wrong(path, bad);
	baseline_read_sites(&f->sites, root);
	if (read_parts(&f->kernels, json_object_get(root, "kernels"), index, count, path) ||
	    read_parts(&f->apis, json_object_get(root, "apis"), index, count, path) ||
	    read_parts(&f->copies, json_object_get(root, "copy_kinds"), index, count, path) ||
	    read_bytes(f, json_object_get(root, "copy_kind_bytes"), index, count, path))
		return -1;
	return 0;
}

int baseline_load(struct run_set *s, const char *path)
{
	json_error_t error;
	size_t bytes;
	char *text = file_read(path, FILE_MOST, &bytes);
	size_t mark = text ? mark_bytes(text, bytes) : 0;
	json_t *root =
	        text ? json_loadb(text + mark, bytes - mark, JSON_REJECT_DUPLICATES, &error) : NULL;
	int rc = 0;

	free(text);
	if (!text)
		return -1;
	if (!root) {
		complain("%s:%d:%d: %s", path, error.line, error.column, error.text);
		return -1;
	}
	const char *schema = text_at(root, "schema");
	json_int_t count = json_integer_value(json_object_get(root, "recordings"));
	if (!schema || strcmp(schema, "cudaspy.baseline/1")) {
		complain("%s: no baseline: its schema is %s, not cudaspy.baseline/1", path,
		         schema ? schema : "not named");
		rc = -1;
	} else if (count < 1 || count > RECORDINGS_MOST) {
		complain("%s: \"recordings\" is no number from 1 to %d", path, RECORDINGS_MOST);
		rc = -1;
	}
	for (json_int_t i = 0; i < count && !rc; i++) {
		ALLOC_ROOM(s->runs, s->count);
		struct figures *f = &s->runs[s->count++];
		*f = (struct figures){0};
		rc = read_run(f, root, (size_t)i, (size_t)count, path);
	}
	json_decref(root);
	return rc;
}
