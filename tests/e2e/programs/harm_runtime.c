/* SPDX-License-Identifier: Apache-2.0 */
/*
 * harm_runtime WAY ...: what matters most with the runtime between the program and the driver.
 *
 *   first THREADS LAUNCHES   the first call of the process, of each thread, all at once
 *   inside runtime|driver    a signal handler inside a launch of the runtime's launches by either
 *
 * Says what it called: what the driver saw of it are the runtime's own calls.
 */
#include <cuda_runtime_api.h>
#include "tests/e2e/programs/harm.h"

void **__cudaRegisterFatBinary(void *image);
void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
                            int limit, void *tid, void *bid, void *block, void *grid, int *warp);

static struct {
	int magic, version;
	const void *data;
	void *filename;
} fatbin = {0x466243b1, 1, "simcuda 1\nkernel kernel fixed:500\n", NULL};

/* Its address stands for the kernel, as nvcc's stub does. */
static void kernel(void)
{
}

static void __attribute__((constructor)) register_kernel(void)
{
	void **handle = __cudaRegisterFatBinary(&fatbin);

	__cudaRegisterFunction(handle, (const char *)kernel, "kernel", "kernel", -1, NULL, NULL,
	                       NULL, NULL, NULL);
	__cudaRegisterFatBinaryEnd(handle);
}

static void launch(unsigned count)
{
	const dim3 one = {1, 1, 1};

	for (unsigned i = 0; i < count; i++)
		need(!cudaLaunchKernel((const void *)kernel, one, one, NULL, 0, NULL), 98);
}

static unsigned launches, threads;
static atomic_uint ready;

static void *launch_together(void *unused)
{
	atomic_fetch_add(&ready, 1);
	while (atomic_load(&ready) < threads)
		;
	launch(launches);
	return unused;
}

static int way_first(int argc, char **argv)
{
	pthread_t thread[64];

	threads = (unsigned)atoi(argv[0]);
	launches = (unsigned)atoi(argv[1]);
	start_threads(thread, threads, launch_together, NULL);
	join_threads(thread, threads);
	say("made cudaLaunchKernel %u\n", threads * launches);
	return 0;
}

static bool by_driver;

static void launch_in_handler(int number)
{
	if (by_driver)
		CHECK(work_launch(work_short, NULL));
	else
		launch(1);
}

static void now_and_then(void)
{
	static unsigned calls;

	if (++calls % 10)
		return;
	harm_inside(HARM_LAUNCH, NULL);
	raise(SIGUSR1);
	harm_inside(HARM_LAUNCH, now_and_then);
}

static int way_inside(int argc, char **argv)
{
	by_driver = !strcmp(argv[0], "driver");
	on_signal(SIGUSR1, launch_in_handler, 0);
	launch(1);
	if (by_driver)
		work_start();
	harm_inside(HARM_LAUNCH, now_and_then);
	launch(1000);
	harm_inside(HARM_LAUNCH, NULL);
	say("made cudaLaunchKernel %u\n", by_driver ? 1001 : 1101);
	if (by_driver)
		say("made cuLaunchKernel 100\n");
	return 0;
}

int main(int argc, char **argv)
{
	static const struct harm_way ways[] = {
	        {"first", way_first},
	        {"inside", way_inside},
	        {NULL, NULL},
	};

	return harm_main(ways, argc, argv);
}
