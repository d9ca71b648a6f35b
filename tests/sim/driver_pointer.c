/* SPDX-License-Identifier: Apache-2.0 */
/* What a pointer is. */
#include <string.h>
#include "tests/sim/driver_memory.h"

static void put(void *data, const void *value, size_t bytes)
{
	memcpy(data, value, bytes);
}

static CUresult put_int(void *data, int value)
{
	put(data, &value, sizeof(value));
	return CUDA_SUCCESS;
}

static CUresult put_word(void *data, uint64_t value)
{
	put(data, &value, sizeof(value));
	return CUDA_SUCCESS;
}

static CUresult put_byte(void *data, bool value)
{
	*(unsigned char *)data = value;
	return CUDA_SUCCESS;
}

static CUresult answer(void *data, CUpointer_attribute attribute, uintptr_t p,
                       const struct memory_range *r)
{
	bool device = memory_is_device(r->kind);

	switch (attribute) {
	case CU_POINTER_ATTRIBUTE_CONTEXT:
		return put_word(data, (uintptr_t)(r->kind == MEMORY_POOL ? NULL : r->ctx));
	case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
		return put_int(data, device || r->kind == MEMORY_MANAGED ? CU_MEMORYTYPE_DEVICE
		                                                         : CU_MEMORYTYPE_HOST);
	case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
		return put_word(data, p);
	case CU_POINTER_ATTRIBUTE_HOST_POINTER:
		if (device)
			return CUDA_ERROR_INVALID_VALUE;
		return put_word(data, p);
	case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
		return put_int(data, 0);
	case CU_POINTER_ATTRIBUTE_BUFFER_ID:
	case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
		return put_word(data, r->id);
	case CU_POINTER_ATTRIBUTE_IS_MANAGED:
		return put_byte(data, r->kind == MEMORY_MANAGED);
	case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
		return put_int(data, r->device->ordinal);
	case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
		return put_byte(data, r->kind == MEMORY_DEVICE);
	case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
	case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
		return put_word(data, r->start);
	case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
	case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
		return put_word(data, r->bytes);
	case CU_POINTER_ATTRIBUTE_MAPPED:
		return put_byte(data, true);
	case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
		return put_word(data, 0);
	case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
	case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
		return put_byte(data, false);
	case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
		return put_int(data, CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE);
	case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
		return put_word(data, (uintptr_t)r->pool);
	default:
		return CUDA_ERROR_NOT_SUPPORTED;
	}
}

CUresult do_cuPointerGetAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr ptr)
{
	struct memory_range r;

	if (!data)
		return CUDA_ERROR_INVALID_VALUE;
	if (memory_find((uintptr_t)ptr, &r))
		return answer(data, attribute, (uintptr_t)ptr, &r);
	if (attribute == CU_POINTER_ATTRIBUTE_MAPPED)
		return put_byte(data, false);
	return CUDA_ERROR_INVALID_VALUE;
}

static size_t size_of(CUpointer_attribute attribute)
{
	switch (attribute) {
	case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
	case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
	case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
	case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
		return sizeof(int);
	case CU_POINTER_ATTRIBUTE_IS_MANAGED:
	case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
	case CU_POINTER_ATTRIBUTE_MAPPED:
	case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
	case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
		return 1;
	default:
		return sizeof(uint64_t);
	}
}

/* Unlike the single form, a pointer that is not ours is no error: its attributes are empty. */
CUresult do_cuPointerGetAttributes(unsigned int numAttributes, CUpointer_attribute *attributes,
                                   void **data, CUdeviceptr ptr)
{
	struct memory_range r;
	bool known;

	if (!numAttributes || !attributes || !data)
		return CUDA_ERROR_INVALID_VALUE;
	known = memory_find((uintptr_t)ptr, &r);
	for (unsigned i = 0; i < numAttributes; i++) {
		if (known && answer(data[i], attributes[i], (uintptr_t)ptr, &r) == CUDA_SUCCESS)
			continue;
		memset(data[i], 0, size_of(attributes[i]));
		if (!known && attributes[i] == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL)
			put_int(data[i], CU_DEVICE_INVALID);
	}
	return CUDA_SUCCESS;
}

CUresult do_cuPointerSetAttribute(const void *value, CUpointer_attribute attribute, CUdeviceptr ptr)
{
	struct memory_range r;

	if (!value || attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS ||
	    !memory_find((uintptr_t)ptr, &r))
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}
