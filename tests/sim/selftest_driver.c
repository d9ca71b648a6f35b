/* SPDX-License-Identifier: Apache-2.0 */
/* The simulated driver tested directly: handles, look-up, contexts, errors.  Times are only ever
 * checked from below, or exactly in the truth file, so a slow machine changes nothing. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "tests/sim/selftest_driver.h"

#define IMAGE                                                                                      \
	"simcuda 1\n"                                                                              \
	"kernel none fixed:0\nkernel ms20 fixed:20000000\nkernel ms300 fixed:300000000\n"          \
	"kernel scaled arg:1:1000000\nglobal table 64\n"

struct fixture fix;
static char truth_path[64];

uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

CUresult launch(CUfunction f, CUstream s)
{
	unsigned zero = 0, count = 1;
	void *params[] = {&zero, &count};

	return cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, s, params, NULL);
}

uint64_t truth_sum(size_t offset)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < fix.truth->threads_used; i++)
		sum += *(const uint64_t *)((const char *)&fix.truth->thread[i].total + offset);
	return sum;
}

static const struct truth_file *map_truth(void)
{
	int fd = open(truth_path, O_RDONLY);
	void *m = mmap(NULL, 64 << 20, PROT_READ, MAP_SHARED, fd, 0);

	close(fd);
	return m == MAP_FAILED ? NULL : m;
}

static void before_init(void **state)
{
	int version;
	CUcontext ctx;

	fails(CUDA_ERROR_NOT_INITIALIZED, cuCtxGetCurrent(&ctx));
	ok(cuDriverGetVersion(&version));
	assert_int_equal(version, 13000);
}

/* Comes before this process initialises, which a child of an initialised one could not. */
static void truth_survives_kill(void **state)
{
	const struct truth_file *t = NULL;
	uint64_t calls = 0, by_api = 0;
	int status;
	pid_t child = fork();

	if (child == 0) {
		CUcontext ctx;

		if (cuInit(0) || cuDevicePrimaryCtxRetain(&ctx, 0) || cuCtxSetCurrent(ctx))
			_exit(1);
		for (;;)
			cuCtxGetCurrent(&ctx);
	}
	for (int i = 0; i < 1000; i++) {
		t = map_truth();
		if (t && t->threads_used && t->thread[0].total.calls > 1000)
			break;
		usleep(10000);
	}
	kill(child, SIGKILL);
	waitpid(child, &status, 0);
	assert_true(WIFSIGNALED(status));
	unlink(truth_path);
	assert_non_null(t);
	assert_int_equal(t->pid, child);
	assert_true(t->magic == TRUTH_MAGIC && t->threads_used == 1);
	calls = t->thread[0].total.calls;
	for (unsigned i = 0; i < t->apis; i++)
		by_api += t->thread[0].api_calls[i];
	assert_true(calls > 1000);
	assert_true(by_api == calls || by_api == calls + 1);
}

static void init_and_set_up(void **state)
{
	CUdevice dev;
	char name[64];
	int major;

	ok(cuInit(0));
	fails(CUDA_ERROR_INVALID_VALUE, cuInit(1));
	ok(cuDeviceGet(&dev, 1));
	fails(CUDA_ERROR_INVALID_DEVICE, cuDeviceGet(&dev, 2));
	ok(cuDeviceGetName(name, sizeof(name), 0));
	assert_true(!strncmp(name, "Simulated GPU", 13));
	ok(cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0));
	assert_int_equal(major, 9);
	fails(CUDA_ERROR_INVALID_CONTEXT, cuCtxSynchronize());
	ok(cuDevicePrimaryCtxRetain(&fix.ctx, 0));
	ok(cuCtxSetCurrent(fix.ctx));
	ok(cuModuleLoadData(&fix.module, IMAGE));
	ok(cuModuleGetFunction(&fix.none, fix.module, "none"));
	ok(cuModuleGetFunction(&fix.ms20, fix.module, "ms20"));
	ok(cuModuleGetFunction(&fix.ms300, fix.module, "ms300"));
	ok(cuModuleGetFunction(&fix.scaled, fix.module, "scaled"));
	ok(cuStreamCreate(&fix.a, CU_STREAM_DEFAULT));
	ok(cuStreamCreate(&fix.b, CU_STREAM_DEFAULT));
	ok(cuStreamCreate(&fix.free, CU_STREAM_NON_BLOCKING));
	fix.truth = map_truth();
	assert_non_null(fix.truth);
}

