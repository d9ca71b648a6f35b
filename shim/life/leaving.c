/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/life/leaving.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stddef.h>
#include <unistd.h>
#include "shim/life/lifecycle.h"
#include "shim/base/sys.h"
#include "shim/real/real_dlsym.h"

#define EXPORT __attribute__((visibility("default")))

/* XX(member, name, parameters) */
#define REAL_MAP(XX)                                                                               \
	XX(exit, "_exit", (int))                                                                   \
	XX(exit_c99, "_Exit", (int))                                                               \
	XX(execve, "execve", (const char *, char *const *, char *const *))                         \
	XX(execv, "execv", (const char *, char *const *))                                          \
	XX(execvp, "execvp", (const char *, char *const *))                                        \
	XX(execvpe, "execvpe", (const char *, char *const *, char *const *))                       \
	XX(fexecve, "fexecve", (int, char *const *, char *const *))                                \
	XX(execveat, "execveat", (int, const char *, char *const *, char *const *, int))

static struct {
#define XX(member, name, parameters) int(*member) parameters;
	REAL_MAP(XX)
#undef XX
} real;

void leaving_init(void)
{
	if (real.execve)
		return;
#define XX(member, name, parameters)                                                               \
	real.member = (int(*) parameters)spy_real_dlsym(RTLD_NEXT, name);
	REAL_MAP(XX)
#undef XX
	/* execveat() came with glibc 2.34: a name that is there is asked for last, so that
	 * dlerror() has nothing to say. */
	spy_real_dlsym(RTLD_NEXT, "execve");
}

/* ---- the end ---- */

static void __attribute__((noreturn)) leave(int (*how)(int), int status)
{
	spy_leaves(TF_LEFT_EXIT);
	if (how)
		how(status);
	for (;;)
		syscall(SYS_exit_group, status);
}

EXPORT void _exit(int status)
{
	leave(real.exit, status);
}

EXPORT void _Exit(int status)
{
	leave(real.exit_c99, status);
}

/* ---- another program ---- */

/* Calls that return have failed: the process stays what it is. */
#define EXEC(member, ...)                                                                          \
	do {                                                                                       \
		bool left = spy_leaves(TF_LEFT_EXEC);                                              \
		leaving_init();                                                                    \
		if (!real.member) {                                                                \
			errno = ENOSYS;                                                            \
			return -1;                                                                 \
		}                                                                                  \
		int rc = real.member(__VA_ARGS__);                                                 \
		int error = errno;                                                                 \
		if (left)                                                                          \
			spy_stays();                                                               \
		errno = error;                                                                     \
		return rc;                                                                         \
	} while (0)

EXPORT int execve(const char *path, char *const argv[], char *const envp[])
{
	EXEC(execve, path, argv, envp);
}

EXPORT int execv(const char *path, char *const argv[])
{
	EXEC(execv, path, argv);
}

EXPORT int execvp(const char *file, char *const argv[])
{
	EXEC(execvp, file, argv);
}

EXPORT int execvpe(const char *file, char *const argv[], char *const envp[])
{
	EXEC(execvpe, file, argv, envp);
}

EXPORT int fexecve(int fd, char *const argv[], char *const envp[])
{
	EXEC(fexecve, fd, argv, envp);
}

EXPORT int execveat(int folder, const char *path, char *const argv[], char *const envp[], int flags)
{
	EXEC(execveat, folder, path, argv, envp, flags);
}

/* The arguments of the forms that list them, in an array as the C library itself makes it. A caller
 * may well give none at all, whatever its header says: the compiler must not know. */
#define COLLECT(argv, first, list)                                                                 \
	const char *argument = (first);                                                            \
	size_t count = 1;                                                                          \
	va_list again;                                                                             \
	__asm__("" : "+r"(argument));                                                              \
	va_copy(again, list);                                                                      \
	for (const char *p = argument; p; p = va_arg(again, const char *))                         \
		count++;                                                                           \
	va_end(again);                                                                             \
	char *argv[count];                                                                         \
	argv[0] = (char *)argument;                                                                \
	for (size_t i = 1; i < count; i++)                                                         \
	argv[i] = va_arg(list, char *)

EXPORT int execl(const char *path, const char *first, ...)
{
	va_list list;

	va_start(list, first);
	COLLECT(argv, first, list);
	va_end(list);
	return execv(path, argv);
}

EXPORT int execlp(const char *file, const char *first, ...)
{
	va_list list;

	va_start(list, first);
	COLLECT(argv, first, list);
	va_end(list);
	return execvp(file, argv);
}

EXPORT int execle(const char *path, const char *first, ...)
{
	va_list list;

	va_start(list, first);
	COLLECT(argv, first, list);
	char *const *envp = va_arg(list, char *const *);
	va_end(list);
	return execve(path, argv, envp);
}
