/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/base/alloc.h"
#include "report/base/complain.h"
#include "report/base/progress.h"
#include "report/output/export/export.h"

#define EXPORT_BUFFER (1u << 20)

/* The file that is to go when somebody interrupts us; NULL = none. */
static char *volatile unfinished;

static void interrupted(int signal_number)
{
	if (unfinished)
		unlink(unfinished);
	signal(signal_number, SIG_DFL);
	raise(signal_number);
}

static void on_interruption(void)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
	struct sigaction old;

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		if (!sigaction(signals[i], NULL, &old) && old.sa_handler == SIG_DFL)
			signal(signals[i], interrupted);
}

static bool is_gz(const char *name)
{
	size_t bytes = strlen(name);

	return bytes > 3 && !strcmp(name + bytes - 3, ".gz");
}

/* As a file that is made anew would have it, or as the one that it takes the place of. */
static void set_mode(int fd, const struct stat *old)
{
	mode_t mask = umask(0);

	umask(mask);
	if (fchmod(fd, old ? old->st_mode & 07777 : 0666 & ~mask))
		return; /* it stays readable for its owner alone */
}

static int trouble(const char *name)
{
	complain("%s: %s", name, strerror(errno));
	return -1;
}

/* A file beside the one that it will be; behind a symbolic link, beside what that points to. */
static int make_temporary(struct export_file *f, const char *output, const struct stat *old)
{
	char *real = old ? realpath(output, NULL) : NULL;

	f->target = alloc_string(real ? real : output);
	free(real);
	if (old && out_over_recording(output))
		return -1;
	/* What cannot be written is not replaced either. */
	if (old && access(f->target, W_OK))
		return trouble(output);
	f->temporary = alloc_format("%s.XXXXXX", f->target);
	int fd = mkostemp(f->temporary, O_CLOEXEC);
	if (fd < 0) {
		free(f->temporary);
		f->temporary = NULL;
		return trouble(output);
	}
	unfinished = f->temporary;
	on_interruption();
	set_mode(fd, old);
	f->to = fdopen(fd, "w");
	if (!f->to)
		alloc_failed();
	return 0;
}

/* Where it really goes: export_open() puts the compressor in front of it. */
static int open_target(struct export_file *f, const char *output,
                       const struct export_format *format)
{
	struct stat old;
	bool there = output && !stat(output, &old);

	if (!output) {
		if (format->kind == EXPORT_BINARY && isatty(STDOUT_FILENO)) {
			complain("export: %s is not for a terminal: name a file with -o",
			         format->name);
			return -1;
		}
		/* Who reads a pipe may have the terminal. */
		if (fstat(STDOUT_FILENO, &old) || !S_ISREG(old.st_mode))
			progress_stop();
		f->to = stdout;
	} else if (there && !S_ISREG(old.st_mode)) {
		progress_stop();
		if (S_ISDIR(old.st_mode))
			errno = EISDIR;
		else
			f->to = fopen(output, "we");
		if (!f->to)
			return trouble(output);
	} else {
		return make_temporary(f, output, there ? &old : NULL);
	}
	return 0;
}

int export_open(struct export_file *f, const char *output, const struct export_format *format)
{
	struct stat old;

	*f = (struct export_file){.name = output ? output : "standard output"};
	if (format->kind == EXPORT_DATABASE &&
	    (!output || (!stat(output, &old) && !S_ISREG(old.st_mode)))) {
		complain("export: %s is a file of its own: name one with -o", format->name);
		return -1;
	}
	if (open_target(f, output, format)) {
		export_close(f, false);
		return -1;
	}
	setvbuf(f->to, NULL, _IOFBF, EXPORT_BUFFER);
	if (format->kind == EXPORT_TEXT && output && is_gz(output)) {
		f->behind = f->to;
		f->to = export_gzip(f->behind);
	}
	return 0;
}

void export_progress(const struct export_job *job, size_t process)
{
	const size_t count = job->model->process_count;

	if (count > 1)
		progress_stage("writing %s, process %zu of %zu", job->name, process + 1, count);
	else
		progress_stage("writing %s", job->name);
}

static int finish(struct export_file *f, bool good)
{
	int status = EXIT_DONE;

	if (f->behind) {
		/* Whether all went well is seen by the file behind it, too. */
		if (fclose(f->to) && !ferror(f->behind))
			status = EXIT_TROUBLE;
		f->to = f->behind;
	}
	if (f->to && out_close(f->to, f->name))
		status = EXIT_TROUBLE;
	if (!good || status || !f->temporary)
		return good ? status : EXIT_TROUBLE;
	if (rename(f->temporary, f->target)) {
		trouble(f->name);
		return EXIT_TROUBLE;
	}
	unfinished = NULL;
	return EXIT_DONE;
}

int export_close(struct export_file *f, bool good)
{
	int status = finish(f, good);

	if (unfinished) {
		unlink(unfinished);
		unfinished = NULL;
	}
	free(f->target);
	free(f->temporary);
	return status;
}
