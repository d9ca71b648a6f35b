/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "report/base/alloc.h"
#include "report/output/text/out_page.h"
#include "report/base/units.h"

/* "120 launches, 3 a step, 34.5 % of GPU time" (free it). Where they are no whole number a step
 * some were made outside of the loop. */
static char *figures(uint64_t launches, double per_step, double share)
{
	char percent[UNIT_BYTES], count[UNIT_BYTES];
	const char *by = per_step == rint(per_step) ? "" : ", counting all of the run";
	char *each = isfinite(per_step)
	                     ? alloc_format(", %s a step%s", unit_count(count, per_step), by)
	                     : alloc_string("");
	char *text = isfinite(share) ? alloc_format("%llu launches%s, %s %% of GPU time",
	                                            (unsigned long long)launches, each,
	                                            unit_percent(percent, share, 1))
	                             : alloc_format("%llu launches%s, GPU time n/a",
	                                            (unsigned long long)launches, each);

	free(each);
	return text;
}

static void list(const struct model *m, const struct model_kernel *const *kernels, size_t count,
                 const char *label, const struct out_options *o, struct text_layout *page)
{
	for (size_t i = 0; i < count && i < EXPECT_SHOWN; i++) {
		const struct model_kernel *k = kernels[i];
		char *what = figures(k->launches, expect_per_step(m, k),
		                     k->gpu.total / m->gpu.all.total);
		text_layout_fact(page, label, "%s: %s", out_page_name(k, o->names), what);
		free(what);
	}
	if (count > EXPECT_SHOWN)
		text_layout_fact(page, label, "and %zu more kernel%s", count - EXPECT_SHOWN,
		                 count - EXPECT_SHOWN == 1 ? "" : "s");
}

void out_page_expect(const struct model *m, const struct out_options *o, struct text_layout *page)
{
	if (o->expectation_count)
		text_layout_heading(page, "Expected kernels");
	for (size_t i = 0; i < o->expectation_count; i++) {
		const char *pattern = o->expectations[i].pattern;
		struct expect_found x;
		expect_find(m, &o->expectations[i], &x);
		if (!x.known) {
			text_layout_alarm(page, "not known",
			                  "%s: whether a kernel of that name ran", pattern);
		} else if (x.ran) {
			char *what = figures(x.launches, NAN, x.gpu_share);
			text_layout_fact(page, "ran", "%s: %s", pattern, what);
			free(what);
			list(m, x.matches, x.match_count, "as", o, page);
		} else {
			text_layout_alarm(page, "NEVER RAN", "%s: no kernel of that name ran%s",
			                  pattern,
			                  x.other_count ? "; these did" : ", nor any other");
			list(m, x.others, x.other_count, "instead", o, page);
		}
		if (x.note)
			text_layout_fact(page, x.known ? "but" : "since", "%s", x.note);
		expect_found_free(&x);
	}
}
