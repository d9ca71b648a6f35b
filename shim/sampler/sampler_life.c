/* SPDX-License-Identifier: Apache-2.0 */
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include "shim/handles/graph_content.h"
#include "shim/base/floating_point.h"
#include "shim/base/gate.h"
#include "shim/record/messages.h"
#include "shim/sampler/sampler.h"
#include "shim/sampler/sampler_class.h"
#include "shim/sampler/sampler_context.h"
#include "shim/sampler/sampler_section.h"
#include "shim/sampler/sampler_thread.h"

/* ---- the start ---- */

/* Tools under which timing means nothing, or our work would be in their way. */
static int is_hostile_tool(struct dl_phdr_info *info, size_t bytes, void *found)
{
	static const char *const names[] = {"libsanitizer-collection", "libcudadebugger",
	                                    "libInterceptorInjection"};

	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (info->dlpi_name && strstr(info->dlpi_name, names[i]))
			*(const char **)found = names[i];
	return *(const char **)found != NULL;
}

static const char *refusal(void)
{
	const char *blocking = getenv("CUDA_LAUNCH_BLOCKING"), *tool = NULL;

	if (blocking && *blocking && strcmp(blocking, "0"))
		return "CUDA_LAUNCH_BLOCKING is set";
	dl_iterate_phdr(is_hostile_tool, &tool);
	if (tool)
		return "the process runs under a debugger or sanitizer";
	if (!sampler_driver_find())
		return "the driver is too old";
	return NULL;
}

enum tf_gpu_mode sampler_start(enum tf_gpu_mode asked)
{
	const char *why = asked == TF_GPU_SAMPLE ? refusal() : NULL;

	if (asked == TF_GPU_CUPTI) /* which says nothing of occupancy: the driver is asked for it */
		sampler_driver_find();
	if (asked != TF_GPU_OFF && !why)
		graph_content_find();
	if (asked != TF_GPU_SAMPLE)
		return asked;
	if (why) {
		spy_say("GPU time is not sampled: %s", why);
		return TF_GPU_OFF;
	}
	tf_header(&spy_map)->stall_ns = STALL_FIRST_US * 1000;
	__atomic_store_n(&spy_gate_page.gate.gpu, SPY_GPU_SAMPLE, __ATOMIC_RELEASE);
	return asked;
}

/* ---- the end ---- */

static void harvest_all(struct sampler_context *c)
{
	CUstreamCaptureMode mode;

	if (!section_enter(&mode))
		return;
	sampler_harvest(c, SAMPLER_PAIRS);
	section_leave(&mode);
}

void sampler_finish(void)
{
	if (spy_gate_page.gate.gpu != SPY_GPU_SAMPLE)
		return;
	/* No further samples: what the GPU has not finished by now stays unknown. */
	__atomic_store_n(&spy_gate_page.gate.gpu, SPY_GPU_NONE, __ATOMIC_RELAXED);
	/* Inside a call of CUDA, which may hold a lock of the driver's (exit() in a handler of
	 * signals), nothing more is asked. */
	if (spy_tls.generation == spy_generation && !spy_own_inside_call())
		sampler_contexts_each(harvest_all);
}

void sampler_after_fork(void)
{
	spy_gate_page.gate.gpu = SPY_GPU_NONE;
	section_after_fork();
	sampler_threads_after_fork();
	sampler_contexts_after_fork();
}

/* ---- the program's contexts ---- */

void sampler_contexts_end(void)
{
	if (spy_gate_page.gate.gpu != SPY_GPU_SAMPLE)
		return;
	uint64_t start = spy_clock();
	struct floating_point theirs = floating_point_begin();
	sampler_contexts_each(harvest_all);
	floating_point_end(&theirs);
	sampler_take_out(spy_clock() - start);
}

void sampler_context_died(uint64_t context, bool gone)
{
	struct sampler_context *c = sampler_context_find(context);

	registry_code_unloaded(); /* its functions are gone as well */
	if (c) {
		sampler_context_shut(c);
		if (!gone)
			sampler_pairs_drop(c);
		sampler_context_forget(c);
	}
	sampler_context_changed();
}

/* Its first launches went ahead long ago. */
void sampler_context_survived(uint64_t context)
{
	if (spy_gate_page.gate.gpu == SPY_GPU_SAMPLE)
		sampler_context_refuse(context);
}

void sampler_capture_begins(void)
{
	section_wait();
}
