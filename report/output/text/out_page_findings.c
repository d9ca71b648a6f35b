/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "report/base/alloc.h"
#include "report/output/text/out_page.h"

/* ", predicted speed-up 1.8 (1.5 to 2.1)" (free it) */
static char *gain(const struct finding *f)
{
	if (!isfinite(f->speedup))
		return alloc_string("");
	return alloc_format(", predicted speed-up %.2f (%.2f to %.2f)", f->speedup, f->speedup_low,
	                    f->speedup_high);
}

void out_page_findings(const struct findings *all, const struct model_phase *phase,
                       struct text_layout *page)
{
	if (!all->count)
		return;
	text_layout_heading(page, "Findings (the most severe first; speed-ups are of %s)",
	                    out_page_judged(phase));
	for (size_t i = 0; i < all->count; i++) {
		const struct finding *f = &all->items[i];
		char *speedup = gain(f);
		(f->severity == SEVERITY_HIGH ? text_layout_alarm : text_layout_fact)(
		        page, finding_severities[f->severity], "%s [%s]%s", f->title, f->id,
		        speedup);
		text_layout_more(page, "%s", f->evidence);
		text_layout_more(page, "CUDA: %s. PyTorch: %s.", f->fix_cuda, f->fix_pytorch);
		free(speedup);
	}
}
