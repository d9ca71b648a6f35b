#include "shim/sampler_thread.h"

#include <string.h>
#include <sys/mman.h>
#include "shim/lifecycle.h"
#include "shim/own_time.h"
#include "shim/sampler_class.h"

static struct sampler *unused; /* of threads that ended; under the shim's lock */

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
	struct sampler *m = t->sampler;

	t->sampler = NULL;
	t->sampled = NULL;
	if (!m || m->generation != spy_generation)
		return;
	spy_lock();
	m->next = unused;
	unused = m;
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
}

bool sampler_take_out(uint64_t ticks)
{
	struct spy_tls *t = &spy_tls;

	if (!t->depth || !t->thread || !spy_recording(t->outer))
		return false;
	own_time(ticks);
	t->outer->rec->start += ticks;
	spy_count(&t->thread->sample_ticks, ticks);
	return true;
}
