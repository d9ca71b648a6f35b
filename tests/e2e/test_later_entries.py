# SPDX-License-Identifier: Apache-2.0
"""Copies by the entries that came with CUDA 13.2, found in each way a program has, counted as the driver counted them.

The shim knows them whatever headers it was built with (shim/base/cuda_later.h).
"""
import pytest

from conftest import VIRTUAL_TIME

PROGRAM = r'''
#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#undef cuGetProcAddress
CUresult cuGetProcAddress_v2(const char *, void **, int, cuuint64_t, CUdriverProcAddressQueryResult *);
typedef CUresult copy_t(CUdeviceptr, CUdeviceptr, size_t, CUmemcpyAttributes *, CUstream);
typedef CUresult copy_3d_t(CUDA_MEMCPY3D_BATCH_OP *, unsigned long long, CUstream);
CUresult linked(CUdeviceptr, CUdeviceptr, size_t, CUmemcpyAttributes *, CUstream) __asm__("cuMemcpyWithAttributesAsync");
CUresult linked_3d(CUDA_MEMCPY3D_BATCH_OP *, unsigned long long, CUstream) __asm__("cuMemcpy3DWithAttributesAsync");

#define CHECK(call) do { int rc_ = (call); if (rc_) { printf("%s: %d\n", #call, rc_); exit(1); } } while (0)

static void *find(const char *name, const char *way)
{
	CUdriverProcAddressQueryResult found;
	void *p = NULL;

	if (!strcmp(way, "dlsym"))
		return dlsym(dlopen("libcuda.so.1", RTLD_NOW), name);
	CHECK(cuGetProcAddress_v2(name, &p, 13020, !strcmp(way, "per_thread") ? 2 : 1, &found));
	return p;
}

int main(int argc, char **argv)
{
	CUmemcpyAttributes how = {.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM};
	copy_t *copy = linked;
	copy_3d_t *copy_3d = linked_3d;
	static char pageable[4096];
	CUcontext context;
	CUstream stream;
	CUdeviceptr a, b;
	CUgraph graph;
	void *pinned;

	CHECK(cuInit(0));
	CHECK(cuDevicePrimaryCtxRetain(&context, 0));
	CHECK(cuCtxSetCurrent(context));
	CHECK(cuMemAlloc(&a, 4096));
	CHECK(cuMemAlloc(&b, 4096));
	CHECK(cuMemAllocHost(&pinned, 4096));
	CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	if (strcmp(argv[1], "linked")) {
		copy = find("cuMemcpyWithAttributesAsync", argv[1]);
		copy_3d = find("cuMemcpy3DWithAttributesAsync", argv[1]);
	}
	for (int i = 0; i < 5; i++)
		CHECK(copy(a, (CUdeviceptr)pinned, 1000, &how, stream));
	for (int i = 0; i < 3; i++)
		CHECK(copy((CUdeviceptr)pageable, a, 100, &how, stream));
	CUDA_MEMCPY3D_BATCH_OP op = {.extent = {10, 20, 3}, .srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM};
	op.src.type = op.dst.type = CU_MEMCPY_OPERAND_TYPE_POINTER;
	op.src.op.ptr.ptr = a;
	op.dst.op.ptr.ptr = b;
	for (int i = 0; i < 2; i++)
		CHECK(copy_3d(&op, 0, stream));
	if (copy(a, b, 1, NULL, stream) == 0) /* refused: no attributes */
		return 1;
	CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
	CHECK(copy(a, b, 64, &how, stream));
	CHECK(cuStreamEndCapture(stream, &graph));
	CHECK(cuStreamSynchronize(stream));
	return 0;
}
'''


@pytest.mark.parametrize('way', ['linked', 'dlsym', 'proc', 'per_thread'])
def test_copies_with_attributes(run, compile_c, way):
    result = run(compile_c(PROGRAM, '-lcuda', '-ldl'), way, SIM_DRIVER_VERSION=13050)
    assert result.status == 0, result.out + result.err
    report, truth = result.report, result.truth
    assert (truth['totals']['copies'], truth['totals']['captured']) == (10, 1)
    for key in ('copies', 'copy_bytes', 'pageable_copies', 'captured'):
        assert report['totals'][key] == truth['totals'][key], key
    assert report['gaps'] == []
    copies = {(c['direction'], c['host_memory'], c['async']): (c['count'], c['bytes']) for c in report['copies']}
    assert copies == {('HtoD', 'pinned', True): (5, 5000), ('DtoH', 'pageable', True): (3, 300),
                      ('DtoD', 'device', True): (2, 1200)}
    calls = {a['name']: (a['class'], a['calls'], a['failed']) for a in report['apis'] if 'WithAttributes' in a['name']}
    form = '_ptsz' if way == 'per_thread' else ''
    assert calls == {f'cuMemcpyWithAttributesAsync{form}': ('copy', 10, 1), f'cuMemcpy3DWithAttributesAsync{form}': ('copy', 2, 0)}


def test_their_gpu_time_is_sampled(run, compile_c):
    result = run(compile_c(PROGRAM.replace('i < 5', 'i < 5000'), '-lcuda', '-ldl'), 'linked', SIM_DRIVER_VERSION=13050,
                 CUDASPY_GPU='sample', **VIRTUAL_TIME)
    assert result.status == 0, result.out + result.err
    (pinned,) = [c for c in result.report['copies'] if c['host_memory'] == 'pinned']
    assert pinned['count'] == 5000 and pinned['gpu_total_ns'] > 0
