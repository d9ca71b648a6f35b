/* SPDX-License-Identifier: Apache-2.0 */
/* Reading one recording's call sites: what the rows of its table `sites` say in words. Texts and
 * frames are the model's. */
#ifndef REPORT_SITE_READER_H
#define REPORT_SITE_READER_H

#include "report/model/model_internal.h"

struct site_reader {
	struct model_part *p;
	const struct tf_sites *area;
	struct site_code *codes;   /* of Python, by index */
	struct site_line *lines;   /* decoded ones that are remembered */
	struct site_giver *givers; /* by site, once one is asked for */
	uint32_t frames;           /* so far */
	uint64_t line_bytes;       /* of line tables, decoded so far */
};

struct site_reader site_reader_open(struct model_part *p, const struct tf_sites *area);
void site_reader_close(struct site_reader *s);

/* `frames` of a stack, none where the recording has too many; theirs is the site's to free. */
void site_read_frames(struct site_reader *s, const struct tf_site *t, struct model_site *to);

/* `thread`, `range` and `meanwhile`, of a thread in no Python. */
void site_read_thread(struct site_reader *s, const struct tf_site *t, struct model_site *to);

#endif
