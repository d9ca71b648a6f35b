/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "tests/sim/driver_memory.h"

#define SPACE_FACTOR                                                                               \
	4 /* address space for each byte of memory, so that it never fragments away                \
	   */
#define FINE_BYTES   512u
#define COARSE_BYTES (2u << 20)

struct gap {
	uintptr_t start;
	size_t bytes;
};

static struct space {
	pthread_mutex_t lock;
	struct gap *gap; /* free, sorted, never adjacent */
	unsigned gaps, room;
	bool made;
	_Atomic uintptr_t start; /* of all of it */
	_Atomic int64_t used;
} space[SIM_MAX_DEVICES] = {
        [0 ... SIM_MAX_DEVICES - 1] = {.lock = PTHREAD_MUTEX_INITIALIZER},
};

static pthread_rwlock_t table_lock = PTHREAD_RWLOCK_INITIALIZER;
static struct memory_range **table;
static unsigned entries, table_room;
static _Atomic unsigned long long next_id = 1;
static _Atomic int64_t data_used;

static size_t rounded(size_t bytes)
{
	size_t to = bytes >= COARSE_BYTES / 2 ? COARSE_BYTES : FINE_BYTES;

	return (bytes + to - 1) / to * to;
}

/* With the lock held. */
static bool gap_insert(struct space *s, unsigned at, uintptr_t start, size_t bytes)
{
	if (s->gaps == s->room) {
		unsigned room = s->room ? s->room * 2 : 64;
		struct gap *more = realloc(s->gap, room * sizeof(*more));

		if (!more)
			return false;
		s->gap = more;
		s->room = room;
	}
	memmove(&s->gap[at + 1], &s->gap[at], (s->gaps - at) * sizeof(*s->gap));
	s->gap[at] = (struct gap){start, bytes};
	s->gaps++;
	return true;
}

