/* SPDX-License-Identifier: Apache-2.0 */
/*
 * harm_resolver: CUDA is called by the resolver of an indirect function, while the program is still
 * being linked: no thread has its data yet, and the C library is not set up.
 */
#include "tests/e2e/programs/harm.h"

static int picked(void)
{
	return 7;
}

static int (*resolve(void))(void)
{
	int devices;

	cuInit(0);
	cuDeviceGetCount(&devices);
	return picked;
}

int pick(void) __attribute__((ifunc("resolve")));

int main(void)
{
	work_start();
	threads_launch(4, 100);
	say("picked %d\n", pick());
	return 3;
}
