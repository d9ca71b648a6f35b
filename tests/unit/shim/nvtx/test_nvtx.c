/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NVTX's own headers, attached to the shim's functions in the way a static injection is; and their
 * ABI against what the shim declares of it. Not built where those headers are not there.
 */
#define NVTX_STATIC_INJECTION_IMPL
#include <stdint.h>
typedef int (*init_function)(const void *(*)(uint32_t));
extern init_function InitializeInjectionNvtx2_fnptr;
#include <nvtx3/nvToolsExt.h>

#include <errno.h>
#include <pthread.h>

#include "shim/nvtx/nvtx.h"
#include "shim/nvtx/nvtx_abi.h"
#include "shim/args/args.h"
#include "shim/core/options/options.h"
#include "shim/record/thread.h"
#include "tests/unit/shim_stubs.h"

/* ---- the ABI ---- */

#define SAME(a, b) _Static_assert((int)(a) == (int)(b), #a)
SAME(NVTX_CORE_RANGE_START_EX, NVTX_CBID_CORE_RangeStartEx);
SAME(NVTX_CORE_RANGE_START_A, NVTX_CBID_CORE_RangeStartA);
SAME(NVTX_CORE_RANGE_START_W, NVTX_CBID_CORE_RangeStartW);
SAME(NVTX_CORE_RANGE_END, NVTX_CBID_CORE_RangeEnd);
SAME(NVTX_CORE_RANGE_PUSH_EX, NVTX_CBID_CORE_RangePushEx);
SAME(NVTX_CORE_RANGE_PUSH_A, NVTX_CBID_CORE_RangePushA);
SAME(NVTX_CORE_RANGE_PUSH_W, NVTX_CBID_CORE_RangePushW);
SAME(NVTX_CORE_RANGE_POP, NVTX_CBID_CORE_RangePop);
SAME(NVTX_CORE2_RANGE_START_EX, NVTX_CBID_CORE2_DomainRangeStartEx);
SAME(NVTX_CORE2_RANGE_END, NVTX_CBID_CORE2_DomainRangeEnd);
SAME(NVTX_CORE2_RANGE_PUSH_EX, NVTX_CBID_CORE2_DomainRangePushEx);
SAME(NVTX_CORE2_RANGE_POP, NVTX_CBID_CORE2_DomainRangePop);
SAME(NVTX_CORE2_REGISTER_STRING_A, NVTX_CBID_CORE2_DomainRegisterStringA);
SAME(NVTX_CORE2_REGISTER_STRING_W, NVTX_CBID_CORE2_DomainRegisterStringW);
SAME(NVTX_CORE2_DOMAIN_CREATE_A, NVTX_CBID_CORE2_DomainCreateA);
SAME(NVTX_CORE2_DOMAIN_CREATE_W, NVTX_CBID_CORE2_DomainCreateW);
SAME(NVTX_MODULE_CORE, NVTX_CB_MODULE_CORE);
SAME(NVTX_MODULE_CORE2, NVTX_CB_MODULE_CORE2);
SAME(NVTX_TABLE_CALLBACKS, NVTX_ETID_CALLBACKS);
SAME(NVTX_TABLE_VERSION, NVTX_ETID_VERSIONINFO);
SAME(NVTX_MESSAGE_ASCII, NVTX_MESSAGE_TYPE_ASCII);
SAME(NVTX_MESSAGE_UNICODE, NVTX_MESSAGE_TYPE_UNICODE);
SAME(NVTX_MESSAGE_REGISTERED_STRING, NVTX_MESSAGE_TYPE_REGISTERED);
SAME(NVTX_NOT_TRACKED, NVTX_NO_PUSH_POP_TRACKING);
SAME(sizeof(struct nvtx_attributes), sizeof(nvtxEventAttributes_t));
SAME(offsetof(struct nvtx_attributes, message_type), offsetof(nvtxEventAttributes_t, messageType));
SAME(offsetof(struct nvtx_attributes, message), offsetof(nvtxEventAttributes_t, message));
SAME(sizeof(struct nvtx_callbacks), sizeof(NvtxExportTableCallbacks));
SAME(sizeof(struct nvtx_version_info), sizeof(NvtxExportTableVersionInfo));

init_function InitializeInjectionNvtx2_fnptr = InitializeInjectionNvtx2;

/* ---- what is not looked at here ---- */

uint32_t spy_learn_function(CUfunction f)
{
	return TF_KERNEL_UNKNOWN;
}

bool spy_is_captured_slow(const struct spy_span *s, CUstream stream)
{
	return false;
}

/* ---- a recording with this thread in it ---- */

static int start(void **state)
{
	stub_start(64 << 20);
	struct tf_header *h = tf_header(&spy_map);
	h->thread_bytes =
	        (uint32_t)(sizeof(struct tf_thread) + SPY_CALLS * sizeof(struct tf_call_stat));
	h->threads = (struct tf_table){.entry_bytes = 8, .page_entries = 512, .max = 65535};
	h->ranges = (struct tf_table){.entry_bytes = sizeof(struct tf_nvtx_range),
	                              .page_entries = 128,
	                              .max = TF_RANGES_MAX};
	spy_options.ring_records = 1 << 16;
	clock_choose(true);
	stub_forget_thread();
	spy_generation++;
	stub_gate(true);
	return 0;
}

