/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "report/analysis/verdict/verdict.h"
#include "report/model/phases.h"

/* The share of the copies whose time must be known for their sum to bound it. */
#define COPIES_KNOWN 0.95

/* Leaves this time out, ns since load; the host's time in it. */
static double take_out(struct verdict_input *in, const struct overview *p, double from,
                       double until)
{
	double sum = 0;

	for (size_t i = 0; i < p->count; i++) {
		double ns = phases_part(p, i, fmax(from, p->window), until), part[TF_HOSTS] = {0};
		const double *h = p->host[i];
		/* Of the slice in which the window begins only the rest is there. */
		bool whole = ns > 0.999 * phases_part(p, i, p->window, INFINITY);
		if (!(ns > 0))
			continue;
		if (!whole) {
			phases_take(p->host[i], ns, part);
			h = part;
		}
		for (int k = 0; k < TF_HOSTS; k++)
			sum += h[k];
		in->launch -= h[TF_HOST_LAUNCH] + h[TF_HOST_CONTENTION];
		in->sync -= h[TF_HOST_SYNC_USEFUL] + h[TF_HOST_SYNC_WASTED];
		in->copy -= h[TF_HOST_COPY];
		in->alloc -= h[TF_HOST_ALLOC] + h[TF_HOST_MODULE];
		in->outside -= h[TF_HOST_OTHER] + h[TF_HOST_OUTSIDE];
		double busy = 0;
		for (size_t d = 0; whole && d < p->device_count; d++)
			busy += p->devices[d].busy[i] / (double)p->device_count;
		in->busy -= busy;
		in->kernels -= busy;
		/* The GPU was idle for what the host did then, as far as it was idle. */
		double idle = p->width > 0 ? fmax(0, 1 - busy / p->width) : 0;
		in->idle_launch -= idle * (h[TF_HOST_LAUNCH] + h[TF_HOST_CONTENTION]);
		in->idle_outside -= idle * (h[TF_HOST_OTHER] + h[TF_HOST_OUTSIDE]);
		in->sampling -= idle * h[TF_HOST_OWN];
	}
	return sum;
}

static void take_ends(struct verdict_input *in, const struct overview *p)
{
	size_t first, count;

	if (!p->count || !p->host)
		return;
	double started = phases_startup(p);
	in->startup += take_out(in, p, p->origin, started);
	count = phases_teardown(p, &first);
	double ends = p->origin + (double)first * p->width;
	if (ends >= started)
		in->teardown += take_out(in, p, ends, ends + (double)count * p->width);
}

/* What the recent calls of a phase are, ns: of copies, of those of them that wait for a result, and
 * of making graphs; `held` is what they cover. */
struct recent {
	double copies, waits, graphs, held;
};

static struct recent recent_of(const struct model *m)
{
	struct recent to = {0};

	for (size_t p = 0; p < m->process_count && m->phase; p++) {
		const struct call_log *h = &m->processes[p].call_log;
		if (h->left_out)
			continue;
		if (h->coverage > 0)
			to.held += h->coverage * h->judged;
		for (size_t i = call_log_steady(h); i < h->count; i++) {
			const struct call_event *e = &h->call_events[i];
			double ns = fmax(0, e->end - e->start);
			if (e->cls == SPY_CLASS_GRAPH)
				to.graphs += ns;
			if (e->cls != SPY_CLASS_COPY)
				continue;
			to.copies += ns;
			if (e->direction == SPY_DIR_DTOH &&
			    (!e->async || e->memory == SPY_MEM_PAGEABLE) &&
			    e->bytes <= WHATIF_SMALL_COPY)
				to.waits += ns;
		}
	}
	return to;
}

/* The share of the copy calls' time that small blocking copies to the host take. */
static double waiting_copies(const struct model *m, const struct recent *recent)
{
	double all = 0, waits = 0;

	if (recent->copies > 0)
		return fmin(1, recent->waits / recent->copies);
	for (size_t i = 0; i < m->copy_count; i++) {
		const struct model_copy *c = &m->copies[i];
		all += c->total;
		if (c->direction == SPY_DIR_DTOH && c->count &&
		    (!c->async || c->memory == SPY_MEM_PAGEABLE) &&
		    (double)c->bytes / (double)c->count <= WHATIF_SMALL_COPY)
			waits += c->total;
	}
	return all > 0 && waits > 0 ? fmin(1, waits / all) : 0;
}

/* Host time of capturing, building, instantiating and changing graphs. */
static double making_graphs(const struct model *m, const struct recent *recent)
{
	double ns = 0;

	if (m->phase)
		return recent->held > 0 ? recent->graphs * m->host_window / recent->held : 0;
	for (size_t i = 0; i < m->api_count; i++)
		if (m->apis[i].cls == SPY_CLASS_GRAPH && m->apis[i].total > 0)
			ns += m->apis[i].total;
	return ns;
}

