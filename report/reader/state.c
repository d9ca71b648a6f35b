/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "report/reader/state.h"
#include "shim/core/sys/leftover.h"

#define PF_EXITING 0x4u /* of the kernel: in /proc/PID/stat */

/* One line of a small file, without its newline; false when it cannot be read. */
static bool first_line(const char *path, char *line, size_t bytes)
{
	FILE *f = fopen(path, "re");
	bool good = f && fgets(line, (int)bytes, f);

	if (f)
		fclose(f);
	if (good)
		line[strcspn(line, "\n")] = '\0';
	return good;
}

static bool same_machine(const struct tf_header *h)
{
	char boot_id[64] = "";

	return first_line("/proc/sys/kernel/random/boot_id", boot_id, sizeof(boot_id)) &&
	       strlen(boot_id) < sizeof(h->boot_id) &&
	       !strncmp(boot_id, h->boot_id, sizeof(h->boot_id));
}

const char *const process_state_names[] = {
        [PROCESS_COMPLETE] = "complete",
        [PROCESS_ENDED] = "ended",
        [PROCESS_KILLED] = "killed",
        [PROCESS_RUNNING] = "running",
};

struct task {
	char state;
	unsigned flags;
	unsigned long long start;
};

/* Fields 3, 9 and 22 of a stat file. The second field is a name in brackets that may itself hold
 * brackets and blanks. */
static bool read_task(const char *path, struct task *t)
{
	char line[1024];
	const char *after;

	return first_line(path, line, sizeof(line)) && (after = strrchr(line, ')')) &&
	       sscanf(after + 1,
	              " %c %*d %*d %*d %*d %*d %u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d "
	              "%llu",
	              &t->state, &t->flags, &t->start) == 3;
}

/* SIGKILL is on its way to this thread: it runs nothing of the program any more, or soon will not.
 */
static bool is_killed(const char *task)
{
	char path[128], line[256];
	unsigned long long set, all = 0;

	snprintf(path, sizeof(path), "%s/status", task);
	FILE *f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "SigPnd: %llx", &set) == 1 ||
		    sscanf(line, "ShdPnd: %llx", &set) == 1)
			all |= set;
	if (f)
		fclose(f);
	return all >> (SIGKILL - 1) & 1;
}

/* Whether the process maps the recording. Where its maps may not be read, the start time has to do.
 */
static bool maps_recording(const char *task, const struct recording *r)
{
	char path[128], line[8192];
	bool found = false;

	snprintf(path, sizeof(path), "%s/maps", task);
	FILE *f = fopen(path, "re");
	if (!f)
		return errno == EACCES || errno == EPERM;
	while (!found && fgets(line, sizeof(line), f)) {
		unsigned int dev_major, dev_minor;
		unsigned long long inode;
		/* The device may be named otherwise here (btrfs, overlay): the inode and the path
		 * decide. */
		if (sscanf(line, "%*s %*s %*s %x:%x %llu", &dev_major, &dev_minor, &inode) == 3 &&
		    inode == r->inode && inode) {
			const char *at = strchr(line, '/'), *base = strrchr(r->path, '/');
			found = makedev(dev_major, dev_minor) == r->device ||
			        (at && strstr(at, base ? base : r->path));
		}
	}
	fclose(f);
	return found;
}

enum life {
	LIFE_NONE,  /* there is no such process, or it only waits to be asked for its status */
	LIFE_DYING, /* it ends just now */
	LIFE_RUNS
};

/* Of one thread. A process whose first thread has ended goes on with the others. */
static enum life life_of_task(const char *task)
{
	char path[128];
	struct task t;

	snprintf(path, sizeof(path), "%s/stat", task);
	if (!read_task(path, &t) || t.state == 'Z' || t.state == 'X')
		return LIFE_NONE;
	return t.flags & PF_EXITING || is_killed(task) ? LIFE_DYING : LIFE_RUNS;
}

/* Processes have other numbers here than where this one runs or ran: a container's. */
static bool is_elsewhere(const struct recording *r)
{
	const uint64_t theirs = tf_header(&r->map)->pid_namespace;
	struct stat st;

	return theirs && !stat("/proc/self/ns/pid", &st) && st.st_ino != theirs;
}

/* Whether somebody writes to it: the process, or a child that it forked and that outlived it. */
static enum life life_elsewhere(const struct recording *r)
{
	int fd = open(r->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	bool used = fd >= 0 && !fstat(fd, &st) && st.st_ino == r->inode && st.st_dev == r->device &&
	            leftover_used(fd);

	if (fd >= 0)
		close(fd);
	return used ? LIFE_RUNS : LIFE_NONE;
}

static enum life life_of(const struct recording *r)
{
	const struct tf_header *h = tf_header(&r->map);
	enum life life = LIFE_NONE;
	struct dirent *entry;
	char path[64], task[96];
	struct task t;

	if (!r->inode || !same_machine(h) || !h->pid || h->pid > INT32_MAX)
		return LIFE_NONE;
	if (is_elsewhere(r))
		return life_elsewhere(r);
	snprintf(path, sizeof(path), "/proc/%d/stat", (int)h->pid);
	if (!read_task(path, &t) || t.start != h->pid_start)
		return LIFE_NONE;
	snprintf(path, sizeof(path), "/proc/%d/task", (int)h->pid);
	DIR *d = opendir(path);
	while (d && life != LIFE_RUNS && (entry = readdir(d))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(task, sizeof(task), "%s/%.20s", path, entry->d_name);
		enum life one = life_of_task(task);
		/* One that has become another program maps the recording no more. */
		if (one == LIFE_RUNS && !maps_recording(task, r))
			one = LIFE_NONE;
		life = one > life ? one : life;
	}
	if (d)
		closedir(d);
	return life;
}

bool state_runs(const struct recording *r)
{
	const struct tf_header *h = tf_header(&r->map);

	return (h->state == TF_STATE_OPEN || h->seal.state != TF_SEAL_WHOLE) &&
	       life_of(r) == LIFE_RUNS;
}

bool state_dying(const struct recording *r)
{
	return tf_header(&r->map)->state == TF_STATE_OPEN && life_of(r) == LIFE_DYING;
}

enum process_state state_of(const struct recording *r)
{
	const struct tf_header *h = tf_header(&r->map);

	if (h->state == TF_STATE_CLOSED)
		return PROCESS_COMPLETE;
	if (r->live)
		return PROCESS_RUNNING;
	return h->left ? PROCESS_ENDED : PROCESS_KILLED;
}

double state_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}
