#include "shim/life/storage.h"

#include <errno.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/vfs.h>
#include "shim/base/clock.h"
#include "shim/base/guard.h"
#include "shim/core/sys/leftover.h"
#include "shim/life/lifecycle.h"
#include "shim/base/lock.h"
#include "shim/core/options/options.h"
#include "shim/core/sys/same_file.h"
#include "shim/base/sys.h"

#define KIB            1024ull
#define MIB            (1024 * KIB)
#define FIRST_BYTES    (1 * MIB)
#define RESERVE_MOST   (64ull << 30) /* of address space */
#define RESERVE_LEAST  (64 * MIB)
#define POPULATE_BYTES (1 * MIB)
#define NAMES_MOST     10000
#define LIVE_FOLDERS   2u
#define MEMORY_SHARE   4 /* of the memory that is free where live data goes: one part in so many */
#define RETRY_NS                                                                                   \
	1000000000u /* after a refusal: a full disk must not cost a system call at each call */

static struct {
	char path[PATH_MAX];    /* what the user asked for */
	char live[PATH_MAX];    /* where the mapped file is; the same, unless it lives in memory */
	struct file_id live_id; /* of the live file */
	struct file_id published_id; /* of the stub or the copy at `path` */
	uint64_t reserved;           /* address space */
	uint64_t space_most;         /* bytes that it may take in memory; 0 = no limit of ours */
	bool in_memory;
	bool blocks_tell; /* the file system counts what it promised */
	bool limit_said, full_said, copy_said, cut_said;
	int error;              /* the last one, -errno */
	uint64_t full_until_ns; /* monotonic: no new try before */
} file;

static struct lock lock; /* of the file's growth */

const char *storage_path(void)
{
	return file.path;
}

/*
 * File systems on which fallocate() promises the space to later writes through a mapping. Others
 * (network, copy on write, layered, FUSE) may run out of it under a store, which is SIGBUS.
 */
static bool reservation_holds(int fd)
{
	struct statfs fs;

	if (fstatfs(fd, &fs))
		return false;
	return (unsigned long)fs.f_type == EXT4_SUPER_MAGIC ||
	       (unsigned long)fs.f_type == XFS_SUPER_MAGIC ||
	       (unsigned long)fs.f_type == TMPFS_MAGIC;
}

/* Whether the file lacks any of its first `end` bytes: it was cut, and perhaps made longer again.
 * Of another file that has got the descriptor's number meanwhile it says nothing. */
static bool is_short(int fd, uint64_t end)
{
	struct statx sx;

	if (syscall(SYS_statx, fd, "", AT_EMPTY_PATH, STATX_INO | STATX_SIZE | STATX_BLOCKS, &sx))
		return false;
	struct file_id id = file_id(&sx);
	return same_file(&id, &file.live_id) &&
	       (sx.stx_size < end || (file.blocks_tell && sx.stx_blocks * 512 < end));
}

/* ---- names ---- */

static bool is_folder(const char *path)
{
	int fd = sys_open(path, O_RDONLY | O_DIRECTORY, 0);

	if (fd >= 0)
		sys_close(fd);
	return fd >= 0;
}

/* The template expanded, in a folder if it names one, absolute so that a later chdir() does not
 * matter. */
static bool wanted_path(char *path)
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

/* Makes a file that was not there, following no link in its last part; its descriptor, or -errno.
 */