static void child_is_refused(void **state)
{
	int status;
	pid_t child = fork();

	if (child == 0) {
		CUcontext ctx;

		_exit(cuInit(0) == CUDA_ERROR_NOT_INITIALIZED &&
		                      cuCtxGetCurrent(&ctx) == CUDA_ERROR_NOT_INITIALIZED &&
		                      launch(fix.none, fix.a) == CUDA_ERROR_NOT_INITIALIZED
		              ? 0
		              : 1);
	}
	waitpid(child, &status, 0);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	snprintf(truth_path + strlen(truth_path), 16, ".%d", child);
	unlink(truth_path);
	*strrchr(truth_path, '.') = 0;
	ok(launch(fix.none, fix.a));
}

static void invalid_handles(void **state)
{
	CUevent event;
	CUstream gone;
	CUfunction f;

	fails(CUDA_ERROR_INVALID_HANDLE,
	      cuLaunchKernel(NULL, 1, 1, 1, 1, 1, 1, 0, fix.a, NULL, NULL));
	fails(CUDA_ERROR_INVALID_HANDLE, launch((CUfunction)(uintptr_t)0x12345, fix.a));
	fails(CUDA_ERROR_INVALID_HANDLE, cuStreamSynchronize((CUstream)(uintptr_t)&event));
	fails(CUDA_ERROR_INVALID_HANDLE, cuEventQuery((CUevent)fix.a));
	ok(cuStreamCreate(&gone, CU_STREAM_DEFAULT));
	ok(cuStreamDestroy_v2(gone));
	fails(CUDA_ERROR_INVALID_HANDLE, cuStreamQuery(gone));
	fails(CUDA_ERROR_NOT_FOUND, cuModuleGetFunction(&f, fix.module, "nothing"));
	fails(CUDA_ERROR_INVALID_VALUE, cuModuleGetFunction(&f, fix.module, NULL));
	fails(CUDA_ERROR_INVALID_VALUE,
	      cuLaunchKernel(fix.none, 1, 1, 1, 1025, 1, 1, 0, fix.a, NULL, NULL));
	fails(CUDA_ERROR_INVALID_VALUE,
	      cuLaunchKernel(fix.none, 0, 1, 1, 1, 1, 1, 0, fix.a, NULL, NULL));
	fails(CUDA_ERROR_INVALID_VALUE,
	      cuLaunchKernel(fix.none, 1, 1, 1, 1, 1, 1, 300000, fix.a, NULL, NULL));
	fails(CUDA_ERROR_NOT_SUPPORTED, cuStreamWaitValue32_v2(fix.a, 0, 0, 0));
}

/* A place freed is handed out again at once: identities die with the module. */
static void handles_are_reused(void **state)
{
	CUmodule first, second;
	CUfunction f, g;
	const char *name;

	ok(cuModuleLoadData(&first, "simcuda 1\nkernel one fixed:1\n"));
	ok(cuModuleGetFunction(&f, first, "one"));
	ok(cuModuleUnload(first));
	fails(CUDA_ERROR_INVALID_HANDLE, launch(f, fix.a));
	ok(cuModuleLoadData(&second, "simcuda 1\nkernel two fixed:2\n"));
	ok(cuModuleGetFunction(&g, second, "two"));
	assert_ptr_equal(first, second);
	assert_ptr_equal(f, g);
	ok(cuFuncGetName(&name, g));
	assert_string_equal(name, "two");
	ok(cuModuleUnload(second));
}

