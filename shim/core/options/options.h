/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The environment variables of the shim, read once when recording starts. Name, default and meaning
 * of each stand in the one table in options_parse.c, by which the reporter's `run` checks them too.
 */
#ifndef SPY_OPTIONS_H
#define SPY_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include "shim/core/format/trace_format.h"

struct spy_options {
	const char *out;                        /* CUDASPY_OUT: template, not expanded */
	uint32_t gpu;                           /* enum tf_gpu_mode */
	uint32_t range;                         /* enum tf_range */
	double range_delay_s, range_duration_s; /* TF_RANGE_TIME; duration 0 = to the end */
	uint64_t keep_bytes;
	uint64_t trace_max_bytes; /* 0 = CUDASPY_TRACE is off */
	uint64_t ring_records;
	double budget_percent;
	uint32_t quiet;
	uint32_t sites;      /* enum tf_sites_mode */
	uint32_t no_counter; /* CUDASPY_CLOCK=monotonic */
};

extern struct spy_options spy_options;

/* The table ends with a row without a name. */
extern const struct spy_option {
	const char *name;
	bool (*read)(const char *value); /* into spy_options; false: it is no such value */
	const char *fallback;            /* the default, as a user would write it */
	const char *wanted;
} spy_option_rows[];

/* CUDASPY_CLOCK alone, which is needed before the others; says nothing of a wrong value. */
void options_read_clock(void);

/* Reads them; a wrong value costs one line on stderr and leaves the default. */
void options_read(void);

/* Expands %h %p %r %t %% of a template into `text`; false when it does not fit. */
#define OPTIONS_LETTERS "hprt"
int options_expand(const char *pattern, char *text, unsigned long bytes);

/* The rank the launcher gave this process, "" where it gave none. */
const char *options_rank(void);

#endif
