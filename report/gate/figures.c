/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/base/file.h"
#include "report/gate/figures.h"
#include "report/model/model_names.h"

static struct figures_part *add(struct figures_parts *p, char *name, uint64_t count)
{
	ALLOC_ROOM(p->items, p->count);
	struct figures_part *to = &p->items[p->count++];
	*to = (struct figures_part){
	        .name = name, .count = count, .total = NAN, .p50 = NAN, .gpu_share = NAN};
	return to;
}

static char *text_of(const char *name)
{
	return alloc_copy(name ? name : "(unknown)", name ? strlen(name) : strlen("(unknown)"));
}

static void take_kernels(struct figures *f, const struct model *m)
{
	for (size_t i = 0; i < m->kernel_count; i++) {
		const struct model_kernel *k = &m->kernels[i];
		struct figures_part *to = add(&f->kernels, text_of(k->name), k->launches);
		to->failed = k->failed;
		to->total = k->total;
		to->p50 = k->q.p50;
		to->captured = k->captured;
		to->in_graphs = k->graph_launches;
		to->gpu_share = m->gpu.all.total > 0 ? k->gpu.total / m->gpu.all.total : NAN;
		to->shapes = k->shapes;
		memcpy(to->grid, k->most.grid, sizeof(to->grid));
		memcpy(to->block, k->most.block, sizeof(to->block));
	}
	parts_order(&f->kernels);
}

static void take_apis(struct figures *f, const struct model *m)
{
	for (size_t i = 0; i < m->api_count; i++) {
		const struct model_api *a = &m->apis[i];
		struct figures_part *to = add(&f->apis, text_of(a->name), a->calls);
		to->cls = a->cls;
		to->failed = a->failed;
		to->total = a->total;
		to->p50 = a->q.p50;
	}
	parts_order(&f->apis);
}

static void take_copies(struct figures *f, const struct model *m)
{
	for (size_t i = 0; i < m->copy_count; i++) {
		const struct model_copy *c = &m->copies[i];
		char *name =
		        alloc_format("%s %s %s", model_direction_names[c->direction],
		                     model_memory_names[c->memory], c->async ? "async" : "sync");
		struct figures_part *to = add(&f->copies, name, c->count);
		to->bytes = c->bytes;
		to->total = c->total;
	}
	parts_order(&f->copies);
}

/* "NVIDIA H200", "2 x NVIDIA H200", "NVIDIA A100, NVIDIA H200": each device once, however many
 * processes used it. */
static char *gpus_of(const struct model *m)
{
	struct figures_parts names = {0};
	char *text = NULL;

	for (size_t i = 0; i < m->process_count; i++) {
		const struct model_process *p = &m->processes[i];
		for (size_t k = 0; k < p->device_count; k++) {
			char *name = text_of(p->devices[k].name);
			const struct figures_part *known = NULL;
			for (size_t n = 0; n < names.count && !known; n++)
				if (!strcmp(names.items[n].name, name) &&
				    names.items[n].bytes == p->devices[k].index)
					known = &names.items[n];
			if (known)
				free(name);
			else
				add(&names, name, 1)->bytes = p->devices[k].index;
		}
	}
	parts_order(&names); /* the same name on several indexes adds up */
	for (size_t i = 0; i < names.count; i++) {
		const struct figures_part *n = &names.items[i];
		char *one = n->count > 1 ? alloc_format("%llu x %s", (unsigned long long)n->count,
		                                        n->name)
		                         : alloc_string(n->name);
		alloc_append(&text, "%s%s", text ? ", " : "", one);
		free(one);
	}
	for (size_t i = 0; i < names.count; i++)
		free(names.items[i].name);
	free(names.items);
	return text;
}

static void take_machine(struct figures *f, const struct model *m)
{
	const struct model_process *p = m->process_count ? &m->processes[0] : NULL;
	char version[MODEL_VERSION_BYTES];

	f->machine.gpus = gpus_of(m);
	if (!p)
		return;
	if (p->driver_version) {
		model_version(version, p->driver_version);
		f->machine.driver = alloc_string(version);
	}
	const char *mode = model_gpu_mode_name(p->gpu_mode);
	f->machine.mode = alloc_string(mode);
}

