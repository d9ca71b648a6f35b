/* SPDX-License-Identifier: Apache-2.0 */
/* Source files as they were when their code ran: the reporter shows a line's text only of a file
 * that is still the same. */
#include "shim/sites/sites_internal.h"

#include <string.h>
#include <sys/stat.h>
#include "shim/base/sys.h"

#define LOOK_MOST 4096u /* code objects at a time */

static uint32_t looked; /* the collector's: so many of the table's first */

void files_after_fork(void)
{
	looked = 0;
}

/* What of a file tells that it was changed. */
struct file_seen {
	uint64_t bytes, mtime;
};

static struct file_seen look(const char *path)
{
	struct file_seen seen = {0};
	struct statx sx;

	/* Automounts are left alone, and what the kernel knows of a network's file is enough. */
	if (path[0] != '/' ||
	    syscall(SYS_statx, AT_FDCWD, path, AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC,
	            STATX_SIZE | STATX_MTIME | STATX_TYPE, &sx) ||
	    !S_ISREG(sx.stx_mode))
		return seen;
	seen.bytes = sx.stx_size;
	seen.mtime = (uint64_t)sx.stx_mtime.tv_sec * 1000000000u + sx.stx_mtime.tv_nsec;
	return seen;
}

void files_look(struct tf_sites *area)
{
	uint32_t n = tf_count(&area->codes),
	         until = n - looked < LOOK_MOST ? n : looked + LOOK_MOST;
	struct file_seen seen = {0};
	const char *last = "";

	for (; looked < until; looked++) {
		struct tf_code *code = tf_entry(&spy_map, &area->codes, looked, sizeof(*code));
		uint32_t bytes;
		const char *path = code ? tf_text(&spy_map, code->file, &bytes) : NULL;
		if (!path)
			continue;
		if (strcmp(path, last)) /* the functions of a file often come together */
			seen = look(path);
		last = path;
		code->file_bytes = seen.bytes;
		code->file_mtime = seen.mtime;
	}
}
