/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "report/base/alloc.h"
#include "report/base/complain.h"
#include "report/base/file.h"
#include "report/reader/reader.h"
#include "report/cli/run_output.h"
#include "shim/core/options/options.h"

/* 2 s in all. */
#define DYING_LOOKS   200
#define DYING_LOOK_NS 10000000

/* What differs from process to process. */
static bool is_pattern(const char *pattern)
{
	for (const char *p = pattern; (p = strchr(p, '%')); p += 2)
		if (p[1] != '%')
			return true;
	return false;
}

static char *expanded(const char *pattern)
{
	char text[PATH_MAX];

	if (options_expand(pattern, text, sizeof(text)))
		return alloc_string(text);
	complain("run: %s: %s", pattern, strerror(ENAMETOOLONG));
	return NULL;
}

/* What is before the last slash of a path (free it). */
static char *folder_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? alloc_copy(path, slash == path ? 1 : (size_t)(slash - path))
	             : alloc_copy(".", 1);
}

/* The folder and those around it; 0 or an errno. */
static int make_folders(char *path)
{
	for (char *at = path + 1; *at; at++) {
		if (*at != '/')
			continue;
		*at = '\0';
		int rc = mkdir(path, 0777);
		*at = '/';
		if (rc && errno != EEXIST)
			return errno;
	}
	return mkdir(path, 0777) && errno != EEXIST ? errno : 0;
}

/* Some folders seem to take files from root and take none (/proc). 0 or an errno. */
static int try_file(const char *folder)
{
	char *path = alloc_format("%s/.cudaspy-%ld", folder, (long)getpid());
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600), why = 0;

	if (fd >= 0) {
		close(fd);
		unlink(path);
	} else if (errno != EEXIST) {
		why = errno;
	}
	free(path);
	return why;
}

static int check_folder(const char *folder, bool make)
{
	char *path = alloc_string(folder);
	int why = make && !file_is_folder(path) ? make_folders(path) : 0;
	struct stat st;

	if (!why && stat(path, &st))
		why = errno;
	if (!why && !S_ISDIR(st.st_mode))
		why = ENOTDIR;
	if (!why && access(path, W_OK | X_OK))
		why = errno;
	if (!why)
		why = try_file(path);
	if (why)
		complain("run: recordings cannot be made in %s: %s; -o FILE|FOLDER says where",
		         path, strerror(why));
	free(path);
	return why ? -1 : 0;
}

/* A recording, or the stub of one: what cudaspy made, cudaspy may remove. */
static bool is_ours(const char *path)
{
	char magic[RECORDING_MAGIC_BYTES];
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	bool ours = fd >= 0 && read(fd, magic, sizeof(magic)) == sizeof(magic) &&
	            recording_begins_so(magic);

	if (fd >= 0)
		close(fd);
	return ours;
}

static bool is_written(const char *path)
{
	struct warnings warnings = {0};
	char error[READER_ERROR_BYTES];
	struct recording r;
	bool live = false;

	if (!recording_open(&r, path, &warnings, error)) {
		live = r.live;
		recording_close(&r);
	}
	warnings_free(&warnings);
	return live;
}

/* By another process of this run: what comes later gets a number. */
static bool is_of_this_run(const char *path)
{
	const char *run_id = getenv("CUDASPY_RUN_ID");
	char error[READER_ERROR_BYTES];
	struct recording_id id;

	return run_id && *run_id && !recording_identify(path, &id, error) &&
	       !strcmp(id.run_id, run_id);
}

/* A file named outright is for this run alone. */
static int check_name(const char *path, bool force)
{
	struct stat st;
	const char *why = NULL;

	if (lstat(path, &st)) {
		if (errno == ENOENT)
			return 0;
		why = strerror(errno);
	} else if (is_of_this_run(path)) {
		return 0;
	} else if (!force) {
		why = "it is there already; --force replaces it, %p in its name makes each run's "
		      "another";
	} else if (!S_ISREG(st.st_mode) || !is_ours(path)) {
		why = "it is no recording: not replaced";
	} else if (is_written(path)) {
		why = "the process that it is of runs still: not replaced";
	} else if (unlink(path)) {
		why = strerror(errno);
	}
	if (why)
		complain("run: %s: %s", path, why);
	return why ? -1 : 0;
}

char *run_output_page(const char *recording)
{
	size_t bytes = strlen(recording), ending = strlen(".cudaspy");
	bool ends = bytes > ending && !strcmp(recording + bytes - ending, ".cudaspy");
	char *stem = alloc_copy(recording, ends ? bytes - ending : bytes);
	char *name = alloc_format("%s.html", stem);

	free(stem);
	return name;
}

static int check_page(const char *recording, bool force)
{
	char *path = run_output_page(recording);
	const char *why = NULL;
	struct stat st;

	if (lstat(path, &st))
		why = errno == ENOENT ? NULL : strerror(errno);
	else if (!S_ISREG(st.st_mode))
		why = "it is no file: no page can be written there";
	else if (!force)
		why = "it is there already; --force replaces it";
	if (why)
		complain("run: %s: %s", path, why);
	free(path);
	return why ? -1 : 0;
}

/* So that it means the same wherever the command goes. */
static int make_absolute(const char *pattern)
{
	char folder[PATH_MAX];

	if (pattern[0] == '/')
		return 0;
	if (!getcwd(folder, sizeof(folder))) {
		complain("run: the working folder: %s", strerror(errno));
		return -1;
	}
	/* A % of the folder's name is one. */
	char *doubled = alloc_zeroed(2 * strlen(folder) + 1, 1), *to = doubled;
	for (const char *c = folder; *c; c++) {
		*to++ = *c;
		if (*c == '%')
			*to++ = *c;
	}
	char *path = alloc_format("%s/%s", strcmp(doubled, "/") ? doubled : "", pattern);
	if (setenv("CUDASPY_OUT", path, 1))
		alloc_failed();
	free(path);
	free(doubled);
	return 0;
}

int run_output_prepare(bool force, bool page)
{
	const char *pattern = getenv("CUDASPY_OUT");

	if (!pattern)
		return check_folder(".", false);
	if (make_absolute(pattern))
		return -1;
	pattern = getenv("CUDASPY_OUT");
	char *head = folder_of(pattern), *path = expanded(pattern);
	bool folder = pattern[strlen(pattern) - 1] == '/';
	int rc = path ? 0 : -1;

	/* Of a folder that is another one for each process nothing is known yet. */
	if (path && !is_pattern(head)) {
		char *in = folder || !file_is_folder(path) ? folder_of(path) : alloc_string(path);
		rc = check_folder(in, folder);
		if (!rc && !is_pattern(pattern) && !file_is_folder(path))
			rc = (page && check_page(path, force)) || check_name(path, force) ? -1 : 0;
		free(in);
	}
	free(head);
	free(path);
	return rc;
}

char *run_output_folder(void)
{
	const char *pattern = getenv("CUDASPY_OUT");
	char text[PATH_MAX];

	if (!pattern || !options_expand(pattern, text, sizeof(text)))
		return alloc_copy(".", 1);
	return file_is_folder(text) ? alloc_string(text) : folder_of(text);
}

void run_output_wait(const struct find_list *list)
{
	const struct timespec pause = {.tv_nsec = DYING_LOOK_NS};

	for (int look = 0; look < DYING_LOOKS; look++) {
		bool dying = false;
		for (size_t i = 0; i < list->count && !dying; i++)
			dying = recording_is_dying(list->paths[i]);
		if (!dying)
			return;
		nanosleep(&pause, NULL);
	}
}
