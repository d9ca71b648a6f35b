/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ANSWER_MOST_MS 120000 /* a process that says nothing for so long hangs */

static void put_environment(child_environment extra)
{
	for (; extra && *extra; extra++)
		putenv((char *)*extra);
}

static void to_file(const char *path, int fd)
{
	int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	if (file >= 0 && dup2(file, fd) >= 0)
		close(file);
}

bool child_start(struct child *c, const char *const *argv, child_environment extra,
                 const char *messages)
{
	int to[2], from[2];

	if (pipe2(to, O_CLOEXEC) || pipe2(from, O_CLOEXEC))
		return false;
	c->pid = fork();
	if (c->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		put_environment(extra);
		dup2(to[0], STDIN_FILENO);
		dup2(from[1], STDOUT_FILENO);
		to_file(messages, STDERR_FILENO);
		execvp(argv[0], (char *const *)argv);
		_exit(127);
	}
	close(to[0]);
	close(from[1]);
	c->to = fdopen(to[1], "w");
	c->from = fdopen(from[0], "r");
	return c->pid > 0 && c->to && c->from;
}

double child_ask(struct child *c, const char *burst, unsigned long calls, unsigned bursts,
                 unsigned pause_us)
{
	struct pollfd answer = {.events = POLLIN};
	double ns;

	if (!c->pid)
		return -1;
	answer.fd = fileno(c->from);
	fprintf(c->to, "%s %lu %u %u\n", burst, calls, bursts, pause_us);
	fflush(c->to);
	if (poll(&answer, 1, ANSWER_MOST_MS) != 1 || fscanf(c->from, "%lf", &ns) != 1)
		return -1;
	return ns;
}

int child_end(struct child *c)
{
	int status = 0;

	if (!c->pid)
		return -1;
	fclose(c->to);
	while (fgetc(c->from) != EOF)
		;
	fclose(c->from);
	waitpid(c->pid, &status, 0);
	c->pid = 0;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* ---- commands
 * -------------------------------------------------------------------------------------------------------
 */

static double now_s(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

/* Pages of the process's own, now. Mapped files are not among them: those are the page cache's. */
static void look_at_memory(pid_t pid, unsigned long *most)
{
	char path[64], line[256];
	unsigned long kib = 0;

	snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", (int)pid);
	FILE *f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "Anonymous: %lu kB", &kib) == 1)
			break;
	if (f)
		fclose(f);
	if (kib > *most)
		*most = kib;
}

static double seconds(struct timeval t)
{
	return (double)t.tv_sec + (double)t.tv_usec * 1e-6;
}

/* Waits for a traced child, looking at its memory now and then, and when it is about to end. */
static int wait_and_look(pid_t pid, unsigned long *most, struct rusage *took)
{
	int status = 0;

	waitpid(pid, &status, 0); /* it has called exec */
	ptrace(PTRACE_SETOPTIONS, pid, NULL, (void *)(PTRACE_O_TRACEEXIT | PTRACE_O_EXITKILL));
	ptrace(PTRACE_CONT, pid, NULL, NULL);
	while (pid > 0) {
		pid_t got = wait4(pid, &status, WNOHANG, took);
		if (got < 0 || (got == pid && !WIFSTOPPED(status)))
			break;
		look_at_memory(pid, most);
		if (got == pid) {
			int signal = status >> 16 ? 0 : WSTOPSIG(status);
			ptrace(PTRACE_CONT, pid, NULL, (void *)(long)signal);
		} else {
			usleep(1000);
		}
	}
	return status;
}

int child_run(const char *const *argv, child_environment extra, struct spent *spent, bool watch)
{
	double start = now_s();
	pid_t pid = fork();
	struct rusage took = {0};
	int status = 0;

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		if (watch)
			ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		put_environment(extra);
		to_file("/dev/null", STDOUT_FILENO);
		to_file("/dev/null", STDERR_FILENO);
		execvp(argv[0], (char *const *)argv);
		_exit(127);
	}
	spent->anonymous_kib = 0;
	if (watch)
		status = wait_and_look(pid, &spent->anonymous_kib, &took);
	else
		wait4(pid, &status, 0, &took);
	spent->cpu_s = seconds(took.ru_utime) + seconds(took.ru_stime);
	spent->wall_s = now_s() - start;
	return pid > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

const char *child_find(const char *program)
{
	static char path[4096];
	const char *folders = getenv("PATH");

	while (folders && *folders) {
		size_t n = strcspn(folders, ":");
		snprintf(path, sizeof(path), "%.*s/%s", (int)n, folders, program);
		if (!access(path, X_OK))
			return path;
		folders += n + (folders[n] == ':');
	}
	return NULL;
}
