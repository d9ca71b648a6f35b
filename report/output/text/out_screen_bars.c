/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/base/units.h"
#include "report/output/text/out_screen.h"

#define BAR_LEAST  20u
#define BAR_MOST   100u
#define LEGEND     38u /* columns behind a bar */
#define PART_LEAST 0.005
#define NEARLY_ALL 0.98 /* of the phase: that is judged */

/* Below this the bars are as wide as the page, and their legends stand under them. */
#define NARROW (TEXT_LAYOUT_LABEL + BAR_LEAST + 28u)

/* Columns of a bar: what the legend leaves. */
static size_t columns_of(const struct text_layout *page)
{
	size_t taken = TEXT_LAYOUT_LABEL + (page->width < NARROW ? 0 : 2 + LEGEND);
	size_t n = page->width > taken ? page->width - taken : 0;

	return n < BAR_LEAST ? BAR_LEAST : n > BAR_MOST ? BAR_MOST : n;
}

/* What stands behind a bar; under it where the page is too narrow. */
static void behind(struct text_layout *page, size_t columns, const char *text)
{
	if (TEXT_LAYOUT_LABEL + columns + 2 + strlen(text) <= page->width) {
		fprintf(page->to, "  %s\n", text);
		return;
	}
	putc('\n', page->to);
	text_layout_more(page, "%s", text);
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

	/* Steps in which it still warms up are not judged. */
	double judged = of->phase ? of->host_window / (double)of->phase->part_count : 0;

	label(page, "");
	char *whole =
	        !of->phase
	                ? alloc_format("of the window, %s", unit_time_apart(time, of->host_window))
	        : judged > 0 && judged < NEARLY_ALL * r->s->judged_ns
	                ? alloc_format("of %s of %s", unit_time_apart(time, judged), r->s->judged)
	                : alloc_format("of %s, %s", r->s->judged,
	                               unit_time_apart(time, r->s->judged_ns));
	fprintf(page->to, "0 %%%*s50 %%%*s100 %%", (int)half, "", (int)(columns - half - 3 - 4 - 5),
	        "");
	behind(page, columns, whole);
	free(whole);
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
		char *text = alloc_format("%s (estimated)", range);
		behind(page, columns, text);
		free(text);
		free(range);
	} else {
		char *text = alloc_format("%s %%", unit_percent(busy, b->busy, b->window));
		behind(page, columns, text);
		free(text);
	}
}

struct part {
	double ns;
	size_t cells; /* of the bar */
	char letter;
	enum text_colour colour;
	const char *what;
};

static int by_time(const void *a, const void *b)
{
	const struct part *x = a, *y = b;

	return x->ns > y->ns ? -1 : x->ns < y->ns;
}

/* The part with most columns; of equals the first. */
static struct part *widest(struct part *parts, size_t count)
{
	struct part *most = &parts[0];

	for (size_t i = 1; i < count; i++)
		most = parts[i].cells > most->cells ? &parts[i] : most;
	return most;
}

/* Each part has the columns that it takes, rounded; the widest give way, so that all fill the bar
 * as far as they fill the time, so many columns. A damaged recording may have parts that are longer
 * than all. */
static size_t share_out(struct part *parts, size_t count, double whole, size_t columns)
{
	double sum = 0;
	size_t taken = 0;

	for (size_t i = 0; i < count; i++) {
		parts[i].ns = parts[i].ns > 0 ? parts[i].ns : 0;
		parts[i].cells = cells(parts[i].ns / whole, columns);
		sum += parts[i].ns;
		taken += parts[i].cells;
	}
	size_t all = cells(sum / whole, columns);
	for (; taken > all; taken--)
		widest(parts, count)->cells--;
	widest(parts, count)->cells += all - taken;
	return all;
}

static void put_legend(struct text_layout *page, size_t columns, bool under, bool first,
                       const char *text)
{
	if (!under)
		fprintf(page->to, "%*s%s\n", first ? 2 : (int)(TEXT_LAYOUT_LABEL + columns + 2), "",
		        text);
	else
		fprintf(page->to, "%s%*s%s\n", first ? "\n" : "", TEXT_LAYOUT_LABEL, "", text);
}

/* "L launching 32 %" (free it). */
static char *explained(const struct part *p, double whole)
{
	char share[UNIT_BYTES];

	unit_percent(share, p->ns, whole);
	if (strchr(share, '.') && p->ns >= 0.0995 * whole)
		snprintf(share, sizeof(share), "%.0f", 100 * p->ns / whole);
	return alloc_format("%c %s %s %%", p->letter, p->what, share);
}

/* Every letter of the bar, the longest first, on lines of `room` columns; then what has none, as
 * far as the last line has room. */
static void legend(struct part *parts, size_t count, double whole, size_t columns,
                   struct text_layout *page)
{
	size_t taken = TEXT_LAYOUT_LABEL + columns + 2;
	bool under = page->width < taken + LEGEND;
	size_t room = under ? page->width - TEXT_LAYOUT_LABEL : page->width - taken;
	char *line = alloc_string("");
	bool first = true;

	qsort(parts, count, sizeof(*parts), by_time);
	for (size_t i = 0; i < count && parts[i].ns >= PART_LEAST * whole; i++) {
		char *text = explained(&parts[i], whole);
		bool fits = strlen(line) + 2 + strlen(text) < room; /* a comma may follow */
		if (!fits && !parts[i].cells) {
			free(text);
			break;
		}
		if (!fits) {
			alloc_append(&line, ",");
			put_legend(page, columns, under, first, line);
			line[0] = 0;
			first = false;
		}
		alloc_append(&line, "%s%s", *line ? ", " : "", text);
		free(text);
	}
	put_legend(page, columns, under, first, line);
	free(line);
}

/* Of the time outside CUDA: what goes with the launches, where these are what is wrong. */
static double between_launches(const struct screen_report *r)
{
	const struct verdict *v = &r->a->verdict;
	bool launches = v->first == VERDICT_LAUNCH ||
	                (v->cls == VERDICT_MIXED && v->second == VERDICT_LAUNCH);

	return launches ? fmin(v->between * r->a->of->host_window, r->a->of->host.outside) : 0;
}

static void host(const struct screen_report *r, size_t columns, struct text_layout *page)
{
	const struct model *m = r->a->of;
	const struct model_split *s = &m->host;
	double between = between_launches(r);
	struct part parts[] = {
	        {s->launch_api, 0, 'L', TEXT_YELLOW, "launching"},
	        {between, 0, ':', TEXT_YELLOW, "between calls"},
	        {s->sync, 0, 'W', TEXT_RED, "waiting"},
	        {s->copy, 0, 'C', TEXT_CYAN, "copying"},
	        {s->alloc, 0, 'A', TEXT_CYAN, "allocating"},
	        {s->module, 0, 'M', TEXT_CYAN, "loading code"},
	        {s->other, 0, 'o', TEXT_CYAN, "other CUDA"},
	        {s->sampling, 0, 'y', TEXT_DIM, "cudaspy"},
	        {s->outside - between, 0, '.', TEXT_PLAIN, between > 0 ? "other" : "not in CUDA"},
	};
	size_t count = sizeof(parts) / sizeof(parts[0]);
	double whole = m->host_window;

	label(page, "host");
	if (!m->has_host || !(whole > 0)) {
		fputs("not known\n", page->to);
		return;
	}
	size_t filled = share_out(parts, count, whole, columns);
	for (size_t i = 0; i < count; i++)
		repeat(page, parts[i].colour, parts[i].letter, parts[i].cells);
	repeat(page, TEXT_PLAIN, ' ', columns - filled);
	legend(parts, count, whole, columns, page);
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
