/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "report/base/alloc.h"
#include "report/model/environment.h"
#include "report/analysis/findings/findings_internal.h"

/* The program's own work has all the power that there is: nothing outside it does anything. */
static bool tell_full_power(struct finding *f, char *text)
{
	f->title = "The GPU's work draws all the power that it may, so that its clocks are lower";
	f->advice = "full-power";
	return finding_is(f, SEVERITY_INFO, NAN, text);
}

bool detect_environment(const struct finding_context *s, struct finding *f)
{
	struct environment_anomalies t;
	char *text = NULL;

	environment_anomalies(s->m, &t);
	for (size_t i = 0; i < t.count; i++)
		alloc_append(&text, "%s%s", i ? " " : "", t.texts[i]);
	double throttled = t.throttled_share;
	bool anomaly = t.count > t.normal;
	environment_anomalies_free(&t);
	if (!text)
		return false;
	if (!anomaly)
		return tell_full_power(f, text);
	/* Clocks that are held down make all of the GPU's time longer; the rest may or may not. */
	if (throttled >= FINDING_LEAST)
		return finding_tell(f, throttled, text);
	f->title = "Something outside the program may hold it up";
	return finding_is(f, SEVERITY_LOW, NAN, text);
}
