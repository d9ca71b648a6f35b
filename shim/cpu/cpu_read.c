/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/cpu/cpu_read.h"

#include <string.h>
#include "shim/base/numbers.h"
#include "shim/base/sys.h"

#define PATH_BYTES 1024u
#define TEXT_BYTES 4096u /* of /proc/self/cgroup: a line for each hierarchy */

const char *cpu_read_root = "";

/* ---- texts ---- */

struct path {
	char text[PATH_BYTES];
	unsigned length;
	bool cut; /* it was longer: no path */
};

static void path_add(struct path *p, const char *text, unsigned length)
{
	if (length >= PATH_BYTES - p->length) {
		p->cut = true;
		return;
	}
	memcpy(p->text + p->length, text, length);
	p->length += length;
	p->text[p->length] = 0;
}

static void path_add_text(struct path *p, const char *text)
{
	path_add(p, text, (unsigned)strlen(text));
}

static void path_start(struct path *p, const char *text)
{
	p->length = 0;
	p->text[0] = 0;
	p->cut = false;
	path_add_text(p, cpu_read_root);
	path_add_text(p, text);
}

static void path_add_number(struct path *p, uint64_t n)
{
	char digits[20];
	unsigned i = sizeof(digits);

	do
		digits[--i] = (char)('0' + n % 10);
	while (n /= 10);
	path_add(p, digits + i, (unsigned)sizeof(digits) - i);
}

/* What the file begins with, and a NUL; false where it cannot be read. */
static bool read_text(const struct path *p, char *to, unsigned room)
{
	unsigned length = 0;
	long n = 0;

	if (p->cut)
		return false;
	int fd = sys_open(p->text, O_RDONLY, 0);
	if (fd < 0)
		return false;
	while (length < room - 1 && (n = sys_read(fd, to + length, room - 1 - length)) > 0)
		length += (unsigned)n;
	sys_close(fd);
	to[length] = 0;
	return n >= 0 && length > 0;
}

/* ---- threads and CPUs ---- */

bool cpu_read_wait(uint64_t tid, uint64_t *ns)
{
	char text[96];
	const char *at = text;
	struct path p;
	uint64_t ran;

	path_start(&p, tid ? "/proc/self/task/" : "/proc/thread-self");
	if (tid)
		path_add_number(&p, tid);
	path_add_text(&p, "/schedstat");
	/* Time on a CPU, time waiting for one, turns. All 0: the kernel was told not to count. */
	return read_text(&p, text, sizeof(text)) && number_next(&at, &ran) &&
	       number_next(&at, ns) && (ran || *ns);
}

unsigned cpu_read_cores(uint64_t tid)
{
	uint64_t mask[128]; /* 8192 CPUs */
	long bytes = syscall(SYS_sched_getaffinity, (pid_t)tid, sizeof(mask), mask);
	unsigned cores = 0;

	for (long i = 0; i < bytes / 8; i++)
		cores += (unsigned)__builtin_popcountll(mask[i]);
	return cores;
}

unsigned cpu_read_online(void)
{
	char text[512];
	const char *at = text;
	uint64_t from, to, cores = 0;
	struct path p;

	path_start(&p, "/sys/devices/system/cpu/online");
	if (!read_text(&p, text, sizeof(text)))
		return 0;
	while (number_next(&at, &from)) { /* "0-3,8" */
		to = from;
		if (*at == '-' && (at++, !number_next(&at, &to)))
			return 0;
		cores += to >= from ? to - from + 1 : 0;
		at += *at == ',';
	}
	return (unsigned)cores;
}

/* ---- cgroups ---- */

struct hierarchy {
	bool v2;
	const char *mounts[4]; /* where it may be; ends with NULL */
};

static const struct hierarchy v1 = {
        false, {"/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct", "/sys/fs/cgroup/cpuacct,cpu"}};
