/* SPDX-License-Identifier: Apache-2.0 */
/* What is the same in many events, made once. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/base/names.h"
#include "report/output/export/chrome.h"

const char *chrome_call_head(struct chrome *c, const struct events_call *call)
{
	char **head = &c->call_heads[call->name];
	size_t bytes;

	if (*head)
		return *head;
	const char *known = events_call_name(c->events, call->name, &bytes);
	/* The headers of CUDA 13 call a function of another name in place of this one. */
	const size_t skip = strncmp(known, "__cudaLaunchKernel", 18) ? 0 : 2;
	char *name = chrome_quoted(known + skip, bytes - skip);
	*head = alloc_format("{\"ph\":\"X\",\"cat\":\"%s\",\"name\":%s,\"pid\":%llu,\"tid\":",
	                     call->level == SPY_LEVEL_RUNTIME ? "cuda_runtime" : "cuda_driver",
	                     name, (unsigned long long)c->pid);
	free(name);
	return *head;
}

const char *chrome_kernel_name(struct chrome *c, uint32_t kernel)
{
	size_t bytes;

	if (kernel < EVENTS_KERNELS && c->kernel_names[kernel])
		return c->kernel_names[kernel];
	const char *mangled = events_kernel_name(c->events, kernel, &bytes);
	if (!mangled)
		return "\"(unknown kernel)\"";
	char **name = &c->kernel_names[kernel];
	char *full = name_demangle(mangled, bytes);
	*name = chrome_quoted(full, strlen(full));
	free(full);
	return *name;
}

static const char *memory_words(unsigned memory)
{
	switch (memory) {
	case SPY_MEM_PAGEABLE:
		return "Pageable";
	case SPY_MEM_PINNED:
		return "Pinned";
	case SPY_MEM_DEVICE:
		return "Device";
	case SPY_MEM_MANAGED:
		return "Managed";
	default:
		return "Unknown";
	}
}

void chrome_copy_name(struct chrome_out *o, unsigned direction, unsigned memory)
{
	const char *host = memory_words(memory);

	switch (direction) {
	case SPY_DIR_HTOD:
		chrome_format(o, "\"Memcpy HtoD (%s -> Device)\"", host);
		break;
	case SPY_DIR_DTOH:
		chrome_format(o, "\"Memcpy DtoH (Device -> %s)\"", host);
		break;
	case SPY_DIR_DTOD:
		chrome_text(o, "\"Memcpy DtoD (Device -> Device)\"");
		break;
	case SPY_DIR_PTOP:
		chrome_text(o, "\"Memcpy PtoP (Device -> Device)\"");
		break;
	default:
		chrome_format(o, "\"Memcpy Unknown (%s)\"", host);
	}
}

static void kernel_tail(char **tail, const struct events_shape *w)
{
	const uint32_t threads = w->block[0] * w->block[1] * w->block[2];

	alloc_append(tail, ",\"grid\":[%u,%u,%u],\"block\":[%u,%u,%u]", w->grid[0], w->grid[1],
	             w->grid[2], w->block[0], w->block[1], w->block[2]);
	if (!w->registers) {
		alloc_append(tail, ",\"dynamic shared memory\":%u", w->shared_bytes);
		return;
	}
	alloc_append(tail, ",\"shared memory\":%u,\"registers per thread\":%u",
	             w->shared_bytes + w->static_shared, w->registers);
	if (w->warps_per_sm && w->blocks_per_sm && threads)
		alloc_append(tail, ",\"est. occupancy at most %%\":%u",
		             (unsigned)fmin(100, 100.0 * w->blocks_per_sm * ((threads + 31) / 32) /
		                                         w->warps_per_sm));
}

const char *chrome_class_tail(struct chrome *c, uint32_t cls)
{
	struct events_shape shape;

	if (cls >= EVENTS_CLASSES)
		return "";
	char **tail = &c->class_tails[cls];
	if (*tail)
		return *tail;
	const struct events_class *time = &c->classes[cls];
	*tail = alloc_string("");
	if (events_shape(c->events, cls, &shape))
		kernel_tail(tail, &shape);
	if (c->process->gpu_mode == TF_GPU_SAMPLE && !isnan(time->mean))
		alloc_append(tail,
		             ",\"est. mean ns\":%.0f,\"est. low ns\":%.0f,\"est. high ns\":%.0f,"
		             "\"est. samples\":%llu",
		             time->mean, time->low, time->high, (unsigned long long)time->samples);
	return *tail;
}
