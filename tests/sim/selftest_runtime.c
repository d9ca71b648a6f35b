/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the simulated libcudart against the simulated driver: exports, versions, registration,
 * launches, errors, and the drivers it may meet.  Both are found in LD_LIBRARY_PATH. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "tests/sim/selftest_runtime.h"

struct runtime runtimes[RUNTIMES] = {
        {.major = 11, .soname = "libcudart.so.11.0"},
        {.major = 12, .soname = "libcudart.so.12"},
        {.major = 13, .soname = "libcudart.so.13"},
};

/* The program's image, registered with each runtime as nvcc's constructors would. */
static const char image_text[] = "simcuda 1\n"
                                 "kernel first fixed:1000\n"
                                 "kernel second fixed:2000\n"
                                 "global table 64\n";
static struct {
	int magic, version;
	const void *data;
	void *unused;
} fatbin = {
        0x466243b1,
        1,
        image_text,
        NULL,
};
char first, second, absent, table;

void *function(struct runtime *rt, const char *name)
{
	void *p = dlsym(rt->lib, name);

	if (!p)
		fail_msg("%s lacks %s", rt->soname, name);
	return p;
}

static void register_image(struct runtime *rt)
{
	void **(*fat)(void *) = function(rt, "__cudaRegisterFatBinary");
	void (*end)(void **) = function(rt, "__cudaRegisterFatBinaryEnd");
	void (*kernel)(void **, const char *, char *, const char *, int, uint3 *, uint3 *, dim3 *,
	               dim3 *, int *) = function(rt, "__cudaRegisterFunction");
	void (*variable)(void **, char *, char *, const char *, int, size_t, int, int) =
	        function(rt, "__cudaRegisterVar");
	void **handle = fat(&fatbin);

	kernel(handle, &first, "first", "first", -1, NULL, NULL, NULL, NULL, NULL);
	kernel(handle, &second, "second", "second", -1, NULL, NULL, NULL, NULL, NULL);
	kernel(handle, &absent, "absent", "absent", -1, NULL, NULL, NULL, NULL, NULL);
	variable(handle, &table, "table", "table", 0, 64, 0, 0);
	end(handle);
}

static int open_all(void **state)
{
	for
		EACH(rt)
		{
			rt->lib = dlopen(rt->soname, RTLD_NOW | RTLD_LOCAL);
			if (!rt->lib)
				fail_msg("%s", dlerror());
#define RESOLVE(fn) rt->fn = function(rt, #fn);
			FUNCTIONS(RESOLVE)
#undef RESOLVE
			register_image(rt);
		}
	return 0;
}

static void every_export_has_its_librarys_version(void **state)
{
	for
		EACH(rt)
		{
			assert_ptr_equal(dlvsym(rt->lib, "cudaMalloc", rt->soname), rt->cudaMalloc);
			assert_non_null(dlvsym(rt->lib, "__cudaRegisterFatBinary", rt->soname));
		for
			EACH(other)
		if (other != rt)
			assert_null(dlvsym(rt->lib, "cudaMalloc", other->soname));
		/* Nothing of the inside is visible. */
		assert_null(dlsym(rt->lib, "rt_enter"));
		}
}

static void names_come_and_go_with_the_major(void **state)
{
	static const struct {
		const char *name;
		int first, last;
	} names[] = {
	        {"__cudaLaunchKernel", 12, 13},      {"__cudaLaunchKernel_ptsz", 12, 13},
	        {"__cudaGetKernel", 12, 13},         {"cudaGetDriverEntryPointByVersion", 12, 13},
	        {"cudaEventElapsedTime_v2", 12, 12}, {"cudaLaunchKernel_ptsz", 11, 13},
	        {"cudaMemcpy_ptds", 11, 13},         {"cudaMemcpyAsync_ptsz", 11, 13},
	        {"cudaGraphLaunch_ptsz", 11, 13},
	};

	for
		EACH(rt)
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if ((dlsym(rt->lib, names[i].name) != NULL) !=
		    (rt->major >= names[i].first && rt->major <= names[i].last))
			fail_msg("%s in %s", names[i].name, rt->soname);
}

