/* SPDX-License-Identifier: Apache-2.0 */
#include "report/symbols/perf_map.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/base/alloc.h"

#define BYTES_MOST (64u << 20)
#define NAME_MOST  512u

struct entry {
	uint64_t from, until;
	const char *name;
	size_t order; /* in the file: of code that was replaced, the last one counts */
};

struct perf_map {
	char *text;
	struct entry *entries; /* in order of `from`, then of the file */
	size_t count;
};

/* The file's text (free it), which is NUL-terminated; NULL: it is not to be had. */
static char *read_text(const char *path, double since)
{
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;
	char *text = NULL;
	size_t used = 0;

	if (fd < 0)
		return NULL;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && (!st.st_uid || st.st_uid == geteuid()) &&
	    st.st_size > 0 && st.st_size <= (off_t)BYTES_MOST &&
	    (double)st.st_mtim.tv_sec * 1e9 + (double)st.st_mtim.tv_nsec >= since) {
		text = alloc_zeroed((size_t)st.st_size + 1, 1);
		while (used < (size_t)st.st_size) {
			ssize_t n = read(fd, text + used, (size_t)st.st_size - used);
			if (n <= 0)
				break;
			used += (size_t)n;
		}
	}
	close(fd);
	return text;
}

/* A number in hexadecimal and the blank behind it; NULL: it is none. */
static char *number(char *at, uint64_t *to)
{
	char *end;

	if (!strchr("0123456789abcdefABCDEF", *at) || !*at)
		return NULL;
	*to = strtoull(at, &end, 16);
	return *end == ' ' ? end + 1 : NULL;
}

/* "start size name" */
static void add_line(struct perf_map *map, char *line)
{
	uint64_t from, bytes;
	char *p = number(line, &from);

	p = p ? number(p, &bytes) : NULL;
	if (!p || !*p || !bytes || from > UINT64_MAX - bytes)
		return;
	if (strlen(p) > NAME_MOST)
		p[NAME_MOST] = 0;
	ALLOC_ROOM(map->entries, map->count);
	map->entries[map->count] = (struct entry){from, from + bytes, p, map->count};
	map->count++;
}

static int by_place(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

struct perf_map *perf_map_read(const char *path, double since)
{
	char *text = read_text(path, since);

	if (!text)
		return NULL;
	struct perf_map *map = alloc_zeroed(1, sizeof(*map));
	map->text = text;
	for (char *line = text, *next; line; line = next) {
		next = strchr(line, '\n');
		if (!next)
			break; /* it is being written, or has a NUL */
		*next++ = 0;
		add_line(map, line);
	}
	if (map->count)
		qsort(map->entries, map->count, sizeof(*map->entries), by_place);
	return map;
}

void perf_map_free(struct perf_map *map)
{
	if (!map)
		return;
	free(map->entries);
	free(map->text);
	free(map);
}

const char *perf_map_find(const struct perf_map *map, uint64_t address)
{
	size_t low = 0, high = map ? map->count : 0;

	while (low < high) { /* the first that begins behind the address */
		size_t middle = low + (high - low) / 2;
		if (map->entries[middle].from <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low && address < map->entries[low - 1].until ? map->entries[low - 1].name : NULL;
}
