/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/base/units.h"
#include "report/output/text/out_page.h"

void out_page_count(struct text_layout_table *t, double count)
{
	if (isfinite(count))
		table_cell(t, "%.0f", count);
	else
		table_cell(t, "n/a");
}

void out_page_time(struct text_layout_table *t, double ns)
{
	char text[UNIT_BYTES];

	table_cell(t, "%s", unit_time(text, ns));
}

void out_page_percent(struct text_layout_table *t, double part, double whole)
{
	char text[UNIT_BYTES];

	table_cell(t, "%s", unit_percent(text, part, whole));
}

void out_page_gpu_cells(struct text_layout_table *t, const struct model_gpu_time *time)
{
	char text[UNIT_BYTES];
	double half = fmax(time->high - time->total, time->total - time->low);

	if (time->total <= 0 && time->high > 0) { /* too short to be told from what a pair costs */
		table_cell(t, "<%s", unit_time(text, time->high));
		out_page_percent(t, NAN, time->total);
		return;
	}
	unit_time(text, time->total);
	table_cell(t, "%s%s", time->known < OUT_KNOWN_ENOUGH && isfinite(time->total) ? ">" : "",
	           text);
	if (half > time->total)
		table_cell(t, ">100");
	else
		out_page_percent(t, isfinite(time->total) ? half : NAN, time->total);
}

const char *out_page_name(const struct model_kernel *k, enum out_names names)
{
	if (names == NAMES_MANGLED)
		return k->mangled ? k->mangled : k->name;
	return names == NAMES_FULL ? k->name : k->brief;
}

const char *out_page_name_of(const struct model *m, const char *name, enum out_names names)
{
	for (size_t i = 0; i < m->kernel_count; i++)
		if (!strcmp(m->kernels[i].name, name))
			return out_page_name(&m->kernels[i], names);
	return name;
}

void out_page_rest(struct text_layout *page, size_t shown, size_t all, const char *what)
{
	const size_t rest = shown < all ? all - shown : 0;

	if (rest)
		text_layout_line(page, "%zu more %.*s not shown (--limit all)", rest,
		                 (int)(strlen(what) - (rest == 1)), what);
}

char *out_page_bar(double part, double whole, size_t most)
{
	double share = whole > 0 ? part / whole : 0;
	size_t columns = share > 0 ? (size_t)(fmin(1, share) * (double)most + 0.5) : 0;
	char *bar = alloc_zeroed(most + 1, 1);

	memset(bar, '=', columns);
	return bar;
}
