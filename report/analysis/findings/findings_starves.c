/* SPDX-License-Identifier: Apache-2.0 */
/* The finding host-starves-gpu. */
#include <math.h>
#include <stdlib.h>

#include "report/base/alloc.h"
#include "report/model/call_log_compiling.h"
#include "report/analysis/findings/findings_internal.h"
#include "report/analysis/flow/flow.h"
#include "report/base/units.h"

/* Shorter gaps between calls (ns) are the loop around them, not work. */
#define GAP_LEAST 10e3
/* Fewer gaps than this are no habit. */
#define FEW_GAPS  10
#define GAPS_TOLD 3
/* They come at every step, or once for every so many pieces of work; else they are the machine's
 * doing, until they take much of the time. */
#define PIECES_MOST 64.0
#define STEPS_LEAST 0.5

struct thread_gaps {
	bool gives;                 /* work */
	bool asked;                 /* whether work was done, with its last call: it was not */
	double last;                /* end of its last call */
	double open;                /* idle time that no line is told of yet */
	struct finding_line before; /* the line before that */
	size_t count;               /* gaps in which the GPU had nothing to do */
	double idle;                /* what of them nothing was to do, ns */
	double compiling;           /* the same, what making code takes */
	double longest[GAPS_TOLD];  /* such parts of them */
};

struct gaps {
	size_t count, others; /* gaps; threads that have some, but the one told of */
	double pieces;        /* of work */
	double idle;          /* that the GPU had nothing to do in them, ns, each instant once */
	double compiling;     /* of a thread, what making code takes: threads wait for it at once */
	size_t loads;         /* of code, by any thread */
	uint16_t thread;      /* that had the most of it, and its gaps */
	struct thread_gaps most;
	struct finding_gap *ends; /* what they ended with */
	size_t end_count;
};

static void add_gap(struct thread_gaps *t, double ns, bool compiling)
{
	t->count++;
	t->idle += ns;
	t->compiling += compiling ? ns : 0;
	for (int i = 0; i < GAPS_TOLD; i++) {
		if (ns <= t->longest[i])
			continue;
		double shorter = t->longest[i];
		t->longest[i] = ns;
		ns = shorter;
	}
}

/* What the call's thread has; `next`: the line behind. */
static void end_gap(struct gaps *g, const struct finding_context *s, const struct call_event *a,
                    struct thread_gaps *t, const struct finding_line *next)
{
	struct finding_gap end;

	if (!finding_gap_ends(s, a, t->open, &end))
		return;
	end.before = finding_line_beside(&t->before, end.idle);
	end.next = finding_line_beside(next, end.idle);
	ALLOC_ROOM(g->ends, g->end_count);
	g->ends[g->end_count++] = end;
	t->open = 0;
}

/* What all threads had together, and the one that had the most. */
static void sum_up(struct gaps *g, const struct thread_gaps *threads, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		g->count += threads[i].count;
		g->others += threads[i].count > 0;
		g->compiling = fmax(g->compiling, threads[i].compiling);
		if (threads[i].idle > g->most.idle) {
			g->thread = (uint16_t)i;
			g->most = threads[i];
		}
	}
	g->others -= g->others > 0;
}

/* Times between the calls of threads that give work, as far as the GPU had none then. */
static struct gaps detect_gaps(const struct finding_context *s)
{
	struct gaps g = {0};
	size_t thread_count = s->h->thread_count;
	struct thread_gaps *threads = alloc_zeroed(thread_count + 1, sizeof(*threads));
	bool *compiling = call_log_compiling(s->call_events, s->count, thread_count);
	struct flow flow;
	struct finding_lines lines;
	double latest = 0, counted = 0; /* the end of the last call, and of what `idle` has */
	size_t pieces = 0, unknown = 0;

	for (size_t i = 0; i < s->count; i++) {
		const struct call_event *a = &s->call_events[i];
		bool work = flow_is_work(a);
		threads[a->thread].gives |= work;
		pieces += work;
		unknown += work && !isfinite(a->gpu);
	}
	bool timed = (double)unknown <= WHATIF_MOST_UNKNOWN * (double)pieces;
	finding_lines_make(&lines, s);
	flow_start(&flow, s->h, true);
	for (size_t i = 0; i < s->count; i++) {
		const struct call_event *a = &s->call_events[i];
		struct thread_gaps *t = &threads[a->thread];
		double to = a->start - a->ours,
		       from = fmax(t->last, flow_ends(&flow, a->device, CALL_LOG_NONE)),
		       idle = to - from;
		if (!(t->open > 0))
			t->before = lines.before[i];
		bool outside = t->gives && t->last > 0 && to - t->last >= GAP_LEAST;
		if (isinf(idle) && timed) { /* a piece never timed: since any thread's call */
			from = fmax(t->last, latest);
			idle = to - from;
		}
		/* An answer "not ready" says that the GPU had work. */
		if (t->asked)
			idle = 0;
		else if (outside && !isnan(idle))
			t->open += fmax(0, isfinite(idle) ? idle : to - latest);
		t->asked = a->cls == SPY_CLASS_QUERY && a->result;
		if (outside && idle > 0) {
			add_gap(t, idle, compiling[i]);
			g.idle += fmax(0, to - fmax(from, counted));
			counted = fmax(counted, to);
		}
		g.loads += call_event_loads_code(a);
		if (t->open > 0)
			end_gap(&g, s, a, t, &lines.next[i]);
		t->last = fmax(t->last, a->end);
		latest = fmax(latest, a->end);
		flow_add(&flow, a);
	}
	sum_up(&g, threads, thread_count);
	g.pieces = flow.pieces;
	if (flow.full)
		g.count = 0;
	flow_end(&flow);
	finding_lines_free(&lines);
	free(threads);
	free(compiling);
	return g;
}

