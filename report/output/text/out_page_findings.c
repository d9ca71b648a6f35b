/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>

#include "report/base/alloc.h"
#include "report/base/names.h"
#include "report/base/units.h"
#include "report/output/text/out_page.h"

/* ", predicted speed-up 1.8 (1.5 to 2.1)" (free it) */
static char *gain(const struct finding *f)
{
	if (!isfinite(f->speedup))
		return alloc_string("");
	return alloc_format(", predicted speed-up %.2f (%.2f to %.2f)", f->speedup, f->speedup_low,
	                    f->speedup_high);
}

/* What comes ahead of the line `where`, or between that and another one. */
static void ahead(const struct finding *f, const char *where, const char *source,
                  struct text_layout *page)
{
	const char *api = name_call(f->site->api), *thread = f->site->thread;
	char share[UNIT_BYTES],
	        *line = source ? alloc_format(": %s", source) : alloc_string(""),
	        *own = f->since ? alloc_string("") : alloc_format("%s (%s)", line, api),
	        *end = f->since ? alloc_format(" It ends with %s%s%s%s.", api,
	                                       thread ? " of thread " : "", thread ? thread : "",
	                                       line)
	                        : alloc_string("");

	text_layout_more(
	        page,
	        "%c%s%s: %s %% of that thread's time outside CUDA, as far as the line that "
	        "comes next is known.%s",
	        toupper((unsigned char)where[0]), where + 1, own,
	        unit_percent(share, f->place_share, 1), end);
	free(line);
	free(own);
	free(end);
}

/* The line of code that it is about. */
static void place_of(const struct finding *f, struct text_layout *page)
{
	char api[UNIT_BYTES], wasted[UNIT_BYTES], share[UNIT_BYTES];
	const struct model_place *p = f->place;

	if (!p)
		return;
	char *where = f->ahead ? site_ahead(f->site, f->since, f->until, true, true)
	                       : site_where(f->site, true);
	char *source =
	        f->site->frame_count ? out_page_source(&f->site->frames[f->site->head]) : NULL;
	char *lost = f->site->kind == SITE_WAIT && isfinite(p->wasted)
	                     ? alloc_format(", of which %s wasted", unit_time(wasted, p->wasted))
	                     : alloc_string("");
	if (f->ahead)
		ahead(f, where, source, page);
	else
		text_layout_more(page,
		                 "At %s%s%s: %s, %s%.0f times, %s%s in the run; %s %% of the %s of "
		                 "such calls "
		                 "whose line is known.",
		                 where, source ? ": " : "", source ? source : "",
		                 name_call(f->site->api),
		                 p->estimated ? "about "
		                 : p->whole   ? ""
		                              : "at least ",
		                 p->calls, unit_time(api, p->api_time), lost,
		                 unit_percent(share, f->place_share, 1), f->place_measure);
	free(source);
	free(where);
	free(lost);
}

void out_page_findings(const struct model *m, const struct findings *all,
                       const struct model_phase *phase, struct text_layout *page)
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
		place_of(f, page);
		text_layout_more(page, "CUDA: %s. %s: %s.", f->fix_cuda, f->framework, f->fix);
		free(speedup);
	}
}