static void versions_and_devices_are_told(void **state)
{
	for
		EACH(rt)
		{
			struct cudaDeviceProp properties;
			int version = 0, count = 0;

			assert_int_equal(rt->cudaRuntimeGetVersion(&version), cudaSuccess);
			assert_int_equal(version / 1000, rt->major);
			assert_int_equal(rt->cudaGetDeviceCount(&count), cudaSuccess);
			assert_true(count >= 1);
			assert_int_equal(rt->cudaGetDeviceProperties(&properties, 0), cudaSuccess);
			assert_memory_equal(properties.name, "Simulated GPU",
			                    strlen("Simulated GPU"));
			assert_true(properties.maxThreadsPerBlock >= 1024);
			assert_true(properties.totalGlobalMem > 0);
			assert_int_equal(rt->cudaGetDeviceProperties(&properties, count),
			                 cudaErrorInvalidDevice);
			assert_int_equal(rt->cudaSetDevice(count), cudaErrorInvalidDevice);
			assert_int_equal(rt->cudaGetLastError(), cudaErrorInvalidDevice);
		}
}

static void the_last_error_stays_until_read(void **state)
{
	for
		EACH(rt)
		{
			void *ptr = NULL;

			assert_int_equal(rt->cudaMalloc(&ptr, (size_t)1 << 50),
			                 cudaErrorMemoryAllocation);
			assert_null(ptr);
			assert_int_equal(rt->cudaDeviceSynchronize(), cudaSuccess);
			assert_int_equal(rt->cudaPeekAtLastError(), cudaErrorMemoryAllocation);
			assert_int_equal(rt->cudaGetLastError(), cudaErrorMemoryAllocation);
			assert_int_equal(rt->cudaGetLastError(), cudaSuccess);
			assert_string_equal(rt->cudaGetErrorName(cudaErrorMemoryAllocation),
			                    "cudaErrorMemoryAllocation");
			assert_true(strlen(rt->cudaGetErrorString(cudaErrorMemoryAllocation)) > 0);
			assert_string_equal(rt->cudaGetErrorName((cudaError_t)12345),
			                    "unrecognized error code");
		}
}

static void launches_reach_registered_kernels_only(void **state)
{
	dim3 one = {1, 1, 1}, many = {1 << 13, 1, 1};
	unsigned argument = 7;
	void *args[] = {&argument};

	for
		EACH(rt)
		{
			cudaLaunchConfig_t config = {.gridDim = one, .blockDim = one};

			assert_int_equal(rt->cudaLaunchKernel(&first, one, one, args, 0, NULL),
			                 cudaSuccess);
			assert_int_equal(rt->cudaLaunchKernelExC(&config, &second, args),
			                 cudaSuccess);
			assert_int_equal(
			        rt->cudaLaunchCooperativeKernel(&second, one, one, args, 0, NULL),
			        cudaSuccess);
			assert_int_equal(rt->cudaGetLastError(), cudaSuccess);
			assert_int_equal(rt->cudaLaunchKernel(args, one, one, args, 0, NULL),
			                 cudaErrorInvalidDeviceFunction);
			assert_int_equal(rt->cudaLaunchKernel(&absent, one, one, args, 0, NULL),
			                 cudaErrorInvalidDeviceFunction);
			assert_int_equal(rt->cudaLaunchKernel(&table, one, one, args, 0, NULL),
			                 cudaErrorInvalidDeviceFunction);
			assert_int_equal(rt->cudaLaunchKernel(&first, one, many, args, 0, NULL),
			                 cudaErrorInvalidConfiguration);
			assert_int_equal(rt->cudaGetLastError(), cudaErrorInvalidConfiguration);
			assert_int_equal(rt->cudaDeviceSynchronize(), cudaSuccess);
		}
}

static void brackets_leave_their_configuration_on_a_stack(void **state)
{
	for
		EACH(rt)
		{
			unsigned (*push)(dim3, dim3, size_t, struct CUstream_st *) =
			        function(rt, "__cudaPushCallConfiguration");
			cudaError_t (*pop)(dim3 *, dim3 *, size_t *, void *) =
			        function(rt, "__cudaPopCallConfiguration");
			dim3 grid = {2, 3, 4}, block = {5, 6, 7}, g, b;
			cudaStream_t stream = (cudaStream_t)&first, s;
			size_t bytes;

			assert_int_equal(pop(&g, &b, &bytes, &s), cudaErrorMissingConfiguration);
			assert_int_equal(push(grid, block, 8, stream), cudaSuccess);
			assert_int_equal(push(block, grid, 9, NULL), cudaSuccess);
			assert_int_equal(pop(&g, &b, &bytes, &s), cudaSuccess);
			assert_true(g.x == 5 && b.z == 4 && bytes == 9 && !s);
			assert_int_equal(pop(&g, &b, &bytes, &s), cudaSuccess);
			assert_true(g.y == 3 && b.x == 5 && bytes == 8 && s == stream);
			rt->cudaGetLastError();
		}
}

