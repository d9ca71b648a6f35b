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
	char **head = &c->call_heads[call->record->call];

	if (*head)
		return *head;
	const struct tf_call *known =
	        tf_entry(&c->recording->map, &tf_header(&c->recording->map)->calls,
	                 call->record->call, sizeof(*known));
	/* The headers of CUDA 13 call a function of another name in place of this one. */
	const size_t skip = strncmp(known->name, "__cudaLaunchKernel", 18) ? 0 : 2;
	char *name =
	        chrome_quoted(known->name + skip, strnlen(known->name, sizeof(known->name)) - skip);
	*head = alloc_format("{\"ph\":\"X\",\"cat\":\"%s\",\"name\":%s,\"pid\":%llu,\"tid\":",
	                     call->level == SPY_LEVEL_RUNTIME ? "cuda_runtime" : "cuda_driver",
	                     name, (unsigned long long)c->pid);
	free(name);
	return *head;
}

const char *chrome_kernel_name(struct chrome *c, uint32_t kernel)
{
	if (kernel >= c->recording->kernels || kernel >= TF_KERNELS_MAX)
		return "\"(unknown kernel)\"";
	char **name = &c->kernel_names[kernel];
	if (*name)
		return *name;
	const struct tf_header *h = tf_header(&c->recording->map);
	const struct tf_kernel *k = tf_entry(&c->recording->map, &h->kernels, kernel, sizeof(*k));
	uint32_t bytes = 0;
	const char *mangled = k ? tf_text(&c->recording->map, k->name, &bytes) : NULL;
	if (!mangled || !bytes) {
		*name = alloc_string(kernel == TF_KERNEL_OTHER ? "\"(other)\""
		                                               : "\"(unknown kernel)\"");
		return *name;
	}
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

static void kernel_tail(char **tail, const struct tf_work *w)
{
	const uint32_t threads = (uint32_t)w->block_x * w->block_y * w->block_z;

	alloc_append(tail, ",\"grid\":[%u,%u,%u],\"block\":[%u,%u,%u]", w->grid_x, w->grid_y,
	             w->grid_z, w->block_x, w->block_y, w->block_z);
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
	if (cls >= TF_WORKS || !c->works)
		return "";
	char **tail = &c->class_tails[cls];
	if (*tail)
		return *tail;
	const struct tf_work *w = &c->works[cls];
	const struct events_class *time = &c->classes[cls];
	*tail = alloc_string("");
	if (w->kind == TF_WORK_KERNEL)
		kernel_tail(tail, w);
	if (c->process->gpu_mode == TF_GPU_SAMPLE && !isnan(time->mean))
		alloc_append(tail,
		             ",\"est. mean ns\":%.0f,\"est. low ns\":%.0f,\"est. high ns\":%.0f,"
		             "\"est. samples\":%llu",
		             time->mean, time->low, time->high, (unsigned long long)time->samples);
	return *tail;
}
