/* SPDX-License-Identifier: Apache-2.0 */
/* What is wrong with the devices and the driver of a run. */
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/base/units.h"
#include "report/model/environment_internal.h"
#include "report/model/model_names.h"

#define THROTTLED_LEAST 0.05 /* of the time: below it, what is lost is less than noise */
#define LIMIT_LOWERED   0.99 /* of the default: a power limit below it was set by somebody */

/* Of the bits that are a fault. */
static char *fault_texts(uint64_t bits)
{
	char *list = alloc_string("");

	/* The general bit says nothing that these two do not. */
	if (bits & (SPY_THROTTLE_HARDWARE_THERMAL | SPY_THROTTLE_POWER_BRAKE))
		bits &= ~(uint64_t)SPY_THROTTLE_HARDWARE;
#define XX(id, bit, fault, text)                                                                   \
	if (bits & (bit) && fault)                                                                 \
		environment_join(&list, text);
	SPY_THROTTLE_MAP(XX)
#undef XX
	return list;
}

static bool add(struct environment_anomalies *to, const char *format, ...)
        __attribute__((format(printf, 2, 3)));

/* Whether it was not there yet. */
static bool add(struct environment_anomalies *to, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	char *text = alloc_vformat(format, args);
	va_end(args);
	for (size_t i = 0; i < to->count; i++) /* of several processes: once */
		if (!strcmp(to->texts[i], text)) {
			free(text);
			return false;
		}
	ALLOC_ROOM(to->texts, to->count);
	to->texts[to->count++] = text;
	return true;
}

static void old_driver(const struct model_process *p, struct environment_anomalies *to)
{
	char driver[MODEL_VERSION_BYTES], runtime[MODEL_VERSION_BYTES];

	for (size_t i = 0; p->driver_version && i < p->library_count; i++) {
		const struct model_library *l = &p->libraries[i];
		if ((l->kind != TF_LIBRARY_RUNTIME && l->kind != TF_LIBRARY_STATIC_RUNTIME) ||
		    l->version <= p->driver_version)
			continue;
		const char *base = l->path ? strrchr(l->path, '/') : NULL;
		add(to, "the driver is of CUDA %s, older than the runtime's %s (%s)",
		    model_version(driver, p->driver_version), model_version(runtime, l->version),
		    base      ? base + 1
		    : l->path ? l->path
		              : "unknown");
	}
}

static void held_by(const char *name, const struct environment_device *d, double share,
                    const char *what, struct environment_anomalies *to)
{
	char percent[UNIT_BYTES], time[UNIT_BYTES];

	if (!(share >= THROTTLED_LEAST))
		return;
	to->throttled_share = fmax(to->throttled_share, share);
	add(to, "%s: %s held its clocks down for %s %% of the %s from CUDA's start to exit", name,
	    what, unit_percent(percent, share, 1), unit_time_apart(time, d->between));
}

static bool is_lowered(const struct environment_reading *r)
{
	return environment_value(r, SPY_ENVIRONMENT_POWER_LIMIT_MW) <
	       LIMIT_LOWERED * environment_value(r, SPY_ENVIRONMENT_POWER_DEFAULT_MW);
}

/* Something else than its own work may be why the device is at its power limit: a limit that was
 * lowered, heat, or work of others, which those in another instance of it have as well. */
static bool is_disturbed(const struct environment_device *d, uint64_t bits)
{
	const struct environment_reading *readings[] = {&d->first, &d->last};
	bool disturbed = environment_heated_share(d) >= THROTTLED_LEAST;

	for (size_t i = 0; i < sizeof(readings) / sizeof(readings[0]); i++)
		disturbed |= is_lowered(readings[i]) ||
		             environment_value(readings[i], SPY_ENVIRONMENT_OTHERS) > 0 ||
		             environment_value(readings[i], SPY_ENVIRONMENT_MIG) > 0;
	char *others = fault_texts(bits & ~(uint64_t)SPY_THROTTLE_POWER_CAP);
	disturbed |= *others != 0;
	free(others);
	return disturbed;
}

