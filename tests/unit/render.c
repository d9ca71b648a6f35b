/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "tests/unit/render.h"

static char *written(const struct model *m, const struct analysis *a, struct out_options o,
                     void (*write)(const struct model *, const struct analysis *,
                                   const struct out_options *))
{
	char *text = NULL;
	size_t bytes;

	o.to = open_memstream(&text, &bytes);
	write(m, a, &o);
	fclose(o.to);
	return text;
}

bool render_model(struct model *m, const void *data, size_t bytes)
{
	char error[READER_ERROR_BYTES];
	struct recording r;

	*m = (struct model){0};
	if (recording_from_memory(&r, data, bytes, &m->warnings, error)) {
		model_free(m);
		return false;
	}
	model_add(m, &r);
	recording_close(&r);
	model_finish(m);
	return true;
}

bool render(struct rendered *r, const void *data, size_t bytes)
{
	static char any[] = ".*";
	static const struct whatif_question whatifs[] = {
	        {.text = "graphs", .what = WHATIF_GRAPHS},
	        {.text = "kernel:.*=2", .what = WHATIF_KERNEL, .kernel = any, .factor = 2}};
	struct out_options o = {.limit = 15, .width = 80, .table = TABLE_KERNELS};
	struct model m = {0};
	struct recording recording;
	struct analysis a;

	*r = (struct rendered){0};
	if (recording_from_memory(&recording, data, bytes, &m.warnings, r->error)) {
		model_free(&m);
		return false;
	}
	model_add(&m, &recording);
	recording_close(&recording);
	model_finish(&m);
	analysis_make(&a, &m, m.phases.main);
	r->text = written(&m, &a, o, out_text);
	r->screen = written(&m, &a, o, out_screen);
	r->brief = written(&m, &a, o, out_brief);
	o.whatifs = whatifs;
	o.whatif_count = sizeof(whatifs) / sizeof(whatifs[0]);
	r->markdown = written(&m, &a, o, out_markdown);
	r->json = written(&m, &a, o, out_json);
	r->csv = written(&m, &a, o, out_csv);
	analysis_free(&a);
	model_free(&m);
	return true;
}

void render_figures(struct figures *f, const struct model *m)
{
	struct analysis a;

	analysis_make(&a, m, m->phases.main);
	figures_take(f, m, &a);
	analysis_free(&a);
}

void rendered_free(struct rendered *r)
{
	free(r->text);
	free(r->screen);
	free(r->brief);
	free(r->markdown);
	free(r->json);
	free(r->csv);
}
