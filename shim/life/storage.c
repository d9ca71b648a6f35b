/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/life/storage_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include "shim/base/guard.h"
#include "shim/base/sys.h"
#include "shim/core/options/options.h"
#include "shim/core/sys/leftover.h"
#include "shim/base/gate.h"
#include "shim/record/messages.h"

#define RESERVE_MOST  (64ull << 30) /* of address space */
#define RESERVE_LEAST (64 * MIB)
#define CGROUP_LEAST  (4 * MIB) /* whatever a memory cgroup leaves free */
/* What the collector and the samplers of a program of five threads take besides, in memory of their
 * own; it counts in the same cgroup. */
#define PRIVATE_BYTES (24 * MIB)

struct storage_file storage_file;

const char *storage_path(void)
{
	return storage_file.path;
}

/* ---- creation ---- */

bool storage_write_all(int fd, const void *data, uint64_t bytes)
{
	const char *p = data;
	struct guard guard;
	ssize_t n = 0;

	guard_begin(&guard);
	while (bytes) {
		n = sys_write(fd, p, bytes < MIB ? bytes : MIB);
		if (n == -EINTR)
			continue;
		if (n <= 0)
			break;
		p += n;
		bytes -= (uint64_t)n;
	}
	guard_end(&guard, n);
	return !bytes;
}

/* The file at `path` becomes a stub that names the live one; a descriptor of the live one, or
 * -errno. */
static int move_to_memory(int fd)
{
	int live = storage_make_live(storage_file.live);

	if (live < 0)
		return live;
	uint64_t share = storage_memory_share(live, 0),
	         of_cgroup = storage_cgroup_free() / MEMORY_SHARE;
	of_cgroup =
	        of_cgroup < PRIVATE_BYTES + CGROUP_LEAST ? CGROUP_LEAST : of_cgroup - PRIVATE_BYTES;
	storage_file.of_cgroup = of_cgroup < share;
	if (storage_file.of_cgroup)
		share = of_cgroup;
	int error = share < FIRST_BYTES ? -ENOSPC : 0;
	if (!error &&
	    !(storage_write_all(fd, TF_STUB, sizeof(TF_STUB) - 1) &&
	      storage_write_all(fd, storage_file.live, strlen(storage_file.live)) &&
	      storage_write_all(fd, "\n", 1) && identify_file(fd, &storage_file.published_id)))
		error = -ENOSPC;
	if (!error)
		error = storage_reserve(live, 0, FIRST_BYTES);
	if (error) {
		unlink(storage_file.live);
		sys_close(live);
		return error;
	}
	storage_file.in_memory = true;
	storage_file.space_most = share;
	return live;
}

/* Where the program's address space is limited (ulimit -v), most of it is the program's. */
static uint64_t address_space(void)
{
	struct rlimit limit;
	uint64_t most = RESERVE_MOST;

	while (!getrlimit(RLIMIT_AS, &limit) && most > limit.rlim_cur / 16 && most > RESERVE_LEAST)
		most /= 2;
	return most;
}

/* Address space for all that the file may become, of which nothing can be touched but what the file
 * has: who walks over all of a program's memory (a leak check) does not come here. */