static bool are_regular(const struct finding_context *s, const struct gaps *g)
{
	return (s->steps > 0 && (double)g->count >= STEPS_LEAST * s->steps) ||
	       (double)g->count * PIECES_MOST >= g->pieces;
}

/* So much of the time at least is told of, and so many loads. */
#define COMPILING_LEAST  0.1
#define LOADS_LEAST      2u
#define COMPILING_MAINLY 0.5 /* it is what the finding is about */

/* Of `idle`, a share of the time, what the host made code in (free it); "" where that is little. */
static char *tell_compiling(const struct finding_context *s, const struct gaps *g, double idle,
                            struct finding *f)
{
	double made = fmin(idle, finding_known(finding_share(s, g->compiling)));
	char share[UNIT_BYTES];

	if (g->loads < LOADS_LEAST || !(made >= COMPILING_LEAST * idle))
		return alloc_format("%s", "");
	if (made >= COMPILING_MAINLY * idle)
		f->advice = "compiling";
	return alloc_format(" %s %% of that went by before code was loaded (%zu modules): the host "
	                    "compiled it then, or waited for that.",
	                    unit_percent(share, made, idle), g->loads);
}

/* Shares that differ by less of one are the same one. */
#define SHARES_APART 0.05

/*
 * What the times of the thread that is told of make together, where that is not the share that is
 * told, and why (free it). `seen`: the share before what graphs would take away was left out.
 */
static char *tell_sum(const struct finding_context *s, const struct gaps *g, double seen,
                      double idle)
{
	double sum = finding_share(s, g->most.idle);
	char all[UNIT_BYTES], told[UNIT_BYTES];

	if (fabs(sum - idle) <= SHARES_APART * sum)
		return alloc_string("");
	unit_percent(all, sum, 1);
	unit_percent(told, idle, 1);
	if (idle < seen)
		return alloc_format(" These make %s %% of that time; the %s %% leave out what CUDA "
		                    "graphs would save.",
		                    all, told);
	if (idle < sum)
		return alloc_format(" These make %s %% of that time by the calls alone; the "
		                    "timeline shows no more than the %s %%.",
		                    all, told);
	return alloc_format(" These make %s %% of that time; %zu other thread%s had the rest.", all,
	                    g->others, g->others > 1 ? "s" : "");
}

/* Of a step (bytes): with less to the device it is no loader's batch that comes late. */
#define UPLOADS_LEAST 4096.0

static bool uploads(const struct finding_context *s)
{
	double bytes = 0;

	for (size_t i = 0; i < s->count; i++) {
		const struct call_event *a = &s->call_events[i];
		if (a->kind == TF_WORK_COPY && a->direction == SPY_DIR_HTOD && !a->result)
			bytes += (double)a->bytes;
	}
	return bytes >= UPLOADS_LEAST * fmax(1, s->steps);
}

bool detect_host_starves_gpu(const struct finding_context *s, struct finding *f)
{
	const struct model_gpu_busy *b = &s->m->gpu.busy;
	char share[UNIT_BYTES], mean[UNIT_BYTES], longest[GAPS_TOLD][UNIT_BYTES];
	char span[SPAN_BYTES];

	if (!s->m->gpu.has_busy || !finding_is_long(s) || !finding_is_whole(s) || !(b->window > 0))
		return false;
	struct gaps g = detect_gaps(s);
	/* The timeline, of all that is judged, and the recent calls must both say so. */
	double seen =
	        fmin(finding_known(b->by[TF_IDLE_OUTSIDE]) / b->window, finding_share(s, g.idle));
	/* What goes with a graph of the launches around it is their cost. */
	double idle = fmin(seen, whatif_hosts_own(&s->graphs, &s->host));
	if (g.count < FEW_GAPS || !(idle >= (are_regular(s, &g) ? FINDING_MEDIUM : FINDING_HIGH))) {
		free(g.ends);
		return false;
	}
	finding_find_line_ahead(s, g.ends, g.end_count, g.thread, f);
	free(g.ends);
	if (!uploads(s))
		f->advice = "host-work";
	for (int i = 0; i < GAPS_TOLD; i++)
		unit_time_apart(longest[i], g.most.longest[i]);
	const struct call_log_thread *t = &s->h->threads[g.thread];
	char *rate = finding_rate(s, (double)g.most.count), *made = tell_compiling(s, &g, idle, f),
	     *sum = tell_sum(s, &g, seen, idle);
	bool waits = s->verdict && s->verdict->waits_outside;
	if (waits)
		f->title = "The host is outside CUDA while the GPU has nothing to do";
	char *text = alloc_format(
	        "The GPU had nothing to do for %s%s %% of %s while %s%s (%llu)%s: %zu times%s "
	        "(%s), for %s on average and %s, %s and %s at most.%s%s%s",
	        finding_estimated(s), unit_percent(share, idle, 1), steady_base(s),
	        g.others ? "threads that give it work were outside CUDA, most of all " : "thread ",
	        t->name, (unsigned long long)t->tid, g.others ? "" : " was outside CUDA",
	        g.most.count, steady_span(s, span), rate,
	        unit_time_apart(mean, g.most.idle / (double)g.most.count), longest[0], longest[1],
	        longest[2], made, sum,
	        waits ? " The host's waiting for results that another thread reads is in that; "
	                "what is predicted here is of its own work alone."
	              : "");
	free(rate);
	free(made);
	free(sum);
	return finding_tell(f, idle, text);
}
