/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "report/cli/child.h"

static const int forwarded[] = {SIGHUP,  SIGINT,  SIGQUIT,  SIGTERM,
                                SIGUSR1, SIGUSR2, SIGWINCH, SIGCONT};
#define FORWARDED (sizeof(forwarded) / sizeof(forwarded[0]))

static volatile pid_t child;

/* What a terminal sends goes to the whole group, so the child has it already. */
static void forward(int signal, siginfo_t *info, void *context)
{
	int saved = errno;

	if (child > 0 && info->si_code != SI_KERNEL)
		kill(child, signal);
	errno = saved;
}

/* In the child: executes the command; on failure tells why through the pipe that a success closes.
 */
static void execute(char **command, int tell, const sigset_t *mask, const struct sigaction *before)
{
	for (size_t i = 0; i < FORWARDED; i++)
		sigaction(forwarded[i], &before[i], NULL);
	sigprocmask(SIG_SETMASK, mask, NULL);
	execvp(command[0], command);
	int why = errno;
	while (write(tell, &why, sizeof(why)) < 0 && errno == EINTR)
		;
	_exit(127);
}

static int wait_for(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return 127;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int child_run(char **command, int *status)
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
	for (size_t i = 0; i < FORWARDED; i++)
		sigaction(forwarded[i], &action, &before[i]);
	pid_t pid = fork();
	if (!pid)
		execute(command, pipes[1], &mask, before);
	if (pid < 0)
		why = errno;
	child = pid;
	sigprocmask(SIG_SETMASK, &mask, NULL);
	close(pipes[1]);
	if (pid > 0) {
		ssize_t n;
		while ((n = read(pipes[0], &why, sizeof(why))) < 0 && errno == EINTR)
			;
		*status = wait_for(pid);
	}
	close(pipes[0]);
	return why;
}
