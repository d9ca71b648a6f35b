/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "report/base/alloc.h"
#include "report/model/call_log_internal.h"

uint32_t call_log_call(struct call_log_making *m, uint16_t id)
{
	struct call_log *h = m->call_log;
	const struct tf_call *call;

	if (m->call_row[id])
		return m->call_row[id] - 1;
	call = tf_entry(&m->part->recording->map, &m->part->header->calls, id, sizeof(*call));
	ALLOC_ROOM(h->calls, h->call_count);
	struct call_log_call *row = &h->calls[h->call_count++];
	*row = (struct call_log_call){.cls = SPY_CLASS_OTHER};
	if (call) {
		memcpy(row->name, call->name, strnlen(call->name, sizeof(call->name)));
		row->cls = call->cls < SPY_CLASS_COUNT ? call->cls : SPY_CLASS_OTHER;
		row->level = call->level;
	}
	row->role = (uint8_t)cuda_role_of(row->name, row->cls);
	m->call_row[id] = (uint32_t)h->call_count;
	return m->call_row[id] - 1;
}

uint32_t call_log_thread(struct call_log_making *m, uint16_t index)
{
	struct call_log *h = m->call_log;
	const struct tf_thread *t = recording_thread(m->part->recording, index);

	if (m->thread_row[index])
		return m->thread_row[index] - 1;
	ALLOC_ROOM(h->threads, h->thread_count);
	struct call_log_thread *row = &h->threads[h->thread_count++];
	*row = (struct call_log_thread){.tid = t ? t->tid : 0};
	if (t)
		memcpy(row->name, t->name, strnlen(t->name, sizeof(t->name)));
	m->thread_row[index] = (uint32_t)h->thread_count;
	return m->thread_row[index] - 1;
}
