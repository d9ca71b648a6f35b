/* SPDX-License-Identifier: Apache-2.0 */
/* The frames of a recorded stack: functions, files and lines of Python, native ones by their
 * address. */
#include <stdlib.h>

#include "report/base/alloc.h"
#include "report/model/python_lines.h"
#include "report/model/site_reader.h"
#include "report/model/sites_internal.h"
#include "shim/core/format/python_file.h"

#define FRAMES_MOST 256u
#define FRAMES_ALL  (1u << 21) /* of a recording: beyond them, stacks have none */
#define LINES_KEPT  65536u     /* decoded lines that are remembered */
#define LINES_MOST  (1u << 30) /* bytes of line tables of a recording that are decoded */

struct site_code { /* a code object of Python */
	bool read;
	const char *file, *name, *local;
	uint64_t file_bytes, file_mtime;
	const uint8_t *lines;
	uint32_t line_bytes, first_line, version;
	uint64_t hash;
	bool foreign;
};

struct site_line { /* decoded */
	uint32_t code, at, line;
	bool used;
};

static const struct site_code *code_of(struct site_reader *s, uint32_t index)
{
	const struct recording *r = s->p->recording;
	const struct tf_code *c;

	if (index >= r->codes)
		return NULL;
	struct site_code *code = &s->codes[index];
	if (code->read)
		return code;
	code->read = true;
	c = tf_entry(&r->map, &s->area->codes, index, sizeof(*c));
	if (!c)
		return code;
	code->file = sites_keep(s->p->model, model_string(r, c->file));
	code->name = sites_keep(s->p->model, model_string(r, c->name));
	code->lines =
	        (const uint8_t *)(c->lines ? tf_text(&r->map, c->lines, &code->line_bytes) : NULL);
	code->file_bytes = c->file_bytes;
	code->file_mtime = c->file_mtime;
	if (s->p->model->source_root)
		code->local = sites_keep(s->p->model,
		                         sites_local_file(s->p->model->source_root, code->file));
	code->first_line = c->first_line;
	code->version = c->python;
	code->foreign = python_file_is_library(code->file);
	code->hash = sites_hash(code->file) * 31 + sites_hash(code->name);
	return code;
}

static uint32_t line_of(struct site_reader *s, const struct site_code *c, uint32_t index,
                        uint32_t at)
{
	struct site_line *kept = &s->lines[(index * 2654435761u ^ at * 2246822519u) % LINES_KEPT];

	if (kept->used && kept->code == index && kept->at == at)
		return kept->line;
	*kept = (struct site_line){index, at, 0, true};
	s->line_bytes += c->line_bytes;
	if (c->version && s->line_bytes <= LINES_MOST)
		kept->line = python_line(c->version, c->lines, c->line_bytes, c->first_line, at);
	return kept->line;
}

static struct model_frame python_frame(struct site_reader *s, uint64_t where)
{
	struct model_frame f = {.python = true};
	uint32_t index = (uint32_t)(where >> 32) & 0x7fffffff;
	const struct site_code *c = code_of(s, index);

	if (c) {
		f.function = c->name;
		f.file = c->file;
		f.local = c->local;
		f.file_bytes = c->file_bytes;
		f.file_mtime = c->file_mtime;
		f.foreign = c->foreign;
		f.hash = c->hash;
		f.line = line_of(s, c, index, (uint32_t)where);
	}
	return f;
}

static void add_frame(struct model_site *to, size_t most, const struct model_frame *f)
{
	if (to->frame_count < most)
		to->frames[to->frame_count++] = *f;
}

void site_read_frames(struct site_reader *s, const struct tf_site *t, struct model_site *to)
{
	const struct tf_map *map = &s->p->recording->map;
	uint32_t n = t->frame_count < FRAMES_MOST ? t->frame_count : FRAMES_MOST;
	const uint64_t *frames = n ? tf_at(map, t->frames, n * sizeof(*frames)) : NULL;

	const struct model_frame *natives;
	size_t most = 0;

	for (uint32_t i = 0; frames && i < n; i++)
		most += frames[i] & TF_FRAME_PYTHON
		                ? 1
		                : sites_native(s->p, s->area, frames[i], &natives);
	if (!most || s->frames + most > FRAMES_ALL)
		return;
	s->frames += (uint32_t)most;
	to->frames = alloc_zeroed(most, sizeof(*to->frames));
	for (uint32_t i = 0; i < n; i++) {
		if (frames[i] & TF_FRAME_PYTHON) {
			struct model_frame f = python_frame(s, frames[i]);
			add_frame(to, most, &f);
			continue;
		}
		size_t count = sites_native(s->p, s->area, frames[i], &natives);
		for (size_t k = 0; k < count; k++)
			add_frame(to, most, &natives[k]);
	}
	sites_mark_stubs(to->frames, to->frame_count);
}

struct site_reader site_reader_open(struct model_part *p, const struct tf_sites *area)
{
	return (struct site_reader){
	        .p = p,
	        .area = area,
	        .codes = alloc_zeroed(p->recording->codes, sizeof(struct site_code)),
	        .lines = alloc_zeroed(LINES_KEPT, sizeof(struct site_line)),
	};
}

void site_reader_close(struct site_reader *s)
{
	free(s->codes);
	free(s->lines);
	free(s->givers);
}
