/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/output/text/out_page_shares.h"
#include "report/base/units.h"

#define COUNT(array)  (sizeof(array) / sizeof((array)[0]))
#define UNTIMED_SHOWN 3

/* How GPU time came to be known, or why it is not. */
static void heading(const struct model *m, const struct out_shares *shares,
                    struct text_layout *page)
{
	const struct model_gpu *gpu = &m->gpu;
	char window[UNIT_BYTES], *judged = out_shares_base(shares);
	double whole = gpu->has_busy ? gpu->busy.window : m->window;
	bool several = whole > m->window * 1.001;

	text_layout_heading(page, "GPU (%s; %%win: %% of the window%s, %s%s)",
	                    gpu->estimated ? "estimated from samples, with 95 % intervals"
	                                   : "exact, by CUPTI",
	                    several ? "s of all devices and processes, added up" : "",
	                    unit_time(window, whole), judged);
	free(judged);
}

/* "13.9 to 18.2 %" */
static char *busy_range(const struct model_gpu_busy *b)
{
	char low[UNIT_BYTES], high[UNIT_BYTES];

	return alloc_format("%s to %s %%", unit_percent(low, b->low, b->window),
	                    unit_percent(high, b->high, b->window));
}

/* Where the window went: busy, then idle by cause; the rows below "idle" sum to it. `j`: the same
 * of what is judged. */
static void busy_table(const struct model_gpu *gpu, const struct model_gpu_busy *j,
                       struct out_shares *shares, struct text_layout *page)
{
	static const char *const causes[TF_IDLES] = {
	        [TF_IDLE_LAUNCH] = "  idle: launching, and on the way to the GPU",
	        [TF_IDLE_SYNC] = "  idle: the host was waiting",
	        [TF_IDLE_COPY] = "  idle: the host was in a copy call",
	        [TF_IDLE_ALLOC] = "  idle: the host was allocating or freeing",
	        [TF_IDLE_MODULE] = "  idle: the host was loading code",
	        [TF_IDLE_OUTSIDE] = "  idle: the host was outside CUDA",
	        [TF_IDLE_DEPENDENCY] = "  idle: work waited for other work",
	        [TF_IDLE_UNKNOWN] = "  idle: cause unknown",
	        [TF_IDLE_OWN] = "  idle: cudaspy took a sample or stack",
	};
	const struct model_gpu_busy *b = &gpu->busy;
	const bool both = shares->phase && gpu->estimated;
	char *range = busy_range(b);
	struct text_layout_table t;

	out_shares_table(shares, "the GPU was", &t);
	char *busy = both || !gpu->estimated ? alloc_string(both ? "busy: estimated" : "busy")
	                                     : alloc_format("busy: estimated, %s", range);
	out_shares_row(shares, &t, b->busy, j->busy, busy);
	free(busy);
	if (b->comm > 0)
		out_shares_row(shares, &t, b->comm, j->comm,
		               "  of it: communication kernels alone");
	out_shares_row(shares, &t, b->idle, j->idle, gpu->estimated ? "idle: estimated" : "idle");
	for (int i = 0; i < TF_IDLES; i++)
		if (b->by[i] > 0 || j->by[i] > 0)
			out_shares_row(shares, &t, b->by[i], j->by[i], causes[i]);
	table_print(&t, page);
	if (both) {
		char *judged = busy_range(j), *which = out_shares_judged(shares);
		text_layout_line(page, "Busy, with its interval: %s of the window, %s of %s.",
		                 range, judged, which);
		free(judged);
		free(which);
	}
	free(range);
}

static void devices_table(const struct model_gpu *gpu, struct text_layout *page)
{
	static const struct text_layout_column columns[] = {
	        {"device", false}, {"busy", false}, {"%win", false},
	        {"low", false},    {"high", false}, {"comm", false},
	        {"idle", false},   {"", true},      {"name", true}};
	struct text_layout_table t;
	size_t known = 0;

	for (size_t i = 0; i < gpu->device_count; i++)
		known += gpu->devices[i].known;
	if (known < 2)
		return;
	table_start(&t, columns, COUNT(columns));
	for (size_t i = 0; i < gpu->device_count; i++) {
		const struct model_gpu_device *d = &gpu->devices[i];
		const struct model_gpu_busy *b = &d->time;
		if (!d->known)
			continue;
		char *bar = out_page_bar(b->busy, b->window, OUT_BAR);
		table_cell(&t, "%u", d->index);
		out_page_time(&t, b->busy);
		out_page_percent(&t, b->busy, b->window);
		out_page_percent(&t, b->low, b->window);
		out_page_percent(&t, b->high, b->window);
		out_page_time(&t, b->comm);
		out_page_time(&t, b->idle);
		table_cell(&t, "%s", bar);
		table_cell(&t, "%s", d->name ? d->name : "unknown");
		free(bar);
	}
	table_print(&t, page);
}

