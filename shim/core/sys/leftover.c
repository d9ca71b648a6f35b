/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/core/sys/leftover.h"

#include <errno.h>
#include <limits.h>
#include <linux/magic.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include "shim/core/sys/open_above.h"
#include "shim/core/sys/same_file.h"
#include "shim/core/format/trace_format.h"

#define PART  ".part"
#define PIECE (64ll << 20)   /* of one system call's copying */
#define MOST  (256ull << 20) /* bytes that the start of one process moves */

/* struct statx has grown in the headers; this much of it is everywhere. */
struct identity {
	struct file_id file;
	uint64_t size;
	int64_t modified_s;
	uint32_t modified_ns, mode, owner;
};

/* Too much for the stack of a guest. */
struct work {
	struct identity live, stub;
	char stub_path[PATH_MAX];
	char part_path[PATH_MAX + sizeof(PART)];
	char wanted[PATH_MAX + sizeof(TF_STUB) + 1]; /* what the stub must say */
	char text[PATH_MAX + sizeof(TF_STUB) + 1];
	struct tf_header head;
	char path[PATH_MAX];
	char entries[16384]; /* of a folder */
};

/* As the kernel has it; the name follows. */
struct entry {
	uint64_t inode, next;
	uint16_t bytes;
	uint8_t type;
	char name[];
};

static int open_raw(const char *path, int flags)
{
	return open_above(path, flags | O_NOFOLLOW, 0600);
}

static void close_raw(int fd)
{
	if (fd >= 0)
		syscall(SYS_close, fd);
}

static void unlink_raw(const char *path)
{
	syscall(SYS_unlinkat, AT_FDCWD, path, 0);
}

static bool identify(int fd, struct identity *id)
{
	struct statx sx;

	if (syscall(SYS_statx, fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &sx))
		return false;
	*id = (struct identity){.file = file_id(&sx),
	                        .size = sx.stx_size,
	                        .modified_s = sx.stx_mtime.tv_sec,
	                        .modified_ns = sx.stx_mtime.tv_nsec,
	                        .mode = sx.stx_mode,
	                        .owner = sx.stx_uid};
	return true;
}

static bool is_own_file(const struct identity *id)
{
	return (id->mode & S_IFMT) == S_IFREG && id->owner == (uint32_t)syscall(SYS_geteuid);
}

/* The file systems that live data is made on. On layered ones a lease says nothing of mappings. */
static bool tells_of_mappings(int fd)
{
	struct statfs fs;

	if (syscall(SYS_fstatfs, fd, &fs))
		return false;
	return (unsigned long)fs.f_type == TMPFS_MAGIC ||
	       (unsigned long)fs.f_type == EXT4_SUPER_MAGIC ||
	       (unsigned long)fs.f_type == XFS_SUPER_MAGIC;
}

enum use { UNUSED, USED, UNKNOWN };

static enum use use_of(int fd)
{
	struct identity id;

	if (!identify(fd, &id) || !is_own_file(&id) || !tells_of_mappings(fd))
		return UNKNOWN;
	/* Who opens the file for writing just now would make the kernel send a signal: one that
	 * does nothing. */
	if (syscall(SYS_fcntl, fd, F_SETSIG, SIGURG))
		return UNKNOWN;
	if (syscall(SYS_fcntl, fd, F_SETLEASE, F_RDLCK))
		return errno == EAGAIN ? USED : UNKNOWN;
	syscall(SYS_fcntl, fd, F_SETLEASE, F_UNLCK);
	return UNUSED;
}

bool leftover_unused(int fd)
{
	return use_of(fd) == UNUSED;
}

bool leftover_used(int fd)
{
	return use_of(fd) == USED;
}

static bool read_at(int fd, void *to, uint64_t bytes, uint64_t at)
{
	return syscall(SYS_pread64, fd, to, bytes, at) == (long)bytes;
}

/* ---- the file that a copy is written into ---- */

