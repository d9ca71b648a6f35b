/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/sites/snapshot.h"

#include <string.h>
#include <sys/mman.h>
#include "shim/sites/peek.h"

#define SNAPSHOTS   32u
#define BLOCKS      24u   /* stretches of memory of one snapshot */
#define BLOCK_BYTES 4096u /* in which one begins and, but for one fetch, ends */
#define CODES       128u
#define CODE_STACKS                                                                                \
	32u /* stacks for which a code object is believed to be still there, at least,             \
	       once it was there for as long */

/* [from, until) of memory, of which the snapshot has a copy where `fresh`. */
struct block {
	uintptr_t from, until;
	bool fresh;
	uint8_t bytes[BLOCK_BYTES + SNAPSHOT_FETCH_MOST];
};

struct code_known {
	uintptr_t code, function;
	struct snapshot_code found;
	uint32_t until; /* of `stacks` */
	uint32_t trust; /* stacks */
	uint32_t used;  /* the last stack that it was in */
	uint32_t fresh; /* the stack for which `bytes` were read */
	uint8_t bytes[SNAPSHOT_FETCH_MOST];
};

struct snapshot {
	uint32_t busy;
	uint32_t stacks;
	uint32_t next;       /* block to be replaced */
	uint32_t code_bytes; /* that are read of a code object */
	uint64_t pid;
	uintptr_t thread_state;
	uint8_t single[SNAPSHOT_FETCH_MOST];
	struct code_known codes[CODES];
	struct block blocks[BLOCKS];
	struct iovec local[BLOCKS + CODES], remote[BLOCKS + CODES];
	uint32_t *fresh[CODES]; /* of the codes that are copied behind the blocks */
};

static struct snapshot *snapshots; /* SNAPSHOTS, made with the first of them */

void snapshots_after_fork(void)
{
	if (snapshots)
		madvise(snapshots, SNAPSHOTS * sizeof(*snapshots), MADV_DONTNEED);
}

static struct snapshot *all(void)
{
	struct snapshot *have = __atomic_load_n(&snapshots, __ATOMIC_ACQUIRE);

	if (have)
		return have;
	void *p = mmap(NULL, SNAPSHOTS * sizeof(*have), PROT_READ | PROT_WRITE,
	               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		return NULL;
	if (__atomic_compare_exchange_n(&snapshots, &have, p, false, __ATOMIC_ACQ_REL,
	                                __ATOMIC_ACQUIRE))
		return p;
	munmap(p, SNAPSHOTS * sizeof(*have));
	return have;
}

/* Whether this stack may need it anew. */
static bool is_due(const struct snapshot *s, const struct code_known *c)
{
	return c->code && c->used == s->stacks - 1 &&
	       (!c->function || (int32_t)(c->until - s->stacks) <= 0);
}

/* Behind `n` blocks: the code objects of the last stack that are due. */
static unsigned add_codes(struct snapshot *s, unsigned n)
{
	unsigned codes = 0;

	for (unsigned i = 0; i < CODES && s->code_bytes; i++) {
		struct code_known *c = &s->codes[i];
		if (!is_due(s, c))
			continue;
		s->local[n + codes] = (struct iovec){c->bytes, s->code_bytes};
		s->remote[n + codes] = (struct iovec){(void *)c->code, s->code_bytes};
		s->fresh[codes++] = &c->fresh;
	}
	return codes;
}

/* Copies all blocks in one call of the kernel. It ends at the first that is not there any more. */
static void refresh(struct snapshot *s)
{
	struct iovec *const local = s->local, *const remote = s->remote;
	struct block *of[BLOCKS];
	unsigned n = 0;

	for (unsigned i = 0; i < BLOCKS; i++) {
		struct block *b = &s->blocks[i];
		b->fresh = false;
		if (b->from == b->until)
			continue;
		local[n] = (struct iovec){b->bytes, b->until - b->from};
		remote[n] = (struct iovec){(void *)b->from, b->until - b->from};
		of[n++] = b;
	}
	unsigned codes = add_codes(s, n), all = n + codes;
	long got = all ? syscall(SYS_process_vm_readv, s->pid, local, (unsigned long)all, remote,
	                         (unsigned long)all, 0ul)
	               : 0;
	for (unsigned i = 0; i < n; i++) {
		long bytes = (long)local[i].iov_len;
		if (got < bytes) {
			of[i]->from = of[i]->until = 0;
			break;
		}
		of[i]->fresh = true;
		got -= bytes;
	}
	for (unsigned i = 0; i < codes && got >= (long)s->code_bytes; i++, got -= s->code_bytes)
		*s->fresh[i] = s->stacks;
}

static bool try_take(struct snapshot *s)
{
	return !__atomic_load_n(&s->busy, __ATOMIC_RELAXED) &&
	       !__atomic_exchange_n(&s->busy, 1, __ATOMIC_ACQUIRE);
}

/* The one it had, or else any. */
static struct snapshot *take(uintptr_t thread_state)
{
	uint32_t home = (uint32_t)(thread_state >> 6) * 2654435761u >> 16;
	struct snapshot *s = all();

