/* SPDX-License-Identifier: Apache-2.0 */
/* A libcupti for tests of the truth library: hands out a fixed set of records, and checks how it is
 * called.
 *
 * The first flush delivers what FIRST stands for, the forced flush the rest; a period has FIRST
 * delivered at once. With records of graphs' launches only the forced flush is borne. The sums are
 * in test_acceptance_cupti_truth.py. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cupti.h>
#include "cupti_record_names.h"

static CUpti_BuffersCallbackRequestFunc request;
static CUpti_BuffersCallbackCompleteFunc complete;
static unsigned enabled;
static int graphs_as_spans;
static _Atomic int first;
static int owner;

/* Records lie one after the other; their length goes by their kind. */
static size_t record_bytes(CUpti_ActivityKind kind)
{
	switch (kind) {
	case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
		return sizeof(REC_KERNEL);
	case CUPTI_ACTIVITY_KIND_MEMCPY:
		return sizeof(REC_MEMCPY);
	case CUPTI_ACTIVITY_KIND_MEMCPY2:
		return sizeof(REC_MEMCPY2);
	case CUPTI_ACTIVITY_KIND_MEMSET:
		return sizeof(REC_MEMSET);
	case CUPTI_ACTIVITY_KIND_GRAPH_TRACE:
		return sizeof(REC_GRAPH);
	case CUPTI_ACTIVITY_KIND_RUNTIME:
		return sizeof(CUpti_ActivityAPI);
	default:
		return 0;
	}
}

struct batch {
	uint8_t *buffer;
	size_t size, used;
};

static void *append(struct batch *b, CUpti_ActivityKind kind)
{
	CUpti_Activity *a = (CUpti_Activity *)(b->buffer + b->used);

	b->used += record_bytes(kind);
	if (b->used > b->size)
		abort();
	memset(a, 0, record_bytes(kind));
	a->kind = kind;
	return a;
}

static void add_kernel(struct batch *b, const char *name, uint64_t start, uint64_t end,
                       uint32_t stream, uint32_t graph, uint32_t correlation)
{
	REC_KERNEL *k = append(b, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);

	k->name = name;
	k->start = start;
	k->end = end;
	k->streamId = stream;
	k->graphId = graph;
	k->graphNodeId = graph;
	k->correlationId = correlation;
	k->gridX = k->gridY = k->gridZ = k->blockX = k->blockY = k->blockZ = 1;
	k->staticSharedMemory = 7;
	if (stream == 8) { /* another class of kernel */
		k->gridX = 3;
		k->blockY = 2;
		k->dynamicSharedMemory = 64;
	}
}

static void add_copy(struct batch *b, uint8_t kind, uint64_t bytes, uint64_t start, uint64_t end,
                     uint64_t items)
{
	REC_MEMCPY *c = append(b, CUPTI_ACTIVITY_KIND_MEMCPY);

	c->copyKind = kind;
	c->srcKind = CUPTI_ACTIVITY_MEMORY_KIND_PINNED;
	c->dstKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
	c->bytes = bytes;
	c->start = start;
	c->end = end;
	c->streamId = 7;
#if REC_MEMCPY_HAS_COPY_COUNT
	c->copyCount = items;
#else
	(void)items;
#endif
}

/* Three launches of a graph with two nodes of 5 ns, 5 ns apart. */
static void add_graphs(struct batch *b)
{
	for (uint32_t i = 0; i < 6 && !graphs_as_spans; i++)
		add_kernel(b, "_Z4fillPfj", 3000 + 10 * i, 3005 + 10 * i, 7, 3, 30 + i / 2);
	for (uint32_t i = 0; i < 3 && graphs_as_spans; i++) {
		REC_GRAPH *g = append(b, CUPTI_ACTIVITY_KIND_GRAPH_TRACE);

		g->start = 3000 + 20 * i;
		g->end = 3015 + 20 * i;
		g->streamId = 7;
		g->graphId = 3;
		g->correlationId = 30 + i;
	}
}

/* A copy that lasts while kernels of its stream run, and one like it that does not. */
static void fill_untrue(struct batch *b)
{
	if (!getenv("FAKE_CUPTI_UNTRUE"))
		return;
	add_copy(b, CUPTI_ACTIVITY_MEMCPY_KIND_HTOD, 1000, 10000, 11000, 1);
	for (uint32_t i = 0; i < 3; i++)
		add_kernel(b, "_Z4fillPfj", 10100 + 200 * i, 10200 + 200 * i, 7, 0, 60 + i);
	add_copy(b, CUPTI_ACTIVITY_MEMCPY_KIND_HTOD, 1000, 12000, 12100, 1);
}

