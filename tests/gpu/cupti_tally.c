/* SPDX-License-Identifier: Apache-2.0 */
/* Adds CUPTI's records up. */
#include <stdlib.h>
#include <string.h>
#include "tests/gpu/cupti_tally.h"

/* Makes room for one more element of a growing array; false when there is no memory. */
static bool room_for_one(struct tally *t, void **array, uint64_t count, uint64_t *room, size_t size)
{
	uint64_t more = *room ? *room * 2 : 64;
	void *p;

	if (count < *room)
		return true;
	p = realloc(*array, more * size);
	if (!p) {
		t->out_of_memory++;
		return false;
	}
	*array = p;
	*room = more;
	return true;
}

static uint64_t hash_name(const char *name)
{
	uint64_t h = 14695981039346656037ull;

	for (; *name; name++)
		h = (h ^ (unsigned char)*name) * 1099511628211ull;
	return h;
}

static void index_kernel(struct tally *t, uint32_t place)
{
	uint32_t mask = t->kernel_room * 2 - 1;
	uint32_t i = (uint32_t)t->kernel[place].hash & mask;

	while (t->kernel_index[i])
		i = (i + 1) & mask;
	t->kernel_index[i] = place + 1;
}

static bool grow_kernels(struct tally *t)
{
	uint32_t room = t->kernel_room ? t->kernel_room * 2 : 256;
	struct tally_kernel *kernel = realloc(t->kernel, room * sizeof(*kernel));
	uint32_t *index = calloc(room * 2, sizeof(*index));

	if (kernel)
		t->kernel = kernel;
	if (!kernel || !index) {
		free(index);
		t->out_of_memory++;
		return false;
	}
	free(t->kernel_index);
	t->kernel_index = index;
	t->kernel_room = room;
	for (uint32_t i = 0; i < t->kernel_count; i++)
		index_kernel(t, i);
	return true;
}

/* The entry of a kernel of this name, made at its first record; NULL when there is no memory. */
static struct tally_kernel *find_kernel(struct tally *t, const char *name)
{
	uint64_t hash = hash_name(name);
	struct tally_kernel *k;

	if (t->kernel_room) {
		uint32_t mask = t->kernel_room * 2 - 1;

		for (uint32_t i = (uint32_t)hash & mask; t->kernel_index[i]; i = (i + 1) & mask) {
			k = &t->kernel[t->kernel_index[i] - 1];
			if (k->hash == hash && !strcmp(k->name, name))
				return k;
		}
	}
	if (t->kernel_count == t->kernel_room && !grow_kernels(t))
		return NULL;
	k = &t->kernel[t->kernel_count];
	*k = (struct tally_kernel){.name = strdup(name), .hash = hash, .min_ns = UINT64_MAX};
	if (!k->name) {
		t->out_of_memory++;
		return NULL;
	}
	index_kernel(t, t->kernel_count++);
	return k;
}

/* Remembers a graph launch by its correlation id, once. */
static void add_launch(struct tally *t, uint32_t correlation)
{
	uint32_t mask, i;

	if (t->launch_count * 2 >= t->launch_room) {
		uint32_t room = t->launch_room ? t->launch_room * 2 : 1024;
		uint32_t *set = calloc(room, sizeof(*set));

		if (!set) {
			t->out_of_memory++;
			return;
		}
		for (uint32_t old = 0; old < t->launch_room; old++) {
			if (!t->launch_set[old])
				continue;
			for (i = t->launch_set[old] * 2654435761u & (room - 1); set[i];)
				i = (i + 1) & (room - 1);
			set[i] = t->launch_set[old];
		}
		free(t->launch_set);
		t->launch_set = set;
		t->launch_room = room;
	}
	mask = t->launch_room - 1;
	if (!correlation)
		return;
	for (i = correlation * 2654435761u & mask; t->launch_set[i]; i = (i + 1) & mask) {
		if (t->launch_set[i] == correlation)
			return;
	}
	t->launch_set[i] = correlation;
	t->launch_count++;
}

static void add_sum(struct tally_sum *sum, const struct raw_record *r, uint64_t ns)
{
	sum->records++;
	sum->items += r->items;
	sum->bytes += r->bytes;
	sum->gpu_ns += ns;
}

static struct tally_group *find_group(struct tally *t, struct tally_group **groups, uint32_t *count,
                                      const struct raw_record *r)
{
	uint8_t async = !!(r->flags & RAW_ASYNC);
	struct tally_group *g;

	for (uint32_t i = 0; i < *count; i++) {
		g = &(*groups)[i];
		if (g->copy_kind == r->copy_kind && g->src_kind == r->src_kind &&
		    g->dst_kind == r->dst_kind && g->async == async)
			return g;
	}
	g = realloc(*groups, (*count + 1) * sizeof(**groups));
	if (!g) {
		t->out_of_memory++;
		return NULL;
	}
	*groups = g;
	g = &g[(*count)++];
	*g = (struct tally_group){.copy_kind = r->copy_kind,
	                          .src_kind = r->src_kind,
	                          .dst_kind = r->dst_kind,
	                          .async = async};
	return g;
}

