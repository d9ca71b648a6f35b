/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvtx_ranges STEPS: ranges of every form, around work that is known. Each step: HtoD copy, three
 * launches in "forward", two in "backward" with "layer" twice in it, a wait in a domain's range. A
 * second thread does a step of one launch under a name of its own inside each of these, so that it
 * takes less time on any machine. Prints what NVTX returned that should not have been.
 */
#include <pthread.h>
#include <semaphore.h>
#include <string.h>
#include <wchar.h>
#include <nvtx3/nvToolsExt.h>
#include "tests/e2e/programs/work.h"

static nvtxDomainHandle_t domain;
static nvtxStringHandle_t registered;
static sem_t begun, done; /* a step, the second thread's in it */
static int wrong;

#define WANT(value, wanted)                                                                        \
	do {                                                                                       \
		long got_ = (long)(value);                                                         \
		if (got_ != (long)(wanted)) {                                                      \
			printf("%s: %ld\n", #value, got_);                                         \
			wrong++;                                                                   \
		}                                                                                  \
	} while (0)

static nvtxEventAttributes_t attributes(nvtxMessageType_t type)
{
	nvtxEventAttributes_t a = {.version = NVTX_VERSION, .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE};

	a.messageType = type;
	return a;
}

static void backward(void)
{
	nvtxEventAttributes_t a = attributes(NVTX_MESSAGE_TYPE_UNICODE);

	a.message.unicode = L"backw\u00e4rts";
	WANT(nvtxRangePushEx(&a), 1);
	for (int i = 0; i < 2; i++) {
		WANT(nvtxRangePushA("layer"), 2);
		work_launches(1);
		WANT(nvtxRangePop(), 2);
	}
	WANT(nvtxRangePop(), 1);
}

static void step(int number, CUdeviceptr device, void *host)
{
	nvtxEventAttributes_t a = attributes(NVTX_MESSAGE_TYPE_REGISTERED);
	char name[32];

	snprintf(name, sizeof(name), "step %d", number);
	WANT(nvtxRangePushA(name), 0);
	sem_post(&begun);
	CHECK(cuMemcpyHtoD(device, host, 4096));
	WANT(nvtxRangePushA("forward"), 1);
	work_launches(3);
	nvtxMarkA("a mark");
	WANT(nvtxRangePop(), 1);
	backward();
	a.message.registered = registered;
	WANT(nvtxDomainRangePushEx(domain, &a), 0);
	CHECK(cuCtxSynchronize());
	WANT(nvtxDomainRangePop(domain), 0);
	sem_wait(&done);
	WANT(nvtxRangePop(), 0);
}

static void *second(void *steps)
{
	CHECK(cuCtxSetCurrent(work_context));
	for (int i = 0; i < *(int *)steps; i++) {
		sem_wait(&begun);
		WANT(nvtxRangePushW(L"loader"), 0);
		work_launches(1);
		WANT(nvtxRangePop(), 0);
		sem_post(&done);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	int steps = atoi(argv[1]);
	static char host[4096];
	CUdeviceptr device;
	pthread_t thread;

	/* Before CUDA is up: levels, ids and handles as ever. */
	domain = nvtxDomainCreateA("communication");
	registered = nvtxDomainRegisterStringA(domain, "wait");
	WANT(domain && registered, 1);
	WANT(nvtxDomainCreateA("communication") == domain, 1);
	WANT(nvtxRangePop() < 0, 1);
	WANT(nvtxRangePushA("early"), 0);
	WANT(nvtxRangePushA("deeper"), 1);
	WANT(nvtxRangePop(), 1);
	WANT(nvtxRangePop(), 0);
	WANT(nvtxRangePop() < 0, 1);
	nvtxRangeId_t early = nvtxRangeStartA("early start");

	work_start();
	CHECK(cuMemAlloc(&device, sizeof(host)));
	nvtxRangeId_t whole = nvtxRangeStartA("whole loop");
	WANT(whole != early, 1);
	nvtxRangeEnd(early);
	sem_init(&begun, 0, 0);
	sem_init(&done, 0, 0);
	pthread_create(&thread, NULL, second, &steps);
	for (int i = 0; i < steps; i++)
		step(i, device, host);
	pthread_join(thread, NULL);
	nvtxRangeEnd(whole);
	nvtxRangeEnd(whole); /* again: nothing */
	for (int i = 0; i < 300; i++)
		WANT(nvtxRangePushA("deep"), i);
	for (int i = 300; i-- > 0;)
		WANT(nvtxRangePop(), i);
	WANT(nvtxRangePop() < 0, 1);
	printf("wrong=%d\n", wrong);
	return wrong != 0;
}
