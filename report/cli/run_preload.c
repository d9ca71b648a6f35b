/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "report/base/alloc.h"
#include "report/base/complain.h"
#include "report/cli/run_preload.h"

#define EXIT_NOT_EXECUTABLE 126 /* as shells and env have it */
#define EXIT_NOT_FOUND      127

void preload_variable(const char *name, const char *value)
{
	if (setenv(name, value, 1))
		alloc_failed();
}

const struct spy_option *preload_wrong_variable(void)
{
	for (const struct spy_option *o = spy_option_rows; o->name; o++) {
		const char *value = getenv(o->name);
		if (value && !o->read(value))
			return o;
	}
	return NULL;
}

static char *find_library(void)
{
	const char *named = getenv("CUDASPY_LIB");
	char self[PATH_MAX];

	if (named && *named)
		return access(named, R_OK) ? NULL : realpath(named, NULL);
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	if (n <= 0)
		return NULL;
	self[n] = '\0';
	*strrchr(self, '/') = '\0';
	static const char *const places[] = {"libcudaspy.so", "../lib/libcudaspy.so",
	                                     "../lib64/libcudaspy.so"};
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		char *path = alloc_format("%s/%s", self, places[i]);
		char *real = access(path, R_OK) ? NULL : realpath(path, NULL);
		free(path);
		if (real)
			return real;
	}
	return NULL;
}

char *preload_library(const char *by)
{
	char *library = find_library();

	if (!library) {
		complain("%s: libcudaspy.so not found beside this program or as $CUDASPY_LIB says",
		         by);
	} else if (strpbrk(library, " :")) {
		complain("%s: %s: a path with a blank or a colon cannot be preloaded", by, library);
		free(library);
		library = NULL;
	}
	return library;
}

/* The sanitizer first, as it insists; then this library; then what was preloaded before. */
static void set_preload(const char *library, const struct target *t)
{
	const char *before = getenv("LD_PRELOAD");
	bool has_before = before && *before;
	bool sanitizer = t->sanitizer && !(has_before && strstr(before, t->sanitizer));
	char *list = alloc_format("%s%s%s%s%s", sanitizer ? t->sanitizer : "", sanitizer ? ":" : "",
	                          library, has_before ? ":" : "", has_before ? before : "");

	/* A sanitizer already in the list stays in front of everything. */
	if (has_before && t->sanitizer && !sanitizer) {
		free(list);
		list = alloc_format("%s:%s", before, library);
	}
	preload_variable("LD_PRELOAD", list);
	free(list);
}

/* Each instance of NVTX in the command looks there for a tool; whoever has set it keeps it. */
static void set_nvtx(const char *library)
{
	const char *before = getenv("NVTX_INJECTION64_PATH");

	if (!before || !*before)
		preload_variable("NVTX_INJECTION64_PATH", library);
}

void preload_set(const char *library, const struct target *t)
{
	set_preload(library, t);
	set_nvtx(library);
}

void preload_run_id(bool anew)
{
	uint64_t random;
	char id[17];

	if (!anew && getenv("CUDASPY_RUN_ID") && *getenv("CUDASPY_RUN_ID"))
		return;
	if (!anew && getenv("CUDASPY_RUN") && *getenv("CUDASPY_RUN")) {
		preload_variable("CUDASPY_RUN_ID", getenv("CUDASPY_RUN"));
		return;
	}
	if (getrandom(&random, sizeof(random), GRND_NONBLOCK) != sizeof(random)) {
		struct timespec now;
		clock_gettime(CLOCK_REALTIME, &now);
		random = ((uint64_t)now.tv_nsec << 34) ^ ((uint64_t)now.tv_sec << 20) ^
		         (uint64_t)getpid();
	}
	snprintf(id, sizeof(id), "%016llx", (unsigned long long)random);
	preload_variable("CUDASPY_RUN_ID", id);
}

int preload_cannot_execute(const char *by, const char *command, int why)
{
	bool missing = why == ENOENT || why == ENOTDIR;

	complain("%s: %s: %s", by, command, missing ? "command not found" : strerror(why));
	return missing ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
}
