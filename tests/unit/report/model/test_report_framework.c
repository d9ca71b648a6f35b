/* SPDX-License-Identifier: Apache-2.0 */
/* Which framework a program uses, by its stacks, its kernels' names and its libraries. */
#include <math.h>

#include "report/model/framework.h"
#include "report/model/model.h"
#include "tests/unit/unit.h"

#define PACKAGES "/opt/venv/lib/python3.12/site-packages/"

static struct model_frame python(const char *file, bool foreign)
{
	return (struct model_frame){.python = true, .foreign = foreign, .file = file, .line = 1};
}

static struct model_frame native(const char *module, bool foreign)
{
	return (struct model_frame){.foreign = foreign, .module = module};
}

/* A stack of a library's frame below one of the program's. */
static enum framework of_stack(struct model_frame inner)
{
	struct model_frame frames[] = {inner, python("/home/me/train.py", false)};
	struct model_site site = {
	        .kind = SITE_LAUNCH, .api_time = 10, .frames = frames, .frame_count = 2};
	struct model m = {.sites = {.items = &site, .count = 1}};

	return framework_of(&m);
}

static void test_stacks(void **state)
{
	assert_int_equal(of_stack(native(PACKAGES "torch/lib/libtorch_cuda.so", true)),
	                 FRAMEWORK_PYTORCH);
	assert_int_equal(of_stack(native("/usr/lib/libtorch_cuda.so", true)), FRAMEWORK_PYTORCH);
	assert_int_equal(
	        of_stack(native(PACKAGES "jax_plugins/xla_cuda13/xla_cuda_plugin.so", true)),
	        FRAMEWORK_JAX);
	assert_int_equal(of_stack(native(PACKAGES "cupy_backends/cuda/api/driver.so", true)),
	                 FRAMEWORK_CUPY);
	assert_int_equal(of_stack(python(PACKAGES "numba_cuda/numba/cuda/dispatcher.py", true)),
	                 FRAMEWORK_NUMBA);
	assert_int_equal(of_stack(python("/usr/lib/python3/dist-packages/numba/cuda/api.py", true)),
	                 FRAMEWORK_NUMBA);
	assert_int_equal(of_stack(native(PACKAGES "nvidia/cu13/lib/libcublas.so.13", true)),
	                 FRAMEWORK_NONE);
}

/* Of several the one that most of the work comes from; none where none has more than half, or the
 * program's own code has. */
static void test_several(void **state)
{
	struct model_frame torch[] = {native(PACKAGES "torch/lib/libtorch_cuda.so", true)},
	                   cupy[] = {native(PACKAGES "cupy/_core/core.so", true),
	                             native(PACKAGES "torch/lib/libtorch_cuda.so", true)},
	                   own[] = {native("/home/me/solver", false)},
	                   nobody[] = {native("/usr/lib/libcuda.so.1", true)};
	struct model_site sites[] = {
	        {.kind = SITE_LAUNCH, .api_time = 6, .frames = cupy, .frame_count = 2},
	        {.kind = SITE_COPY, .api_time = 5, .frames = torch, .frame_count = 1},
	        {.kind = SITE_WAIT, .api_time = 99, .frames = torch, .frame_count = 1},
	        {.kind = SITE_LAUNCH, .api_time = 99, .frames = nobody, .frame_count = 1},
	        {.kind = SITE_LAUNCH, .api_time = 2, .frames = own, .frame_count = 1}};
	struct model m = {.sites = {.items = sites, .count = 4}};

	assert_int_equal(framework_of(&m), FRAMEWORK_CUPY);
	m.sites.count = 5;
	assert_int_equal(framework_of(&m), FRAMEWORK_NONE);
	sites[4].api_time = 50;
	assert_int_equal(framework_of(&m), FRAMEWORK_NONE);
}

/* XLA makes kernels by Triton too; without stacks only. */
static void test_kernels(void **state)
{
	struct model_kernel kernels[] = {{.name = "triton_softmax_1_0", .launches = 99},
	                                 {.name = "stream_executor::gpu::Redzone", .launches = 1}};
	struct model m = {.kernels = kernels, .kernel_count = 2};

	assert_int_equal(framework_of(&m), FRAMEWORK_JAX);
	kernels[1].name = "void at::native::fill(int)";
	assert_int_equal(framework_of(&m), FRAMEWORK_PYTORCH);
	kernels[1].name = "__main__::tick[abi:v1][abi:cw51](Array<float>)";
	assert_int_equal(framework_of(&m), FRAMEWORK_NUMBA);
	kernels[0] = (struct model_kernel){.name = "cupy_add", .graph_launches = 2};
	assert_int_equal(framework_of(&m), FRAMEWORK_CUPY);
	kernels[0].name = kernels[1].name = "step[abi:cxx11](float*)";
	assert_int_equal(framework_of(&m), FRAMEWORK_NONE);
}

static void test_libraries(void **state)
{
	struct model_library libraries[] = {
	        {.path = "/usr/lib/libcuda.so.1"},
	        {.path = PACKAGES "jax_cuda13_plugin/../nvidia/cu13/lib/libcudart.so.13"},
	        {.path = PACKAGES "torch/lib/libtorch.so"}};
	struct model_process process = {.libraries = libraries, .library_count = 2};
	struct model m = {.processes = &process, .process_count = 1};

	assert_int_equal(framework_of(&m), FRAMEWORK_JAX);
	process.library_count = 3;
	assert_int_equal(framework_of(&m), FRAMEWORK_NONE);
	process.library_count = 1;
	assert_int_equal(framework_of(&m), FRAMEWORK_NONE);
}

/* Whose stack goes through an optimizer's code, and not through a file of another kind that is
 * named so. */
static void test_optimizers(void **state)
{
	static const struct {
		const char *file;
		bool is;
	} files[] = {{PACKAGES "torch/optim/adamw.py", true},
	             {PACKAGES "optax/_src/transform.py", true},
	             {"/home/me/optimizers.py", true},
	             {PACKAGES "torch/nn/functional.py", false},
	             {"/home/me/best_optimum.py", false}};

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		struct model_frame frames[] = {native(PACKAGES "torch/lib/libtorch_cuda.so", true),
		                               python(files[i].file, true),
		                               python("/home/me/train.py", false)};
		struct model_site site = {.kind = SITE_LAUNCH, .frames = frames, .frame_count = 3};
		assert_int_equal(framework_is_optimizers(&site), files[i].is);
		site.frame_count = 1; /* no frame of Python's */
		assert_false(framework_is_optimizers(&site));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_stacks), cmocka_unit_test(test_several),
	        cmocka_unit_test(test_kernels), cmocka_unit_test(test_libraries),
	        cmocka_unit_test(test_optimizers)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
