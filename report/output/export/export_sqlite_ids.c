/* SPDX-License-Identifier: Apache-2.0 */
/* What rows name: times, processes, threads, calls, kernels and streams. */
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/base/names.h"
#include "report/output/export/export_sqlite_rows.h"

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
	double ns = events_ns(&p->clock, tick) + p->base;

	return ns < 9e18 ? (int64_t)ns : INT64_MAX;
}

int64_t sqlite_thread(struct sqlite_rows *p, uint32_t thread)
{
	int64_t *id = &p->threads[thread];
	struct database_table *t = &p->x->tables[SQLITE_THREADS];

	if (*id)
		return *id;
	const struct events_thread from = events_thread(p->events, thread);
	*id = p->pid | (int64_t)(from.id & SQLITE_ID_MASK);
	if (from.bytes) {
		row_int(t, sqlite_text(p->x, from.name, from.bytes));
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
	size_t bytes;

	if (*id)
		return *id;
	const char *name = events_call_name(p->events, call, &bytes);
	if (!name) {
		name = "(unknown call)";
		bytes = strlen(name);
	}
	if (bytes > 6 && !memcmp(name, "__cuda", 6)) {
		name += 2;
		bytes -= 2;
	}
	return *id = sqlite_text(p->x, name, bytes);
}

const struct sqlite_kernel *sqlite_kernel(struct sqlite_rows *p, uint32_t kernel)
{
	static const char *const unknown = "(unknown kernel)";
	size_t bytes;

	if (kernel >= EVENTS_KERNELS)
		kernel = 0;
	struct sqlite_kernel *n = &p->kernels[kernel];
	if (n->known)
		return n;
	n->known = true;
	const char *mangled = events_kernel_name(p->events, kernel, &bytes);
	if (!mangled) {
		mangled = unknown;
		bytes = strlen(mangled);
	}
	char *full = name_demangle(mangled, bytes);
	n->full = sqlite_text(p->x, full, strlen(full));
	n->brief = sqlite_short_name(p->x, full);
	n->mangled = sqlite_text(p->x, mangled, bytes);
	free(full);
	return n;
}
