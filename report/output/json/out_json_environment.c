/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "report/model/environment.h"
#include "report/output/json/out_json.h"

static json_t *reasons(const struct environment_reading *r)
{
	uint64_t bits = environment_reasons(r);
	json_t *list = json_array();

#define XX(id, bit, fault, text)                                                                   \
	if (bits & (bit))                                                                          \
		json_push(list, json_text(text));
	SPY_THROTTLE_MAP(XX)
#undef XX
	return list;
}

static json_t *pids(const struct environment_reading *r)
{
	json_t *list = json_array();

	for (size_t i = 0; i < MODEL_READING_PIDS && r->pids[i]; i++)
		json_push(list, json_count(r->pids[i]));
	return list;
}

static json_t *reading(const struct environment_reading *r)
{
	static const char *const names[] = {
#define XX(id, name) name,
	        SPY_ENVIRONMENT_MAP(XX)
#undef XX
	};
	json_t *o;

	if (!r->made)
		return json_null();
	o = json_object();
	for (unsigned i = 0; i < SPY_ENVIRONMENT_COUNT; i++)
		json_put(o, names[i], json_ns(r->value[i]));
	json_put(o, "throttle_reasons",
	         isfinite(r->value[SPY_ENVIRONMENT_REASONS]) ? reasons(r) : json_null());
	json_put(o, "other_pids",
	         isfinite(r->value[SPY_ENVIRONMENT_OTHERS]) ? pids(r) : json_null());
	json_put(o, "cost_ns", json_ns(r->cost));
	return o;
}

static json_t *cpus(const struct model *m)
{
	json_t *list = json_array();

	for (size_t i = 0; i < m->process_count; i++) {
		const struct model_process *p = &m->processes[i];
		const struct model_process_cpu *c = &p->cpu;
		json_t *o = json_object();
		json_put(o, "pid", json_count(p->pid));
		json_put(o, "host", json_text(p->host));
		json_put(o, "cores", json_ns(c->cores));
		json_put(o, "online_cores", json_ns(c->online));
		json_put(o, "limited", c->limit_known ? json_boolean(c->limited) : json_null());
		json_put(o, "quota_cores", json_share(c->limited ? c->quota : NAN));
		json_put(o, "quota_periods", json_ns(c->periods));
		json_put(o, "throttled_periods", json_ns(c->throttled_periods));
		json_put(o, "throttled_ns", json_ns(c->throttled));
		json_push(list, o);
	}
	return list;
}

json_t *out_json_environment(const struct model *m)
{
	json_t *o = json_object(), *devices = json_array(), *texts = json_array();
	char *unknown = environment_unknown(m);
	struct environment_anomalies anomalies;
	const char *driver = NULL;
	double init = NAN;

	for (size_t i = 0; i < m->process_count && !driver; i++)
		driver = m->processes[i].kernel_driver;
	for (size_t i = 0; i < m->environment_count; i++) {
		const struct environment_device *d = &m->environment[i];
		const struct model_process *p = &m->processes[d->process];
		json_t *row = json_object();
		json_put(row, "index", json_count(d->index));
		json_put(row, "pid", json_count(p->pid));
		json_put(row, "host", json_text(p->host));
		json_put(row, "uuid", json_text(d->uuid));
		json_put(row, "pci_bus_id", json_text(d->bus_id));
		json_put(row, "used", json_boolean(d->used));
		json_put(row, "between_ns", json_ns(d->between));
		json_put(row, "power_capped_share", json_share(environment_capped_share(d)));
		json_put(row, "thermally_capped_share", json_share(environment_heated_share(d)));
		json_put(row, "mean_power_w", json_share(environment_mean_power(d)));
		json_put(row, "start", reading(&d->first));
		json_put(row, "exit", reading(&d->last));
		json_push(devices, row);
		init = fmax(init, p->environment_init);
	}
	environment_anomalies(m, &anomalies);
	for (size_t i = 0; i < anomalies.count; i++)
		json_push(texts, json_text(anomalies.texts[i]));
	json_put(o, "known", json_boolean(!unknown));
	json_put(o, "reason", json_text(unknown));
	json_put(o, "kernel_driver_version", json_text(driver));
	json_put(o, "init_ns", json_ns(init));
	json_put(o, "cpu", cpus(m));
	json_put(o, "devices", devices);
	json_put(o, "troubles", texts);
	environment_anomalies_free(&anomalies);
	free(unknown);
	return o;
}
