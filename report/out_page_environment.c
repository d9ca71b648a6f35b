#include <stdlib.h>

#include "report/environment.h"
#include "report/out_page.h"

#define DEVICES_SHOWN 8

void out_page_environment(const struct model *m, struct page *page)
{
	char *unknown = environment_unknown(m);
	struct environment_troubles troubles;
	size_t shown = 0, used = 0;

	if (unknown)
		page_fact(page, "environment", "not known (%s)", unknown);
	for (size_t i = 0; i < m->environment_count; i++) {
		if (!m->environment[i].used || ++used > DEVICES_SHOWN)
			continue;
		char *line = environment_line(m, &m->environment[i]);
		page_fact(page, "environment", "%s", line);
		free(line);
		shown++;
	}
	if (used > shown)
		page_fact(page, "environment", "and %zu more GPUs", used - shown);
	environment_troubles(m, &troubles);
	for (size_t i = 0; i < troubles.count; i++)
		page_alarm(page, "environment", "%s", troubles.texts[i]);
	environment_troubles_free(&troubles);
	free(unknown);
}
