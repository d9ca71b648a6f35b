/* SPDX-License-Identifier: Apache-2.0 */
/* Objects behind CUDA handles: one table a kind, so that any value can be checked without reading
 * foreign memory, and the place freed last is handed out next, as the real driver's heap does. */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum handle_kind {
	HANDLE_CTX,
	HANDLE_STREAM,
	HANDLE_EVENT,
	HANDLE_MODULE, /* modules and libraries: the same thing to the simulation */
	HANDLE_FUNC,   /* functions and kernels: a launch takes either */
	HANDLE_GRAPH,
	HANDLE_NODE,
	HANDLE_EXEC,
	HANDLE_POOL,
	HANDLE_ARRAY,
	HANDLE_PHYSICAL,
	HANDLE_LINK,
	HANDLE_USER_OBJECT,
	HANDLE_KINDS
};

/* First member of every such object. */
struct sim_handle {
	_Atomic uint32_t live;
	uint32_t next_free;
};

/* A zeroed object, or NULL when the table is full. */
void *handle_new(enum handle_kind kind);
void handle_free(enum handle_kind kind, void *object);

#define HANDLE_BYTES 512u
#define HANDLE_MOST  (1u << 20)

extern _Atomic(char *) handle_base[HANDLE_KINDS];

/* Whether it is an object of this kind that nobody freed; any value may be asked about. */
static inline bool handle_live(enum handle_kind kind, const void *object)
{
	char *base = atomic_load_explicit(&handle_base[kind], memory_order_relaxed);
	uintptr_t offset = (uintptr_t)object - (uintptr_t)base;
	const struct sim_handle *h = object;

	if (!base || offset >= (uintptr_t)HANDLE_MOST * HANDLE_BYTES || offset % HANDLE_BYTES)
		return false;
	return atomic_load_explicit(&h->live, memory_order_acquire);
}

/* Calls fn for every live object; fn may free the object it gets. */
void handle_each(enum handle_kind kind, void (*fn)(void *object, void *arg), void *arg);
