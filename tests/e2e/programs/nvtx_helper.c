/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvtx_helper STEPS: each step launches twice itself and has a second thread, which opens no range,
 * launch three times more inside "backward", as frameworks do.
 */
#include <pthread.h>
#include <nvtx3/nvToolsExt.h>
#include "tests/e2e/programs/work.h"

static pthread_barrier_t turn;
static int steps;

static void *helper(void *unused)
{
	(void)unused;
	CHECK(cuCtxSetCurrent(work_context));
	for (int i = 0; i < steps; i++) {
		pthread_barrier_wait(&turn);
		work_launches(3);
		pthread_barrier_wait(&turn);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	steps = atoi(argv[1]);
	work_start();
	pthread_barrier_init(&turn, NULL, 2);
	pthread_create(&thread, NULL, helper, NULL);
	for (int i = 0; i < steps; i++) {
		nvtxRangePushA("step");
		work_launches(2);
		nvtxRangePushA("backward");
		pthread_barrier_wait(&turn);
		pthread_barrier_wait(&turn);
		nvtxRangePop();
		CHECK(cuCtxSynchronize());
		nvtxRangePop();
	}
	pthread_join(thread, NULL);
	return 0;
}
