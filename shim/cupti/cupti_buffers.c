/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/cupti/cupti_buffers.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include "shim/base/collector_wait.h"
#include "shim/base/lock.h"

static struct lock lock;
static struct cupti_buffer *idle;         /* zeroed */
static struct cupti_buffer *first, *last; /* full, oldest first */
static unsigned made, waiting;
static unsigned asked_for; /* since full ones were taken */
static uint64_t lost_bytes;
static bool give_always;

void cupti_buffers_start(bool must_give)
{
	give_always = must_give;
}

/* Zeroed by the kernel, 4096-aligned and so its data to 64; CUPTI wants 8. */
static struct cupti_buffer *make(void)
{
	void *p = mmap(NULL, CUPTI_BUFFER_HEAD + CUPTI_BUFFER_BYTES, PROT_READ | PROT_WRITE,
	               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

static struct cupti_buffer *take_first(void)
{
	struct cupti_buffer *b = first;

	if (b) {
		first = b->next;
		waiting--;
	}
	return b;
}

void cupti_buffer_requested(uint8_t **buffer, size_t *bytes, size_t *records)
{
	int saved = errno;
	struct cupti_buffer *b, *unread = NULL;
	bool room;

	lock_take(&lock);
	b = idle;
	if (b)
		idle = b->next;
	room = made < CUPTI_BUFFERS_MOST;
	if (!b && room)
		made++;
	/* The reader fell behind: the oldest records go. */
	if (!b && !room && (unread = take_first()))
		lost_bytes += unread->valid;
	bool many = ++asked_for >= CUPTI_BUFFERS_MANY;
	if (many)
		asked_for = 0;
	lock_give(&lock);
	if (many) /* a graph may run for long while no call is made, and the collector sleeps */
		collector_wait_end();
	if (unread) {
		memset(cupti_buffer_data(unread), 0, CUPTI_BUFFER_BYTES);
		b = unread;
	}
	/* All of them are with CUPTI. Before 12.9 it crashed when refused (HOOKING 9.3); what it
	 * holds then is bounded by the work that the driver lets wait. */
	if (!b && (room || give_always))
		b = make();
	*buffer = b ? cupti_buffer_data(b) : NULL;
	*bytes = b ? CUPTI_BUFFER_BYTES : 0;
	*records = 0; /* as many as fit */
	errno = saved;
}

void cupti_buffer_completed(void *context, uint32_t stream, uint8_t *buffer, size_t bytes,
                            size_t valid)
{
	struct cupti_buffer *b = (struct cupti_buffer *)(buffer - CUPTI_BUFFER_HEAD);

	(void)context;
	(void)stream;
	if (!buffer)
		return;
	b->valid = valid < bytes ? valid : bytes;
	b->next = NULL;
	lock_take(&lock);
	if (!valid) {
		b->next = idle;
		idle = b;
	} else {
		if (first)
			last->next = b;
		else
			first = b;
		last = b;
		waiting++;
	}
	lock_give(&lock);
}

struct cupti_buffer *cupti_buffers_take(void)
{
	lock_take(&lock);
	struct cupti_buffer *all = first;
	first = last = NULL;
	waiting = asked_for = 0;
	lock_give(&lock);
	return all;
}

void cupti_buffer_recycle(struct cupti_buffer *b)
{
	/* Here, in the collector: CUPTI was told that it need not do it on the program's thread. */
	memset(cupti_buffer_data(b), 0, CUPTI_BUFFER_BYTES);
	lock_take(&lock);
	b->next = idle;
	idle = b;
	lock_give(&lock);
}

unsigned cupti_buffers_waiting(void)
{
	return __atomic_load_n(&waiting, __ATOMIC_RELAXED);
}

uint64_t cupti_buffers_lost(void)
{
	lock_take(&lock);
	uint64_t bytes = lost_bytes;
	lost_bytes = 0;
	lock_give(&lock);
	return bytes;
}
