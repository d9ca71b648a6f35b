/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "report/base/alloc.h"
#include "report/analysis/findings/findings_internal.h"
#include "report/base/units.h"

/* So many graphs made in all and in the second half of what is held: not the start-up alone. */
#define MADE_LEAST 10u
#define MADE_LATE  3u
/* Launches of a graph that was made or updated: below this each is made for one launch. */
#define ONCE 1.5

struct call_log_making {
	uint64_t made, updated, late, launches;
	double ns,
	        launching; /* API time: to capture, build, instantiate, update; to launch graphs */
};

static struct call_log_making making(const struct finding_context *s)
{
	struct call_log_making m = {0};

	for (size_t i = 0; i < s->count; i++) {
		const struct call_event *a = &s->call_events[i];
		if (a->cls == SPY_CLASS_GRAPH || a->flags & CALL_EVENT_CAPTURED)
			m.ns += call_event_ns(a);
		if (a->result)
			continue;
		if (a->cls == SPY_CLASS_GRAPH) {
			bool made = a->role == CUDA_ROLE_GRAPH_MADE,
			     updated = a->role == CUDA_ROLE_GRAPH_UPDATED;
			m.made += made;
			m.updated += updated;
			m.late += (made || updated) && call_event_late(s, a);
		} else if (a->kind == TF_WORK_GRAPH) {
			m.launches++;
			m.launching += call_event_ns(a);
		}
	}
	return m;
}

/* Graphs that are made all the time; false for those made at start alone. */
static bool is_habit(const struct finding_context *s, const struct call_log_making *m)
{
	return m->made + m->updated >= MADE_LEAST && m->late >= MADE_LATE && s->held > 0;
}

bool detect_graph_reinstantiated(const struct finding_context *s, struct finding *f)
{
	char each[UNIT_BYTES], launch[UNIT_BYTES], share[UNIT_BYTES];
	char span[SPAN_BYTES];
	struct call_log_making m = making(s);
	double made = (double)(m.made + m.updated);

	if (!is_habit(s, &m) || !m.launches || (double)m.launches >= ONCE * made)
		return false;
	char *rate = finding_rate(s, made);
	char *text = alloc_format(
	        "%llu graphs were instantiated and %llu updated%s, %s, for %llu graph launches. To "
	        "capture, instantiate or update takes the host %s each, a launch %s; the former is "
	        "%s %% of its %s.",
	        (unsigned long long)m.made, (unsigned long long)m.updated, steady_span(s, span),
	        rate, (unsigned long long)m.launches, unit_time_apart(each, m.ns / made),
	        unit_time_apart(launch, m.launching / (double)m.launches),
	        unit_percent(share, m.ns, s->held), steady_whose(s));
	free(rate);
	return finding_tell(f, steady_stake(finding_share(s, m.ns), steady_busy(s)), text);
}

/* Graphs made for one launch are detect_graph_reinstantiated()'s. */
bool detect_graph_instantiation_dominates(const struct finding_context *s, struct finding *f)
{
	char each[UNIT_BYTES], launch[UNIT_BYTES], share[UNIT_BYTES], per_graph[UNIT_BYTES];
	char span[SPAN_BYTES];
	struct call_log_making m = making(s);
	double made = (double)(m.made + m.updated), times = (double)m.launches / made;

	if (!is_habit(s, &m) || !(times >= ONCE) || !(m.ns > m.launching))
		return false;
	char *text = alloc_format("%llu graphs were instantiated and %llu updated%s, each for %s "
	                          "launches. To capture, "
	                          "instantiate or update takes the host %s each, its launches %s; "
	                          "the former is %s %% "
	                          "of its %s.",
	                          (unsigned long long)m.made, (unsigned long long)m.updated,
	                          steady_span(s, span), unit_count(per_graph, times),
	                          unit_time_apart(each, m.ns / made),
	                          unit_time_apart(launch, m.launching / made),
	                          unit_percent(share, m.ns, s->held), steady_whose(s));
	return finding_tell(f, steady_stake(finding_share(s, m.ns), steady_busy(s)), text);
}

struct node_changes {
	uint64_t nodes, late, launches, behind; /* launches; of these, behind changes */
	double ns;                              /* in changes, and from one to the next */
};

struct changing {                      /* a thread */
	const struct call_event *last; /* a change, or what asks for one */
	double asked;                  /* ns since the last change, in what asks for the next */
};

/* What of a thread's time is in changes, with this call. */
static double in_changes(const struct finding_context *s, struct changing *t,
                         const struct call_event *a, bool change)
{
	if (!change && !whatif_asks_for_change(s->h, a)) {
		*t = (struct changing){0};
		return 0;
	}
	double pause = t->last ? a->start - t->last->end : 0;
	if (t->asked > 0 && pause > WHATIF_CHANGE_PAUSE)
		t->asked = pause = 0; /* asked long before: not for this one */
	double ns =
	        t->asked + call_event_ns(a) + fmin(fmax(0, pause - a->ours), WHATIF_CHANGE_PAUSE);
	*t = (struct changing){a, change ? 0 : ns};
	return change ? ns : 0;
}

static struct node_changes node_changes(const struct finding_context *s)
{
	struct node_changes c = {0};
	struct changing *threads = alloc_zeroed(s->h->thread_count + 1, sizeof(*threads));
	bool changed = false; /* since the last launch of a graph */

	for (size_t i = 0; i < s->count; i++) {
		const struct call_event *a = &s->call_events[i];
		bool change = a->role == CUDA_ROLE_GRAPH_CHANGED && !a->result,
		     launch = a->kind == TF_WORK_GRAPH && !a->result;
		c.ns += in_changes(s, &threads[a->thread], a, change);
		c.nodes += change;
		c.late += change && call_event_late(s, a);
		c.launches += launch;
		c.behind += launch && changed;
		changed = (changed && !launch) || change;
	}
	free(threads);
	c.ns = fmin(c.ns, s->held);
	return c;
}

/* Nodes of a graph that are written one by one before it is launched again, as XLA does where the
 * arrays that a step is given lie elsewhere each time. */
bool detect_graph_nodes_changed(const struct finding_context *s, struct finding *f)
{
	char each[UNIT_BYTES], nodes[UNIT_BYTES], share[UNIT_BYTES], span[SPAN_BYTES];
	struct node_changes c = node_changes(s);

	if (c.behind < MADE_LEAST || c.late < MADE_LATE || !(s->held > 0))
		return false;
	char *text = alloc_format(
	        "%llu of %llu graph launches%s came behind changes of nodes' parameters, %s each "
	        "time. These take the host %s each time, %s %% of its %s.",
	        (unsigned long long)c.behind, (unsigned long long)c.launches, steady_span(s, span),
	        unit_count(nodes, (double)c.nodes / (double)c.behind),
	        unit_time_apart(each, c.ns / (double)c.behind), unit_percent(share, c.ns, s->held),
	        steady_whose(s));
	return finding_tell(f, steady_stake(finding_share(s, c.ns), steady_busy(s)), text);
}
