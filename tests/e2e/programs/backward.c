/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A library for a program of Python: as a framework does, it has a thread of its own, which runs no
 * Python, work while the caller waits inside an NVTX range.
 */
#include <cuda.h>
#include <pthread.h>
#include <sys/prctl.h>
#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>
#else
#define nvtxRangePushA(name)
#define nvtxRangePop()
#endif

__attribute__((visibility("default"))) int backward(CUcontext context, const char *name,
                                                    const char *range);

struct work {
	CUcontext context;
	const char *name;
};

static void *work(void *p)
{
	const struct work *w = p;

	prctl(PR_SET_NAME, w->name);
	cuCtxSetCurrent(w->context);
	for (int i = 0; i < 5; i++)
		cuCtxSynchronize();
	return NULL;
}

int backward(CUcontext context, const char *name, const char *range)
{
	struct work w = {context, name};
	pthread_t thread;

	if (range) {
		nvtxRangePushA("step");
		nvtxRangePushA(range);
	}
	pthread_create(&thread, NULL, work, &w);
	pthread_join(thread, NULL);
	if (range) {
		nvtxRangePop();
		nvtxRangePop();
	}
	return 0;
}
