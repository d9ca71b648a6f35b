/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From recordings to what is said of them: the files are read into a model, which is analysed and
 * written. For the commands.
 */
#ifndef REPORT_PIPELINE_H
#define REPORT_PIPELINE_H

#include "report/gate/figures.h"
#include "report/output/export/export.h"
#include "report/output/out.h"

/* Which part of the run is judged: as the model has it, all of it, start-up, or a loop. */
struct phase_asked {
	enum { PHASE_AS_FOUND, PHASE_ASKED_ALL, PHASE_ASKED_START, PHASE_ASKED_LOOP } what;
	unsigned number; /* of the loop, from 1 */
};

struct report_request {
	struct out_options out;
	void (*write)(const struct model *m, const struct analysis *a, const struct out_options *o);
	/* What a terminal shows the report with; NULL = standard output, as it is. */
	bool (*show)(const char *text, size_t bytes);
	enum model_sort_key sort;
	uint64_t skip_steps; /* first ones, of each process */
	struct phase_asked phase;
	const char *steps_from;  /* NVTX ranges of this name are the steps; NULL = as found */
	const char *source_root; /* where recorded source files lie here; or NULL */
	struct expect_rule *expectations; /* also in `out` */
	size_t expectation_count;
	struct whatif_question *whatifs; /* out.whatifs */
};

/* Reads the files, one run, and writes their report to `output` (NULL = standard output); the exit
 * status. */
int pipeline_report(const struct report_request *request, const char *output, char *const *paths,
                    size_t count);
struct export_request {
	const struct export_format *format;
	const char *table;      /* of it; NULL = all */
	const char *steps_from; /* as of a report */
};

/* Reads the files, one run, and writes it to `output` (NULL = standard output) in a format; the
 * exit status. */
int pipeline_export(const struct export_request *request, const char *output, char *const *paths,
                    size_t count);

/* The figures of a recording or of a folder, one run; for the gate's run sets. */
int pipeline_figures(struct figures *to, const char *name, const struct run_set_options *o);
/* The same run as the page of a diff shows it (free it); NULL when one line was written. */
char *pipeline_side(const char *name, const struct run_set_options *o);

#endif
