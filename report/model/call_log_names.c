#include <string.h>

#include "report/base/alloc.h"
#include "report/model/call_log_internal.h"

static enum call_log_role role_of(const char *name, unsigned cls)
{
	static const struct {
		const char *part;
		uint8_t cls, role;
	} roles[] = {
	        {"StreamCreate", SPY_CLASS_STREAM, CALL_LOG_ROLE_STREAM_MADE},
	        {"StreamDestroy", SPY_CLASS_STREAM, CALL_LOG_ROLE_STREAM_GONE},
	        {"EventRecord", SPY_CLASS_EVENT, CALL_LOG_ROLE_EVENT_RECORD},
	        {"StreamWaitEvent", SPY_CLASS_EVENT, CALL_LOG_ROLE_EVENT_WAIT},
	        {"EventDestroy", SPY_CLASS_EVENT, CALL_LOG_ROLE_EVENT_GONE},
	        {"StreamSynchronize", SPY_CLASS_SYNC, CALL_LOG_ROLE_SYNC_STREAM},
	        {"EventSynchronize", SPY_CLASS_SYNC, CALL_LOG_ROLE_SYNC_EVENT},
	        {"Synchronize", SPY_CLASS_SYNC, CALL_LOG_ROLE_SYNC_ALL},
	        {"StreamQuery", SPY_CLASS_QUERY, CALL_LOG_ROLE_QUERY_STREAM},
	        {"EventQuery", SPY_CLASS_QUERY, CALL_LOG_ROLE_QUERY_EVENT},
	        {"Async", SPY_CLASS_ALLOC, CALL_LOG_ROLE_ALLOC_ORDERED},
	        {"BeginCapture", SPY_CLASS_GRAPH, CALL_LOG_ROLE_CAPTURE_BEGIN},
	        {"EndCapture", SPY_CLASS_GRAPH, CALL_LOG_ROLE_CAPTURE_END},
	        {"GraphExecDestroy", SPY_CLASS_GRAPH, CALL_LOG_ROLE_NONE},
	        {"GraphExec", SPY_CLASS_GRAPH, CALL_LOG_ROLE_GRAPH_CHANGED},
	};

	for (size_t i = 0; i < sizeof(roles) / sizeof(roles[0]); i++)
		if (roles[i].cls == cls && strstr(name, roles[i].part))
			return (enum call_log_role)roles[i].role;
	return CALL_LOG_ROLE_NONE;
}

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
	row->role = (uint8_t)role_of(row->name, row->cls);
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
