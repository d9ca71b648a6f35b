/* SPDX-License-Identifier: Apache-2.0 */
#include "report/model/environment.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/model/model_names.h"
#include "report/base/units.h"

#define THROTTLED_LEAST 0.05 /* of the time: below it, what is lost is less than noise */
#define LIMIT_LOWERED   0.99 /* of the default: a power limit below it was set by somebody */

/* ---- figures ---- */

static double value(const struct environment_reading *r, enum spy_environment what)
{
	return r->made ? r->value[what] : NAN;
}

/* The latest reading that was made. */
static const struct environment_reading *latest(const struct environment_device *d)
{
	return d->last.made ? &d->last : &d->first;
}

static double risen(const struct environment_device *d, enum spy_environment what)
{
	double by = value(&d->last, what) - value(&d->first, what);

	return by >= 0 ? by : NAN; /* a counter that fell was set back */
}

static double held_down(const struct environment_device *d, enum spy_environment what)
{
	double by = risen(d, what);

	/* fmin() of a NaN is the other one. */
	return d->between > 0 && isfinite(by) ? fmin(1, by / d->between) : NAN;
}

double environment_capped_share(const struct environment_device *d)
{
	return held_down(d, SPY_ENVIRONMENT_CAPPED_NS);
}

double environment_heated_share(const struct environment_device *d)
{
	return held_down(d, SPY_ENVIRONMENT_HEATED_NS);
}

double environment_mean_power(const struct environment_device *d)
{
	return d->between > 0 ? risen(d, SPY_ENVIRONMENT_ENERGY_MJ) * 1e6 / d->between : NAN;
}

static void join(char **list, const char *text)
{
	alloc_append(list, "%s%s", **list ? ", " : "", text);
}

uint64_t environment_reasons(const struct environment_reading *r)
{
	double bits = value(r, SPY_ENVIRONMENT_REASONS);

	return bits >= 0 && bits < 1e15 ? (uint64_t)bits : 0;
}

/* Of the bits that are a fault. */
static char *fault_texts(uint64_t bits)
{
	char *list = alloc_string("");

	/* The general bit says nothing that these two do not. */
	if (bits & (SPY_THROTTLE_HARDWARE_THERMAL | SPY_THROTTLE_POWER_BRAKE))
		bits &= ~(uint64_t)SPY_THROTTLE_HARDWARE;
#define XX(id, bit, fault, text)                                                                   \
	if (bits & (bit) && fault)                                                                 \
		join(&list, text);
	SPY_THROTTLE_MAP(XX)
#undef XX
	return list;
}

/* ---- lines ---- */

/* "GPU 0", with its host where there are several. */
static char *device_name(const struct model *m, const struct environment_device *d)
{
	const char *host = m->processes[d->process].host, *first = m->processes[0].host;

	if (host && first && strcmp(host, first) != 0)
		return alloc_format("GPU %u of %s", d->index, host);
	return alloc_format("GPU %u", d->index);
}

char *environment_number(double v)
{
	return isfinite(v) ? alloc_format("%.0f", v) : alloc_string("n/a");
}

/* "1980 of 1980 MHz"; adds nothing where neither is known. */
static char *add_pair(char *list, double now, double most, const char *between, const char *unit)
{
	if (!isfinite(now) && !isfinite(most))
		return list;
	char *a = environment_number(now), *b = environment_number(most);
	char *text = alloc_format("%s%s%s%s", a, between, b, unit);
	join(&list, text);
	free(a);
	free(b);
	free(text);
	return list;
}

static char *add_link(char *list, const struct environment_reading *r)
{
	double generation = value(r, SPY_ENVIRONMENT_PCIE_GEN),
	       width = value(r, SPY_ENVIRONMENT_PCIE_WIDTH);

	if (!isfinite(generation) && !isfinite(width))
		return list;
	char *a = environment_number(generation), *b = environment_number(width);
	char *text = alloc_format("PCIe generation %s x%s", a, b);
	join(&list, text);
	free(a);
	free(b);
	free(text);
	return list;
}

char *environment_line(const struct model *m, const struct environment_device *d)
{
	const struct environment_reading *r = latest(d);
	char *name = device_name(m, d), *list = alloc_string("");
	double celsius = value(r, SPY_ENVIRONMENT_CELSIUS),
	       others = value(r, SPY_ENVIRONMENT_OTHERS);

	list = add_pair(list, value(r, SPY_ENVIRONMENT_SM_MHZ),
	                value(r, SPY_ENVIRONMENT_SM_MHZ_MAX), " of ", " MHz");
	list = add_pair(list, value(r, SPY_ENVIRONMENT_POWER_MW) / 1e3,
	                value(r, SPY_ENVIRONMENT_POWER_LIMIT_MW) / 1e3, " of ", " W");
	if (isfinite(celsius)) {
		char *text = alloc_format("%.0f C", celsius);
		join(&list, text);
		free(text);
	}
	list = add_link(list, r);
	if (value(r, SPY_ENVIRONMENT_MIG) > 0)
		join(&list, "MIG");
	if (others >= 0) {
		char *text = others > 0 ? alloc_format("%.0f other process%s", others,
		                                       others > 1 ? "es" : "")
		                        : alloc_copy("no other process", 16);
		join(&list, text);
		free(text);
	}
	char *line = alloc_format("%s %s: %s", name, d->last.made ? "at exit" : "at the start",
	                          *list ? list : "NVML tells nothing");
	free(name);
	free(list);
	return line;
}

