/* SPDX-License-Identifier: Apache-2.0 */
/*
 * steps N [WORD]...: N steps of two launches, a pinned copy and one wait. Each step is an NVTX
 * range train_step, with the launches in a range forward. Words: launch, sync, copy, alloc  one
 * more of it in each step warm    three launches more in each of the first five steps log     one
 * more wait in each tenth step vary=S  0 to 7 launches more, by chance, from the seed S kill    it
 * ends by SIGKILL before it is done
 */
#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>
#else /* no ranges then; the tests that are about them are left out */
#define nvtxRangePushA(name)
#define nvtxRangePop()
#endif
#include <signal.h>
#include <string.h>
#include <unistd.h>
#include "tests/e2e/programs/work.h"

static int asked(int argc, char **argv, const char *word)
{
	for (int i = 2; i < argc; i++)
		if (!strcmp(argv[i], word))
			return 1;
	return 0;
}

/* The number behind "word=", 0 where it is not asked for. */
static unsigned long number(int argc, char **argv, const char *word)
{
	for (int i = 2; i < argc; i++)
		if (!strncmp(argv[i], word, strlen(word)) && argv[i][strlen(word)] == '=')
			return strtoul(argv[i] + strlen(word) + 1, NULL, 10);
	return 0;
}

static unsigned long varied(unsigned long *seed)
{
	*seed = *seed * 6364136223846793005ul + 1442695040888963407ul;
	return *seed >> 61;
}

int main(int argc, char **argv)
{
	int launch = asked(argc, argv, "launch"), sync = asked(argc, argv, "sync"),
	    copy = asked(argc, argv, "copy"), alloc = asked(argc, argv, "alloc"),
	    warm = asked(argc, argv, "warm"), logs = asked(argc, argv, "log");
	unsigned long seed = number(argc, argv, "vary"), more_launches = 0;
	static char pageable[64];
	CUdeviceptr memory, more;
	CUstream stream;
	void *pinned;

	work_start();
	CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	CHECK(cuMemAlloc(&memory, 4096));
	CHECK(cuMemAllocHost(&pinned, 64));
	for (int i = 0; i < atoi(argv[1]); i++) {
		more_launches = seed ? varied(&seed) : 0;
		if (warm && i < 5)
			more_launches += 3;
		nvtxRangePushA("train_step");
		nvtxRangePushA("forward");
		for (unsigned long k = 0; k < 2 + more_launches + (unsigned)launch; k++)
			CHECK(work_launch(work_short, stream));
		nvtxRangePop();
		CHECK(cuMemcpyHtoDAsync(memory, pinned, 64, stream));
		if (copy)
			CHECK(cuMemcpyHtoDAsync(memory, pageable, 64, stream));
		if (alloc) {
			CHECK(cuMemAlloc(&more, 4096));
			CHECK(cuMemFree(more));
		}
		for (int k = 0; k < 1 + sync + (logs && i % 10 == 9); k++)
			CHECK(cuStreamSynchronize(stream));
		nvtxRangePop();
	}
	if (asked(argc, argv, "kill"))
		kill(getpid(), SIGKILL);
	CHECK(cuMemFreeHost(pinned));
	CHECK(cuMemFree(memory));
	return 0;
}