static const char *whose_work(const struct environment_device *d)
{
	return environment_value(environment_latest(d), SPY_ENVIRONMENT_OTHERS) >= 0
	               ? "the program's"
	               : "its";
}

/* At which of the readings there was a reason. */
static const char *moment(const struct environment_device *d)
{
	return !environment_reasons(&d->first)                   ? "exit"
	       : !d->last.made || !environment_reasons(&d->last) ? "the start"
	                                                         : "start or exit";
}

/* Clocks were held down for longer than the run's work can have taken: so they were by others', and
 * how long beside this run's work is not known. */
static bool others_power(const char *name, const struct environment_device *d, double share,
                         const char *watts, struct environment_anomalies *to)
{
	char percent[UNIT_BYTES], time[UNIT_BYTES], busy[UNIT_BYTES];

	if (!(share >= THROTTLED_LEAST) || !(share * d->between > d->busy))
		return false;
	add(to,
	    "%s: other work drew all its power%s: its clocks were held down for %s %% of the %s "
	    "from "
	    "CUDA's start to exit, and the program's work took %s of that at most",
	    name, watts, unit_percent(percent, share, 1), unit_time_apart(time, d->between),
	    unit_time_apart(busy, d->busy));
	return true;
}

/* Nothing but its own work holds the device at its power limit: for this share of the time, or
 * where that is not known at a reading. */
static void full_power(const char *name, const struct environment_device *d, double share,
                       bool at_reading, const char *watts, struct environment_anomalies *to)
{
	char percent[UNIT_BYTES], time[UNIT_BYTES];

	if (share >= THROTTLED_LEAST)
		to->normal += add(to,
		                  "%s: %s work drew all its power%s, which held "
		                  "its clocks down for %s %% of the %s from CUDA's start to exit",
		                  name, whose_work(d), watts, unit_percent(percent, share, 1),
		                  unit_time_apart(time, d->between));
	else if (at_reading)
		to->normal += add(to,
		                  "%s: %s work drew all its power%s, which held "
		                  "its clocks down at %s",
		                  name, whose_work(d), watts, moment(d));
}

static void clocks(const char *name, const struct environment_device *d,
                   struct environment_anomalies *to)
{
	double capped = environment_capped_share(d), heated = environment_heated_share(d);
	uint64_t bits = environment_reasons(&d->first) | environment_reasons(&d->last);
	const struct environment_reading *r = environment_latest(d);
	double limit = environment_value(r, SPY_ENVIRONMENT_POWER_LIMIT_MW),
	       usual = environment_value(r, SPY_ENVIRONMENT_POWER_DEFAULT_MW);
	bool disturbed = is_disturbed(d, bits);
	char *watts = environment_number(limit / 1e3);
	char *of = isfinite(limit) ? alloc_format(" (%s W)", watts) : alloc_string("");
	char *what = alloc_format("the power limit%s", of);

	/* Of what a counter tells, a moment says nothing more. */
	if (isfinite(capped))
		bits &= ~(uint64_t)SPY_THROTTLE_POWER_CAP;
	if (disturbed)
		held_by(name, d, capped, what, to);
	else if (!others_power(name, d, capped, of, to))
		full_power(name, d, capped, bits & SPY_THROTTLE_POWER_CAP, of, to);
	held_by(name, d, heated, "its temperature", to);
	char *reasons = fault_texts(bits);
	if (*reasons && disturbed)
		add(to, "%s: its clocks were held down at %s: %s", name, moment(d), reasons);
	if (is_lowered(r))
		add(to, "%s: its power limit is %s W, %.0f W is the default", name, watts,
		    usual / 1e3);
	free(reasons);
	free(watts);
	free(what);
	free(of);
}

/* When these processes were on a device, by the reading that tells of them and what the last has.
 */
