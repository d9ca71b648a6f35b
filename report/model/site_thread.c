/* SPDX-License-Identifier: Apache-2.0 */
/* A thread in no Python: its name, the NVTX range it is in, and where the thread of Python that it
 * works for was meanwhile. */
#include <stdlib.h>

#include "report/base/alloc.h"
#include "report/model/site_reader.h"
#include "report/model/sites_internal.h"

#define RANGES_MOST 8u /* NVTX ranges around one that are named */
#define LOOKS_LEAST 3u
#define MAJORITY    0.75 /* of the answers: of a step's two lines neither has it */

struct site_giver { /* of a row that only says where a thread was */
	bool read, own;
	struct model_frame at;
};

/* "train/backward": an NVTX range and those around it; NULL = there is none. */
static const char *range_of(struct site_reader *s, uint32_t number)
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

static void read_giver_line(struct site_reader *s, const struct tf_site *row, struct site_giver *to)
{
	struct model_site at = {0};
	uint32_t frames = s->frames; /* of its stack one is kept */

	site_read_frames(s, row, &at);
	s->frames = frames;
	at.head = sites_head(&at);
	to->own = at.frame_count && at.frames[at.head].python && !at.frames[at.head].foreign &&
	          at.frames[at.head].line;
	if (to->own)
		to->at = at.frames[at.head];
	free(at.frames);
}

/* Where a stack that was found is: the program's own line; NULL: it has none. */
static const struct model_frame *line_of_giver(struct site_reader *s, uint32_t site)
{
	const struct recording *r = s->p->recording;
	const struct tf_site *row = site && site <= r->sites ? tf_entry(&r->map, &s->area->sites,
	                                                                site - 1, sizeof(*row))
	                                                     : NULL;

	if (!row || row->calls)
		return NULL;
	if (!s->givers)
		s->givers = alloc_zeroed(r->sites, sizeof(*s->givers));
	struct site_giver *line = &s->givers[site - 1];
	if (!line->read)
		read_giver_line(s, row, line);
	line->read = true;
	return line->own ? &line->at : NULL;
}

/* The line at which the thread of Python was that it works for: where most looks found it. Of one
 * line there may be several stacks. */
static const struct model_frame *meanwhile_of(struct site_reader *s, const struct tf_site *t)
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

void site_read_thread(struct site_reader *s, const struct tf_site *t, struct model_site *to)
{
	if (!t->thread[0])
		return;
	to->thread = sites_keep(s->p->model, model_text(t->thread, sizeof(t->thread)));
	to->range = range_of(s, t->range);
	to->meanwhile = meanwhile_of(s, t);
}
