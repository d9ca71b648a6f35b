/* SPDX-License-Identifier: Apache-2.0 */
#include "report/model/environment.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/model/environment_internal.h"

static double held_down(const struct environment_device *d, enum spy_environment what)
{
	double by = environment_risen(d, what);

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
	return d->between > 0 ? environment_risen(d, SPY_ENVIRONMENT_ENERGY_MJ) * 1e6 / d->between
	                      : NAN;
}

void environment_join(char **list, const char *text)
{
	alloc_append(list, "%s%s", **list ? ", " : "", text);
}

uint64_t environment_reasons(const struct environment_reading *r)
{
	double bits = environment_value(r, SPY_ENVIRONMENT_REASONS);

	return bits >= 0 && bits < 1e15 ? (uint64_t)bits : 0;
}

/* ---- lines ---- */

char *environment_device_name(const struct model *m, const struct environment_device *d)
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

char *environment_add_pair(char *list, double now, double most, const char *between,
                           const char *unit)
{
	if (!isfinite(now) && !isfinite(most))
		return list;
	char *a = environment_number(now), *b = environment_number(most);
	char *text = alloc_format("%s%s%s%s", a, between, b, unit);
	environment_join(&list, text);
	free(a);
	free(b);
	free(text);
	return list;
}

static char *add_link(char *list, const struct environment_reading *r)
{
	double generation = environment_value(r, SPY_ENVIRONMENT_PCIE_GEN),
	       width = environment_value(r, SPY_ENVIRONMENT_PCIE_WIDTH);

	if (!isfinite(generation) && !isfinite(width))
		return list;
	char *a = environment_number(generation), *b = environment_number(width);
	char *text = alloc_format("PCIe generation %s x%s", a, b);
	environment_join(&list, text);
	free(a);
	free(b);
	free(text);
	return list;
}

char *environment_line(const struct model *m, const struct environment_device *d)
{
	const struct environment_reading *r = environment_latest(d);
	char *name = environment_device_name(m, d), *list = alloc_string("");
	double celsius = environment_value(r, SPY_ENVIRONMENT_CELSIUS),
	       others = environment_value(r, SPY_ENVIRONMENT_OTHERS);

	list = environment_add_pair(list, environment_value(r, SPY_ENVIRONMENT_SM_MHZ),
	                            environment_value(r, SPY_ENVIRONMENT_SM_MHZ_MAX), " of ",
	                            " MHz");
	list = environment_add_pair(list, environment_value(r, SPY_ENVIRONMENT_POWER_MW) / 1e3,
	                            environment_value(r, SPY_ENVIRONMENT_POWER_LIMIT_MW) / 1e3,
	                            " of ", " W");
	if (isfinite(celsius)) {
		char *text = alloc_format("%.0f C", celsius);
		environment_join(&list, text);
		free(text);
	}
	list = add_link(list, r);
	if (environment_value(r, SPY_ENVIRONMENT_MIG) > 0)
		environment_join(&list, "MIG");
	if (others >= 0) {
		char *text = others > 0 ? alloc_format("%.0f other process%s", others,
		                                       others > 1 ? "es" : "")
		                        : alloc_copy("no other process", 16);
		environment_join(&list, text);
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