static void a_kernels_handle_launches_it(void **state)
{
	static const char *const forms[] = {"__cudaLaunchKernel", "__cudaLaunchKernel_ptsz"};
	dim3 one = {1, 1, 1};

	for
		EACH(rt)
		{
			cudaError_t (*get)(cudaKernel_t *, const void *) =
			        dlsym(rt->lib, "__cudaGetKernel");
			cudaKernel_t kernel = NULL, again = NULL;

			if (rt->major < 12)
				continue;
			assert_int_equal(get(&kernel, &first), cudaSuccess);
			assert_int_equal(get(&again, &first), cudaSuccess);
			assert_ptr_equal(kernel, again);
			for (int i = 0; i < 2; i++) {
				cudaError_t (*launch)(cudaKernel_t, dim3, dim3, void **, size_t,
				                      cudaStream_t) = function(rt, forms[i]);

				assert_int_equal(launch(kernel, one, one, NULL, 0, NULL),
				                 cudaSuccess);
				assert_int_equal(launch(NULL, one, one, NULL, 0, NULL),
				                 cudaErrorInvalidDeviceFunction);
			}
			rt->cudaGetLastError();
		}
}

static void attributes_of_kernels_are_known(void **state)
{
	for
		EACH(rt)
		{
			struct cudaFuncAttributes attributes;

			assert_int_equal(rt->cudaFuncGetAttributes(&attributes, &first),
			                 cudaSuccess);
			assert_true(attributes.maxThreadsPerBlock >= 1);
			assert_int_equal(rt->cudaFuncGetAttributes(&attributes, &table),
			                 cudaErrorInvalidDeviceFunction);
			rt->cudaGetLastError();
		}
}

/* Each kind of driver needs a process of its own: this program again, told to do little. */
static int run_little(void)
{
	dim3 one = {1, 1, 1};
	void *ptr;

	open_all(NULL);
	for
		EACH(rt)
		{
			cudaError_t (*launch_ptsz)(const void *, dim3, dim3, void **, size_t,
			                           cudaStream_t) =
			        function(rt, "cudaLaunchKernel_ptsz");
			cudaError_t rc = rt->cudaMalloc(&ptr, 64);

			rc = rc ? rc : rt->cudaLaunchKernel(&first, one, one, NULL, 0, NULL);
			rc = rc ? rc : launch_ptsz(&second, one, one, NULL, 0, NULL);
			rc = rc ? rc : rt->cudaDeviceSynchronize();
			rc = rc ? rc : rt->cudaFree(ptr);
			if (rc)
				return rc;
		}
	return 0;
}

/* A reset takes the device's context from every library in the process, so it has one for itself.
 */
static int run_reset(int major)
{
	dim3 one = {1, 1, 1};
	void *ptr;

	open_all(NULL);
	for
		EACH(rt)
		{
			cudaError_t rc = cudaSuccess;

			if (rt->major != major)
				continue;
			for (int i = 0; i < 2 && !rc; i++) {
				rc = rt->cudaMalloc(&ptr, 64);
				rc = rc ? rc
				        : rt->cudaLaunchKernel(&second, one, one, NULL, 0, NULL);
				rc = rc ? rc
				        : rt->cudaMemcpyToSymbol(&table, &one, sizeof(one), 0,
				                                 cudaMemcpyHostToDevice);
				rc = rc ? rc : rt->cudaDeviceSynchronize();
				rc = rc ? rc : rt->cudaDeviceReset();
			}
			if (rc)
				return rc;
			/* What was allocated before the reset went with it. */
			return rt->cudaFree(ptr) == cudaErrorInvalidValue ? 0 : 255;
		}
	return 255;
}

/* The exit status of a run with this variable set: an error's lowest 8 bits. */
static void assert_little_ends_with(cudaError_t expected, const char *variable, const char *value)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		setenv(variable, value, 1);
		execl("/proc/self/exe", "selftest_runtime", "little", NULL);
		_exit(127);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != (expected & 0xff))
		fail_msg("%s=%s: status %#x, expected %d", variable, value, status, expected);
}

