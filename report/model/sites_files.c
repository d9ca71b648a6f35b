/* SPDX-License-Identifier: Apache-2.0 */
/* Where source files that a recording names lie on this machine. */
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/base/file.h"
#include "report/model/sites_internal.h"

#define PARTS_MOST 64 /* of a path */

/* The recording names the file: it may not lead out of the folder. */
static bool leads_up(const char *path)
{
	for (const char *p = path; (p = strstr(p, "..")); p += 2)
		if ((p == path || p[-1] == '/') && (!p[2] || p[2] == '/'))
			return true;
	return false;
}

char *sites_local_file(const char *root, const char *path)
{
	const char *rest = path;

	if (!path || *path == '<' || leads_up(path))
		return NULL;
	for (int i = 0; rest && i < PARTS_MOST; i++) {
		rest += strspn(rest, "/");
		if (!*rest)
			return NULL;
		char *try = alloc_format("%s/%s", root, rest);
		if (file_is_there(try))
			return try;
		free(try);
		rest = strchr(rest, '/');
	}
	return NULL;
}
