/* SPDX-License-Identifier: Apache-2.0 */
/* The table of classes: a growing array with a hash index. */
#include <stdlib.h>
#include <string.h>
#include "tests/gpu/cupti_classes.h"

#define CLASSES_MOST (1u << 16)

_Static_assert(sizeof(struct class_key) == 48, "no padding: keys are compared as bytes");

static uint32_t hash_key(const struct class_key *key)
{
	const unsigned char *p = (const unsigned char *)key;
	uint64_t h = 14695981039346656037ull;

	for (size_t i = 0; i < sizeof(*key); i++)
		h = (h ^ p[i]) * 1099511628211ull;
	return (uint32_t)(h ^ h >> 32);
}

static void put_in_index(struct classes *c, uint32_t place)
{
	uint32_t mask = c->room * 2 - 1;
	uint32_t i = hash_key(&c->entry[place].key) & mask;

	while (c->index[i])
		i = (i + 1) & mask;
	c->index[i] = place + 1;
}

static int grow(struct classes *c)
{
	uint32_t room = c->room ? c->room * 2 : 256;
	struct tally_class *entry =
	        room > CLASSES_MOST ? NULL : realloc(c->entry, room * sizeof(*entry));
	uint32_t *index = entry ? calloc(room * 2, sizeof(*index)) : NULL;

	if (entry)
		c->entry = entry;
	if (!index)
		return 0;
	free(c->index);
	c->index = index;
	c->room = room;
	for (uint32_t i = 0; i < c->count; i++)
		put_in_index(c, i);
	return 1;
}

static struct tally_class *known(struct classes *c, const struct class_key *key)
{
	uint32_t mask = c->room * 2 - 1;

	for (uint32_t i = c->room ? hash_key(key) & mask : 0; c->room && c->index[i];
	     i = (i + 1) & mask) {
		if (!memcmp(&c->entry[c->index[i] - 1].key, key, sizeof(*key)))
			return &c->entry[c->index[i] - 1];
	}
	return NULL;
}

static struct tally_class *find(struct classes *c, const struct class_key *key)
{
	struct tally_class *there = known(c, key);

	if (there)
		return there;
	if (c->count == c->room && !grow(c))
		return NULL;
	c->entry[c->count] = (struct tally_class){.key = *key, .min_ns = UINT64_MAX};
	put_in_index(c, c->count);
	return &c->entry[c->count++];
}

static void make_key(struct class_key *key, const struct raw_record *r)
{
	memset(key, 0, sizeof(*key));
	key->kind = r->kind;
	key->name = r->name;
	if (r->kind == RAW_KERNEL) {
		key->shared_bytes = r->shared_bytes;
		memcpy(key->grid, r->grid, sizeof(key->grid));
		memcpy(key->block, r->block, sizeof(key->block));
	} else {
		key->bytes = r->bytes;
		key->copy_kind = r->copy_kind;
		key->src_kind = r->src_kind;
		key->dst_kind = r->dst_kind;
		key->async = !!(r->flags & RAW_ASYNC);
	}
}

struct tally_class *classes_of(struct classes *c, const struct raw_record *r)
{
	struct class_key key;

	make_key(&key, r);
	return known(c, &key);
}

void classes_add(struct classes *c, const struct raw_record *r, uint64_t ns)
{
	struct tally_class *t;
	struct class_key key;

	make_key(&key, r);
	t = find(c, &key);
	if (!t) {
		c->left_out++;
		return;
	}
	t->count += r->items;
	if (r->flags & RAW_INVALID_TIME) {
		t->untimed += r->items;
		return;
	}
	t->gpu_ns += ns;
	t->min_ns = ns < t->min_ns ? ns : t->min_ns;
	t->max_ns = ns > t->max_ns ? ns : t->max_ns;
}
