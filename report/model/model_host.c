/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "report/model/model_internal.h"

/* Ticks that a slot's threads lived within the window. */
static uint64_t alive_ticks(const struct model_part *p, const struct tf_thread *t)
{
	uint64_t from = t->birth > p->window_start ? t->birth : p->window_start;
	uint64_t to = t->death && t->death < p->window_end ? t->death : p->window_end;
	uint64_t alive = to > from ? to - from : 0;

	CLAMP_ADD(alive, t->adopted_ticks);
	return alive < p->window_end - p->window_start ? alive : p->window_end - p->window_start;
}

/* The class of the call a thread is in, and how long it was in it within the window;
 * SPY_CLASS_COUNT = in none. */
static uint8_t in_flight(const struct model_part *p, const struct tf_thread *t, uint64_t *ticks)
{
	const struct tf_call *call = NULL;
	uint64_t from = t->in_start > p->window_start ? t->in_start : p->window_start;

	*ticks = p->window_end > from ? p->window_end - from : 0;
	if (t->in_call && t->in_call <= p->recording->calls)
		call = tf_entry(&p->recording->map, &p->header->calls, t->in_call - 1,
		                sizeof(*call));
	return call && call->cls < SPY_CLASS_COUNT ? call->cls : SPY_CLASS_COUNT;
}

static double sum_hosts(const struct clock *clock, const uint64_t ticks[TF_HOSTS],
                        double ns[TF_HOSTS])
{
	double sum = 0;

	for (int i = 0; i < TF_HOSTS; i++)
		sum += ns[i] = clock_ns(clock, ticks[i]);
	return sum;
}

/* `whole` divided as a and b (and c) are; all unknown where it cannot be told. */
static void divide(double whole, const double *parts, double *const *to, int count)
{
	double sum = 0;

	for (int i = 0; i < count; i++)
		sum += parts[i];
	for (int i = 0; i < count; i++)
		*to[i] = !(whole > 0) ? 0 : sum > 0 ? whole * (parts[i] / sum) : NAN;
}

/* Launches into three and waits into two parts, in the proportions `ns` of the timeline. */
static void divide_split(struct model_split *s, const double ns[TF_HOSTS])
{
	divide(s->launch_api, &ns[TF_HOST_LAUNCH],
	       (double *const[]){&s->launch, &s->back_pressure, &s->contention}, 3);
	divide(s->sync, &ns[TF_HOST_SYNC_USEFUL],
	       (double *const[]){&s->sync_useful, &s->sync_wasted}, 2);
}

/*
 * What the timeline says of the thread, made to fit the exact sums of its calls: each class keeps
 * its sum, but for what copies, allocations, frees and events waited, which moves to the waits. The
 * timeline saw the records that were not lost, a share `seen` of the time inside calls that
 * returned. Of the call under way (`now`) it knows nothing.
 */
static void apply_timeline(struct model_split *s, const double ns[TF_HOSTS], double seen,
                           const struct model_split *now)
{
	double copy = fmin(s->copy, ns[TF_HOST_COPY] / seen + now->copy);
	double alloc = fmin(s->alloc, ns[TF_HOST_ALLOC] / seen + now->alloc);
	double other = fmin(s->other, ns[TF_HOST_OTHER] / seen + now->other);

	s->sync += s->copy - copy + s->alloc - alloc + s->other - other;
	s->copy = copy;
	s->alloc = alloc;
	s->other = other;
	divide_split(s, ns);
}

/* Adds time inside calls, by class; returns all of it. */
static double add_classes(struct model_split *s, const double ns[SPY_CLASS_COUNT])
{
	s->launch_api += ns[SPY_CLASS_LAUNCH] + ns[SPY_CLASS_GRAPH_LAUNCH];
	s->sync += ns[SPY_CLASS_SYNC];
	s->copy += ns[SPY_CLASS_COPY] + ns[SPY_CLASS_SET];
	s->alloc += ns[SPY_CLASS_ALLOC];
	s->module += ns[SPY_CLASS_MODULE];
	s->other += ns[SPY_CLASS_STREAM] + ns[SPY_CLASS_EVENT] + ns[SPY_CLASS_GRAPH] +
	            ns[SPY_CLASS_QUERY] + ns[SPY_CLASS_CONTEXT] + ns[SPY_CLASS_OTHER];
	return s->launch_api + s->sync + s->copy + s->alloc + s->module + s->other;
}

