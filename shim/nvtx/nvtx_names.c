/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/nvtx/nvtx.h"

#include <string.h>
#include <sys/mman.h>
#include "shim/base/gate.h"
#include "shim/base/recording_tables.h"
#include "shim/record/span.h"

#define STRINGS_BYTES (8u << 20) /* room for registered strings; only what is used takes memory */
#define SLOTS         (4u * TF_RANGES_MAX) /* of the look-up table: never more than a quarter full */
#define VARIANTS      8u /* names of one pattern that have an entry each: see pattern_of() */

/* ---- texts ---- */

static uint64_t hash_text(const char *text, uint32_t bytes)
{
	uint64_t h = 0x9e3779b97f4a7c15u ^ bytes, word;

	for (; bytes >= 8; text += 8, bytes -= 8) {
		memcpy(&word, text, 8);
		h = (h ^ word) * 0xff51afd7ed558ccdu;
		h ^= h >> 32;
	}
	word = 0;
	memcpy(&word, text, bytes);
	h = (h ^ word) * 0xc4ceb9fe1a85ec53u;
	return h ^ h >> 29;
}

struct nvtx_text nvtx_ascii(const char *text)
{
	text = text ? text : "";
	uint32_t bytes = (uint32_t)strnlen(text, NVTX_TEXT_MOST);

	return (struct nvtx_text){text, bytes, hash_text(text, bytes)};
}

/* Bytes of a character in UTF-8, written to `to`; 0 where it is none. */
static uint32_t utf8(char to[4], uint32_t c)
{
	if (c < 0x80) {
		to[0] = (char)c;
		return 1;
	}
	if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		return 0;
	uint32_t more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
	static const uint8_t lead[] = {0, 0xc0, 0xe0, 0xf0};
	to[0] = (char)(lead[more] | c >> (6 * more));
	for (uint32_t i = 1; i <= more; i++)
		to[i] = (char)(0x80 | (c >> (6 * (more - i)) & 0x3f));
	return more + 1;
}

struct nvtx_text nvtx_unicode(const wchar_t *text, char room[NVTX_TEXT_MOST + 1])
{
	uint32_t bytes = 0;

	for (; text && *text && bytes + 4 <= NVTX_TEXT_MOST; text++)
		bytes += utf8(room + bytes, (uint32_t)*text);
	return (struct nvtx_text){room, bytes, hash_text(room, bytes)};
}

static bool same_text(const struct nvtx_text *a, const char *text, uint32_t bytes)
{
	return a->bytes == bytes && !memcmp(a->text, text, bytes);
}

/* ---- registered strings and domains: those of the process, whatever is recorded ---- */

struct string {
	uint64_t hash;
	uint64_t bytes;
	char text[];
};

static uint8_t *strings; /* a chain of struct string, each at a multiple of 8 */
static uint32_t strings_end;

/* The string at a handle, or NULL: a handle of ours lies in the area, at a multiple of 8, and the
 * length found there does so too. */
static const struct string *string_at(const void *handle)
{
	/* Acquire: pairs with nvtx_register(). */
	uint32_t end = __atomic_load_n(&strings_end, __ATOMIC_ACQUIRE);
	uintptr_t offset = (uintptr_t)handle - (uintptr_t)strings;
	const struct string *s = handle;

	if (offset >= end || offset % 8 || end - offset < sizeof(*s) || s->bytes > NVTX_TEXT_MOST ||
	    s->bytes > end - offset - sizeof(*s))
		return NULL;
	return s;
}

struct nvtx_text nvtx_registered(const void *handle)
{
	const struct string *s = string_at(handle);

	if (!s)
		return nvtx_ascii(NULL);
	return (struct nvtx_text){s->text, (uint32_t)s->bytes, s->hash};
}

