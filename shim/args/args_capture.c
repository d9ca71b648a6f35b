/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/args/args.h"

#include <errno.h>
#include <sys/mman.h>
#include "shim/real/real.h"
#include "shim/sampler/sampler.h"

#define STREAM_LEGACY     ((CUstream)0x1)
#define STREAM_PER_THREAD ((CUstream)0x2)

typedef CUresult (*is_capturing_t)(CUstream, CUstreamCaptureStatus *);
static is_capturing_t is_capturing;
typedef CUresult (*get_context_t)(CUstream, CUcontext *);

/* Streams in which captures began that are not over, 0 = free, and their contexts, 0 = not known. A
 * stream is here once for each capture. More places are made as they are needed, and stay. */
#define ORIGINS 63u
struct origins {
	uintptr_t stream[ORIGINS];
	uint64_t context[ORIGINS];
	struct origins *next;
};
static struct origins origins;

static CUstream stream_of(const struct spy_span *s, CUstream stream)
{
	return stream == NULL && (s->flags & TF_PTDS) ? STREAM_PER_THREAD : stream;
}

/* Acquire: the places are zeroed. Pairs with more_origins(). */
static struct origins *after(struct origins *o)
{
	return __atomic_load_n(&o->next, __ATOMIC_ACQUIRE);
}

static bool exchange(uintptr_t *place, uintptr_t from, uintptr_t to)
{
	return __atomic_load_n(place, __ATOMIC_RELAXED) == from &&
	       __atomic_compare_exchange_n(place, &from, to, false, __ATOMIC_RELAXED,
	                                   __ATOMIC_RELAXED);
}

/* Puts `to` of this context where `from` is; false: it is nowhere. */
static bool replace(uintptr_t from, uintptr_t to, uint64_t context)
{
	for (struct origins *o = &origins; o; o = after(o))
		for (unsigned i = 0; i < ORIGINS; i++) {
			/* A free place names no context: who takes it has not said its own yet. */
			if (!to && __atomic_load_n(&o->stream[i], __ATOMIC_RELAXED) == from)
				__atomic_store_n(&o->context[i], 0, __ATOMIC_RELAXED);
			if (!exchange(&o->stream[i], from, to))
				continue;
			if (to)
				__atomic_store_n(&o->context[i], context, __ATOMIC_RELEASE);
			return true;
		}
	return false;
}

/* Without memory for it, a capture that ends with its stream is missed; one that the program ends
 * is not. */
