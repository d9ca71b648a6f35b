/* SPDX-License-Identifier: Apache-2.0 */
#include "report/base/progress.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "report/base/alloc.h"
#include "report/base/text.h"

#define SILENT_S   1      /* what is done by then says nothing */
#define BETWEEN_US 200000 /* from one line to the next */
#define CLEAR      "\r\033[K"
#define LINE_BYTES 512
#define PARTS_MOST 8
#define BEHIND     18u /* columns: ", 100 % (1234 s)" */

static struct {
	unsigned depth;
	bool terminal;
	struct timespec begun;
	struct sigaction before;
	char lines[2][LINE_BYTES]; /* one is read by the handler, the other one written */
	volatile sig_atomic_t line;
	volatile sig_atomic_t shown, line_shown;
	volatile int percent; /* of this stage; -1 = not known */
	struct {
		double from, length;
	} parts[PARTS_MOST];   /* of the stage, one in the other */
	unsigned part_count;   /* may be more than there is room for: these say nothing */
	volatile long seconds; /* as shown, and so is the next */
	volatile int percent_shown;
} state;

/* "12", at the end of the buffer; where it begins. */
static char *digits(char *end, long v)
{
	*--end = '\0';
	do
		*--end = (char)('0' + v % 10);
	while ((v /= 10) > 0);
	return end;
}

static long seconds_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec - state.begun.tv_sec - (now.tv_nsec < state.begun.tv_nsec);
}

/* As a handler may: no stdio, no memory. */
static void put_line(void)
{
	const char *text = state.lines[state.line];
	char number[24], line[LINE_BYTES + 64] = CLEAR;
	long seconds = seconds_now();
	int percent = state.percent;

	strcat(line, text);
	if (percent >= 0) {
		strcat(line, ", ");
		strcat(line, digits(number + sizeof(number), percent));
		strcat(line, " %");
	}
	if (seconds >= SILENT_S) {
		strcat(line, " (");
		strcat(line, digits(number + sizeof(number), seconds));
		strcat(line, " s)");
	}
	state.seconds = seconds;
	state.percent_shown = percent;
	state.line_shown = state.line;
	state.shown = 1;
	if (write(STDERR_FILENO, line, strlen(line)) < 0)
		return;
}

/* A terminal that nobody reads takes some thousand bytes: what is there already is not written
 * again. */
static void tick(int signal)
{
	int saved = errno;

	if (state.lines[state.line][0] &&
	    (!state.shown || seconds_now() != state.seconds ||
	     state.percent != state.percent_shown || state.line != state.line_shown))
		put_line();
	errno = saved;
}

void progress_begin(void)
{
	static const struct itimerval often = {.it_interval = {0, BETWEEN_US},
	                                       .it_value = {SILENT_S, 0}};
	struct sigaction action = {.sa_handler = tick, .sa_flags = SA_RESTART};
	static bool at_exit;
	const char *term = getenv("TERM");

	if (state.depth++)
		return;
	state.terminal = isatty(STDERR_FILENO) && term && strcmp(term, "dumb") != 0;
	if (!state.terminal)
		return;
	clock_gettime(CLOCK_MONOTONIC, &state.begun);
	state.lines[state.line][0] = '\0';
	state.percent = -1;
	state.part_count = 0;
	if (!at_exit && !atexit(progress_end))
		at_exit = true;
	sigaction(SIGALRM, &action, &state.before);
	setitimer(ITIMER_REAL, &often, NULL);
}

static size_t width(void)
{
	struct winsize size;
	size_t most = LINE_BYTES / 4 - 1; /* characters of up to four bytes */

	if (!ioctl(STDERR_FILENO, TIOCGWINSZ, &size) && size.ws_col > 20 &&
	    size.ws_col - BEHIND < most)
		return size.ws_col - BEHIND;
	return 80 - BEHIND;
}

void progress_stage(const char *format, ...)
{
	int other = !state.line;
	va_list args;

	if (state.depth != 1 || !state.terminal)
		return;
	va_start(args, format);
	char *raw = alloc_vformat(format, args);
	va_end(args);
	char *safe = text_safe(raw, strlen(raw)), *fit = text_fit(safe, width());
	snprintf(state.lines[other], LINE_BYTES, "%s", fit);
	state.percent = -1;
	state.part_count = 0;
	state.line = other;
	free(fit);
	free(safe);
	free(raw);
}

/* Of the part that is being done; it never goes back. */
static void tell(double share)
{
	for (unsigned i = state.part_count; i--;)
		share = state.parts[i].from + share * state.parts[i].length;
	int percent = (int)(share * 100 + 1e-6);
	if (percent > state.percent)
		state.percent = percent > 100 ? 100 : percent;
}

void progress_share(uint64_t done, uint64_t all)
{
	if (state.depth != 1 || !state.terminal || !all || state.part_count > PARTS_MOST)
		return;
	tell(done >= all ? 1 : (double)done / (double)all);
}

void progress_part_begin(uint64_t from, uint64_t to, uint64_t of)
{
	if (state.depth != 1 || !state.terminal)
		return;
	if (state.part_count++ < PARTS_MOST && of) {
		state.parts[state.part_count - 1].from = (double)from / (double)of;
		state.parts[state.part_count - 1].length = (double)(to - from) / (double)of;
		progress_share(0, 1);
	}
}

void progress_part_end(void)
{
	if (state.depth != 1 || !state.terminal || !state.part_count)
		return;
	progress_share(1, 1);
	state.part_count--;
}

void progress_show(void)
{
	if (state.depth && state.terminal)
		put_line();
}

void progress_hide(void)
{
	sigset_t block, before;

	if (!state.shown)
		return;
	sigemptyset(&block);
	sigaddset(&block, SIGALRM);
	sigprocmask(SIG_BLOCK, &block, &before);
	fputs(CLEAR, stderr);
	fflush(stderr);
	state.shown = 0;
	sigprocmask(SIG_SETMASK, &before, NULL);
}

void progress_stop(void)
{
	static const struct itimerval never;

	if (!state.depth || !state.terminal)
		return;
	setitimer(ITIMER_REAL, &never, NULL);
	sigaction(SIGALRM, &state.before, NULL);
	progress_hide();
	state.terminal = false;
}

void progress_end(void)
{
	if (state.depth == 1)
		progress_stop();
	state.depth -= state.depth > 0;
}
