/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>

#include "report/model/error_names.h"
#include "shim/core/format/classes.h"

/* Both levels count alike since CUDA 10.2, but for a few codes that only one of them has. */
static const struct {
	int32_t code;
	const char *driver, *runtime;
} names[] = {
        {1, "CUDA_ERROR_INVALID_VALUE", "cudaErrorInvalidValue"},
        {2, "CUDA_ERROR_OUT_OF_MEMORY", "cudaErrorMemoryAllocation"},
        {3, "CUDA_ERROR_NOT_INITIALIZED", "cudaErrorInitializationError"},
        {4, "CUDA_ERROR_DEINITIALIZED", "cudaErrorCudartUnloading"},
        {5, "CUDA_ERROR_PROFILER_DISABLED", "cudaErrorProfilerDisabled"},
        {9, NULL, "cudaErrorInvalidConfiguration"},
        {12, NULL, "cudaErrorInvalidPitchValue"},
        {13, NULL, "cudaErrorInvalidSymbol"},
        {16, NULL, "cudaErrorInvalidHostPointer"},
        {17, NULL, "cudaErrorInvalidDevicePointer"},
        {18, NULL, "cudaErrorInvalidTexture"},
        {21, NULL, "cudaErrorInvalidMemcpyDirection"},
        {34, "CUDA_ERROR_STUB_LIBRARY", "cudaErrorStubLibrary"},
        {35, NULL, "cudaErrorInsufficientDriver"},
        {36, "CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER", "cudaErrorCallRequiresNewerDriver"},
        {37, NULL, "cudaErrorInvalidSurface"},
        {46, "CUDA_ERROR_DEVICE_UNAVAILABLE", "cudaErrorDevicesUnavailable"},
        {49, NULL, "cudaErrorIncompatibleDriverContext"},
        {52, NULL, "cudaErrorMissingConfiguration"},
        {98, NULL, "cudaErrorInvalidDeviceFunction"},
        {100, "CUDA_ERROR_NO_DEVICE", "cudaErrorNoDevice"},
        {101, "CUDA_ERROR_INVALID_DEVICE", "cudaErrorInvalidDevice"},
        {102, "CUDA_ERROR_DEVICE_NOT_LICENSED", "cudaErrorDeviceNotLicensed"},
        {127, NULL, "cudaErrorStartupFailure"},
        {200, "CUDA_ERROR_INVALID_IMAGE", "cudaErrorInvalidKernelImage"},
        {201, "CUDA_ERROR_INVALID_CONTEXT", "cudaErrorDeviceUninitialized"},
        {205, "CUDA_ERROR_MAP_FAILED", "cudaErrorMapBufferObjectFailed"},
        {206, "CUDA_ERROR_UNMAP_FAILED", "cudaErrorUnmapBufferObjectFailed"},
        {208, "CUDA_ERROR_ALREADY_MAPPED", "cudaErrorAlreadyMapped"},
        {209, "CUDA_ERROR_NO_BINARY_FOR_GPU", "cudaErrorNoKernelImageForDevice"},
        {214, "CUDA_ERROR_ECC_UNCORRECTABLE", "cudaErrorECCUncorrectable"},
        {215, "CUDA_ERROR_UNSUPPORTED_LIMIT", "cudaErrorUnsupportedLimit"},
        {216, "CUDA_ERROR_CONTEXT_ALREADY_IN_USE", "cudaErrorDeviceAlreadyInUse"},
        {217, "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED", "cudaErrorPeerAccessUnsupported"},
        {218, "CUDA_ERROR_INVALID_PTX", "cudaErrorInvalidPtx"},
        {220, "CUDA_ERROR_NVLINK_UNCORRECTABLE", "cudaErrorNvlinkUncorrectable"},
        {221, "CUDA_ERROR_JIT_COMPILER_NOT_FOUND", "cudaErrorJitCompilerNotFound"},
        {222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION", "cudaErrorUnsupportedPtxVersion"},
        {223, "CUDA_ERROR_JIT_COMPILATION_DISABLED", "cudaErrorJitCompilationDisabled"},
        {300, "CUDA_ERROR_INVALID_SOURCE", "cudaErrorInvalidSource"},
        {301, "CUDA_ERROR_FILE_NOT_FOUND", "cudaErrorFileNotFound"},
        {302, "CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND", "cudaErrorSharedObjectSymbolNotFound"},
        {303, "CUDA_ERROR_SHARED_OBJECT_INIT_FAILED", "cudaErrorSharedObjectInitFailed"},
        {304, "CUDA_ERROR_OPERATING_SYSTEM", "cudaErrorOperatingSystem"},
        {400, "CUDA_ERROR_INVALID_HANDLE", "cudaErrorInvalidResourceHandle"},
        {401, "CUDA_ERROR_ILLEGAL_STATE", "cudaErrorIllegalState"},
        {500, "CUDA_ERROR_NOT_FOUND", "cudaErrorSymbolNotFound"},
        {600, "CUDA_ERROR_NOT_READY", "cudaErrorNotReady"},
        {700, "CUDA_ERROR_ILLEGAL_ADDRESS", "cudaErrorIllegalAddress"},
        {701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "cudaErrorLaunchOutOfResources"},
        {702, "CUDA_ERROR_LAUNCH_TIMEOUT", "cudaErrorLaunchTimeout"},
        {704, "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED", "cudaErrorPeerAccessAlreadyEnabled"},
        {705, "CUDA_ERROR_PEER_ACCESS_NOT_ENABLED", "cudaErrorPeerAccessNotEnabled"},
        {708, "CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE", "cudaErrorSetOnActiveProcess"},
        {709, "CUDA_ERROR_CONTEXT_IS_DESTROYED", "cudaErrorContextIsDestroyed"},
        {710, "CUDA_ERROR_ASSERT", "cudaErrorAssert"},
        {711, "CUDA_ERROR_TOO_MANY_PEERS", "cudaErrorTooManyPeers"},
        {712, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED", "cudaErrorHostMemoryAlreadyRegistered"},
        {713, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED", "cudaErrorHostMemoryNotRegistered"},
        {714, "CUDA_ERROR_HARDWARE_STACK_ERROR", "cudaErrorHardwareStackError"},
        {715, "CUDA_ERROR_ILLEGAL_INSTRUCTION", "cudaErrorIllegalInstruction"},
        {716, "CUDA_ERROR_MISALIGNED_ADDRESS", "cudaErrorMisalignedAddress"},
        {717, "CUDA_ERROR_INVALID_ADDRESS_SPACE", "cudaErrorInvalidAddressSpace"},
        {718, "CUDA_ERROR_INVALID_PC", "cudaErrorInvalidPc"},
        {719, "CUDA_ERROR_LAUNCH_FAILED", "cudaErrorLaunchFailure"},
        {720, "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE", "cudaErrorCooperativeLaunchTooLarge"},
        {800, "CUDA_ERROR_NOT_PERMITTED", "cudaErrorNotPermitted"},
        {801, "CUDA_ERROR_NOT_SUPPORTED", "cudaErrorNotSupported"},
        {802, "CUDA_ERROR_SYSTEM_NOT_READY", "cudaErrorSystemNotReady"},
        {803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", "cudaErrorSystemDriverMismatch"},
        {804, "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE", "cudaErrorCompatNotSupportedOnDevice"},
        {900, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", "cudaErrorStreamCaptureUnsupported"},
        {901, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED", "cudaErrorStreamCaptureInvalidated"},
        {902, "CUDA_ERROR_STREAM_CAPTURE_MERGE", "cudaErrorStreamCaptureMerge"},
        {903, "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED", "cudaErrorStreamCaptureUnmatched"},
        {904, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED", "cudaErrorStreamCaptureUnjoined"},
        {905, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION", "cudaErrorStreamCaptureIsolation"},
        {906, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT", "cudaErrorStreamCaptureImplicit"},
        {907, "CUDA_ERROR_CAPTURED_EVENT", "cudaErrorCapturedEvent"},
        {908, "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD", "cudaErrorStreamCaptureWrongThread"},
        {909, "CUDA_ERROR_TIMEOUT", "cudaErrorTimeout"},
        {910, "CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE", "cudaErrorGraphExecUpdateFailure"},
        {911, "CUDA_ERROR_EXTERNAL_DEVICE", "cudaErrorExternalDevice"},
        {999, "CUDA_ERROR_UNKNOWN", "cudaErrorUnknown"},
};

const char *error_name(uint8_t level, int32_t code)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i].code == code)
			return level == SPY_LEVEL_RUNTIME ? names[i].runtime : names[i].driver;
	return NULL;
}
