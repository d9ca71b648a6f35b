/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/base/alloc.h"
#include "report/base/complain.h"
#include "report/base/progress.h"
#include "report/base/file.h"
#include "report/output/out.h"
#include "report/reader/reader.h"

FILE *out_begin(struct out_file *f)
{
	*f = (struct out_file){0};
	f->to = open_memstream(&f->text, &f->bytes);
	if (!f->to)
		alloc_failed();
	return f->to;
}

/* Not at once: a name that is a pipe or a device is written to as it is. */
static bool is_replaceable(const char *path)
{
	struct stat st;

	return stat(path, &st) ? errno == ENOENT : S_ISREG(st.st_mode);
}

/* A new file beside the one that it will replace, with the rights that one has; -1 and errno. */
static int open_beside(char *name, const char *path)
{
	struct stat st;
	mode_t mask = umask(0);

	umask(mask);
	if (access(path, W_OK) && errno != ENOENT)
		return -1;
	int fd = mkostemp(name, O_CLOEXEC);
	if (fd >= 0)
		fchmod(fd, stat(path, &st) ? 0666 & ~mask : st.st_mode & 0777);
	return fd;
}

bool out_over_recording(const char *path)
{
	char begin[RECORDING_MAGIC_BYTES];

	if (file_begins(path, begin, sizeof(begin)) != sizeof(begin) || !recording_begins_so(begin))
		return false;
	complain("%s: is a recording; name another file for the output", path);
	return true;
}

bool out_over_input(const char *path, const char *input, const char *what)
{
	if (!path || !input || !file_is_same(path, input))
		return false;
	if (!out_over_recording(path))
		complain("%s: is read as the %s; name another file for the output", path, what);
	return true;
}

static FILE *open_whole(const struct out_file *f, const char *path)
{
	int fd = f->beside ? open_beside(f->beside, path) : -1;
	FILE *to = fd >= 0 ? fdopen(fd, "w") : f->beside ? NULL : fopen(path, "we");

	if (fd >= 0 && !to)
		alloc_failed();
	if (!to)
		complain("%s: %s", path, strerror(errno));
	return to;
}

static int put(const struct out_file *f, FILE *to, const char *name)
{
	setvbuf(to, NULL, _IONBF, 0);
	if (fwrite(f->text, 1, f->bytes, to) != f->bytes && errno == EPIPE)
		return EXIT_TROUBLE;
	return out_close(to, name);
}

/* Into the file: it is there whole, or is what it was. */
static int put_file(struct out_file *f, const char *output)
{
	/* Where a link stands, what it means is replaced. */
	char *path = realpath(output, NULL);

	if (!path)
		path = alloc_string(output);
	f->beside = is_replaceable(path) ? alloc_format("%s.XXXXXX", path) : NULL;
	if (f->beside && out_over_recording(output)) {
		free(f->beside);
		free(path);
		return EXIT_TROUBLE;
	}
	FILE *to = open_whole(f, path);
	int status = to ? put(f, to, output) : EXIT_TROUBLE;
	if (to && f->beside && status == EXIT_DONE && rename(f->beside, path)) {
		complain("%s: %s", output, strerror(errno));
		status = EXIT_TROUBLE;
	}
	if (to && f->beside && status != EXIT_DONE)
		unlink(f->beside);
	free(f->beside);
	free(path);
	return status;
}

int out_end(struct out_file *f, const char *output)
{
	int status;

	if (fclose(f->to))
		alloc_failed();
	progress_stop();
	if (output)
		status = put_file(f, output);
	else if (f->show && f->show(f->text, f->bytes))
		status = EXIT_DONE;
	else
		status = put(f, stdout, "standard output");
	free(f->text);
	return status;
}

int out_drop(struct out_file *f)
{
	fclose(f->to);
	free(f->text);
	return EXIT_TROUBLE;
}

int out_close(FILE *to, const char *name)
{
	bool bad = ferror(to);
	int why = errno;

	/* A disk may be full for the last block only, and say so only when the file is closed. */
	if (fflush(to)) {
		bad = true;
		why = errno;
	}
	if (fclose(to) && !bad) {
		bad = true;
		why = errno;
	}
	if (bad && why != EPIPE)
		complain("%s: %s", name, strerror(why));
	return bad ? EXIT_TROUBLE : EXIT_DONE;
}
