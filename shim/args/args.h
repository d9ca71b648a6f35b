/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is recorded of a call's arguments: a function for each list of parameters, declared with
 * NVIDIA's types, so that a row of calls.def with the wrong `what` does not compile.
 * Called by the generated wrappers.
 *
 * args_X(span, result, arguments...) runs after the real call, before_X(span, arguments...) ahead
 * of it. They learn (handles, ranges of memory) always, and record only inside a recorded call.
 * None calls CUDA on a launch or copy path, but for cuStreamIsCapturing() while a capture is under
 * way somewhere in the process.
 */
#ifndef SPY_ARGS_H
#define SPY_ARGS_H

#include "shim/base/cuda_types.h"
#include "shim/record/span.h"

#define S struct spy_span *s
#define R struct spy_span *s, CUresult rc

/* ---- args_launch.c ---- */
static inline void args_launch(R, CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                               unsigned by, unsigned bz, unsigned shared_bytes, CUstream stream,
                               void **params, void **extra);
void args_launch_cooperative(R, CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                             unsigned by, unsigned bz, unsigned shared_bytes, CUstream stream,
                             void **params);
void args_launch_ex(R, const CUlaunchConfig *config, CUfunction f, void **params, void **extra);
void args_launch_multi(R, CUDA_LAUNCH_PARAMS *list, unsigned devices, unsigned flags);
void args_launch_shape_set_before(R, CUfunction f);
void args_launch_grid(R, CUfunction f, int width, int height);
void args_launch_grid_async(R, CUfunction f, int width, int height, CUstream stream);

/* ---- args_graph.c ---- */
void args_graph_launch(R, CUgraphExec exec, CUstream stream);
void args_instantiate_log(R, CUgraphExec *exec, CUgraph graph, CUgraphNode *node, char *log,
                          size_t bytes);
void args_instantiate_flags(R, CUgraphExec *exec, CUgraph graph, unsigned long long flags);
void args_instantiate_params(R, CUgraphExec *exec, CUgraph graph,
                             CUDA_GRAPH_INSTANTIATE_PARAMS *params);
void before_graph_exec_destroy(S, CUgraphExec exec);
void args_graph_exec_destroy(R, CUgraphExec exec);
void args_graph_update_v1(R, CUgraphExec exec, CUgraph graph, CUgraphNode *node,
                          CUgraphExecUpdateResult *result);
void args_graph_update(R, CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo *info);
/* A node of the executable was changed, however; so that it holds as many of each kind as before;
 * of a child graph; of a kernel. */
void args_graph_exec_changed(R, CUgraphExec exec, ...);
void args_graph_exec_alike(R, CUgraphExec exec, ...);
void args_graph_child_changed(R, CUgraphExec exec, CUgraphNode node, CUgraph child);
void args_graph_kernel_changed(R, CUgraphExec exec, CUgraphNode node,
                               const CUDA_KERNEL_NODE_PARAMS_v2 *params);
void args_graph_kernel_changed_v1(R, CUgraphExec exec, CUgraphNode node,
                                  const CUDA_KERNEL_NODE_PARAMS_v1 *params);

/* ---- args_capture.c ---- */
/* A context was destroyed, and with it the streams in which captures were under way. */
void captures_context_gone(uint64_t context);
void before_capture_begin(S, CUstream stream);
void args_capture_begin(R, CUstream stream);
void before_capture_begin_mode(S, CUstream stream, CUstreamCaptureMode mode);
void args_capture_begin_mode(R, CUstream stream, CUstreamCaptureMode mode);
#if CUDA_VERSION >= 12030
void before_capture_begin_to_graph(S, CUstream stream, CUgraph graph, const CUgraphNode *nodes,
                                   const CUgraphEdgeData *data, size_t count,
                                   CUstreamCaptureMode mode);
void args_capture_begin_to_graph(R, CUstream stream, CUgraph graph, const CUgraphNode *nodes,
                                 const CUgraphEdgeData *data, size_t count,
                                 CUstreamCaptureMode mode);
#endif
void before_capture_begin_to_cig(S, CUstream stream, CUstreamCigCaptureParams *params);
void args_capture_begin_to_cig(R, CUstream stream, CUstreamCigCaptureParams *params);
void args_capture_end_to_cig(R, CUstream stream);
void before_recapture_begin(S, CUstream stream, CUstreamCaptureMode mode, CUgraph graph,
                            CUgraphRecaptureCallback callback, void *data);
void args_recapture_begin(R, CUstream stream, CUstreamCaptureMode mode, CUgraph graph,
                          CUgraphRecaptureCallback callback, void *data);
void args_capture_end(R, CUstream stream, CUgraph *graph);
void args_stream_gone(R, CUstream stream);

/* Whether work given to this stream goes into a graph. Asks the driver only while a capture is
 * under way. */
bool spy_is_captured_slow(const struct spy_span *s, CUstream stream) __attribute__((cold));

static inline bool spy_is_captured(const struct spy_span *s, CUstream stream)
{
	return unlikely(__atomic_load_n(&spy_gate_page.gate.captures, __ATOMIC_ACQUIRE)) &&
	       spy_is_captured_slow(s, stream);
}

