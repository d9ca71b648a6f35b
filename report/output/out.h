/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The outputs: each writes one model in one format. For the commands; the model is only read.
 */
#ifndef REPORT_OUT_H
#define REPORT_OUT_H

#include <stdio.h>

#include "report/analysis/analysis.h"
#include "report/gate/expect.h"
#include "report/model/model_names.h"

enum out_table { TABLE_APIS, TABLE_KERNELS, TABLE_COPIES, TABLE_THREADS, TABLE_WHATIF };
extern const char *const out_table_names[]; /* ends with NULL */

/* How kernels are called. As the output has them: tables short, CSV in full; JSON always in full.
 */
enum out_names { NAMES_AS_EVER, NAMES_FULL, NAMES_SHORT, NAMES_MANGLED };

/* What --section names, in the order of the report; ends with NULL. */
extern const char *const out_section_names[];

struct out_options {
	FILE *to;
	uint64_t sections; /* of text and Markdown: a bit each, by out_section_names; 0 = all */
	size_t limit;      /* rows of a table; SIZE_MAX = all */
	bool limit_given;
	enum out_names names;
	bool all_threads;
	bool sites;      /* whole stacks too */
	bool all_frames; /* ... with those of libraries */
	bool same;       /* of diff: rows that did not change too */
	bool steps_asked;
	bool colour;
	size_t width;
	enum out_table table; /* of csv */
	double unit_per_step; /* 0 = not asked for */
	const struct expect_rule *expectations;
	size_t expectation_count;
	const struct whatif_question *whatifs;
	size_t whatif_count;
	enum model_sort_key sort; /* that the model is in */
};

/* What is written as a whole: a report that cannot be made, or not be written, leaves an older file
 * alone. */
struct out_file {
	FILE *to;
	char *text;
	size_t bytes;
	char *beside; /* name of what becomes the file when it is whole; NULL = none */
	/* Shows it in place of standard output; false: it could not, and wrote nothing. */
	bool (*show)(const char *text, size_t bytes);
};
/* Where it is to be written to. */
FILE *out_begin(struct out_file *f);
/* A recording, or a stub of one, is no output's place: most likely it is what was to be read. True
 * when one line was written. */
bool out_over_recording(const char *path);
/* The same of what is read besides recordings: `what` names it. Either may be NULL. */
bool out_over_input(const char *path, const char *input, const char *what);
/* Puts it into a file, or on standard output (NULL); the exit status. */
int out_end(struct out_file *f, const char *output);
/* There will be none: EXIT_TROUBLE. */
int out_drop(struct out_file *f);
/* Flushes and closes; EXIT_TROUBLE and one line when not all was written. Quiet when a pipe's
 * reader went away. */
int out_close(FILE *to, const char *name);

/* All that there is to say; or only `sections`. */
void out_text(const struct model *m, const struct analysis *a, const struct out_options *o);
/* What matters most, on one screen, and below it what was asked for. */
void out_screen(const struct model *m, const struct analysis *a, const struct out_options *o);
/* The same for a chat or a bug report: at most OUT_BRIEF_BYTES, with fixed headings. */
#define OUT_BRIEF_BYTES 4096
void out_brief(const struct model *m, const struct analysis *a, const struct out_options *o);
void out_markdown(const struct model *m, const struct analysis *a, const struct out_options *o);
void out_json(const struct model *m, const struct analysis *a, const struct out_options *o);
void out_csv(const struct model *m, const struct analysis *a, const struct out_options *o);
/* A page of one file for a browser; it shows the JSON report. */
void out_html(const struct model *m, const struct analysis *a, const struct out_options *o);
/* What the page of a diff shows of one run (free it). */
char *out_html_side(const struct model *m, const struct analysis *a);

#endif
