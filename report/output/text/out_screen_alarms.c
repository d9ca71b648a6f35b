/* SPDX-License-Identifier: Apache-2.0 */
/* What the first screen must not leave out: damage, ends, losses, the machine's state. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/base/names.h"
#include "report/base/units.h"
#include "report/model/environment.h"
#include "report/output/text/out_screen.h"

#define FLIGHT_LONG 1e9 /* ns: a running program always has calls in flight */

/* What must not be overlooked, each in a line or two; the first ones. */
struct alarms {
	struct text_layout *page;
	size_t count;
};

static void __attribute__((format(printf, 3, 4)))
alarm_of(struct alarms *to, const char *label, const char *format, ...)
{
	va_list args;

	if (to->count++ >= OUT_SCREEN_ALARMS)
		return;
	va_start(args, format);
	char *text = alloc_vformat(format, args);
	va_end(args);
	text_layout_alarm(to->page, label, "%s", text);
	free(text);
}

/* NULL: no call was in flight. */
static const struct model_flight *longest_flight(const struct model_process *p)
{
	const struct model_flight *longest = NULL;

	for (size_t i = 0; i < p->flight_count; i++)
		if (!longest || p->flights[i].age > longest->age)
			longest = &p->flights[i];
	return longest;
}

static void state_alarms(const struct model *m, struct alarms *to)
{
	size_t states[PROCESS_STATES] = {0}, damaged = 0;
	const char *damage = NULL;
	char age[UNIT_BYTES];

	for (size_t i = 0; i < m->process_count; i++) {
		const struct model_process *p = &m->processes[i];
		if (p->damage)
			damage = damage ? damage : p->damage;
		damaged += p->damage != NULL;
		states[p->state] += !p->damage;
		const struct model_flight *f = longest_flight(p);
		bool running = p->state == PROCESS_RUNNING;
		if (f && (!running || f->age >= FLIGHT_LONG))
			alarm_of(to, "in flight", "%s, %s%s %s (thread %llu %s)",
			         f->api ? name_call(f->api) : "a call", f->age >= 1 ? "for " : "",
			         f->age >= 1 ? unit_time_apart(age, f->age) : "just called",
			         running ? "by now" : "at the end", (unsigned long long)f->tid,
			         f->thread ? f->thread : "");
	}
	if (damaged)
		alarm_of(to, "damaged", "%.*s", (int)strcspn(damage, ";"), damage);
	if (states[PROCESS_KILLED] && m->process_count == 1)
		alarm_of(to, "state", "killed: counts are exact up to then");
	else if (states[PROCESS_KILLED])
		alarm_of(to, "state",
		         "%zu of %zu processes were killed; counts are exact up to then",
		         states[PROCESS_KILLED], m->process_count);
	if (states[PROCESS_RUNNING])
		alarm_of(to, "state", "still running: figures up to now");
}

void out_screen_alarms(const struct screen_report *r, struct text_layout *page)
{
	const struct model *m = r->m;
	struct environment_anomalies anomalies;
	char share[UNIT_BYTES];
	struct alarms to = {.page = page};
	size_t never = 0;

	state_alarms(m, &to);
	for (size_t i = 0; i < m->process_count; i++)
		never += m->processes[i].never_opened;
	if (never)
		alarm_of(&to, "range", "CUDASPY_RANGE never opened: nothing was recorded");
	if (m->lost_calls)
		alarm_of(&to, "lost", "%llu calls, which are in no figure",
		         (unsigned long long)m->lost_calls);
	else if (m->lost)
		alarm_of(&to, "lost", "%s %% of the records; counts and sums are exact",
		         unit_percent(share, (double)m->lost, (double)m->written));
	environment_anomalies(m, &anomalies);
	for (size_t i = 0; i < anomalies.count; i++)
		alarm_of(&to, "environment", "%s", anomalies.texts[i]);
	environment_anomalies_free(&anomalies);
	if (to.count > OUT_SCREEN_ALARMS)
		text_layout_fact(page, "", "and %zu more: --section run",
		                 to.count - OUT_SCREEN_ALARMS);
}
