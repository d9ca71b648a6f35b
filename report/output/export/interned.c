/* SPDX-License-Identifier: Apache-2.0 */
#include "report/output/export/interned.h"

#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#define HASH_NONFATAL_OOM          1
#define uthash_nonfatal_oom(entry) alloc_failed()
#include <uthash.h>

struct interned_key {
	UT_hash_handle hh;
	uint64_t number;
	char key[];
};

uint64_t interned_number(struct interned *i, const void *key, size_t bytes, bool *new)
{
	struct interned_key *k;

	HASH_FIND(hh, i->keys, key, bytes, k);
	*new = !k;
	if (k)
		return k->number;
	k = alloc_zeroed(1, sizeof(*k) + bytes);
	k->number = ++i->count;
	memcpy(k->key, key, bytes);
	HASH_ADD_KEYPTR(hh, i->keys, k->key, bytes, k);
	return k->number;
}

void interned_free(struct interned *i)
{
	struct interned_key *k, *next;

	HASH_ITER(hh, i->keys, k, next)
	{
		HASH_DEL(i->keys, k);
		free(k);
	}
	i->count = 0;
}
