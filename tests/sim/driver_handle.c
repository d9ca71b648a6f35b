/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include "tests/sim/driver_handle.h"

#define SLOT_BYTES HANDLE_BYTES
#define SLOTS      HANDLE_MOST

_Atomic(char *) handle_base[HANDLE_KINDS];

/* The objects hold memory from malloc but lie in memory that a leak checker does not look at. */
void __lsan_register_root_region(const void *p, size_t bytes) __attribute__((weak));
#define ROOT_SLOTS 128u

struct table {
	pthread_mutex_t lock;
	_Atomic uint32_t used; /* slots ever handed out */
	uint32_t free_head;    /* 1 + slot, or 0 */
};

static struct table table[HANDLE_KINDS] = {
        [0 ... HANDLE_KINDS - 1] = {.lock = PTHREAD_MUTEX_INITIALIZER},
};

static void *slot(char *base, uint32_t i)
{
	return base + (size_t)i * SLOT_BYTES;
}

void *handle_new(enum handle_kind kind)
{
	struct table *t = &table[kind];
	struct sim_handle *h = NULL;
	char *base;

	pthread_mutex_lock(&t->lock);
	base = atomic_load(&handle_base[kind]);
	if (!base) {
		base = mmap(NULL, (size_t)SLOTS * SLOT_BYTES, PROT_READ | PROT_WRITE,
		            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (base == MAP_FAILED)
			base = NULL;
		atomic_store(&handle_base[kind], base);
	}
	if (base && t->free_head) {
		h = slot(base, t->free_head - 1);
		t->free_head = h->next_free;
		memset((char *)h + sizeof(*h), 0, SLOT_BYTES - sizeof(*h));
	} else if (base && t->used < SLOTS) {
		h = slot(base, t->used);
		if (__lsan_register_root_region && t->used % ROOT_SLOTS == 0)
			__lsan_register_root_region(h, ROOT_SLOTS * SLOT_BYTES);
		atomic_fetch_add(&t->used, 1);
	}
	if (h)
		atomic_store(&h->live, 1);
	pthread_mutex_unlock(&t->lock);
	return h;
}

void handle_free(enum handle_kind kind, void *object)
{
	struct table *t = &table[kind];
	struct sim_handle *h = object;

	pthread_mutex_lock(&t->lock);
	atomic_store(&h->live, 0);
	h->next_free = t->free_head;
	t->free_head =
	        (uint32_t)(((char *)object - atomic_load(&handle_base[kind])) / SLOT_BYTES) + 1;
	pthread_mutex_unlock(&t->lock);
}

void handle_each(enum handle_kind kind, void (*fn)(void *object, void *arg), void *arg)
{
	struct table *t = &table[kind];
	uint32_t used = atomic_load(&t->used);

	for (uint32_t i = 0; i < used; i++) {
		struct sim_handle *h = slot(atomic_load(&handle_base[kind]), i);

		if (atomic_load(&h->live))
			fn(h, arg);
	}
}