const void *nvtx_register(const struct nvtx_text *text)
{
	static const void *last;
	uint32_t bytes = (uint32_t)(sizeof(struct string) + text->bytes + 7) / 8 * 8;
	const void *handle;

	spy_lock();
	if (!strings) {
		void *p = mmap(NULL, STRINGS_BYTES, PROT_READ | PROT_WRITE,
		               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		strings = p == MAP_FAILED ? NULL : p;
	}
	handle = last ? last : &last;
	if (strings && STRINGS_BYTES - strings_end >= bytes) {
		struct string *s = (struct string *)(strings + strings_end);
		s->hash = text->hash;
		s->bytes = text->bytes;
		memcpy(s->text, text->text, text->bytes);
		last = handle = s;
		/* Release: whoever finds the handle inside finds the string. */
		__atomic_store_n(&strings_end, strings_end + bytes, __ATOMIC_RELEASE);
	}
	spy_unlock();
	return handle;
}

static struct domain {
	struct nvtx_text name; /* its text is `room` */
	uint64_t offset;       /* of the name in the recording `generation` */
	uint32_t generation;
	char room[NVTX_TEXT_MOST + 1];
} domains[NVTX_DOMAINS];
static uint32_t domain_count = 1; /* the first is the default one */

uint32_t nvtx_domain(const void *handle)
{
	uintptr_t offset = (uintptr_t)handle - (uintptr_t)domains;

	return handle && offset < sizeof(domains) ? (uint32_t)(offset / sizeof(domains[0])) : 0;
}

const void *nvtx_domain_handle(const struct nvtx_text *name)
{
	spy_lock();
	uint32_t i = 1;
	while (i < domain_count && !same_text(name, domains[i].room, domains[i].name.bytes))
		i++;
	/* The last one stands for all that found no place. */
	if (i == domain_count && i < NVTX_DOMAINS) {
		struct domain *d = &domains[i];
		memcpy(d->room, name->text, name->bytes);
		d->name = (struct nvtx_text){d->room, name->bytes, name->hash};
		domain_count++;
	}
	spy_unlock();
	return &domains[i < NVTX_DOMAINS ? i : NVTX_DOMAINS - 1];
}

/* Under the shim's lock. */
static uint64_t domain_name(uint32_t domain)
{
	struct domain *d = &domains[domain];

	if (!domain)
		return 0;
	if (d->generation != spy_generation) {
		d->offset = recording_text(d->room, d->name.bytes);
		d->generation = spy_generation;
	}
	return d->offset;
}

/* ---- the tree of ranges: that of the present recording ---- */

struct node {
	const char *text; /* in the recording, which stays mapped */
	uint32_t parent;  /* index + 1 */
	uint16_t domain;
	uint8_t bytes;
	uint8_t variants; /* of a pattern: names that have an entry of their own */
};

struct tree {
	uint32_t generation;
	uint32_t full;                    /* a name found no place: no other is made room for */
	struct node nodes[TF_RANGES_MAX]; /* beside the entries of table `ranges` */
	uint64_t slots[SLOTS];            /* high half of the key's hash << 32 | index + 1 */
};

static struct tree *tree;

#define PATTERN 0x8000u /* beside a domain: the name is a pattern */

static uint64_t key_of(uint32_t parent, uint32_t domain, uint64_t hash)
{
	hash ^= ((uint64_t)domain << 32 | parent) * 0x9e3779b97f4a7c15u;
	hash *= 0xff51afd7ed558ccdu;
	return hash ^ hash >> 32;
}

/* Its index + 1, or 0. */
static uint32_t find(const struct tree *t, uint64_t key, uint32_t parent, uint32_t domain,
                     const struct nvtx_text *text)
{
	for (uint64_t i = key, n = 0; n < SLOTS; i++, n++) {
		/* Acquire: the node was filled before the slot. Pairs with add(). */
		uint64_t slot = __atomic_load_n(&t->slots[i % SLOTS], __ATOMIC_ACQUIRE);
		if (!slot)
			return 0;
		if (slot >> 32 != key >> 32)
			continue;
		const struct node *node = &t->nodes[(uint32_t)slot - 1];
		if (node->parent == parent && node->domain == domain &&
		    same_text(text, node->text, node->bytes))
			return (uint32_t)slot;
	}
	return 0;
}

static void make_other(struct tree *t, struct tf_header *h)
{
	struct tf_nvtx_range *r = tf_append(&spy_map, &h->ranges);

	if (!r)
		return;
	r->name = recording_text("(other)", 7);
	tf_publish(&h->ranges);
	t->nodes[0].domain = UINT16_MAX; /* found by no name */
}

/* The present recording's tree, made if need be; NULL where there is no memory. Under the lock. */
static struct tree *present(void)
{
	if (tree && tree->generation == spy_generation)
		return tree;
	/* A forked child leaves its parent's behind, once. */
	void *p = mmap(NULL, sizeof(*tree), PROT_READ | PROT_WRITE,
	               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		return NULL;
	struct tree *t = p;
	t->generation = spy_generation;
	make_other(t, tf_header(&spy_map));
	/* Release: pairs with nvtx_node(). */
	__atomic_store_n(&tree, t, __ATOMIC_RELEASE);
	return t;
}

/* A new entry; its index + 1, or 0 when there is no room. Under the lock. */
static uint32_t add(struct tree *t, uint64_t key, uint32_t parent, uint32_t domain,
                    const struct nvtx_text *text, uint32_t pattern)
{
	struct tf_header *h = tf_header(&spy_map);
	struct tf_nvtx_range *r = tf_append(&spy_map, &h->ranges);
	const struct tf_nvtx_range *above =
	        parent ? tf_entry(&spy_map, &h->ranges, parent - 1, sizeof(*above)) : NULL;
	uint32_t index = h->ranges.count;

	if (!r || index >= TF_RANGES_MAX ||
	    (text->bytes && !(r->name = recording_text(text->text, text->bytes))))
		return 0;
	r->domain = domain_name(domain & ~PATTERN);
	r->parent = parent;
	r->pattern = pattern;
	r->level = above && above->level < UINT16_MAX ? above->level + 1 : 0;
	r->flags = domain & PATTERN ? TF_RANGE_PATTERN : 0;
	tf_publish(&h->ranges);
	const char *stored = text->bytes ? tf_text(&spy_map, r->name, NULL) : "";
	t->nodes[index] = (struct node){.text = stored ? stored : "",
	                                .parent = parent,
	                                .domain = (uint16_t)domain,
	                                .bytes = (uint8_t)text->bytes};
	uint64_t i = key;
	while (t->slots[i % SLOTS])
		i++;
	/* Release: pairs with find(). */
	__atomic_store_n(&t->slots[i % SLOTS], key >> 32 << 32 | (index + 1), __ATOMIC_RELEASE);
	return index + 1;
}

/*
 * Programs number their ranges: "iteration 4711". The first VARIANTS such names have entries of
 * their own, for a few layers may well be told apart; what follows shares one, in whose name each
 * number is '#'. False: there is no number in it.
 */
static bool pattern_of(const struct nvtx_text *text, char room[NVTX_TEXT_MOST + 1],
                       struct nvtx_text *pattern)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < text->bytes; i++) {
		bool digit = text->text[i] >= '0' && text->text[i] <= '9';
		if (!digit)
			room[n++] = text->text[i];
		else if (!i || text->text[i - 1] < '0' || text->text[i - 1] > '9')
			room[n++] = '#';
	}
	*pattern = (struct nvtx_text){room, n, hash_text(room, n)};
	for (uint32_t i = 0; i < text->bytes; i++)
		if (text->text[i] >= '0' && text->text[i] <= '9')
			return true;
	return false;
}

