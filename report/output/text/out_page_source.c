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
#define KEPT      64u /* files of which the text is kept */

/* The last files that were asked for: pages show many lines of few. */
static struct source {
	char *path;
	char *text; /* NULL: it is not as it was */
	uint64_t bytes, mtime;
} kept[KEPT];
static unsigned next;

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

static char *read_source(const char *path, size_t most)
{
	char *text = alloc_zeroed(most + 1, 1);
	size_t bytes = file_begins(path, text, most);

	text[bytes < most ? bytes : most] = 0;
	return text;
}

/* The text of its file; NULL: it is not here, or was changed. */
static const char *source_of(const struct model_frame *f, const char *path)
{
	for (unsigned i = 0; i < KEPT; i++)
		if (kept[i].path && !strcmp(kept[i].path, path) && kept[i].bytes == f->file_bytes &&
		    kept[i].mtime == f->file_mtime)
			return kept[i].text;
	struct source *s = &kept[next++ % KEPT];
	free(s->path);
	free(s->text);
	*s = (struct source){
	        .path = alloc_string(path), .bytes = f->file_bytes, .mtime = f->file_mtime};
	if (is_unchanged(f, path))
		s->text = read_source(path, (size_t)f->file_bytes);
	return s->text;
}

char *out_page_source(const struct model_frame *f)
{
	const char *path = f->local ? f->local : f->file, *line;
	char *found = NULL;

	if (!f->python || !f->line || !is_source(f))
		return NULL;
	line = source_of(f, path);
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
	return found;
}
