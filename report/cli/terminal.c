/* SPDX-License-Identifier: Apache-2.0 */
#include "report/cli/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "report/base/alloc.h"

size_t terminal_width(int fd)
{
	const char *columns = getenv("COLUMNS");
	struct winsize size;
	long width = columns ? strtol(columns, NULL, 10) : 0;

	if (width <= 0 && isatty(fd) && !ioctl(fd, TIOCGWINSZ, &size))
		width = size.ws_col;
	if (width <= 0)
		width = 80;
	return width < 40 ? 40 : width > 400 ? 400 : (size_t)width;
}

bool terminal_has_colours(int fd)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	return isatty(fd) && !(no && *no) && term && strcmp(term, "dumb") != 0;
}

/* ---- the pager ---- */

#define NOT_FOUND 127 /* of a shell: the exit status of a command that is not there */

/* What less does where LESS is not set: ends at once where all fits on the screen, shows colours,
 * leaves the screen as it is. */
static const char less_options[] = "LESS=FRX", lv_options[] = "LV=-c";

static const char *command(void)
{
	const char *pager = getenv("PAGER");

	return pager ? pager : "less";
}

bool pager_is_wanted(void)
{
	const char *pager = command(), *term = getenv("TERM");

	return isatty(STDOUT_FILENO) && *pager && strcmp(pager, "cat") != 0 && term &&
	       strcmp(term, "dumb") != 0;
}

/* This process' environment, with what pagers need where it has not (free the array). */
static char **environment(void)
{
	size_t n = 0;

	while (environ[n])
		n++;
	char **env = alloc_zeroed(n + 3, sizeof(*env));
	memcpy(env, environ, n * sizeof(*env));
	if (!getenv("LESS"))
		env[n++] = (char *)less_options;
	if (!getenv("LV"))
		env[n++] = (char *)lv_options;
	return env;
}

/* Its pid, and in *to where to write; -1 where it could not be started. */
static pid_t start(int *to)
{
	const char *pager = command();
	bool plain = !pager[strcspn(pager, " \t\n'\"\\$`&;|<>()*?[]{}~#=%!")];
	char *words[] = {(char *)pager, NULL};
	char *shell[] = {(char *)"sh", (char *)"-c", (char *)pager, NULL};
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attributes;
	sigset_t broken;
	pid_t pid = -1;
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		return -1;
	char **env = environment();
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_adddup2(&files, ends[0], STDIN_FILENO);
	posix_spawnattr_init(&attributes);
	sigemptyset(&broken);
	sigaddset(&broken, SIGPIPE);
	posix_spawnattr_setsigdefault(&attributes, &broken);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
	if (posix_spawnp(&pid, plain ? pager : "sh", &files, &attributes, plain ? words : shell,
	                 env))
		pid = -1;
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&files);
	free(env);
	close(ends[0]);
	if (pid < 0)
		close(ends[1]);
	*to = ends[1];
	return pid;
}

/* All of it, or as much as the reader wants. */
static void feed(int to, const char *text, size_t bytes)
{
	while (bytes) {
		ssize_t n = write(to, text, bytes);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		text += n;
		bytes -= (size_t)n;
	}
	close(to);
}

bool pager_show(const char *text, size_t bytes)
{
	struct sigaction ignore = {.sa_handler = SIG_IGN}, interrupt, quit;
	int to, status = 0;
	pid_t pid = start(&to);

	if (pid < 0)
		return false;
	/* ^C is the pager's: it goes back to its prompt, and this process stays with it. */
	sigaction(SIGINT, &ignore, &interrupt);
	sigaction(SIGQUIT, &ignore, &quit);
	feed(to, text, bytes);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	sigaction(SIGINT, &interrupt, NULL);
	sigaction(SIGQUIT, &quit, NULL);
	return !(WIFEXITED(status) && WEXITSTATUS(status) == NOT_FOUND);
}
