/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/output/text/out_page.h"
#include "report/base/units.h"

#define LABEL 12 /* columns in front of a line */

/* From idle to busy; what is not covered is blank. */
static const char levels[] = "_.:-=+*#%@";

static char level_of(double share)
{
	int top = (int)sizeof(levels) - 2;

	if (!(share > 0.005))
		return levels[0];
	int level = 1 + (int)(share * top);
	return levels[level < top ? level : top];
}

/* The slices of one column: columns are fewer than slices, or slices are drawn wider. */
static size_t first_slice(const struct overview *p, size_t column, size_t columns)
{
	return column * p->count / columns;
}

static char *busy_line(const struct overview *p, const struct overview_device *d, size_t columns)
{
	char *line = alloc_zeroed(columns + 1, 1);

	for (size_t c = 0; c < columns; c++) {
		double busy = 0, covered = 0;
		size_t i = first_slice(p, c, columns), end = first_slice(p, c + 1, columns);
		do {
			busy += d->busy[i];
			covered += d->covered[i];
		} while (++i < end);
		line[c] = covered > 0 ? level_of(busy / covered) : ' ';
	}
	return line;
}

static const char host_letters[TF_HOSTS] = {
        [TF_HOST_LAUNCH] = 'L',      [TF_HOST_BACK_PRESSURE] = 'B', [TF_HOST_CONTENTION] = 'K',
        [TF_HOST_SYNC_USEFUL] = 'S', [TF_HOST_SYNC_WASTED] = 'W',   [TF_HOST_COPY] = 'C',
        [TF_HOST_ALLOC] = 'A',       [TF_HOST_MODULE] = 'M',        [TF_HOST_OTHER] = 'o',
        [TF_HOST_OUTSIDE] = '.',     [TF_HOST_OWN] = 'y',
};

/* What the host did most of the time. */
static char *host_line(const struct overview *p, size_t columns)
{
	char *line = alloc_zeroed(columns + 1, 1);

	for (size_t c = 0; c < columns; c++) {
		double ns[TF_HOSTS] = {0};
		size_t i = first_slice(p, c, columns), end = first_slice(p, c + 1, columns);
		int most = 0;
		do {
			for (int k = 0; k < TF_HOSTS; k++)
				ns[k] += p->host[i][k];
		} while (++i < end);
		for (int k = 1; k < TF_HOSTS; k++)
			most = ns[k] > ns[most] ? k : most;
		line[c] = ns[most] > 0 ? host_letters[most] : ' ';
	}
	return line;
}

static void put_line(struct text_layout *page, const char *label, char *line)
{
	fprintf(page->to, "  %-*.*s%s\n", LABEL - 2, LABEL - 2, label, line);
	free(line);
}

/* Which phase most of a column is. */
static char *phase_line(const struct model *m, const struct overview *p, size_t columns)
{
	static const char names[] = "123456789*";
	char *line = alloc_zeroed(columns + 1, 1);
	double *most = alloc_zeroed(columns + 1, sizeof(*most)), *sum = NULL;

	memset(line, ' ', columns);
	for (size_t i = 0; i < m->phases.count; i++) {
		const struct model_phase *row = &m->phases.rows[i];
		free(sum);
		sum = alloc_zeroed(columns + 1, sizeof(*sum));
		for (size_t k = 0; k < row->parts[0].stretch_count; k++) {
			double start = p->window - p->origin + row->parts[0].stretches[k].start,
			       end = p->window - p->origin + row->parts[0].stretches[k].end,
			       width = (double)p->count * p->width / (double)columns;
			for (size_t c = (size_t)fmax(0, start / width);
			     c < columns && (double)c * width < end; c++)
				sum[c] += fmin(end, (double)(c + 1) * width) -
				          fmax(start, (double)c * width);
		}
		for (size_t c = 0; c < columns; c++) {
			if (!(sum[c] > most[c]))
				continue;
			most[c] = sum[c];
			line[c] = row->kind == PHASE_START ? 's'
			          : row->kind == PHASE_END
			                  ? 'e'
			                  : names[row->number < 10 ? row->number - 1 : 9];
		}
	}
	free(sum);
	free(most);
	return line;
}

static void put_overview(const struct model *m, const struct overview *p, struct text_layout *page)
{
	size_t columns = page->width - LABEL;
	char label[32];

	for (size_t i = 0; i < p->device_count; i++) {
		snprintf(label, sizeof(label), "GPU %u", p->devices[i].index);
		put_line(page, label, busy_line(p, &p->devices[i], columns));
	}
	if (p->host)
		put_line(page, "host", host_line(p, columns));
	if (m->phases.count)
		put_line(page, "phase", phase_line(m, p, columns));
}

void out_page_overview(const struct model *m, struct text_layout *page)
{
	const struct overview *p = m->process_count == 1 ? &m->processes[0].overview : NULL;
	char whole[UNIT_BYTES], column[UNIT_BYTES];

	if (page->markdown || !p || !p->count || (!p->device_count && !p->host))
		return;
	double ns = (double)p->count * p->width;
	bool range = m->processes[0].range_mode != TF_RANGE_ALL && p->origin >= p->window;
	const char *what = range           ? "The range"
	                   : p->origin > 0 ? "The run from cuInit on"
	                                   : "The run";
	text_layout_heading(page, "%s, %s from left to right (a column: %s)", what,
	                    unit_time(whole, ns),
	                    unit_time(column, ns / (double)(page->width - LABEL)));
	put_overview(m, p, page);
	text_layout_line(
	        page,
	        "GPU: from _ (idle) by . : - = + * # %% to @ (busy)%s. host, what it did most: L "
	        "launching, B launching into a full queue, K launching while a lock was held, S "
	        "waiting while the GPU had work, W waiting while it had none, C copying, A "
	        "allocating, M loading code, o other CUDA calls, . outside CUDA, y cudaspy.%s",
	        m->gpu.estimated ? ", estimated" : "",
	        m->phases.count ? " phase: s start-up, 1 2 3 ... loops, e the end." : "");
}
