/* SPDX-License-Identifier: Apache-2.0 */
/* Names that tables show, of kernels as frameworks and libraries have them: mangled by their
 * compilers. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/names.h"
#include "report/base/text_table.h"
#include "tests/unit/unit.h"

struct named {
	const char *mangled, *shown;
};

#define VECTORIZED "_ZN2at6native29vectorized_elementwise_kernelILi"
#define TWO        "_ZN2at6native18elementwise_kernelILi128ELi"

static char **shown(const struct named *names, size_t count)
{
	char **full = calloc(count, sizeof(*full)), **brief = calloc(count, sizeof(*brief));

	for (size_t i = 0; i < count; i++)
		full[i] = name_demangle(names[i].mangled, strlen(names[i].mangled));
	name_short_all((const char *const *)full, brief, count);
	for (size_t i = 0; i < count; i++)
		free(full[i]);
	free(full);
	return brief;
}

static void check(const struct named *names, size_t count)
{
	char **brief = shown(names, count);

	for (size_t i = 0; i < count; i++) {
		assert_string_equal(brief[i], names[i].shown);
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(brief[i], brief[k]);
	}
	for (size_t i = 0; i < count; i++)
		free(brief[i]);
	free(brief);
}
#define CHECK(names) check(names, sizeof(names) / sizeof((names)[0]))

static void test_pytorch(void **state)
{
	static const struct named names[] = {
	        {VECTORIZED "4ENS0_15CUDAFunctor_addIfEESt5arrayIPcLm3EEEEviT0_T1_",
	         "at::native::vectorized_elementwise_kernel<CUDAFunctor_add<float>>"},
	        {VECTORIZED "4ENS0_11FillFunctorIfEESt5arrayIPcLm1EEEEviT0_T1_",
	         "at::native::vectorized_elementwise_kernel<FillFunctor<float>>"},
	        {VECTORIZED "4ENS0_11FillFunctorIN3c108BFloat16EEESt5arrayIPcLm1EEEEviT0_T1_",
	         "at::native::vectorized_elementwise_kernel<FillFunctor<BFloat16>>"},
	        {VECTORIZED
	         "4ENS0_13AUnaryFunctorIN3c104HalfES4_S4_NS0_15binary_internal10MulFunctorI"
	         "fEEEESt5arrayIPcLm2EEEEviT0_T1_",
	         "at::native::vectorized_elementwise_kernel<MulFunctor<float>>"},
	        {VECTORIZED
	         "4EZZZNS0_18GeluCUDAKernelImplERNS_18TensorIteratorBaseENS0_8GeluTypeEENKUlvE0_"
	         "clEvENKUlvE2_clEvEUlN3c108BFloat16EE_NS_6detail5ArrayIPcLi2EEEEEviT0_T1_",
	         "at::native::vectorized_elementwise_kernel<GeluCUDAKernelImpl(BFloat16)>"},
	        {TWO
	         "2EZNS0_22gpu_kernel_impl_nocastIZZZNS0_23direct_copy_kernel_cudaERNS_18TensorIt"
	         "eratorBaseEENKUlvE1_clEvENKUlvE5_clEvEUlfE_EEvS4_RKT_EUliE_EEviT1_",
	         "at::native::elementwise_kernel<direct_copy(float)>"},
	        {TWO
	         "4EZNS0_22gpu_kernel_impl_nocastIZZZNS0_23direct_copy_kernel_cudaERNS_18TensorIt"
	         "eratorBaseEENKUlvE1_clEvENKUlvE10_clEvEUlN3c108BFloat16EE_EEvS4_RKT_EUliE_"
	         "EEviT1_",
	         "at::native::elementwise_kernel<direct_copy(BFloat16)>"},
	        {"_ZN2at6native13reduce_kernelILi512ELi1ENS0_8ReduceOpIfNS0_"
	         "7MeanOpsIffEEjfLi4EEEEEvT1_",
	         "at::native::reduce_kernel<MeanOps<float, float>>"},
	        {"_ZN2at6native13reduce_kernelILi128ELi4ENS0_8ReduceOpIfNS0_14func_wrapper_tIfZNS0_"
	         "11su"
	         "m_functorIfffEclERNS_14TensorIteratorEEUlffE_EEjfLi4ELi4EEEEEvT1_",
	         "at::native::reduce_kernel<sum_functor<float, float, float>>"},
	        {"_ZN2at6native43_GLOBAL__N__b6de9c8c_10_SoftMax_cu_9f978f6319cunn_"
	         "SoftMaxForwardILi8EN"
	         "3c104HalfEfS4_NS1_22SoftMaxForwardEpilogueEEEvPT2_PKT0_i",
	         "at::native::(anon)::cunn_SoftMaxForward<...>"},
	};

	CHECK(names);
}

/* Of the same operation: what else differs. */
static void test_alike(void **state)
{
	static const struct named names[] = {
	        {VECTORIZED "4ENS0_15CUDAFunctor_addIfEESt5arrayIPcLm3EEEEviT0_T1_",
	         "at::native::vectorized_elementwise_kernel<4, CUDAFunctor_add<float>, ...>"},
	        {VECTORIZED "2ENS0_15CUDAFunctor_addIfEESt5arrayIPcLm3EEEEviT0_T1_",
	         "at::native::vectorized_elementwise_kernel<2, CUDAFunctor_add<float>, ...>"},
	        {TWO
	         "2EZNS0_22gpu_kernel_impl_nocastIZZZNS0_23direct_copy_kernel_cudaERNS_18TensorIt"
	         "eratorBaseEENKUlvE1_clEvENKUlvE5_clEvEUlfE_EEvS4_RKT_EUliE_EEviT1_",
	         "at::native::elementwise_kernel<..., 2, direct_copy(float)>"},
	        {TWO
	         "4EZNS0_22gpu_kernel_impl_nocastIZZZNS0_23direct_copy_kernel_cudaERNS_18TensorIt"
	         "eratorBaseEENKUlvE1_clEvENKUlvE5_clEvEUlfE_EEvS4_RKT_EUliE_EEviT1_",
	         "at::native::elementwise_kernel<..., 4, direct_copy(float)>"},
	        {"_ZN4vllm15rms_norm_kernelIN3c104HalfEEEvPT_PKS3_S6_fii",
	         "vllm::rms_norm_kernel<Half>"},
	        {"_ZN4vllm15rms_norm_kernelIN3c108BFloat16EEEvPT_PKS3_S6_fii",
	         "vllm::rms_norm_kernel<BFloat16>"},
	        {"_Z1fIiLi1EfEvT_", "f<..., 1, ...>"},
	        {"_Z1fIiLi2EfEvT_", "f<..., 2, ...>"},
	        {"_Z1hILi1EfEvT0_", "h<1, ...>"}, /* what differs is shorter than "..." */
	        {"_Z1hILi2EfEvT0_", "h<2, ...>"},
	        {"_Z1gi", "g(int)"}, /* overloads: nothing but their parameters differs */
	        {"_Z1gf", "g(float)"},
	};

	CHECK(names);
}

