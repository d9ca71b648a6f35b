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
#include "shim/core/format/seal.h"
#include "shim/core/sys/leftover.h"
#include "shim/base/gate.h"
#include "shim/record/messages.h"

#define RESERVE_MOST  (64ull << 30) /* of address space */
#define RESERVE_LEAST (64 * MIB)
#define CGROUP_LEAST  (4 * MIB) /* whatever a memory cgroup leaves free */
/* What the collector and the samplers of a program of five threads take besides, in memory of their
 * own; it counts in the same cgroup. */
#define PRIVATE_BYTES (24 * MIB)
#define COPIED_BYTES  (4 * MIB) /* between two times that written pages are given back */
#define COPIES_MOST   4         /* of a recording that grows while it is copied */

struct storage_file storage_file;

const char *storage_path(void)
{
	return storage_file.path;
}

/* ---- creation ---- */

static bool write_all(int fd, const void *data, uint64_t bytes)
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
	if (!error && !(write_all(fd, TF_STUB, sizeof(TF_STUB) - 1) &&
	                write_all(fd, storage_file.live, strlen(storage_file.live)) &&
	                write_all(fd, "\n", 1) && identify_file(fd, &storage_file.published_id)))
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

/* ---- publishing ---- */

/*
 * The recording's bytes into the file. In a small memory cgroup the pages written count beside the
 * recording itself until they are on the disk: the kernel would rather kill than wait for that.
 * `*copied`: how many bytes it had.
 */
static bool copy_out(int fd, uint64_t *copied)
{
	const uint64_t bytes = tf_header(&spy_map)->alloc_end;

	*copied = bytes;
	for (uint64_t from = 0, n; from < bytes; from += n) {
		n = bytes - from < COPIED_BYTES ? bytes - from : COPIED_BYTES;
		if (!write_all(fd, spy_map.base + from, n))
			return false;
		if (storage_file.of_cgroup) {
			syscall(SYS_fdatasync, fd);
			syscall(SYS_fadvise64, fd, 0, from + n, POSIX_FADV_DONTNEED);
		}
	}
	return true;
}

static bool write_at(int fd, const struct tf_map *copy, const void *from, uint64_t bytes)
{
	return syscall(SYS_pwrite64, fd, from, bytes, (const uint8_t *)from - copy->base) ==
	       (long)bytes;
}

static bool write_store(int fd, const struct tf_map *copy, uint64_t offset)
{
	const struct tf_store *s = offset ? tf_at(copy, offset, sizeof(*s)) : NULL;

	return !s || write_at(fd, copy, s, sizeof(*s));
}

/* What seal_copy() wrote to, into the file. */
static bool write_seal(int fd, const struct tf_map *copy)
{
	const struct tf_header *h = tf_header(copy);
	bool ok = write_store(fd, copy, h->keep) && write_store(fd, copy, h->store);

	for (uint32_t i = 0; ok && i < tf_count(&h->threads); i++) {
		const uint64_t *at = tf_entry(copy, &h->threads, i, sizeof(*at));
		const struct tf_thread *th = at ? tf_at(copy, *at, h->thread_bytes) : NULL;
		ok = !th || write_at(fd, copy, &th->unsealed, sizeof(th->unsealed));
	}
	return ok && write_at(fd, copy, h, sizeof(*h));
}

/* Whether nothing has been recorded since the recording was sealed. */
static bool is_whole(void)
{
	/* Sequentially consistent: who records breaks the seal first. */
	return __atomic_load_n(&tf_header(&spy_map)->seal.state, __ATOMIC_SEQ_CST) == TF_SEAL_WHOLE;
}

/* The copy, while it is mapped to be sealed. */
static struct {
	uint8_t *volatile base;
	volatile uint64_t bytes;
	volatile bool gone; /* a page of it could not be read */
} mapped_copy;

bool storage_replaces_copy(const void *at)
{
	const uintptr_t base = (uintptr_t)mapped_copy.base, page = (uintptr_t)at / 4096 * 4096;

	if (!base || page < base || page >= base + mapped_copy.bytes)
		return false;
	mapped_copy.gone = true;
	return mmap((void *)page, base + mapped_copy.bytes - page, PROT_READ | PROT_WRITE,
	            MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED;
}

enum sealing { SEALED, TORN, UNABLE };

/*
 * Calls went on while the file's first `bytes` bytes were copied: parts of it are of different
 * moments, and without a seal of its own a reader would have to take it for damaged.
 */
static enum sealing seal_file(int fd, uint64_t bytes)
{
	enum sealing how = UNABLE;
	void *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);

	if (base == MAP_FAILED)
		return UNABLE;
	const struct tf_map copy = {.base = base, .size = bytes};
	mapped_copy.gone = false;
	mapped_copy.bytes = bytes;
	mapped_copy.base = base;
	tf_header(&copy)->alloc_end = bytes;
	if (!seal_copy(&copy))
		how = TORN;
	else if (!mapped_copy.gone && write_seal(fd, &copy))
		how = SEALED;
	mapped_copy.base = NULL;
	munmap(base, bytes);
	return how;
}

/* The header was copied first, and may say otherwise. */
static bool say_broken(int fd)
{
	const uint64_t broken = TF_SEAL_BROKEN;

	return syscall(SYS_pwrite64, fd, &broken, sizeof(broken),
	               offsetof(struct tf_header, seal.state)) == sizeof(broken);
}

/* Again where a thread came, or a table grew, amid it. */
static bool copy_sealed(int fd, bool settled)
{
	enum sealing how = TORN;
	uint64_t bytes = 0;
	bool ok = true;

	for (unsigned tries = 0; ok && how == TORN && tries < COPIES_MOST; tries++) {
		ok = syscall(SYS_lseek, fd, 0, SEEK_SET) == 0 && copy_out(fd, &bytes);
		if (ok)
			how = is_whole() ? SEALED : settled ? seal_file(fd, bytes) : UNABLE;
	}
	return ok && (how == SEALED || say_broken(fd));
}

void storage_publish(bool settled)
{
	char part[PATH_MAX + 8];
	struct file_id id;
	bool ok;

	if (!storage_file.in_memory || !spy_map.base)
		return;
	/* Only over our own stub (or earlier copy): whoever put another file there keeps it. */
	int fd = sys_open(storage_file.path, O_RDONLY | O_NOFOLLOW, 0);
	bool ours = fd >= 0 && is_file(fd, &storage_file.published_id);
	if (fd >= 0)
		sys_close(fd);
	if (!ours)
		return;
	snprintf(part, sizeof(part), "%s.part", storage_file.path);
	fd = leftover_open_part(part);
	ok = fd >= 0 && copy_sealed(fd, settled) && identify_file(fd, &id) &&
	     leftover_is_written(fd) && !rename(part, storage_file.path);
	if (ok) {
		storage_file.published_id = id;
		storage_file.published = true;
		unlink(storage_file.live);
	} else {
		if (!storage_file.copy_said)
			spy_say("cannot copy the recording to %s: %s; it stays in %s",
			        storage_file.path, strerror(errno), storage_file.live);
		storage_file.copy_said = true;
		if (fd >= 0)
			unlink(part);
	}
	if (fd >= 0)
		sys_close(fd);
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
