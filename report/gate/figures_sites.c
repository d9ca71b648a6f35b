/* SPDX-License-Identifier: Apache-2.0 */
/* Places in the program that calls come from, as two runs are compared by them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/base/file.h"
#include "report/gate/figures.h"

static char *copy(const char *text)
{
	return text ? alloc_string(text) : NULL;
}

char *figures_site_key(const struct figures_site *s)
{
	if (s->thread) /* it calls from everywhere */
		return alloc_format("%s\x1f\x1f\x1f%s", s->api, s->thread);
	const char *file = file_base_name(s->file ? s->file : s->module);

	return alloc_format("%s\x1f%s\x1f%s", s->api, file ? file : "",
	                    s->function ? s->function : "");
}

static char *thread_of(const struct model_site *s)
{
	if (!s->thread)
		return NULL;
	return alloc_format("%s\x1f%s", s->thread, s->range ? s->range : "");
}

static void take_place(struct figures_site *to, const struct model_place *p,
                       const struct model_site *s)
{
	const struct model_frame *head = s->thread        ? s->meanwhile
	                                 : s->frame_count ? &s->frames[s->head]
	                                                  : NULL;

	*to = (struct figures_site){
	        .kind = s->kind,
	        .api = copy(s->api),
	        .where = s->meanwhile ? site_where(s, true) : site_headline(s, false),
	        .thread = thread_of(s),
	        .calls = p->calls,
	        .whole = p->whole,
	        .estimated = p->estimated,
	        .api_time = p->api_time,
	        .wasted = s->kind == SITE_WAIT ? p->wasted : NAN,
	        .bytes = (double)p->bytes,
	        .pageable_bytes = (double)p->pageable_bytes,
	};
	if (head) {
		to->file = copy(head->file);
		to->local = copy(head->local);
		to->function = copy(head->function);
		to->module = copy(head->module);
		to->line = head->line;
		to->python = head->python;
		to->file_bytes = head->file_bytes;
		to->file_mtime = head->file_mtime;
	}
	to->key = figures_site_key(to);
}

static int by_key(const void *a, const void *b)
{
	const struct figures_site *x = a, *y = b;
	int order = strcmp(x->key, y->key);

	return order ? order : x->line < y->line ? -1 : x->line > y->line;
}

void figures_sort_sites(struct figures_sites *s)
{
	if (s->count)
		qsort(s->items, s->count, sizeof(*s->items), by_key);
}

void figures_take_sites(struct figures_sites *to, const struct model *m)
{
	to->known = m->sites.recorded;
	to->items = alloc_zeroed(m->sites.place_count, sizeof(*to->items));
	for (size_t i = 0; i < m->sites.place_count; i++)
		take_place(&to->items[to->count++], &m->sites.places[i],
		           &m->sites.items[m->sites.places[i].site]);
	figures_sort_sites(to);
}

void figures_free_sites(struct figures_sites *s)
{
	for (size_t i = 0; i < s->count; i++) {
		struct figures_site *x = &s->items[i];
		free(x->key);
		free(x->api);
		free(x->where);
		free(x->thread);
		free(x->file);
		free(x->local);
		free(x->function);
		free(x->module);
	}
	free(s->items);
	*s = (struct figures_sites){0};
}

/* ---- which is which ---- */

static bool same_file(const struct figures_site *a, const struct figures_site *b)
{
	return a->file_mtime && a->file_mtime == b->file_mtime && a->file_bytes == b->file_bytes;
}

static size_t end_of_group(const struct figures_sites *s, size_t i)
{
	size_t end = i;

	while (end < s->count && !strcmp(s->items[end].key, s->items[i].key))
		end++;
	return end;
}

struct matching {
	const struct figures_sites *before, *after;
	size_t *partner; /* of each of `before`: index in `after`, or NONE */
	bool *told;      /* of each of `after`: it is a partner */
};
#define NONE SIZE_MAX

/* Entries [i, end) and [k, k_end) are calls of one function in one function: those on the same line
 * are the same, and where the file was edited those that are left, in order. */
static void match_group(struct matching *m, size_t i, size_t end, size_t k, size_t k_end)
{
	const struct figures_site *before = m->before->items, *after = m->after->items;
	bool edited = i < end && k < k_end && !same_file(&before[i], &after[k]);
	size_t at = k;

	for (size_t n = i; n < end; n++) {
		while (at < k_end && after[at].line < before[n].line)
			at++;
		if (at == k_end || after[at].line != before[n].line || m->told[at])
			continue;
		m->partner[n] = at;
		m->told[at] = true;
	}
	for (at = k; edited && i < end; i++) {
		while (at < k_end && m->told[at])
			at++;
		if (m->partner[i] != NONE || at == k_end)
			continue;
		m->partner[i] = at;
		m->told[at] = true;
	}
}

static void match_all(struct matching *m)
{
	const struct figures_sites *before = m->before, *after = m->after;
	size_t i = 0, k = 0;

	while (i < before->count || k < after->count) {
		int order = i == before->count  ? 1
		            : k == after->count ? -1
		                                : strcmp(before->items[i].key, after->items[k].key);
		size_t end = order <= 0 ? end_of_group(before, i) : i;
		size_t k_end = order >= 0 ? end_of_group(after, k) : k;
		match_group(m, i, end, k, k_end);
		i = end;
		k = k_end;
	}
}

size_t figures_match_sites(const struct figures_sites *before, const struct figures_sites *after,
                           struct figures_site_pair **pairs)
{
	struct matching m = {.before = before, .after = after};
	size_t count = 0;

	*pairs = alloc_zeroed(before->count + after->count, sizeof(**pairs));
	m.partner = alloc_zeroed(before->count, sizeof(*m.partner));
	m.told = alloc_zeroed(after->count, sizeof(*m.told));
	for (size_t i = 0; i < before->count; i++)
		m.partner[i] = NONE;
	match_all(&m);
	for (size_t i = 0; i < before->count; i++)
		(*pairs)[count++] = (struct figures_site_pair){
		        &before->items[i],
		        m.partner[i] == NONE ? NULL : &after->items[m.partner[i]]};
	for (size_t i = 0; i < after->count; i++)
		if (!m.told[i])
			(*pairs)[count++] = (struct figures_site_pair){NULL, &after->items[i]};
	free(m.partner);
	free(m.told);
	return count;
}
