/* SPDX-License-Identifier: Apache-2.0 */
/* What can be asked of a context and set on it; access between devices. */
#include <string.h>
#include "tests/sim/driver.h"

CUresult do_cuCtxGetDevice_v2(CUdevice *device, CUcontext ctx)
{
	struct sim_ctx *c;
	CUresult rc = ctx_resolve(ctx, &c);

	if (!device)
		return CUDA_ERROR_INVALID_VALUE;
	if (rc == CUDA_SUCCESS)
		*device = c->device->ordinal;
	return rc;
}

CUresult do_cuCtxGetDevice(CUdevice *device)
{
	return do_cuCtxGetDevice_v2(device, NULL);
}

CUresult do_cuCtxGetFlags(unsigned int *flags)
{
	struct sim_ctx *c = ctx_current();

	if (!flags)
		return CUDA_ERROR_INVALID_VALUE;
	if (!c)
		return CUDA_ERROR_INVALID_CONTEXT;
	*flags = c->flags;
	return CUDA_SUCCESS;
}

CUresult do_cuCtxSetFlags(unsigned int flags)
{
	struct sim_ctx *c = ctx_current();

	if (!c)
		return CUDA_ERROR_INVALID_CONTEXT;
	c->flags = flags;
	return CUDA_SUCCESS;
}

CUresult do_cuCtxGetId(CUcontext ctx, unsigned long long *ctxId)
{
	struct sim_ctx *c;
	CUresult rc = ctx_resolve(ctx, &c);

	if (!ctxId)
		return CUDA_ERROR_INVALID_VALUE;
	if (rc == CUDA_SUCCESS)
		*ctxId = c->id;
	return rc;
}

CUresult do_cuCtxGetApiVersion(CUcontext ctx, unsigned int *version)
{
	struct sim_ctx *c;
	CUresult rc = ctx_resolve(ctx, &c);

	if (!version)
		return CUDA_ERROR_INVALID_VALUE;
	if (rc == CUDA_SUCCESS)
		*version = 3020;
	return rc;
}

CUresult do_cuCtxGetLimit(size_t *pvalue, CUlimit limit)
{
	struct sim_ctx *c = ctx_current();

	if (!pvalue)
		return CUDA_ERROR_INVALID_VALUE;
	if (!c)
		return CUDA_ERROR_INVALID_CONTEXT;
	if ((unsigned)limit >= sizeof(c->limit) / sizeof(c->limit[0]))
		return CUDA_ERROR_UNSUPPORTED_LIMIT;
	*pvalue = c->limit[limit];
	return CUDA_SUCCESS;
}

CUresult do_cuCtxSetLimit(CUlimit limit, size_t value)
{
	struct sim_ctx *c = ctx_current();

	if (!c)
		return CUDA_ERROR_INVALID_CONTEXT;
	if ((unsigned)limit >= sizeof(c->limit) / sizeof(c->limit[0]))
		return CUDA_ERROR_UNSUPPORTED_LIMIT;
	c->limit[limit] = value;
	return CUDA_SUCCESS;
}

CUresult do_cuCtxGetCacheConfig(CUfunc_cache *pconfig)
{
	struct sim_ctx *c = ctx_current();

	if (!pconfig)
		return CUDA_ERROR_INVALID_VALUE;
	if (!c)
		return CUDA_ERROR_INVALID_CONTEXT;
	*pconfig = c->cache_config;
	return CUDA_SUCCESS;
}

CUresult do_cuCtxSetCacheConfig(CUfunc_cache config)
{
	struct sim_ctx *c = ctx_current();

	if (!c)
		return CUDA_ERROR_INVALID_CONTEXT;
	c->cache_config = config;
	return CUDA_SUCCESS;
}

CUresult do_cuCtxGetSharedMemConfig(CUsharedconfig *pConfig)
{
	if (!pConfig)
		return CUDA_ERROR_INVALID_VALUE;
	*pConfig = CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE;
	return ctx_current() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult do_cuCtxSetSharedMemConfig(CUsharedconfig config)
{
	return ctx_current() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult do_cuCtxGetStreamPriorityRange(int *leastPriority, int *greatestPriority)
{
	if (!ctx_current())
		return CUDA_ERROR_INVALID_CONTEXT;
	if (leastPriority)
		*leastPriority = 0;
	if (greatestPriority)
		*greatestPriority = -5;
	return CUDA_SUCCESS;
}

CUresult do_cuCtxResetPersistingL2Cache(void)
{
	return ctx_current() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult do_cuDeviceCanAccessPeer(int *canAccessPeer, CUdevice dev, CUdevice peerDev)
{
	if (!canAccessPeer)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device_valid(dev) || !device_valid(peerDev))
		return CUDA_ERROR_INVALID_DEVICE;
	*canAccessPeer = dev != peerDev;
	return CUDA_SUCCESS;
}

CUresult do_cuDeviceGetP2PAttribute(int *value, CUdevice_P2PAttribute attrib, CUdevice srcDevice,
                                    CUdevice dstDevice)
{
	if (!value)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device_valid(srcDevice) || !device_valid(dstDevice) || srcDevice == dstDevice)
		return CUDA_ERROR_INVALID_DEVICE;
	*value = attrib == CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK ? 0 : 1;
	return CUDA_SUCCESS;
}

static struct sim_ctx **peer_place(struct sim_ctx *c, const struct sim_ctx *peer)
{
	for (unsigned i = 0; i < SIM_MAX_DEVICES; i++) {
		if (c->peer[i] == peer)
			return &c->peer[i];
	}
	return NULL;
}

CUresult do_cuCtxEnablePeerAccess(CUcontext peerContext, unsigned int Flags)
{
	struct sim_ctx *c = ctx_current(), *peer = (struct sim_ctx *)peerContext, **place;
	CUresult rc = CUDA_SUCCESS;

	if (Flags)
		return CUDA_ERROR_INVALID_VALUE;
	if (!c || !handle_live(HANDLE_CTX, peer))
		return CUDA_ERROR_INVALID_CONTEXT;
	if (c->device == peer->device)
		return CUDA_ERROR_INVALID_DEVICE;
	pthread_mutex_lock(&c->lock);
	if (peer_place(c, peer))
		rc = CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
	else if ((place = peer_place(c, NULL)))
		*place = peer;
	else
		rc = CUDA_ERROR_TOO_MANY_PEERS;
	pthread_mutex_unlock(&c->lock);
	return rc;
}

CUresult do_cuCtxDisablePeerAccess(CUcontext peerContext)
{
	struct sim_ctx *c = ctx_current(), **place;

	if (!c || !handle_live(HANDLE_CTX, peerContext))
		return CUDA_ERROR_INVALID_CONTEXT;
	pthread_mutex_lock(&c->lock);
	place = peer_place(c, (struct sim_ctx *)peerContext);
	if (place)
		*place = NULL;
	pthread_mutex_unlock(&c->lock);
	return place ? CUDA_SUCCESS : CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
}