static void test_libraries(void **state)
{
	static const struct named names[] = {
	        {"_ZN7cutlass7Kernel2I66cutlass_80_wmma_tensorop_f16_s161616gemm_f16_16x16_128x1_"
	         "tn_ali"
	         "gn8EEvNT_6ParamsE",
	         "cutlass::Kernel2<cutlass_80_wmma_tensorop_f16_s161616gemm_f16_16x16_128x1_tn_"
	         "align8>"},
	        {"_ZN7cutlass7Kernel2I43cutlass_80_simt_sgemm_256x128_8x4_nn_align1EEvNT_6ParamsE",
	         "cutlass::Kernel2<cutlass_80_simt_sgemm_256x128_8x4_nn_align1>"},
	        {"ampere_sgemm_128x64_tn", "ampere_sgemm_128x64_tn"},
	        {"nvjet_tst_128x64_64x8_1x2_v_bz_TNN", "nvjet_tst_128x64_64x8_1x2_v_bz_TNN"},
	        {"triton_red_fused_div_mm_21", "triton_red_fused_div_mm_21"},
	        {"triton_poi_fused_add_0", "triton_poi_fused_add_0"},
	        {"loop_multiply_fusion_3", "loop_multiply_fusion_3"},
	        {"input_reduce_fusion", "input_reduce_fusion"},
	        {"_Z19kernel_trsm_l_mul32IfLi8ELb1ELb1ELb0ELb0EEviiPKT_S2_iPS0_iS0_i",
	         "kernel_trsm_l_mul32<...>"},
	};

	CHECK(names);
}

