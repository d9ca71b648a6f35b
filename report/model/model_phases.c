/* SPDX-License-Identifier: Apache-2.0 */
#include "report/model/model_phase_types.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/base/stats.h"
#include "report/model/model_internal.h"
#include "report/model/model_phase_loops.h"
#include "report/model/phases.h"

#define WORK_LEAST   0.5 /* of all work, in the loops: with less they do not stand for the run */
#define SLICES_LEAST 2.0 /* in a stretch, on average: else time slices do not tell it apart */

const char *const model_phase_names[] = {
        [PHASE_START] = "start", [PHASE_LOOP] = "loop", [PHASE_END] = "end"};
const char *const model_phase_words[] = {
        [PHASE_START] = "start-up", [PHASE_LOOP] = "the loop", [PHASE_END] = "the end"};

/* ---- the rows of the run ---- */

static bool same_text(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

/* Whether a loop is that of a phase: in another process, by what tells its steps apart. */
static bool same_loop(const struct model *m, const struct model_phase *p,
                      const struct phase_candidate *c)
{
	if (p->kind != PHASE_LOOP || p->found != c->found)
		return false;
	if (!c->found)
		return p->source == c->source;
	const struct model_loop *x = &m->loops[p->source], *y = &m->loops[c->source];
	return x->cls == y->cls && same_text(x->marker, y->marker);
}

static struct model_phase *phase_row(struct model_phases *to, enum model_phase_kind kind)
{
	ALLOC_ROOM(to->rows, to->count);
	struct model_phase *p = &to->rows[to->count++];
	*p = (struct model_phase){.kind = kind, .source = RANGE_NONE};
	return p;
}

static void add_part(struct model_phase *p, uint32_t process, size_t source,
                     struct model_stretch *stretches, size_t count)
{
	ALLOC_ROOM(p->parts, p->part_count);
	struct model_phase_part *part = &p->parts[p->part_count++];
	*part = (struct model_phase_part){.process = process,
	                                  .source = source,
	                                  .start = stretches[0].start,
	                                  .end = stretches[count - 1].end,
	                                  .stretches = stretches,
	                                  .stretch_count = count};
	for (size_t i = 0; i < count; i++)
		part->time += stretches[i].end - stretches[i].start;
}

static void add_loop(struct model *m, uint32_t process, struct phase_candidate *c)
{
	struct model_phases *to = &m->phases;
	struct model_phase *p = NULL;

	for (size_t i = 0; i < to->count && !p; i++) {
		struct model_phase *row = &to->rows[i];
		if (same_loop(m, row, c) && row->parts[row->part_count - 1].process != process)
			p = row;
	}
	if (!p) {
		p = phase_row(to, PHASE_LOOP);
		p->found = c->found;
		p->source = c->source;
	}
	add_part(p, process, c->source, c->stretches, c->count);
	struct model_phase_part *part = &p->parts[p->part_count - 1];
	part->alike = c->alike;
	part->alike_count = c->alike_count;
	c->stretches = NULL;
	c->alike = NULL;
}

static void add_end(struct model_phases *to, enum model_phase_kind kind, uint32_t process,
                    double start, double end)
{
	struct model_phase *p = NULL;

	if (!(end > start))
		return;
	for (size_t i = 0; i < to->count && !p; i++)
		p = to->rows[i].kind == kind ? &to->rows[i] : NULL;
	if (!p)
		p = phase_row(to, kind);
	struct model_stretch *one = alloc_zeroed(1, sizeof(*one));
	*one = (struct model_stretch){start, end, 0};
	add_part(p, process, RANGE_NONE, one, 1);
}

/* What XLA launches to find out which kernel is the fastest, and whether it computes the same: in
 * stream_executor::gpu:: or, of older versions, xla::gpu::. */
static const char *const tuning[] = {"::DelayKernel", "::RedzoneAllocatorKernel",
                                     "::xla_fp_comparison", "::xla_int_comparison"};

static bool tunes(const struct model_loop *l)
{
	const char *name = l->marker;

	if (!name || !(strstr(name, "stream_executor::") || strstr(name, "xla::")))
		return false;
	for (size_t i = 0; i < sizeof(tuning) / sizeof(*tuning); i++)
		if (strstr(name, tuning[i]))
			return true;
	return false;
}

/* Of one process; the pieces of work that its loops have, without those that tune: added to
 * `tuned`. */
static double add_process(struct model *m, uint32_t process, size_t range, double *tuned)
{
	struct phase_candidates of = {.process = process};
	double first = INFINITY, last = 0, work = 0, window = m->processes[process].window;

	if (!(window > 0))
		return 0;
	phase_loops_find(&of, m, range);
	for (size_t i = 0; i < of.count; i++) {
		struct phase_candidate *c = &of.items[i];
		if (c->taken) {
			first = fmin(first, c->stretches[0].start);
			last = fmax(last, c->stretches[c->count - 1].end);
			double pieces = c->found ? fmax(c->work + c->beside,
			                                phase_loops_work(m, process, c))
			                         : INFINITY;
			if (c->found && tunes(&m->loops[c->source]))
				*tuned += pieces;
			else
				work += pieces;
			add_loop(m, process, c);
		}
	}
	if (isfinite(first)) {
		add_end(&m->phases, PHASE_START, process, 0, first);
		add_end(&m->phases, PHASE_END, process, last, window);
	}
	phase_loops_free(&of);
	return work;
}

/* ---- their figures ---- */

/* What the host and the GPU did in its time. */
static void add_slices(struct model_phase *p, const struct overview *o,
                       const struct model_phase_part *part)
{
	for (size_t i = 0; o->host && i < o->count; i++) {
		double all = phases_part(o, i, o->window, INFINITY), in = 0;
		for (size_t k = 0; k < part->stretch_count; k++)
			in += phases_part(o, i, o->window + part->stretches[k].start,
			                  o->window + part->stretches[k].end);
		if (!(all > 0 && in > 0))
			continue;
		for (int k = 0; k < TF_HOSTS; k++)
			p->host[k] += o->host[i][k] * fmin(1, in / all);
		p->busy += phases_busy(o, i) * fmin(1, in / all);
	}
	p->has_host |= o->host != NULL;
}

bool *model_phase_loops(const struct model *m, const struct model_phase *p)
{
	bool *in = alloc_zeroed(m->loop_count + 1, sizeof(*in));

	for (size_t i = 0; p->kind == PHASE_LOOP && p->found && i < p->part_count; i++) {
		const struct model_phase_part *part = &p->parts[i];
		in[part->source] = true;
		for (size_t k = 0; k < part->alike_count; k++)
			in[part->alike[k]] = true;
	}
	return in;
}

bool model_phase_has(const struct model_phase *p, const bool *loops, const struct model_step *row)
{
	return p->kind == PHASE_LOOP && row->found == p->found &&
	       (p->found ? loops[row->source] : row->source == p->source);
}

static void add_work(struct model_work_done *to, const struct model_work_done *w)
{
	double a[WORK_FIGURES], b[WORK_FIGURES];

	memcpy(a, to, sizeof(a));
	memcpy(b, w, sizeof(b));
	for (unsigned i = 0; i < WORK_FIGURES; i++)
		a[i] += b[i];
	memcpy(to, a, sizeof(a));
}

/* Every step has a row where none was thinned out: its quantiles are exact then. */
static void quantiles_of_rows(const struct model *m, struct model_phase *p)
{
	double *v = alloc_zeroed(m->step_row_count + 1, sizeof(*v));
	bool *loops = model_phase_loops(m, p);
	size_t n = 0;

	for (size_t i = 0; i < m->step_row_count; i++)
		if (model_phase_has(p, loops, &m->step_rows[i]))
			v[n++] = m->step_rows[i].duration;
	if (n && n >= p->steps) {
		stats_sort(v, n);
		p->p50 = stats_quantile(v, n, 0.5);
		p->p99 = stats_quantile(v, n, 0.99);
	}
	free(v);
	free(loops);
}

static void found_steps(const struct model *m, struct model_phase *p)
{
	double time = 0;
	uint64_t most = 0;

	bool *loops = model_phase_loops(m, p);
	for (size_t i = 0; i < m->loop_count; i++) {
		const struct model_loop *l = &m->loops[i];
		if (!loops[i])
			continue;
		CLAMP_ADD(p->steps, l->steps);
		time += l->time;
		add_work(&p->work, &l->work);
		if (l->steps > most) {
			most = l->steps;
			p->source = i;
		}
	}
	free(loops);
	p->threads = 1;
	for (size_t i = 0; i < p->part_count; i++)
		if (p->parts[i].alike_count + 1 > p->threads)
			p->threads = p->parts[i].alike_count + 1;
	const struct model_loop *largest = &m->loops[p->source];
	p->mean = p->steps ? time / (double)p->steps : NAN;
	p->p50 = largest->q.p50;
	p->p99 = largest->q.p99;
	quantiles_of_rows(m, p);
}

static void range_steps(const struct model *m, struct model_phase *p)
{
	const struct model_range *r = &m->ranges[p->source];
	double v[WORK_FIGURES], scale = r->counted ? (double)r->count / (double)r->counted : NAN;

	p->steps = r->count;
	p->mean = r->mean;
	p->p50 = r->q.p50;
	p->p99 = r->q.p99;
	memcpy(v, &r->work, sizeof(v));
	for (unsigned i = 0; i < WORK_FIGURES; i++)
		v[i] *= scale;
	memcpy(&p->work, v, sizeof(v));
	quantiles_of_rows(m, p);
}

static void fill(const struct model *m, struct model_phase *p)
{
	double windows = 0, slices = 0, first = INFINITY;

	p->start = INFINITY;
	p->mean = p->p50 = p->p99 = NAN;
	for (size_t i = 0; i < m->process_count; i++)
		first = fmin(first, m->processes[i].window_start_realtime);
	for (size_t i = 0; i < p->part_count; i++) {
		const struct model_phase_part *part = &p->parts[i];
		const struct model_process *of = &m->processes[part->process];
		double late = m->process_count > 1 ? of->window_start_realtime - first : 0;
		if (!(late > 0))
			late = 0;
		p->start = fmin(p->start, part->start + late);
		p->end = fmax(p->end, part->end + late);
		p->time += part->time;
		p->stretches += part->stretch_count;
		p->lost |= of->lost || of->lost_calls;
		windows += of->window;
		if (of->overview.width > 0)
			slices += part->time / of->overview.width;
		add_slices(p, &of->overview, part);
	}
	p->share = windows > 0 ? fmin(1, p->time / windows) : NAN;
	if (p->kind != PHASE_LOOP)
		return;
	p->coarse = slices < SLICES_LEAST * (double)p->stretches;
	if (p->found)
		found_steps(m, p);
	else
		range_steps(m, p);
	p->tunes = p->found && tunes(&m->loops[p->source]);
}

static int by_start(const void *a, const void *b)
{
	const struct model_stretch *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* Of a process what lies between its stretches; NaN = it has no phase. */
static double between_phases(const struct model *m, uint32_t process)
{
	struct model_stretch *all = NULL;
	size_t count = 0;
	double between = 0, end = INFINITY;

	for (size_t i = 0; i < m->phases.count; i++) {
		const struct model_phase *p = &m->phases.rows[i];
		for (size_t k = 0; k < p->part_count; k++) {
			const struct model_phase_part *part = &p->parts[k];
			for (size_t n = 0; part->process == process && n < part->stretch_count;
			     n++) {
				ALLOC_ROOM(all, count);
				all[count++] = part->stretches[n];
			}
		}
	}
	if (count)
		qsort(all, count, sizeof(*all), by_start);
	for (size_t i = 0; i < count; i++) {
		between += fmax(0, all[i].start - end);
		end = i ? fmax(end, all[i].end) : all[i].end;
	}
	free(all);
	return count ? between : NAN;
}

static void add_between(struct model *m)
{
	double windows = 0, sum = 0, processes = 0;

	for (size_t i = 0; i < m->process_count; i++) {
		double between = between_phases(m, (uint32_t)i);
		if (isnan(between))
			continue;
		sum += between;
		windows += m->processes[i].window;
		processes++;
	}
	m->phases.between = processes > 0 ? sum / processes : 0;
	m->phases.between_share = windows > 0 ? sum / windows : 0;
}

static int by_order(const void *a, const void *b)
{
	const struct model_phase *x = a, *y = b;

	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	return x->start < y->start ? -1 : x->start > y->start;
}

void model_finish_phases(struct model *m)
{
	struct model_phases *to = &m->phases;
	size_t range = model_steps_range(m);
	const struct model_totals *t = &m->totals;
	double work = 0, tuned = 0,
	       all = (double)t->launches + (double)t->graph_launches + (double)t->copies +
	             (double)t->sets;

	*to = (struct model_phases){.main = PHASE_NONE};
	for (size_t i = 0; i < m->process_count; i++)
		work += add_process(m, (uint32_t)i, range, &tuned);
	for (size_t i = 0; i < to->count; i++)
		fill(m, &to->rows[i]);
	if (to->count)
		qsort(to->rows, to->count, sizeof(*to->rows), by_order);
	for (size_t i = 0; i < to->count; i++)
		if (to->rows[i].kind == PHASE_LOOP)
			to->rows[i].number = (unsigned)++to->loops;
	add_between(m);
	/* Where nothing else repeats, tuning is judged as any loop. */
	if (work > 0 ? work >= WORK_LEAST * (all - tuned) : tuned >= WORK_LEAST * all)
		to->main = phase_loops_judged(m, range);
	for (size_t i = 0; to->main != PHASE_NONE && i < to->count; i++) {
		const struct model_phase *judged = &to->rows[to->main];
		if (to->rows[i].kind == PHASE_LOOP && phase_loop_prepares(&to->rows[i], judged))
			to->rows[i].prepares = judged->number;
	}
}

size_t model_phase_find(const struct model *m, unsigned number)
{
	for (size_t i = 0; i < m->phases.count; i++) {
		const struct model_phase *p = &m->phases.rows[i];
		if (number ? p->number == number : p->kind == PHASE_START)
			return i;
	}
	return PHASE_NONE;
}

void model_free_phases(struct model *m)
{
	for (size_t i = 0; i < m->phases.count; i++) {
		struct model_phase *p = &m->phases.rows[i];
		for (size_t k = 0; k < p->part_count; k++) {
			free(p->parts[k].stretches);
			free(p->parts[k].alike);
		}
		free(p->parts);
	}
	free(m->phases.rows);
}

double model_phase_startup(const struct model *m)
{
	size_t start = model_phase_find(m, 0);
	double before = m->startup > 0 ? m->startup : 0;

	if (start == PHASE_NONE)
		return before;
	const struct model_phase *p = &m->phases.rows[start];
	return before + p->time / (double)p->part_count;
}
