/* SPDX-License-Identifier: Apache-2.0 */
/* Loads the truth library as the driver does, and ends in the way that is asked for.
 *
 *   inject LIBRARY return|exit|_exit|fork */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int fork_child(void)
{
	int status;
	pid_t pid = fork();

	if (!pid)
		exit(5); /* runs the exit handlers that the child inherited */
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return 1;
	return !WIFEXITED(status) || WEXITSTATUS(status) != 5;
}

int main(int argc, char **argv)
{
	void *h = argc == 3 ? dlopen(argv[1], RTLD_NOW) : NULL;
	int (*initialise)(void) = h ? (int (*)(void))dlsym(h, "InitializeInjection") : NULL;
	const char *way = argv[argc - 1];

	if (!initialise) {
		fprintf(stderr, "inject: %s\n",
		        argc == 3 ? dlerror() : "usage: inject LIBRARY WAY");
		return 2;
	}
	if (initialise() != 1)
		return 3;
	if (!strcmp(way, "fork") && fork_child())
		return 4;
	if (!strcmp(way, "_exit")) {
		sleep(2); /* the flushing thread writes its first file */
		_exit(0);
	}
	if (!strcmp(way, "exit"))
		exit(0);
	return 0;
}
