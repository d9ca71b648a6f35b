/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exports: what a run's recordings say in the form of other tools, or as plain tables. One table of
 * formats, a writer each. For the pipeline and the command.
 *
 * A new format: its writer in a file of its own, a row in export_formats.c, a section in
 * docs/EXPORTS.md and the manual page, and a test with a reader that people use.
 */
#ifndef REPORT_EXPORT_H
#define REPORT_EXPORT_H

#include "report/output/out.h"

struct export_job {
	const struct model *model;       /* the whole run */
	const struct analysis *analysis; /* of its main phase, or the one that was asked for */
	const struct out_options *options;
	const char *table; /* the one asked for, of a format of tables; NULL = all */
	/* EXPORT_TEXT, EXPORT_BINARY: where it is written to. The writer need not look at errors of
	 * it: the caller does. */
	FILE *to;
	/* EXPORT_DATABASE: the file to make it in, which is there and empty. */
	const char *path;
	const char *name; /* of what is written, for messages */
};

enum export_kind {
	EXPORT_TEXT,     /* on standard output where no file is named */
	EXPORT_BINARY,   /* the same, but not on a terminal */
	EXPORT_DATABASE, /* needs a file of its own */
};

struct export_format {
	const char *name;
	const char *about;
	enum export_kind kind;
	bool tables; /* it can be limited to one of its tables */
	/* 0; -1 when nothing can be made of it and one line was written. */
	int (*write)(const struct export_job *job);
};
extern const struct export_format export_formats[]; /* ends with a NULL name */

int export_chrome(const struct export_job *job);
int export_csv(const struct export_job *job);
int export_pprof(const struct export_job *job);
int export_folded(const struct export_job *job);
int export_sqlite(const struct export_job *job);
int export_bmf(const struct export_job *job);
int export_gha(const struct export_job *job);
int export_openmetrics(const struct export_job *job);
int export_markdown(const struct export_job *job);

/*
 * Where an export goes. A file is made under another name in its folder, and has its own only when
 * all of it is there: one that fails, or is interrupted, leaves what was there before. What is no
 * regular file (a pipe, a device) is written as it is.
 */
struct export_file {
	const char *name; /* for messages */
	char *target;     /* NULL = standard output, or no regular file */
	char *temporary;  /* NULL = the same */
	FILE *to;
	FILE *behind; /* the file that a compressor writes to; NULL = there is none */
};
/* `output` NULL = standard output. -1 when one line was written. Text goes through gzip where the
 * file's name ends in .gz. */
int export_open(struct export_file *f, const char *output, const struct export_format *format);
/* The exit status. Not `good`: nothing is kept. */
int export_close(struct export_file *f, bool good);

/* What is done from now on, for who waits: the records of this process are told. */
void export_progress(const struct export_job *job, size_t process);

/* What is written to it is compressed and goes to `to`, which stays open when it is closed. One
 * gzip member: readers stop behind the first. */
FILE *export_gzip(FILE *to);

#endif
