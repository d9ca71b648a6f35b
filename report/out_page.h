/*
 * The parts of the report that text and Markdown share, top to bottom. For those two outputs alone.
 */
#ifndef REPORT_OUT_PAGE_H
#define REPORT_OUT_PAGE_H

#include "report/out.h"
#include "report/page.h"

/* What ran, how it ended, what is missing, what the recording cost. */
void out_page_top(const struct model *m, struct page *page);
void out_page_processes(const struct model *m, struct page *page);
void out_page_host(const struct model *m, const struct out_options *o, struct page *page);
void out_page_apis(const struct model *m, const struct out_options *o, struct page *page);
void out_page_kernels(const struct model *m, const struct out_options *o, struct page *page);
void out_page_copies(const struct model *m, struct page *page);
void out_page_work(const struct model *m, struct page *page);
void out_page_graphs(const struct model *m, const struct out_options *o, struct page *page);
void out_page_gaps(const struct model *m, struct page *page);

/* The line under a table that does not show all rows. */
void out_page_rest(struct page *page, size_t shown, size_t all, const char *what);

#endif
