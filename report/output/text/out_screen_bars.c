/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/base/units.h"
#include "report/output/text/out_screen.h"

#define BAR_LEAST  28u
#define BAR_MOST   100u
#define LEGEND     38u /* columns behind a bar */
#define PART_LEAST 0.005

/* Columns of a bar: what the legend leaves. */
static size_t columns_of(const struct text_layout *page)
{
	size_t taken = TEXT_LAYOUT_LABEL + 2 + LEGEND;
	size_t n = page->width > taken ? page->width - taken : 0;

	n = n < BAR_LEAST ? BAR_LEAST : n > BAR_MOST ? BAR_MOST : n;
	return page->width > TEXT_LAYOUT_LABEL + 20 + n ? n : 20;
}

static void label(struct text_layout *page, const char *text)
{
	fprintf(page->to, "%s%s%s%*s", text_layout_colour(page, TEXT_BOLD), text,
	        text_layout_colour(page, TEXT_PLAIN), TEXT_LAYOUT_LABEL - (int)strlen(text), "");
}

static void repeat(struct text_layout *page, enum text_colour colour, char letter, size_t count)
{
	if (!count)
		return;
	fputs(text_layout_colour(page, colour), page->to);
	for (size_t i = 0; i < count; i++)
		putc(letter, page->to);
	fputs(text_layout_colour(page, TEXT_PLAIN), page->to);
}

/* "0 %            50 %          100 %", its ends those of the bars. */
static void axis(const struct screen_report *r, size_t columns, struct text_layout *page)
{
	char time[UNIT_BYTES];
	const struct model *of = r->a->of;
	size_t half = columns / 2 - 5;

	label(page, "");
	fprintf(page->to, "0 %%%*s50 %%%*s100 %%  of %s, %s\n", (int)half, "",
	        (int)(columns - half - 3 - 4 - 5), "", of->phase ? r->s->judged : "the window",
	        unit_time_apart(time, of->phase ? r->s->judged_ns : of->host_window));
}

static size_t cells(double share, size_t columns)
{
	return share > 0 ? (size_t)(fmin(1, share) * (double)columns + 0.5) : 0;
}

static void gpu(const struct screen_report *r, size_t columns, struct text_layout *page)
{
	const struct model_gpu *g = &r->a->of->gpu;
	const struct model_gpu_busy *b = &g->busy;
	char busy[UNIT_BYTES];

	label(page, "GPU busy");
	if (!g->has_busy || !(b->window > 0)) {
		fprintf(page->to, "not known%s\n",
		        g->mode == TF_GPU_OFF ? " (CUDASPY_GPU=off)" : "");
		return;
	}
	double low = g->estimated ? b->low : b->busy, high = g->estimated ? b->high : b->busy;
	size_t sure = cells(low / b->window, columns), most = cells(high / b->window, columns);
	if (most == sure && g->estimated && high > low && most < columns)
		most++;
	repeat(page, TEXT_GREEN, '=', sure);
	repeat(page, TEXT_DIM, '~', most - sure);
	repeat(page, TEXT_PLAIN, ' ', columns - most);
	if (g->estimated) {
		char *range = summary_range_percent(low / b->window, high / b->window);
		fprintf(page->to, "  %s (estimated)\n", range);
		free(range);
	} else {
		fprintf(page->to, "  %s %%\n", unit_percent(busy, b->busy, b->window));
	}
}

struct part {
	double ns;
	char letter;
	enum text_colour colour;
	const char *what;
};

static int by_time(const void *a, const void *b)
{
	const struct part *x = a, *y = b;

	return x->ns > y->ns ? -1 : x->ns < y->ns;
}

/* What took most, as far as there is room. */
static void legend(struct part *parts, size_t count, double whole, size_t room,
                   struct text_layout *page)
{
	char share[UNIT_BYTES];
	const char *before = "  ";
	size_t used = 0;

	qsort(parts, count, sizeof(*parts), by_time);
	for (size_t i = 0; i < count && parts[i].ns >= PART_LEAST * whole; i++) {
		unit_percent(share, parts[i].ns, whole);
		char *dot = strchr(share, '.');
		if (dot && parts[i].ns >= 0.0995 * whole)
			snprintf(share, sizeof(share), "%.0f", 100 * parts[i].ns / whole);
		char *text = alloc_format("%s%c %s %s %%", before, parts[i].letter, parts[i].what,
		                          share);
		if (used + strlen(text) > room) {
			free(text);
			break;
		}
		fputs(text, page->to);
		used += strlen(text);
		before = ", ";
		free(text);
	}
	putc('\n', page->to);
}

static void host(const struct screen_report *r, size_t columns, struct text_layout *page)
{
	const struct model *m = r->a->of;
	const struct model_split *s = &m->host;
	struct part parts[] = {
	        {s->launch_api, 'L', TEXT_YELLOW, "launching"},
	        {s->sync, 'W', TEXT_RED, "waiting"},
	        {s->copy, 'C', TEXT_CYAN, "copying"},
	        {s->alloc, 'A', TEXT_CYAN, "allocating"},
	        {s->module, 'M', TEXT_CYAN, "loading code"},
	        {s->other, 'o', TEXT_CYAN, "other CUDA"},
	        {s->sampling, 'y', TEXT_DIM, "cudaspy"},
	        {s->outside, '.', TEXT_PLAIN, "not in CUDA"},
	};
	size_t count = sizeof(parts) / sizeof(parts[0]), at = 0;
	double whole = m->host_window, sum = 0;

	label(page, "host");
	if (!m->has_host || !(whole > 0)) {
		fputs("not known\n", page->to);
		return;
	}
	for (size_t i = 0; i < count; i++) {
		parts[i].ns = parts[i].ns > 0 ? parts[i].ns : 0;
		sum += parts[i].ns;
		size_t end = cells(sum / whole, columns);
		repeat(page, parts[i].colour, parts[i].letter, end > at ? end - at : 0);
		at = end > at ? end : at;
	}
	repeat(page, TEXT_PLAIN, ' ', columns - at);
	size_t taken = TEXT_LAYOUT_LABEL + columns;
	legend(parts, count, whole, page->width > taken ? page->width - taken : 0, page);
}

void out_screen_bars(const struct screen_report *r, struct text_layout *page)
{
	const struct model *of = r->a->of;
	size_t columns = columns_of(page);

	if (!(of->gpu.has_busy && of->gpu.busy.window > 0) &&
	    !(of->has_host && of->host_window > 0)) {
		text_layout_fact(page, "GPU, host", "what they did is not known");
		return;
	}
	axis(r, columns, page);
	gpu(r, columns, page);
	host(r, columns, page);
}
