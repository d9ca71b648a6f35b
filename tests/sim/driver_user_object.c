/* SPDX-License-Identifier: Apache-2.0 */
/* User objects: counted things that graphs keep alive; and the picture of a graph. */
#include <stdio.h>
#include <stdlib.h>
#include "tests/sim/driver_graph.h"

struct sim_user_object {
	struct sim_handle handle;
	void *ptr;
	CUhostFn destroy;
	_Atomic unsigned count;
};

struct user_ref {
	struct user_ref *next;
	struct sim_user_object *object;
	unsigned count;
};

static struct sim_user_object *object_get(CUuserObject h)
{
	return handle_live(HANDLE_USER_OBJECT, h) ? (struct sim_user_object *)h : NULL;
}

static void let_go(struct sim_user_object *o, unsigned count)
{
	if (atomic_fetch_sub(&o->count, count) > count)
		return;
	o->destroy(o->ptr);
	handle_free(HANDLE_USER_OBJECT, o);
}

void user_refs_drop(struct sim_graph *g)
{
	while (g->users) {
		struct user_ref *r = g->users;

		g->users = r->next;
		let_go(r->object, r->count);
		free(r);
	}
}

CUresult do_cuUserObjectCreate(CUuserObject *object_out, void *ptr, CUhostFn destroy,
                               unsigned int initialRefcount, unsigned int flags)
{
	struct sim_user_object *o;

	if (!object_out || !destroy || !initialRefcount ||
	    flags != CU_USER_OBJECT_NO_DESTRUCTOR_SYNC)
		return CUDA_ERROR_INVALID_VALUE;
	o = handle_new(HANDLE_USER_OBJECT);
	if (!o)
		return CUDA_ERROR_OUT_OF_MEMORY;
	o->ptr = ptr;
	o->destroy = destroy;
	atomic_store(&o->count, initialRefcount);
	*object_out = (CUuserObject)o;
	return CUDA_SUCCESS;
}

CUresult do_cuUserObjectRetain(CUuserObject object, unsigned int count)
{
	struct sim_user_object *o = object_get(object);

	if (!o || !count)
		return CUDA_ERROR_INVALID_VALUE;
	atomic_fetch_add(&o->count, count);
	return CUDA_SUCCESS;
}

CUresult do_cuUserObjectRelease(CUuserObject object, unsigned int count)
{
	struct sim_user_object *o = object_get(object);

	if (!o || !count || count > atomic_load(&o->count))
		return CUDA_ERROR_INVALID_VALUE;
	let_go(o, count);
	return CUDA_SUCCESS;
}

CUresult do_cuGraphRetainUserObject(CUgraph graph, CUuserObject object, unsigned int count,
                                    unsigned int flags)
{
	struct sim_graph *g = graph_get(graph);
	struct sim_user_object *o = object_get(object);
	struct user_ref *r;

	if (!g || !o || !count || flags > CU_GRAPH_USER_OBJECT_MOVE)
		return CUDA_ERROR_INVALID_VALUE;
	r = malloc(sizeof(*r));
	if (!r)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (!(flags & CU_GRAPH_USER_OBJECT_MOVE))
		atomic_fetch_add(&o->count, count);
	*r = (struct user_ref){.next = g->users, .object = o, .count = count};
	g->users = r;
	return CUDA_SUCCESS;
}

CUresult do_cuGraphReleaseUserObject(CUgraph graph, CUuserObject object, unsigned int count)
{
	struct sim_graph *g = graph_get(graph);

	if (!g || !count)
		return CUDA_ERROR_INVALID_VALUE;
	for (struct user_ref **link = &g->users; *link; link = &(*link)->next) {
		struct user_ref *r = *link;

		if (r->object != (struct sim_user_object *)object || r->count < count)
			continue;
		r->count -= count;
		let_go(r->object, count);
		if (!r->count) {
			*link = r->next;
			free(r);
		}
		return CUDA_SUCCESS;
	}
	return CUDA_ERROR_INVALID_VALUE;
}

CUresult do_cuGraphDebugDotPrint(CUgraph hGraph, const char *path, unsigned int flags)
{
	struct sim_graph *g = graph_get(hGraph);
	FILE *f;

	if (!g || !path)
		return CUDA_ERROR_INVALID_VALUE;
	f = fopen(path, "w");
	if (!f)
		return CUDA_ERROR_OPERATING_SYSTEM;
	graph_number(g);
	fprintf(f, "digraph dot {\n");
	for (struct sim_node *n = g->first; n; n = n->next) {
		fprintf(f, "n%u [label=\"type %d\"];\n", n->mark, (int)n->type);
		for (unsigned i = 0; i < n->dep_count; i++)
			fprintf(f, "n%u -> n%u;\n", n->deps[i]->mark, n->mark);
	}
	fprintf(f, "}\n");
	return fclose(f) ? CUDA_ERROR_OPERATING_SYSTEM : CUDA_SUCCESS;
}