/* ---- args_copy.c ---- */
void args_copy(R, CUdeviceptr dst, CUdeviceptr src, size_t n);
void args_copy_async(R, CUdeviceptr dst, CUdeviceptr src, size_t n, CUstream stream);
void args_copy_htod(R, CUdeviceptr dst, const void *src, size_t n);
void args_copy_htod_async(R, CUdeviceptr dst, const void *src, size_t n, CUstream stream);
void args_copy_dtoh(R, void *dst, CUdeviceptr src, size_t n);
void args_copy_dtoh_async(R, void *dst, CUdeviceptr src, size_t n, CUstream stream);
void args_copy_dtod(R, CUdeviceptr dst, CUdeviceptr src, size_t n);
void args_copy_dtod_async(R, CUdeviceptr dst, CUdeviceptr src, size_t n, CUstream stream);
void args_copy_dtoa(R, CUarray dst, size_t offset, CUdeviceptr src, size_t n);
void args_copy_atod(R, CUdeviceptr dst, CUarray src, size_t offset, size_t n);
void args_copy_htoa(R, CUarray dst, size_t offset, const void *src, size_t n);
void args_copy_htoa_async(R, CUarray dst, size_t offset, const void *src, size_t n,
                          CUstream stream);
void args_copy_atoh(R, void *dst, CUarray src, size_t offset, size_t n);
void args_copy_atoh_async(R, void *dst, CUarray src, size_t offset, size_t n, CUstream stream);
void args_copy_atoa(R, CUarray dst, size_t to, CUarray src, size_t from, size_t n);
void args_copy_peer(R, CUdeviceptr dst, CUcontext to, CUdeviceptr src, CUcontext from, size_t n);
void args_copy_peer_async(R, CUdeviceptr dst, CUcontext to, CUdeviceptr src, CUcontext from,
                          size_t n, CUstream stream);
void args_copy_2d(R, const CUDA_MEMCPY2D *p);
void args_copy_2d_async(R, const CUDA_MEMCPY2D *p, CUstream stream);
void args_copy_3d(R, const CUDA_MEMCPY3D *p);
void args_copy_3d_async(R, const CUDA_MEMCPY3D *p, CUstream stream);
void args_copy_3d_peer(R, const CUDA_MEMCPY3D_PEER *p);
void args_copy_3d_peer_async(R, const CUDA_MEMCPY3D_PEER *p, CUstream stream);

/* ---- args_copy_batch.c ---- */
#if CUDA_VERSION >= 12080
void args_copy_batch(R, CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count,
                     CUmemcpyAttributes *attributes, size_t *indices, size_t attribute_count,
                     CUstream stream);
void args_copy_batch_v1(R, CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count,
                        CUmemcpyAttributes *attributes, size_t *indices, size_t attribute_count,
                        size_t *fail, CUstream stream);
void args_copy_3d_batch(R, size_t count, CUDA_MEMCPY3D_BATCH_OP *ops, unsigned long long flags,
                        CUstream stream);
void args_copy_3d_batch_v1(R, size_t count, CUDA_MEMCPY3D_BATCH_OP *ops, size_t *fail,
                           unsigned long long flags, CUstream stream);
void args_copy_attributes(R, CUdeviceptr dst, CUdeviceptr src, size_t n,
                          CUmemcpyAttributes *attributes, CUstream stream);
void args_copy_3d_attributes(R, CUDA_MEMCPY3D_BATCH_OP *op, unsigned long long flags,
                             CUstream stream);
#endif
#if CUDA_VERSION >= 13050
void args_copy_fabric_batch(R, size_t count, CUDA_FABRIC_COPY_BATCH_OP *ops,
                            unsigned long long flags, CUstream stream);
#endif

/* ---- args_set.c ---- */
void args_set(R, CUdeviceptr dst, unsigned value, size_t n);
void args_set_async(R, CUdeviceptr dst, unsigned value, size_t n, CUstream stream);
void args_set_2d(R, CUdeviceptr dst, size_t pitch, unsigned value, size_t width, size_t height);
void args_set_2d_async(R, CUdeviceptr dst, size_t pitch, unsigned value, size_t width,
                       size_t height, CUstream stream);

/* ---- args_alloc.c ---- */
void args_alloc(R, CUdeviceptr *p, size_t n);
void args_alloc_pitch(R, CUdeviceptr *p, size_t *pitch, size_t width, size_t height,
                      unsigned element);
void args_alloc_managed(R, CUdeviceptr *p, size_t n, unsigned flags);
void args_alloc_async(R, CUdeviceptr *p, size_t n, CUstream stream);
void args_alloc_from_pool(R, CUdeviceptr *p, size_t n, CUmemoryPool pool, CUstream stream);
void args_alloc_host(R, void **p, size_t n);
void args_alloc_host_flags(R, void **p, size_t n, unsigned flags);
void args_host_register(R, void *p, size_t n, unsigned flags);
void before_host_unregister(S, void *p);
void args_host_unregister(R, void *p);
void before_free(S, CUdeviceptr p);
void args_free(R, CUdeviceptr p);
void before_free_async(S, CUdeviceptr p, CUstream stream);
void args_free_async(R, CUdeviceptr p, CUstream stream);
void before_free_host(S, void *p);
void args_free_host(R, void *p);
void args_physical_create(R, CUmemGenericAllocationHandle *handle, size_t n,
                          const CUmemAllocationProp *prop, unsigned long long flags);
