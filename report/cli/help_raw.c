/* SPDX-License-Identifier: Apache-2.0 */
#include "report/cli/help_raw.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "report/base/alloc.h"
#include "report/base/complain.h"
#include "report/cli/options.h"

/* No option of any command: what is given behind others ends it before it does anything. */
#define NO_OPTION "--\001"

/* The command in a process of its own: it writes for programs, and says nothing on stderr. What it
 * writes (free it). */
static char *ask(const struct command *c, char **args, int count)
{
	char *text = NULL, buffer[4096];
	size_t bytes = 0;
	int pipes[2];
	ssize_t n;

	fflush(stdout);
	if (pipe2(pipes, O_CLOEXEC))
		return NULL;
	pid_t pid = fork();
	if (!pid) {
		int none = open("/dev/null", O_RDWR | O_CLOEXEC);
		dup2(none, STDIN_FILENO);
		dup2(pipes[1], STDOUT_FILENO);
		dup2(none, STDERR_FILENO);
		option_raw();
		c->main(count, args);
		fflush(NULL);
		_exit(0);
	}
	close(pipes[1]);
	while (pid > 0 &&
	       ((n = read(pipes[0], buffer, sizeof(buffer))) > 0 || (n < 0 && errno == EINTR))) {
		for (ssize_t i = 0; i < n; i++) {
			ALLOC_ROOM(text, bytes);
			text[bytes++] = buffer[i];
		}
	}
	close(pipes[0]);
	if (pid > 0)
		waitpid(pid, NULL, 0);
	char *all = alloc_copy(text ? text : "", bytes);
	free(text);
	return all;
}

/* The words of each option that takes a value, as its lines tell them. */
static void put_words(const struct command *c, const char *lines)
{
	static const char head[] = "option\t";

	for (const char *line = lines; line; line = strchr(line, '\n'), line += line != NULL) {
		if (strncmp(line, head, strlen(head)) != 0)
			continue;
		const char *name = line + strlen(head), *letter = strchr(name, '\t');
		const char *value = letter ? strchr(letter + 1, '\t') : NULL;
		if (!value || value[1] == '\t')
			continue;
		char *given = alloc_format("--%.*s=\001", (int)(letter - name), name);
		char *args[] = {given, NO_OPTION, NULL};
		char *words = ask(c, args, 2);
		fputs(words ? words : "", stdout);
		free(words);
		free(given);
	}
}

int help_raw(const struct command *all)
{
	for (const struct command *c = all; c->name; c++) {
		char *args[] = {"--help", NULL};
		printf("command\t%s\t%s\n", c->name, c->about);
		char *lines = ask(c, args, 1);
		/* Commands without options write it for people. */
		if (lines && !strncmp(lines, "usage\t", 6)) {
			fputs(lines, stdout);
			put_words(c, lines);
		}
		free(lines);
	}
	return out_close(stdout, "standard output");
}
