/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What cudaspy uses of CUPTI, declared by ourselves: libcupti is opened at run time, and its
 * headers need not be there at build. Where they are, cupti_check.c compares. For shim/cupti*.c.
 *
 * Fields of activity records are read only where their place is the same in every version of the
 * record since CUDA 11.0: later versions append.
 */
#ifndef SPY_CUPTI_API_H
#define SPY_CUPTI_API_H

#include <stddef.h>
#include <stdint.h>

/* CUptiResult */
#define CP_OK                   0
#define CP_NOT_INITIALIZED      15
#define CP_MULTIPLE_SUBSCRIBERS 39

/* cuptiGetVersion() */
#define CP_VERSION_11_0 13
#define CP_VERSION_12_9 27 /* from here on a request for a buffer may be refused */

/* CUpti_ActivityKind. Never KERNEL, 3: it makes kernels run one after the other. */
#define CP_KIND_MEMCPY  1
#define CP_KIND_MEMSET  2
#define CP_KIND_KERNEL  10 /* CONCURRENT_KERNEL */
#define CP_KIND_MEMCPY2 22 /* between devices */
#define CP_KIND_GRAPH   51 /* GRAPH_TRACE, since CUDA 11.7: of its launches, instead of its nodes */

#define CP_DOMAIN_DRIVER 1 /* CUpti_CallbackDomain */
#define CP_SITE_ENTER    0 /* CUpti_ApiCallbackSite */
#define CP_FLUSH_FORCED  1 /* CUpti_ActivityFlag */

/* CUpti_ActivityAttribute */
#define CP_ATTR_DEVICE_BUFFER_SIZE 0
#define CP_ATTR_DEVICE_POOL_LIMIT  2
#define CP_ATTR_ZEROED_OUT         5

/* The shortest of the records below, in any version: that of a graph's launch. */
#define CP_RECORD_LEAST 48u

struct cp_record {
	uint32_t kind;
};

struct cp_kernel {
	uint32_t kind;
	uint32_t skipped[3];
	uint64_t start, end; /* ns of CLOCK_REALTIME */
	uint64_t completed;
	uint32_t device, context, stream;
	int32_t shape[10];
	uint32_t correlation;
	int64_t grid_id;
	const char *name; /* lives as long as libcupti */
	void *reserved;
	uint64_t queued, submitted;
	uint32_t skipped2[2];
	uint64_t graph_node; /* 0: not in a graph */
};

struct cp_move { /* a copy or a set */
	uint32_t kind;
	uint32_t what;
	uint64_t bytes;
	uint64_t start, end;
	uint32_t device, context, stream;
	uint32_t correlation;
	uint32_t skipped[2];
	void *reserved;
	uint64_t graph_node;
};

struct cp_peer { /* a copy between devices */
	uint32_t kind;
	uint32_t what;
	uint64_t bytes;
	uint64_t start, end;
	uint32_t device, context, stream;
	uint32_t sides[4];
	uint32_t correlation;
	void *reserved;
	uint64_t graph_node;
};

struct cp_graph { /* a launch of a graph */
	uint32_t kind;
	uint32_t correlation;
	uint64_t start, end;
	uint32_t device; /* INT32_MAX: its first node is the host's */
	uint32_t graph, context, stream;
};

struct cp_call { /* CUpti_CallbackData */
	int site;
	const char *function;
	const void *parameters;
	void *result;
	const char *symbol;
	void *context;
	uint32_t context_number;
	uint64_t *correlation_data;
	uint32_t correlation; /* of the records of the work that this call gives */
};

typedef void (*cp_requested_t)(uint8_t **buffer, size_t *bytes, size_t *records);
typedef void (*cp_completed_t)(void *context, uint32_t stream, uint8_t *buffer, size_t bytes,
                               size_t valid);
typedef void (*cp_callback_t)(void *user, int domain, uint32_t id, const void *data);

/* XX(member, symbol, parameters); all return a CUptiResult */
#define CP_FUNCTION_MAP(XX)                                                                        \
	XX(get_version, cuptiGetVersion, (uint32_t *))                                             \
	XX(subscribe, cuptiSubscribe, (void **, cp_callback_t, void *))                            \
	XX(unsubscribe, cuptiUnsubscribe, (void *))                                                \
	XX(set_attribute, cuptiActivitySetAttribute, (int, size_t *, void *))                      \
	XX(register_callbacks, cuptiActivityRegisterCallbacks, (cp_requested_t, cp_completed_t))   \
	XX(enable, cuptiActivityEnable, (int))                                                     \
	XX(disable, cuptiActivityDisable, (int))                                                   \
	XX(flush_all, cuptiActivityFlushAll, (uint32_t))                                           \
	XX(next_record, cuptiActivityGetNextRecord, (uint8_t *, size_t, struct cp_record **))      \
	XX(dropped, cuptiActivityGetNumDroppedRecords, (void *, uint32_t, size_t *))               \
	XX(enable_callback, cuptiEnableCallback, (uint32_t, void *, int, uint32_t))                \
	XX(callback_name, cuptiGetCallbackName, (int, uint32_t, const char **))

/* May be missing, and are NULL then. */
#define CP_NEWER_FUNCTION_MAP(XX)                                                                  \
	XX(flush_period, cuptiActivityFlushPeriod, (uint32_t)) /* since CUDA 11.1 */

struct cp_functions {
#define XX(member, symbol, parameters) int(*member) parameters;
	CP_FUNCTION_MAP(XX)
	CP_NEWER_FUNCTION_MAP(XX)
#undef XX
};

#endif
