#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/alloc.h"
#include "report/reader.h"
#include "report/reader_check.h"
#include "shim/drain.h"
#include "shim/steps.h"
#include "shim/timeline.h"

/* What the drain may need beyond the file: histograms, and pages of kept records. Only what is used
 * takes memory. */
#define ARENA_BYTES (256ull << 20)
#define FILE_MOST   (1ull << 46)

/* The mapping that SIGBUS is expected in; one recording is read at a time. */
static struct {
	uint8_t *volatile base;
	volatile uint64_t bytes;
	volatile sig_atomic_t shrank;
	struct sigaction before;
} guard;

void warn(struct warnings *w, const char *format, ...)
{
	va_list args;
	char line[512];

	if (w->count >= WARNINGS_MOST) {
		w->left_out++;
		return;
	}
	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	ALLOC_ROOM(w->text, w->count);
	w->text[w->count++] = alloc_copy(line, strlen(line));
}

void warnings_free(struct warnings *w)
{
	for (size_t i = 0; i < w->count; i++)
		free(w->text[i]);
	free(w->text);
	*w = (struct warnings){0};
}

static uint64_t page_up(uint64_t bytes)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	return (bytes + page - 1) / page * page;
}

/*
 * The file ends before its mapping does: somebody cut it while it was read. Zeros take the place of
 * what is gone, and the recording is given up once the reader comes to it. A fault anywhere else is
 * what it always was.
 */
static void on_bus_error(int signal, siginfo_t *info, void *context)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint8_t *at = info->si_addr;

	if (guard.base && at >= guard.base && at < guard.base + guard.bytes) {
		uint8_t *start = (uint8_t *)((uintptr_t)at / page * page);
		guard.shrank = 1;
		if (mmap(start, page, PROT_READ | PROT_WRITE,
		         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED)
			return;
	}
	sigaction(SIGBUS, &guard.before, NULL);
}

static void guard_start(struct recording *r)
{
	struct sigaction action = {.sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO};

	guard.base = r->map.base;
	guard.bytes = r->file_bytes;
	guard.shrank = 0;
	sigaction(SIGBUS, &action, &guard.before);
}

static void guard_stop(void)
{
	if (guard.base)
		sigaction(SIGBUS, &guard.before, NULL);
	guard.base = NULL;
}

bool recording_shrank(const struct recording *r)
{
	return guard.base == r->map.base && guard.shrank;
}

/* The drain's allocator: zeroed memory behind the file. */
static uint64_t arena_alloc(struct tf_map *map, uint64_t bytes)
{
	struct recording *r = (struct recording *)map;
	uint64_t offset = r->arena_end;

	if (!bytes || bytes > r->mapped_bytes - offset)
		return 0;
	r->arena_end = offset + (bytes + 63) / 64 * 64;
	if (r->arena_end > r->mapped_bytes)
		r->arena_end = r->mapped_bytes;
	map->size = offset + bytes;
	return offset;
}

/* Address space for the file and the arena; 0 or -errno. */
static int reserve(struct recording *r, uint64_t file_bytes)
{
	if (file_bytes > FILE_MOST)
		return -EFBIG;
	r->file_bytes = file_bytes;
	r->arena_end = page_up(file_bytes);
	r->mapped_bytes = r->arena_end + ARENA_BYTES;
	void *base = mmap(NULL, r->mapped_bytes, PROT_READ | PROT_WRITE,
	                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (base == MAP_FAILED)
		return -errno;
	r->map = (struct tf_map){.base = base, .size = file_bytes, .alloc = arena_alloc};
	return 0;
}

/* Makes the header's pages private: it stays as it was now, while its process goes on. */
static void snapshot_header(struct recording *r)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	for (uint64_t at = 0; at < sizeof(struct tf_header) && at < r->file_bytes; at += page) {
		volatile uint8_t *byte = r->map.base + at;
		*byte = *byte;
	}
}

/* What a killed process left in its rings, through the code that its collector would have run. */
static void take_what_is_left(struct recording *r)
{
	struct drain drain = {
	        .map = &r->map, .timeline = timeline_new(&r->map), .steps = steps_new()};

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
	r->patterns = tf_count(&tf_header(&r->map)->patterns);
}

