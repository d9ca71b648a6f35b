/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What NVTX (version 2 and 3) and an injected library agree on, as far as we use it: declared here,
 * since NVTX's headers are not needed to build the shim. A unit test compares it with them. For
 * nvtx.c and that test.
 */
#ifndef SPY_NVTX_ABI_H
#define SPY_NVTX_ABI_H

#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

/* Tables that an instance of NVTX gives out. */
#define NVTX_TABLE_CALLBACKS 1u
#define NVTX_TABLE_VERSION   3u

#define NVTX_MODULE_CORE  1
#define NVTX_MODULE_CORE2 5

typedef const void *nvtx_get_table(uint32_t table);
typedef void (*nvtx_function)(void);

struct nvtx_callbacks { /* NVTX_TABLE_CALLBACKS */
	size_t struct_size;
	/* Where the instance keeps its pointers to the functions of a module; 0 = unknown module.
	 */
	int (*module_functions)(int module, nvtx_function ***table, unsigned *entries);
};

struct nvtx_version_info { /* NVTX_TABLE_VERSION */
	size_t struct_size;
	uint32_t version;
	uint32_t reserved;
	void (*set_injection_version)(uint32_t version);
};
#define NVTX_INJECTION_VERSION 3u

enum nvtx_core {
	NVTX_CORE_RANGE_START_EX = 4,
	NVTX_CORE_RANGE_START_A = 5,
	NVTX_CORE_RANGE_START_W = 6,
	NVTX_CORE_RANGE_END = 7,
	NVTX_CORE_RANGE_PUSH_EX = 8,
	NVTX_CORE_RANGE_PUSH_A = 9,
	NVTX_CORE_RANGE_PUSH_W = 10,
	NVTX_CORE_RANGE_POP = 11,
};

enum nvtx_core2 {
	NVTX_CORE2_RANGE_START_EX = 2,
	NVTX_CORE2_RANGE_END = 3,
	NVTX_CORE2_RANGE_PUSH_EX = 4,
	NVTX_CORE2_RANGE_POP = 5,
	NVTX_CORE2_REGISTER_STRING_A = 10,
	NVTX_CORE2_REGISTER_STRING_W = 11,
	NVTX_CORE2_DOMAIN_CREATE_A = 12,
	NVTX_CORE2_DOMAIN_CREATE_W = 13,
};

enum nvtx_message {
	NVTX_MESSAGE_NONE = 0,
	NVTX_MESSAGE_ASCII = 1,
	NVTX_MESSAGE_UNICODE = 2,
	NVTX_MESSAGE_REGISTERED_STRING = 3, /* since version 2 of the attributes */
};

/* Event attributes, the same layout in versions 1, 2 and 3; `size` says how much of it is there. */
struct nvtx_attributes {
	uint16_t version;
	uint16_t size;
	uint32_t category;
	int32_t color_type;
	uint32_t color;
	int32_t payload_type;
	int32_t reserved;
	uint64_t payload;
	int32_t message_type;
	union {
		const char *ascii;
		const wchar_t *unicode;
		const void *registered;
	} message;
};

/* Called by each instance of NVTX that NVTX_INJECTION64_PATH led to us; 1 = attached. */
int InitializeInjectionNvtx2(nvtx_get_table *get_table);

#endif
