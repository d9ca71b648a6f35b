/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/model/model_internal.h"

static void take_reading(struct environment_reading *to, const struct tf_reading *from)
{
	/* Acquire: pairs with the shim's release; the process may be running. */
	to->made = __atomic_load_n(&from->tick, __ATOMIC_ACQUIRE) != 0;
	for (unsigned i = 0; i < SPY_ENVIRONMENT_COUNT; i++)
		to->value[i] = to->made && from->known >> i & 1 ? (double)from->value[i] : NAN;
	to->cost = to->made ? (double)from->cost_ns : NAN;
	memcpy(to->pids, from->pids, sizeof(to->pids));
}

static void add_device(struct model_part *p, const struct tf_environment_device *from)
{
	struct model *m = p->model;
	struct environment_device d = {
	        .process = p->process_index,
	        .index = from->index,
	        .bus_id = model_text(from->bus_id, sizeof(from->bus_id)),
	        .uuid = model_text(from->uuid, sizeof(from->uuid)),
	        .worked = from->used ||
	                  (from->index < TF_DEVICES_TIMED && p->header->devices_time[from->index]),
	        .between = NAN,
	};

	take_reading(&d.first, &from->first);
	take_reading(&d.last, &from->last);
	if (d.first.made && d.last.made)
		d.between = clock_between(&p->clock, from->first.tick, from->last.tick);
	ALLOC_ROOM(m->environment, m->environment_count);
	m->environment[m->environment_count++] = d;
}

static double told(const struct tf_cpu *c, enum tf_cpu_known what, uint64_t value)
{
	return c->known >> what & 1 ? (double)value : NAN;
}

static void add_cpu(struct model_part *p)
{
	static const struct tf_cpu nothing;
	const struct tf_cpu *c = tf_at(&p->recording->map, p->header->cpu, sizeof(*c));

	if (!c)
		c = &nothing;
	p->process->cpu = (struct model_process_cpu){
	        .cores = told(c, TF_CPU_CORES, c->cores),
	        .online = told(c, TF_CPU_ONLINE, c->online),
	        .limit_known = c->known >> TF_CPU_LIMIT & 1,
	        .limited = c->known >> TF_CPU_QUOTA & 1 && c->period_us,
	        .quota = c->period_us ? told(c, TF_CPU_QUOTA, c->quota_us) / (double)c->period_us
	                              : NAN,
	        .periods = told(c, TF_CPU_THROTTLED, c->periods),
	        .throttled_periods = told(c, TF_CPU_THROTTLED, c->throttled_periods),
	        .throttled = told(c, TF_CPU_THROTTLED, c->throttled_ns),
	};
}

void model_add_environment(struct model_part *p)
{
	const struct tf_environment *e =
	        p->header->environment
	                ? tf_at(&p->recording->map, p->header->environment, sizeof(*e))
	                : NULL;

	add_cpu(p);
	p->process->environment = ENVIRONMENT_NONE;
	if (!e)
		return;
	uint32_t state = __atomic_load_n(&e->state, __ATOMIC_ACQUIRE);
	p->process->environment = state <= TF_ENVIRONMENT_FORKED
	                                  ? (enum model_environment_state)state
	                                  : ENVIRONMENT_NONE;
	p->process->environment_result = e->result;
	p->process->environment_init = (double)e->init_ns;
	p->process->collector += (double)e->cpu_ns;
	p->process->kernel_driver = model_text(e->driver_version, sizeof(e->driver_version));
	for (uint32_t i = 0;
	     state == TF_ENVIRONMENT_READ && i < e->count && i < TF_ENVIRONMENT_DEVICES; i++)
		add_device(p, &e->devices[i]);
}

static bool same_text(const char *a, const char *b)
{
	return a && b && !strcmp(a, b);
}

static bool same_device(const struct model *m, const struct environment_device *a,
                        const struct environment_device *b)
{
	return same_text(m->processes[a->process].boot_id, m->processes[b->process].boot_id) &&
	       (same_text(a->uuid, b->uuid) || same_text(a->bus_id, b->bus_id));
}

/* The processes of the run itself are no others. */
static void leave_out_own(const struct model *m, const struct environment_device *d,
                          struct environment_reading *r)
{
	double *others = &r->value[SPY_ENVIRONMENT_OTHERS];
	size_t kept = 0;

	for (size_t i = 0; isfinite(*others) && i < TF_READING_PIDS && r->pids[i]; i++) {
		bool own = false;
		for (size_t k = 0; k < m->process_count && !own; k++)
			own = m->processes[k].pid == r->pids[i] &&
			      same_text(m->processes[k].boot_id, m->processes[d->process].boot_id);
		if (!own) {
			r->pids[kept++] = r->pids[i];
			continue;
		}
		*others = fmax(0, *others - 1);
		r->value[SPY_ENVIRONMENT_OTHERS_BYTES] = *others > 0 ? NAN : 0;
	}
	memset(r->pids + kept, 0, (TF_READING_PIDS - kept) * sizeof(r->pids[0]));
}

static void device_free(struct environment_device *d)
{
	free(d->bus_id);
	free(d->uuid);
}

/* How much a process' readings of a device say of the run. */
static int weight(const struct environment_device *d)
{
	return 2 * d->worked + d->last.made;
}

/* What was not recorded may have been work, and of several devices it may all be this one's. */
static double busy_at_most(const struct model *m, const struct environment_device *d)
{
	const struct model_gpu_busy *b = &m->gpu.busy;

	return m->gpu.has_busy ? b->high + fmax(0, d->between - b->window) : NAN;
}

/* One row for each device that several processes saw: of one that used it to its end, if there is
 * one. */
void model_finish_environment(struct model *m)
{
	size_t kept = 0;
	bool any_worked = false;

	for (size_t i = 0; i < m->environment_count; i++) {
		struct environment_device d = m->environment[i];
		size_t k = 0;
		while (k < kept && !same_device(m, &m->environment[k], &d))
			k++;
		if (k == kept) {
			m->environment[kept++] = d;
		} else if (weight(&d) > weight(&m->environment[k])) {
			device_free(&m->environment[k]);
			m->environment[k] = d;
		} else {
			device_free(&d);
		}
	}
	m->environment_count = kept;
	for (size_t i = 0; i < kept; i++) {
		leave_out_own(m, &m->environment[i], &m->environment[i].first);
		leave_out_own(m, &m->environment[i], &m->environment[i].last);
		any_worked |= m->environment[i].worked;
	}
	for (size_t i = 0; i < kept; i++) {
		struct environment_device *d = &m->environment[i];
		d->used = (d->worked || !any_worked) && (d->first.made || d->last.made);
		d->busy = busy_at_most(m, d);
	}
}

void model_free_environment(struct model *m)
{
	for (size_t i = 0; i < m->environment_count; i++)
		device_free(&m->environment[i]);
	free(m->environment);
}
