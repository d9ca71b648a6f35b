/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/base/alloc.h"
#include "report/base/complain.h"
#include "report/base/file.h"

#define PIECE (64u << 10)

/* /dev/stdin, or <(a command) of a shell's. */
static bool is_handed_over(const char *path)
{
	static const char *const names[] = {"/dev/stdin", "/dev/fd/", "/proc/self/fd/"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strncmp(path, names[i], strlen(names[i])))
			return true;
	return false;
}

/* For reading; -1 and errno, 0 = it is no regular file. */
static int open_regular(const char *path)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

	errno = fd < 0 ? errno : 0;
	if (fd < 0 || (!fstat(fd, &st) && S_ISREG(st.st_mode)))
		return fd;
	close(fd);
	errno = 0;
	return -1;
}

static int open_any(const char *path)
{
	return is_handed_over(path) ? open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY)
	                            : open_regular(path);
}

static ssize_t read_again(int fd, char *to, size_t room)
{
	ssize_t n;

	while ((n = read(fd, to, room)) < 0 && errno == EINTR)
		;
	return n;
}

char *file_read(const char *path, size_t most, size_t *bytes)
{
	size_t room = PIECE;
	char *text = alloc_zeroed(room, 1);
	int fd = open_any(path);
	ssize_t n = fd < 0 ? -1 : 1;

	for (*bytes = 0; n > 0 && *bytes<most; *bytes += n> 0 ? (size_t)n : 0) {
		if (*bytes + 1 == room) {
			room *= 2;
			text = realloc(text, room);
			if (!text)
				alloc_failed();
		}
		n = read_again(fd, text + *bytes, room - *bytes - 1);
	}
	int why = n < 0 ? errno : 0;
	if (fd >= 0)
		close(fd);
	if (n < 0 || *bytes >= most) {
		if (n < 0)
			complain("%s: %s", path, why ? strerror(why) : "not a regular file");
		else
			complain("%s: more than %zu MiB", path, most >> 20);
		free(text);
		return NULL;
	}
	text[*bytes] = '\0';
	return text;
}

size_t file_begins(const char *path, char *to, size_t room)
{
	int fd = open_regular(path);
	ssize_t n = fd < 0 ? 0 : read_again(fd, to, room);

	if (fd >= 0)
		close(fd);
	return n > 0 ? (size_t)n : 0;
}

bool file_is_there(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode);
}

bool file_is_folder(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISDIR(st.st_mode);
}

bool file_is_same(const char *a, const char *b)
{
	struct stat x, y;

	return !stat(a, &x) && !stat(b, &y) && x.st_ino == y.st_ino && x.st_dev == y.st_dev;
}

const char *file_base_name(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash && slash[1] ? slash + 1 : path;
}
