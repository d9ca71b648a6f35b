/* SPDX-License-Identifier: Apache-2.0 */
/* Whether what cupti_api.h says agrees with NVIDIA's headers, where the build has them. */
#include "shim/cupti/cupti_api.h"

#if defined(__has_include)
#if __has_include(<cupti.h>)
#include <cupti.h>
#if __has_include(<cupti_activity_deprecated.h>)
#include <cupti_activity_deprecated.h>
#endif
#define HAVE_CUPTI 1
#endif
#endif

#ifdef HAVE_CUPTI
#define SAME(a, b) _Static_assert((int)(a) == (int)(b), #a " is " #b)
SAME(CP_OK, CUPTI_SUCCESS);
SAME(CP_NOT_INITIALIZED, CUPTI_ERROR_NOT_INITIALIZED);
SAME(CP_MULTIPLE_SUBSCRIBERS, CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
SAME(CP_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMCPY);
SAME(CP_KIND_MEMSET, CUPTI_ACTIVITY_KIND_MEMSET);
SAME(CP_KIND_KERNEL, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
SAME(CP_KIND_MEMCPY2, CUPTI_ACTIVITY_KIND_MEMCPY2);
#if CUPTI_API_VERSION >= 17
SAME(CP_KIND_GRAPH, CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
#endif
SAME(CP_DOMAIN_DRIVER, CUPTI_CB_DOMAIN_DRIVER_API);
SAME(CP_SITE_ENTER, CUPTI_API_ENTER);
SAME(CP_FLUSH_FORCED, CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
SAME(CP_ATTR_DEVICE_BUFFER_SIZE, CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE);
SAME(CP_ATTR_DEVICE_POOL_LIMIT, CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT);
SAME(CP_ATTR_ZEROED_OUT, CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER);
#undef SAME

#define AT(ours, member, theirs, field)                                                            \
	_Static_assert(offsetof(struct ours, member) == offsetof(theirs, field),                   \
	               #theirs "." #field " lies elsewhere")

#define KERNEL(theirs)                                                                             \
	AT(cp_kernel, kind, theirs, kind);                                                         \
	AT(cp_kernel, start, theirs, start);                                                       \
	AT(cp_kernel, end, theirs, end);                                                           \
	AT(cp_kernel, device, theirs, deviceId);                                                   \
	AT(cp_kernel, stream, theirs, streamId);                                                   \
	AT(cp_kernel, correlation, theirs, correlationId);                                         \
	AT(cp_kernel, name, theirs, name);                                                         \
	AT(cp_kernel, graph_node, theirs, graphNodeId)

#define MOVE(ours, theirs)                                                                         \
	AT(ours, kind, theirs, kind);                                                              \
	AT(ours, bytes, theirs, bytes);                                                            \
	AT(ours, start, theirs, start);                                                            \
	AT(ours, end, theirs, end);                                                                \
	AT(ours, device, theirs, deviceId);                                                        \
	AT(ours, stream, theirs, streamId);                                                        \
	AT(ours, correlation, theirs, correlationId);                                              \
	AT(ours, graph_node, theirs, graphNodeId)

#define GRAPH(theirs)                                                                              \
	AT(cp_graph, kind, theirs, kind);                                                          \
	AT(cp_graph, correlation, theirs, correlationId);                                          \
	AT(cp_graph, start, theirs, start);                                                        \
	AT(cp_graph, end, theirs, end);                                                            \
	AT(cp_graph, device, theirs, deviceId);                                                    \
	AT(cp_graph, stream, theirs, streamId)

AT(cp_call, site, CUpti_CallbackData, callbackSite);
AT(cp_call, correlation, CUpti_CallbackData, correlationId);
/* The oldest record of CUDA 11.0 and the newest one this build knows. */
#if CUPTI_API_VERSION >= 130000
#define LEAST(theirs) _Static_assert(sizeof(theirs) >= CP_RECORD_LEAST, #theirs " is shorter")
LEAST(CUpti_ActivityGraphTrace);
LEAST(CUpti_ActivityKernel5);
LEAST(CUpti_ActivityMemcpy3);
LEAST(CUpti_ActivityMemset2);
LEAST(CUpti_ActivityMemcpyPtoP2);
KERNEL(CUpti_ActivityKernel5);
KERNEL(CUpti_ActivityKernel10);
MOVE(cp_move, CUpti_ActivityMemcpy3);
MOVE(cp_move, CUpti_ActivityMemcpy6);
MOVE(cp_move, CUpti_ActivityMemset2);
MOVE(cp_move, CUpti_ActivityMemset4);
MOVE(cp_peer, CUpti_ActivityMemcpyPtoP2);
MOVE(cp_peer, CUpti_ActivityMemcpyPtoP4);
GRAPH(CUpti_ActivityGraphTrace);
GRAPH(CUpti_ActivityGraphTrace2);
#elif CUPTI_API_VERSION >= 19
KERNEL(CUpti_ActivityKernel9);
MOVE(cp_move, CUpti_ActivityMemcpy5);
MOVE(cp_move, CUpti_ActivityMemset4);
MOVE(cp_peer, CUpti_ActivityMemcpyPtoP4);
#endif
#endif