static void libraries(void **state)
{
	CUlibrary library;
	CUkernel kernel, all[2];
	CUfunction f;
	const char *name;
	unsigned count;

	ok(cuLibraryLoadData(&library, "simcuda 1\nkernel x fixed:0\nkernel y fixed:0\n", NULL,
	                     NULL, 0, NULL, NULL, 0));
	ok(cuLibraryGetKernelCount(&count, library));
	assert_int_equal(count, 2);
	ok(cuLibraryEnumerateKernels(all, 2, library));
	ok(cuLibraryGetKernel(&kernel, library, "y"));
	assert_ptr_equal(kernel, all[1]);
	ok(cuKernelGetName(&name, kernel));
	assert_string_equal(name, "y");
	ok(cuKernelGetFunction(&f, kernel));
	assert_ptr_not_equal(f, kernel);
	ok(launch(f, fix.a));
	ok(launch((CUfunction)kernel, fix.a));
	fails(CUDA_ERROR_NOT_FOUND, cuLibraryGetKernel(&kernel, library, "z"));
	ok(cuLibraryUnload(library));
	ok(cuLibraryLoadData(&library, "\177ELF foreign", NULL, NULL, 0, NULL, NULL, 0));
	ok(cuLibraryGetKernel(&kernel, library, "any_name_at_all"));
	ok(launch((CUfunction)kernel, fix.a));
	ok(cuLibraryUnload(library));
}

static void *look_up(const char *name, int version, cuuint64_t flags, int expected)
{
	CUdriverProcAddressQueryResult status;
	void *p = &status;

	ok(cuGetProcAddress_v2(name, &p, version, flags, &status));
	assert_int_equal(status, expected);
	return p;
}

static void proc_address(void **state)
{
	CUdriverProcAddressQueryResult status;
	void *p;

	assert_ptr_equal(look_up("cuGetProcAddress", 11030, 0, 0), cuGetProcAddress);
	assert_ptr_equal(look_up("cuGetProcAddress", 11990, 0, 0), cuGetProcAddress);
	assert_ptr_equal(look_up("cuGetProcAddress", 12000, 0, 0), cuGetProcAddress_v2);
	assert_ptr_equal(look_up("cuGetProcAddress", 13000, 0, 0), cuGetProcAddress_v2);
	assert_ptr_equal(look_up("cuMemAlloc", 2000, 0, 0), cuMemAlloc);
	assert_ptr_equal(look_up("cuMemAlloc", 3020, 0, 0), cuMemAlloc_v2);
	assert_ptr_equal(look_up("cuLaunchKernel", 4000, 0, 0), cuLaunchKernel);
	assert_ptr_equal(look_up("cuLaunchKernel", 13000, 1, 0), cuLaunchKernel);
	assert_ptr_equal(look_up("cuLaunchKernel", 7000, 2, 0), cuLaunchKernel_ptsz);
	assert_ptr_equal(look_up("cuMemcpyHtoD", 7000, 2, 0), cuMemcpyHtoD_v2_ptds);
	assert_ptr_equal(look_up("cuMemcpyHtoD", 3020, 2, 0), cuMemcpyHtoD_v2);
	assert_ptr_equal(look_up("cuStreamBeginCapture", 10000, 2, 0), cuStreamBeginCapture_ptsz);
	assert_ptr_equal(look_up("cuStreamBeginCapture", 10010, 0, 0), cuStreamBeginCapture_v2);
	assert_ptr_equal(look_up("cuGraphInstantiate", 11000, 0, 0), cuGraphInstantiate_v2);
	assert_ptr_equal(look_up("cuMemcpyBatchAsync", 12080, 2, 0), cuMemcpyBatchAsync_ptsz);
	assert_ptr_equal(look_up("cuMemcpyBatchAsync", 13000, 2, 0), cuMemcpyBatchAsync_v2_ptsz);
	assert_ptr_equal(look_up("cuCtxSynchronize", 12090, 0, 0), cuCtxSynchronize);
	assert_ptr_equal(look_up("cuCtxSynchronize", 13000, 0, 0), cuCtxSynchronize_v2);
	assert_null(look_up("cuLaunchKernel", 3000, 0, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT));
	assert_null(look_up("cuNothing", 13000, 0, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND));
	assert_null(look_up("cuFutureLaunch", 13000, 0, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND));
	assert_null(look_up("cuArrayGetPlane", 13000, 0, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND));
	fails(CUDA_ERROR_NOT_FOUND, cuGetProcAddress_v2("", &p, 0, 0, NULL));
	fails(CUDA_ERROR_INVALID_VALUE, cuGetProcAddress_v2("cuInit", &p, 99000, 0, &status));
	fails(CUDA_ERROR_INVALID_VALUE, cuGetProcAddress_v2("cuInit", &p, 13000, 3, &status));
	fails(CUDA_ERROR_INVALID_VALUE, cuGetProcAddress_v2("cuInit", NULL, 13000, 0, &status));
	fails(CUDA_ERROR_NOT_FOUND, cuGetProcAddress("cuNothing", &p, 13000, 0));
	assert_null(p);
}

