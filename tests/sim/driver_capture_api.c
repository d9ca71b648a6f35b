/* SPDX-License-Identifier: Apache-2.0 */
/* Beginning, ending and asking about captures. */
#include <stdlib.h>
#include <string.h>
#include "tests/sim/driver_graph.h"

static _Atomic unsigned long long next_id = 1;

static CUresult begin(CUstream stream, CUstreamCaptureMode mode, struct sim_graph *graph,
                      struct sim_node *const *deps, size_t count)
{
	struct sim_capture *c;
	struct sim_stream *s;
	CUresult rc = stream_get(stream, &s);

	if (rc != CUDA_SUCCESS)
		return rc;
	if (mode > CU_STREAM_CAPTURE_MODE_RELAXED)
		return CUDA_ERROR_INVALID_VALUE;
	if (s->legacy)
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	if (atomic_load(&s->capture))
		return CUDA_ERROR_ILLEGAL_STATE;
	c = calloc(1, sizeof(*c));
	if (!c)
		return CUDA_ERROR_OUT_OF_MEMORY;
	c->id = atomic_fetch_add(&next_id, 1);
	c->mode = mode;
	c->owner = sim_self;
	c->origin = s;
	c->own_graph = !graph;
	c->graph = graph ? graph : graph_new();
	capture_lock();
	rc = c->graph ? capture_set_deps(s, deps, count) : CUDA_ERROR_OUT_OF_MEMORY;
	if (rc == CUDA_SUCCESS && capture_join(c, s)) {
		capture_list_add(c);
	} else {
		rc = CUDA_ERROR_OUT_OF_MEMORY;
		free(c);
	}
	capture_unlock();
	return rc;
}

CUresult do_cuStreamBeginCapture_v2(CUstream hStream, CUstreamCaptureMode mode)
{
	return begin(hStream, mode, NULL, NULL, 0);
}

CUresult do_cuStreamBeginCapture(CUstream hStream)
{
	return begin(hStream, CU_STREAM_CAPTURE_MODE_GLOBAL, NULL, NULL, 0);
}

CUresult do_cuStreamBeginCaptureToGraph(CUstream hStream, CUgraph hGraph,
                                        const CUgraphNode *dependencies,
                                        const CUgraphEdgeData *dependencyData,
                                        size_t numDependencies, CUstreamCaptureMode mode)
{
	struct sim_graph *g = graph_get(hGraph);

	if (!g || (numDependencies && !dependencies))
		return CUDA_ERROR_INVALID_VALUE;
	return begin(hStream, mode, g, (struct sim_node *const *)dependencies, numDependencies);
}

/* Whether all that other streams did leads to what the origin waited for.  Captured nodes come
 * after what they depend on, so one pass from the last to the first marks all ancestors. */
static bool joined(struct sim_capture *c)
{
	struct sim_node *n;

	for (n = c->graph->first; n; n = n->next)
		n->mark = 0;
	for (unsigned i = 0; i < c->origin->dep_count; i++)
		c->origin->deps[i]->mark = 1;
	for (n = c->graph->last; n; n = n->prev) {
		for (unsigned i = 0; n->mark && i < n->dep_count; i++)
			n->deps[i]->mark = 1;
	}
	for (unsigned i = 0; i < c->streams; i++) {
		struct sim_stream *s = c->stream[i];

		if (!handle_live(HANDLE_STREAM, s) || atomic_load(&s->capture) != c)
			continue;
		for (unsigned k = 0; k < s->dep_count; k++) {
			if (!s->deps[k]->mark)
				return false;
		}
	}
	return true;
}

static CUresult end(struct sim_stream *s, struct sim_graph **graph)
{
	struct sim_capture *c = atomic_load(&s->capture);
	CUresult rc = CUDA_SUCCESS;

	if (!c)
		return CUDA_ERROR_ILLEGAL_STATE;
	if (c->mode != CU_STREAM_CAPTURE_MODE_RELAXED && c->owner != sim_self)
		return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
	if (c->origin != s) {
		c->invalid = true;
		return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
	}
	if (c->invalid)
		rc = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	else if (!joined(c))
		rc = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
	if (rc == CUDA_SUCCESS)
		*graph = c->graph;
	else if (c->own_graph)
		graph_free(c->graph);
	capture_close(c);
	return rc;
}

CUresult do_cuStreamEndCapture(CUstream hStream, CUgraph *phGraph)
{
	struct sim_graph *graph = NULL;
	struct sim_stream *s;
	CUresult rc = stream_get(hStream, &s);

	if (!phGraph)
		return CUDA_ERROR_INVALID_VALUE;
	*phGraph = NULL;
	if (rc != CUDA_SUCCESS)
		return rc;
	capture_lock();
	rc = end(s, &graph);
	capture_unlock();
	*phGraph = (CUgraph)graph;
	return rc;
}