static void fill_first(struct batch *b)
{
	REC_MEMSET *s;
	REC_MEMCPY2 *p;

	for (uint32_t i = 0; i < 5; i++) /* 100 ns each, back to back in pairs */
		add_kernel(b, "_Z4fillPfj", 1000 + 150 * i, 1100 + 150 * i, 7, 0, 10 + i);
	add_kernel(b, "plain", 1050, 1150, 8, 0, 20); /* overlaps the first */
	add_kernel(b, "_Z4fillPfj", 0, 0, 7, 0, 21);  /* counts, but has no time */
	add_graphs(b);
	/* what cudaspy runs while it samples is no work of the program's */
	add_kernel(b, "cudaspy_stall", 4000, 4700, 7, 0, 40);
	add_kernel(b, "cudaspy_null", 4800, 4810, 7, 0, 41);
	add_copy(b, CUPTI_ACTIVITY_MEMCPY_KIND_HTOD, 4096, 5000, 5100, 1);
	add_copy(b, CUPTI_ACTIVITY_MEMCPY_KIND_HTOD, 1000, 5200, 5300, 4);
	p = append(b, CUPTI_ACTIVITY_KIND_MEMCPY2);
	p->bytes = 64;
	p->start = 6000;
	p->end = 6001;
	s = append(b, CUPTI_ACTIVITY_KIND_MEMSET);
	s->bytes = 32;
	s->start = 7000;
	s->end = 7010;
	fill_untrue(b);
}

static void fill_forced(struct batch *b)
{
	CUpti_ActivityAPI *a;

	add_kernel(b, "at \"exit\"\n", 8000, 8100, 7, 0, 50);
	a = append(b, CUPTI_ACTIVITY_KIND_RUNTIME);
	a->cbid = 211;
	a->start = 1;
	a->end = 5;
	a->correlationId = 50; /* the kernel above */
}

static void deliver(void (*fill)(struct batch *))
{
	struct batch b = {0};
	size_t most;

	request(&b.buffer, &b.size, &most);
	fill(&b);
	complete(NULL, 0, b.buffer, b.size, b.used);
}

CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc requested,
                                           CUpti_BuffersCallbackCompleteFunc completed)
{
	if (enabled)
		abort(); /* callbacks come before kinds */
	request = requested;
	complete = completed;
	owner = getpid();
	return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind)
{
	const char *refused = getenv("FAKE_CUPTI_REFUSE");

	if (kind == CUPTI_ACTIVITY_KIND_KERNEL)
		abort(); /* would make kernels run one after the other */
	graphs_as_spans |= kind == CUPTI_ACTIVITY_KIND_GRAPH_TRACE;
	enabled++;
	return refused ? CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED : CUPTI_SUCCESS;
}

CUptiResult cuptiActivityFlushAll(uint32_t flag)
{
	static _Atomic int forced;

	if (getpid() != owner)
		abort(); /* a forked child must not come here */
	if (graphs_as_spans && !(flag & CUPTI_ACTIVITY_FLAG_FLUSH_FORCED))
		abort();
	if (!first++)
		deliver(fill_first);
	if ((flag & CUPTI_ACTIVITY_FLAG_FLUSH_FORCED) && !forced++)
		deliver(fill_forced);
	return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityFlushPeriod(uint32_t ms)
{
	if (ms && !first++)
		deliver(fill_first);
	return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, CUpti_Activity **record)
{
	uint8_t *next = *record ? (uint8_t *)*record + record_bytes((*record)->kind) : buffer;

	if (next >= buffer + valid)
		return CUPTI_ERROR_MAX_LIMIT_REACHED;
	*record = (CUpti_Activity *)next;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext context, uint32_t stream, size_t *dropped)
{
	*dropped = 2;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiGetCallbackName(CUpti_CallbackDomain domain, uint32_t id, const char **name)
{
	*name = domain == CUPTI_CB_DOMAIN_RUNTIME_API && id == 211 ? "cudaLaunchKernel_v7000"
	                                                           : NULL;
	return *name ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
}

CUptiResult cuptiGetResultString(CUptiResult result, const char **text)
{
	*text = "a refusal";
	return CUPTI_SUCCESS;
}

CUptiResult cuptiGetVersion(uint32_t *version)
{
	*version = CUPTI_API_VERSION;
	return CUPTI_SUCCESS;
}
