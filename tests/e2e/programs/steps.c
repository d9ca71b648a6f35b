/*
 * steps N [launch|sync|copy|alloc|kill]...: N steps of two launches, a pinned copy and one wait,
 * and in each step one more of what is named; "kill" ends it by SIGKILL before it is done.
 */
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

int main(int argc, char **argv)
{
	int launch = asked(argc, argv, "launch"), sync = asked(argc, argv, "sync"),
	    copy = asked(argc, argv, "copy"), alloc = asked(argc, argv, "alloc");
	static char pageable[64];
	CUdeviceptr memory, more;
	CUstream stream;
	void *pinned;

	work_start();
	CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	CHECK(cuMemAlloc(&memory, 4096));
	CHECK(cuMemAllocHost(&pinned, 64));
	for (int i = 0; i < atoi(argv[1]); i++) {
		for (int k = 0; k < 2 + launch; k++)
			CHECK(work_launch(work_short, stream));
		CHECK(cuMemcpyHtoDAsync(memory, pinned, 64, stream));
		if (copy)
			CHECK(cuMemcpyHtoDAsync(memory, pageable, 64, stream));
		if (alloc) {
			CHECK(cuMemAlloc(&more, 4096));
			CHECK(cuMemFree(more));
		}
		for (int k = 0; k < 1 + sync; k++)
			CHECK(cuStreamSynchronize(stream));
	}
	if (asked(argc, argv, "kill"))
		kill(getpid(), SIGKILL);
	CHECK(cuMemFreeHost(pinned));
	CHECK(cuMemFree(memory));
	return 0;
}
