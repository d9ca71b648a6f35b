/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recording in memory put through the whole reporter. For the unit tests and the fuzzer.
 */
#ifndef TESTS_UNIT_RENDER_H
#define TESTS_UNIT_RENDER_H

#include "report/gate/figures.h"
#include "report/output/out.h"

struct rendered {
	char *text, *screen, *brief, *markdown, *json, *csv;
	char error[READER_ERROR_BYTES]; /* why there is nothing */
};

/* True when a report was made. */
bool render(struct rendered *r, const void *data, size_t bytes);
void rendered_free(struct rendered *r);
/* The model alone; true when there is one (free it). */
bool render_model(struct model *m, const void *data, size_t bytes);
void render_figures(struct figures *f, const struct model *m);

#endif