static void failures_on_request(void **state)
{
	CUdeviceptr d;
	size_t pitch;

	ok(cuMemAllocPitch_v2(&d, &pitch, 100, 2, 4));
	ok(cuMemFree_v2(d));
	fails(719, cuMemAllocPitch_v2(&d, &pitch, 100, 2, 4));
	ok(cuMemAllocPitch_v2(&d, &pitch, 100, 2, 4));
	ok(cuMemFree_v2(d));
}

static void contexts(void **state)
{
	CUcontext second, current, popped;
	CUdeviceptr d;
	CUdevice dev;
	size_t before, after, total;
	int active;
	unsigned flags;

	ok(cuCtxCreate_v2(&second, 0, 1));
	ok(cuCtxGetCurrent(&current));
	assert_ptr_equal(current, second);
	ok(cuCtxGetDevice(&dev));
	assert_int_equal(dev, 1);
	ok(cuMemGetInfo_v2(&before, &total));
	ok(cuMemAlloc_v2(&d, 1 << 20));
	ok(cuMemGetInfo_v2(&after, &total));
	assert_true(after + (1 << 20) <= before);
	ok(cuCtxEnablePeerAccess(fix.ctx, 0));
	fails(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, cuCtxEnablePeerAccess(fix.ctx, 0));
	ok(cuCtxDisablePeerAccess(fix.ctx));
	fails(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, cuCtxDisablePeerAccess(fix.ctx));
	ok(cuCtxPushCurrent_v2(fix.ctx));
	fails(CUDA_ERROR_INVALID_HANDLE, cuEventRecord((CUevent)second, NULL));
	ok(cuCtxPopCurrent_v2(&popped));
	assert_ptr_equal(popped, fix.ctx);
	ok(cuCtxDestroy_v2(second));
	fails(CUDA_ERROR_INVALID_CONTEXT, cuCtxPushCurrent_v2(second));
	ok(cuCtxGetCurrent(&current));
	assert_ptr_equal(current, fix.ctx);
	fails(CUDA_ERROR_INVALID_VALUE, cuMemFree_v2(d));
	ok(cuDevicePrimaryCtxGetState(0, &flags, &active));
	assert_int_equal(active, 1);
	fails(CUDA_ERROR_INVALID_CONTEXT, cuDevicePrimaryCtxRelease_v2(1));
}

