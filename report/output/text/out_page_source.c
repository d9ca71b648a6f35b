/* SPDX-License-Identifier: Apache-2.0 */
/* The text of a line of Python, where its file is here and is as it was when the program ran. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "report/base/alloc.h"
#include "report/base/file.h"
#include "report/output/text/out_page.h"

#define FILE_MOST (4u << 20)
#define LINE_MOST 60u /* bytes shown of a line */

/* The recording names the file: only what looks like a program's source is read. */
static bool is_source(const char *path)
{
	size_t n = path ? strlen(path) : 0;

	return n > 3 && path[0] == '/' && !strcmp(path + n - 3, ".py");
}

static bool is_unchanged(const struct model *m, const char *path)
{
	struct stat st;

	if (!isfinite(m->start_realtime) || stat(path, &st) || !S_ISREG(st.st_mode) ||
	    st.st_size > (off_t)FILE_MOST)
		return false;
	return (double)st.st_mtim.tv_sec * 1e9 + (double)st.st_mtim.tv_nsec < m->start_realtime;
}

char *out_page_source(const struct model *m, const struct model_frame *f)
{
	char *text, *line, *found = NULL;
	size_t bytes;

	if (!f->python || !f->line || !is_source(f->file) || !is_unchanged(m, f->file))
		return NULL;
	text = alloc_zeroed(FILE_MOST + 1, 1);
	bytes = file_begins(f->file, text, FILE_MOST);
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