static void space_make(struct space *s)
{
	size_t bytes = sim_config.memory_bytes * SPACE_FACTOR;
	char *p = mmap(NULL, bytes + COARSE_BYTES, PROT_NONE,
	               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	uintptr_t start = ((uintptr_t)p + COARSE_BYTES - 1) / COARSE_BYTES * COARSE_BYTES;

	s->made = true;
	if (p == MAP_FAILED)
		return;
	atomic_store(&s->start, start);
	gap_insert(s, 0, start, bytes);
}

bool space_holds(uintptr_t p)
{
	for (int i = 0; i < sim_config.devices; i++) {
		uintptr_t start = atomic_load_explicit(&space[i].start, memory_order_relaxed);

		if (start && p - start < sim_config.memory_bytes * SPACE_FACTOR)
			return true;
	}
	return false;
}

uintptr_t space_take(struct sim_device *d, size_t bytes)
{
	struct space *s = &space[d->ordinal];
	size_t align = bytes >= COARSE_BYTES / 2 ? COARSE_BYTES : FINE_BYTES;
	uintptr_t found = 0;

	bytes = rounded(bytes);
	pthread_mutex_lock(&s->lock);
	if (!s->made)
		space_make(s);
	for (unsigned i = 0; i < s->gaps && !found; i++) {
		struct gap *g = &s->gap[i];
		uintptr_t start = (g->start + align - 1) / align * align;
		size_t before = start - g->start;

		if (before + bytes > g->bytes)
			continue;
		found = start;
		if (before + bytes < g->bytes && before) {
			if (!gap_insert(s, i + 1, start + bytes, g->bytes - before - bytes))
				found = 0;
			else
				s->gap[i].bytes = before;
		} else if (before) {
			g->bytes = before;
		} else if (bytes < g->bytes) {
			g->start += bytes;
			g->bytes -= bytes;
		} else {
			memmove(g, g + 1, (s->gaps - i - 1) * sizeof(*g));
			s->gaps--;
		}
	}
	pthread_mutex_unlock(&s->lock);
	return found;
}

void space_give(struct sim_device *d, uintptr_t start, size_t bytes)
{
	struct space *s = &space[d->ordinal];
	unsigned lo = 0, hi;
	bool left, right;

	bytes = rounded(bytes);
	pthread_mutex_lock(&s->lock);
	for (hi = s->gaps; lo < hi;) {
		unsigned mid = (lo + hi) / 2;

		if (s->gap[mid].start < start)
			lo = mid + 1;
		else
			hi = mid;
	}
	left = lo > 0 && s->gap[lo - 1].start + s->gap[lo - 1].bytes == start;
	right = lo < s->gaps && start + bytes == s->gap[lo].start;
	if (left && right) {
		s->gap[lo - 1].bytes += bytes + s->gap[lo].bytes;
		memmove(&s->gap[lo], &s->gap[lo + 1], (s->gaps - lo - 1) * sizeof(*s->gap));
		s->gaps--;
	} else if (left) {
		s->gap[lo - 1].bytes += bytes;
	} else if (right) {
		s->gap[lo].start = start;
		s->gap[lo].bytes += bytes;
	} else {
		gap_insert(s, lo, start, bytes);
	}
	pthread_mutex_unlock(&s->lock);
}

bool memory_charge(struct sim_device *d, int64_t bytes)
{
	_Atomic int64_t *used = &space[d->ordinal].used;

	if (atomic_fetch_add(used, bytes) + bytes <= (int64_t)sim_config.memory_bytes)
		return true;
	if (bytes > 0)
		atomic_fetch_sub(used, bytes);
	return false;
}

uint64_t memory_used(struct sim_device *d)
{
	return (uint64_t)atomic_load(&space[d->ordinal].used);
}

char *data_take(size_t bytes)
{
	char *data;

	if (atomic_fetch_add(&data_used, (int64_t)bytes) + (int64_t)bytes <=
	    (int64_t)sim_config.data_bytes) {
		data = calloc(1, bytes);
		if (data)
			return data;
	}
	atomic_fetch_sub(&data_used, (int64_t)bytes);
	return NULL;
}

void data_give(char *data, size_t bytes)
{
	if (!data)
		return;
	free(data);
	atomic_fetch_sub(&data_used, (int64_t)bytes);
}

unsigned long long memory_next_id(void)
{
	return atomic_fetch_add(&next_id, 1);
}

/* With the lock held: the first entry that starts after p. */
static unsigned upper(uintptr_t p)
{
	unsigned lo = 0, hi = entries;

	while (lo < hi) {
		unsigned mid = (lo + hi) / 2;

		if (table[mid]->start <= p)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

bool memory_add(const struct memory_range *r)
{
	struct memory_range *copy = malloc(sizeof(*copy)), **more;
	unsigned at;

	if (!copy)
		return false;
	*copy = *r;
	pthread_rwlock_wrlock(&table_lock);
	at = upper(r->start);
	if ((at > 0 && table[at - 1]->start + table[at - 1]->bytes > r->start) ||
	    (at < entries && table[at]->start < r->start + r->bytes))
		goto refuse;
	if (entries == table_room) {
		more = realloc(table, (table_room * 2 + 64) * sizeof(*more));
		if (!more)
			goto refuse;
		table = more;
		table_room = table_room * 2 + 64;
	}
	memmove(&table[at + 1], &table[at], (entries - at) * sizeof(*table));
	table[at] = copy;
	entries++;
	pthread_rwlock_unlock(&table_lock);
	return true;
refuse:
	pthread_rwlock_unlock(&table_lock);
	free(copy);
	return false;
}

bool memory_find(uintptr_t p, struct memory_range *out)
{
	bool found = false;
	unsigned at;

	pthread_rwlock_rdlock(&table_lock);
	at = upper(p);
	if (at > 0 && p - table[at - 1]->start < table[at - 1]->bytes) {
		*out = *table[at - 1];
		found = true;
	}
	pthread_rwlock_unlock(&table_lock);
	return found;
}

static void give_behind(const struct memory_range *r)
{
	if (r->kind == MEMORY_DEVICE || r->kind == MEMORY_POOL) {
		space_give(r->device, r->start, r->bytes);
		memory_charge(r->device, -(int64_t)rounded(r->bytes));
	} else if (r->kind == MEMORY_HOST || r->kind == MEMORY_MANAGED) {
		munmap((void *)r->start, r->bytes);
	}
	if (r->data_owned)
		data_give(r->data, r->bytes);
}

bool memory_give(uintptr_t p)
{
	struct memory_range *r = NULL;
	unsigned at;

	data_settle();
	pthread_rwlock_wrlock(&table_lock);
	at = upper(p);
	if (at > 0 && table[at - 1]->start == p) {
		r = table[at - 1];
		memmove(&table[at - 1], &table[at], (entries - at) * sizeof(*table));
		entries--;
	}
	pthread_rwlock_unlock(&table_lock);
	if (!r)
		return false;
	give_behind(r);
	free(r);
	return true;
}

void memory_free_ctx(struct sim_ctx *ctx)
{
	unsigned i = 0;

	data_settle();
	pthread_rwlock_wrlock(&table_lock);
	for (unsigned k = 0; k < entries; k++) {
		if (table[k]->ctx == ctx && table[k]->kind != MEMORY_MAPPED) {
			give_behind(table[k]);
			free(table[k]);
		} else {
			table[i++] = table[k];
		}
	}
	entries = i;
	pthread_rwlock_unlock(&table_lock);
}

CUresult memory_take(struct sim_ctx *ctx, enum memory_kind kind, struct sim_pool *pool,
                     size_t bytes, CUdeviceptr *out)
{
	struct memory_range r = {
	        .bytes = bytes,
	        .kind = kind,
	        .device = pool ? pool->device : ctx->device,
	        .ctx = ctx,
	        .pool = pool,
	        .id = memory_next_id(),
	};

	if (!memory_charge(r.device, (int64_t)rounded(bytes)))
		return CUDA_ERROR_OUT_OF_MEMORY;
	r.start = space_take(r.device, bytes);
	r.data = r.start ? data_take(bytes) : NULL;
	r.data_owned = r.data != NULL;
	if (!r.start || !memory_add(&r)) {
		data_give(r.data, bytes);
		memory_charge(r.device, -(int64_t)rounded(bytes));
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	*out = (CUdeviceptr)r.start;
	return CUDA_SUCCESS;
}
