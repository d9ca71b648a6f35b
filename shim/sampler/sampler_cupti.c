/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/sampler/sampler_cupti.h"

#include "shim/base/gate.h"
#include "shim/sampler/sampler_class.h"
#include "shim/sampler/sampler_kernel.h"
#include "shim/sampler/sampler_section.h"
#include "shim/sampler/sampler_thread.h"

/* Questions that one thread may ask: with more classes than places in its table the same ones would
 * seem new again and again. */
#define ASKED_MOST (2 * SAMPLER_CLASSES)

static void ask_here(const void *function, const struct tf_record *r)
{
	CUstreamCaptureMode mode;
	CUdevice device;

	if (!section_enter(&mode))
		return;
	if (sampler_cu.get_device(&device) == CUDA_SUCCESS)
		kernel_ask(sampler_warps_per_sm(device), function, r);
	section_leave(&mode);
}

static bool is_new(const struct spy_span *s, uint64_t key, const void *what)
{
	struct sampler *m = spy_tls.thread && sampler_driver_found() ? sampler_mine() : NULL;

	if (!m)
		return false;
	m->met = NULL; /* else of a call that never returned */
	if (!key || !what || s->cls != SPY_CLASS_LAUNCH || m->asked == ASKED_MOST ||
	    class_find(m->classes, key))
		return false;
	class_place(m->classes, key, &m->random);
	m->asked++;
	m->met = s;
	m->function = what;
	return true;
}

/* Where CUPTI times every piece of work, one in so many has its call site taken, on average. */
#define SITE_EVERY 64u

static void take_site(struct spy_span *o)
{
	static __thread struct {
		uint32_t until;
		uint64_t random;
	} mine __attribute__((tls_model("initial-exec")));

	if (!spy_gate_page.gate.site_from || (mine.until && --mine.until))
		return;
	bool first = !mine.random;
	mine.random =
	        (mine.random + (uintptr_t)&mine) * 6364136223846793005u + 1442695040888963407u;
	mine.until = 1 + (uint32_t)(mine.random >> 33) % (2 * SITE_EVERY - 1);
	if (!first)
		o->unusual |= SPAN_SITE;
}

void sampler_cupti_before(struct spy_span *s, uint64_t key, const void *what)
{
	if (is_new(s, key, what))
		s->gpu = SPY_GPU_CUPTI;
	take_site(spy_outer());
}

void sampler_cupti_after(const struct spy_span *s, CUresult rc)
{
	struct sampler *m = spy_tls.sampler;
	struct spy_span *o = spy_outer();

	if (!m || m->met != s)
		return;
	m->met = NULL;
	/* Inside another kind of call the record is of no launch. */
	if (rc != CUDA_SUCCESS || !spy_recording(o) || o->cls != s->cls ||
	    (o->rec->flags & (TF_NO_ARGS | TF_CAPTURED)))
		return;
	/* This counts in the call's time: its start must not move, CUPTI's records are matched by
	 * it. */
	ask_here(m->function, o->rec);
}
