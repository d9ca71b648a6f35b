/* SPDX-License-Identifier: Apache-2.0 */
/* Names and texts of result codes. */
#include "tests/sim/driver.h"

#define E(code, text)                                                                              \
	{                                                                                          \
		code, #code, text                                                                  \
	}

static const struct {
	CUresult code;
	const char *name, *text;
} error[] = {
        E(CUDA_SUCCESS, "no error"),
        E(CUDA_ERROR_INVALID_VALUE, "invalid argument"),
        E(CUDA_ERROR_OUT_OF_MEMORY, "out of memory"),
        E(CUDA_ERROR_NOT_INITIALIZED, "initialization error"),
        E(CUDA_ERROR_DEINITIALIZED, "driver shutting down"),
        E(CUDA_ERROR_STUB_LIBRARY, "CUDA driver is a stub library"),
        E(CUDA_ERROR_NO_DEVICE, "no CUDA-capable device is detected"),
        E(CUDA_ERROR_INVALID_DEVICE, "invalid device ordinal"),
        E(CUDA_ERROR_INVALID_IMAGE, "device kernel image is invalid"),
        E(CUDA_ERROR_INVALID_CONTEXT, "invalid device context"),
        E(CUDA_ERROR_MAP_FAILED, "mapping of buffer object failed"),
        E(CUDA_ERROR_UNMAP_FAILED, "unmapping of buffer object failed"),
        E(CUDA_ERROR_ALREADY_MAPPED, "resource already mapped"),
        E(CUDA_ERROR_NO_BINARY_FOR_GPU, "no kernel image is available for execution on the device"),
        E(CUDA_ERROR_NOT_MAPPED, "resource not mapped"),
        E(CUDA_ERROR_UNSUPPORTED_LIMIT, "limit is not supported on this architecture"),
        E(CUDA_ERROR_CONTEXT_ALREADY_IN_USE,
          "exclusive-thread device already in use by a different thread"),
        E(CUDA_ERROR_PEER_ACCESS_UNSUPPORTED,
          "peer access is not supported between these two devices"),
        E(CUDA_ERROR_INVALID_PTX, "a PTX JIT compilation failed"),
        E(CUDA_ERROR_INVALID_SOURCE, "device kernel image is invalid"),
        E(CUDA_ERROR_FILE_NOT_FOUND, "file not found"),
        E(CUDA_ERROR_OPERATING_SYSTEM, "OS call failed or operation not supported on this OS"),
        E(CUDA_ERROR_INVALID_HANDLE, "invalid resource handle"),
        E(CUDA_ERROR_ILLEGAL_STATE, "the operation cannot be performed in the present state"),
        E(CUDA_ERROR_NOT_FOUND, "named symbol not found"),
        E(CUDA_ERROR_NOT_READY, "device not ready"),
        E(CUDA_ERROR_ILLEGAL_ADDRESS, "an illegal memory access was encountered"),
        E(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "too many resources requested for launch"),
        E(CUDA_ERROR_LAUNCH_TIMEOUT, "the launch timed out and was terminated"),
        E(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, "peer access is already enabled"),
        E(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, "peer access has not been enabled"),
        E(CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE, "cannot set while device is active in this process"),
        E(CUDA_ERROR_CONTEXT_IS_DESTROYED, "context is destroyed"),
        E(CUDA_ERROR_ASSERT, "device-side assert triggered"),
        E(CUDA_ERROR_TOO_MANY_PEERS, "peer mapping resources exhausted"),
        E(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED,
          "part or all of the requested memory range is already mapped"),
        E(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED,
          "pointer does not correspond to a registered memory region"),
        E(CUDA_ERROR_LAUNCH_FAILED, "unspecified launch failure"),
        E(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, "too many blocks in cooperative launch"),
        E(CUDA_ERROR_NOT_PERMITTED, "operation not permitted"),
        E(CUDA_ERROR_NOT_SUPPORTED, "operation not supported"),
        E(CUDA_ERROR_SYSTEM_NOT_READY, "system not yet initialized"),
        E(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
          "operation not permitted when stream is capturing"),
        E(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED,
          "operation failed due to a previous error during capture"),
        E(CUDA_ERROR_STREAM_CAPTURE_MERGE,
          "operation would result in a merge of separate capture sequences"),
        E(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED,
          "capture was not ended in the same stream as it began"),
        E(CUDA_ERROR_STREAM_CAPTURE_UNJOINED, "capturing stream has unjoined work"),
        E(CUDA_ERROR_STREAM_CAPTURE_ISOLATION,
          "dependency created on uncaptured work in another stream"),
        E(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT,
          "operation would make the legacy stream depend on a capturing blocking stream"),
        E(CUDA_ERROR_CAPTURED_EVENT,
          "operation not permitted on an event last recorded in a capturing stream"),
        E(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD,
          "attempt to terminate a thread-local capture sequence from another thread"),
        E(CUDA_ERROR_TIMEOUT, "wait operation timed out"),
        E(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE,
          "the graph update was not performed because it included changes which violated "
          "constraints specific to instantiated graph update"),
        E(CUDA_ERROR_INVALID_CLUSTER_SIZE, "cluster misconfiguration"),
        E(CUDA_ERROR_UNKNOWN, "unknown error"),
};

static int find(CUresult code)
{
	for (unsigned i = 0; i < sizeof(error) / sizeof(error[0]); i++) {
		if (error[i].code == code)
			return (int)i;
	}
	return -1;
}

CUresult do_cuGetErrorName(CUresult error_code, const char **pStr)
{
	int i = find(error_code);

	if (!pStr)
		return CUDA_ERROR_INVALID_VALUE;
	*pStr = i < 0 ? NULL : error[i].name;
	return i < 0 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult do_cuGetErrorString(CUresult error_code, const char **pStr)
{
	int i = find(error_code);

	if (!pStr)
		return CUDA_ERROR_INVALID_VALUE;
	*pStr = i < 0 ? NULL : error[i].text;
	return i < 0 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}