static bool map_file(int fd)
{
	void *base = MAP_FAILED;

	for (storage_file.reserved = address_space(); storage_file.reserved >= RESERVE_LEAST;
	     storage_file.reserved /= 2) {
		base = mmap(NULL, storage_file.reserved, PROT_NONE,
		            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (base != MAP_FAILED)
			break;
	}
	if (base == MAP_FAILED || !storage_map_part(fd, base, 0, FIRST_BYTES))
		return false;
	madvise(base, storage_file.reserved, MADV_DONTDUMP);
	spy_map = (struct tf_map){.base = base, .size = FIRST_BYTES, .alloc = storage_alloc};
	struct tf_header *h = tf_header(&spy_map);
	h->file_end = FIRST_BYTES;
	h->alloc_end = (sizeof(*h) + 4095) / 4096 * 4096;
	h->space_most = storage_file.space_most == UINT64_MAX ? 0 : storage_file.space_most;
	return true;
}

uint64_t storage_share(uint64_t wanted, unsigned part)
{
	uint64_t most = storage_file.in_memory ? storage_file.space_most / part : UINT64_MAX;

	return wanted < most ? wanted : most;
}

/* The mapped file at `fd`, or where its file system promises no space, one in memory; -errno. */
static int make_room(int fd)
{
	int error = -EOPNOTSUPP;

	if (storage_reservation_holds(fd)) {
		strcpy(storage_file.live, storage_file.path);
		error = storage_reserve(fd, 0, FIRST_BYTES);
	}
	if (error == -EOPNOTSUPP) {
		int live = move_to_memory(fd);
		error = live < 0 ? live : 0;
		sys_close(fd);
		fd = live;
	}
	if (!error && (!identify_file(fd, &storage_file.live_id) || !map_file(fd)))
		error = errno ? -errno : -ENOMEM;
	if (!error) {
		storage_file.blocks_tell = true;
		storage_file.blocks_tell = !storage_is_short(fd, FIRST_BYTES);
	}
	if (fd >= 0)
		sys_close(fd);
	return error;
}

static struct file_id root_now(void)
{
	struct file_id id = {0};
	int fd = sys_open("/", O_PATH, 0);

	if (fd >= 0) {
		identify_file(fd, &id);
		sys_close(fd);
	}
	return id;
}

bool storage_create(void)
{
	char wanted[PATH_MAX];

	memset(&storage_file, 0, sizeof(storage_file));
	storage_file.root = root_now();
	for (unsigned i = 0; i < LIVE_FOLDERS; i++)
		if (storage_live_folder(i))
			leftover_tidy(storage_live_folder(i));
	if (!storage_wanted_path(wanted)) {
		spy_say("CUDASPY_OUT is too long or has no folder; nothing is recorded");
		return false;
	}
	int fd = storage_make_new(wanted, storage_file.path);
	if (fd < 0) {
		spy_say("cannot make %s: %s; nothing is recorded (set CUDASPY_OUT)", wanted,
		        strerror(-fd));
		return false;
	}
	storage_file.error = make_room(fd);
	if (storage_file.error)
		storage_discard();
	return !storage_file.error;
}

void storage_discard(void)
{
	unlink(storage_file.path);
	if (storage_file.in_memory)
		unlink(storage_file.live);
	spy_say("cannot store into %s: %s; nothing is recorded (set CUDASPY_OUT)",
	        storage_file.path, strerror(-storage_file.error));
}

void storage_say_limits(void)
{
	if (!storage_file.in_memory || spy_options.keep_bytes <= storage_share(UINT64_MAX, 2))
		return;
	char text[PATH_MAX] = "as its memory cgroup has little left";
	storage_file.limit_said = true;
	if (!storage_file.of_cgroup) {
		snprintf(text, sizeof(text), "a quarter of what is free in %.*s",
		         (int)(strrchr(storage_file.live, '/') - storage_file.live),
		         storage_file.live);
	}
	spy_say("the recording takes at most %llu MiB, %s: of its last records %llu MiB are kept, "
	        "not %llu",
	        (unsigned long long)(storage_file.space_most / MIB), text,
	        (unsigned long long)(storage_share(UINT64_MAX, 2) / MIB),
	        (unsigned long long)(spy_options.keep_bytes / MIB));
}

uint8_t *storage_mapped(uint64_t *bytes)
{
	*bytes = storage_file.reserved;
	return spy_map.base;
}

const char *storage_is_gone(void)
{
	int fd = sys_open(storage_file.path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0);
	bool gone;

	if (fd >= 0) {
		gone = !is_file(fd, storage_file.in_memory ? &storage_file.published_id
		                                           : &storage_file.live_id);
		sys_close(fd);
	} else {
		struct file_id root = root_now();
		gone = fd == -ENOENT && same_file(&root, &storage_file.root);
	}
	return !gone ? NULL : storage_file.in_memory ? storage_file.live : "";
}

bool storage_was_cut(void)
{
	int fd = sys_open(storage_file.live, O_RDONLY | O_NOFOLLOW, 0);

	if (fd >= 0) { /* its pages may all have been touched before: then no fault told */
		if (storage_is_short(fd, tf_header(&spy_map)->file_end))
			spy_cut_short();
		sys_close(fd);
	}
	if (!spy_was_cut())
		return false;
	if (!storage_file.cut_said)
		spy_say("%s was cut short by another program: the recording ended there, CUDA goes "
		        "on "
		        "unrecorded",
		        storage_file.path);
	storage_file.cut_said = true;
	return true;
}