void figures_add_rank(struct figures_ranks *r, char *name)
{
	size_t at = 0;

	while (at < r->count && strcmp(r->names[at], name) < 0)
		at++;
	if (at < r->count && !strcmp(r->names[at], name)) {
		free(name);
		return;
	}
	ALLOC_ROOM(r->names, r->count);
	memmove(&r->names[at + 1], &r->names[at], (r->count++ - at) * sizeof(*r->names));
	r->names[at] = name;
}

void figures_free_ranks(struct figures_ranks *r)
{
	for (size_t i = 0; i < r->count; i++)
		free(r->names[i]);
	free(r->names);
}

static void take_verdict(struct figures *f, const struct verdict *v)
{
	if (v->cls == VERDICT_NONE) {
		f->doubt.reason = alloc_string(v->reason);
		return;
	}
	f->verdict = alloc_string(verdict_names[v->cls]);
	f->doubt.unsure = v->confidence == CONFIDENCE_LOW;
	if (v->cls == VERDICT_MIXED) {
		f->doubt.first = verdict_names[v->first];
		f->doubt.second = verdict_names[v->second];
	}
}

static bool opens_or_ends_range(const char *name)
{
	return name && (strstr(name, "ProfilerStart") || strstr(name, "ProfilerStop"));
}

/* Whether a call was recorded, but for those that open or end the range. */
static bool any_call(const struct model *m)
{
	for (size_t i = 0; i < m->api_count; i++)
		if (m->apis[i].calls && !opens_or_ends_range(m->apis[i].name))
			return true;
	return false;
}

/* A count of nothing is no ground to pass. */
static char *missing_of(const struct model *m)
{
	char *why = model_missing(m);

	return why || any_call(m) ? why
	                          : alloc_string("no CUDA call was recorded: CUDASPY_RANGE had "
	                                         "none in it");
}

/* Runs that a user gives one name may be repeats all the same. */
static char *run_of(const struct model *m)
{
	const struct model_process *p = m->process_count ? &m->processes[0] : NULL;

	return p && p->run_id && *p->run_id && !p->run_id_from ? alloc_string(p->run_id) : NULL;
}

/* The word at *at, without the quotes that a blank in it needs, or NULL (free it); *at goes behind
 * it. */
static char *next_word(const char **at)
{
	bool quoted = **at == '\'';
	const char *from = *at + quoted;
	size_t bytes = strcspn(from, quoted ? "'" : " ");

	if (!bytes)
		return NULL;
	*at = from + bytes + (quoted && from[bytes]);
	*at += strspn(*at, " ");
	return alloc_copy(from, bytes);
}

/* python, python3, python3.12, python3.13t. */
static bool is_python(const char *base)
{
	const char *version = base + 6;

	return !strncmp(base, "python", 6) && !version[strspn(version, "0123456789.dt")];
}

/* What an interpreter runs: the first word that is no option, nor the value of one; NULL = a text.
 */
static char *next_script(const char **at)
{
	for (;;) {
		char *word = next_word(at);
		if (!word || *word != '-')
			return word;
		bool text = !strcmp(word, "-c"), value = !strcmp(word, "-W") || !strcmp(word, "-X");
		free(word);
		if (text)
			return NULL;
		if (value)
			free(next_word(at));
	}
}

static char *program_of(const struct model *m)
{
	const char *at = m->process_count == 1 ? m->processes[0].command : NULL;
	char *word = at ? next_word(&at) : NULL;

	if (word && is_python(file_base_name(word))) {
		free(word);
		word = next_script(&at);
	}
	char *name = word ? alloc_string(file_base_name(word)) : NULL;
	free(word);
	return name;
}

