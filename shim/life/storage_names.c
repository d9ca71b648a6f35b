/* SPDX-License-Identifier: Apache-2.0 */
/* Where the recording's file lies, and how it is named. */
#include "shim/life/storage_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include "shim/base/clock.h"
#include "shim/base/sys.h"
#include "shim/core/options/options.h"
#include "shim/core/sys/leftover.h"

#define NAMES_MOST 10000

static bool is_folder(const char *path)
{
	int fd = sys_open(path, O_RDONLY | O_DIRECTORY, 0);

	if (fd >= 0)
		sys_close(fd);
	return fd >= 0;
}

bool storage_wanted_path(char *path)
{
	char name[PATH_MAX], inner[PATH_MAX];
	const char *slash = "";

	if (!options_expand(spy_options.out, name, sizeof(name)))
		return false;
	inner[0] = 0;
	if (name[strlen(name) - 1] == '/' || is_folder(name)) {
		slash = name[strlen(name) - 1] == '/' ? "" : "/";
		if (!options_expand("cudaspy-%h-%p.cudaspy", inner, sizeof(inner)))
			return false;
	}
	char cwd[PATH_MAX] = "";
	if (name[0] != '/' && !getcwd(cwd, sizeof(cwd)))
		return false;
	return snprintf(path, PATH_MAX, "%s%s%s%s%s", cwd, *cwd ? "/" : "", name, slash, inner) <
	       PATH_MAX - 16;
}

/* "name.cudaspy", "name-2.cudaspy", ... */
static void numbered(const char *path, int number, char *out)
{
	static const char suffix[] = ".cudaspy";
	size_t n = strlen(path), s = sizeof(suffix) - 1;
	bool known = n > s && !strcmp(path + n - s, suffix);

	if (number == 1)
		snprintf(out, PATH_MAX, "%s", path);
	else
		snprintf(out, PATH_MAX, "%.*s-%d%s", (int)(known ? n - s : n), path, number,
		         known ? suffix : "");
}

static bool is_at(int fd, const char *path)
{
	struct file_id id;

	return identify_at(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, &id) && is_file(fd, &id);
}

int storage_make_new(const char *path, char *made)
{
	for (int number = 1; number < NAMES_MOST; number++) {
		numbered(path, number, made);
		int fd = sys_open(made, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
		if (fd == -EEXIST)
			continue;
		if (fd < 0)
			return fd;
		if (!is_at(fd, made)) { /* the program took its number before it was moved */
			sys_close(fd);
			return -ESTALE;
		}
		/* Whatever the program's umask: it is opened again to grow. */
		syscall(SYS_fchmod, fd, 0600);
		return fd;
	}
	return -EEXIST;
}

const char *storage_live_folder(unsigned i)
{
	const char *folder = i ? "/dev/shm" : getenv("XDG_RUNTIME_DIR");

	return folder && folder[0] == '/' ? folder : NULL;
}

int storage_make_live(char *made)
{
	char path[PATH_MAX];
	unsigned salt = 0;

	if (syscall(SYS_getrandom, &salt, sizeof(salt), GRND_NONBLOCK) < 0)
		salt = (unsigned)clock_monotonic_ns();
	for (unsigned i = 0; i < LIVE_FOLDERS; i++) {
		const char *folder = storage_live_folder(i);
		if (!folder)
			continue;
		snprintf(path, sizeof(path), "%.4000s/" LEFTOVER_BEGINS "%d-%08x" LEFTOVER_ENDS,
		         folder, (int)sys_getpid(), salt);
		int fd = storage_make_new(path, made);
		if (fd >= 0 && storage_reservation_holds(fd))
			return fd;
		if (fd >= 0) {
			unlink(made);
			sys_close(fd);
		}
	}
	return -ENOSPC;
}