static void add_kernel(struct tally *t, struct raw_record *r, const char *name, int where,
                       uint64_t ns)
{
	struct tally_kernel *k = find_kernel(t, name ? name : "(unnamed)");
	bool from_device = (r->flags & RAW_FROM_DEVICE) && where == OUTSIDE;

	add_sum(&t->kernels[where], r, ns);
	t->kernels_from_device += from_device;
	if (!k)
		return;
	r->name = (uint32_t)(k - t->kernel);
	k->count[where]++;
	k->from_device += from_device;
	k->gpu_ns[where] += ns;
	if (r->flags & RAW_INVALID_TIME) {
		k->invalid_times++;
		return;
	}
	k->min_ns = ns < k->min_ns ? ns : k->min_ns;
	k->max_ns = ns > k->max_ns ? ns : k->max_ns;
}

static void add_graph(struct tally *t, const struct raw_record *r, uint64_t ns)
{
	struct tally_graph *g = NULL;

	for (uint32_t i = 0; i < t->graphs && !g; i++) {
		if (t->graph[i].graph == r->graph)
			g = &t->graph[i];
	}
	if (!g) {
		g = realloc(t->graph, (t->graphs + 1) * sizeof(*g));
		if (!g) {
			t->out_of_memory++;
			return;
		}
		t->graph = g;
		g = &g[t->graphs++];
		*g = (struct tally_graph){.graph = r->graph, .min_ns = UINT64_MAX};
	}
	g->launches++;
	if (r->flags & RAW_INVALID_TIME)
		return;
	g->gpu_ns += ns;
	g->min_ns = ns < g->min_ns ? ns : g->min_ns;
	g->max_ns = ns > g->max_ns ? ns : g->max_ns;
}

/* The kernels with which cudaspy times others: no work of the program's. */
static bool is_own(const struct raw_record *r, const char *name)
{
	return r->kind == RAW_KERNEL && name &&
	       (!strcmp(name, "cudaspy_stall") || !strcmp(name, "cudaspy_null"));
}

void tally_add(struct tally *t, struct raw_record *r, const char *name)
{
	int where = r->flags & RAW_IN_GRAPH ? INSIDE : OUTSIDE;
	struct tally_group *g = NULL;
	uint64_t ns = 0;

	r->name = RAW_NO_NAME;
	if (!r->start_ns || !r->end_ns || r->end_ns < r->start_ns) {
		r->flags |= RAW_INVALID_TIME;
		t->invalid_times++;
	} else {
		ns = r->end_ns - r->start_ns;
	}
	if (is_own(r, name)) {
		add_sum(&t->own, r, ns);
		return;
	}
	switch (r->kind) {
	case RAW_KERNEL:
		add_kernel(t, r, name, where, ns);
		break;
	case RAW_COPY:
		add_sum(&t->copies[where], r, ns);
		g = find_group(t, &t->copy_group, &t->copy_groups, r);
		break;
	case RAW_SET:
		add_sum(&t->sets[where], r, ns);
		g = find_group(t, &t->set_group, &t->set_groups, r);
		break;
	case RAW_GRAPH:
		add_graph(t, r, ns);
		break;
	}
	if (g)
		add_sum(&g->sum[where], r, ns);
	if (where == OUTSIDE && r->kind != RAW_GRAPH)
		classes_add(&t->classes, r, ns);
	if (where == INSIDE && r->kind != RAW_GRAPH && !(r->flags & RAW_FROM_DEVICE))
		add_launch(t, r->correlation);
	if (t->kept_count >= t->keep_most ||
	    !room_for_one(t, (void **)&t->kept, t->kept_count, &t->kept_room, sizeof(*t->kept))) {
		t->not_kept++;
		return;
	}
	t->kept[t->kept_count++] = *r;
}

void tally_untrue(struct tally *t, const struct raw_record *r)
{
	struct tally_class *c = r->kind == RAW_GRAPH ? NULL : classes_of(&t->classes, r);
	uint64_t ns = r->end_ns - r->start_ns;

	for (uint32_t i = 0; r->kind == RAW_GRAPH && i < t->graphs; i++) {
		if (t->graph[i].graph != r->graph)
			continue;
		t->graph[i].untrue++;
		t->graph[i].untrue_ns += ns;
	}
	if (!c)
		return;
	c->untrue += r->items;
	c->untrue_ns += ns;
}

void tally_api(struct tally *t, struct tally_call call, uint64_t ns, bool failed)
{
	uint32_t id = call.api & ~TALLY_DRIVER;
	struct tally_api *a = &t->api[!!(call.api & TALLY_DRIVER)][id < TALLY_APIS ? id : 0];

	a->calls++;
	a->failed += failed;
	a->total_ns += ns;
	if (t->call_count < t->keep_most &&
	    room_for_one(t, (void **)&t->call, t->call_count, &t->call_room, sizeof(*t->call)))
		t->call[t->call_count++] = call;
}
