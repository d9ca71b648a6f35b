/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "report/base/alloc.h"
#include "report/reader/reader.h"
#include "report/reader/reader_check.h"
#include "report/reader/reader_guard.h"
#include "report/reader/reader_hold.h"
#include "report/reader/reader_progress.h"
#include "report/reader/state.h"
#include "shim/core/drain/drain.h"
#include "shim/core/sys/leftover.h"
#include "shim/core/steps/steps.h"
#include "shim/core/timeline/timeline.h"

/* What the drain may need beyond the file: histograms, and pages of kept records. Only what is used
 * takes memory. */
#define ARENA_BYTES (256ull << 20)
#define FILE_MOST   (1ull << 46)

/*
 * Between the two: a file that is being written leads to what was added since it was mapped, and
 * the drain's room must not be found there. As much as a recording can become; less where address
 * space is short.
 */
#define GAP_BYTES (64ull << 30)
#define GAP_LEAST (64ull << 20)

/* At a recording that changes: until it is found in one piece. */
#define LOOKS_MOST     10
#define LOOKS_APART_NS 20000000

/* At live data whose process has just ended: the kernel may not have let go of it yet. */
#define ENDED_LOOKS    20
#define ENDED_APART_NS 5000000

static uint64_t page_up(uint64_t bytes)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	return (bytes + page - 1) / page * page;
}

/* The drain's allocator: zeroed memory behind the file. */
static uint64_t arena_alloc(struct tf_map *map, uint64_t bytes)
{
	struct recording *r = (struct recording *)map;
	uint64_t offset = map->own_until;

	bytes = (bytes + 63) / 64 * 64;
	if (!bytes || bytes > r->mapped_bytes - offset)
		return 0;
	map->own_until = offset + bytes;
	return offset;
}

/* Address space for the file, the gap and the arena, of which the arena can be used; 0 or -errno.
 */
static int reserve(struct recording *r, uint64_t file_bytes)
{
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
	uint8_t *base = MAP_FAILED;
	uint64_t arena = 0;

	if (file_bytes > FILE_MOST)
		return -EFBIG;
	for (uint64_t gap = GAP_BYTES; gap >= GAP_LEAST; gap /= 2) {
		arena = page_up(file_bytes) + gap;
		base = mmap(NULL, arena + ARENA_BYTES, PROT_NONE, flags, -1, 0);
		if (base != MAP_FAILED)
			break;
	}
	if (base == MAP_FAILED)
		return -errno;
	r->file_bytes = file_bytes;
	r->mapped_bytes = arena + ARENA_BYTES;
	r->map = (struct tf_map){.base = base,
	                         .size = file_bytes,
	                         .own_from = arena,
	                         .own_until = arena,
	                         .alloc = arena_alloc};
	return mprotect(base + arena, ARENA_BYTES, PROT_READ | PROT_WRITE) ? -errno : 0;
}

/* What a killed process left in its rings, through the code that its collector would have run. */
static void take_what_is_left(struct recording *r)
{
	struct drain drain = {
	        .map = &r->map, .timeline = timeline_new(&r->map), .steps = steps_new()};
	struct reader_left left;

	reader_watch(r, &left, &drain);
	r->drained += drain_all(&drain, UINT64_MAX);
	if (drain.timeline)
		timeline_finish(drain.timeline);
	timeline_free(drain.timeline);
	if (r->drained)
		steps_finish(drain.steps, &r->map);
	steps_free(drain.steps);
	drain_end(&drain);
	/* The drain adds to these, and thins them. */
	r->steps = tf_count(&tf_header(&r->map)->steps);
	r->loops = tf_count(&tf_header(&r->map)->loops);
}

/* Changes nothing but the header's tables. */
static int check(struct recording *r, char error[READER_ERROR_BYTES])
{
	reader_hold_header(&r->map);
	if (reader_check_header(r, error))
		return -1;
	r->live = state_runs(r);
	reader_read_ahead(r);
	r->seal = seal_check(&r->map);
	reader_check_tables(r);
	if (!r->live && r->seal != SEAL_HOLDS)
		reader_check_layout(r);
	if (r->seal == SEAL_DAMAGED)
		warn(&r->damage, "its contents are not what its process left: the digest that was "
		                 "made at its end is of others");
	reader_check_threads(r);
	if (r->live)
		reader_hold(&r->map);
	return 0;
}

/*
 * Not of a process that runs: its collector is at the same rings, and what both take would be
 * counted twice. What it has not taken yet is missing for a moment in all but the exact counts.
 */
static int drain_rest(struct recording *r, char error[READER_ERROR_BYTES])
{
	if (!r->live) {
		r->twice = reader_counted_already(r);
		take_what_is_left(r);
		reader_check_counts(r);
	}
	if (recording_shrank(r)) {
		snprintf(error, READER_ERROR_BYTES, "it became shorter while it was read");
		return -1;
	}
	return 0;
}

