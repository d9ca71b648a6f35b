/* SPDX-License-Identifier: Apache-2.0 */
/* Tells a watcher, who draws the timeline, of each op and its estimated times. */
#include "shim/core/timeline/timeline_ops.h"

void timeline_watch(struct timeline *t, const struct timeline_watch *w)
{
	t->watch = w;
}

void tl_tell_op(struct timeline *t, const struct tl_op *op, const struct tl_piece *p, bool last)
{
	const struct timeline_piece told = {.start = p->start,
	                                    .end = p->end,
	                                    .cause = TF_CAUSE(op->thread, op->entered),
	                                    .kernel = op->kernel,
	                                    .device = (uint8_t)p->device,
	                                    .kind = op->kind,
	                                    .last = last,
	                                    .estimated = true};

	t->watch->placed(t->watch->to, &told);
}

void tl_tell_rest(struct timeline *t)
{
	for (unsigned i = 0; i < TF_DEVICES_TIMED; i++)
		for (uint32_t k = 0; k < t->device[i].actives; k++) {
			const struct tl_stream *s = &t->streams[t->device[i].active[k] - 1];
			for (const struct tl_op *op = tl_op(t, s->book); op;
			     op = tl_op(t, op->next)) {
				uint64_t start = tl_max(tl_start_on(s, op), op->booked);
				const struct tl_piece p = {
				        .start = start,
				        .end = tl_max(start, tl_end_on(s, op)),
				        .device = s->device,
				};
				tl_tell_op(t, op, &p, true);
			}
		}
}
