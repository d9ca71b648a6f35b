/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "report/base/alloc.h"
#include "report/base/file.h"
#include "report/gate/baseline.h"
#include "report/cli/check_save.h"
#include "report/cli/commands.h"
#include "report/base/complain.h"
#include "report/gate/judge.h"

/* Whether the recordings can be a baseline: EXIT_DONE, or another status when one line was written.
 * Times that lost records falsify are left out. */
static int fit_for_baseline(struct run_set *s, const struct config *config)
{
	const struct run_set none = {0};
	char *differs = machine_difference(s, &none);

	if (differs) {
		complain("check: the recordings are of different machines (%s)", differs);
		free(differs);
		return EXIT_TROUBLE;
	}
	for (size_t i = 0; i < s->count; i++) {
		struct figures *f = &s->runs[i];
		for (size_t k = 0; k < s->count; k++) {
			const char *rank = ranks_missing(&s->runs[k].ranks, &f->ranks);
			if (!rank)
				continue;
			complain("%s: no baseline: no recording of rank %s, which %s has", f->name,
			         rank, s->runs[k].name);
			return EXIT_INCONCLUSIVE;
		}
		if (f->missing) {
			complain("%s: no baseline: %s", f->name, f->missing);
			return EXIT_TROUBLE;
		}
		if (f->lost_calls || (f->state != PROCESS_COMPLETE && !config->allow_killed)) {
			complain("%s: no baseline: %s", f->name,
			         f->lost_calls ? "calls are in no figure"
			                       : "a process was killed, or runs, or ended "
			                         "without its exit handlers (--allow-killed)");
			return EXIT_INCONCLUSIVE;
		}
		for (size_t k = 0; k < METRICS && f->lost_share > JUDGE_LOST_MOST; k++)
			if (metrics[k].flags & METRIC_RECORDS) {
				complain("%s: %.1f %% of its records were lost: no %s", f->name,
				         100 * f->lost_share, metrics[k].name);
				f->values[k] = NAN;
			}
		f->steps_said = config->steps;
	}
	return EXIT_DONE;
}

int check_save(char *const *names, size_t count, const struct config *config, const char *path)
{
	struct run_set s = {0};
	struct out_file file;
	char first;
	const struct run_set_options steps = config_run_set(config, pipeline_figures);
	int status;

	if (out_over_recording(path))
		return EXIT_TROUBLE;
	if (file_is_there(path) && file_begins(path, &first, 1) && !baseline_is(path)) {
		complain("%s: is there, and is no baseline; name another file for it", path);
		return EXIT_TROUBLE;
	}
	status = run_set_add_all(&s, names, count, &steps) ? EXIT_TROUBLE
	                                                   : fit_for_baseline(&s, config);
	if (status == EXIT_DONE) {
		baseline_write(&s, out_begin(&file));
		status = out_end(&file, path);
	}
	run_set_free(&s);
	return status;
}
