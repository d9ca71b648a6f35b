/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/base/alloc.h"
#include "report/base/complain.h"
#include "report/calibrate/store.h"
#include "shim/core/gpu_time/gpu_cache.h"
#include "shim/core/gpu_time/gpu_kinds.h"
#include "shim/core/sys/own_file.h"

#define NS_PER_S 1e9

struct entries {
	struct gpu_cache_entry items[GPU_CACHE_ENTRIES];
	size_t count;
};

char *store_path(void)
{
	char path[PATH_MAX];

	if (gpu_cache_path(getenv("XDG_CACHE_HOME"), getenv("HOME"), path, sizeof(path)))
		return alloc_string(path);
	complain("calibrate: neither XDG_CACHE_HOME nor HOME is an absolute path: nowhere to "
	         "store what is measured");
	return NULL;
}

/* What there is and can be used; a file that cannot be trusted counts as none. */
static void read_entries(const char *path, struct entries *e)
{
	char text[GPU_CACHE_BYTES];
	int32_t bytes = own_file_read(path, text, sizeof(text));
	struct gpu_cache_reader r = gpu_cache_read(text, bytes > 0 ? (uint32_t)bytes : 0);

	e->count = 0;
	while (gpu_cache_next(&r, &e->items[e->count]))
		e->count++;
}

struct calibrate_before store_before(const char *path, const struct kernel_times_device *d,
                                     uint32_t clock_khz)
{
	const struct gpu_kind *k = gpu_kind(d->name);
	struct entries all;

	read_entries(path, &all);
	for (size_t i = 0; i < all.count; i++)
		if (gpu_cache_is_of(&all.items[i], d->name, d->driver, clock_khz))
			return (struct calibrate_before){all.items[i].null_kernel_ns,
			                                 all.items[i].off_ns, GPU_CALIBRATED,
			                                 (double)all.items[i].time * NS_PER_S};
	return (struct calibrate_before){k->null_kernel_ns, k->off_ns,
	                                 k->name ? GPU_BUILT_IN : GPU_UNMEASURED, NAN};
}

/* In place of an earlier one, else behind all; of too many the first goes. */
static void put(struct entries *all, const struct gpu_cache_entry *e)
{
	size_t at = 0;

	while (at < all->count &&
	       !gpu_cache_is_of(&all->items[at], e->name, e->driver, e->clock_khz))
		at++;
	if (at == GPU_CACHE_ENTRIES)
		at = 0;
	else if (at == all->count)
		all->count++;
	memmove(&all->items[at], &all->items[at + 1],
	        (all->count - at - 1) * sizeof(all->items[0]));
	all->items[all->count - 1] = *e;
}

static struct gpu_cache_entry entry_of(const struct calibrate_result *r)
{
	struct gpu_cache_entry e = {.driver = r->device.driver,
	                            .clock_khz = r->clock_khz,
	                            .null_kernel_ns = (uint32_t)lround(r->figure.null_kernel),
	                            .off_ns = (uint32_t)lround(r->figure.off),
	                            .time = (uint64_t)(r->time / NS_PER_S)};

	snprintf(e.name, sizeof(e.name), "%s", r->device.name);
	return e;
}

static char *text_of(const struct entries *all)
{
	char *text = NULL;

	alloc_append(&text,
	             "%s\n# What CUPTI says of an empty kernel on this machine's GPUs; "
	             "written by `cudaspy calibrate`.\n",
	             GPU_CACHE_HEAD);
	for (size_t i = 0; i < all->count; i++) {
		const struct gpu_cache_entry *e = &all->items[i];
		alloc_append(&text,
		             "driver %u clock_khz %u null_ns %u off_ns %u time %llu gpu %s\n",
		             e->driver, e->clock_khz, e->null_kernel_ns, e->off_ns,
		             (unsigned long long)e->time, e->name);
	}
	return text;
}

/* ---- the file ---- */

/* -1 and one line. */
static int cannot(const char *path, const char *why)
{
	complain("calibrate: %s: %s", path, why);
	return -1;
}

/* The folder that the file is in, made where it is missing: a descriptor. Nobody else may be able
 * to put a file there. */
static int open_folder(const char *path)
{
	char folder[PATH_MAX], *slash;

	snprintf(folder, sizeof(folder), "%s", path);
	slash = strrchr(folder, '/');
	*slash = '\0';
	slash = strrchr(folder, '/');
	*slash = '\0'; /* the cache folder itself is the user's affair, a link too */
	if (*folder && mkdir(folder, 0700) && errno != EEXIST)
		return cannot(folder, strerror(errno));
	*slash = '/';
	if (mkdir(folder, 0700) && errno != EEXIST)
		return cannot(folder, strerror(errno));
	int fd = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return cannot(folder, strerror(errno));
	if (own_file_trusted(fd, true))
		return fd;
	close(fd);
	return cannot(folder, "not this user's own folder, or others can write to it");
}

static bool write_all(int fd, const char *text)
{
	size_t left = strlen(text);

	while (left) {
		ssize_t n = write(fd, text, left);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		text += n;
		left -= (size_t)n;
	}
	return true;
}

static int replace(int folder, const char *path, const char *text)
{
	char name[64];

	snprintf(name, sizeof(name), "%s.%ld", GPU_CACHE_FILE, (long)getpid());
	unlinkat(folder, name, 0); /* of a process that was killed, long ago */
	int fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return cannot(path, strerror(errno));
	bool written = write_all(fd, text) && !fsync(fd);
	int why = errno;
	if (close(fd) && written) {
		written = false;
		why = errno;
	}
	if (written && !renameat(folder, name, folder, GPU_CACHE_FILE))
		return 0;
	why = written ? errno : why;
	unlinkat(folder, name, 0);
	return cannot(path, strerror(why));
}

int store_results(const char *path, const struct calibrate_result *results, size_t count)
{
	struct entries all;
	int folder = open_folder(path), rc;

	if (folder < 0)
		return -1;
	read_entries(path, &all);
	for (size_t i = 0; i < count; i++) {
		struct gpu_cache_entry e = entry_of(&results[i]);
		put(&all, &e);
	}
	char *text = text_of(&all);
	rc = replace(folder, path, text);
	free(text);
	close(folder);
	return rc;
}