/* Whether the process that wrote this live data is gone, by the number in its name. */
static bool maker_is_gone(const char *live)
{
	const char *name = strrchr(live, '/');
	long pid = 0;

	return name && sscanf(name, "/" LEFTOVER_BEGINS "%ld-", &pid) == 1 && pid > 0 &&
	       kill((pid_t)pid, 0) && errno == ESRCH;
}

/* Moves what a killed process left in memory to its stub. */
static bool move_leftover(const char *live)
{
	const struct timespec pause = {.tv_nsec = ENDED_APART_NS};

	for (int look = 0; look < ENDED_LOOKS; look++) {
		if (leftover_move(live))
			return true;
		if (access(live, F_OK) || !maker_is_gone(live))
			return false;
		nanosleep(&pause, NULL);
	}
	return false;
}

/* The path in a stub (free it); NULL when the file is none, or leads nowhere. */
static char *stub_target(int fd)
{
	char text[8 + 4096];
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);

	if (n < 10 || memcmp(text, TF_STUB, 8))
		return NULL;
	text[n] = '\0';
	text[8 + strcspn(text + 8, "\n")] = '\0';
	return text[8] == '/' ? alloc_string(text + 8) : NULL;
}

/* What can be found at `path`: the file itself, or what its stub leads to. */
static int open_target(const char *path, char **real_path, char error[READER_ERROR_BYTES])
{
	const int flags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
	int fd = open(path, flags);

	if (fd < 0) {
		snprintf(error, READER_ERROR_BYTES, "%s", strerror(errno));
		return -1;
	}
	char *target = *real_path = stub_target(fd);
	if (!target) {
		*real_path = alloc_string(path);
		return fd;
	}
	close(fd);
	fd = move_leftover(target) ? -1 : open(target, flags);
	if (fd < 0)
		snprintf(error, READER_ERROR_BYTES, "a stub for %.300s, which cannot be opened: %s",
		         target, strerror(errno));
	return fd;
}

/*
 * Opens the file or what its stub leads to; -1 and one line where that is not possible. What a
 * killed process left in memory is put in the stub's place first; so may somebody else at the same
 * time.
 */
static int open_file(const char *path, char **real_path, char error[READER_ERROR_BYTES])
{
	int fd = open_target(path, real_path, error);

	if (fd >= 0 || !*real_path)
		return fd;
	free(*real_path);
	*real_path = NULL;
	return open_target(path, real_path, error);
}

/* Maps the file privately; 0, or -1 and one line in `error`. */
static int map_file(struct recording *r, int fd, char error[READER_ERROR_BYTES])
{
	struct stat st;
	int rc = fstat(fd, &st) ? -errno : 0;

	if (!rc && (!S_ISREG(st.st_mode) || st.st_size < (off_t)sizeof(uint64_t))) {
		snprintf(error, READER_ERROR_BYTES, "%s",
		         S_ISREG(st.st_mode) ? "not a cudaspy recording" : "not a regular file");
		return -1;
	}
	if (!rc && (rc = reserve(r, (uint64_t)st.st_size)) == 0 &&
	    mmap(r->map.base, (size_t)st.st_size, PROT_READ | PROT_WRITE,
	         MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, fd, 0) == MAP_FAILED)
		rc = -errno;
	if (rc) {
		snprintf(error, READER_ERROR_BYTES, "%s", strerror(-rc));
		return -1;
	}
	r->device = st.st_dev;
	r->inode = st.st_ino;
	return 0;
}

/*
 * Whether the file has become another one since its header was looked at: its process goes on, and
 * ended just now, or has closed it and makes more calls, or lives where its pid cannot be seen.
 * What it wrote meanwhile does not belong to that header.
 */
static bool moved_on(const struct recording *r, int fd)
{
	const struct tf_header *h = tf_header(&r->map);
	struct tf_header now;
	struct stat st;

	return pread(fd, &now, sizeof(now), 0) == sizeof(now) &&
	       (now.state != h->state || now.alloc_end != h->alloc_end ||
	        now.last_seen != h->last_seen || now.seal.state != h->seal.state ||
	        now.seal.digest != h->seal.digest ||
	        (!fstat(fd, &st) && (uint64_t)st.st_size != r->file_bytes));
}

/* Why what was found may be other at the next look. */
enum again { FOUND, MOVED, REARRANGED };

