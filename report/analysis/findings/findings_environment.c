/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "report/base/alloc.h"
#include "report/model/environment.h"
#include "report/analysis/findings/findings_internal.h"

bool detect_environment(const struct finding_context *s, struct finding *f)
{
	struct environment_anomalies t;
	char *text = NULL;

	environment_anomalies(s->m, &t);
	for (size_t i = 0; i < t.count; i++)
		alloc_append(&text, "%s%s", i ? " " : "", t.texts[i]);
	double throttled = t.throttled_share;
	environment_anomalies_free(&t);
	if (!text)
		return false;
	/* Clocks that are held down make all of the GPU's time longer; the rest may or may not. */
	if (throttled >= FINDING_LEAST)
		return finding_tell(f, throttled, text);
	return finding_is(f, SEVERITY_LOW, NAN, text);
}
