/* SPDX-License-Identifier: Apache-2.0 */
#include "report/cli/bench_output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report/base/alloc.h"
#include "report/base/complain.h"
#include "report/base/progress.h"

#define ROOM      8192 /* bytes: some lines of the shim */
#define LINE_MOST 2048
#define SHIM      "cudaspy: " /* its lines begin so */

char *bench_output_path(const char *folder)
{
	return alloc_format("%s/output", folder);
}

int bench_output_make(const char *folder)
{
	char *path = bench_output_path(folder);
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666), rc = 0;

	/* A file system that cannot promise room is not asked to. */
	if (fd < 0 ||
	    (fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, ROOM) && (errno == ENOSPC || errno == EDQUOT))) {
		complain("bench: %s: %s", path, strerror(errno));
		rc = -1;
	}
	if (fd >= 0)
		close(fd);
	free(path);
	return rc;
}

static FILE *open_output(const char *folder)
{
	char *path = bench_output_path(folder);
	FILE *from = fopen(path, "re");

	free(path);
	return from;
}

void bench_output_show(const char *folder)
{
	FILE *from = open_output(folder);
	char buffer[4096];
	size_t n;

	progress_hide();
	while (from && (n = fread(buffer, 1, sizeof(buffer), from)) > 0)
		fwrite(buffer, 1, n, stderr);
	if (from)
		fclose(from);
}

/* Without what differs from run to run: paths and numbers (free it). */
static char *gist(const char *line)
{
	char *text = alloc_string(line), *to = text;

	for (const char *c = line; *c; c++) {
		if (*c == '/' && (c == line || c[-1] == ' ')) {
			c += strcspn(c, " ") - 1;
			continue;
		}
		if (*c < '0' || *c > '9')
			*to++ = *c;
	}
	*to = '\0';
	return text;
}

static bool is_new(struct bench_output *o, const char *line)
{
	char *text = gist(line);

	for (size_t i = 0; i < o->told_count; i++)
		if (!strcmp(o->told[i], text)) {
			free(text);
			return false;
		}
	ALLOC_ROOM(o->told, o->told_count);
	o->told[o->told_count++] = text;
	return true;
}

void bench_output_tell(struct bench_output *o, const char *folder, const char *run)
{
	FILE *from = open_output(folder);
	char line[LINE_MOST];
	bool begins = true;

	while (from && fgets(line, sizeof(line), from)) {
		size_t bytes = strcspn(line, "\n");
		bool ours = begins && !strncmp(line, SHIM, strlen(SHIM));
		begins = line[bytes] == '\n';
		line[bytes] = '\0';
		if (ours && is_new(o, line + strlen(SHIM)))
			complain("bench: %s: %s", run, line + strlen(SHIM));
	}
	if (from)
		fclose(from);
}

void bench_output_free(struct bench_output *o)
{
	for (size_t i = 0; i < o->told_count; i++)
		free(o->told[i]);
	free(o->told);
	*o = (struct bench_output){0};
}