static int check_and_drain(struct recording *r, char error[READER_ERROR_BYTES])
{
	snapshot_header(r);
	if (reader_check_header(r, error))
		return -1;
	reader_check_tables(r);
	take_what_is_left(r);
	if (recording_shrank(r)) {
		snprintf(error, READER_ERROR_BYTES, "it became shorter while it was read");
		return -1;
	}
	return 0;
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
	return text[8] == '/' ? alloc_copy(text + 8, strlen(text + 8)) : NULL;
}

/* Opens the file or what its stub leads to; -1 and one line where that is not possible. */
static int open_file(const char *path, char **real_path, char error[READER_ERROR_BYTES])
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	char *target;

	if (fd < 0) {
		snprintf(error, READER_ERROR_BYTES, "%s", strerror(errno));
		return -1;
	}
	*real_path = target = stub_target(fd);
	if (!target) {
		*real_path = alloc_copy(path, strlen(path));
		return fd;
	}
	close(fd);
	fd = open(target, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0)
		snprintf(error, READER_ERROR_BYTES, "a stub for %.300s, which cannot be opened: %s",
		         target, strerror(errno));
	return fd;
}

int recording_open(struct recording *r, const char *path, struct warnings *warnings,
                   char error[READER_ERROR_BYTES])
{
	struct stat st;

	*r = (struct recording){.warnings = warnings};
	int fd = open_file(path, &r->path, error);
	if (fd < 0) {
		recording_close(r);
		return -1;
	}
	int rc = fstat(fd, &st) ? -errno : S_ISREG(st.st_mode) ? 0 : -EINVAL;
	if (rc == -EINVAL)
		snprintf(error, READER_ERROR_BYTES, "not a regular file");
	else if (!rc && st.st_size < (off_t)sizeof(uint64_t))
		snprintf(error, READER_ERROR_BYTES, "not a cudaspy recording");
	else if (!rc && (rc = reserve(r, (uint64_t)st.st_size)) == 0 &&
	         mmap(r->map.base, (size_t)st.st_size, PROT_READ | PROT_WRITE,
	              MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, fd, 0) == MAP_FAILED)
		rc = -errno;
	if (rc && rc != -EINVAL)
		snprintf(error, READER_ERROR_BYTES, "%s", strerror(-rc));
	r->device = st.st_dev;
	r->inode = st.st_ino;
	close(fd);
	if (rc || !r->map.base) {
		recording_close(r);
		return -1;
	}
	guard_start(r);
	if (check_and_drain(r, error)) {
		recording_close(r);
		return -1;
	}
	return 0;
}

int recording_from_memory(struct recording *r, const void *data, size_t bytes,
                          struct warnings *warnings, char error[READER_ERROR_BYTES])
{
	*r = (struct recording){.warnings = warnings, .path = alloc_copy("(memory)", 8)};
	int rc = reserve(r, bytes);
	if (rc) {
		snprintf(error, READER_ERROR_BYTES, "%s", strerror(-rc));
	} else {
		memcpy(r->map.base, data, bytes);
		rc = check_and_drain(r, error);
	}
	if (rc)
		recording_close(r);
	return rc ? -1 : 0;
}

void recording_close(struct recording *r)
{
	guard_stop();
	if (r->map.base)
		munmap(r->map.base, r->mapped_bytes);
	free(r->path);
	*r = (struct recording){0};
}

const struct tf_thread *recording_thread(const struct recording *r, uint32_t index)
{
	const struct tf_header *h = tf_header(&r->map);
	const uint64_t *offset = tf_entry(&r->map, &h->threads, index, sizeof(*offset));

	return offset && *offset ? tf_at(&r->map, *offset, h->thread_bytes) : NULL;
}

bool recording_identify(const char *path, struct recording_id *id)
{
	struct tf_header h;
	struct stat st;
	char error[READER_ERROR_BYTES], *real_path = NULL;
	int fd = open_file(path, &real_path, error);
	bool good = false;

	if (fd >= 0) {
		/* The header is larger than what is asked of it: its beginning is enough. */
		size_t wanted = offsetof(struct tf_header, boot_id);
		good = !fstat(fd, &st) && S_ISREG(st.st_mode) &&
		       pread(fd, &h, wanted, 0) == (ssize_t)wanted &&
		       !memcmp(h.magic, TF_MAGIC, sizeof(h.magic));
		close(fd);
	}
	free(real_path);
	if (!good)
		return false;
	snprintf(id->run_id, sizeof(id->run_id), "%.*s", (int)sizeof(h.run_id), h.run_id);
	id->pid = h.pid;
	id->modified_ns = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
	return true;
}
