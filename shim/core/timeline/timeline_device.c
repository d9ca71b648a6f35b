/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/core/timeline/timeline_busy.h"

#include "shim/core/cuda/communication.h"
#include "shim/core/work/work_class.h"

#define KERNEL_HISTS 4096u /* kernels with a histogram of queue times: bounds what they cost */

/* ---- devices ---- */

/* The tick up to which a device is booked: start, busy and idle time add up to it. 0 = the figures
 * are damaged. */
static uint64_t reach(const struct tf_device_time *time)
{
	uint64_t sum = time->from;

	if (sum >= TL_TICKS_MOST || time->total.busy >= TL_TICKS_MOST)
		return 0;
	sum += time->total.busy;
	for (int i = 0; i < TF_IDLES; i++) {
		if (time->total.idle[i] >= TL_TICKS_MOST)
			return 0;
		sum += time->total.idle[i];
	}
	return sum < TL_TICKS_MOST ? sum : 0;
}

void tl_find_device(struct timeline *t, unsigned index)
{
	struct tl_device *d = &t->device[index];
	uint64_t *offset = &tf_header(t->map)->devices_time[index];

	d->tried = true;
	bool found = *offset != 0;
	if (!found)
		*offset = t->map->alloc(t->map, sizeof(*d->time));
	d->time = tf_at(t->map, *offset, sizeof(*d->time));
	if (!d->time)
		return;
	if (!found)
		d->time->from = d->time->until = t->window;
	uint64_t until = reach(d->time);
	if (!until)
		d->time = NULL;
	for (int i = 0; i < TL_UNIONS; i++)
		d->until[i] = d->begun = until;
}

void tl_find_kernel(struct timeline *t, uint32_t kernel)
{
	const struct tf_kernel *k =
	        tf_entry(t->map, &tf_header(t->map)->kernels, kernel, sizeof(*k));
	const char *name = k ? tf_text(t->map, k->name, NULL) : NULL;

	t->kernels[kernel].named = true;
	t->kernels[kernel].comm = name && cuda_communicates(name);
}

/* ---- busy and idle ---- */

void tl_idle(struct timeline *t, void *context, unsigned state, uint64_t start, uint64_t end)
{
	static const uint8_t causes[16] = {
	        [TF_HOST_LAUNCH] = TF_IDLE_LAUNCH,     [TF_HOST_BACK_PRESSURE] = TF_IDLE_LAUNCH,
	        [TF_HOST_CONTENTION] = TF_IDLE_LAUNCH, [TL_HOST_ISSUE] = TF_IDLE_LAUNCH,
	        [TF_HOST_SYNC_USEFUL] = TF_IDLE_SYNC,  [TF_HOST_SYNC_WASTED] = TF_IDLE_SYNC,
	        [TF_HOST_COPY] = TF_IDLE_COPY,         [TF_HOST_ALLOC] = TF_IDLE_ALLOC,
	        [TF_HOST_MODULE] = TF_IDLE_MODULE,     [TF_HOST_OTHER] = TF_IDLE_OUTSIDE,
	        [TF_HOST_OUTSIDE] = TF_IDLE_OUTSIDE,   [TL_HOST_UNKNOWN] = TF_IDLE_UNKNOWN,
	        [TF_HOST_OWN] = TF_IDLE_OWN,
	};

	tl_busy_add(t, context,
	            offsetof(struct tf_busy, idle) + causes[state & 15] * sizeof(uint64_t), start,
	            end);
}

static void take_back(uint64_t *counter, uint64_t by)
{
	*counter -= tl_min(*counter, by);
}

void tl_not_alone(struct timeline *t, struct tf_device_time *time, uint64_t start, uint64_t end)
{
	const struct tf_slices *s = slices_until(t->map, end);

	take_back(&time->total.comm, end - start);
	const uint64_t width = s ? slices_width(s) : 0, origin = s ? s->origin : 0;
	for (uint64_t at = start; width && at < end;) {
		uint64_t i = slice_of(at > origin ? at - origin : 0, width);
		uint64_t until = tl_min(end, origin + (i + 1) * width);
		if (i >= TF_SLICES || until <= at)
			break;
		take_back(&time->slices.busy[i].comm, until - at);
		at = until;
	}
}

void tl_book(struct timeline *t, const struct tl_piece *p)
{
	tl_book_piece(t, tl_device(t, p->device), p,
	              p->kind == TF_WORK_COPY || p->kind == TF_WORK_SET, p->flags & TL_OP_COMM);
}

void tl_book_rest(struct timeline *t, unsigned device, uint64_t until)
{
	struct tl_device *d = &t->device[device];

	if (!d->time || until <= d->until[TL_ANY])
		return;
	tl_busy_within(t, d, d->until[TL_ANY], until);
	tl_divide(t, t->host_thread, d->until[TL_ANY], until, tl_idle, d);
	d->until[TL_ANY] = d->time->until = until;
}

void tl_find_queue(struct timeline *t, struct tl_kernel *k, uint32_t kernel)
{
	if (!k->figures->queue_hist && kernel < KERNEL_HISTS)
		k->figures->queue_hist = t->map->alloc(t->map, sizeof(*k->queue));
	k->queue = tf_at(t->map, k->figures->queue_hist, sizeof(*k->queue));
}

void tl_count_work(struct timeline *t, const struct tl_piece *p, uint32_t kernel, bool known)
{
	tl_count_piece(t, tl_device(t, p->device)->time, p, kernel, known);
}
