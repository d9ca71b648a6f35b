/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/sampler/sampler_thread.h"

#include <string.h>
#include <sys/mman.h>
#include "shim/base/gate.h"
#include "shim/record/own_time.h"
#include "shim/sampler/sampler.h"

static struct sampler *unused; /* of threads that ended; under the shim's lock */

/* What the thread in each slot of the recording has, so that the next one there finds it where no
 * destructor ran. Made with the first of them, under the shim's lock. */
static struct sampler **of_slot;
#define SLOTS (UINT16_MAX + 1u)

static struct sampler **slots(void)
{
	if (!of_slot) {
		void *p = mmap(NULL, SLOTS * sizeof(*of_slot), PROT_READ | PROT_WRITE,
		               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		of_slot = p == MAP_FAILED ? NULL : p;
	}
	return of_slot;
}

static void give_up_slot(uint16_t slot)
{
	struct sampler *m = of_slot ? of_slot[slot] : NULL;

	if (!m)
		return;
	of_slot[slot] = NULL;
	m->next = unused;
	unused = m;
}

static struct sampler *take_unused(void)
{
	spy_lock();
	struct sampler *m = unused;
	if (m)
		unused = m->next;
	spy_unlock();
	return m;
}

static struct sampler *make(void)
{
	struct sampler *m = take_unused();

	if (m) {
		memset(m, 0, sizeof(*m));
	} else {
		m = mmap(NULL, sizeof(*m), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		         0);
		if (m == MAP_FAILED)
			return NULL;
	}
	m->generation = spy_generation;
	m->random = random_seed((uintptr_t)m ^ spy_clock());
	spy_lock();
	if (slots())
		of_slot[spy_tls.index] = m;
	spy_unlock();
	return m;
}

struct sampler *sampler_mine(void)
{
	struct spy_tls *t = &spy_tls;

	if (!t->sampler || t->sampler->generation != spy_generation) { /* else the parent's */
		t->sampled = NULL;
		t->sampler = make();
	}
	return t->sampler;
}

void sampler_thread_died(void)
{
	struct spy_tls *t = &spy_tls;

	t->sampler = NULL;
	t->sampled = NULL;
	sampler_slot_taken(t->index);
}

void sampler_slot_taken(uint16_t slot)
{
	spy_lock();
	give_up_slot(slot);
	spy_unlock();
}

void sampler_context_changed(void)
{
	spy_tls.sampled = NULL;
}

void sampler_threads_after_fork(void)
{
	spy_tls.sampled = NULL;
	spy_tls.sampler = NULL;
	unused = NULL;
	if (of_slot)
		munmap(of_slot, SLOTS * sizeof(*of_slot));
	of_slot = NULL;
}

bool sampler_take_out(uint64_t ticks)
{
	struct spy_tls *t = &spy_tls;

	if (!t->outer || !spy_recording(t->outer))
		return false;
	own_time(ticks);
	t->outer->rec->start += ticks;
	spy_count(&t->thread->sample_ticks, ticks);
	return true;
}