	for (unsigned i = 0; s && i < SNAPSHOTS; i++) {
		struct snapshot *one = &s[(home + i) % SNAPSHOTS];
		/* A late look only costs time. */
		uintptr_t whose = __atomic_load_n(&one->thread_state, __ATOMIC_RELAXED);
		if ((whose == thread_state || !whose) && try_take(one))
			return one;
	}
	for (unsigned i = 0; s && i < SNAPSHOTS; i++)
		if (try_take(&s[(home + i) % SNAPSHOTS]))
			return &s[(home + i) % SNAPSHOTS];
	return NULL;
}

struct snapshot *snapshot_take(uint64_t pid, uintptr_t thread_state)
{
	struct snapshot *s = take(thread_state);

	if (!s)
		return NULL;
	if (s->thread_state != thread_state || s->pid != pid) {
		for (unsigned i = 0; i < BLOCKS; i++)
			s->blocks[i].from = s->blocks[i].until = 0;
		memset(s->codes, 0, sizeof(s->codes));
	}
	__atomic_store_n(&s->thread_state, thread_state, __ATOMIC_RELAXED);
	s->pid = pid;
	s->stacks++;
	refresh(s);
	return s;
}

void snapshot_give(struct snapshot *s)
{
	__atomic_store_n(&s->busy, 0, __ATOMIC_RELEASE);
}

/* Next time this is copied with the rest. */
static void remember(struct snapshot *s, uintptr_t at, size_t bytes)
{
	struct block *b = NULL;

	for (unsigned i = 0; i < BLOCKS; i++)
		if (s->blocks[i].from < s->blocks[i].until &&
		    s->blocks[i].from / BLOCK_BYTES == at / BLOCK_BYTES)
			b = &s->blocks[i];
	if (!b) {
		b = &s->blocks[s->next++ % BLOCKS];
		b->from = at;
		b->until = at + bytes;
		b->fresh = false;
		return;
	}
	b->from = at < b->from ? at : b->from;
	b->until = at + bytes > b->until ? at + bytes : b->until;
	b->fresh = false;
}

const uint8_t *snapshot_fetch(struct snapshot *s, uintptr_t at, size_t bytes)
{
	for (unsigned i = 0; i < BLOCKS; i++) {
		const struct block *b = &s->blocks[i];
		if (b->fresh && at >= b->from && at + bytes <= b->until)
			return b->bytes + (at - b->from);
	}
	if (!peek(s->pid, at, s->single, bytes))
		return NULL;
	remember(s, at, bytes);
	return s->single;
}

static struct code_known *place_of(const struct snapshot *s, uintptr_t code)
{
	return (struct code_known *)&s->codes[(code >> 4 ^ code >> 11) % CODES];
}

bool snapshot_code(const struct snapshot *s, uintptr_t code, uintptr_t function,
                   struct snapshot_code *to)
{
	struct code_known *c = place_of(s, code);

	if (c->code != code)
		return false;
	*to = c->found;
	c->used = s->stacks;
	return function && c->function == function && (int32_t)(c->until - s->stacks) > 0;
}

const uint8_t *snapshot_code_bytes(struct snapshot *s, uintptr_t code, size_t bytes)
{
	struct code_known *c = place_of(s, code);

	s->code_bytes = (uint32_t)bytes;
	if (c->code == code && c->fresh == s->stacks)
		return c->bytes;
	return peek(s->pid, code, s->single, bytes) ? s->single : NULL;
}

void snapshot_tell_code(struct snapshot *s, uintptr_t code, uintptr_t function,
                        const struct snapshot_code *found)
{
	struct code_known *c = place_of(s, code);
	bool same =
	        c->code == code && c->function == function && c->found.identity == found->identity;
	uint32_t trust = !same ? 0 : c->trust ? c->trust * 2 : 1;

	if (trust > CODE_STACKS) /* not all of them at once */
		trust = CODE_STACKS + (uint32_t)(code >> 4) % CODE_STACKS;
	c->code = code;
	c->function = function;
	c->found = *found;
	c->until = s->stacks + 1 + trust;
	c->trust = trust;
	c->used = s->stacks;
}
