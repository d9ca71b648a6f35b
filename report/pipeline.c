/* SPDX-License-Identifier: Apache-2.0 */
#include "report/pipeline.h"

#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/base/complain.h"
#include "report/base/progress.h"
#include "report/reader/find.h"

/* One process after the other: the model keeps what it needs, the mappings go. */
static int read_all(struct model *m, char *const *paths, size_t count)
{
	char error[READER_ERROR_BYTES];

	for (size_t i = 0; i < count; i++) {
		struct recording r;
		if (count > 1)
			progress_stage("%zu of %zu, reading %s", i + 1, count, paths[i]);
		else
			progress_stage("reading %s", paths[i]);
		if (recording_open(&r, paths[i], &m->warnings, error)) {
			complain("%s: %s", paths[i], error);
			return -1;
		}
		model_add(m, &r);
		bool shrank = recording_shrank(&r);
		recording_close(&r);
		if (shrank) {
			complain("%s: it became shorter while it was read", paths[i]);
			return -1;
		}
	}
	progress_stage("putting together what %s", count == 1 ? "it says" : "they say");
	model_finish(m);
	progress_stage("working out what would change what");
	return 0;
}

/* Whether every kernel that was expected ran, as a command's exit status. */
static int expected(const struct model *m, const struct out_options *o)
{
	int status = EXIT_DONE;

	for (size_t i = 0; i < o->expectation_count && status != EXIT_INCONCLUSIVE; i++) {
		struct expect_found x;
		expect_find(m, &o->expectations[i], &x);
		if (!x.known) /* of any of them */
			status = EXIT_INCONCLUSIVE;
		else if (!x.ran)
			status = EXIT_UNEXPECTED;
		expect_found_free(&x);
	}
	return status;
}

/* Its index, PHASE_NONE for the whole run; -1 when there is no such phase and one line was written.
 */
static int find_phase(const struct model *m, const struct phase_asked *asked, size_t *to)
{
	*to = asked->what == PHASE_AS_FOUND ? m->phases.main : PHASE_NONE;
	if (asked->what != PHASE_ASKED_START && asked->what != PHASE_ASKED_LOOP)
		return 0;
	*to = model_phase_find(m, asked->what == PHASE_ASKED_LOOP ? asked->number : 0);
	if (*to != PHASE_NONE)
		return 0;
	if (!m->phases.loops)
		complain("report: --phase: no loop was found in this run");
	else if (asked->what == PHASE_ASKED_START)
		complain("report: --phase start: the run begins with its first loop");
	else
		complain("report: --phase loop %u: the run has %zu loop%s", asked->number,
		         m->phases.loops, m->phases.loops == 1 ? "" : "s");
	return -1;
}

int pipeline_report(const struct report_request *request, const char *output, char *const *paths,
                    size_t count)
{
	struct model m = {.skip_steps = request->skip_steps,
	                  .steps_from = request->steps_from,
	                  .source_root = request->source_root};
	struct out_options out = request->out;
	struct out_file file;
	struct analysis a;
	int status = EXIT_TROUBLE;
	size_t phase;

	out.expectations = request->expectations;
	out.expectation_count = request->expectation_count;
	progress_begin();
	out.sort = request->sort;
	if (!read_all(&m, paths, count) && !find_phase(&m, &request->phase, &phase)) {
		analysis_make(&a, &m, phase);
		model_sort(&m, request->sort);
		progress_stage("writing the report");
		out.to = out_begin(&file);
		file.show = request->show;
		request->write(&m, &a, &out);
		status = out_end(&file, output);
		status = status == EXIT_DONE ? expected(&m, &out) : status;
		analysis_free(&a);
	}
	model_free(&m);
	progress_end();
	return status;
}

/* Of formats that have no place for it, nothing else tells why counts are not there. */
static void say_if_unknown(const struct model *m)
{
	char *why = model_missing(m);

	if (why)
		complain("export: no count is known: %s", why);
	free(why);
}

/* The file is opened last: what cannot be read leaves none. */
static int export_to(const struct export_request *request, const char *output,
                     const struct model *m)
{
	struct out_options options = {.limit = SIZE_MAX, .limit_given = true, .names = NAMES_FULL};
	struct export_job job = {.model = m, .options = &options, .table = request->table};
	struct export_file file;
	struct analysis a;

	if (export_open(&file, output, request->format))
		return EXIT_TROUBLE;
	analysis_make(&a, m, m->phases.main);
	job.analysis = &a;
	job.to = file.to;
	job.path = file.temporary;
	job.name = file.name;
	int status = export_close(&file, !request->format->write(&job));
	analysis_free(&a);
	return status;
}

int pipeline_export(const struct export_request *request, const char *output, char *const *paths,
                    size_t count)
{
	struct model m = {.steps_from = request->steps_from};
	int status = EXIT_TROUBLE;

	progress_begin();
	if (!read_all(&m, paths, count)) {
		say_if_unknown(&m);
		status = export_to(request, output, &m);
	}
	model_free(&m);
	progress_end();
	return status;
}

int pipeline_figures(struct figures *to, const char *name, const struct run_set_options *o)
{
	struct model m = {.skip_steps = o->skip_steps,
	                  .steps_from = o->steps_from,
	                  .source_root = o->source_root};
	struct find_list list = {0};
	struct analysis a;
	int rc = -1;

	progress_begin();
	if (!find_recordings(&list, (char *const *)&name, 1) &&
	    !read_all(&m, list.paths, list.count)) {
		analysis_make(&a, &m, m.phases.main);
		figures_take(to, &m, &a);
		analysis_free(&a);
		to->name = alloc_string(name);
		if (!to->missing)
			to->missing = find_missing(&list);
		rc = 0;
	}
	model_free(&m);
	find_free(&list);
	progress_end();
	return rc;
}

char *pipeline_side(const char *name, const struct run_set_options *o)
{
	struct model m = {.skip_steps = o->skip_steps, .steps_from = o->steps_from};
	struct find_list list = {0};
	struct analysis a;
	char *text = NULL;

	if (!find_recordings(&list, (char *const *)&name, 1) &&
	    !read_all(&m, list.paths, list.count)) {
		analysis_make(&a, &m, m.phases.main);
		text = out_html_side(&m, &a);
		analysis_free(&a);
	}
	model_free(&m);
	find_free(&list);
	return text;
}
