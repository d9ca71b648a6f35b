/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of the report that text and Markdown share, top to bottom. For those two outputs alone.
 */
#ifndef REPORT_OUT_PAGE_H
#define REPORT_OUT_PAGE_H

#include "report/output/out.h"
#include "report/base/text_table.h"

/* What ran, how it ended, what is missing, what the recording cost. */
void out_page_top(const struct model *m, const struct analysis *a, struct text_layout *page);
/* "0.3 % of the loop" (free it): what the recording cost the program's threads, of what is judged.
 */
char *out_page_own_share(const struct model *m, const struct analysis *a);
/* What was asked for by an option of its own, below a page that has it not. */
void out_page_asked(const struct model *m, const struct analysis *a, const struct out_options *o,
                    struct text_layout *page);
/* The loop that is judged: its steps, its share of the run, what a change of it saves of both; a
 * part of the top. */
void out_page_loop(const struct model *m, const struct analysis *a, struct text_layout *page);
/* Each with its verdict, where there are several loops; what start-up spent where. */
void out_page_phases(const struct model *m, const struct analysis *a, const struct out_options *o,
                     struct text_layout *page);
void out_page_findings(const struct model *m, const struct findings *all,
                       const struct model_phase *phase, struct text_layout *page);
/* What NVML says of the devices, and what is wrong there; a part of the top. */
void out_page_environment(const struct model *m, struct text_layout *page);
/* Of each expected kernel: whether it ran, how often, or what ran instead. */
void out_page_expect(const struct model *m, const struct out_options *o, struct text_layout *page);
void out_page_processes(const struct model *m, struct text_layout *page);
void out_page_host(const struct model *m, const struct analysis *a, const struct out_options *o,
                   struct text_layout *page);
void out_page_apis(const struct model *m, const struct out_options *o, struct text_layout *page);
void out_page_kernels(const struct model *m, const struct out_options *o, struct text_layout *page);
void out_page_copies(const struct model *m, struct text_layout *page);
void out_page_work(const struct model *m, struct text_layout *page);
void out_page_graphs(const struct model *m, const struct out_options *o, struct text_layout *page);
void out_page_steps(const struct model *m, const struct out_options *o, struct text_layout *page);
void out_page_ranges(const struct model *m, const struct out_options *o, struct text_layout *page);
/* What is judged, in words; NULL: the whole run. */
const char *out_page_judged(const struct model_phase *phase);
void out_page_whatif(struct whatifs *w, const struct out_options *o,
                     const struct model_phase *phase, struct text_layout *page);
void out_page_sites(const struct model *m, const struct out_options *o, struct text_layout *page);
/* The text of the line that a frame is on (free it); NULL: its file is not here, or was changed. */
char *out_page_source(const struct model_frame *f);
void out_page_gaps(const struct model *m, struct text_layout *page);
void out_page_gpu(const struct model *m, const struct analysis *a, const struct out_options *o,
                  struct text_layout *page);
void out_page_streams(const struct model *m, struct text_layout *page);
void out_page_occupancy(const struct model *m, const struct out_options *o,
                        struct text_layout *page);
/* The run from left to right: how busy the devices were, what the host did. Text only. */
void out_page_overview(const struct model *m, struct text_layout *page);

/* The pieces of tables: out_page_cells.c. */
void out_page_count(struct text_layout_table *t, double count); /* NaN: n/a */
void out_page_time(struct text_layout_table *t, double ns);
void out_page_percent(struct text_layout_table *t, double part, double whole);
/* A figure that stands for less of its launches is marked. */
#define OUT_KNOWN_ENOUGH 0.95
/* Two cells of a table: GPU time, and half its interval in per cent of it. ">": not all of it; "<":
 * it is too short to be told. */
void out_page_gpu_cells(struct text_layout_table *t, const struct model_gpu_time *time);
/* A bar of so many columns for the whole (free it). */
#define OUT_BAR 20
char *out_page_bar(double part, double whole, size_t most);
/* A kernel's name as a table has it. */
const char *out_page_name(const struct model_kernel *k, enum out_names names);
/* What kernels are sorted by, as a column of its own: its head, NULL where all tables of kernels
 * have it; and the cell of one kernel, or of what is none (NULL). */
const char *out_page_sorted_head(enum model_sort_key key);
void out_page_sorted_cell(struct text_layout_table *t, const struct model *m,
                          const struct model_kernel *k, enum model_sort_key key);
/* The same of what may be a kernel's full name. */
const char *out_page_name_of(const struct model *m, const char *name, enum out_names names);

/* The line under a table that does not show all rows; `what`: of several, and one is it without its
 * last letter. */
void out_page_rest(struct text_layout *page, size_t shown, size_t all, const char *what);

#endif