void before_physical_release(S, CUmemGenericAllocationHandle handle);
void args_physical_release(R, CUmemGenericAllocationHandle handle);
void args_map(R, CUdeviceptr p, size_t n, size_t offset, CUmemGenericAllocationHandle handle,
              unsigned long long flags);
void before_unmap(S, CUdeviceptr p, size_t n);
void args_unmap(R, CUdeviceptr p, size_t n);
void args_ipc_open(R, CUdeviceptr *p, CUipcMemHandle handle, unsigned flags);
void before_ipc_close(S, CUdeviceptr p);
void args_ipc_close(R, CUdeviceptr p);
void args_pool_import(R, CUdeviceptr *p, CUmemoryPool pool, CUmemPoolPtrExportData *data);
void args_external_buffer(R, CUdeviceptr *p, CUexternalMemory memory,
                          const CUDA_EXTERNAL_MEMORY_BUFFER_DESC *desc);
void args_graphics_pointer(R, CUdeviceptr *p, size_t *n, CUgraphicsResource resource);

/* ---- args_module.c ---- */
void args_module_function(R, CUfunction *f, CUmodule module, const char *name);
void args_module_global(R, CUdeviceptr *p, size_t *n, CUmodule module, const char *name);
void args_module_enumerate(R, CUfunction *list, unsigned count, CUmodule module);
void before_module_unload(S, CUmodule module);
void args_module_unload(R, CUmodule module);
void args_library_kernel(R, CUkernel *kernel, CUlibrary library, const char *name);
void args_library_enumerate(R, CUkernel *list, unsigned count, CUlibrary library);
void args_library_module(R, CUmodule *module, CUlibrary library);
void args_library_global(R, CUdeviceptr *p, size_t *n, CUlibrary library, const char *name);
void args_library_managed(R, CUdeviceptr *p, size_t *n, CUlibrary library, const char *name);
void before_library_unload(S, CUlibrary library);
void args_library_unload(R, CUlibrary library);
void args_kernel_function(R, CUfunction *f, CUkernel kernel);

/* The kernel of a function whose making was not seen: asks the driver for its name, on the calling
 * thread, once. */
uint32_t spy_learn_function(CUfunction f) __attribute__((cold));

/* ---- args_stream.c ---- */
void args_stream_create(R, CUstream *stream, unsigned flags);
void args_stream_create_priority(R, CUstream *stream, unsigned flags, int priority);
void args_event(R, CUevent event);
void args_event_record(R, CUevent event, CUstream stream);
void args_event_record_flags(R, CUevent event, CUstream stream, unsigned flags);
void args_stream_wait(R, CUstream stream, CUevent event, unsigned flags);
void args_host_function(R, CUstream stream, CUhostFn function, void *data);
void args_host_function_mode(R, CUstream stream, CUhostFn function, void *data, unsigned mode);
void args_stream_callback(R, CUstream stream, CUstreamCallback function, void *data,
                          unsigned flags);

/* ---- args_context.c ---- */
void before_init(S, unsigned flags);
void args_init(R, unsigned flags);
void before_context_destroy(S, CUcontext context);
void args_context_destroy(R, CUcontext context);
void args_primary_retain(R, CUcontext *context, CUdevice device);
void before_primary_reset(S, CUdevice device);
void args_primary_reset(R, CUdevice device);
void before_primary_release(S, CUdevice device);
void args_primary_release(R, CUdevice device);
void args_context_current(R, CUcontext context);
void args_context_pop(R, CUcontext *context);
void args_context_created(R, CUcontext *context, unsigned flags, CUdevice device);
void args_profiler_start(R);
void before_profiler_stop(S);
void args_profiler_stop(R);

#undef S
#undef R

/* ---- what they have in common ---- */

/*
 * The record that takes the arguments of `s`: that of the outermost call if it is of the same class
 * (a runtime call and the driver call inside it), `s`'s own if it is timed itself, else NULL.
 */
static inline struct tf_record *spy_args_target(struct spy_span *s)
{
	struct spy_span *o = spy_outer();

	if (o->cls == s->cls && spy_recording(o)) {
		o->rec->flags = (uint16_t)((o->rec->flags | s->flags) & ~TF_NO_ARGS);
		return o->rec;
	}
	if (s->mode == SPAN_TIMED) {
		s->rec->flags &= (uint16_t)~TF_NO_ARGS;
		return s->rec;
	}
	return NULL;
}

/* A call that waits for a stream, or asks about it. */
static inline void args_stream(struct spy_span *s, CUresult rc, CUstream stream)
{
	struct tf_record *r = spy_args_target(s);

	if (r)
		r->stream = (uintptr_t)stream;
}

#include "shim/args/args_launch.h"

#endif
