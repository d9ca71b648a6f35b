/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/base/text.h"
#include "report/output/export/export_parts.h"
#include "report/output/export/interned.h"
#include "report/output/export/protobuf.h"

/* Fields of github.com/google/pprof, proto/profile.proto. */
enum profile_field {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_LOCATION = 4,
	PROFILE_FUNCTION = 5,
	PROFILE_STRING = 6,
	PROFILE_TIME_NANOS = 9,
	PROFILE_DURATION_NANOS = 10,
	PROFILE_COMMENT = 13,
	PROFILE_DEFAULT_TYPE = 14,
};
enum { VALUE_TYPE = 1, VALUE_UNIT = 2 };
enum { SAMPLE_LOCATIONS = 1, SAMPLE_VALUES = 2, SAMPLE_LABEL = 3 };
enum { LABEL_KEY = 1, LABEL_TEXT = 2, LABEL_NUMBER = 3 };
enum { LOCATION_ID = 1, LOCATION_ADDRESS = 3, LOCATION_LINE = 4 };
enum { LINE_FUNCTION = 1, LINE_NUMBER = 2 };
enum { FUNCTION_ID = 1, FUNCTION_NAME = 2, FUNCTION_SYSTEM_NAME = 3, FUNCTION_FILE = 4 };

static const struct {
	const char *type, *unit;
} value_types[STACK_VALUES] = {
        [STACK_CALLS] = {"calls", "count"},
        [STACK_API] = {"api", "nanoseconds"},
        [STACK_WASTED] = {"wasted_wait", "nanoseconds"},
        [STACK_GPU] = {"gpu", "nanoseconds"},
        [STACK_BYTES] = {"bytes", "bytes"},
};

struct writing {
	struct protobuf profile, one, line; /* the last two: messages within it */
	struct interned texts, functions, locations;
};

/* Index of a text, which must be valid UTF-8 for the reader; 0 is the empty one. */
static uint64_t text_index(struct writing *w, const char *text)
{
	char *safe = text_safe(text ? text : "", text ? strlen(text) : 0);
	size_t bytes = strlen(safe);
	bool new = false;
	uint64_t index = bytes ? interned_number(&w->texts, safe, bytes, &new) : 0;

	if (new)
		protobuf_bytes(&w->profile, PROFILE_STRING, safe, bytes);
	free(safe);
	return index;
}

static uint64_t function_id(struct writing *w, const char *name, const char *file)
{
	const uint64_t key[2] = {text_index(w, name), text_index(w, file)};
	bool new;
	uint64_t id = interned_number(&w->functions, key, sizeof(key), &new);

	if (!new)
		return id;
	protobuf_number(&w->one, FUNCTION_ID, id);
	/* Its system name is left out: a reader would take it for a C++ name, and "<module>" for
	 * its template arguments. */
	protobuf_number(&w->one, FUNCTION_NAME, key[0]);
	protobuf_number(&w->one, FUNCTION_FILE, key[1]);
	protobuf_message(&w->profile, PROFILE_FUNCTION, &w->one);
	return id;
}

static uint64_t location_id(struct writing *w, const char *name, const char *file, uint32_t line,
                            uint64_t address)
{
	const uint64_t key[3] = {function_id(w, name, file), line, address};
	bool new;
	uint64_t id = interned_number(&w->locations, key, sizeof(key), &new);

	if (!new)
		return id;
	protobuf_number(&w->line, LINE_FUNCTION, key[0]);
	protobuf_number(&w->line, LINE_NUMBER, line);
	protobuf_number(&w->one, LOCATION_ID, id);
	protobuf_number(&w->one, LOCATION_ADDRESS, address);
	protobuf_message(&w->one, LOCATION_LINE, &w->line);
	protobuf_message(&w->profile, PROFILE_LOCATION, &w->one);
	return id;
}

static uint64_t frame_location(struct writing *w, const struct model_frame *f)
{
	if (f->function)
		return location_id(w, f->function, f->file ? f->file : f->module, f->line,
		                   f->address);
	char *name = site_frame_text(f, false);
	uint64_t id = location_id(w, name, f->file ? f->file : f->module, f->line, f->address);
	free(name);
	return id;
}

static void add_label(struct writing *w, const char *key, const char *text)
{
	uint64_t k = text_index(w, key), t = text_index(w, text);

	protobuf_number(&w->line, LABEL_KEY, k);
	protobuf_number(&w->line, LABEL_TEXT, t);
	protobuf_message(&w->one, SAMPLE_LABEL, &w->line);
}

/* As a text of digits, -tagfocus would take it for a range. Not 0, which readers drop. */
static void add_number(struct writing *w, const char *key, uint32_t number)
{
	uint64_t k = text_index(w, key);

	protobuf_number(&w->line, LABEL_KEY, k);
	protobuf_number(&w->line, LABEL_NUMBER, number);
	protobuf_message(&w->one, SAMPLE_LABEL, &w->line);
}

/* `part` NULL: nothing is known of where its calls were made. */
static void add_labels(struct writing *w, const struct model *m, const struct export_stack *s,
                       const struct export_part *part)
{
	const struct model_process *process = part                    ? &m->processes[part->process]
	                                      : m->process_count == 1 ? m->processes
	                                                              : NULL;

	add_label(w, "kind", s->kind);
	if (s->estimated)
		add_label(w, "estimated", "calls,api");
	if (process && process->rank && *process->rank)
		add_label(w, "rank", process->rank);
	if (!part)
		return;
	if (part->phase != PARTS_NONE) {
		const struct model_phase *p = &m->phases.rows[part->phase];
		char *name = p->kind == PHASE_LOOP
		                     ? alloc_format("loop %u", p->number)
		                     : alloc_string(p->kind == PHASE_START ? "start-up" : "end");
		add_label(w, "phase", name);
		free(name);
	}
	char device[24];
	snprintf(device, sizeof(device), "GPU %u", part->device);
	add_label(w, "device", device);
	if (part->stream != PARTS_NONE)
		add_number(w, "stream", part->stream);
}

