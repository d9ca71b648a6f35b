/* SPDX-License-Identifier: Apache-2.0 */
/* Call sites as one recording has them: frames get names and lines, calls and times are added up by
 * stack. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/model/model_internal.h"
#include "report/model/python_lines.h"
#include "report/model/sites_internal.h"
#include "shim/core/format/python_file.h"

#define FRAMES_MOST 256u
#define FRAMES_ALL  (1u << 21) /* of a recording: beyond them, stacks have none */
#define RANGES_MOST 8u         /* NVTX ranges around one that are named */
#define LINES_KEPT  65536u     /* decoded lines that are remembered */
#define LOOKS_LEAST 3u
#define MAJORITY    0.75       /* of the answers: of a step's two lines neither has it */
#define LINES_MOST  (1u << 30) /* bytes of line tables of a recording that are decoded */

struct code { /* a code object of Python */
	bool read;
	const char *file, *name, *local;
	uint64_t file_bytes, file_mtime;
	const uint8_t *lines;
	uint32_t line_bytes, first_line, version;
	uint64_t hash;
	bool foreign;
};

struct line { /* decoded */
	uint32_t code, at, line;
	bool used;
};

struct giver_line { /* of a row that only says where a thread was */
	bool read, own;
	struct model_frame at;
};

struct part { /* one recording's sites while they are added */
	struct model_part *p;
	const struct tf_sites *area;
	struct code *codes;
	struct line *lines;
	struct giver_line *giver_lines; /* by site, once one is asked for */
	double *class_samples;          /* by place in the table of works */
	uint64_t *call_seen; /* by call id: calls with a site; all, by the exact counters */
	uint64_t *call_all;
	uint32_t frames;     /* so far */
	uint64_t line_bytes; /* the same, decoded */
};

/* ---- texts ---- */

const char *sites_keep(struct model *m, char *text)
{
	struct site_texts *t = m->sites.texts;

	if (!text)
		return NULL;
	ALLOC_ROOM(t->items, t->count);
	t->items[t->count++] = text;
	return text;
}

/* ---- frames ---- */

