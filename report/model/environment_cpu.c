/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "report/base/alloc.h"
#include "report/model/environment.h"
#include "report/base/units.h"

/* ", quota 1.5 (used up in 50 of 100 periods, 1.2 s waited)" (free it) */
static char *quota_text(const struct model_process_cpu *c)
{
	char waited[UNIT_BYTES], quota[UNIT_BYTES];

	if (!c->limited)
		return alloc_format(c->limit_known ? ", no quota" : ", quota n/a");
	unit_count(quota, c->quota);
	if (isnan(c->periods))
		return alloc_format(", quota %s (whether it was used up: n/a)", quota);
	if (!(c->throttled_periods > 0))
		return alloc_format(", quota %s (never used up)", quota);
	return alloc_format(", quota %s (used up in %.0f of %.0f periods, threads waited %s)",
	                    quota, c->throttled_periods, c->periods,
	                    unit_time_apart(waited, c->throttled));
}

char *environment_cpu_line(const struct model_process_cpu *c)
{
	if (isnan(c->cores) && isnan(c->online) && !c->limit_known)
		return alloc_format("CPU: not known");
	char *cores = environment_number(c->cores), *online = environment_number(c->online),
	     *quota = quota_text(c);
	char *line = alloc_format("CPU: %s of %s cores%s", cores, online, quota);

	free(cores);
	free(online);
	free(quota);
	return line;
}