static int end(void **state)
{
	stub_forget_thread();
	stub_end();
	return 0;
}

/* The last record of this thread's ring, which is a range's. */
static const struct tf_record *last(void)
{
	assert_true(spy_tls.head > 0);
	const struct tf_record *r =
	        &spy_tls.ring->slots[(spy_tls.head - 1) & (spy_tls.ring->capacity - 1)];
	assert_int_equal(r->call, TF_CALL_RANGE);
	return r;
}

static const struct tf_nvtx_range *range_of(const struct tf_record *r)
{
	return tf_entry(&spy_map, &tf_header(&spy_map)->ranges, r->thread,
	                sizeof(struct tf_nvtx_range));
}

static const char *name_of(const struct tf_record *r)
{
	return tf_text(&spy_map, range_of(r)->name, NULL);
}

static void test_counts(void **state)
{
	assert_int_equal(nvtxRangePushA("outer"), 0);
	struct tf_thread *th = spy_tls.thread;
	th->launches += 10;
	assert_int_equal(nvtxRangePushA("inner"), 1);
	th->launches += 2;
	th->items[SPY_CLASS_LAUNCH] += 3;
	th->items[SPY_CLASS_GRAPH_LAUNCH] += 4;
	th->syncs += 5;
	th->items[SPY_CLASS_COPY] += 6;
	th->pageable_copies += 7;
	th->copy_bytes += 5ull << 32 | 9;
	th->allocs += 8;
	th->calls[CALL_cuLaunchKernelEx].sum_ticks += 12345;
	errno = 4711;
	assert_int_equal(nvtxRangePop(), 1);
	assert_int_equal(errno, 4711);
	const struct tf_record *r = last();
	assert_string_equal(name_of(r), "inner");
	assert_int_equal(range_of(r)->level, 1);
	assert_int_equal(r->range.launches, 5);
	assert_int_equal(r->range.graph_launches, 4);
	assert_int_equal(r->range.syncs, 5);
	assert_int_equal(r->range.copies, 6);
	assert_int_equal(r->range.pageable_copies, 7);
	assert_int_equal(r->range.allocs, 8);
	assert_int_equal(tf_range_bytes(r), 5ull << 32 | 9);
	assert_int_equal(tf_range_launch_ticks(r), 12345);
	uint32_t parent = range_of(r)->parent;
	assert_int_equal(nvtxRangePop(), 0);
	assert_string_equal(name_of(last()), "outer");
	assert_int_equal(last()->range.launches, 15);
	assert_int_equal(parent, last()->thread + 1);
	assert_true(nvtxRangePop() < 0);
}

/* A name has one entry under one parent, whatever form it comes in. */
static void test_forms_of_one_name(void **state)
{
	nvtxEventAttributes_t a = {.version = NVTX_VERSION, .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE};
	nvtxDomainHandle_t domain = nvtxDomainCreateW(L"domain");
	nvtxStringHandle_t name = nvtxDomainRegisterStringW(domain, L"caf\u00e9");

	nvtxRangePushA("caf\xc3\xa9");
	nvtxRangePop();
	uint16_t node = last()->thread;
	nvtxRangePushW(L"caf\u00e9");
	nvtxRangePop();
	assert_int_equal(last()->thread, node);
	a.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
	a.message.registered = name;
	nvtxRangePushEx(&a);
	nvtxRangePop();
	assert_int_equal(last()->thread, node);
	nvtxDomainRangePushEx(domain, &a); /* another domain's: another range */
	nvtxDomainRangePop(domain);
	assert_int_not_equal(last()->thread, node);
	assert_string_equal(tf_text(&spy_map, range_of(last())->domain, NULL), "domain");
	uint64_t id = nvtxDomainRangeStartEx(NULL, &a);
	nvtxDomainRangeEnd(NULL, id);
	assert_int_equal(last()->thread, node);
	assert_int_equal(last()->flags, TF_RANGE_STARTED);
}

/* Short attributes, none, unknown types, handles of nobody: a range without a name. */
static void test_wrong_attributes(void **state)
{
	nvtxEventAttributes_t a = {
	        .version = 1, .size = 8, .messageType = 1, .message.ascii = (const char *)1};
	static char not_ours[64];

	assert_int_equal(nvtxRangePushEx(&a), 0);
	a.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
	a.messageType = 99;
	assert_int_equal(nvtxRangePushEx(&a), 1);
	a.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
	a.message.registered = (nvtxStringHandle_t)not_ours;
	assert_int_equal(nvtxRangePushEx(&a), 2);
	a.message.registered = NULL;
	assert_int_equal(nvtxDomainRangePushEx((nvtxDomainHandle_t)not_ours, &a), 3);
	assert_int_equal(nvtxRangePushEx(NULL), 4);
	assert_int_equal(nvtxRangePushA(NULL), 5);
	for (int level = 5; level >= 0; level--) {
		assert_int_equal(nvtxRangePop(), level);
		assert_int_equal(range_of(last())->name, 0);
	}
	nvtxRangeEnd(0);
	nvtxRangeEnd(UINT64_MAX);
}

