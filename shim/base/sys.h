/* SPDX-License-Identifier: Apache-2.0 */
/*
 * System calls for the shim's cold paths, made directly: none is a cancellation point, as open(),
 * read(), write(), close(), fallocate() and nanosleep() of the C library are. A thread with a
 * pending pthread_cancel() must not end inside us. `make test` checks that the library imports no
 * cancellation point.
 *
 * Results are those of the kernel: -errno instead of -1. errno may change.
 */
#ifndef SPY_SYS_H
#define SPY_SYS_H

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>
#include "shim/core/sys/open_above.h"

static inline long sys_result(long rc)
{
	return rc == -1 ? -errno : rc;
}

static inline int sys_open(const char *path, int flags, mode_t mode)
{
	return (int)sys_result(open_above(path, flags, mode));
}

static inline int sys_close(int fd)
{
	return (int)sys_result(syscall(SYS_close, fd));
}

static inline ssize_t sys_read(int fd, void *to, size_t bytes)
{
	return sys_result(syscall(SYS_read, fd, to, bytes));
}

static inline ssize_t sys_write(int fd, const void *from, size_t bytes)
{
	return sys_result(syscall(SYS_write, fd, from, bytes));
}

static inline void sys_sleep(uint64_t ns)
{
	const struct timespec ts = {.tv_sec = (time_t)(ns / 1000000000u),
	                            .tv_nsec = (long)(ns % 1000000000u)};

	syscall(SYS_nanosleep, &ts, NULL);
}

/* Sleeps while `*word` is `value`, at most `ns` (UINT64_MAX = for ever); may wake early. */
static inline void sys_futex_wait(uint32_t *word, uint32_t value, uint64_t ns)
{
	const struct timespec ts = {.tv_sec = (time_t)(ns / 1000000000u),
	                            .tv_nsec = (long)(ns % 1000000000u)};

	syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, ns == UINT64_MAX ? NULL : &ts, NULL, 0);
}

static inline void sys_futex_wake(uint32_t *word, int threads)
{
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, threads, NULL, NULL, 0);
}

static inline uint64_t sys_gettid(void)
{
	return (uint64_t)syscall(SYS_gettid);
}

static inline uint64_t sys_getpid(void)
{
	return (uint64_t)syscall(SYS_getpid);
}

/* The beginning of a small file, with a NUL behind it; how many bytes, 0 where it cannot be read.
 */
static inline uint32_t sys_read_file(const char *path, char *text, uint32_t bytes)
{
	int fd = sys_open(path, O_RDONLY, 0);
	ssize_t n = fd < 0 ? 0 : sys_read(fd, text, bytes - 1);

	if (fd >= 0)
		sys_close(fd);
	n = n > 0 ? n : 0;
	text[n] = 0;
	return (uint32_t)n;
}

#endif
