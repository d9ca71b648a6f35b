/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profiler HOW: 100 launches, then a profiler starts, as torch.profiler would, for 50 more, and
 * prints how many kernels it saw; 30 more without it. HOW it reaches libcupti: "linked", "handle"
 * (dlopen, dlsym), "early" (the same, looked up before anything else), "plugin" (in a library that
 * is linked with it and was opened with RTLD_LOCAL). Built by test_cupti.py; with PLUGIN, that
 * library.
 */
#include <cupti.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct calls {
	__typeof__(cuptiSubscribe) *subscribe;
	__typeof__(cuptiUnsubscribe) *unsubscribe;
	__typeof__(cuptiActivityRegisterCallbacks) *callbacks;
	__typeof__(cuptiActivityEnable) *enable;
	__typeof__(cuptiActivityDisable) *disable;
	__typeof__(cuptiActivityFlushAll) *flush;
	__typeof__(cuptiActivityGetNextRecord) *next;
};

#ifndef HANDLE_ONLY
const struct calls linked_calls = {cuptiSubscribe,
                                   cuptiUnsubscribe,
                                   cuptiActivityRegisterCallbacks,
                                   cuptiActivityEnable,
                                   cuptiActivityDisable,
                                   cuptiActivityFlushAll,
                                   cuptiActivityGetNextRecord};
#endif

#ifndef PLUGIN
#include "tests/e2e/programs/work.h"

static struct calls calls;
static CUpti_SubscriberHandle subscriber;
static uint8_t mine[1 << 16] __attribute__((aligned(8)));
static bool given;
static int kernels, foreign;

static void look_up(void)
{
	void *h = dlopen("libcupti.so.13", RTLD_LAZY);

	calls.subscribe = dlsym(h, "cuptiSubscribe");
	calls.unsubscribe = dlsym(h, "cuptiUnsubscribe");
	calls.callbacks = dlsym(h, "cuptiActivityRegisterCallbacks");
	calls.enable = dlsym(h, "cuptiActivityEnable");
	calls.disable = dlsym(h, "cuptiActivityDisable");
	calls.flush = dlsym(h, "cuptiActivityFlushAll");
	calls.next = dlsym(h, "cuptiActivityGetNextRecord");
}

static void requested(uint8_t **buffer, size_t *size, size_t *most)
{
	*buffer = given ? NULL : mine;
	*size = sizeof(mine);
	given = true;
}

static void completed(CUcontext c, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
	CUpti_Activity *a = NULL;

	foreign += buffer != mine;
	while (buffer == mine && calls.next(buffer, valid, &a) == CUPTI_SUCCESS)
		kernels += a->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
}

static void callback(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void *data)
{
}

static void expect(const char *what, CUptiResult rc)
{
	if (rc == CUPTI_SUCCESS)
		return;
	printf("%s: %d\n", what, (int)rc);
	exit(98);
}

int main(int argc, char **argv)
{
	const char *how = argv[1];

	if (!strcmp(how, "early"))
		look_up();
	work_start();
	work_launches(100);
	CHECK(cuCtxSynchronize());
	usleep(argc > 2 ? (useconds_t)atoi(argv[2]) * 1000 : 0);
	if (!strcmp(how, "handle"))
		look_up();
	else if (!strcmp(how, "plugin"))
		calls = *(struct calls *)dlsym(dlopen(getenv("PLUGIN"), RTLD_NOW | RTLD_LOCAL),
		                               "linked_calls");
#ifndef HANDLE_ONLY
	else if (!strcmp(how, "linked"))
		calls = linked_calls;
#endif
	expect("subscribe", calls.subscribe(&subscriber, callback, NULL));
	expect("callbacks", calls.callbacks(requested, completed));
	expect("enable", calls.enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
	work_launches(50);
	CHECK(cuCtxSynchronize());
	expect("flush", calls.flush(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED));
	expect("disable", calls.disable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
	expect("unsubscribe", calls.unsubscribe(subscriber));
	work_launches(30);
	CHECK(cuCtxSynchronize());
	printf("%d kernels, %d foreign buffers\n", kernels, foreign);
	return 0;
}
#endif
