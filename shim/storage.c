#include "shim/storage.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>
#include "shim/clock.h"
#include "shim/guard.h"
#include "shim/lifecycle.h"
#include "shim/lock.h"
#include "shim/options.h"

#define KIB           1024ull
#define MIB           (1024 * KIB)
#define FIRST_BYTES   (1 * MIB)
#define RESERVE_MOST  (64ull << 30) /* of address space */
#define RESERVE_LEAST (64 * MIB)
#define POPULATE_BYTES (1 * MIB)
#define NAMES_MOST     10000
#define RETRY_NS                                                                                   \
	1000000000u /* after a refusal: a full disk must not cost a system call at each call */

static struct {
	char path[PATH_MAX];    /* what the user asked for */
	char live[PATH_MAX];    /* where the mapped file is; the same, unless it lives in memory */
	uint64_t device, inode; /* of the live file */
	uint64_t published_inode; /* of the stub or the copy at `path` */
	uint64_t reserved;        /* address space */
	bool in_memory;
	bool full_said, copy_said;
	uint64_t full_until_ns; /* monotonic: no new try before */
} file;

static struct spy_spin lock;

const char *storage_path(void)
{
	return file.path;
}

/* stat without the symbol that glibc 2.33 renewed. */
bool file_identity(int fd, uint64_t *device, uint64_t *inode)
{
	struct statx sx;

	if (syscall(SYS_statx, fd, "", AT_EMPTY_PATH, STATX_INO, &sx))
		return false;
	*device = (uint64_t)sx.stx_dev_major << 32 | sx.stx_dev_minor;
	*inode = sx.stx_ino;
	return true;
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

/* ---- names ---- */

static bool is_folder(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd >= 0)
		close(fd);
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
		int fd = open(made, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (fd >= 0)
			return fd;
		if (errno != EEXIST)
			return -errno;
	}
	return -EEXIST;
}

/* A file in memory for the live data: in the user's runtime folder, else in /dev/shm. */
static int make_live(char *made)
{
	const char *folders[] = {getenv("XDG_RUNTIME_DIR"), "/dev/shm"};
	char path[PATH_MAX];
	unsigned salt = 0;

	if (getrandom(&salt, sizeof(salt), GRND_NONBLOCK) < 0)
		salt = (unsigned)clock_monotonic_ns();
	for (unsigned i = 0; i < 2; i++) {
		if (!folders[i] || folders[i][0] != '/')
			continue;
		snprintf(path, sizeof(path), "%.4000s/cudaspy-%d-%08x.live", folders[i],
		         (int)getpid(), salt);
		int fd = make_new(path, made);
		if (fd >= 0 && reservation_holds(fd))
			return fd;
		if (fd >= 0) {
			unlink(made);
			close(fd);
		}
	}
	return -ENOSPC;
}

/* ---- creation ---- */