#define ARRAY(type) "5ArrayI" type "Li2E1C7mutable7alignedE"

/* Numba puts a number and a hash of the types behind the function's name, as ABI tags. */
static void test_numba(void **state)
{
	static const struct named names[] = {
	        {"_ZN8__main__7blurredB2v3B8cw51cXTLE" ARRAY("f"), "__main__::blurred"},
	        {"_ZN8__main__6summedB2v5B8cw51cXTLE" ARRAY("f"),
	         "__main__::summed(Array<float, 2, C, mutable, aligned>)"},
	        {"_ZN8__main__6summedB2v6B8cw51cXTLE" ARRAY("d"),
	         "__main__::summed(Array<double, 2, C, mutable, aligned>)"},
	        {"_ZN8__main__4sameB2v7B8cw51cXTLE" ARRAY("f"),
	         "__main__::same[abi:v7][abi:cw51cXTL](Array<float, 2, C, mutable, aligned>)"},
	        {"_ZN8__main__4sameB2v8B8cw51cXTLE" ARRAY("f"),
	         "__main__::same[abi:v8][abi:cw51cXTL](Array<float, 2, C, mutable, aligned>)"},
	};

	CHECK(names);
}

/* Names of no compiler. */
static void test_odd(void **state)
{
	static const char *const all[] = {"k<aaaaaaa, 1>(int)",
	                                  "k<aaaaaaa, 2>(int)",
	                                  "k<..., 2>",
	                                  "k<aaaaaaa, 2>(int)",
	                                  "<(<",
	                                  "F<Functor<",
	                                  "k[abi:(int)",
	                                  "k[abi:]](int)"};
	char *brief[8];

	name_short_all(all, brief, 8);
	for (size_t i = 0; i < 8; i++)
		for (size_t k = 0; k < i; k++)
			if (strcmp(all[i], all[k]))
				assert_string_not_equal(brief[i], brief[k]);
	for (size_t i = 0; i < 8; i++)
		free(brief[i]);
	name_short_all(NULL, NULL, 0);
}

/* A page too narrow for names that differ in their middles shows these whole, on several lines. */
static void test_narrow(void **state)
{
	static const struct text_layout_column columns[] = {{"n", false}, {"kernel", true}};
	static const char *const rows[] = {
	        "one_that_is_much_too_long_for_a_page_like_this_one_and_ends",
	        "two_that_is_4_much_too_long_for_this_one_and_ends_so",
	        "two_that_is_8_much_too_long_for_this_one_and_ends_so",
	        "two_that_is_8_much_too_long_for_this_one_and_ends_so"};
	struct text_layout_table t;
	char *text = NULL;
	size_t bytes;
	struct text_layout page = {.to = open_memstream(&text, &bytes), .width = 20};

	table_start(&t, columns, 2);
	for (size_t i = 0; i < 4; i++) {
		table_cell(&t, "%zu", i);
		table_cell(&t, "%s", rows[i]);
	}
	table_print(&t, &page);
	fclose(page.to);
	assert_null(strstr(text, rows[0]));
	assert_non_null(strstr(text, "  1 two_that_is_4_mu\n    ch_too_long_for_\n"
	                             "    this_one_and_end\n    s_so\n"));
	assert_non_null(strstr(text, "  3 two_that_is_8_mu\n    ch_too"));
	free(text);
}

/* cuDNN's convolutions, by CUTLASS: 1,636 bytes, 10,000 as their programmer wrote them. libstdc++'s
 * demangler, which stands in where libiberty is not installed, gives such names up. */
extern int cplus_demangle_v3_callback(const char *, int, void (*)(const char *, size_t, void *),
                                      void *) __attribute__((weak));

