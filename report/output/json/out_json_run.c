/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "report/output/json/out_json.h"

/* The keys of a split; all null where there is none. */
static void put_split(json_t *o, const struct model_split *s)
{
	json_put(o, "launch_ns", json_ns(s ? s->launch : NAN));
	json_put(o, "back_pressure_ns", json_ns(s ? s->back_pressure : NAN));
	json_put(o, "contention_ns", json_ns(s ? s->contention : NAN));
	json_put(o, "sync_useful_ns", json_ns(s ? s->sync_useful : NAN));
	json_put(o, "sync_wasted_ns", json_ns(s ? s->sync_wasted : NAN));
	json_put(o, "copy_ns", json_ns(s ? s->copy : NAN));
	json_put(o, "alloc_ns", json_ns(s ? s->alloc : NAN));
	json_put(o, "module_ns", json_ns(s ? s->module : NAN));
	json_put(o, "other_cuda_ns", json_ns(s ? s->other : NAN));
	json_put(o, "outside_ns", json_ns(s ? s->outside : NAN));
	json_put(o, "sampling_ns", json_ns(s ? s->sampling : NAN));
	json_put(o, "launch_api_ns", json_ns(s ? s->launch_api : NAN));
	json_put(o, "sync_ns", json_ns(s ? s->sync : NAN));
}

/* An exact count of a process; null = not known. */
static json_t *count_of(const struct model_process *p, uint64_t count)
{
	return model_process_is_known(p) ? json_count(count) : json_null();
}

json_t *out_json_host(const struct model *m)
{
	json_t *host = json_object(), *threads = json_array();

	put_split(host, m->has_host ? &m->host : NULL);
	json_put(host, "window_ns", json_ns(m->has_host ? m->host_window : NAN));
	for (size_t i = 0; i < m->thread_count; i++) {
		const struct model_thread *t = &m->threads[i];
		const struct model_process *p = &m->processes[t->process];
		json_t *o = json_object();
		json_put(o, "tid", json_count(t->tid));
		json_put(o, "name", json_text(t->name));
		json_put(o, "pid", json_count(p->pid));
		put_split(o, &t->split);
		json_put(o, "absent_ns", json_ns(t->split.absent));
		json_put(o, "window_ns", json_ns(t->window));
		json_put(o, "cpu_wait_ns", json_ns(t->cpu_wait));
		json_put(o, "cpu_cores", json_ns(t->cpu_cores));
		json_put(o, "api_ns", json_ns(t->api));
		json_put(o, "calls", count_of(p, t->calls));
		json_put(o, "failed", count_of(p, t->failed));
		json_put(o, "launches", count_of(p, t->launches));
		json_put(o, "lost_records", count_of(p, t->lost));
		json_put(o, "issues_gpu_work", json_boolean(t->issues));
		json_push(threads, o);
	}
	json_put(host, "threads", threads);
	return host;
}

static json_t *in_flight(const struct model_process *p)
{
	json_t *list = json_array();

	for (size_t i = 0; i < p->flight_count; i++) {
		const struct model_flight *f = &p->flights[i];
		json_t *o = json_object();
		json_put(o, "api", json_text(f->api));
		json_put(o, "thread", json_count(f->tid));
		json_put(o, "thread_name", json_text(f->thread));
		json_put(o, "age_ns", json_ns(f->age));
		json_push(list, o);
	}
	return list;
}

static json_t *version(uint32_t number)
{
	char text[MODEL_VERSION_BYTES];

	return number ? json_text(model_version(text, number)) : json_null();
}

static json_t *runtime_versions(const struct model_process *p)
{
	json_t *list = json_array();

	for (size_t i = 0; i < p->library_count; i++) {
		const struct model_library *l = &p->libraries[i];
		if (l->kind == TF_LIBRARY_RUNTIME || l->kind == TF_LIBRARY_STATIC_RUNTIME)
			json_push(list, version(l->version));
	}
	return list;
}

static json_t *libraries(const struct model_process *p)
{
	static const char *const kinds[] = {"unknown", "runtime", "driver", "tool",
	                                    "static_runtime"};
	json_t *list = json_array();

	for (size_t i = 0; i < p->library_count; i++) {
		const struct model_library *l = &p->libraries[i];
		json_t *o = json_object();
		json_put(o, "kind",
		         json_text(kinds[l->kind <= TF_LIBRARY_STATIC_RUNTIME ? l->kind : 0]));
		json_put(o, "path", json_text(l->path));
		json_put(o, "version", version(l->version));
		json_push(list, o);
	}
	return list;
}

static json_t *devices(const struct model_process *p)
{
	json_t *list = json_array();

	for (size_t i = 0; i < p->device_count; i++) {
		const struct model_device *d = &p->devices[i];
		json_t *o = json_object();
		json_put(o, "index", json_count(d->index));
		json_put(o, "name", json_text(d->name));
		json_put(o, "memory_bytes", json_count(d->memory_bytes));
		json_put(o, "simulated", json_boolean(d->simulated));
		json_push(list, o);
	}
	return list;
}

json_t *out_json_processes(const struct model *m)
{
	static const char *const ranges[] = {
	        [TF_RANGE_ALL] = "all", [TF_RANGE_PROFILER] = "profiler", [TF_RANGE_TIME] = "time"};
	json_t *list = json_array();

	for (size_t i = 0; i < m->process_count; i++) {
		const struct model_process *p = &m->processes[i];
		json_t *o = json_object();
		json_put(o, "pid", json_count(p->pid));
		json_put(o, "ppid", json_count(p->ppid));
		json_put(o, "forked_from",
		         p->forked_from ? json_count(p->forked_from) : json_null());
		json_put(o, "run_id", json_text(p->run_id));
		json_put(o, "rank", json_text(p->rank));
		json_put(o, "host", json_text(p->host));
		json_put(o, "command", json_text(p->command));
		json_put(o, "working_folder", json_text(p->working_folder));
		json_put(o, "file", json_text(p->path));
		json_put(o, "state", json_text(process_state_names[p->state]));
		json_put(o, "damaged", json_text(p->damage));
		json_put(o, "range",
		         json_text(ranges[p->range_mode <= TF_RANGE_TIME ? p->range_mode : 0]));
		json_put(o, "range_opened", json_boolean(!p->never_opened));
		json_put(o, "in_flight", in_flight(p));
		json_put(o, "wall_ns", json_ns(p->wall));
		json_put(o, "window_ns", json_ns(p->window));
		json_put(o, "startup_ns", json_ns(p->startup));
		json_put(o, "calls", count_of(p, p->calls));
		json_put(o, "failed", count_of(p, p->failed));
		json_put(o, "launches", count_of(p, p->launches));
		json_put(o, "lost_records", count_of(p, p->lost));
		json_put(o, "driver_version", version(p->driver_version));
		json_put(o, "runtime_versions", runtime_versions(p));
		json_put(o, "devices", devices(p));
		json_put(o, "libraries", libraries(p));
		json_put(o, "recorded_by", json_text(p->cudaspy_version));
		json_push(list, o);
	}
	return list;
}