/* The share of the host's time in copy calls that copies within a device take. */
static double issuing_within(const struct model *m)
{
	double within = 0, all = 0;

	for (size_t i = 0; i < m->copy_count; i++) {
		const struct model_copy *c = &m->copies[i];
		if (!(c->total > 0))
			continue;
		all += c->total;
		within += c->direction == SPY_DIR_DTOD ? c->total : 0;
	}
	return all > 0 ? within / all : 0;
}

static void cut(double *ns, double most)
{
	*ns = *ns > 0 ? fmin(*ns, most) : 0; /* a NaN too */
}

/* What copies within a device take at least, ns. */
static double within_devices(const struct model *m)
{
	double low = 0;

	for (size_t i = 0; i < m->copy_count; i++)
		if (m->copies[i].direction == SPY_DIR_DTOD && m->copies[i].gpu.low > 0)
			low += m->copies[i].gpu.low;
	return low;
}

/* Several devices count as one that is busy as they are on average. */
static void take_busy(struct verdict_input *in, const struct model *m)
{
	const struct model_gpu_busy *b = &m->gpu.busy;
	double scale = b->window > 0 ? m->host_window / b->window : NAN;

	in->busy = b->busy * scale;
	in->kernels = b->kernels * scale;
	/* Copies within a device are its work as kernels are, as long as kernels are most of it. */
	double within = within_devices(m);
	in->copies_within = within > m->gpu.copies.total / 2;
	if (within > in->kernels)
		within = 0;
	/* The host may see late that a copy has ended: alone they ran no longer than they take.
	 * What sets take no change of the copies takes away. */
	double copies = isnan(m->gpu.copies.known)            ? 0
	                : m->gpu.copies.known >= COPIES_KNOWN ? fmax(0, m->gpu.copies.high - within)
	                                                      : NAN;
	if (m->gpu.sets.low > 0)
		within += m->gpu.sets.low;
	if (within > 0)
		in->kernels = fmin(in->busy, in->kernels + within);
	if (copies >= 0)
		in->kernels = fmax(in->kernels, in->busy - copies);
	in->comm_most = b->comm * scale;
	in->comm = verdict_sure_comm(m, b->comm) * scale;
	in->idle_launch = b->by[TF_IDLE_LAUNCH] * scale;
	in->idle_outside = b->by[TF_IDLE_OUTSIDE] * scale;
	in->gaps = b->by[TF_IDLE_DEPENDENCY] * scale;
	in->sampling = b->by[TF_IDLE_OWN] * scale;
}

struct verdict_input verdict_take(const struct model *m)
{
	const struct model_split *h = &m->host;
	const struct model_gpu_busy *b = &m->gpu.busy;
	bool divided = isfinite(h->launch + h->contention);
	struct recent recent = recent_of(m);
	double graphs = h->other > 0 ? fmin(making_graphs(m, &recent), h->other) : 0;
	struct verdict_input in = {
	        .window = m->host_window,
	        .launch = divided ? h->launch + h->contention : h->launch_api,
	        .sync = h->sync,
	        .copy = h->copy,
	        .alloc = h->alloc + h->module + graphs,
	        .outside = h->other - graphs + h->outside,
	};

	take_busy(&in, m);
	for (size_t i = 0; i < m->process_count && !m->phase; i++)
		take_ends(&in, &m->processes[i].overview);
	cut(&in.window, INFINITY);
	if (!isfinite(in.window))
		in.window = 0;
	/* Without sampling the GPU would not have waited for the host then. */
	cut(&in.sampling, in.window);
	in.window -= in.sampling;
	double waits = in.copy * waiting_copies(m, &recent);
	in.copy -= waits;
	in.sync += waits;
	cut(&in.startup, in.window);
	in.window -= in.startup;
	cut(&in.teardown, in.window);
	in.window -= in.teardown;
	if (m->phase)
		in.startup = m->phase_before; /* outside of its window already */
	double *parts[] = {&in.gaps,        &in.busy,         &in.comm,   &in.comm_most,
	                   &in.idle_launch, &in.idle_outside, &in.launch, &in.sync,
	                   &in.copy,        &in.alloc,        &in.outside};
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		cut(parts[i], in.window);
	in.issued = in.copy * issuing_within(m);
	cut(&in.kernels, in.busy);
	in.busy_low = b->busy > 0 ? in.busy * (b->low / b->busy) : 0;
	in.busy_high = b->busy > 0 ? in.busy * (b->high / b->busy) : 0;
	cut(&in.busy_low, in.busy);
	cut(&in.busy_high, in.window);
	in.busy_high = fmax(in.busy_high, in.busy);
	return in;
}
