/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/handles/registry.h"

#include <string.h>
#include <sys/mman.h>
#include "shim/base/gate.h"
#include "shim/base/recording_tables.h"
#include "shim/record/span.h"

#define FIRST_SLOTS 4096u
#define MOST_SLOTS  (1u << 24)
#define DEAD        1u /* a key that was dropped; no handle shifted left by three makes it */

struct registry_table *registry_handles;
static struct registry_table *names; /* key: hash of the name * 8 + 7, value: kernel index */

static uint64_t key_of(enum registry_kind kind, uint64_t handle)
{
	return handle * 8 + kind;
}

static struct registry_table *make_table(uint64_t slots)
{
	void *p = mmap(NULL, sizeof(struct registry_table) + slots * sizeof(struct registry_slot),
	               PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return NULL;
	((struct registry_table *)p)->mask = slots - 1;
	return p;
}

/* The live slot of a key, or NULL. */
static struct registry_slot *find(struct registry_table *t, uint64_t key)
{
	for (uint64_t i = registry_scatter(key), n = 0; t && n <= t->mask; i++, n++) {
		struct registry_slot *s = &t->slots[i & t->mask];
		/* Acquire: the value was stored before the key. Pairs with place(). */
		uint64_t k = __atomic_load_n(&s->key, __ATOMIC_ACQUIRE);
		if (k == key)
			return s;
		if (!k)
			return NULL;
	}
	return NULL;
}

static void place(struct registry_table *t, const struct registry_slot *what)
{
	uint64_t i = registry_scatter(what->key);

	while (t->slots[i & t->mask].key)
		i++;
	struct registry_slot *s = &t->slots[i & t->mask];
	s->owner = what->owner;
	s->context = what->context;
	s->value = what->value;
	t->used++;
	/* Release: pairs with find(). */
	__atomic_store_n(&s->key, what->key, __ATOMIC_RELEASE);
}

/* Room for one more. The old table is left to readers that still walk it: sizes double, so that
 * costs as much again. */
static bool make_room(struct registry_table **table)
{
	struct registry_table *t = *table, *bigger;
	uint64_t live = 0, slots = FIRST_SLOTS;

	if (t && (t->used + 1) * 2 <= t->mask + 1)
		return true;
	for (uint64_t i = 0; t && i <= t->mask; i++)
		live += t->slots[i].key > DEAD;
	while (slots < live * 4)
		slots *= 2;
	bigger = slots <= MOST_SLOTS ? make_table(slots) : NULL;
	if (!bigger)
		return false;
	for (uint64_t i = 0; t && i <= t->mask; i++)
		if (t->slots[i].key > DEAD)
			place(bigger, &t->slots[i]);
	/* Release: a reader of the new table finds all that was in the old one. Pairs with
	 * registry_find(). */
	__atomic_store_n(table, bigger, __ATOMIC_RELEASE);
	return true;
}

const struct registry_slot *registry_find_slow(uint64_t key)
{
	return find(__atomic_load_n(&registry_handles, __ATOMIC_ACQUIRE), key);
}

/* A handle comes to mean something else, or nothing. Release: who sees the new number forgets what
 * it knew. */
static void changed(void)
{
	uint32_t *version = &spy_gate_page.gate.registry_version;

	__atomic_store_n(version, *version + 1, __ATOMIC_RELEASE);
}

static bool dies_with(const struct registry_slot *s, uint64_t owner, uint64_t context)
{
	return __atomic_load_n(&s->owner, __ATOMIC_RELAXED) == owner &&
	       __atomic_load_n(&s->context, __ATOMIC_RELAXED) == context;
}

bool registry_knows(enum registry_kind kind, uint64_t handle, uint64_t owner, uint64_t context)
{
	const struct registry_slot *s = registry_find(kind, handle);

	return s && dies_with(s, owner, context);
}

void registry_put(enum registry_kind kind, uint64_t handle, uint32_t value, uint64_t owner,
                  uint64_t context)
{
	struct registry_slot what = {
	        .key = key_of(kind, handle), .value = value, .owner = owner, .context = context};
	const struct registry_slot *known = registry_find(kind, handle);

	if (known && __atomic_load_n(&known->value, __ATOMIC_RELAXED) == value &&
	    dies_with(known, owner, context))
		return;
	spy_lock();
	struct registry_slot *s = find(registry_handles, what.key);
	if (s) {
		__atomic_store_n(&s->owner, owner, __ATOMIC_RELAXED);
		__atomic_store_n(&s->context, context, __ATOMIC_RELAXED);
		if (s->value != value && kind == HANDLE_FUNCTION)
			changed(); /* no thread keeps the others */
		__atomic_store_n(&s->value, value, __ATOMIC_RELAXED);
	} else if (make_room(&registry_handles)) {
		place(registry_handles, &what);
	} else {
		spy_count_anomaly(SPY_ANOMALY_REGISTRY_FULL);
	}
	spy_unlock();
}

/* Whether the search for some key goes over slot `i`. */
static bool leads_on(const struct registry_table *t, uint64_t i)
{
	uint64_t key;

	for (uint64_t n = i + 1; (key = t->slots[n & t->mask].key); n++)
		if (key > DEAD && ((n - registry_scatter(key)) & t->mask) >= n - i)
			return true;
	return false;
}

/*
 * Where no search goes over it, a slot becomes free again, and the dead ones before it: a program
 * that makes and destroys handles for ever stays in one table.
 */
static void kill_slot(struct registry_slot *s)
{
	struct registry_table *t = registry_handles;
	uint64_t i = (uint64_t)(s - t->slots);

	changed();
	__atomic_store_n(&s->key, DEAD, __ATOMIC_RELEASE);
	if (leads_on(t, i))
		return;
	for (; t->slots[i & t->mask].key == DEAD; i--, t->used--)
		__atomic_store_n(&t->slots[i & t->mask].key, 0, __ATOMIC_RELEASE);
}

void registry_drop(enum registry_kind kind, uint64_t handle)
{
	spy_lock();
	struct registry_slot *s = find(registry_handles, key_of(kind, handle));
	if (s)
		kill_slot(s);
	spy_unlock();
}

static void drop_owned_locked(uint64_t owner)
{
	for (uint64_t i = 0; registry_handles && i <= registry_handles->mask; i++) {
		struct registry_slot *s = &registry_handles->slots[i];
		if (s->key <= DEAD || s->owner != owner)
			continue;
		uint64_t key = s->key;
		kill_slot(s);
		if (key % 8 == HANDLE_MODULE && key / 8 != owner)
			drop_owned_locked(key / 8);
	}
}

void registry_drop_owned(uint64_t owner)
{
	if (!owner)
		return;
	spy_lock();
	drop_owned_locked(owner);
	spy_unlock();
}

void registry_drop_context(uint64_t context)
{
	if (!context)
		return;
	spy_lock();
	for (uint64_t i = 0; registry_handles && i <= registry_handles->mask; i++)
		if (registry_handles->slots[i].key > DEAD &&
		    registry_handles->slots[i].context == context)
			kill_slot(&registry_handles->slots[i]);
	spy_unlock();
}

/* ---- kernels by name ---- */

static uint64_t hash_name(const char *name, uint64_t bytes)
{
	uint64_t h = 0xcbf29ce484222325u; /* FNV-1a */

	for (uint64_t i = 0; i < bytes; i++)
		h = (h ^ (unsigned char)name[i]) * 0x100000001b3u;
	return h;
}

static bool same_name(uint32_t index, const char *name, uint64_t bytes)
{
	struct tf_kernel *k = tf_entry(&spy_map, &tf_header(&spy_map)->kernels, index, sizeof(*k));
	uint32_t n = 0;
	const char *text = k ? tf_text(&spy_map, k->name, &n) : NULL;

	return text && n == bytes && !memcmp(text, name, bytes);
}

static uint32_t add_kernel(const char *name, uint64_t bytes, uint64_t key)
{
	struct tf_header *h = tf_header(&spy_map);
	struct tf_kernel *k = make_room(&names) ? tf_append(&spy_map, &h->kernels) : NULL;

	if (!k || !(k->name = recording_text(name, bytes))) {
		spy_count_anomaly(SPY_ANOMALY_KERNELS_FULL);
		return TF_KERNEL_OTHER;
	}
	struct registry_slot what = {.key = key, .value = h->kernels.count};
	place(names, &what);
	tf_publish(&h->kernels);
	return what.value;
}

uint32_t registry_kernel(const char *name)
{
	uint64_t bytes = strnlen(name, TF_STRING_MAX), key = hash_name(name, bytes) * 8 + 7;
	static uint32_t generation;
	uint32_t index;

	if (!spy_map.base || !bytes)
		return TF_KERNEL_UNKNOWN;
	spy_lock();
	if (generation != spy_generation) { /* a forked child's file has no kernels yet */
		generation = spy_generation;
		names = NULL;
	}
	/* Two names of one hash: the second takes the next key, and so on. */
	for (;; key += 8) {
		struct registry_slot *s = find(names, key);
		index = s ? s->value : add_kernel(name, bytes, key);
		if (!s || same_name(index, name, bytes))
			break;
	}
	spy_unlock();
	return index;
}

/* ---- code that goes ---- */

static uint32_t code_unloads;

void registry_code_unloaded(void)
{
	__atomic_fetch_add(&code_unloads, 1, __ATOMIC_RELAXED);
}

uint32_t registry_code_unloads(void)
{
	return __atomic_load_n(&code_unloads, __ATOMIC_RELAXED);
}
