/* SPDX-License-Identifier: Apache-2.0 */
/* What can be asked of a stream and set on it without touching its work. */
#include "tests/sim/driver.h"

CUresult do_cuStreamGetPriority(CUstream hStream, int *priority)
{
	struct sim_stream *s;
	CUresult rc = stream_get(hStream, &s);

	if (rc == CUDA_SUCCESS && !priority)
		return CUDA_ERROR_INVALID_VALUE;
	if (rc == CUDA_SUCCESS)
		*priority = s->priority;
	return rc;
}

CUresult do_cuStreamGetFlags(CUstream hStream, unsigned int *flags)
{
	struct sim_stream *s;
	CUresult rc = stream_get(hStream, &s);

	if (rc == CUDA_SUCCESS && !flags)
		return CUDA_ERROR_INVALID_VALUE;
	if (rc == CUDA_SUCCESS)
		*flags = s->flags;
	return rc;
}

CUresult do_cuStreamGetId(CUstream hStream, unsigned long long *streamId)
{
	struct sim_stream *s;
	CUresult rc = stream_get(hStream, &s);

	if (rc == CUDA_SUCCESS && !streamId)
		return CUDA_ERROR_INVALID_VALUE;
	if (rc == CUDA_SUCCESS)
		*streamId = s->id;
	return rc;
}

CUresult do_cuStreamGetDevice(CUstream hStream, CUdevice *device)
{
	struct sim_stream *s;
	CUresult rc = stream_get(hStream, &s);

	if (rc == CUDA_SUCCESS && !device)
		return CUDA_ERROR_INVALID_VALUE;
	if (rc == CUDA_SUCCESS)
		*device = s->ctx->device->ordinal;
	return rc;
}

CUresult do_cuStreamGetCtx(CUstream hStream, CUcontext *pctx)
{
	struct sim_stream *s;
	CUresult rc = stream_get(hStream, &s);

	if (rc == CUDA_SUCCESS && !pctx)
		return CUDA_ERROR_INVALID_VALUE;
	if (rc == CUDA_SUCCESS)
		*pctx = (CUcontext)s->ctx;
	return rc;
}

CUresult do_cuStreamGetCtx_v2(CUstream hStream, CUcontext *pCtx, CUgreenCtx *pGreenCtx)
{
	CUresult rc = do_cuStreamGetCtx(hStream, pCtx);

	if (rc == CUDA_SUCCESS && pGreenCtx)
		*pGreenCtx = NULL;
	return rc;
}

CUresult do_cuStreamAttachMemAsync(CUstream hStream, CUdeviceptr dptr, size_t length,
                                   unsigned int flags)
{
	struct sim_stream *s;

	return stream_use(hStream, &s);
}

CUresult do_cuStreamCopyAttributes(CUstream dst, CUstream src)
{
	struct sim_stream *s;
	CUresult rc = stream_get(dst, &s);

	return rc == CUDA_SUCCESS ? stream_get(src, &s) : rc;
}

CUresult do_cuStreamGetAttribute(CUstream hStream, CUstreamAttrID attr, CUstreamAttrValue *value)
{
	struct sim_stream *s;
	CUresult rc = stream_get(hStream, &s);

	if (rc != CUDA_SUCCESS)
		return rc;
	if (!value)
		return CUDA_ERROR_INVALID_VALUE;
	*value = (CUstreamAttrValue){0};
	if (attr == CU_LAUNCH_ATTRIBUTE_PRIORITY)
		value->priority = s->priority;
	return CUDA_SUCCESS;
}

CUresult do_cuStreamSetAttribute(CUstream hStream, CUstreamAttrID attr,
                                 const CUstreamAttrValue *value)
{
	struct sim_stream *s;
	CUresult rc = stream_get(hStream, &s);

	if (rc == CUDA_SUCCESS && !value)
		return CUDA_ERROR_INVALID_VALUE;
	return rc;
}
