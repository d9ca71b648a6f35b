/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/base/text.h"
#include "report/output/export/export_stacks.h"

/* Frames are divided by semicolons: one in a name becomes a colon. */
static void put_frame(FILE *to, char *text)
{
	char *safe = text_safe(text, strlen(text));

	for (char *s = safe; *s; s++)
		putc(*s == ';' ? ':' : *s, to);
	free(safe);
	free(text);
}

/* From the outermost frame to the call, and its API time in ns: what flame graphs are drawn from.
 */
int export_folded(const struct export_job *job)
{
	struct export_stacks stacks;

	export_stacks_make(&stacks, job->model);
	for (size_t i = 0; i < stacks.count; i++) {
		const struct export_stack *s = &stacks.items[i];
		double ns = s->value[STACK_API];
		if (!(ns >= 0.5))
			continue;
		char *root = export_stack_root(s);
		if (root) {
			put_frame(job->to, root);
			putc(';', job->to);
		}
		for (size_t k = s->site ? s->site->frame_count : 0; k-- > 0;) {
			put_frame(job->to, site_frame_text(&s->site->frames[k], false));
			putc(';', job->to);
		}
		put_frame(job->to, alloc_string(s->api));
		fprintf(job->to, " %.0f\n", ns);
	}
	export_stacks_free(&stacks);
	return 0;
}
