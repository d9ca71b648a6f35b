/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/sampler/sampler_driver.h"

#include <string.h>
#include "shim/real/real.h"

struct sampler_driver sampler_cu;

static bool all_found;

static bool find_graphs(struct sampler_driver *cu)
{
	const struct spy_wanted wanted[] = {
	        {&cu->graph_create, "cuGraphCreate", NULL},
	        {&cu->graph_add, "cuGraphAddKernelNode_v2", NULL},
	        {&cu->graph_make, "cuGraphInstantiateWithFlags", NULL},
	        {&cu->graph_change, "cuGraphExecKernelNodeSetParams_v2", NULL},
	        {&cu->graph_launch[0], "cuGraphLaunch", NULL},
	        {&cu->graph_launch[1], "cuGraphLaunch_ptsz", NULL},
	        {&cu->graph_exec_destroy, "cuGraphExecDestroy", NULL},
	        {&cu->graph_destroy, "cuGraphDestroy", NULL},
	};

	return spy_driver_symbols(wanted, sizeof(wanted) / sizeof(wanted[0]));
}

bool sampler_driver_find(void)
{
	struct sampler_driver *cu = &sampler_cu;
	const struct spy_wanted wanted[] = {
	        {&cu->launch[0], "cuLaunchKernel", NULL},
	        {&cu->launch[1], "cuLaunchKernel_ptsz", NULL},
	        {&cu->record[0], "cuEventRecord", NULL},
	        {&cu->record[1], "cuEventRecord_ptsz", NULL},
	        {&cu->stream_query[0], "cuStreamQuery", NULL},
	        {&cu->stream_query[1], "cuStreamQuery_ptsz", NULL},
	        {&cu->is_capturing[0], "cuStreamIsCapturing", NULL},
	        {&cu->is_capturing[1], "cuStreamIsCapturing_ptsz", NULL},
	        {&cu->exchange_mode, "cuThreadExchangeStreamCaptureMode", NULL},
	        {&cu->get_current, "cuCtxGetCurrent", NULL},
	        {&cu->get_device, "cuCtxGetDevice", NULL},
	        {&cu->device_attribute, "cuDeviceGetAttribute", NULL},
	        {&cu->stream_context, "cuStreamGetCtx", NULL},
	        {&cu->module_load, "cuModuleLoadDataEx", NULL},
	        {&cu->module_function, "cuModuleGetFunction", NULL},
	        {&cu->event_create, "cuEventCreate", NULL},
	        {&cu->event_query, "cuEventQuery", NULL},
	        {&cu->elapsed, "cuEventElapsedTime", "cuEventElapsedTime_v2"},
	        {&cu->occupancy, "cuOccupancyMaxActiveBlocksPerMultiprocessor", NULL},
	        {&cu->function_attribute, "cuFuncGetAttribute", NULL},
	};

	if (!spy_driver_symbols(wanted, sizeof(wanted) / sizeof(wanted[0])))
		return false;
	void *since_12 = spy_driver_symbol("cuKernelGetFunction");
	memcpy(&cu->kernel_function, &since_12, sizeof(since_12));
	cu->graphs = find_graphs(cu);
	__atomic_store_n(&all_found, true, __ATOMIC_RELEASE);
	return true;
}

bool sampler_driver_found(void)
{
	return __atomic_load_n(&all_found, __ATOMIC_ACQUIRE);
}

bool sampler_driver_refused(CUresult rc)
{
	return rc != CUDA_SUCCESS && rc != CUDA_ERROR_NOT_READY && rc != CUDA_ERROR_DEINITIALIZED &&
	       (rc < CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED ||
	        rc > CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
}