void figures_take(struct figures *f, const struct model *m, const struct analysis *a)
{
	*f = (struct figures){.has_times = true};
	for (size_t i = 0; i < METRICS; i++) {
		double low, high;
		f->values[i] = metrics[i].of ? metrics[i].of(m) : NAN;
		metric_interval(&metrics[i], m, &low, &high);
		f->below[i] = high > low ? f->values[i] - low : 0;
		f->above[i] = high > low ? high - f->values[i] : 0;
	}
	take_verdict(f, &a->verdict);
	figures_take_steps(&f->steps, m);
	figures_take_ranges(&f->ranges, m);
	take_kernels(f, m);
	take_apis(f, m);
	take_copies(f, m);
	figures_take_sites(&f->sites, m);
	take_machine(f, m);
	f->processes = m->process_count;
	f->ranks.known = true;
	for (size_t i = 0; i < m->process_count; i++)
		if (m->processes[i].rank && *m->processes[i].rank)
			figures_add_rank(&f->ranks, alloc_string(m->processes[i].rank));
	for (size_t i = 0; i < m->process_count; i++)
		if (m->processes[i].state > f->state)
			f->state = m->processes[i].state;
	f->missing = missing_of(m);
	f->run = run_of(m);
	f->program = program_of(m);
	f->lost_calls = m->lost_calls;
	f->lost_share = m->lost_share;
	f->wall = m->wall;
	f->window = m->window;
}

static void parts_free(struct figures_parts *p)
{
	for (size_t i = 0; i < p->count; i++)
		free(p->items[i].name);
	free(p->items);
}

void figures_free(struct figures *f)
{
	parts_free(&f->kernels);
	parts_free(&f->apis);
	parts_free(&f->copies);
	free(f->machine.gpus);
	free(f->machine.driver);
	free(f->machine.mode);
	free(f->verdict);
	free(f->doubt.reason);
	free(f->missing);
	free(f->steps.name);
	figures_free_ranges(&f->ranges);
	figures_free_ranks(&f->ranks);
	figures_free_sites(&f->sites);
	free(f->name);
	free(f->run);
	free(f->program);
	*f = (struct figures){0};
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct figures_part *)a)->name,
	              ((const struct figures_part *)b)->name);
}

void parts_sort(struct figures_parts *p)
{
	if (p->count)
		qsort(p->items, p->count, sizeof(*p->items), by_name);
}

void parts_order(struct figures_parts *p)
{
	size_t kept = 0;

	parts_sort(p);
	for (size_t i = 0; i < p->count; i++) {
		struct figures_part *to = kept ? &p->items[kept - 1] : NULL, *from = &p->items[i];
		if (!to || strcmp(to->name, from->name)) {
			p->items[kept++] = *from;
			continue;
		}
		to->count += from->count;
		to->failed += from->failed;
		to->bytes += from->bytes;
		to->captured += from->captured;
		to->in_graphs += from->in_graphs;
		to->gpu_share += from->gpu_share;
		to->total += from->total;
		to->p50 = NAN;
		free(from->name);
	}
	p->count = kept;
}

const struct figures_part *parts_find(const struct figures_parts *p, const char *name)
{
	struct figures_part key = {.name = (char *)name};

	return p->count ? bsearch(&key, p->items, p->count, sizeof(*p->items), by_name) : NULL;
}

void run_set_free(struct run_set *s)
{
	for (size_t i = 0; i < s->count; i++)
		figures_free(&s->runs[i]);
	free(s->runs);
	*s = (struct run_set){0};
}

static bool same(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

static char *differs(const char *what, const char *a, const char *b)
{
	return same(a, b)
	               ? NULL
	               : alloc_format("%s: %s and %s", what, a ? a : "unknown", b ? b : "unknown");
}

char *machine_difference(const struct run_set *a, const struct run_set *b)
{
	const struct figures_machine *first = a->count ? &a->runs[0].machine : NULL;

	for (size_t i = 0; first && i < a->count + b->count; i++) {
		const struct figures_machine *m =
		        i < a->count ? &a->runs[i].machine : &b->runs[i - a->count].machine;
		char *text = differs("GPU", first->gpus, m->gpus);
		text = text ? text : differs("driver", first->driver, m->driver);
		text = text ? text : differs("CUDASPY_GPU", first->mode, m->mode);
		if (text)
			return text;
	}
	return NULL;
}
