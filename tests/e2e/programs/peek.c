/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peek FILE: what a report does not tell of a recording, as JSON: the records in its stores and in
 * its rings, what was reserved and used. Reads the file as the format says, and the stored records
 * one by one: how many there are of each kind.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "shim/core/format/trace_map.h"

static struct tf_map map;

static void die(const char *why)
{
	fprintf(stderr, "peek: %s\n", why);
	exit(2);
}

static void open_recording(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) || (size_t)st.st_size < sizeof(struct tf_header))
		die("no recording");
	map.base = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	map.size = (uint64_t)st.st_size;
	close(fd);
	if (map.base == MAP_FAILED || memcmp(tf_header(&map)->magic, TF_MAGIC, 8))
		die("not a recording");
}

/* Records that are really there: on a page, with times in order. */
static uint64_t whole_records(const struct tf_store *s)
{
	uint64_t held = s->page_records * s->pages_max, whole = 0;

	for (uint64_t i = 0; i < (s->written < held ? s->written : held); i++) {
		uint64_t page = s->pages[i / s->page_records];
		const struct tf_record *r =
		        tf_at(&map, page ? page + i % s->page_records * 64 : 0, 64);

		whole += r && r->start && r->end >= r->start;
	}
	return whole;
}

static void print_store(const char *name, uint64_t offset)
{
	const struct tf_store *s = tf_at(&map, offset, sizeof(*s));

	if (s)
		printf("\"%s\": {\"written\": %" PRIu64 ", \"whole\": %" PRIu64
		       ", \"room\": %" PRIu64 "},\n",
		       name, s->written, whole_records(s), s->page_records * s->pages_max);
	else
		printf("\"%s\": null,\n", name);
}

static void print_rings(const struct tf_header *h)
{
	uint64_t held = 0, capacity = 0;

	for (uint32_t i = 0; i < tf_count(&h->threads); i++) {
		const uint64_t *at = tf_entry(&map, &h->threads, i, sizeof(*at));
		const struct tf_thread *t = at ? tf_at(&map, *at, h->thread_bytes) : NULL;
		uint64_t offset = t ? t->ring_first : 0;
		const struct tf_ring *r;

		for (; (r = tf_at(&map, offset, sizeof(*r))); offset = r->next) {
			held += r->head - r->tail;
			if (r->capacity > capacity)
				capacity = r->capacity;
		}
	}
	printf("\"in_rings\": %" PRIu64 ", \"largest_ring\": %" PRIu64 ",\n", held, capacity);
}

int main(int argc, char **argv)
{
	if (argc != 2)
		die("one file");
	open_recording(argv[1]);
	const struct tf_header *h = tf_header(&map);
	printf("{\n");
	print_store("keep", h->keep);
	print_store("trace", h->store);
	print_rings(h);
	printf("\"threads\": %u, \"used_bytes\": %" PRIu64 ", \"reserved_bytes\": %" PRIu64 "\n}\n",
	       tf_count(&h->threads), h->alloc_end, h->file_end);
	return 0;
}