struct model_split model_split(const struct model_part *p, const struct tf_thread *t,
                               const double ticks[SPY_CLASS_COUNT])
{
	double ns[SPY_CLASS_COUNT], under_way[SPY_CLASS_COUNT] = {0}, hosts[TF_HOSTS];
	struct model_split now = {0}, s = {.launch = NAN,
	                                   .back_pressure = NAN,
	                                   .contention = NAN,
	                                   .sync_useful = NAN,
	                                   .sync_wasted = NAN};
	uint64_t flight;
	uint8_t cls = in_flight(p, t, &flight);

	for (int c = 0; c < SPY_CLASS_COUNT; c++)
		ns[c] = fmax(0, ticks[c] + (double)t->self_adjust[c]) * p->clock.ns_per_tick;
	if (cls < SPY_CLASS_COUNT)
		under_way[cls] = clock_ns(&p->clock, flight);
	double returned = add_classes(&s, ns);
	add_classes(&now, under_way);
	double inside = add_classes(&s, under_way);
	s.alive = p->window_start ? clock_ns(&p->clock, alive_ticks(p, t)) : NAN;
	/* A thread is known from its first call on: what it was seen to do is the least it lived.
	 */
	if (inside > s.alive)
		s.alive = inside;
	s.outside = s.alive - inside;
	s.sampling = fmin(clock_ns(&p->clock, t->sample_ticks) + clock_ns(&p->clock, t->site_ticks),
	                  s.outside);
	s.outside -= s.sampling;
	s.absent = p->process->window - s.alive;
	if (s.absent < 0)
		s.absent = 0;
	double covered = sum_hosts(&p->clock, t->split_ticks, hosts) - hosts[TF_HOST_OUTSIDE] -
	                 hosts[TF_HOST_OWN];
	if (p->timed && covered > 0 && returned > 0)
		apply_timeline(&s, hosts, fmin(1, covered / returned), &now);
	return s;
}

/* The threads of one process merged by the timeline; the parts sum to its window. */
static bool merged(struct model_split *s, const struct model_part *p)
{
	double ns[TF_HOSTS], sum = sum_hosts(&p->clock, p->header->host_ticks, ns);

	*s = (struct model_split){.launch = NAN,
	                          .back_pressure = NAN,
	                          .contention = NAN,
	                          .sync_useful = NAN,
	                          .sync_wasted = NAN};
	if (!(sum > 0) || !(p->process->window > 0))
		return false;
	for (int i = 0; i < TF_HOSTS; i++)
		ns[i] *= p->process->window / sum;
	s->launch_api = ns[TF_HOST_LAUNCH] + ns[TF_HOST_BACK_PRESSURE] + ns[TF_HOST_CONTENTION];
	s->sync = ns[TF_HOST_SYNC_USEFUL] + ns[TF_HOST_SYNC_WASTED];
	s->copy = ns[TF_HOST_COPY];
	s->alloc = ns[TF_HOST_ALLOC];
	s->module = ns[TF_HOST_MODULE];
	s->other = ns[TF_HOST_OTHER];
	s->sampling = ns[TF_HOST_OWN];
	s->outside = ns[TF_HOST_OUTSIDE];
	s->alive = p->process->window;
	if (p->timed)
		divide_split(s, ns);
	return true;
}

static void split_sum(struct model_split *to, const struct model_split *s)
{
	double *sums[] = {&to->launch_api,    &to->sync,       &to->copy,        &to->alloc,
	                  &to->module,        &to->other,      &to->outside,     &to->launch,
	                  &to->back_pressure, &to->contention, &to->sync_useful, &to->sync_wasted,
	                  &to->sampling,      &to->alive};
	const double parts[] = {s->launch_api,    s->sync,       s->copy,        s->alloc,
	                        s->module,        s->other,      s->outside,     s->launch,
	                        s->back_pressure, s->contention, s->sync_useful, s->sync_wasted,
	                        s->sampling,      s->alive};

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		*sums[i] += parts[i];
}

/*
 * One thread that alone gave the GPU its work is the host: its exact sums hold, and what is left of
 * the window it was not there. Of several the timeline tells who was at it when.
 */
void model_add_host(struct model_part *p)
{
	struct model *m = p->model;
	const struct model_thread *one = NULL;
	size_t issuing = 0;
	struct model_split s;

	for (size_t i = 0; i < m->thread_count; i++) {
		const struct model_thread *t = &m->threads[i];
		if (t->process != p->process_index || !t->issues)
			continue;
		one = t;
		issuing++;
	}
	if (!issuing)
		return;
	if (issuing == 1) {
		s = one->split;
		s.outside += s.absent;
		s.alive += s.absent;
		s.absent = 0;
	} else if (!merged(&s, p)) {
		m->scratch->host_unknown = true;
		return;
	}
	split_sum(&m->host, &s);
	m->host_window += p->process->window;
	m->has_host = true;
}
