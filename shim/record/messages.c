/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/record/messages.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include "shim/base/guard.h"
#include "shim/core/sys/same_file.h"
#include "shim/record/span.h"
#include "shim/base/sys.h"

#define MESSAGES_MOST  20
#define READER_WAIT_NS 100000000 /* for a pipe's reader that is a little behind */

static uint32_t messages;
static struct file_id out;
static bool is_open;

void messages_first_look(void)
{
	is_open = identify_file(STDERR_FILENO, &out);
}

void messages_after_fork(void)
{
	messages = 0;
}

/* A program that has no stderr, or closed it, may have got its number for a file of its own. */
static bool may_write(void)
{
	return is_open && is_file(STDERR_FILENO, &out);
}

struct message {
	const char *format;
	va_list arguments;
};

/* Whether a line goes there without waiting for a reader who has stopped, or is gone: the program
 * would wait with us. What is no pipe and no terminal takes it always. */
static bool takes_a_line(void)
{
	struct pollfd stderr_now = {.fd = STDERR_FILENO, .events = POLLOUT};
	const struct timespec moment = {.tv_nsec = READER_WAIT_NS};
	long ready = sys_result(syscall(SYS_ppoll, &stderr_now, 1, &moment, NULL, 0));

	return ready < 0 || (ready > 0 && stderr_now.revents == POLLOUT);
}

/* A terminal has room for some of a line, and the rest is waited for: by a descriptor of our own it
 * is not. -1: it is no terminal, or cannot be opened. */
static int open_terminal(void)
{
	struct {
		uint8_t settings[256]; /* struct termios of the kernel is less */
	} any;

	return syscall(SYS_ioctl, STDERR_FILENO, TCGETS, &any)
	               ? -1
	               : sys_open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_NOCTTY, 0);
}

static long write_line(const char *line, size_t bytes)
{
	struct file_id id;
	long written;

	if (!takes_a_line())
		return 0;
	int terminal = open_terminal();
	if (terminal < 0)
		return sys_write(STDERR_FILENO, line, bytes);
	bool known = identify_file(terminal, &id);
	written = sys_write(terminal, line, bytes);
	if (!known || is_file(terminal, &id))
		sys_close(terminal);
	return written;
}

static void write_message(void *p)
{
	struct message *m = p;
	char line[1024];
	struct guard guard;
	int n = snprintf(line, sizeof(line), "cudaspy: "),
	    more = vsnprintf(line + n, sizeof(line) - (size_t)n - 1, m->format, m->arguments);

	n = more < 0 ? n : n + more < (int)sizeof(line) - 1 ? n + more : (int)sizeof(line) - 2;
	for (int i = 0; i < n; i++) /* paths and values are not ours: nothing that a terminal would
	                               obey */
		if ((unsigned char)line[i] < ' ' || line[i] == 127)
			line[i] = '?';
	line[n] = '\n';
	guard_begin(&guard);
	guard_end(&guard, write_line(line, (size_t)n + 1));
}

void spy_say(const char *format, ...)
{
	struct message m = {.format = format};
	int saved = errno;

	if (__atomic_fetch_add(&messages, 1, __ATOMIC_RELAXED) < MESSAGES_MOST && may_write()) {
		va_start(m.arguments, format);
		spy_do_own(write_message, &m);
		va_end(m.arguments);
	}
	errno = saved;
}
