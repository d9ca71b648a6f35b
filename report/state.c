#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "report/state.h"

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

/* Field 22 of /proc/PID/stat. The second field is a name in brackets that may itself hold brackets
 * and blanks. */
static bool start_time_of(uint64_t pid, uint64_t *start)
{
	char path[64], line[1024];
	unsigned long long ticks;

	snprintf(path, sizeof(path), "/proc/%llu/stat", (unsigned long long)pid);
	if (!first_line(path, line, sizeof(line)))
		return false;
	const char *after = strrchr(line, ')');
	if (!after || sscanf(after + 1,
	                     " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d "
	                     "%*d %*d %llu",
	                     &ticks) != 1)
		return false;
	*start = ticks;
	return true;
}

/* Whether the process maps the recording. Where its maps may not be read, the start time has to do.
 */
static bool maps_recording(uint64_t pid, const struct recording *r)
{
	char path[64], line[8192];
	bool found = false;

	snprintf(path, sizeof(path), "/proc/%llu/maps", (unsigned long long)pid);
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
	/* A process that has ended and was not waited for has no maps any more. */
	fclose(f);
	return found;
}

enum process_state state_of(const struct recording *r)
{
	const struct tf_header *h = tf_header(&r->map);
	uint64_t start;

	if (h->state == TF_STATE_CLOSED)
		return PROCESS_COMPLETE;
	if (r->inode && same_machine(h) && h->pid && h->pid <= INT32_MAX &&
	    start_time_of(h->pid, &start) && start == h->pid_start && maps_recording(h->pid, r))
		return PROCESS_RUNNING;
	return PROCESS_KILLED;
}

double state_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}
