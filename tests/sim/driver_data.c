/* SPDX-License-Identifier: Apache-2.0 */
/* The contents of memory.  A copy takes its place on the timeline at once, but its bytes move only
 * when the program could look at them, so that an asynchronous copy costs the host no more than its
 * call; in the order of submission, which is an order that the program allowed. */
#include <stdlib.h>
#include <string.h>
#include "tests/sim/driver.h"

#define MOST 4096

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct data_move pending[MOST];
static _Atomic uint64_t sent, done; /* moves ever submitted and performed */

static void set_row(char *dst, const struct data_move *m)
{
	size_t n = m->width / m->value_bytes;
	unsigned short half = (unsigned short)m->value;

	if (m->value_bytes == 1)
		memset(dst, (int)m->value, m->width);
	for (size_t i = 0; m->value_bytes == 2 && i < n; i++)
		memcpy(dst + i * 2, &half, 2);
	for (size_t i = 0; m->value_bytes == 4 && i < n; i++)
		memcpy(dst + i * 4, &m->value, 4);
}

static void perform(const struct data_move *m)
{
	for (size_t row = 0; row < m->height; row++) {
		char *dst = m->dst + row * m->dst_pitch;

		if (m->src)
			memmove(dst, m->src + row * m->src_pitch, m->width);
		else
			set_row(dst, m);
	}
}

/* With the lock held: performs all up to the given place in the order. */
static void settle_locked(uint64_t to)
{
	uint64_t at = atomic_load_explicit(&done, memory_order_relaxed);

	for (; at < to; at++)
		perform(&pending[at % MOST]);
	/* Release: who sees them done sees the bytes. */
	atomic_store_explicit(&done, at, memory_order_release);
}

void data_submit(const struct data_move *m)
{
	uint64_t n;

	if (!m->dst || !m->width || !m->height)
		return;
	pthread_mutex_lock(&lock);
	n = atomic_load_explicit(&sent, memory_order_relaxed);
	if (n - atomic_load_explicit(&done, memory_order_relaxed) == MOST)
		settle_locked(n);
	pending[n % MOST] = *m;
	atomic_store_explicit(&sent, n + 1, memory_order_release);
	pthread_mutex_unlock(&lock);
}

uint64_t data_sent(void)
{
	return atomic_load_explicit(&sent, memory_order_acquire);
}

void data_settle_to(uint64_t to)
{
	if (atomic_load_explicit(&done, memory_order_acquire) >= to)
		return;
	pthread_mutex_lock(&lock);
	settle_locked(to);
	pthread_mutex_unlock(&lock);
}

void data_settle(void)
{
	data_settle_to(data_sent());
}
