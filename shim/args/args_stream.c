/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/args/args.h"

void args_stream_create_priority(struct spy_span *s, CUresult rc, CUstream *stream, unsigned flags,
                                 int priority)
{
	struct tf_record *r = spy_args_target(s);

	if (!r)
		return;
	r->stream = rc == CUDA_SUCCESS && stream ? (uintptr_t)*stream : 0;
	r->arg[0] = flags;
	r->arg[1] = (uint64_t)(int64_t)priority;
}

void args_stream_create(struct spy_span *s, CUresult rc, CUstream *stream, unsigned flags)
{
	args_stream_create_priority(s, rc, stream, flags, 0);
}

static void event_on(struct spy_span *s, CUevent event, CUstream stream, unsigned flags)
{
	struct tf_record *r = spy_args_target(s);

	if (!r)
		return;
	r->event.event = (uintptr_t)event;
	r->event.spare[0] = flags;
	r->stream = (uintptr_t)stream;
	if (spy_is_captured(s, stream))
		r->flags |= TF_CAPTURED;
}

void args_event(struct spy_span *s, CUresult rc, CUevent event)
{
	struct tf_record *r = spy_args_target(s);

	if (r)
		r->event.event = (uintptr_t)event;
}

void args_event_record(struct spy_span *s, CUresult rc, CUevent event, CUstream stream)
{
	event_on(s, event, stream, 0);
}

void args_event_record_flags(struct spy_span *s, CUresult rc, CUevent event, CUstream stream,
                             unsigned flags)
{
	event_on(s, event, stream, flags);
}

void args_stream_wait(struct spy_span *s, CUresult rc, CUstream stream, CUevent event,
                      unsigned flags)
{
	event_on(s, event, stream, flags);
}

static void function_on(struct spy_span *s, CUstream stream, uintptr_t function)
{
	struct tf_record *r = spy_args_target(s);

	if (!r)
		return;
	r->arg[0] = function;
	r->stream = (uintptr_t)stream;
	if (spy_is_captured(s, stream))
		r->flags |= TF_CAPTURED;
}

void args_host_function(struct spy_span *s, CUresult rc, CUstream stream, CUhostFn function,
                        void *data)
{
	function_on(s, stream, (uintptr_t)function);
}

void args_host_function_mode(struct spy_span *s, CUresult rc, CUstream stream, CUhostFn function,
                             void *data, unsigned mode)
{
	function_on(s, stream, (uintptr_t)function);
}

void args_stream_callback(struct spy_span *s, CUresult rc, CUstream stream,
                          CUstreamCallback function, void *data, unsigned flags)
{
	function_on(s, stream, (uintptr_t)function);
}