static const char *when(bool at_start, double last)
{
	return !at_start   ? "exit"
	       : last > 0  ? "the start, fewer at exit"
	       : last == 0 ? "the start, gone at exit"
	                   : "the start";
}

static void processes(const char *name, const struct environment_device *d,
                      struct environment_anomalies *to)
{
	double first = environment_value(&d->first, SPY_ENVIRONMENT_OTHERS),
	       last = environment_value(&d->last, SPY_ENVIRONMENT_OTHERS);
	bool at_start = first > 0 && !(last >= first);
	const struct environment_reading *r = at_start ? &d->first : &d->last;
	double others = at_start ? first : last;
	char memory[UNIT_BYTES], *list = alloc_string("");

	for (size_t i = 0; i < TF_READING_PIDS && r->pids[i]; i++) {
		char *pid = alloc_format("%u", r->pids[i]);
		environment_join(&list, pid);
		free(pid);
	}
	/* Of a device in instances, theirs may be another one. */
	if (others > 0 && !(environment_value(r, SPY_ENVIRONMENT_MIG) > 0))
		add(to, "%s: %.0f other process%s on it at %s (%s), with %s of its memory", name,
		    others, others > 1 ? "es" : "", when(at_start, last),
		    *list ? list : "not known which",
		    unit_bytes(memory, environment_value(r, SPY_ENVIRONMENT_OTHERS_BYTES)));
	free(list);
}

static void memory_errors(const char *name, const struct environment_device *d,
                          struct environment_anomalies *to)
{
	double all = environment_value(environment_latest(d), SPY_ENVIRONMENT_ECC),
	       now = environment_risen(d, SPY_ENVIRONMENT_ECC);

	if (!(all > 0))
		return;
	char *during = isfinite(now) ? alloc_format(", %.0f of them during this run", now)
	                             : alloc_string("");
	add(to, "%s: %.0f uncorrected memory error%s (ECC) since its driver was loaded%s", name,
	    all, all > 1 ? "s" : "", during);
	free(during);
}

/* An idle GPU's link goes down to save power: only what was read of a busy one counts. */
static void slow_link(const char *name, const struct environment_device *d,
                      struct environment_anomalies *to)
{
	const struct environment_reading *r = environment_latest(d);
	double generation = environment_value(r, SPY_ENVIRONMENT_PCIE_GEN),
	       generation_most = environment_value(r, SPY_ENVIRONMENT_PCIE_GEN_MAX),
	       width = environment_value(r, SPY_ENVIRONMENT_PCIE_WIDTH),
	       width_most = environment_value(r, SPY_ENVIRONMENT_PCIE_WIDTH_MAX);

	if (!(environment_value(r, SPY_ENVIRONMENT_UTILIZATION) > 0) ||
	    !(generation < generation_most || width < width_most))
		return;
	char *now = environment_add_pair(alloc_string(""), generation, width, " x", ""),
	     *most = environment_add_pair(alloc_string(""), generation_most, width_most, " x", "");
	add(to, "%s: its PCIe link was of generation %s while it worked; %s is possible", name, now,
	    most);
	free(now);
	free(most);
}

bool environment_anomalies(const struct model *m, struct environment_anomalies *to)
{
	*to = (struct environment_anomalies){.throttled_share = NAN};
	for (size_t i = 0; i < m->process_count; i++)
		old_driver(&m->processes[i], to);
	for (size_t i = 0; i < m->environment_count; i++) {
		const struct environment_device *d = &m->environment[i];
		if (!d->used)
			continue;
		char *name = environment_device_name(m, d);
		clocks(name, d, to);
		processes(name, d, to);
		memory_errors(name, d, to);
		slow_link(name, d, to);
		free(name);
	}
	return to->count > 0;
}

void environment_anomalies_free(struct environment_anomalies *t)
{
	for (size_t i = 0; i < t->count; i++)
		free(t->texts[i]);
	free(t->texts);
	*t = (struct environment_anomalies){0};
}