static void test_cutlass(void **state)
{
	static const char name[] =
	        "_ZN17cutlass__5x_cudnn6KernelINS_4conv6kernel23ImplicitGemmConvolutionINS1_11thr"
	        "eadblock22ImplicitGemmMultistageINS_4gemm9GemmShapeILi64ELi64ELi32EEENS4_52Conv2"
	        "dWgradOutputGradientTileAccessIteratorOptimizedINS_11MatrixShapeILi64ELi32EEENS_"
	        "10tfloat32_tENS_9transform29PitchLinearWarpRakedThreadMapINS_16PitchLinearShapeI"
	        "Li64ELi32EEELi128ENSF_ILi8ELi4EEELi4EEENS_12AlignedArrayISC_Li4ELi16EEEEENSD_11t"
	        "hreadblock25RegularTileAccessIteratorISB_SC_NS_6layout40ColumnMajorTensorOpMulti"
	        "plicandCongruousILi32ELi32EEELi1ESI_Li16EEELNS_4arch14CacheOperation4KindE0ENS4_"
	        "48Conv2dWgradActivationTileAccessIteratorOptimizedINSA_ILi32ELi64EEESC_SI_SK_EEN"
	        "SN_ISW_SC_NSO_37RowMajorTensorOpMultiplicandCongruousILi32ELi32EEELi0ESI_Li16EEE"
	        "LSU_0ENS6_11threadblock9MmaPolicyINS6_4warp11MmaTensorOpINS7_ILi32ELi32ELi32EEES"
	        "C_SQ_SC_SZ_fNSO_8RowMajorENS13_17MmaTensorOpPolicyINSS_3MmaINS7_ILi16ELi8ELi8EEE"
	        "Li32ESC_S16_SC_NSO_11ColumnMajorEfS16_NSS_13OpMultiplyAddEEENSA_ILi1ELi1EEEEELi1"
	        "ELb0EbEENSA_ILi0ELi0EEES1G_Li1EEELi5EbEENS_8epilogue11threadblock8EpilogueIS8_S1"
	        "F_Li1ENS1K_22PredicatedTileIteratorINS1K_26OutputTileOptimalThreadMapINS1K_15Out"
	        "putTileShapeILi64ELi8ELi2ELi1ELi1EEENS1O_ILi1ELi4ELi1ELi1ELi4EEELi128ELi4ELi32EE"
	        "EfLb0ENSO_9NoPermuteELb0EEENS1J_4warp24FragmentIteratorTensorOpIS15_S19_fNS_5Arr"
	        "ayIfLi4ELb1EEES16_EENS1U_20TileIteratorTensorOpIS15_S19_fS16_EENS1K_18SharedLoad"
	        "IteratorINS1R_18CompactedThreadMapEfLi16EEENS1J_6thread17LinearCombinationIfLi4E"
	        "ffLNS24_9ScaleType4KindE0ELNS_15FloatRoundStyleE2EEENSA_ILi0ELi8EEELi2ELi1EEENS1"
	        "1_30GemmIdentityThreadblockSwizzleILi4EEELNS1_8OperatorE2ENS1_17Conv2dProblemSiz"
	        "eELNS1_9GroupModeE0EEEEEvNT_6ParamsE";
	static const struct named names[] = {
	        {name, "cutlass__5x_cudnn::Kernel<ImplicitGemmConvolution<...>>"}};

	(void)state;
	if (!cplus_demangle_v3_callback)
		skip();
	CHECK(names);
	char *full = name_demangle(name, sizeof(name) - 1);
	assert_non_null(strstr(full, "::Conv2dWgradActivationTileAccessIteratorOptimized<"));
	free(full);
}

/* A class that is the kernel, alone or as what another is of; without it, the operation. */
static void test_kernel_classes(void **state)
{
	static const char *const names[][2] = {
	        {"void "
	         "cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<cute::tuple<int, "
	         "int>, cutlass::epilogue::LinCombOp<float> > >(P)",
	         "cutlass::device_kernel<GemmUniversal<...>>"},
	        {"void cutlass::device_kernel<at::cuda::detail::sm9x<cutlass::gemm::kernel::"
	         "GemmUniversal<cute::tuple<int, int>, int> > >(P)",
	         "cutlass::device_kernel<GemmUniversal<...>>"},
	        {"void f<a::kernel::B<int, int>, AddOp<float> >(int)", "f<AddOp<float>>"},
	        {"void f<a::b::C<int, AddOp<float> > >(int)", "f<AddOp<float>>"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char *brief = name_short(names[i][0]);
		assert_string_equal(brief, names[i][1]);
		free(brief);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_pytorch),   cmocka_unit_test(test_alike),
	        cmocka_unit_test(test_cutlass),   cmocka_unit_test(test_kernel_classes),
	        cmocka_unit_test(test_libraries), cmocka_unit_test(test_odd),
	        cmocka_unit_test(test_numba),     cmocka_unit_test(test_narrow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