static bool stands_at(int fd, const char *path)
{
	int there = open_raw(path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
	struct file_id id;
	bool same = there >= 0 && identify_file(there, &id) && is_file(fd, &id);

	close_raw(there);
	return same;
}

/* As much of a recording as a copy came to, perhaps nothing. */
static bool is_part(int fd)
{
	char begins[sizeof(TF_MAGIC) - 1];
	struct identity id;

	if (!identify(fd, &id) || !is_own_file(&id))
		return false;
	uint64_t bytes = id.size < sizeof(begins) ? id.size : sizeof(begins);
	return read_at(fd, begins, bytes, 0) && !memcmp(begins, TF_MAGIC, bytes);
}

/* Where files have no locks nobody takes one for left behind. */
static bool lock_new(int fd)
{
	return !syscall(SYS_flock, fd, LOCK_EX | LOCK_NB) || errno == ENOLCK ||
	       errno == EOPNOTSUPP || errno == ENOSYS || errno == EINVAL;
}

/* Removes a part whose maker was killed: he would hold its lock. */
static void remove_stale(const char *path)
{
	int fd = open_raw(path, O_RDWR | O_NONBLOCK | O_NOCTTY);

	/* Once the lock is had, a maker may have been done in the meantime: then another file has
	 * the name, or none. */
	if (fd >= 0 && is_part(fd) && !syscall(SYS_flock, fd, LOCK_EX | LOCK_NB) &&
	    stands_at(fd, path))
		unlink_raw(path);
	close_raw(fd);
}

int leftover_open_part(const char *path)
{
	const int flags = O_RDWR | O_CREAT | O_EXCL;
	int fd = open_raw(path, flags);

	if (fd < 0 && errno == EEXIST) {
		remove_stale(path);
		fd = open_raw(path, flags);
	}
	/* Before it was locked somebody may have taken it for left behind. */
	if (fd >= 0 && !(lock_new(fd) && stands_at(fd, path))) {
		close_raw(fd);
		errno = EEXIST;
		return -1;
	}
	return fd;
}

bool leftover_is_written(int part)
{
	int same = (int)syscall(SYS_fcntl, part, F_DUPFD_CLOEXEC, STREAMS);

	return same >= 0 && !syscall(SYS_close, same);
}

/* ---- leftovers ---- */

/* Where the recording says that the user wants it. */
static bool read_path(int fd, struct work *w)
{
	const struct tf_header *h = &w->head;
	uint32_t bytes;

	if (w->live.size < sizeof(*h) || !read_at(fd, &w->head, sizeof(*h), 0) ||
	    memcmp(h->magic, TF_MAGIC, sizeof(h->magic)) || h->version != TF_VERSION ||
	    h->endian != TF_ENDIAN)
		return false;
	if (!h->out_path || h->out_path > w->live.size - sizeof(bytes) ||
	    !read_at(fd, &bytes, sizeof(bytes), h->out_path) || !bytes ||
	    bytes >= sizeof(w->stub_path) ||
	    !read_at(fd, w->stub_path, bytes, h->out_path + sizeof(bytes)))
		return false;
	w->stub_path[bytes] = '\0';
	return strlen(w->stub_path) == bytes && w->stub_path[0] == '/';
}

/* The stub is a file of this user's that names the live data. */
static bool look_at_stub(struct work *w, struct identity *id)
{
	int fd = open_raw(w->stub_path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
	uint64_t bytes = strlen(w->wanted);
	bool names = fd >= 0 && identify(fd, id) && is_own_file(id) && id->size == bytes &&
	             read_at(fd, w->text, bytes, 0) && !memcmp(w->text, w->wanted, bytes);

	close_raw(fd);
	return names;
}

/* All that was handed out; of what is open also its length, by which a cut shows. */
static bool copy(int from, int to, const struct work *w)
{
	const struct tf_header *h = &w->head;
	uint64_t bytes = h->alloc_end < w->live.size ? h->alloc_end : w->live.size;
	int64_t at = 0;
	const int64_t times[4] = {w->live.modified_s, w->live.modified_ns, w->live.modified_s,
	                          w->live.modified_ns};

	while ((uint64_t)at < bytes) {
		int64_t left = (int64_t)bytes - at;
		if (syscall(SYS_sendfile, to, from, &at, left < PIECE ? left : PIECE) <= 0)
			return false;
	}
	if (h->state == TF_STATE_OPEN && syscall(SYS_ftruncate, to, w->live.size))
		return false;
	/* A run is not newer for having been tidied up. */
	syscall(SYS_utimensat, to, NULL, times, 0);
	return true;
}

static bool put_in_place(int live, const char *live_path, struct work *w)
{
	struct identity now;
	int part = leftover_open_part(w->part_path);

	if (part < 0)
		return false;
	bool copied = copy(live, part, w) && leftover_is_written(part);
	/* Only over the stub: whoever put another file there keeps it. */
	if (!copied || !leftover_unused(live) || !look_at_stub(w, &now) ||
	    !same_file(&now.file, &w->stub.file) ||
	    syscall(SYS_renameat, AT_FDCWD, w->part_path, AT_FDCWD, w->stub_path)) {
		unlink_raw(w->part_path);
		close_raw(part);
		return false;
	}
	close_raw(part);
	int again = open_raw(live_path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
	if (again >= 0 && is_file(again, &w->live.file))
		unlink_raw(live_path);
	close_raw(again);
	return true;
}

static bool move(const char *live, struct work *w)
{
	int fd = open_raw(live, O_RDONLY | O_NONBLOCK | O_NOCTTY);
	bool moved = false;

	if (fd >= 0 && identify(fd, &w->live) && leftover_unused(fd) && read_path(fd, w)) {
		strcpy(w->wanted, TF_STUB);
		strcat(w->wanted, live);
		strcat(w->wanted, "\n");
		strcpy(w->part_path, w->stub_path);
		strcat(w->part_path, PART);
		moved = look_at_stub(w, &w->stub) && put_in_place(fd, live, w);
	}
	close_raw(fd);
	return moved;
}

static struct work *new_work(void)
{
	long at = syscall(SYS_mmap, NULL, sizeof(struct work), PROT_READ | PROT_WRITE,
	                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return at == -1 ? NULL : (struct work *)at;
}

bool leftover_move(const char *live)
{
	struct work *w = live[0] == '/' && strlen(live) < PATH_MAX ? new_work() : NULL;
	bool moved = w && move(live, w);

	if (w)
		syscall(SYS_munmap, w, sizeof(*w));
	return moved;
}

static bool is_live_name(const char *name)
{
	const uint64_t length = strlen(name), begins = strlen(LEFTOVER_BEGINS),
	               ends = strlen(LEFTOVER_ENDS);

	return length > begins + ends && !memcmp(name, LEFTOVER_BEGINS, begins) &&
	       !memcmp(name + length - ends, LEFTOVER_ENDS, ends);
}

/* What one reading of the folder gave; returns how many bytes were moved. */
static uint64_t move_entries(const char *folder, struct work *w, long bytes)
{
	uint64_t moved = 0;
	const struct entry *e;

	for (long at = 0; at < bytes && moved < MOST; at += e->bytes) {
		e = (const struct entry *)(w->entries + at);
		uint64_t length = strlen(folder);
		if (!is_live_name(e->name) || length + strlen(e->name) + 2 > sizeof(w->path))
			continue;
		memcpy(w->path, folder, length);
		w->path[length] = '/';
		strcpy(w->path + length + 1, e->name);
		if (move(w->path, w))
			moved += w->live.size;
	}
	return moved;
}

void leftover_tidy(const char *folder)
{
	int fd = folder[0] == '/' ? open_above(folder, O_RDONLY | O_DIRECTORY, 0) : -1;
	struct work *w = fd >= 0 ? new_work() : NULL;
	uint64_t moved = 0;
	long bytes;

	while (w && moved < MOST &&
	       (bytes = syscall(SYS_getdents64, fd, w->entries, sizeof(w->entries))) > 0)
		moved += move_entries(folder, w, bytes);
	if (w)
		syscall(SYS_munmap, w, sizeof(*w));
	close_raw(fd);
}