/* 0, or -1 and one line in `error`. */
static int open_once(struct recording *r, const char *path, enum again *again,
                     char error[READER_ERROR_BYTES])
{
	int fd = open_file(path, &r->path, error), rc = fd < 0 ? -1 : map_file(r, fd, error);

	*again = FOUND;
	if (!rc) {
		reader_guard_start(r);
		rc = check(r, error);
		if (!rc && (r->damage.count || !r->live) && moved_on(r, fd))
			*again = MOVED;
		else if (!rc && r->live && !reader_is_held(&r->map, fd))
			*again = REARRANGED;
	}
	if (fd >= 0)
		close(fd);
	return rc;
}

int recording_open(struct recording *r, const char *path, struct warnings *warnings,
                   char error[READER_ERROR_BYTES])
{
	const struct timespec pause = {.tv_nsec = LOOKS_APART_NS};
	enum again again = MOVED;
	int rc = 0;

	for (int look = 0; again != FOUND && !rc && look < LOOKS_MOST; look++) {
		if (look) {
			recording_close(r);
			nanosleep(&pause, NULL);
		}
		*r = (struct recording){.warnings = warnings};
		rc = open_once(r, path, &again, error);
	}
	/* It lives, whatever its pid says here, and has no two pieces that belong together. */
	if (!rc && again == MOVED) {
		r->live = true;
		warnings_free(&r->damage);
		reader_hold(&r->map);
	}
	if (!rc)
		rc = drain_rest(r, error);
	if (rc)
		recording_close(r);
	return rc;
}

int recording_from_memory(struct recording *r, const void *data, size_t bytes,
                          struct warnings *warnings, char error[READER_ERROR_BYTES])
{
	*r = (struct recording){.warnings = warnings, .path = alloc_copy("(memory)", 8)};
	int rc = reserve(r, bytes);
	if (!rc && bytes && mprotect(r->map.base, bytes, PROT_READ | PROT_WRITE))
		rc = -errno;
	if (rc) {
		snprintf(error, READER_ERROR_BYTES, "%s", strerror(-rc));
	} else {
		memcpy(r->map.base, data, bytes);
		rc = check(r, error) || drain_rest(r, error) ? -1 : 0;
	}
	if (rc)
		recording_close(r);
	return rc ? -1 : 0;
}

void recording_close(struct recording *r)
{
	reader_guard_stop();
	if (r->map.base)
		munmap(r->map.base, r->mapped_bytes);
	warnings_free(&r->damage);
	free(r->path);
	*r = (struct recording){0};
}

const struct tf_thread *recording_thread(const struct recording *r, uint32_t index)
{
	const struct tf_header *h = tf_header(&r->map);
	const uint64_t *offset = tf_entry(&r->map, &h->threads, index, sizeof(*offset));

	return offset && *offset ? tf_at(&r->map, *offset, h->thread_bytes) : NULL;
}

/* What a file begins with, as a recording that nothing else is known of; free its path. -1 and one
 * line where it cannot be read as one. */
static int read_header(struct recording *r, struct tf_header *h, struct stat *st, const char *path,
                       char error[READER_ERROR_BYTES])
{
	*r = (struct recording){.map = {.base = (uint8_t *)h, .size = sizeof(*h)}};
	memset(h, 0, sizeof(*h));
	int fd = open_file(path, &r->path, error), rc = -1;
	if (fd < 0)
		return -1;
	if (fstat(fd, st) || !S_ISREG(st->st_mode)) {
		snprintf(error, READER_ERROR_BYTES, "not a regular file");
	} else if (pread(fd, h, sizeof(*h), 0) < 0) {
		snprintf(error, READER_ERROR_BYTES, "%s", strerror(errno));
	} else {
		r->file_bytes = (uint64_t)st->st_size;
		r->device = st->st_dev;
		r->inode = st->st_ino;
		rc = reader_check_header(r, error);
	}
	close(fd);
	return rc;
}

int recording_identify(const char *path, struct recording_id *id, char error[READER_ERROR_BYTES])
{
	struct tf_header h;
	struct recording r;
	struct stat st;
	int rc = read_header(&r, &h, &st, path, error);

	free(r.path);
	if (rc)
		return rc;
	snprintf(id->run_id, sizeof(id->run_id), "%.*s", (int)sizeof(h.run_id), h.run_id);
	id->pid = h.pid;
	id->modified_ns = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
	return 0;
}

bool recording_is_dying(const char *path)
{
	char error[READER_ERROR_BYTES];
	struct tf_header h;
	struct recording r;
	struct stat st;
	bool dying = !read_header(&r, &h, &st, path, error) && state_dying(&r);

	free(r.path);
	return dying;
}

bool recording_is_damaged(const char *path)
{
	char error[READER_ERROR_BYTES];
	struct recording r = {0};
	enum again again;
	bool damaged;

	damaged = open_once(&r, path, &again, error) || r.damage.count;
	recording_close(&r);
	return damaged && again == FOUND;
}
