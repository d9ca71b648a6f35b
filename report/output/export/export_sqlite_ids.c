/* SPDX-License-Identifier: Apache-2.0 */
/* What rows name: times, processes, threads, calls, kernels and streams. */
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/base/names.h"
#include "report/output/export/export_sqlite_rows.h"

#define DEFAULT_STREAM 7  /* CUPTI's number of the default stream */
#define FIRST_STREAM   13 /* ... of the first that was made */

int64_t sqlite_global_pid(const struct model *m, size_t process)
{
	const char *host = m->processes[process].host;
	int64_t machine = 0;

	for (size_t i = 0; i < process; i++) {
		const char *other = m->processes[i].host;
		if (host && other && !strcmp(host, other))
			break;
		machine++;
	}
	/* All of a machine have the number of its first process. */
	for (size_t i = 0; i < process; i++) {
		const char *other = m->processes[i].host;
		if (host && other && !strcmp(host, other)) {
			machine = (int64_t)i;
			break;
		}
	}
	return machine << 2 * SQLITE_ID_BITS | (int64_t)(m->processes[process].pid & SQLITE_ID_MASK)
	                                               << SQLITE_ID_BITS;
}

int64_t sqlite_time(const struct sqlite_rows *p, uint64_t tick)
{
	double ns =
	        (tick > p->load ? (double)(tick - p->load) : 0) * p->clock.ns_per_tick + p->base;

	return ns < 9e18 ? (int64_t)ns : INT64_MAX;
}

int64_t sqlite_thread(struct sqlite_rows *p, uint32_t thread)
{
	int64_t *id = &p->threads[thread];
	struct database_table *t = &p->x->tables[SQLITE_THREADS];
	const struct tf_thread *from;

	if (*id)
		return *id;
	from = recording_thread(p->recording, thread);
	*id = p->pid | (int64_t)((from ? from->tid : thread) & SQLITE_ID_MASK);
	if (from && from->name[0]) {
		row_int(t, sqlite_text(p->x, from->name, strnlen(from->name, sizeof(from->name))));
		row_int(t, 0);
		row_int(t, *id);
		row_end(t);
	}
	return *id;
}

/* What nsys calls it: without the underscores that the runtime's header has for a launch. */
int64_t sqlite_call(struct sqlite_rows *p, uint16_t call)
{
	int64_t *id = &p->calls[call];
	const struct tf_call *c;

	if (*id)
		return *id;
	c = tf_entry(&p->recording->map, &tf_header(&p->recording->map)->calls, call, sizeof(*c));
	const char *name = c ? c->name : "(unknown call)";
	size_t bytes = c ? strnlen(c->name, sizeof(c->name)) : strlen(name);
	if (bytes > 6 && !memcmp(name, "__cuda", 6)) {
		name += 2;
		bytes -= 2;
	}
	return *id = sqlite_text(p->x, name, bytes);
}

const struct sqlite_kernel *sqlite_kernel(struct sqlite_rows *p, uint32_t kernel)
{
	static const char *const unknown = "(unknown kernel)";
	const struct recording *r = p->recording;
	uint32_t bytes = 0;

	if (kernel >= TF_KERNELS_MAX)
		kernel = 0;
	struct sqlite_kernel *n = &p->kernels[kernel];
	if (n->known)
		return n;
	n->known = true;
	const struct tf_kernel *k =
	        kernel < r->kernels
	                ? tf_entry(&r->map, &tf_header(&r->map)->kernels, kernel, sizeof(*k))
	                : NULL;
	const char *mangled = k ? tf_text(&r->map, k->name, &bytes) : NULL;
	if (!mangled || !bytes) {
		mangled = kernel == TF_KERNEL_OTHER ? "(other)" : unknown;
		bytes = (uint32_t)strlen(mangled);
	}
	char *full = name_demangle(mangled, bytes);
	n->full = sqlite_text(p->x, full, strlen(full));
	n->brief = sqlite_short_name(p->x, full);
	n->mangled = sqlite_text(p->x, mangled, bytes);
	free(full);
	return n;
}

int64_t sqlite_stream(const struct sqlite_rows *p, uint32_t stream)
{
	return events_stream_is_default(p->events, stream) ? DEFAULT_STREAM
	                                                   : FIRST_STREAM + (int64_t)stream;
}
