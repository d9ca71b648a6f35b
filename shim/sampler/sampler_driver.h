/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The driver's functions that the sampler calls, and what their results mean to it. For the
 * sampler's files.
 */
#ifndef SPY_SAMPLER_DRIVER_H
#define SPY_SAMPLER_DRIVER_H

#include <stdbool.h>
#include "shim/base/cuda_types.h"

/* [1] is the flavour of per-thread default streams. */
struct sampler_driver {
	CUresult (*launch[2])(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned,
	                      unsigned, unsigned, CUstream, void **, void **);
	CUresult (*record[2])(CUevent, CUstream);
	CUresult (*stream_query[2])(CUstream);
	CUresult (*is_capturing[2])(CUstream, CUstreamCaptureStatus *);
	CUresult (*exchange_mode)(CUstreamCaptureMode *);
	CUresult (*get_current)(CUcontext *);
	CUresult (*get_device)(CUdevice *);
	CUresult (*device_attribute)(int *, CUdevice_attribute, CUdevice);
	CUresult (*stream_context)(CUstream, CUcontext *);
	CUresult (*module_load)(CUmodule *, const void *, unsigned, CUjit_option *, void **);
	CUresult (*module_function)(CUfunction *, CUmodule, const char *);
	CUresult (*event_create)(CUevent *, unsigned);
	CUresult (*event_query)(CUevent);
	CUresult (*elapsed)(float *, CUevent, CUevent);
	CUresult (*occupancy)(int *, CUfunction, int, size_t);
	CUresult (*function_attribute)(int *, CUfunction_attribute, CUfunction);
	CUresult (*kernel_function)(CUfunction *, CUkernel); /* since CUDA 12; else NULL */
	/* Since CUDA 12 as well, all of them if `graphs`. */
	CUresult (*graph_create)(CUgraph *, unsigned);
	CUresult (*graph_add)(CUgraphNode *, CUgraph, const CUgraphNode *, size_t,
	                      const CUDA_KERNEL_NODE_PARAMS_v2 *);
	CUresult (*graph_make)(CUgraphExec *, CUgraph, unsigned long long);
	CUresult (*graph_change)(CUgraphExec, CUgraphNode, const CUDA_KERNEL_NODE_PARAMS_v2 *);
	CUresult (*graph_launch[2])(CUgraphExec, CUstream);
	CUresult (*graph_exec_destroy)(CUgraphExec);
	CUresult (*graph_destroy)(CUgraph);
	bool graphs;
};
extern struct sampler_driver sampler_cu;

/* False: this driver lacks one of them. */
bool sampler_driver_find(void);
/* Whether all were found. */
bool sampler_driver_found(void);

/* Whether a failed call of ours says that the context is not to be worked in any more; else it says
 * that the GPU is not that far, a capture is under way, or the process ends. */
bool sampler_driver_refused(CUresult rc);

#endif
