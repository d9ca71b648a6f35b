/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/model/environment.h"
#include "report/output/text/out_page.h"

#define DEVICES_SHOWN   8
#define PROCESSES_SHOWN 4

/* Whether an earlier process has the same line. */
static bool told_before(char *const *lines, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (!strcmp(lines[k], lines[i]))
			return true;
	return false;
}

/* What processes share is said once. */
static void put_cpus(const struct model *m, struct text_layout *page)
{
	char **lines = alloc_zeroed(m->process_count, sizeof(*lines));
	size_t shown = 0, left = 0;

	for (size_t i = 0; i < m->process_count; i++) {
		lines[i] = environment_cpu_line(&m->processes[i].cpu);
		if (told_before(lines, i))
			continue;
		if (shown++ < PROCESSES_SHOWN)
			text_layout_fact(page, "environment", "%s", lines[i]);
		else
			left++;
	}
	if (left)
		text_layout_fact(page, "environment", "and %zu more such lines", left);
	for (size_t i = 0; i < m->process_count; i++)
		free(lines[i]);
	free(lines);
}

void out_page_environment(const struct model *m, struct text_layout *page)
{
	char *unknown = environment_unknown(m);
	struct environment_anomalies anomalies;
	size_t shown = 0, used = 0;

	put_cpus(m, page);
	if (unknown)
		text_layout_fact(page, "environment", "not known (%s)", unknown);
	for (size_t i = 0; i < m->environment_count; i++) {
		if (!m->environment[i].used || ++used > DEVICES_SHOWN)
			continue;
		char *line = environment_line(m, &m->environment[i]);
		text_layout_fact(page, "environment", "%s", line);
		free(line);
		shown++;
	}
	if (used > shown)
		text_layout_fact(page, "environment", "and %zu more GPU%s", used - shown,
		                 used - shown == 1 ? "" : "s");
	environment_anomalies(m, &anomalies);
	for (size_t i = 0; i < anomalies.count; i++)
		text_layout_alarm(page, "environment", "%s", anomalies.texts[i]);
	environment_anomalies_free(&anomalies);
	free(unknown);
}