/* The first use of an image may come in the middle of a capture, where loading is forbidden. */
static int run_capture(int major)
{
	dim3 one = {1, 1, 1};

	open_all(NULL);
	for
		EACH(rt)
		{
			cudaStream_t stream;
			cudaGraph_t graph;
			cudaError_t rc;

			if (rt->major != major)
				continue;
			rc = rt->cudaStreamCreate(&stream);
			rc = rc ? rc
			        : rt->cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
			rc = rc ? rc : rt->cudaLaunchKernel(&first, one, one, NULL, 0, stream);
			return rc ? rc : rt->cudaStreamEndCapture(stream, &graph);
		}
	return 255;
}

static void kernels_are_loaded_in_the_middle_of_a_capture(void **state)
{
	assert_little_ends_with(cudaSuccess, "SELFTEST_CAPTURE", "11");
	assert_little_ends_with(cudaSuccess, "SELFTEST_CAPTURE", "12");
	assert_little_ends_with(cudaSuccess, "SELFTEST_CAPTURE", "13");
}

static void a_reset_device_can_be_used_again(void **state)
{
	assert_little_ends_with(cudaSuccess, "SELFTEST_RESET", "11");
	assert_little_ends_with(cudaSuccess, "SELFTEST_RESET", "12");
	assert_little_ends_with(cudaSuccess, "SELFTEST_RESET", "13");
}

static void other_drivers_are_met_as_they_are(void **state)
{
	assert_little_ends_with(cudaSuccess, "SIM_STUB", "0");
	/* A stub library sends the runtime to plain symbols. */
	assert_little_ends_with(cudaSuccess, "SIM_STUB", "1");
	assert_little_ends_with(cudaErrorInsufficientDriver, "SIM_DRIVER_VERSION", "10020");
	assert_little_ends_with(cudaErrorNoDevice, "SIM_FAIL", "cuInit:100");
	assert_little_ends_with(cudaErrorLaunchFailure, "SIM_FAIL", "cuLaunchKernel:719");
}

/* A file that is no library ends the search for the driver, whatever else the machine has. */
static void a_driver_that_cannot_be_loaded_is_insufficient(void **state)
{
	char folder[] = "/tmp/selftest_runtime_XXXXXX", file[64], path[4096];
	FILE *empty;

	assert_non_null(mkdtemp(folder));
	snprintf(file, sizeof(file), "%s/libcuda.so.1", folder);
	snprintf(path, sizeof(path), "%s:%s", folder, getenv("LD_LIBRARY_PATH"));
	empty = fopen(file, "w");
	assert_non_null(empty);
	fclose(empty);
	assert_little_ends_with(cudaErrorInsufficientDriver, "LD_LIBRARY_PATH", path);
	unlink(file);
	rmdir(folder);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(every_export_has_its_librarys_version),
	        cmocka_unit_test(names_come_and_go_with_the_major),
	        cmocka_unit_test(other_drivers_are_met_as_they_are),
	        cmocka_unit_test(a_driver_that_cannot_be_loaded_is_insufficient),
	        cmocka_unit_test(versions_and_devices_are_told),
	        cmocka_unit_test(the_last_error_stays_until_read),
	        cmocka_unit_test(launches_reach_registered_kernels_only),
	        cmocka_unit_test(brackets_leave_their_configuration_on_a_stack),
	        cmocka_unit_test(a_kernels_handle_launches_it),
	        cmocka_unit_test(memory_keeps_what_is_copied_to_it),
	        cmocka_unit_test(pitched_copies_keep_their_rows),
	        cmocka_unit_test(variables_are_found_by_their_host_address),
	        cmocka_unit_test(graphs_are_built_updated_and_launched),
	        cmocka_unit_test(capture_makes_a_graph_and_runs_nothing),
	        cmocka_unit_test(events_measure_kernels),
	        cmocka_unit_test(attributes_of_kernels_are_known),
	        cmocka_unit_test(kernels_are_loaded_in_the_middle_of_a_capture),
	        cmocka_unit_test(a_reset_device_can_be_used_again),
	};

	if (argc > 1 && getenv("SELFTEST_RESET"))
		return run_reset(atoi(getenv("SELFTEST_RESET")));
	if (argc > 1 && getenv("SELFTEST_CAPTURE"))
		return run_capture(atoi(getenv("SELFTEST_CAPTURE")));
	if (argc > 1)
		return run_little();
	return cmocka_run_group_tests_name("sim_runtime", tests, open_all, NULL);
}
