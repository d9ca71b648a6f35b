/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of a thread whose stack has no line of Python: its name, and what the program says
 * that it does meanwhile. */
#include "shim/sites/sites_internal.h"

#include <string.h>

#define THREADS_MOST 64u /* that are looked through for one with an open range */

static const struct tf_thread *thread_at(uint32_t i)
{
	const struct tf_header *h = tf_header(&spy_map);
	const uint64_t *offset = tf_entry(&spy_map, &h->threads, i, sizeof(*offset));

	return offset ? tf_at(&spy_map, *offset, h->thread_bytes) : NULL;
}

/* Of a thread that lives and opens ranges; 0 = it does not, or none is open. */
static uint32_t range_of(const struct tf_thread *th)
{
	if (!th || !__atomic_load_n(&th->ranges, __ATOMIC_RELAXED) ||
	    __atomic_load_n(&th->death, __ATOMIC_RELAXED))
		return 0;
	return __atomic_load_n(&th->range_now, __ATOMIC_RELAXED);
}

/* A framework's backward thread works for the one that waits for it, in a range of that one. */
static uint32_t range_of_others(void)
{
	static uint32_t last; /* which had one last time; relaxed: a late look only costs time */
	uint32_t at = __atomic_load_n(&last, __ATOMIC_RELAXED);
	uint32_t range = range_of(thread_at(at)), n = tf_count(&tf_header(&spy_map)->threads);

	for (uint32_t i = 0; !range && i < n && i < THREADS_MOST; i++) {
		range = range_of(thread_at(i));
		if (range)
			__atomic_store_n(&last, i, __ATOMIC_RELAXED);
	}
	return range;
}

void sites_who(struct sites_who *to)
{
	const struct tf_thread *self = spy_tls.thread;

	_Static_assert(sizeof(to->name) == sizeof(self->name), "a thread's name");
	memcpy(to->name, self->name, sizeof(to->name));
	to->range = self->ranges ? range_of(self) : range_of_others();
}
