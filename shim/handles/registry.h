/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the program's handles stand for: functions and kernels, instantiated graphs, modules,
 * physical memory. Handles are reused after their object is gone, so identities are dropped with
 * it. For shim/args.
 */
#ifndef SPY_REGISTRY_H
#define SPY_REGISTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "shim/core/format/trace_format.h"

enum registry_kind {
	HANDLE_FUNCTION = 1,  /* CUfunction or CUkernel; value: index in table `kernels` */
	HANDLE_GRAPH_EXEC,    /* value: registry_graph() */
	HANDLE_MODULE,        /* CUmodule made from a library: its owner is the library */
	HANDLE_PHYSICAL,      /* value: enum spy_memory */
	HANDLE_GRAPH_CONTENT, /* no handle: graph_content(); value: index + 1 in table `graphs` of
	                         the first one that had it */
	HANDLE_GRAPH_NODES,   /* CUgraphExec; value: index + 1 in table `graph_nodes` of what it
	                         holds */
	HANDLE_GRAPH_PARTS,   /* no handle: a digest of rows in `graph_nodes`; value: as above */
};

/* An open-addressed table. Only for registry_get(), which launches have inline, and what is behind
 * it. */
struct registry_slot {
	uint64_t key; /* handle * 8 + kind; 0 = free */
	uint64_t owner;
	uint64_t context;
	uint32_t value;
	uint32_t reserved;
};
struct registry_table {
	uint64_t mask;
	uint64_t used; /* slots that are not free, dead ones too */
	struct registry_slot slots[];
};
extern struct registry_table *registry_handles;

static inline uint64_t registry_scatter(uint64_t key)
{
	key *= 0x9e3779b97f4a7c15u;
	return key ^ key >> 32;
}

/* Past the first probe. */
const struct registry_slot *registry_find_slow(uint64_t key);

/*
 * What is known of a handle, or NULL. Lock-free, wait-free but for a table that is being replaced
 * under it (then it reads the old one).
 */
static inline const struct registry_slot *registry_find(enum registry_kind kind, uint64_t handle)
{
	/* Acquire: a reader of a new table finds all that was in the old one. Pairs with
	 * make_room(). */
	const struct registry_table *t = __atomic_load_n(&registry_handles, __ATOMIC_ACQUIRE);
	uint64_t key = handle * 8 + kind;

	if (__builtin_expect(t != NULL, 1)) {
		const struct registry_slot *s = &t->slots[registry_scatter(key) & t->mask];
		/* Acquire: the value was stored before the key. Pairs with place(). */
		if (__builtin_expect(__atomic_load_n(&s->key, __ATOMIC_ACQUIRE) == key, 1))
			return s;
	}
	return registry_find_slow(key);
}

static inline bool registry_get(enum registry_kind kind, uint64_t handle, uint32_t *value)
{
	const struct registry_slot *s = registry_find(kind, handle);

	if (s)
		*value = __atomic_load_n(&s->value, __ATOMIC_RELAXED);
	return s != NULL;
}

/* ---- the value of an instantiated graph ---- */

#define GRAPH_NO_NUMBER 0xffffu
/* It was changed node by node, or by an update that failed: what it does is not asked again. */
#define GRAPH_CHANGED 0x80000000u
_Static_assert(TF_GRAPHS_MAX < 0x7fff, "numbers and contents of graphs are 15 bits");

/* Number: index in table `graphs`, UINT32_MAX = none; content: as in struct tf_record. */
static inline uint32_t registry_graph(uint32_t number, uint32_t content)
{
	return (number < TF_GRAPHS_MAX ? number : GRAPH_NO_NUMBER) | content << 16;
}

static inline uint32_t registry_graph_number(uint32_t value)
{
	return (value & 0xffff) == GRAPH_NO_NUMBER ? UINT32_MAX : value & 0xffff;
}

static inline uint32_t registry_graph_content(uint32_t value)
{
	return value >> 16 & 0x7fff;
}

/*
 * Remembers, or renews. `owner`: the module or library the handle dies with, 0 = none; `context`:
 * likewise. Takes the shim's lock, and may map memory, where it is not so already: cold paths only.
 */
void registry_put(enum registry_kind kind, uint64_t handle, uint32_t value, uint64_t owner,
                  uint64_t context);

/* Whether it is remembered with this owner and context. Lock-free. */
bool registry_knows(enum registry_kind kind, uint64_t handle, uint64_t owner, uint64_t context);

void registry_drop(enum registry_kind kind, uint64_t handle);

/* Drops all that dies with a module or library (and, for a library, what its modules own). */
void registry_drop_owned(uint64_t owner);

void registry_drop_context(uint64_t context);

/* The index of a kernel's name in table `kernels`; the same name, the same index. TF_KERNEL_OTHER
 * when it is full. */
uint32_t registry_kernel(const char *name);

/* Code was unloaded: a handle known may come to mean another kernel, which then is launched first.
 */
void registry_code_unloaded(void);
/* How often that was. */
uint32_t registry_code_unloads(void);

#endif