/* What two processes ran at once on one device counts for both. */
static void shared_devices(const struct model_gpu *gpu, struct text_layout *page)
{
	for (size_t i = 0; i < gpu->device_count; i++)
		if (gpu->devices[i].processes > 1)
			text_layout_line(
			        page,
			        "Device %u was used by %u processes: each has its own window, and "
			        "what they ran at once counts for each.",
			        gpu->devices[i].index, gpu->devices[i].processes);
}

static void overlap(const struct model_gpu_busy *b, struct text_layout *page)
{
	char got[UNIT_BYTES], could[UNIT_BYTES], share[UNIT_BYTES];

	if (b->possible > 0)
		text_layout_line(
		        page,
		        "Copies ran beside kernels for %s of the %s in which they could have "
		        "(%s %%).",
		        unit_time_apart(got, b->overlap), unit_time_apart(could, b->possible),
		        unit_percent(share, b->overlap, b->possible));
}

/* "pageable HtoD copies of about 64.0KiB", "memsets of about 4.00KiB": kinds of these differ in
 * size (free it). */
static char *sized_text(uint32_t kind, uint8_t direction, uint8_t memory, uint64_t bytes,
                        uint64_t count)
{
	double each = (double)bytes / (double)count;
	char size[UNIT_BYTES];

	if (kind == TF_WORK_COPY && direction < SPY_DIR_COUNT && memory < SPY_MEM_COUNT)
		return alloc_format("%s %s copies of about %s", model_memory_names[memory],
		                    model_direction_names[direction], unit_bytes(size, each));
	return alloc_format("%s%ss of about %s", kind == TF_WORK_SET ? "mem" : "",
	                    model_work_name(kind), unit_bytes(size, each));
}

/* "vector_add 64,1,1 x 256,1,1 (12.5 %)" */
static char *untimed_text(const struct model *m, const struct model_untimed *u,
                          enum out_names names)
{
	const struct model_gpu *gpu = &m->gpu;
	char share[UNIT_BYTES];
	const char *name = u->name ? out_page_name_of(m, u->name, names) : NULL;
	char *text;

	unit_percent(share, (double)u->count, gpu->all.sum.pieces);
	if (name)
		text = alloc_format("%s %u,%u,%u x %u,%u,%u (%s %%)", name, u->grid[0], u->grid[1],
		                    u->grid[2], u->block[0], u->block[1], u->block[2], share);
	else if (u->kind == TF_WORK_GRAPH)
		text = alloc_format("%s %#llx (%s %%)", u->alike ? "graphs like" : "graph",
		                    (unsigned long long)u->handle, share);
	else {
		char *sized = sized_text(u->kind, u->direction, u->memory, u->bytes, u->count);
		text = alloc_format("%s (%s %%)", sized, share);
		free(sized);
	}
	return text;
}

static int by_count(const void *a, const void *b)
{
	const struct model_untimed *x = a, *y = b;

	return x->count > y->count ? -1 : x->count < y->count;
}

static void untimed(const struct model *m, const struct out_options *o, struct text_layout *page)
{
	const struct model_gpu *gpu = &m->gpu;
	char share[UNIT_BYTES];
	char *list = alloc_string("");
	struct model_untimed largest[UNTIMED_MOST];

	memcpy(largest, gpu->untimed, gpu->untimed_count * sizeof(*largest));
	qsort(largest, gpu->untimed_count, sizeof(*largest), by_count);
	for (size_t i = 0; i < gpu->untimed_count && i < UNTIMED_SHOWN; i++) {
		char *one = untimed_text(m, &largest[i], o->names);
		alloc_append(&list, "%s %s", i ? "," : "", one);
		free(one);
	}
	text_layout_line(
	        page,
	        "Never sampled, so missing from GPU times: %.0f kind%s of work, %s %% of all "
	        "pieces of work:%s%s",
	        gpu->untimed_classes, gpu->untimed_classes > 1 ? "s" : "",
	        unit_percent(share, gpu->untimed_pieces, gpu->all.sum.pieces), list,
	        gpu->untimed_classes > UNTIMED_SHOWN ? ", ..." : ".");
	free(list);
}