static int make_new(const char *path, char *made)
{
	for (int number = 1; number < NAMES_MOST; number++) {
		numbered(path, number, made);
		int fd = sys_open(made, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
		if (fd != -EEXIST)
			return fd;
	}
	return -EEXIST;
}

/* Where live data goes: the user's runtime folder, else /dev/shm. NULL where there is none. */
static const char *live_folder(unsigned i)
{
	const char *folder = i ? "/dev/shm" : getenv("XDG_RUNTIME_DIR");

	return folder && folder[0] == '/' ? folder : NULL;
}

/* A file in memory for the live data. */
static int make_live(char *made)
{
	char path[PATH_MAX];
	unsigned salt = 0;

	if (syscall(SYS_getrandom, &salt, sizeof(salt), GRND_NONBLOCK) < 0)
		salt = (unsigned)clock_monotonic_ns();
	for (unsigned i = 0; i < LIVE_FOLDERS; i++) {
		const char *folder = live_folder(i);
		if (!folder)
			continue;
		snprintf(path, sizeof(path), "%.4000s/" LEFTOVER_BEGINS "%d-%08x" LEFTOVER_ENDS,
		         folder, (int)sys_getpid(), salt);
		int fd = make_new(path, made);
		if (fd >= 0 && reservation_holds(fd))
			return fd;
		if (fd >= 0) {
			unlink(made);
			sys_close(fd);
		}
	}
	return -ENOSPC;
}

/*
 * What a file of `own` bytes may grow to in a file system in memory: the program needs it too, for
 * the segments of its DataLoaders, and in a container there are often but 64 MiB. UINT64_MAX: it
 * has no limit.
 */
static uint64_t memory_share(int fd, uint64_t own)
{
	struct statfs fs;

	if (fstatfs(fd, &fs) || !fs.f_blocks)
		return UINT64_MAX;
	return ((uint64_t)fs.f_bavail * (uint64_t)fs.f_bsize + own) / MEMORY_SHARE;
}

/* ---- creation ---- */

static int reserve(int fd, uint64_t from, uint64_t bytes)
{
	struct guard guard;

	guard_begin(&guard);
	/* A cancellation point, but for who is in a quiet section. */
	int error = fallocate(fd, 0, (off_t)from, (off_t)bytes) ? -errno : 0;
	guard_end(&guard);
	return error;
}

static bool write_all(int fd, const void *data, uint64_t bytes)
{
	const char *p = data;
	struct guard guard;

	guard_begin(&guard);
	while (bytes) {
		ssize_t n = sys_write(fd, p, bytes < MIB ? bytes : MIB);
		if (n == -EINTR)
			continue;
		if (n <= 0)
			break;
		p += n;
		bytes -= (uint64_t)n;
	}
	guard_end(&guard);
	return !bytes;
}

/* The file at `path` becomes a stub that names the live one; a descriptor of the live one, or
 * -errno. */
static int move_to_memory(int fd)
{
	int live = make_live(file.live);

	if (live < 0)
		return live;
	uint64_t share = memory_share(live, 0);
	int error = share < FIRST_BYTES ? -ENOSPC : 0;
	if (!error && !(write_all(fd, TF_STUB, sizeof(TF_STUB) - 1) &&
	                write_all(fd, file.live, strlen(file.live)) && write_all(fd, "\n", 1) &&
	                identify_file(fd, &file.published_id)))
		error = -ENOSPC;
	if (!error)
		error = reserve(live, 0, FIRST_BYTES);
	if (error) {
		unlink(file.live);
		sys_close(live);
		return error;
	}
	file.in_memory = true;
	file.space_most = share;
	return live;
}

static uint64_t storage_alloc(struct tf_map *map, uint64_t bytes);

/* Where the program's address space is limited (ulimit -v), most of it is the program's. */
static uint64_t address_space(void)
{
	struct rlimit limit;
	uint64_t most = RESERVE_MOST;

	while (!getrlimit(RLIMIT_AS, &limit) && most > limit.rlim_cur / 16 && most > RESERVE_LEAST)
		most /= 2;
	return most;
}

/* The file's bytes from `from` on, at their place in the reservation. */
static bool map_part(int fd, uint8_t *base, uint64_t from, uint64_t bytes)
{
	return mmap(base + from, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd,
	            (off_t)from) != MAP_FAILED;
}

/* Address space for all that the file may become, of which nothing can be touched but what the file
 * has: who walks over all of a program's memory (a leak check) does not come here. */
static bool map_file(int fd)
{
	void *base = MAP_FAILED;

	for (file.reserved = address_space(); file.reserved >= RESERVE_LEAST; file.reserved /= 2) {
		base = mmap(NULL, file.reserved, PROT_NONE,
		            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (base != MAP_FAILED)
			break;
	}
	if (base == MAP_FAILED || !map_part(fd, base, 0, FIRST_BYTES))
		return false;
	madvise(base, file.reserved, MADV_DONTDUMP);
	spy_map = (struct tf_map){.base = base, .size = FIRST_BYTES, .alloc = storage_alloc};
	struct tf_header *h = tf_header(&spy_map);
	h->file_end = FIRST_BYTES;
	h->alloc_end = (sizeof(*h) + 4095) / 4096 * 4096;
	h->space_most = file.space_most == UINT64_MAX ? 0 : file.space_most;
	return true;
}

uint64_t storage_share(uint64_t wanted, unsigned part)
{
	uint64_t most = file.in_memory ? file.space_most / part : UINT64_MAX;

	return wanted < most ? wanted : most;
}

/* The mapped file at `fd`, or where its file system promises no space, one in memory; -errno. */
static int make_room(int fd)
{
	int error = -EOPNOTSUPP;

	if (reservation_holds(fd)) {
		strcpy(file.live, file.path);
		error = reserve(fd, 0, FIRST_BYTES);
	}
	if (error == -EOPNOTSUPP) {
		int live = move_to_memory(fd);
		error = live < 0 ? live : 0;
		sys_close(fd);
		fd = live;
	}
	if (!error && (!identify_file(fd, &file.live_id) || !map_file(fd)))
		error = errno ? -errno : -ENOMEM;
	if (!error) {
		file.blocks_tell = true;
		file.blocks_tell = !is_short(fd, FIRST_BYTES);
	}
	if (fd >= 0)
		sys_close(fd);
	return error;
}

bool storage_create(void)
{
	char wanted[PATH_MAX];

	memset(&file, 0, sizeof(file));
	for (unsigned i = 0; i < LIVE_FOLDERS; i++)
		if (live_folder(i))
			leftover_tidy(live_folder(i));
	if (!wanted_path(wanted)) {
		spy_say("CUDASPY_OUT is too long or has no folder; nothing is recorded");
		return false;
	}
	int fd = make_new(wanted, file.path);
	if (fd < 0) {
		spy_say("cannot make %s: %s; nothing is recorded (set CUDASPY_OUT)", wanted,
		        strerror(-fd));
		return false;
	}
	file.error = make_room(fd);
	if (file.error)
		storage_discard();
	return !file.error;
}

void storage_discard(void)
{
	unlink(file.path);
	if (file.in_memory)
		unlink(file.live);
	spy_say("cannot store into %s: %s; nothing is recorded (set CUDASPY_OUT)", file.path,
	        strerror(-file.error));
}

void storage_say_limits(void)
{
	if (!file.in_memory || spy_options.keep_bytes <= storage_share(UINT64_MAX, 2))
		return;
	char text[PATH_MAX];
	file.limit_said = true;
	snprintf(text, sizeof(text), "%s", file.live);
	*strrchr(text, '/') = 0;
	spy_say("the recording takes at most %llu MiB, a quarter of what is free in %s: of its "
	        "last "
	        "records %llu MiB are kept, not %llu",
	        (unsigned long long)(file.space_most / MIB), text,
	        (unsigned long long)(storage_share(UINT64_MAX, 2) / MIB),
	        (unsigned long long)(spy_options.keep_bytes / MIB));
}

/* ---- growth ---- */

/*
 * The file is opened anew for each step: a descriptor kept open could be closed, and its number
 * taken, by a program that tidies up, and we would write into a stranger's file.
 */
static int grow_file(uint64_t from, uint64_t bytes)
{
	struct file_id id = {0};
	int fd = sys_open(file.live, O_RDWR | O_NOFOLLOW, 0);
	int error = -ESTALE;

	if (fd < 0)
		return fd;
	if (identify_file(fd, &id) && same_file(&id, &file.live_id))
		error = file.in_memory && from + bytes > memory_share(fd, from)
		                ? -ENOSPC
		                : reserve(fd, from, bytes);
	if (!error && is_short(fd, from + bytes)) {
		spy_cut_short();
		error = -ESTALE;
	}
	if (!error && !map_part(fd, spy_map.base, from, bytes))
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
 * given up, and that is said; and not where it was said that it takes only so much. */
static void full(const struct tf_header *h, int error)
{
	bool share = file.in_memory && error == -ENOSPC;

	if (spy_was_cut())
		return;
	file.error = error;
	file.full_until_ns = clock_monotonic_ns() + RETRY_NS;
	if (!file.full_said && h->magic[0] && !(share && file.limit_said))
		spy_say("%s cannot grow: %s; calls go on being counted, records are thinned",
		        file.path,
		        share ? "it has a quarter of the memory that is free" : strerror(-error));
	file.full_said = h->magic[0] != 0;
}

/* Room up to `end`, in steps; false: there is none. */
static bool grow_to(struct tf_map *map, struct tf_header *h, uint64_t end)
{
	uint64_t now = h->file_end, least = (end - now + 4095) / 4096 * 4096,
	         step = step_for(now, end - now);

	if (file.full_until_ns && clock_monotonic_ns() < file.full_until_ns)
		return false;
	int error = step <= file.reserved - now ? grow_file(now, step) : -ENOMEM;
	if (error && least <= file.reserved - now) { /* a last try with no more than is needed */
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

static uint64_t storage_alloc(struct tf_map *map, uint64_t bytes)
{
	struct tf_header *h = tf_header(map);
	uint64_t offset = 0;
	int saved = errno;

	bytes = (bytes + 63) / 64 * 64;
	lock_take(&lock);
	uint64_t from = h->alloc_end;
	if (!spy_was_cut() && bytes <= file.reserved && from <= file.reserved - bytes &&
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

uint8_t *storage_mapped(uint64_t *bytes)
{
	*bytes = file.reserved;
	return spy_map.base;
}

/* ---- the end ---- */

void storage_publish(void)
{
	char part[PATH_MAX + 8];
	struct file_id id;
	bool ok;

	if (!file.in_memory || !spy_map.base)
		return;
	/* Only over our own stub (or earlier copy): whoever put another file there keeps it. */
	int fd = sys_open(file.path, O_RDONLY | O_NOFOLLOW, 0);
	bool ours = fd >= 0 && is_file(fd, &file.published_id);
	if (fd >= 0)
		sys_close(fd);
	if (!ours)
		return;
	snprintf(part, sizeof(part), "%s.part", file.path);
	fd = leftover_open_part(part);
	ok = fd >= 0 && write_all(fd, spy_map.base, tf_header(&spy_map)->alloc_end) &&
	     identify_file(fd, &id) && leftover_is_written(fd) && !rename(part, file.path);
	if (ok) {
		file.published_id = id;
		unlink(file.live);
	} else {
		if (!file.copy_said)
			spy_say("cannot copy the recording to %s: %s; it stays in %s", file.path,
			        strerror(errno), file.live);
		file.copy_said = true;
		if (fd >= 0)
			unlink(part);
	}
	if (fd >= 0)
		sys_close(fd);
}

bool storage_was_cut(void)
{
	int fd = sys_open(file.live, O_RDONLY | O_NOFOLLOW, 0);

	if (fd >= 0) { /* its pages may all have been touched before: then no fault told */
		if (is_short(fd, tf_header(&spy_map)->file_end))
			spy_cut_short();
		sys_close(fd);
	}
	if (!spy_was_cut())
		return false;
	if (!file.cut_said)
		spy_say("%s was cut short by another program: the recording ended there, CUDA goes "
		        "on "
		        "unrecorded",
		        file.path);
	file.cut_said = true;
	return true;
}

void storage_after_fork(void)
{
	lock = (struct lock){0};
}