/* The state of a stream; the legacy stream has none while it would get in the way. */
static CUresult info(CUstream stream, struct sim_stream **s, CUstreamCaptureStatus *status,
                     cuuint64_t *id)
{
	CUresult rc = stream_get(stream, s);
	struct sim_capture *c;

	if (!status)
		return CUDA_ERROR_INVALID_VALUE;
	if (rc != CUDA_SUCCESS)
		return rc;
	if ((*s)->legacy && atomic_load(&(*s)->ctx->capturing))
		return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
	capture_lock();
	c = atomic_load(&(*s)->capture);
	*status = !c           ? CU_STREAM_CAPTURE_STATUS_NONE
	          : c->invalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
	                       : CU_STREAM_CAPTURE_STATUS_ACTIVE;
	if (id && c && !c->invalid)
		*id = c->id;
	capture_unlock();
	return CUDA_SUCCESS;
}

CUresult do_cuStreamIsCapturing(CUstream hStream, CUstreamCaptureStatus *captureStatus)
{
	struct sim_stream *s;

	return info(hStream, &s, captureStatus, NULL);
}

CUresult do_cuStreamGetCaptureInfo(CUstream hStream, CUstreamCaptureStatus *captureStatus_out,
                                   cuuint64_t *id_out)
{
	struct sim_stream *s;

	return info(hStream, &s, captureStatus_out, id_out);
}

CUresult do_cuStreamGetCaptureInfo_v2(CUstream hStream, CUstreamCaptureStatus *captureStatus_out,
                                      cuuint64_t *id_out, CUgraph *graph_out,
                                      const CUgraphNode **dependencies_out,
                                      size_t *numDependencies_out)
{
	struct sim_stream *s;
	CUresult rc = info(hStream, &s, captureStatus_out, id_out);
	struct sim_capture *c;

	if (rc != CUDA_SUCCESS || *captureStatus_out != CU_STREAM_CAPTURE_STATUS_ACTIVE)
		return rc;
	capture_lock();
	c = atomic_load(&s->capture);
	if (graph_out)
		*graph_out = (CUgraph)(c ? c->graph : NULL);
	if (dependencies_out)
		*dependencies_out = (const CUgraphNode *)s->deps;
	if (numDependencies_out)
		*numDependencies_out = s->dep_count;
	capture_unlock();
	return rc;
}

CUresult do_cuStreamGetCaptureInfo_v3(CUstream hStream, CUstreamCaptureStatus *captureStatus_out,
                                      cuuint64_t *id_out, CUgraph *graph_out,
                                      const CUgraphNode **dependencies_out,
                                      const CUgraphEdgeData **edgeData_out,
                                      size_t *numDependencies_out)
{
	if (edgeData_out)
		*edgeData_out = NULL;
	return do_cuStreamGetCaptureInfo_v2(hStream, captureStatus_out, id_out, graph_out,
	                                    dependencies_out, numDependencies_out);
}

CUresult do_cuStreamUpdateCaptureDependencies(CUstream hStream, CUgraphNode *dependencies,
                                              size_t numDependencies, unsigned int flags)
{
	struct sim_node *const *deps = (struct sim_node *const *)dependencies;
	struct sim_capture *c;
	struct sim_stream *s;
	CUresult rc = stream_get(hStream, &s);

	if (rc != CUDA_SUCCESS)
		return rc;
	if (flags > CU_STREAM_SET_CAPTURE_DEPENDENCIES || (numDependencies && !dependencies))
		return CUDA_ERROR_INVALID_VALUE;
	capture_lock();
	c = atomic_load(&s->capture);
	if (!c)
		rc = CUDA_ERROR_ILLEGAL_STATE;
	else if (c->invalid)
		rc = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	else if (flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES)
		rc = capture_set_deps(s, deps, numDependencies);
	else
		rc = capture_add_deps(s, deps, numDependencies);
	capture_unlock();
	return rc;
}

CUresult do_cuStreamUpdateCaptureDependencies_v2(CUstream hStream, CUgraphNode *dependencies,
                                                 const CUgraphEdgeData *dependencyData,
                                                 size_t numDependencies, unsigned int flags)
{
	return do_cuStreamUpdateCaptureDependencies(hStream, dependencies, numDependencies, flags);
}

CUresult do_cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
	CUstreamCaptureMode old = sim_self->capture_mode;

	if (!mode || *mode > CU_STREAM_CAPTURE_MODE_RELAXED)
		return CUDA_ERROR_INVALID_VALUE;
	sim_self->capture_mode = *mode;
	*mode = old;
	return CUDA_SUCCESS;
}
