/* SPDX-License-Identifier: Apache-2.0 */
/* The same of native code, with frame pointers: many_stacks COUNT. */
#include <unistd.h>
#include "tests/e2e/programs/work.h"

#define DEPTH 16

static void right(unsigned path, unsigned depth);

static void __attribute__((noinline, noclone)) left(unsigned path, unsigned depth)
{
	if (!depth)
		CHECK(cuCtxSynchronize());
	else if (path & 1)
		left(path >> 1, depth - 1);
	else
		right(path >> 1, depth - 1);
	__asm__ volatile("");
}

static void __attribute__((noinline, noclone)) right(unsigned path, unsigned depth)
{
	if (!depth)
		CHECK(cuCtxSynchronize());
	else if (path & 1)
		left(path >> 1, depth - 1);
	else
		right(path >> 1, depth - 1);
	__asm__ volatile("");
}

int main(int count, char **args)
{
	work_start();
	usleep(200000); /* by now the collector has seen what is mapped */
	for (int i = 0; count > 1 && i < atoi(args[1]); i++)
		left((unsigned)i, DEPTH);
	return 0;
}
