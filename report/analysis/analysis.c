/* SPDX-License-Identifier: Apache-2.0 */
#include "report/analysis/analysis.h"

#include <stdlib.h>

void analysis_make(struct analysis *a, const struct model *m)
{
	*a = (struct analysis){.whatifs = whatif_start(m)};
	verdict_make(&a->verdict, m, a->whatifs);
	findings_make(&a->findings, m, &a->verdict, a->whatifs);
}

void analysis_free(struct analysis *a)
{
	findings_free(&a->findings);
	free(a->verdict.reason);
	whatif_end(a->whatifs);
	*a = (struct analysis){0};
}