static const struct code *code_of(struct part *s, uint32_t index)
{
	const struct recording *r = s->p->recording;
	const struct tf_code *c;

	if (index >= r->codes)
		return NULL;
	struct code *code = &s->codes[index];
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

static uint32_t line_of(struct part *s, const struct code *c, uint32_t index, uint32_t at)
{
	struct line *kept = &s->lines[(index * 2654435761u ^ at * 2246822519u) % LINES_KEPT];

	if (kept->used && kept->code == index && kept->at == at)
		return kept->line;
	*kept = (struct line){index, at, 0, true};
	s->line_bytes += c->line_bytes;
	if (c->version && s->line_bytes <= LINES_MOST)
		kept->line = python_line(c->version, c->lines, c->line_bytes, c->first_line, at);
	return kept->line;
}

static struct model_frame python_frame(struct part *s, uint64_t where)
{
	struct model_frame f = {.python = true};
	uint32_t index = (uint32_t)(where >> 32) & 0x7fffffff;
	const struct code *c = code_of(s, index);

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

static void read_frames(struct part *s, const struct tf_site *t, struct model_site *to)
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

/* ---- figures ---- */

int site_kind_of(unsigned cls)
{
	switch (cls) {
	case SPY_CLASS_SYNC:
		return SITE_WAIT;
	case SPY_CLASS_LAUNCH:
	case SPY_CLASS_GRAPH_LAUNCH:
		return SITE_LAUNCH;
	case SPY_CLASS_COPY:
	case SPY_CLASS_SET:
		return SITE_COPY;
	case SPY_CLASS_ALLOC:
		return SITE_ALLOC;
	case SPY_CLASS_MODULE:
		return SITE_MODULE;
	case SPY_CLASS_GRAPH:
		return SITE_GRAPH;
	default:
		return -1;
	}
}

/*
 * What the samples at a site stand for: each class of work in the share of its samples that were
 * taken here, as in the estimate of the run's GPU time. Launches that were not sampled were not
 * looked at.
 */
static void add_samples(struct part *s, struct model_site **site_of)
{
	const struct recording *r = s->p->recording;
	const uint64_t bytes = TF_SITE_PAIRS * sizeof(struct tf_site_pair);
	const struct tf_site_pair *pairs =
	        s->area->pairs ? tf_at(&r->map, s->area->pairs, bytes) : NULL;
	const struct tf_work *works =
	        tf_at(&r->map, s->p->header->works, TF_WORKS * sizeof(*works));

	if (!pairs || !works || !s->p->works)
		return;
	for (uint32_t i = 0; i < TF_SITE_PAIRS; i++)
		if (pairs[i].site && pairs[i].work < TF_WORKS)
			s->class_samples[pairs[i].work] += (double)pairs[i].samples;
	for (uint32_t i = 0; i < TF_SITE_PAIRS; i++) {
		const struct tf_site_pair *pair = &pairs[i];
		struct model_site *to =
		        pair->site && pair->site <= r->sites ? site_of[pair->site - 1] : NULL;
		if (!to || pair->work >= TF_WORKS || !(s->class_samples[pair->work] > 0))
			continue;
		const struct model_part_work *w = &s->p->works[pair->work];
		double share = (double)pair->samples / s->class_samples[pair->work],
		       pieces = w->pieces * share;
		if (isfinite(pieces * w->mean) && pieces > 0)
			to->gpu = (isnan(to->gpu) ? 0 : to->gpu) + pieces * w->mean;
		if (to->kind != SITE_LAUNCH || to->whole)
			continue;
		to->estimated = true;
		to->calls += pieces;
		to->api_time += clock_ns(&s->p->clock, works[pair->work].ticks) * share;
	}
}

/* "train/backward": an NVTX range and those around it; NULL = there is none. */
static const char *range_of(struct part *s, uint32_t number)
{
	const struct recording *r = s->p->recording;
	char *path = NULL;

	for (unsigned i = 0; number && number <= r->ranges && i < RANGES_MOST; i++) {
		const struct tf_nvtx_range *range =
		        tf_entry(&r->map, &s->p->header->ranges, number - 1, sizeof(*range));
		char *name = range ? model_string(r, range->name) : NULL;
		char *longer = name && path ? alloc_format("%s/%s", name, path) : NULL;
		number = range && range->parent < number ? range->parent : 0;
		if (longer) {
			free(path);
			free(name);
		}
		path = longer ? longer : name ? name : path;
	}
	return sites_keep(s->p->model, path);
}

static void read_giver_line(struct part *s, const struct tf_site *row, struct giver_line *to)
{
	struct model_site at = {0};
	uint32_t frames = s->frames; /* of its stack one is kept */

	read_frames(s, row, &at);
	s->frames = frames;
	at.head = sites_head(&at);
	to->own = at.frame_count && at.frames[at.head].python && !at.frames[at.head].foreign &&
	          at.frames[at.head].line;
	if (to->own)
		to->at = at.frames[at.head];
	free(at.frames);
}

/* Where a stack that was found is: the program's own line; NULL: it has none. */
static const struct model_frame *line_of_giver(struct part *s, uint32_t site)
{
	const struct recording *r = s->p->recording;
	const struct tf_site *row = site && site <= r->sites ? tf_entry(&r->map, &s->area->sites,
	                                                                site - 1, sizeof(*row))
	                                                     : NULL;

	if (!row || row->calls)
		return NULL;
	if (!s->giver_lines)
		s->giver_lines = alloc_zeroed(r->sites, sizeof(*s->giver_lines));
	struct giver_line *line = &s->giver_lines[site - 1];
	if (!line->read)
		read_giver_line(s, row, line);
	line->read = true;
	return line->own ? &line->at : NULL;
}

/* The line at which the thread of Python was that it works for: where most looks found it. Of one
 * line there may be several stacks. */
static const struct model_frame *meanwhile_of(struct part *s, const struct tf_site *t)
{
	struct lead {
		const struct model_frame *at;
		uint64_t votes;
	} lines[TF_GIVERS], *most = NULL;
	int count = 0;

	if ((t->looks ? t->looks : t->answers) < LOOKS_LEAST)
		return NULL;
	for (int i = 0, k; i < TF_GIVERS; i++) {
		uint32_t votes = t->giver[i].votes;
		const struct model_frame *at = votes ? line_of_giver(s, t->giver[i].site) : NULL;
		if (!at)
			continue;
		for (k = 0;
		     k < count && (lines[k].at->line != at->line || lines[k].at->hash != at->hash);)
			k++;
		lines[k].at = at;
		lines[k].votes = votes + (k < count ? lines[k].votes : 0);
		count += k == count;
		if (!most || lines[k].votes > most->votes)
			most = &lines[k];
	}
	if (!most || most->votes > t->answers ||
	    (double)most->votes <= MAJORITY * (double)t->answers)
		return NULL;
	struct model_frame *line = alloc_zeroed(1, sizeof(*line));
	*line = *most->at;
	sites_keep(s->p->model, (char *)line); /* freed as the texts are */
	return line;
}

/* Of a thread in no Python. */
static void read_thread(struct part *s, const struct tf_site *t, struct model_site *to)
{
	if (!t->thread[0])
		return;
	to->thread = sites_keep(s->p->model, model_text(t->thread, sizeof(t->thread)));
	to->range = range_of(s, t->range);
	to->meanwhile = meanwhile_of(s, t);
}

static bool read_site(struct part *s, uint32_t i, struct model_site *to)
{
	const struct recording *r = s->p->recording;
	const struct tf_site *t = tf_entry(&r->map, &s->area->sites, i, sizeof(*t));
	const struct tf_call *call =
	        t ? tf_entry(&r->map, &s->p->header->calls, t->call, sizeof(*call)) : NULL;
	int kind = call ? site_kind_of(call->cls) : -1;

	if (kind < 0 || !t->calls || t->call >= r->calls || s->p->api_of[t->call] == UINT32_MAX)
		return false;
	*to = (struct model_site){
	        .kind = (enum model_site_kind)kind,
	        .api = sites_keep(s->p->model, model_text(call->name, sizeof(call->name))),
	        .seen = t->calls,
	        .failed = t->failed,
	        .bytes = t->bytes,
	        .pageable_bytes = t->pageable_bytes,
	        .samples = t->samples,
	        .cut = t->cut,
	        .useful = kind == SITE_WAIT ? clock_ns(&s->p->clock, t->useful_ticks) : NAN,
	        .wasted = kind == SITE_WAIT && s->p->header->gpu_mode != TF_GPU_OFF
	                          ? clock_ns(&s->p->clock, t->wasted_ticks)
	                          : NAN,
	        .gpu = NAN,
	};
	to->whole = s->call_seen[t->call] == s->call_all[t->call];
	if (kind != SITE_LAUNCH || to->whole) {
		to->calls = (double)t->calls;
		to->api_time = clock_ns(&s->p->clock, t->ticks);
	}
	read_frames(s, t, to);
	read_thread(s, t, to);
	to->head = sites_head(to);
	return true;
}

static void count_seen(struct part *s)
{
	const struct recording *r = s->p->recording;

	for (uint32_t i = 0; i < r->sites; i++) {
		const struct tf_site *t = tf_entry(&r->map, &s->area->sites, i, sizeof(*t));
		if (t && t->call < r->calls)
			CLAMP_ADD(s->call_seen[t->call], t->calls);
	}
	for (uint32_t i = 0; i < r->threads; i++) {
		const struct tf_thread *t = recording_thread(r, i);
		for (uint32_t call = 0; t && call < r->thread_calls; call++)
			CLAMP_ADD(s->call_all[call], t->calls[call].calls);
	}
}

static void add_all(struct part *s)
{
	const struct recording *r = s->p->recording;
	struct model_site *sites = alloc_zeroed(r->sites, sizeof(*sites));
	struct model_site **site_of = alloc_zeroed(r->sites, sizeof(*site_of));

	for (uint32_t i = 0; i < r->sites; i++)
		if (read_site(s, i, &sites[i]))
			site_of[i] = &sites[i];
	add_samples(s, site_of);
	s->p->process->site_count = r->sites;
	s->p->process->site_heads = alloc_zeroed(r->sites, sizeof(char *));
	for (uint32_t i = 0; i < r->sites; i++)
		if (site_of[i] && (site_of[i]->frame_count || site_of[i]->thread))
			s->p->process->site_heads[i] =
			        sites_keep(s->p->model, site_headline(site_of[i], false));
	s->p->process->site_of = alloc_zeroed(r->sites, sizeof(*s->p->process->site_of));
	for (uint32_t i = 0; i < r->sites; i++)
		s->p->process->site_of[i] =
		        site_of[i] ? sites_merge(s->p->model, site_of[i]) : UINT32_MAX;
	free(sites);
	free(site_of);
}

void model_add_sites(struct model_part *p)
{
	const struct recording *r = p->recording;
	struct part s = {.p = p};
	struct model_sites *to = &p->model->sites;

	s.area = p->header->sites ? tf_at(&r->map, p->header->sites, sizeof(*s.area)) : NULL;
	if (!s.area || s.area->mode == TF_SITES_OFF)
		return;
	if (!to->texts)
		to->texts = alloc_zeroed(1, sizeof(*to->texts));
	to->recorded = true;
	to->python |= s.area->python == TF_PYTHON_READ;
	CLAMP_ADD(to->lost, s.area->lost);
	if (!to->python_trouble)
		to->python_trouble = sites_python_trouble(s.area);
	s.codes = alloc_zeroed(r->codes, sizeof(*s.codes));
	s.lines = alloc_zeroed(LINES_KEPT, sizeof(*s.lines));
	s.class_samples = alloc_zeroed(TF_WORKS, sizeof(*s.class_samples));
	s.call_seen = alloc_zeroed(r->calls, sizeof(*s.call_seen));
	s.call_all = alloc_zeroed(r->calls, sizeof(*s.call_all));
	count_seen(&s);
	add_all(&s);
	free(s.codes);
	free(s.lines);
	free(s.class_samples);
	free(s.giver_lines);
	free(s.call_seen);
	free(s.call_all);
}