static const struct hierarchy v2 = {true, {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"}};

/* Whether "cpu" is among the controllers, which a comma separates. */
static bool has_cpu(const char *from, const char *end)
{
	for (; from < end; from++) {
		const char *comma = memchr(from, ',', (size_t)(end - from));
		const char *to = comma ? comma : end;
		if (to - from == 3 && !memcmp(from, "cpu", 3))
			return true;
		from = to;
	}
	return false;
}

/* The hierarchy that has the CPU controller, and the process' place in it: "7:cpu,cpuacct:/a/b", or
 * the second version's "0::/a/b" where no line names it. */
static const struct hierarchy *find_place(const char *text, const char **place, unsigned *length)
{
	const struct hierarchy *found = NULL;

	for (const char *line = text; *line;) {
		const char *end = strchrnul(line, '\n'),
		           *list = memchr(line, ':', (size_t)(end - line));
		const char *path = list ? memchr(list + 1, ':', (size_t)(end - list - 1)) : NULL;
		bool cpu = path && has_cpu(list + 1, path);
		if (cpu || (path == list + 1 && !found)) {
			found = cpu ? &v1 : &v2;
			*place = path + 1;
			*length = (unsigned)(end - path - 1);
		}
		if (cpu)
			break;
		line = *end ? end + 1 : end;
	}
	return found;
}

/* "max 100000", "50000 100000"; of the first version two files, of which -1 means no quota. False:
 * there is none, or not to be told. */
static bool read_quota(const struct hierarchy *h, struct path *p, struct cpu_level *to)
{
	const unsigned folder = p->length;
	char text[64];
	const char *at = text;

	path_add_text(p, h->v2 ? "/cpu.max" : "/cpu.cfs_quota_us");
	bool limited = read_text(p, text, sizeof(text)) && number_next(&at, &to->quota_us);
	if (limited && !h->v2) {
		p->length = folder;
		path_add_text(p, "/cpu.cfs_period_us");
		at = text;
		limited = read_text(p, text, sizeof(text));
	}
	limited = limited && number_next(&at, &to->period_us) && to->period_us;
	p->length = folder;
	return limited;
}

static void read_throttling(const struct hierarchy *h, struct path *p, struct cpu_level *to)
{
	const unsigned folder = p->length;
	char text[1024];

	path_add_text(p, "/cpu.stat");
	to->counted =
	        read_text(p, text, sizeof(text)) && number_of(text, "nr_periods", &to->periods) &&
	        number_of(text, "nr_throttled", &to->throttled_periods) &&
	        number_of(text, h->v2 ? "throttled_usec" : "throttled_time", &to->throttled_ns);
	if (h->v2)
		to->throttled_ns *= 1000;
	p->length = folder;
}

static bool exists(struct path *p, const char *file)
{
	const unsigned folder = p->length;

	path_add_text(p, file);
	long found = p->cut ? -1 : syscall(SYS_faccessat, AT_FDCWD, p->text, R_OK);
	p->length = folder;
	p->text[folder] = 0;
	return !found;
}

/*
 * From the process' own cgroup up to the root of what is mounted. In a container the files may be
 * those of a cgroup further down than the place says: folders that are not there are passed by.
 */
static bool climb(const struct hierarchy *h, const char *mount, const char *place, unsigned length,
                  struct cpu_level levels[CPU_LEVELS], unsigned *count)
{
	struct path p;

	path_start(&p, mount);
	const unsigned root = p.length;
	if (!exists(&p, "/cgroup.procs") || memmem(place, length, "/..", 3))
		return false; /* not mounted, or the cgroup lies outside of what is */
	path_add(&p, place, length);
	if (p.cut)
		return false;
	for (;;) {
		while (p.length > root && p.text[p.length - 1] == '/')
			p.length--;
		p.text[p.length] = 0;
		struct cpu_level level = {0};
		if (*count < CPU_LEVELS && read_quota(h, &p, &level)) {
			read_throttling(h, &p, &level);
			levels[(*count)++] = level;
		}
		if (p.length <= root)
			return true;
		while (p.length > root && p.text[p.length - 1] != '/')
			p.length--;
	}
}

bool cpu_read_limits(struct cpu_level levels[CPU_LEVELS], unsigned *count)
{
	static char text[TEXT_BYTES]; /* one reader at a time: cpu.c */
	const char *place;
	unsigned length;
	struct path p;

	*count = 0;
	path_start(&p, "/proc/self/cgroup");
	if (!read_text(&p, text, sizeof(text)))
		return false;
	const struct hierarchy *h = find_place(text, &place, &length);
	for (unsigned i = 0; h && h->mounts[i]; i++)
		if (climb(h, h->mounts[i], place, length, levels, count))
			return true;
	return false;
}
