/* SPDX-License-Identifier: Apache-2.0 */
/* What makes several processes one run, and a row for each that a launcher gave a rank. */
#include <math.h>

#include "report/output/json/out_json.h"

json_t *out_json_run(const struct model *m)
{
	const struct model_process *first = m->process_count ? &m->processes[0] : NULL;
	json_t *o = json_object();

	json_put(o, "id", json_text(first ? first->run_id : NULL));
	json_put(o, "id_source", json_text(first ? first->run_id_from : NULL));
	json_put(o, "processes", json_count(m->process_count));
	return o;
}

static json_t *step(const struct model_spread_of *s)
{
	json_t *o = json_object();

	json_put(o, "mean", json_ns(s->mean));
	json_put(o, "p50", json_ns(s->p50));
	json_put(o, "p99", json_ns(s->p99));
	return o;
}

/* The analysis is of all processes together: what one rank has of it is known where it is alone. */
json_t *out_json_ranks(const struct model *m, const struct analysis *a)
{
	const struct model_spread_of unknown = {.mean = NAN, .p50 = NAN, .p99 = NAN};
	bool alone = m->process_count == 1, steps = alone && a->of->steps.source != STEPS_NONE;
	json_t *list = json_array();

	for (size_t i = 0; i < m->process_count; i++) {
		const struct model_process *p = &m->processes[i];
		if (!p->rank)
			continue;
		json_t *o = json_object();
		json_put(o, "rank", json_text(p->rank));
		json_put(o, "host", json_text(p->host));
		json_put(o, "pid", json_count(p->pid));
		json_put(o, "verdict", alone ? out_json_verdict(&a->verdict) : json_null());
		json_put(o, "step_ns", step(steps ? &a->of->steps.duration : &unknown));
		json_put(o, "busy_share",
		         json_share(alone && a->verdict.reason ? a->verdict.busy : NAN));
		json_put(o, "comm_wait_ns", json_null());
		json_put(o, "late_ns", json_null());
		json_put(o, "state", json_text(process_state_names[p->state]));
		json_push(list, o);
	}
	return list;
}