static void test_domains_cross(void **state)
{
	nvtxEventAttributes_t a = {.version = NVTX_VERSION,
	                           .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
	                           .messageType = NVTX_MESSAGE_TYPE_ASCII,
	                           .message.ascii = "b"};
	nvtxDomainHandle_t b = nvtxDomainCreateA("b");

	assert_int_equal(nvtxRangePushA("a"), 0);
	assert_int_equal(nvtxDomainRangePushEx(b, &a), 0);
	assert_int_equal(nvtxRangePop(), 0); /* the outer one first */
	assert_string_equal(name_of(last()), "a");
	assert_int_equal(nvtxDomainRangePop(b), 0);
	assert_string_equal(name_of(last()), "b");
	assert_true(nvtxDomainRangePop(b) < 0);
}

/* Numbered names share an entry, after the first few; a program of names without end fills no more
 * than the table. */
static void test_names_without_end(void **state)
{
	char name[64];

	for (int i = 0; i < 3000; i++) {
		snprintf(name, sizeof(name), "iteration %d of 3000", i);
		nvtxRangePushA(name);
		nvtxRangePop();
		spy_tls.ring->tail = spy_tls.head;
	}
	assert_string_equal(name_of(last()), "iteration # of #");
	assert_in_range(tf_header(&spy_map)->ranges.count, 8, 12);
	for (int i = 0; i < 20000; i++) {
		for (int k = 0; k < 4; k++)
			name[k] = (char)('a' + (i >> (4 * k) & 15));
		name[4] = 0;
		nvtxRangePushA(name);
		nvtxRangePop();
		spy_tls.ring->tail = spy_tls.head;
	}
	assert_int_equal(tf_header(&spy_map)->ranges.count, TF_RANGES_MAX);
	assert_int_equal(last()->thread, TF_RANGE_OTHER);
}

/* Before CUDA, and in a child: levels and ids, no record. */
static void test_nothing_recorded(void **state)
{
	stub_gate(false);
	assert_int_equal(nvtxRangePushA("a"), 0);
	assert_int_equal(nvtxRangePushA("b"), 1);
	uint64_t first = nvtxRangeStartA("c"), second = nvtxRangeStartA("c");
	assert_true(first && first != second);
	assert_null(spy_tls.thread);
	stub_gate(true);
	nvtxRangeEnd(first);
	assert_int_equal(nvtxRangePop(), 1);
	assert_int_equal(nvtxRangePushA("d"), 1); /* its parent is in no recording */
	assert_int_equal(nvtxRangePop(), 1);
	assert_int_equal(spy_tls.head, 1);
	assert_int_equal(range_of(last())->parent, 0);
	assert_int_equal(nvtxRangePushA("e"), 1);
	spy_generation++; /* a fork: the parent's range is none of the child's */
	assert_int_equal(nvtxRangePop(), 1);
	assert_int_equal(nvtxRangePop(), 0);
	nvtxRangeEnd(second);
}

static void *many_ranges(void *unused)
{
	for (int i = 0; i < 20000; i++) {
		char name[32];
		snprintf(name, sizeof(name), "%c%c", 'a' + i % 20, 'a' + i / 20 % 20);
		assert_int_equal(nvtxRangePushA("outer"), 0);
		assert_int_equal(nvtxRangePushA(name), 1);
		uint64_t id = nvtxRangeStartA("started");
		assert_int_equal(nvtxRangePop(), 1);
		nvtxRangeEnd(id);
		assert_int_equal(nvtxRangePop(), 0);
		spy_tls.ring->tail = spy_tls.head;
	}
	return NULL;
}

static void *end_it(void *id)
{
	nvtxRangeEnd(*(uint64_t *)id);
	assert_int_equal(last()->flags, TF_RANGE_STARTED | TF_RANGE_NO_COUNTS);
	return NULL;
}

static void test_threads(void **state)
{
	pthread_t threads[4];

	thread_init();
	nvtxRangeStartA("warm");
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, many_ranges, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	uint64_t id = nvtxRangeStartA("elsewhere");
	pthread_create(&threads[0], NULL, end_it, &id);
	pthread_join(threads[0], NULL);
	/* One entry each: (other), outer, started, warm, elsewhere, 400 names. */
	assert_int_equal(tf_header(&spy_map)->ranges.count, 405);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test_setup_teardown(test_nothing_recorded, start, end),
	        cmocka_unit_test_setup_teardown(test_counts, start, end),
	        cmocka_unit_test_setup_teardown(test_forms_of_one_name, start, end),
	        cmocka_unit_test_setup_teardown(test_wrong_attributes, start, end),
	        cmocka_unit_test_setup_teardown(test_domains_cross, start, end),
	        cmocka_unit_test_setup_teardown(test_names_without_end, start, end),
	        cmocka_unit_test_setup_teardown(test_threads, start, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
