/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/core/options/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define DEFAULT_OUT "cudaspy-%h-%p.cudaspy"
#define MIB         (1024.0 * 1024.0)

struct spy_options spy_options;

/*
 * A decimal number with an optional fraction. Not strtod():
 * that binds a newer glibc and reads the program's locale.
 */
static bool parse_number(const char **text, double *value)
{
	const char *p = *text;
	double v = 0, scale = 1;

	if (*p < '0' || *p > '9')
		return false;
	for (; *p >= '0' && *p <= '9'; p++)
		v = v * 10 + (*p - '0');
	if (*p == '.')
		for (p++; *p >= '0' && *p <= '9'; p++)
			v += (*p - '0') * (scale /= 10);
	*text = p;
	*value = v;
	return v < 1e15;
}

/* A size whose bare number counts `unit` bytes; with a suffix, bytes in that unit. */
static bool parse_size(const char *text, double unit, double *bytes)
{
	static const char suffixes[] = "KMGT";
	double v;

	if (!parse_number(&text, &v))
		return false;
	if (*text) {
		const char *s = strchr(suffixes, *text >= 'a' ? *text - 32 : *text);
		if (!s || !*s)
			return false;
		for (unit = 1024; s > suffixes; s--)
			unit *= 1024;
		text++;
		if (!strcmp(text, "iB") || !strcmp(text, "B"))
			text = "";
	}
	*bytes = v * unit;
	return !*text;
}

/* Nothing but the letters that options_expand() knows. */
static bool is_template(const char *v)
{
	for (const char *p = v; (p = strchr(p, '%')); p += 2)
		if (!p[1] || !strchr(OPTIONS_LETTERS "%", p[1]))
			return false;
	return *v != 0;
}

static bool read_out(const char *v)
{
	spy_options.out = v;
	return is_template(v);
}

static bool read_gpu(const char *v)
{
	static const char *const names[] = {
	        [TF_GPU_OFF] = "off", [TF_GPU_SAMPLE] = "sample", [TF_GPU_CUPTI] = "cupti"};
	for (unsigned i = 0; i < 3; i++)
		if (!strcmp(v, names[i])) {
			spy_options.gpu = i;
			return true;
		}
	return false;
}

static bool read_range(const char *v)
{
	double delay, duration = 0;

	if (!strcmp(v, "all")) {
		spy_options.range = TF_RANGE_ALL;
		return true;
	}
	if (!strcmp(v, "profiler")) {
		spy_options.range = TF_RANGE_PROFILER;
		return true;
	}
	if (!parse_number(&v, &delay) || *v++ != ':' || !parse_number(&v, &duration) || *v ||
	    duration <= 0)
		return false;
	spy_options.range = TF_RANGE_TIME;
	spy_options.range_delay_s = delay;
	spy_options.range_duration_s = duration;
	return true;
}

static bool read_keep(const char *v)
{
	double bytes;

	if (!parse_size(v, MIB, &bytes) || bytes > 64 * 1024 * MIB)
		return false;
	spy_options.keep_bytes = (uint64_t)bytes;
	return true;
}

static double trace_max = 4096 * MIB;

static bool read_switch(const char *v, uint32_t *to)
{
	if (strcmp(v, "0") && strcmp(v, "1"))
		return false;
	*to = *v == '1';
	return true;
}

static bool read_trace(const char *v)
{
	uint32_t on;

	if (!read_switch(v, &on))
		return false;
	spy_options.trace_max_bytes = on ? (uint64_t)trace_max : 0;
	return true;
}

/* A bare number counts GiB, as the default "4 GiB" is spelt. */
static bool read_trace_max(const char *v)
{
	double bytes;

	if (!parse_size(v, 1024 * MIB, &bytes) || bytes < MIB || bytes > 1024 * 1024 * MIB)
		return false;
	trace_max = bytes;
	return true;
}

static bool read_ring(const char *v)
{
	double n;
	uint64_t records = 64;

	if (!parse_number(&v, &n) || *v || n < 64 || n > (1 << 24))
		return false;
	while (records * 2 <= (uint64_t)n)
		records *= 2;
	spy_options.ring_records = records;
	return true;
}

