/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/core/gpu_time/gpu_cache.h"

#include <stddef.h>
#include <string.h>

#define TIME_MOST 100000000000ull /* the year 5138 */

static bool add(char **to, uint32_t *room, const char *text)
{
	size_t n = strlen(text);

	if (n >= *room)
		return false;
	memcpy(*to, text, n + 1);
	*to += n;
	*room -= (uint32_t)n;
	return true;
}

static bool base(const char *xdg_cache_home, const char *home, char *path, uint32_t bytes)
{
	if (xdg_cache_home && *xdg_cache_home == '/')
		return add(&path, &bytes, xdg_cache_home);
	return home && *home == '/' && add(&path, &bytes, home) && add(&path, &bytes, "/.cache");
}

bool gpu_cache_path(const char *xdg_cache_home, const char *home, char *path, uint32_t bytes)
{
	if (!base(xdg_cache_home, home, path, bytes))
		return false;
	uint32_t n = (uint32_t)strlen(path);
	path += n;
	bytes -= n;
	return add(&path, &bytes, "/" GPU_CACHE_FOLDER "/" GPU_CACHE_FILE);
}

/* ---- a line ---- */

static bool take(const char **at, const char *end, const char *word)
{
	size_t n = strlen(word);

	if ((size_t)(end - *at) < n || memcmp(*at, word, n))
		return false;
	*at += n;
	return true;
}

/* "word NUMBER ", of 12 digits at most. */
static bool take_number(const char **at, const char *end, const char *word, uint64_t *value)
{
	int digits = 0;

	if (!take(at, end, word))
		return false;
	for (*value = 0; *at < end && **at >= '0' && **at <= '9' && digits <= 12; digits++)
		*value = *value * 10 + (uint64_t)(*(*at)++ - '0');
	return digits && digits <= 12 && take(at, end, " ");
}

static bool take_name(const char *at, const char *end, char name[96])
{
	size_t n = (size_t)(end - at);

	if (!n || n >= 96)
		return false;
	for (size_t i = 0; i < n; i++)
		if (at[i] < ' ' || at[i] > '~')
			return false;
	memset(name, 0, 96);
	memcpy(name, at, n);
	return true;
}

static bool parse(const char *at, const char *end, struct gpu_cache_entry *e)
{
	uint64_t driver, clock, null, off, time;

	if (!take_number(&at, end, "driver ", &driver) ||
	    !take_number(&at, end, "clock_khz ", &clock) ||
	    !take_number(&at, end, "null_ns ", &null) || !take_number(&at, end, "off_ns ", &off) ||
	    !take_number(&at, end, "time ", &time) || !take(&at, end, "gpu ") ||
	    !take_name(at, end, e->name))
		return false;
	if (!driver || driver > UINT32_MAX || clock > UINT32_MAX || null < GPU_NULL_LEAST_NS ||
	    null > GPU_NULL_MOST_NS || off < GPU_OFF_LEAST_NS || off > GPU_OFF_MOST_NS || !time ||
	    time > TIME_MOST)
		return false;
	e->driver = (uint32_t)driver;
	e->clock_khz = (uint32_t)clock;
	e->null_kernel_ns = (uint32_t)null;
	e->off_ns = (uint32_t)off;
	e->time = time;
	return true;
}

/* ---- the file ---- */

struct gpu_cache_reader gpu_cache_read(const char *text, uint32_t bytes)
{
	return (struct gpu_cache_reader){.at = text, .end = text + bytes};
}

bool gpu_cache_next(struct gpu_cache_reader *r, struct gpu_cache_entry *e)
{
	while (r->at < r->end) {
		const char *line = r->at, *end = memchr(line, '\n', (size_t)(r->end - line));
		if (!end) { /* its end is missing, or it is too long */
			r->at = r->end;
			r->bad++;
			return false;
		}
		r->at = end + 1;
		if (line == end || *line == '#')
			continue;
		if (!r->begun) {
			r->begun = take(&line, end, GPU_CACHE_HEAD) && line == end;
			if (r->begun)
				continue;
			r->at = r->end; /* of another kind, or of another version */
			r->bad++;
			return false;
		}
		if (r->count < GPU_CACHE_ENTRIES && parse(line, end, e)) {
			r->count++;
			return true;
		}
		r->bad++;
	}
	return false;
}

bool gpu_cache_is_of(const struct gpu_cache_entry *e, const char *name, uint32_t driver,
                     uint32_t clock_khz)
{
	return e->driver == driver && e->clock_khz == clock_khz && !strcmp(e->name, name);
}
