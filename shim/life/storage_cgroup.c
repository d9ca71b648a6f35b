/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the memory cgroups of the process leave free. Pages of a file in memory count as the
 * program's own there, whatever its file system would hold: beyond the limit the kernel kills.
 */
#include "shim/life/storage_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include "shim/base/sys.h"

#define TEXT_BYTES 4096u

struct hierarchy {
	const char *mount, *limit, *usage, *inactive, *active; /* the last two: of memory.stat */
};

static const struct hierarchy hierarchies[] = {
        {"/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes",
         "total_inactive_file ", "total_active_file "},
        {"/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file ", "active_file "},
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

static uint64_t number_after(const char *text, const char *name)
{
	const uint64_t length = strlen(name);

	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (!strncmp(line, name, length))
			return strtoull(line + length, NULL, 10);
	}
	return 0;
}

static uint32_t read_in(const char *folder, const char *name, char *text)
{
	char path[PATH_MAX + 64];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return sys_read_file(path, text, TEXT_BYTES);
}

/* What it takes for pages of files it can give back. UINT64_MAX: no limit, or none to be read. */
static uint64_t free_at(const struct hierarchy *h, const char *folder)
{
	char text[TEXT_BYTES];

	if (!read_in(folder, h->limit, text) || text[0] < '0' || text[0] > '9')
		return UINT64_MAX;
	uint64_t limit = strtoull(text, NULL, 10);
	if (!read_in(folder, h->usage, text))
		return UINT64_MAX;
	uint64_t used = strtoull(text, NULL, 10), files = 0;
	if (read_in(folder, "memory.stat", text))
		files = number_after(text, h->inactive) + number_after(text, h->active);
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