/* Its locations are written first: they use the same buffers. */
static void put_locations(struct writing *w, const struct export_stack *s)
{
	size_t frames = s->site ? s->site->frame_count : 0;
	struct protobuf locations = {0};
	char *root = export_stack_root(s);

	protobuf_varint(&locations, location_id(w, s->api, NULL, 0, 0));
	for (size_t i = 0; i < frames; i++)
		protobuf_varint(&locations, frame_location(w, &s->site->frames[i]));
	if (root)
		protobuf_varint(&locations, location_id(w, root, NULL, 0, 0));
	free(root);
	protobuf_message(&w->one, SAMPLE_LOCATIONS, &locations);
	protobuf_free(&locations);
}

/* What of a value falls to a part, from `from` to `until` of all its parts' weights: their sum is
 * the whole of it. */
static uint64_t share(double value, double from, double until)
{
	return value > 0 ? (uint64_t)(llround(value * until) - llround(value * from)) : 0;
}

static void add_stack(struct writing *w, const struct model *m, const struct export_stacks *stacks,
                      const struct export_parts *parts, size_t index)
{
	const struct export_stack *s = &stacks->items[index];
	const size_t first = parts->first[index], end = parts->first[index + 1];
	double all[STACK_VALUES] = {0}, done[STACK_VALUES] = {0};

	for (size_t i = first; i < end; i++)
		for (int v = 0; v < STACK_VALUES; v++)
			all[v] += parts->items[i].weight[v];
	for (size_t i = first; i < end || i == first; i++) {
		const struct export_part *part = i < end ? &parts->items[i] : NULL;
		put_locations(w, s);
		for (int v = 0; v < STACK_VALUES; v++) {
			/* None of its records has any of this: as its calls are. */
			const int by = all[v] > 0 ? v : all[STACK_CALLS] > 0 ? STACK_CALLS : v;
			double from = all[by] > 0 ? done[v] / all[by] : 0;
			done[v] += part ? part->weight[by] : 0;
			double until = i + 1 < end && all[by] > 0 ? done[v] / all[by] : 1;
			if (stacks->known[v])
				protobuf_varint(&w->line, share(s->value[v], from, until));
		}
		protobuf_message(&w->one, SAMPLE_VALUES, &w->line);
		add_labels(w, m, s, part);
		protobuf_message(&w->profile, PROFILE_SAMPLE, &w->one);
	}
}

static void add_comment(struct writing *w, const char *text)
{
	uint64_t index = text_index(w, text);

	protobuf_number(&w->profile, PROFILE_COMMENT, index);
}

static void add_heads(struct writing *w, const struct export_job *job,
                      const struct export_stacks *stacks, const struct export_parts *parts)
{
	const struct model *m = job->model;

	protobuf_bytes(&w->profile, PROFILE_STRING, "", 0); /* the first one must be empty */
	for (int i = 0; i < STACK_VALUES; i++) {
		if (!stacks->known[i])
			continue;
		uint64_t type = text_index(w, value_types[i].type),
		         unit = text_index(w, value_types[i].unit);
		protobuf_number(&w->one, VALUE_TYPE, type);
		protobuf_number(&w->one, VALUE_UNIT, unit);
		protobuf_message(&w->profile, PROFILE_SAMPLE_TYPE, &w->one);
	}
	if (isfinite(m->start_realtime) && m->start_realtime > 0)
		protobuf_number(&w->profile, PROFILE_TIME_NANOS, (uint64_t)m->start_realtime);
	if (m->window > 0)
		protobuf_number(&w->profile, PROFILE_DURATION_NANOS, (uint64_t)m->window);
	uint64_t index = text_index(w, value_types[STACK_API].type);
	protobuf_number(&w->profile, PROFILE_DEFAULT_TYPE, index);
	char *comment = alloc_format(
	        "cudaspy " CUDASPY_VERSION "%s%s",
	        m->process_count && m->processes[0].command ? ": " : "",
	        m->process_count && m->processes[0].command ? m->processes[0].command : "");
	add_comment(w, comment);
	if (m->gpu.estimated)
		add_comment(w, "GPU time is estimated from samples");
	if (parts->count && !parts->whole)
		add_comment(w, "what falls to each phase, device and stream is estimated: in the "
		               "proportion of the recent records that are kept");
	free(comment);
}

int export_pprof(const struct export_job *job)
{
	const struct model *m = job->model;
	struct export_stacks stacks;
	struct export_parts parts;
	struct writing w = {0};

	export_stacks_make(&stacks, m);
	int rc = export_parts_make(&parts, job, &stacks);
	add_heads(&w, job, &stacks, &parts);
	for (size_t i = 0; i < stacks.count; i++)
		add_stack(&w, m, &stacks, &parts, i);
	FILE *gzip = export_gzip(job->to);
	fwrite(w.profile.bytes, 1, w.profile.count, gzip);
	fclose(gzip);
	protobuf_free(&w.profile);
	protobuf_free(&w.one);
	protobuf_free(&w.line);
	interned_free(&w.texts);
	interned_free(&w.functions);
	interned_free(&w.locations);
	export_parts_free(&parts);
	export_stacks_free(&stacks);
	return rc;
}
