/* SPDX-License-Identifier: Apache-2.0 */
/* A recording that lives in memory is copied to where the user wants it. */
#include "shim/life/storage_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include "shim/base/gate.h"
#include "shim/base/sys.h"
#include "shim/core/format/seal.h"
#include "shim/core/sys/leftover.h"
#include "shim/record/messages.h"

#define COPIED_BYTES (4 * MIB) /* between two times that written pages are given back */
#define COPIES_MOST  4         /* of a recording that grows while it is copied */

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
		if (!storage_write_all(fd, spy_map.base + from, n))
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
