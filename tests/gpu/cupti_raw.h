/* SPDX-License-Identifier: Apache-2.0 */
/* The timeline file that CUPTI_TRUTH_RAW asks for: every GPU activity with its times, in order of
 * arrival. Written by tests/gpu/cupti_write.c; read by whoever compares busy, idle or queue times
 * with it.
 *
 * Layout, in the machine's byte order: struct raw_header; `records` of struct raw_record; then the
 * names: `names` times a uint32_t length and that many bytes (mangled, no NUL). */
#pragma once
#include <stdint.h>

#define RAW_MAGIC   0x3157415254505543ull /* "CUPTRAW1" */
#define RAW_VERSION 2

enum raw_kind { RAW_KERNEL = 1, RAW_COPY = 2, RAW_SET = 3, RAW_GRAPH = 4 };

enum raw_flag {
	RAW_IN_GRAPH = 1 << 0,     /* ran as a node of a launched graph */
	RAW_ASYNC = 1 << 1,        /* of a copy or set: the call was an asynchronous one */
	RAW_FROM_DEVICE = 1 << 2,  /* launched by a kernel or by a device-side graph launch */
	RAW_INVALID_TIME = 1 << 3, /* start or end missing, or the end before the start */
	RAW_UNTRUE = 1 << 4, /* it lasts while other work of its stream runs (cupti_untrue.c) */
};

#define RAW_NO_NAME 0xffffffffu

struct raw_record {
	uint64_t start_ns; /* CUPTI's clock, CLOCK_REALTIME where nobody changed it */
	uint64_t end_ns;
	uint64_t bytes; /* of a copy or set */
	uint32_t device;
	uint32_t context;
	uint32_t stream;
	uint32_t correlation;  /* the API call that caused it, or the graph launch */
	uint32_t graph;        /* CUPTI's id of the graph; 0 outside graphs */
	uint32_t name;         /* of a kernel: index into the names; else RAW_NO_NAME */
	uint32_t items;        /* copies in this record, more than 1 for a batch */
	uint32_t shared_bytes; /* of a kernel, dynamic */
	int32_t grid[3];
	int32_t block[3];
	uint8_t kind;      /* enum raw_kind */
	uint8_t flags;     /* enum raw_flag */
	uint8_t copy_kind; /* CUpti_ActivityMemcpyKind */
	uint8_t src_kind;  /* CUpti_ActivityMemoryKind */
	uint8_t dst_kind;  /* of a set: the memory it went to */
	uint8_t reserved[3];
};

struct raw_header {
	uint64_t magic;
	uint32_t version;
	uint32_t header_bytes;
	uint32_t record_bytes;
	uint32_t names;
	uint64_t records;
	uint64_t not_kept; /* records beyond CUPTI_TRUTH_KEEP: counted, but not here */
	uint64_t reserved;
};

_Static_assert(sizeof(struct raw_record) == 88, "raw_record is read by scripts");
_Static_assert(sizeof(struct raw_header) == 48, "raw_header is read by scripts");
