/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the memory cgroups of the process leave free. Pages of a file in memory count as the
 * program's own there, whatever its file system would hold: beyond the limit the kernel kills.
 */
#include "shim/life/storage_internal.h"

#include <stdio.h>
#include "shim/base/numbers.h"
#include "shim/base/sys.h"

#define TEXT_BYTES 4096u

struct hierarchy {
	const char *mount, *limit, *usage, *inactive, *active; /* the last two: of memory.stat */
};

static const struct hierarchy hierarchies[] = {
        {"/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes",
         "total_inactive_file", "total_active_file"},
        {"/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file", "active_file"},
};

/* "4:memory:/a/b" of the first version, else the second one's "0::/a/b"; cuts it out of the text.
 */
static const struct hierarchy *find_place(char *text, const char **place)
{
	const struct hierarchy *found = NULL;
	char *rest = text;

	for (char *line; (line = strsep(&rest, "\n"));) {
		char *list = strchr(line, ':'), *path = list ? strchr(list + 1, ':') : NULL;
		if (!path)
			continue;
		*path++ = 0;
		bool first = !strcmp(list + 1, "memory");
		if (first || (!found && !list[1])) {
			found = &hierarchies[first ? 0 : 1];
			*place = path;
		}
		if (first)
			break;
	}
	return found;
}

static bool read_in(const char *folder, const char *name, char *text)
{
	char path[PATH_MAX + 64];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return sys_read_file(path, text, TEXT_BYTES) != 0;
}

static bool read_number(const char *folder, const char *name, char *text, uint64_t *n)
{
	const char *at = text;

	return read_in(folder, name, text) && number_next(&at, n);
}

/* What it takes for pages of files it can give back. UINT64_MAX: no limit, or none to be read. */
static uint64_t free_at(const struct hierarchy *h, const char *folder)
{
	char text[TEXT_BYTES];
	uint64_t limit, used, files = 0, part;

	if (!read_number(folder, h->limit, text, &limit) ||
	    !read_number(folder, h->usage, text, &used))
		return UINT64_MAX;
	if (read_in(folder, "memory.stat", text)) {
		files = number_of(text, h->inactive, &part) ? part : 0;
		files += number_of(text, h->active, &part) ? part : 0;
	}
	used -= files < used ? files : used;
	return used < limit ? limit - used : 0;
}

uint64_t storage_cgroup_free(void)
{
	char text[TEXT_BYTES], folder[PATH_MAX];
	const char *place = "";
	uint64_t least = UINT64_MAX;

	if (!sys_read_file("/proc/self/cgroup", text, sizeof(text)))
		return least;
	const struct hierarchy *h = find_place(text, &place);
	if (!h || strstr(place, "/.."))
		return least;
	const uint64_t root = strlen(h->mount);
	snprintf(folder, sizeof(folder), "%s%.3000s", h->mount, place);
	/* Up to the root. In a container the files may be those of a cgroup further down than the
	 * place says: folders that are not there tell nothing. */
	for (char *slash = folder; slash; slash = strrchr(folder + root, '/')) {
		if (slash != folder)
			*slash = 0;
		uint64_t here = free_at(h, folder);
		least = here < least ? here : least;
	}
	return least;
}