/* "vector_add 64,1,1 x 256,1,1" */
static char *class_text(const struct model *m, const struct model_gpu_class *c,
                        enum out_names names)
{
	if (!c->name)
		return sized_text(c->kind, c->direction, c->memory, c->bytes, c->count);
	return alloc_format("%s %u,%u,%u x %u,%u,%u", out_page_name_of(m, c->name, names),
	                    c->grid[0], c->grid[1], c->grid[2], c->block[0], c->block[1],
	                    c->block[2]);
}

static double sum_of(const struct model_gpu_class *c)
{
	return c->mean * (double)c->count;
}

/* How many classes are so, and the one of most GPU time; NULL where there is none. */
static const struct model_gpu_class *largest_of(const struct model_gpu *gpu, bool lossy,
                                                unsigned *count)
{
	const struct model_gpu_class *found = NULL;

	*count = 0;
	for (size_t i = 0; i < gpu->class_count; i++) {
		const struct model_gpu_class *c = &gpu->classes[i];
		if (!(lossy ? c->lossy : c->mixed) || !isfinite(sum_of(c)))
			continue;
		if (!found || sum_of(c) > sum_of(found))
			found = c;
		++*count;
	}
	return found;
}

static void doubtful(const struct model *m, const struct out_options *o, struct text_layout *page)
{
	unsigned mixed, lossy;
	const struct model_gpu_class *c = largest_of(&m->gpu, false, &mixed);
	char mean[UNIT_BYTES], deviation[UNIT_BYTES], lost[UNIT_BYTES];

	if (c) {
		char *name = class_text(m, c, o->names);
		text_layout_line(
		        page,
		        "Work of one name and shape that differs in duration: %u "
		        "kind%s; most time is of %s: %s with a standard deviation of %s. A "
		        "duration rarer than 3 in its %llu samples may have been missed.",
		        mixed, mixed > 1 ? "s" : "", name, unit_time_apart(mean, c->mean),
		        unit_time_apart(deviation, c->deviation), (unsigned long long)c->samples);
		free(name);
	}
	c = largest_of(&m->gpu, true, &lossy);
	if (c) {
		char *name = class_text(m, c, o->names);
		text_layout_line(
		        page,
		        "Work of which a fifth of the samples or more were lost, so that the rest "
		        "may not be typical: %u kind%s; most time is of %s: %s %% of %llu lost.",
		        lossy, lossy > 1 ? "s" : "", name,
		        unit_percent(lost, (double)(c->tries - c->samples), (double)c->tries),
		        (unsigned long long)c->tries);
		free(name);
	}
}

/* Of what no run can measure by itself. */
static void kind_of_gpu(const struct model_gpu_kind *k, struct text_layout *page)
{
	char null[UNIT_BYTES], off[UNIT_BYTES], date[UNIT_BYTES];
	const char *several =
	        k->differ ? " These GPUs are of several kinds: the middle of them." : "";

	unit_time_apart(null, k->null_kernel);
	unit_time_apart(off, k->off);
	if (k->source == KIND_CALIBRATED)
		text_layout_line(page,
		                 "Of that %s +- %s are the kernel, by CUPTI on this machine "
		                 "(calibrated on %.10s).%s",
		                 null, off, unit_date(date, k->calibrated), several);
	else if (k->source == KIND_BUILT_IN)
		text_layout_line(page,
		                 "Of that %s +- %s are the kernel, by CUPTI on another GPU of "
		                 "this kind (built-in).%s",
		                 null, off, several);
	else
		text_layout_line(page,
		                 "This kind of GPU was not measured: of that %s +- %s are taken "
		                 "to be the kernel, by those that were and by a pair with "
		                 "nothing in it, and intervals are wider for it. `cudaspy "
		                 "calibrate` measures it.%s",
		                 null, off, several);
}

