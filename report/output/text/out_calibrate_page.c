/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "report/base/alloc.h"
#include "report/base/text_table.h"
#include "report/base/units.h"
#include "report/model/model_gpu_types.h"
#include "report/output/out_calibrate.h"

static void device(const struct calibrate_result *r, struct text_layout *page)
{
	const struct kernel_times_device *d = &r->device;

	text_layout_heading(page, "GPU %u: %s", d->index, d->name);
	text_layout_fact(page, "driver", "%s%sof CUDA %u.%u%s",
	                 r->driver_text ? r->driver_text : "", r->driver_text ? ", " : "",
	                 d->driver / 1000, d->driver % 1000 / 10,
	                 d->simulated ? "; simulated GPU" : "");
	if (r->clock_khz)
		text_layout_fact(page, "clock", "%u MHz at most", r->clock_khz / 1000);
}

static void figures(const struct calibrate_result *r, struct text_layout *page)
{
	const struct calibrate_figure *f = &r->figure;
	const struct calibrate_before *b = &r->before;
	char null[UNIT_BYTES], low[UNIT_BYTES], high[UNIT_BYTES], off[UNIT_BYTES], date[UNIT_BYTES];

	text_layout_fact(page, "before", "an empty kernel %s +- %s: %s%s%.10s",
	                 unit_time_apart(null, b->null_kernel), unit_time_apart(off, b->off),
	                 model_kind_source_names[b->source], isfinite(b->calibrated) ? " on " : "",
	                 isfinite(b->calibrated) ? unit_date(date, b->calibrated) : "");
	text_layout_fact(page, "now", "an empty kernel %s +- %s; by CUPTI %s to %s in %d runs",
	                 unit_time_apart(null, f->null_kernel), unit_time_apart(off, f->off),
	                 unit_time_apart(low, f->null_low), unit_time_apart(high, f->null_high),
	                 CALIBRATE_ROUNDS);
}

/* "+12ns"; never "-0ns". */
static void off_cell(struct text_layout_table *t, double ns)
{
	table_cell(t, "%+.0fns", fabs(ns) < 0.5 ? 0 : ns);
}

static void kinds(const struct calibrate_figure *f, struct text_layout *page)
{
	static const struct text_layout_column columns[] = {{"CUPTI", false}, {"by pairs", false},
	                                                    {"off", false},   {"worst run", false},
	                                                    {"pairs", false}, {"kernel", true}};
	struct text_layout_table t;
	char text[UNIT_BYTES];

	table_start(&t, columns, sizeof(columns) / sizeof(columns[0]));
	for (int i = 0; i < CALIBRATE_KINDS; i++) {
		table_cell(&t, "%s", unit_time(text, f->kinds[i].exact));
		table_cell(&t, "%s", unit_time(text, f->kinds[i].pairs));
		off_cell(&t, f->kinds[i].off);
		off_cell(&t, f->kinds[i].worst);
		table_cell(&t, "%llu", (unsigned long long)f->kinds[i].samples);
		table_cell(&t, "%s", calibrate_kinds[i].text);
	}
	table_print(&t, page);
}

void out_calibrate_text(const struct out_calibrated *c, FILE *to)
{
	struct text_layout page = {.to = to, .colour = c->colour, .width = c->width};

	for (size_t i = 0; i < c->count; i++) {
		device(&c->results[i], &page);
		figures(&c->results[i], &page);
		text_layout_blank(&page);
		kinds(&c->results[i].figure, &page);
		text_layout_blank(&page);
	}
	if (c->stored)
		text_layout_line(&page, "Stored in %s; recordings from now on go by it.", c->path);
	else
		text_layout_line(&page, "Nothing is stored; without --dry-run it would be, in %s.",
		                 c->path);
}
