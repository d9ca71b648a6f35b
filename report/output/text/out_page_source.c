/* SPDX-License-Identifier: Apache-2.0 */
/* The text of a line of Python, where its file is here and is as it was when the program ran. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "report/base/alloc.h"
#include "report/base/file.h"
#include "report/output/text/out_page.h"

#define FILE_MOST (4u << 20)
#define LINE_MOST 60u /* bytes shown of a line */

/* The recording names the file: only what looks like a program's source is read. */
static bool is_source(const struct model_frame *f)
{
	const char *path = f->local ? f->local : f->file;
	size_t n = path ? strlen(path) : 0;

	return n > 3 && (f->local || path[0] == '/') && !strcmp(path + n - 3, ".py");
}

/* A copy in another place has a time of its own. */
static bool is_unchanged(const struct model_frame *f, const char *path)
{
	struct stat st;

	if (!f->file_mtime || stat(path, &st) || !S_ISREG(st.st_mode) ||
	    st.st_size > (off_t)FILE_MOST || (uint64_t)st.st_size != f->file_bytes)
		return false;
	return f->local ||
	       (uint64_t)st.st_mtim.tv_sec * 1000000000u + (uint64_t)st.st_mtim.tv_nsec ==
	               f->file_mtime;
}

char *out_page_source(const struct model_frame *f)
{
	const char *path = f->local ? f->local : f->file;
	char *text, *line, *found = NULL;
	size_t bytes;

	if (!f->python || !f->line || !is_source(f) || !is_unchanged(f, path))
		return NULL;
	text = alloc_zeroed(FILE_MOST + 1, 1);
	bytes = file_begins(path, text, FILE_MOST);
	text[bytes < FILE_MOST ? bytes : FILE_MOST] = 0;
	line = text;
	for (uint32_t i = 1; line && i < f->line; i++) {
		line = strchr(line, '\n');
		line = line ? line + 1 : NULL;
	}
	if (line) {
		line += strspn(line, " \t");
		size_t n = strcspn(line, "\r\n");
		found = n > LINE_MOST ? alloc_format("%.*s..", (int)LINE_MOST, line)
		        : n           ? alloc_copy(line, n)
		                      : NULL;
	}
	free(text);
	return found;
}
