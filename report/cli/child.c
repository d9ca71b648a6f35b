/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "report/cli/child.h"

static const int forwarded[] = {SIGHUP,  SIGINT,  SIGQUIT,  SIGTERM,
                                SIGUSR1, SIGUSR2, SIGWINCH, SIGCONT};
#define FORWARDED (sizeof(forwarded) / sizeof(forwarded[0]))

static volatile pid_t child;
static volatile sig_atomic_t caught;

/* What a terminal sends goes to the whole group, so the child has it already. */
static void forward(int signal, siginfo_t *info, void *context)
{
	int saved = errno;

	if (signal != SIGWINCH && signal != SIGCONT)
		caught = signal;
	if (child > 0 && info->si_code != SI_KERNEL)
		kill(child, signal);
	errno = saved;
}

/* In the child: executes the command; on failure tells why through the pipe that a success closes.
 */
static void execute(const struct child *c, int tell, const sigset_t *mask,
                    const struct sigaction *before)
{
	int why;

	for (size_t i = 0; i < FORWARDED; i++)
		sigaction(forwarded[i], &before[i], NULL);
	sigprocmask(SIG_SETMASK, mask, NULL);
	why = c->prepare ? c->prepare(c->context) : 0;
	if (!why) {
		execvp(c->command[0], c->command);
		why = errno;
	}
	while (write(tell, &why, sizeof(why)) < 0 && errno == EINTR)
		;
	_exit(127);
}

static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static double time_ns(struct timeval t)
{
	return (double)t.tv_sec * 1e9 + (double)t.tv_usec * 1e3;
}

static void wait_for(struct child *c, pid_t pid)
{
	struct rusage used;
	int status;

	while (wait4(pid, &status, 0, &used) < 0)
		if (errno != EINTR) {
			c->status = 127;
			return;
		}
	c->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	c->cpu_ns = time_ns(used.ru_utime) + time_ns(used.ru_stime);
}

int child_run(struct child *c)
{
	struct sigaction action = {.sa_sigaction = forward, .sa_flags = SA_SIGINFO | SA_RESTART};
	struct sigaction before[FORWARDED];
	sigset_t block, mask;
	int pipes[2], why = 0;

	if (pipe2(pipes, O_CLOEXEC))
		return errno;
	/* A signal that comes before the child's pid is known waits until it is. */
	sigemptyset(&block);
	for (size_t i = 0; i < FORWARDED; i++)
		sigaddset(&block, forwarded[i]);
	sigprocmask(SIG_BLOCK, &block, &mask);
	caught = 0;
	for (size_t i = 0; i < FORWARDED; i++) {
		sigaction(forwarded[i], NULL, &before[i]);
		if (before[i].sa_handler != SIG_IGN) /* as nohup has it */
			sigaction(forwarded[i], &action, NULL);
	}
	double begin = now_ns();
	pid_t pid = fork();
	if (!pid)
		execute(c, pipes[1], &mask, before);
	if (pid < 0)
		why = errno;
	child = pid;
	sigprocmask(SIG_SETMASK, &mask, NULL);
	close(pipes[1]);
	if (pid > 0) {
		ssize_t n;
		while ((n = read(pipes[0], &why, sizeof(why))) < 0 && errno == EINTR)
			;
		wait_for(c, pid);
	}
	c->wall_ns = now_ns() - begin;
	child = 0; /* its number may be another one's soon */
	close(pipes[0]);
	for (size_t i = 0; i < FORWARDED; i++)
		sigaction(forwarded[i], &before[i], NULL);
	c->caught = caught;
	return why;
}

static int redirect(int from, const char *path, int flags)
{
	int fd = open(path, flags | O_NOCTTY, 0666);

	if (fd < 0)
		return errno;
	int rc = dup2(fd, from) < 0 ? errno : 0;
	if (fd != from)
		close(fd);
	return rc;
}

int child_redirect(const char *path, int flags)
{
	int rc = redirect(STDIN_FILENO, "/dev/null", O_RDONLY);

	rc = rc ? rc : redirect(STDOUT_FILENO, path, flags);
	return rc || dup2(STDOUT_FILENO, STDERR_FILENO) >= 0 ? rc : errno;
}
