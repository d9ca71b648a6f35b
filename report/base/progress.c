/* SPDX-License-Identifier: Apache-2.0 */
#include "report/base/progress.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "report/base/alloc.h"
#include "report/base/text.h"

#define SILENT_NS  1e9   /* what is done by then says nothing */
#define BETWEEN_NS 100e6 /* from one line to the next */
#define CLEAR      "\r\033[K"

static struct {
	unsigned depth;
	bool terminal, shown;
	double begun, next;
} state;

static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

void progress_begin(void)
{
	const char *term = getenv("TERM");

	if (state.depth++)
		return;
	state.terminal = isatty(STDERR_FILENO) && term && strcmp(term, "dumb") != 0;
	state.begun = now_ns();
	state.next = state.begun + SILENT_NS;
}

static size_t width(void)
{
	struct winsize size;

	return !ioctl(STDERR_FILENO, TIOCGWINSZ, &size) && size.ws_col > 10 ? size.ws_col - 1u : 79;
}

static bool is_time(void)
{
	double now;

	if (!state.depth || !state.terminal || (now = now_ns()) < state.next)
		return false;
	state.next = now + BETWEEN_NS;
	return true;
}

static void say(const char *format, va_list args)
{
	char *raw = alloc_vformat(format, args), *safe = text_safe(raw, strlen(raw));
	char *fit = text_fit(safe, width());

	fprintf(stderr, CLEAR "%s", fit);
	fflush(stderr);
	state.shown = true;
	free(fit);
	free(safe);
	free(raw);
}

void progress_say(const char *format, ...)
{
	va_list args;

	if (!is_time())
		return;
	va_start(args, format);
	say(format, args);
	va_end(args);
}

void progress_now(const char *format, ...)
{
	va_list args;

	if (!state.depth || !state.terminal)
		return;
	va_start(args, format);
	say(format, args);
	va_end(args);
}

void progress_part(const char *what, double done, double whole)
{
	progress_say("%s: %.0f %%", what, whole > 0 ? 100 * done / whole : 0);
}

void progress_hide(void)
{
	if (!state.shown)
		return;
	fputs(CLEAR, stderr);
	fflush(stderr);
	state.shown = false;
	state.next = 0;
}

void progress_end(void)
{
	if (state.depth && !--state.depth)
		progress_hide();
}
