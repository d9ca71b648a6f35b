/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report/base/alloc.h"
#include "report/base/complain.h"
#include "report/base/file.h"
#include "report/cli/calibrate_run.h"
#include "report/cli/child.h"
#include "report/cli/run_preload.h"

#define SELF       "/proc/self/exe"
#define BUDGET     "50" /* per cent of the child's time, the most: it does nothing else */
#define SAID_BYTES 4096
#define SHIM_SAYS  "CUDASPY_GPU=cupti: "

static int caught; /* a signal that came while a child ran, and is to end us */

/* ---- where ---- */

/* Whatever the user has set for programs of his own is none of theirs. */
static void set_environment(const struct calibrate_place *p)
{
	static const char *const unset[] = {"CUDASPY_RANGE",       "CUDASPY_TRACE",  "CUDASPY_KEEP",
	                                    "CUDASPY_RING",        "CUDASPY_RUN_ID", "CUDASPY_RUN",
	                                    "CUDA_LAUNCH_BLOCKING"};
	struct target t;

	for (size_t i = 0; i < sizeof(unset) / sizeof(unset[0]); i++)
		unsetenv(unset[i]);
	target_examine(&t, SELF);
	preload_set(p->library, &t);
	target_free(&t);
	preload_variable("CUDASPY_BUDGET", BUDGET);
	preload_variable("CUDASPY_SITES", "off");
	preload_variable("CUDASPY_QUIET", "1");
}

int calibrate_place_make(struct calibrate_place *p)
{
	const char *base = getenv("TMPDIR");

	*p = (struct calibrate_place){.library = preload_library("calibrate")};
	if (!p->library)
		return -1;
	p->folder = alloc_format("%s/cudaspy-calibrate-XXXXXX", base && *base ? base : "/tmp");
	if (!mkdtemp(p->folder)) {
		complain("calibrate: %s: %s", p->folder, strerror(errno));
		free(p->folder);
		p->folder = NULL;
		calibrate_place_remove(p);
		return -1;
	}
	set_environment(p);
	return 0;
}

static char *recording_of(const struct calibrate_place *p)
{
	return alloc_format("%s/run.cudaspy", p->folder);
}

static char *log_of(const struct calibrate_place *p)
{
	return alloc_format("%s/log", p->folder);
}

static void remove_files(const struct calibrate_place *p)
{
	char *recording = recording_of(p), *log = log_of(p);

	unlink(recording);
	unlink(log);
	free(recording);
	free(log);
}

void calibrate_place_remove(struct calibrate_place *p)
{
	if (p->folder) {
		remove_files(p);
		rmdir(p->folder);
	}
	free(p->folder);
	free(p->library);
	*p = (struct calibrate_place){0};
	if (caught)
		raise(caught);
}

/* ---- the child ---- */

/* Its output goes into a file. */
static int prepare(void *log)
{
	return child_redirect(log, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND);
}

/* ---- what it said ---- */

/* The rest of the last line that has `words` in it (free it); NULL. */
static char *said_behind(const char *text, const char *words)
{
	const char *found = NULL;

	for (const char *at = text; (at = strstr(at, words)); at += strlen(words))
		found = at + strlen(words);
	return found ? alloc_copy(found, strcspn(found, "\n")) : NULL;
}

static int failed(const char *log, int status)
{
	char *why = said_behind(log, "cudaspy: calibrate: ");

	if (status == 128 + SIGALRM)
		complain("calibrate: the GPU did not answer within a minute; is it in use?");
	else if (status > 128)
		complain("calibrate: the program that launches kernels was ended by signal %d",
		         status - 128);
	else
		complain("calibrate: %s; run it where a program can use the GPU",
		         why ? why : "the program that launches kernels failed");
	free(why);
	return -1;
}

/* Times of the wrong kind. */
static int refused(const char *log, bool exact)
{
	char *why = said_behind(log, exact ? SHIM_SAYS : "GPU time is not sampled: ");
	char *comma = why ? strstr(why, "; using sample") : NULL;

	if (comma)
		*comma = '\0';
	if (exact)
		complain("calibrate: CUPTI is needed: %s; put the folder of libcupti.so into "
		         "LD_LIBRARY_PATH, and let no other profiler run",
		         why ? why : "it gave no times");
	else
		complain("calibrate: samples are needed: %s",
		         why ? why : "GPU time was not sampled");
	free(why);
	return -1;
}

static int read_child(const char *recording, const char *said, bool exact,
                      struct calibrate_child *c, struct kernel_times_machine *machine)
{
	char *clock = said_behind(said, "clock_khz "), *why = NULL;

	c->clock_khz = clock ? (uint32_t)strtoul(clock, NULL, 10) : 0;
	free(clock);
	if (access(recording, F_OK)) {
		complain("calibrate: the shim left no recording: it was not loaded, or the folder "
		         "for temporary files is full");
		return -1;
	}
	if (calibrate_read(recording, &c->run, machine, &why)) {
		complain("calibrate: %s", why);
		free(why);
		return -1;
	}
	if (c->run.exact == exact)
		return 0;
	if (machine)
		kernel_times_machine_free(machine);
	return refused(said, exact);
}

int calibrate_run_child(const struct calibrate_place *p, int device, bool exact,
                        struct calibrate_child *c, struct kernel_times_machine *machine)
{
	char *recording = recording_of(p), *log = log_of(p), *number = alloc_format("%d", device);
	char *command[] = {
	        (char *)SELF, (char *)"calibrate", (char *)"--launch", (char *)"--device", number,
	        NULL};
	struct child child = {.command = command, .prepare = prepare, .context = log};
	int rc;

	remove_files(p);
	preload_variable("CUDASPY_OUT", recording);
	preload_variable("CUDASPY_GPU", exact ? "cupti" : "sample");
	int why = child_run(&child);
	caught = child.caught;
	char *said = alloc_zeroed(SAID_BYTES + 1, 1);
	file_begins(log, said, SAID_BYTES);
	if (caught)
		rc = -1;
	else if (why)
		rc = (complain("calibrate: this program cannot be started: %s", strerror(why)), -1);
	else if (child.status)
		rc = failed(said, child.status);
	else
		rc = read_child(recording, said, exact, c, machine);
	free(said);
	free(number);
	free(recording);
	free(log);
	return rc;
}