/* The name's entry, made if it may have one, or its pattern's. Under the lock. */
static uint32_t make(struct tree *t, uint32_t parent, uint32_t domain, const struct nvtx_text *text,
                     const struct nvtx_text *pattern)
{
	uint64_t key = key_of(parent, domain, text->hash);
	uint32_t found = find(t, key, parent, domain, text);

	if (found || !pattern)
		return found ? found : add(t, key, parent, domain, text, 0);
	domain |= PATTERN;
	uint64_t pattern_key = key_of(parent, domain, pattern->hash);
	uint32_t shared = find(t, pattern_key, parent, domain, pattern);
	if (!shared)
		shared = add(t, pattern_key, parent, domain, pattern, 0);
	if (!shared || t->nodes[shared - 1].variants >= VARIANTS)
		return shared;
	/* Relaxed: a reader that misses it comes here. */
	__atomic_store_n(&t->nodes[shared - 1].variants, t->nodes[shared - 1].variants + 1,
	                 __ATOMIC_RELAXED);
	return add(t, key, parent, domain & ~PATTERN, text, shared);
}

/* A name not seen here before: one of a pattern that is known well, or a new one. */
static uint32_t __attribute__((cold, noinline))
node_slow(struct tree *t, uint32_t parent, uint32_t domain, const struct nvtx_text *text)
{
	char room[NVTX_TEXT_MOST + 1];
	struct nvtx_text pattern;
	bool numbered = pattern_of(text, room, &pattern);

	if (t && __atomic_load_n(&t->full, __ATOMIC_RELAXED))
		return TF_RANGE_OTHER;
	if (t && numbered) {
		uint64_t key = key_of(parent, domain | PATTERN, pattern.hash);
		uint32_t shared = find(t, key, parent, domain | PATTERN, &pattern);
		if (shared &&
		    __atomic_load_n(&t->nodes[shared - 1].variants, __ATOMIC_RELAXED) >= VARIANTS)
			return shared - 1;
	}
	spy_lock();
	t = present();
	uint32_t made = t ? make(t, parent, domain, text, numbered ? &pattern : NULL) : 0;
	if (t && !made)
		__atomic_store_n(&t->full, 1, __ATOMIC_RELAXED);
	spy_unlock();
	return made ? made - 1 : TF_RANGE_OTHER;
}

uint32_t nvtx_node(uint32_t parent, uint32_t domain, const struct nvtx_text *text)
{
	/* Acquire: pairs with present(). */
	struct tree *t = __atomic_load_n(&tree, __ATOMIC_ACQUIRE);

	if (unlikely(!t || t->generation != spy_generation))
		return node_slow(NULL, parent, domain, text);
	uint32_t found = find(t, key_of(parent, domain, text->hash), parent, domain, text);
	return likely(found) ? found - 1 : node_slow(t, parent, domain, text);
}