char *environment_unknown(const struct model *m)
{
	const struct model_process *p = m->processes;

	for (size_t i = 0; i < m->environment_count; i++)
		if (m->environment[i].used)
			return NULL;
	/* What the first that asked was told. */
	for (size_t i = 0; i < m->process_count; i++)
		if (m->processes[i].environment != ENVIRONMENT_FORKED &&
		    m->processes[i].environment != ENVIRONMENT_NONE) {
			p = &m->processes[i];
			break;
		}
	switch (m->process_count ? p->environment : ENVIRONMENT_NONE) {
	case ENVIRONMENT_LATE:
		return alloc_format("NVML did not answer in time");
	case ENVIRONMENT_NO_LIBRARY:
		return alloc_format("no libnvidia-ml.so.1");
	case ENVIRONMENT_FAILED:
		return alloc_format("NVML failed: error %u", p->environment_result);
	case ENVIRONMENT_READ:
		return alloc_format("NVML told nothing of the devices in time");
	case ENVIRONMENT_FORKED:
		return alloc_format("a forked child does not ask");
	case ENVIRONMENT_NONE:
		break;
	}
	return alloc_format("not in the recording");
}

/* ---- what is wrong ---- */

static void add(struct environment_anomalies *to, const char *format, ...)
        __attribute__((format(printf, 2, 3)));

static void add(struct environment_anomalies *to, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	char *text = alloc_vformat(format, args);
	va_end(args);
	for (size_t i = 0; i < to->count; i++) /* of several processes: once */
		if (!strcmp(to->texts[i], text)) {
			free(text);
			return;
		}
	ALLOC_ROOM(to->texts, to->count);
	to->texts[to->count++] = text;
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
	add(to, "%s: %s held its clocks down for %s %% of the %s between start and exit", name,
	    what, unit_percent(percent, share, 1), unit_time_apart(time, d->between));
}

static void clocks(const char *name, const struct environment_device *d,
                   struct environment_anomalies *to)
{
	double capped = environment_capped_share(d), heated = environment_heated_share(d);
	uint64_t bits = environment_reasons(&d->first) | environment_reasons(&d->last);
	const struct environment_reading *r = latest(d);
	double limit = value(r, SPY_ENVIRONMENT_POWER_LIMIT_MW),
	       usual = value(r, SPY_ENVIRONMENT_POWER_DEFAULT_MW);
	char *watts = environment_number(limit / 1e3);
	char *what = isfinite(limit) ? alloc_format("the power limit (%s W)", watts)
	                             : alloc_format("the power limit");

	held_by(name, d, capped, what, to);
	held_by(name, d, heated, "its temperature", to);
	/* Of what a counter tells, a moment says nothing more. */
	if (isfinite(capped))
		bits &= ~(uint64_t)SPY_THROTTLE_POWER_CAP;
	char *reasons = fault_texts(bits);
	if (*reasons)
		add(to, "%s: its clocks were held down at %s: %s", name,
		    !environment_reasons(&d->first)                   ? "exit"
		    : !d->last.made || !environment_reasons(&d->last) ? "the start"
		                                                      : "start or exit",
		    reasons);
	if (limit < LIMIT_LOWERED * usual)
		add(to, "%s: its power limit is %s W, %.0f W is the default", name, watts,
		    usual / 1e3);
	free(reasons);
	free(watts);
	free(what);
}

static void processes(const char *name, const struct environment_device *d,
                      struct environment_anomalies *to)
{
	double first = value(&d->first, SPY_ENVIRONMENT_OTHERS),
	       last = value(&d->last, SPY_ENVIRONMENT_OTHERS);
	bool at_start = first > 0 && !(last >= first);
	const struct environment_reading *r = at_start ? &d->first : &d->last;
	double others = at_start ? first : last;
	char memory[UNIT_BYTES], *list = alloc_string("");

	for (size_t i = 0; i < TF_READING_PIDS && r->pids[i]; i++) {
		char *pid = alloc_format("%u", r->pids[i]);
		join(&list, pid);
		free(pid);
	}
	/* Of a device in instances, theirs may be another one. */
	if (others > 0 && !(value(r, SPY_ENVIRONMENT_MIG) > 0))
		add(to, "%s: %.0f other process%s on it at %s (%s), with %s of its memory", name,
		    others, others > 1 ? "es" : "", at_start ? "the start" : "exit",
		    *list ? list : "not known which",
		    unit_bytes(memory, value(r, SPY_ENVIRONMENT_OTHERS_BYTES)));
	free(list);
}

static void memory_errors(const char *name, const struct environment_device *d,
                          struct environment_anomalies *to)
{
	double all = value(latest(d), SPY_ENVIRONMENT_ECC), now = risen(d, SPY_ENVIRONMENT_ECC);

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
	const struct environment_reading *r = latest(d);
	double generation = value(r, SPY_ENVIRONMENT_PCIE_GEN),
	       generation_most = value(r, SPY_ENVIRONMENT_PCIE_GEN_MAX),
	       width = value(r, SPY_ENVIRONMENT_PCIE_WIDTH),
	       width_most = value(r, SPY_ENVIRONMENT_PCIE_WIDTH_MAX);

	if (!(value(r, SPY_ENVIRONMENT_UTILIZATION) > 0) ||
	    !(generation < generation_most || width < width_most))
		return;
	char *now = add_pair(alloc_string(""), generation, width, " x", ""),
	     *most = add_pair(alloc_string(""), generation_most, width_most, " x", "");
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
		char *name = device_name(m, d);
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