static int reserve(int fd, uint64_t from, uint64_t bytes)
{
	struct guard guard;

	guard_begin(&guard);
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
		ssize_t n = write(fd, p, bytes < MIB ? bytes : MIB);
		if (n < 0 && errno == EINTR)
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
	uint64_t device;

	if (live < 0)
		return live;
	bool ok = write_all(fd, TF_STUB, sizeof(TF_STUB) - 1) &&
	          write_all(fd, file.live, strlen(file.live)) && write_all(fd, "\n", 1) &&
	          file_identity(fd, &device, &file.published_inode);
	if (!ok || reserve(live, 0, FIRST_BYTES)) {
		int error = errno ? errno : ENOSPC;
		unlink(file.live);
		close(live);
		return -error;
	}
	file.in_memory = true;
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

static bool map_file(int fd)
{
	void *base = MAP_FAILED;

	for (file.reserved = address_space(); file.reserved >= RESERVE_LEAST; file.reserved /= 2) {
		base = mmap(NULL, file.reserved, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
		            fd, 0);
		if (base != MAP_FAILED)
			break;
	}
	if (base == MAP_FAILED)
		return false;
	madvise(base, file.reserved, MADV_DONTDUMP);
	spy_map = (struct tf_map){.base = base, .size = FIRST_BYTES, .alloc = storage_alloc};
	struct tf_header *h = tf_header(&spy_map);
	h->file_end = FIRST_BYTES;
	h->alloc_end = (sizeof(*h) + 4095) / 4096 * 4096;
	return true;
}

bool storage_create(void)
{
	char wanted[PATH_MAX];

	memset(&file, 0, sizeof(file));
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
	int error = -EOPNOTSUPP;
	if (reservation_holds(fd)) {
		strcpy(file.live, file.path);
		error = reserve(fd, 0, FIRST_BYTES);
	}
	if (error == -EOPNOTSUPP) {
		int live = move_to_memory(fd);
		error = live < 0 ? live : 0;
		close(fd);
		fd = live;
	}
	if (!error && (!file_identity(fd, &file.device, &file.inode) || !map_file(fd)))
		error = errno ? -errno : -ENOMEM;
	if (fd >= 0)
		close(fd);
	if (!error)
		return true;
	spy_say("cannot store into %s: %s; nothing is recorded (set CUDASPY_OUT)", file.path,
	        strerror(-error));
	storage_discard();
	return false;
}

void storage_discard(void)
{
	unlink(file.path);
	if (file.in_memory)
		unlink(file.live);
}

/* ---- growth ---- */

/*
 * The file is opened anew for each step: a descriptor kept open could be closed, and its number
 * taken, by a program that tidies up, and we would write into a stranger's file.
 */
static int grow_file(uint64_t from, uint64_t bytes)
{
	uint64_t device = 0, inode = 0, device_now, inode_now;
	int fd = open(file.live, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	int error = -ESTALE;

	if (fd < 0)
		return -errno;
	if (file_identity(fd, &device, &inode) && device == file.device && inode == file.inode)
		error = reserve(fd, from, bytes);
	/* If its number was taken meanwhile, the space is not in our file, and the descriptor not
	 * ours to close. */
	if (!file_identity(fd, &device_now, &inode_now) || device_now != device ||
	    inode_now != inode)
		return -ESTALE;
	close(fd);
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

static uint64_t storage_alloc(struct tf_map *map, uint64_t bytes)
{
	struct tf_header *h = tf_header(map);
	uint64_t offset = 0;
	int saved = errno;

	bytes = (bytes + 63) / 64 * 64;
	spin_lock(&lock);
	uint64_t from = h->alloc_end, end = h->file_end;
	if (bytes > file.reserved || from > file.reserved - bytes)
		goto full;
	if (from + bytes > end) {
		if (file.full_until_ns && clock_monotonic_ns() < file.full_until_ns)
			goto full;
		uint64_t step = step_for(end, from + bytes - end);
		int error = step <= file.reserved - end ? grow_file(end, step) : -ENOMEM;
		if (error &&
		    step <= file.reserved - end) { /* a last try with no more than is needed */
			step = (from + bytes - end + 4095) / 4096 * 4096;
			error = grow_file(end, step);
		}
		if (error) {
			if (!file.full_said)
				spy_say("%s cannot grow: %s; what is known goes on being counted, "
				        "records are thinned",
				        file.path, strerror(-error));
			file.full_said = true;
			file.full_until_ns = clock_monotonic_ns() + RETRY_NS;
			goto full;
		}
		h->file_end = end + step;
		__atomic_store_n(&map->size, end + step, __ATOMIC_RELAXED);
	}
	h->alloc_end = from + bytes;
	offset = from;
full:
	spin_unlock(&lock);
	if (!offset)
		spy_count_trouble(SPY_TROUBLE_FILE_FULL);
	else if (bytes >= POPULATE_BYTES) /* pages of kept records: no fault for each of them */
		madvise(map->base + from / 4096 * 4096, bytes, MADV_POPULATE_WRITE);
	errno = saved;
	return offset;
}

/* ---- the end ---- */

void storage_publish(void)
{
	char part[PATH_MAX + 8];
	uint64_t device, inode;

	if (!file.in_memory || !spy_map.base)
		return;
	/* Only over our own stub (or earlier copy): whoever put another file there keeps it. */
	int fd = open(file.path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	bool ours = fd >= 0 && file_identity(fd, &device, &inode) && inode == file.published_inode;
	if (fd >= 0)
		close(fd);
	if (!ours)
		return;
	snprintf(part, sizeof(part), "%s.part", file.path);
	fd = open(part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return;
	bool ok = write_all(fd, spy_map.base, tf_header(&spy_map)->alloc_end) &&
	          file_identity(fd, &device, &inode);
	ok = !close(fd) && ok;
	if (!ok || rename(part, file.path)) {
		if (!file.copy_said)
			spy_say("cannot copy the recording to %s: %s; it stays in %s", file.path,
			        strerror(errno), file.live);
		file.copy_said = true;
		unlink(part);
		return;
	}
	file.published_inode = inode;
	unlink(file.live);
}

void storage_after_fork(void)
{
	lock.taken = 0;
}
