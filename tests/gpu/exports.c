/* SPDX-License-Identifier: Apache-2.0 */
/* Walks the dynamic section of a loaded library. */
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include "tests/gpu/exports.h"

struct tables {
	const ElfW(Sym) * symbols;
	const char *strings;
	size_t count;
};

/* A GNU hash table does not say how many symbols there are: the last chain that any bucket starts
 * ends it. */
static size_t count_gnu(const uint32_t *hash)
{
	uint32_t buckets = hash[0], first = hash[1], bloom = hash[2];
	const uint32_t *bucket = (const uint32_t *)((const ElfW(Addr) *)(hash + 4) + bloom);
	const uint32_t *chain = bucket + buckets;
	uint32_t last = 0;

	for (uint32_t i = 0; i < buckets; i++)
		last = bucket[i] > last ? bucket[i] : last;
	if (last < first)
		return first;
	while (!(chain[last - first] & 1))
		last++;
	return last + 1;
}

static struct tables find_tables(const struct link_map *map)
{
	struct tables t = {0};

	for (const ElfW(Dyn) *d = map->l_ld; d->d_tag != DT_NULL; d++) {
		/* glibc has added the load address to these on all but a few machines */
		ElfW(Addr) at = d->d_un.d_ptr;
		const void *p = (const void *)(at < map->l_addr ? at + map->l_addr : at);

		if (d->d_tag == DT_SYMTAB)
			t.symbols = p;
		else if (d->d_tag == DT_STRTAB)
			t.strings = p;
		else if (d->d_tag == DT_HASH)
			t.count = ((const uint32_t *)p)[1];
		else if (d->d_tag == DT_GNU_HASH && !t.count)
			t.count = count_gnu(p);
	}
	return t;
}

static int by_address(const void *a, const void *b)
{
	const struct export *x = a, *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return strcmp(x->name, y->name);
}

long exports_of(void *handle, const char *prefix, struct export **exports)
{
	struct link_map *map;
	struct tables t;
	struct export *list;
	long n = 0;

	if (dlinfo(handle, RTLD_DI_LINKMAP, &map))
		return -1;
	t = find_tables(map);
	if (!t.symbols || !t.strings || !t.count)
		return -1;
	list = malloc(t.count * sizeof(*list));
	if (!list)
		return -1;
	for (size_t i = 0; i < t.count; i++) {
		const ElfW(Sym) *s = &t.symbols[i];
		const char *name = t.strings + s->st_name;

		if (s->st_shndx == SHN_UNDEF || ELF64_ST_TYPE(s->st_info) != STT_FUNC ||
		    strncmp(name, prefix, strlen(prefix)))
			continue;
		list[n++] = (struct export){map->l_addr + s->st_value, name};
	}
	qsort(list, (size_t)n, sizeof(*list), by_address);
	*exports = list;
	return n;
}

const struct export *exports_find(const struct export *exports, long count, uintptr_t address)
{
	long low = 0, high = count;

	while (low < high) {
		long middle = low + (high - low) / 2;

		if (exports[middle].address < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low < count && exports[low].address == address ? &exports[low] : NULL;
}