static bool read_budget(const char *v)
{
	double percent;

	if (!parse_number(&v, &percent) || *v || percent <= 0 || percent > 50)
		return false;
	spy_options.budget_percent = percent;
	return true;
}

static bool read_quiet(const char *v)
{
	return read_switch(v, &spy_options.quiet);
}

static bool read_sites(const char *v)
{
	static const char *const names[] = {
	        [TF_SITES_OFF] = "off", [TF_SITES_ON] = "on", [TF_SITES_ALL] = "all"};

	for (unsigned i = 0; i < 3; i++)
		if (!strcmp(v, names[i])) {
			spy_options.sites = i;
			return true;
		}
	return false;
}

static bool read_clock(const char *v)
{
	spy_options.no_counter = !strcmp(v, "monotonic");
	return spy_options.no_counter || !strcmp(v, "auto");
}

const struct spy_option spy_option_rows[] = {
        {"CUDASPY_OUT", read_out, DEFAULT_OUT, "a file or a folder, with no % but %h %p %r %t %%"},
        {"CUDASPY_GPU", read_gpu, "sample", "sample, cupti or off"},
        {"CUDASPY_RANGE", read_range, "all", "all, profiler or DELAY:DURATION in seconds"},
        {"CUDASPY_KEEP", read_keep, "32", "MiB, 0 to 65536"},
        {"CUDASPY_TRACE_MAX", read_trace_max, "4G", "a size such as 500M or 4G"},
        {"CUDASPY_TRACE", read_trace, "0", "0 or 1"},
        {"CUDASPY_RING", read_ring, "65536", "records, 64 to 16777216"},
        {"CUDASPY_BUDGET", read_budget, "1", "per cent, above 0 and up to 50"},
        {"CUDASPY_CLOCK", read_clock, "auto", "auto or monotonic"},
        {"CUDASPY_SITES", read_sites, "on", "on, all or off"},
        {"CUDASPY_QUIET", read_quiet, "0", "0 or 1"},
        {0},
};

void options_read_clock(void)
{
	const char *value = getenv("CUDASPY_CLOCK");

	read_clock(value ? value : "auto");
}

const char *options_rank(void)
{
	static const char *const names[] = {"RANK",          "OMPI_COMM_WORLD_RANK", "PMIX_RANK",
	                                    "PMI_RANK",      "MV2_COMM_WORLD_RANK",  "SLURM_PROCID",
	                                    "JAX_PROCESS_ID"};
	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *v = getenv(names[i]);
		if (v && *v && strlen(v) < 16)
			return v;
	}
	return "";
}

int options_expand(const char *pattern, char *text, unsigned long bytes)
{
	char piece[256];
	unsigned long used = 0;

	for (const char *p = pattern; *p; p++) {
		piece[0] = *p;
		piece[1] = 0;
		if (*p == '%' && p[1]) {
			struct timespec now;
			p++;
			switch (*p) {
			case 'h':
				if (gethostname(piece, sizeof(piece)))
					strcpy(piece, "host");
				piece[sizeof(piece) - 1] = 0;
				break;
			case 'p':
				snprintf(piece, sizeof(piece), "%d", (int)getpid());
				break;
			case 'r':
				snprintf(piece, sizeof(piece), "%s",
				         *options_rank() ? options_rank() : "0");
				break;
			case 't':
				clock_gettime(CLOCK_REALTIME, &now);
				snprintf(piece, sizeof(piece), "%lld", (long long)now.tv_sec);
				break;
			case '%':
				break;
			default:
				snprintf(piece, sizeof(piece), "%%%c", *p);
			}
			if (*p == 'h' || *p == 'r') /* never let a name leave the folder */
				for (char *c = piece; *c; c++)
					if (*c == '/')
						*c = '_';
		}
		unsigned long n = strlen(piece);
		if (used + n + 1 > bytes)
			return 0;
		memcpy(text + used, piece, n + 1);
		used += n;
	}
	return used > 0;
}