/* In one line, where all is as it should be. */
static void calibration(const struct model_gpu *gpu, struct text_layout *page)
{
	static const char *const regimes[TF_PAIRS] = {"idle", "busy"};
	char time[UNIT_BYTES];
	char *line = NULL;

	for (int i = 0; i < TF_PAIRS; i++)
		if (gpu->null[i].count)
			alloc_append(&line, "%s %s on %s streams (%llu times)", line ? "," : "",
			             unit_time_apart(time, gpu->null[i].mean), regimes[i],
			             (unsigned long long)gpu->null[i].count);
	if (line)
		text_layout_line(page,
		                 "Calibrated: an empty kernel between the events of a sample "
		                 "took%s, which samples are corrected by.",
		                 line);
	else
		text_layout_line(page, "Not calibrated in this run: the events of a sample are "
		                       "taken to cost what they did on an H200.");
	free(line);
	if (gpu->crowded)
		text_layout_line(page,
		                 "Where its times differ by more than 1 us it waited for other "
		                 "streams' work. Samples of work that differs by far less "
		                 "did not, and are corrected by what it takes alone.");
	if (gpu->kind.null_kernel > 0)
		kind_of_gpu(&gpu->kind, page);
}

static void samples(const struct model *m, struct text_layout *page)
{
	const struct model_gpu *gpu = &m->gpu;
	char share[UNIT_BYTES], cost[UNIT_BYTES], each[UNIT_BYTES], low[UNIT_BYTES],
	        high[UNIT_BYTES], total[UNIT_BYTES];
	uint64_t taken = 0,
	         pairs = gpu->all.samples > gpu->by_calls ? gpu->all.samples - gpu->by_calls : 0;

	for (size_t i = 0; i < m->process_count; i++)
		taken += m->processes[i].samples;
	if (isfinite(gpu->all.total))
		text_layout_line(
		        page, "All work: %s of GPU time (%s to %s), overlap counted twice.",
		        unit_time_apart(total, gpu->all.total), unit_time_apart(low, gpu->all.low),
		        unit_time_apart(high, gpu->all.high));
	text_layout_line(
	        page,
	        "Samples: %llu of %.0f pieces of work (%s %%); they took %s of the host's time, %s "
	        "each.",
	        (unsigned long long)pairs, gpu->all.sum.pieces,
	        unit_percent(share, (double)pairs, gpu->all.sum.pieces),
	        unit_time_apart(cost, m->samples_cost),
	        unit_time_apart(each, taken ? m->samples_cost / (double)taken : NAN));
	if (gpu->by_calls)
		text_layout_line(
		        page,
		        "Estimated from their calls, without samples: %llu copies of pageable "
		        "memory.",
		        (unsigned long long)gpu->by_calls);
}

void out_page_gpu(const struct model *m, const struct analysis *a, const struct out_options *o,
                  struct text_layout *page)
{
	const struct model_gpu *gpu = &m->gpu;
	const struct model_gpu_busy *judged = &a->of->gpu.busy;
	char share[UNIT_BYTES];
	struct out_shares shares;

	if (gpu->measured) {
		out_shares_start(&shares, m, a, gpu->busy.window,
		                 gpu->has_busy ? judged->window : 0);
		heading(m, &shares, page);
		if (gpu->has_busy) {
			busy_table(gpu, judged, &shares, page);
			devices_table(gpu, page);
			shared_devices(gpu, page);
			overlap(&gpu->busy, page);
			if (gpu->busy.unknown > 0)
				text_layout_line(
				        page,
				        "Of %s %% of the work no duration was known when it "
				        "ran: how long it kept the GPU busy is taken from the "
				        "waits for it.",
				        unit_percent(share, gpu->busy.unknown, gpu->busy.work));
		}
		if (gpu->stretched)
			text_layout_line(page,
			                 "Busy is more than all work took: the host saw late that "
			                 "work had ended. Its range has both.");
		if (gpu->unplaced > 0)
			text_layout_line(
			        page,
			        "Records that the timeline could not place, or that cannot "
			        "be true: %.0f.",
			        gpu->unplaced);
		if (gpu->partial)
			text_layout_line(page,
			                 "Exact GPU times end before the program did: another tool "
			                 "took CUPTI.");
		if (gpu->estimated)
			samples(m, page);
		if (gpu->untimed_classes > 0)
			untimed(m, o, page);
		if (gpu->estimated) {
			doubtful(m, o, page);
			calibration(gpu, page);
		}
	}
}