/* Other ways to be: each in a process of its own, told by its argument. */
static int variant(const char *what)
{
	CUdriverProcAddressQueryResult status;
	CUcontext ctx;
	void *p = NULL;

	if (!strcmp(what, "SIM_STUB=1"))
		return cuGetProcAddress_v2("", &p, 0, 0, NULL) != CUDA_ERROR_STUB_LIBRARY;
	if (!strcmp(what, "SIM_FAIL=cuInit:100"))
		return cuInit(0) != CUDA_ERROR_NO_DEVICE ||
		       cuCtxGetCurrent(&ctx) != CUDA_ERROR_NOT_INITIALIZED;
	if (!strcmp(what, "SIM_DEVICES=0"))
		return cuInit(0) != CUDA_ERROR_NO_DEVICE;
	if (!strcmp(what, "SIM_NEW_ENTRY=1"))
		return cuInit(0) || cuGetProcAddress_v2("cuFutureLaunch", &p, 14000, 0, &status) ||
		       !p || cuGetProcAddress_v2("cuFutureLaunch", &p, 13000, 0, &status) || p ||
		       status != CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
	if (!strcmp(what, "SIM_DRIVER_DLSYM=1")) /* this program exports a cuCtxGetFlags */
		return cuInit(0) || cuGetProcAddress_v2("cuCtxGetFlags", &p, 13000, 0, &status) ||
		       p != (void *)cuCtxGetFlags ||
		       cuGetProcAddress_v2("cuCtxGetId", &p, 13000, 0, &status) ||
		       p != (void *)cuCtxGetId;
	return 1;
}

/* Stands before the driver's own in the process; SIM_DRIVER_DLSYM must find this one. */
__attribute__((visibility("default"))) CUresult cuCtxGetFlags(unsigned int *flags)
{
	return CUDA_ERROR_UNKNOWN;
}

static void variants(void **state)
{
	static const char *const all[] = {"SIM_STUB=1", "SIM_FAIL=cuInit:100", "SIM_DEVICES=0",
	                                  "SIM_NEW_ENTRY=1", "SIM_DRIVER_DLSYM=1"};
	CUdriverProcAddressQueryResult status;
	void *own;

	for (unsigned i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		char name[64], *equals;
		int result;
		pid_t child;

		snprintf(name, sizeof(name), "%s", all[i]);
		equals = strchr(name, '=');
		*equals = 0;
		child = fork();
		if (child == 0) {
			unsetenv("SIM_TRUTH");
			unsetenv("SIM_FAIL");
			setenv(name, equals + 1, 1);
			execl("/proc/self/exe", "selftest_driver", all[i], (char *)NULL);
			_exit(126);
		}
		waitpid(child, &result, 0);
		if (!WIFEXITED(result) || WEXITSTATUS(result))
			fail_msg("%s: status %#x", all[i], (unsigned)result);
	}
	ok(cuGetProcAddress_v2("cuCtxGetFlags", &own, 13000, 0, &status));
	assert_ptr_not_equal(own, cuCtxGetFlags); /* the driver's own, whoever stands before it */
}

static const struct CMUnitTest basic_tests[] = {
        cmocka_unit_test(truth_survives_kill),
        cmocka_unit_test(before_init),
        cmocka_unit_test(init_and_set_up),
        cmocka_unit_test(child_is_refused),
        cmocka_unit_test(invalid_handles),
        cmocka_unit_test(handles_are_reused),
        cmocka_unit_test(libraries),
        cmocka_unit_test(proc_address),
        cmocka_unit_test(failures_on_request),
        cmocka_unit_test(contexts),
        cmocka_unit_test(variants),
};

int main(int argc, char **argv)
{
	int failed;

	if (argc > 1)
		return variant(argv[1]);
	snprintf(truth_path, sizeof(truth_path), "/tmp/simtruth.%d", (int)getpid());
	setenv("SIM_TRUTH", truth_path, 1);
	setenv("SIM_DEVICES", "2", 1);
	setenv("SIM_QUEUE", "8", 1);
	setenv("SIM_PCIE_GBPS", "1", 1);
	setenv("SIM_COST", "0", 1);
	setenv("SIM_DATA_MIB", "64", 1);
	setenv("SIM_MISSING", "cuArrayGetPlane", 1);
	setenv("SIM_FAIL", "cuMemAllocPitch:719:2", 1);
	failed = cmocka_run_group_tests_name("driver", basic_tests, NULL, NULL);
	failed += _cmocka_run_group_tests("driver memory", memory_tests, memory_count, NULL, NULL);
	failed += _cmocka_run_group_tests("driver time", time_tests, time_count, NULL, NULL);
	failed += _cmocka_run_group_tests("driver graph", graph_tests, graph_count, NULL, NULL);
	unlink(truth_path);
	return failed;
}