static bool more_origins(void)
{
	struct origins *new = mmap(NULL, sizeof(*new), PROT_READ | PROT_WRITE,
	                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
	               *last = &origins, *next;

	if (new == MAP_FAILED)
		return false;
	for (;;) {
		while ((next = after(last)))
			last = next;
		if (__atomic_compare_exchange_n(&last->next, &next, new, false, __ATOMIC_RELEASE,
		                                __ATOMIC_RELAXED))
			return true;
	}
}

/* Of the stream, which need not be the one that is current; 0: not known. For who samples, which a
 * capture keeps from it: else the driver is asked for nothing. */
static uint64_t context_of(CUstream stream)
{
	static get_context_t get_context;
	CUcontext context = NULL;

	if (spy_gate_page.gate.gpu == SPY_GPU_NONE)
		return 0;
	if (!get_context)
		get_context = (get_context_t)spy_driver_symbol("cuStreamGetCtx");
	return get_context && get_context(stream, &context) == CUDA_SUCCESS ? (uintptr_t)context
	                                                                    : 0;
}

static void add_origin(uintptr_t stream)
{
	int saved = errno;
	uint64_t context = context_of((CUstream)stream);

	while (!replace(0, stream, context) && more_origins())
		;
	errno = saved;
}

/*
 * The count goes up before the real call, so that no moment of a capture goes unseen, and down only
 * when the driver says that this capture is over, or its stream is gone: nothing is sampled while
 * it is up.
 */
static void begin(void)
{
	if (!is_capturing)
		is_capturing = (is_capturing_t)spy_driver_symbol("cuStreamIsCapturing");
	__atomic_fetch_add(&spy_gate_page.gate.captures, 1, __ATOMIC_SEQ_CST);
	sampler_capture_begins();
}

static void end(void)
{
	uint32_t n = __atomic_load_n(&spy_gate_page.gate.captures, __ATOMIC_RELAXED);

	while (n && !__atomic_compare_exchange_n(&spy_gate_page.gate.captures, &n, n - 1, false,
	                                         __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
		;
}

static void began(struct spy_span *s, CUresult rc, CUstream stream)
{
	struct tf_record *r = spy_args_target(s);

	if (rc != CUDA_SUCCESS)
		end();
	else
		add_origin((uintptr_t)stream_of(s, stream));
	if (r) {
		r->graph.graph = UINT32_MAX; /* of no instantiated graph */
		r->graph.handle = 0;
		r->stream = (uintptr_t)stream;
	}
}

bool spy_is_captured_slow(const struct spy_span *s, CUstream stream)
{
	CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;

	stream = stream_of(s, stream);
	if (stream == NULL || stream == STREAM_LEGACY || !is_capturing)
		return false; /* the legacy stream cannot be captured */
	return is_capturing(stream, &status) == CUDA_SUCCESS &&
	       status == CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

void before_capture_begin(struct spy_span *s, CUstream stream)
{
	begin();
}

void args_capture_begin(struct spy_span *s, CUresult rc, CUstream stream)
{
	began(s, rc, stream);
}

void before_capture_begin_mode(struct spy_span *s, CUstream stream, CUstreamCaptureMode mode)
{
	begin();
}

void args_capture_begin_mode(struct spy_span *s, CUresult rc, CUstream stream,
                             CUstreamCaptureMode mode)
{
	began(s, rc, stream);
}

#if CUDA_VERSION >= 12030
void before_capture_begin_to_graph(struct spy_span *s, CUstream stream, CUgraph graph,
                                   const CUgraphNode *nodes, const CUgraphEdgeData *data,
                                   size_t count, CUstreamCaptureMode mode)
{
	begin();
}

void args_capture_begin_to_graph(struct spy_span *s, CUresult rc, CUstream stream, CUgraph graph,
                                 const CUgraphNode *nodes, const CUgraphEdgeData *data,
                                 size_t count, CUstreamCaptureMode mode)
{
	began(s, rc, stream);
}
#endif

void before_recapture_begin(struct spy_span *s, CUstream stream, CUstreamCaptureMode mode,
                            CUgraph graph, CUgraphRecaptureCallback callback, void *data)
{
	begin();
}

void args_recapture_begin(struct spy_span *s, CUresult rc, CUstream stream,
                          CUstreamCaptureMode mode, CUgraph graph,
                          CUgraphRecaptureCallback callback, void *data)
{
	began(s, rc, stream);
}

static void ended(struct spy_span *s, CUresult rc, CUstream stream)
{
	struct tf_record *r = spy_args_target(s);

	/* Also an end that fails because the capture was spoilt ends it. */
	if (rc == CUDA_SUCCESS || rc == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED ||
	    rc == CUDA_ERROR_STREAM_CAPTURE_UNJOINED) {
		replace((uintptr_t)stream_of(s, stream), 0, 0);
		end();
	}
	if (r) {
		r->graph.graph = UINT32_MAX;
		r->graph.handle = 0;
		r->stream = (uintptr_t)stream;
	}
}

void args_capture_end(struct spy_span *s, CUresult rc, CUstream stream, CUgraph *graph)
{
	ended(s, rc, stream);
}

/* Another thread may have been given a stream of the same handle since, and capture in it: it has a
 * place of its own. */
void args_stream_gone(struct spy_span *s, CUresult rc, CUstream stream)
{
	args_stream(s, rc, stream);
	if (rc != CUDA_SUCCESS ||
	    !__atomic_load_n(&spy_gate_page.gate.captures, __ATOMIC_RELAXED) || !stream ||
	    !replace((uintptr_t)stream, 0, 0))
		return;
	end();
	spy_count_anomaly(SPY_ANOMALY_CAPTURES);
}

void captures_context_gone(uint64_t context)
{
	if (!context || !__atomic_load_n(&spy_gate_page.gate.captures, __ATOMIC_RELAXED))
		return;
	for (struct origins *o = &origins; o; o = after(o))
		for (unsigned i = 0; i < ORIGINS; i++) {
			uintptr_t stream = __atomic_load_n(&o->stream[i], __ATOMIC_RELAXED);
			if (!stream ||
			    __atomic_load_n(&o->context[i], __ATOMIC_RELAXED) != context ||
			    !exchange(&o->stream[i], stream, 0))
				continue;
			end();
			spy_count_anomaly(SPY_ANOMALY_CAPTURES);
		}
}

/* Into a command list of a graphics API (CUDA in graphics): work of ours has no place there either.
 */
void before_capture_begin_to_cig(struct spy_span *s, CUstream stream,
                                 CUstreamCigCaptureParams *params)
{
	begin();
}

void args_capture_begin_to_cig(struct spy_span *s, CUresult rc, CUstream stream,
                               CUstreamCigCaptureParams *params)
{
	began(s, rc, stream);
}

void args_capture_end_to_cig(struct spy_span *s, CUresult rc, CUstream stream)
{
	ended(s, rc, stream);
}
