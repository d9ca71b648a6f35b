/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pieces of the HTML report. For the HTML outputs alone.
 */
#ifndef REPORT_HTML_PAGE_H
#define REPORT_HTML_PAGE_H

#include "report/base/json.h"
#include "report/output/out.h"

/* page.html with its style sheets and scripts, before and behind the data. Generated. */
extern const char html_head[], html_tail[];

/*
 * The page is complete in one file of this size at most, whatever was recorded. The data take what
 * the template leaves.
 */
#define HTML_PAGE_BYTES 2000000u

/* Writes the page with these data, cut where they are too many; takes them over. */
void html_page_write(FILE *to, json_t *data);

/* The data with what they repeat in a list, `shared`: `{"=": n}` stands for its nth, from 0. */
json_t *html_shared(json_t *data);

/* Host and GPU of what is judged. */
json_t *html_judged(const struct model *m, const struct analysis *a);
/* What the charts need and the JSON report does not have. */
json_t *html_extra(const struct model *m, const struct analysis *a);
/* A few stretches of the run call by call: `timelines` and what each step's host time was. */
void html_put_timelines(json_t *extra, const struct model *m, const struct analysis *a);

#endif
