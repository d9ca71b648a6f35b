/* SPDX-License-Identifier: Apache-2.0 */
/* Growth of the recording's storage_file. */
#include "shim/life/storage_internal.h"

#include <errno.h>
#include <sys/mman.h>
#include "shim/base/clock.h"
#include "shim/base/lock.h"
#include "shim/base/sys.h"
#include "shim/life/lifecycle.h"

#define POPULATE_BYTES (1 * MIB)
/* After a refusal: a full disk must not cost a system call at each call. */
#define RETRY_NS 1000000000u

static struct lock lock;

bool storage_map_part(int fd, uint8_t *base, uint64_t from, uint64_t bytes)
{
	return mmap(base + from, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd,
	            (off_t)from) != MAP_FAILED;
}

/*
 * The file is opened anew for each step: a descriptor kept open could be closed, and its number
 * taken, by a program that tidies up, and we would write into a stranger's storage_file.
 */
static int grow_file(uint64_t from, uint64_t bytes)
{
	struct file_id id = {0};
	int fd = sys_open(storage_file.live, O_RDWR | O_NOFOLLOW, 0);
	int error = -ESTALE;

	if (fd < 0)
		return fd;
	if (identify_file(fd, &id) && same_file(&id, &storage_file.live_id))
		error = storage_file.in_memory && (from + bytes > storage_file.space_most ||
		                                   from + bytes > storage_memory_share(fd, from))
		                ? -ENOSPC
		                : storage_reserve(fd, from, bytes);
	if (!error && storage_is_short(fd, from + bytes)) {
		spy_cut_short();
		error = -ESTALE;
	}
	if (!error && !storage_map_part(fd, spy_map.base, from, bytes))
		error = -ENOMEM;
	/* If its number was taken meanwhile, the space is not in our file, and the descriptor not
	 * ours to close. */
	if (!is_file(fd, &id))
		return -ESTALE;
	sys_close(fd);
	return error;
}

/* Larger steps for larger files: one system call or so for each eighth of growth. */
static uint64_t step_for(uint64_t end, uint64_t need)
{
	uint64_t step = end / 8 < MIB ? MIB : end / 8 > 64 * MIB ? 64 * MIB : end / 8;

	if (step < need)
		step = need;
	return (step + 4095) / 4096 * 4096;
}

/* The file could not grow. Said once; not of a recording that is still being made, which is then
 * given up, and that is said; not where it was said that it takes only so much; and not of calls
 * that come after the end, when what lay in memory has been copied and is gone. */
static void full(const struct tf_header *h, int error)
{
	bool share = storage_file.in_memory && error == -ENOSPC;

	if (spy_was_cut())
		return;
	storage_file.error = error;
	storage_file.full_until_ns = clock_monotonic_ns() + RETRY_NS;
	if (!storage_file.full_said && h->magic[0] && !storage_file.published &&
	    !(share && storage_file.limit_said))
		spy_say("%s cannot grow: %s; calls go on being counted, records are thinned",
		        storage_file.path,
		        share ? "it has a quarter of the memory that is free" : strerror(-error));
	storage_file.full_said = h->magic[0] != 0;
}

/* Room up to `end`, in steps; false: there is none. */
static bool grow_to(struct tf_map *map, struct tf_header *h, uint64_t end)
{
	uint64_t now = h->file_end, least = (end - now + 4095) / 4096 * 4096,
	         step = step_for(now, end - now);

	if (storage_file.full_until_ns && clock_monotonic_ns() < storage_file.full_until_ns)
		return false;
	int error = step <= storage_file.reserved - now ? grow_file(now, step) : -ENOMEM;
	if (error &&
	    least <= storage_file.reserved - now) { /* a last try with no more than is needed */
		step = least;
		error = grow_file(now, step);
	}
	if (error) {
		full(h, error);
		return false;
	}
	h->file_end = now + step;
	__atomic_store_n(&map->size, now + step, __ATOMIC_RELAXED);
	return true;
}

uint64_t storage_alloc(struct tf_map *map, uint64_t bytes)
{
	struct tf_header *h = tf_header(map);
	uint64_t offset = 0;
	int saved = errno;

	bytes = (bytes + 63) / 64 * 64;
	lock_take(&lock);
	uint64_t from = h->alloc_end;
	if (!spy_was_cut() && bytes <= storage_file.reserved &&
	    from <= storage_file.reserved - bytes &&
	    (from + bytes <= h->file_end || grow_to(map, h, from + bytes))) {
		h->alloc_end = from + bytes;
		offset = from;
	}
	lock_give(&lock);
	if (!offset)
		spy_count_anomaly(SPY_ANOMALY_FILE_FULL);
	else if (bytes >= POPULATE_BYTES) /* pages of kept records: no fault for each of them */
		madvise(map->base + from / 4096 * 4096, bytes, MADV_POPULATE_WRITE);
	errno = saved;
	return offset;
}

void storage_after_fork(void)
{
	lock = (struct lock){0};
}
