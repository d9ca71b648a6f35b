/* SPDX-License-Identifier: Apache-2.0 */
/*
 * crowded_core: one thread launches, and three more threads of the program wait for work by asking
 * again and again, as a pool of OpenMP's does between its loops; all of them on one core, as in a
 * container or a job that was given no more.
 *
 * A correct report counts ITERATIONS launches of crowded_step and says that the thread that launches
 * waits for a CPU, where the kernel counts that (/proc/self/schedstat).  It is no contention: no lock
 * is waited for.  What helps is more cores, or threads that sleep while they wait.
 *
 *     crowded_core [ITERATIONS]
 */
#include "cuda_samples/sample.h"
#include <atomic>
#include <sched.h>
#include <thread>
#include <vector>

#define POOL 3

KERNEL(crowded_step, "fixed:2000", (unsigned *counter))
{
	if (threadIdx.x == 0)
		++*counter;
}

/* The calling thread, and those that it makes from now on, run on the first core that it may use. */
static void one_core()
{
	cpu_set_t allowed, one;

	if (sched_getaffinity(0, sizeof(allowed), &allowed))
		return;
	CPU_ZERO(&one);
	for (int core = 0; core < CPU_SETSIZE && !CPU_COUNT(&one); core++)
		if (CPU_ISSET(core, &allowed))
			CPU_SET(core, &one);
	sched_setaffinity(0, sizeof(one), &one);
}

static void wait_for_work(const std::atomic<bool> *over)
{
	while (!over->load(std::memory_order_relaxed))
		;
}

int main(int argc, char **argv)
{
	unsigned iterations = sample_start(argc, argv, 30000);
	unsigned *counter = sample_malloc<unsigned>(1), seen = 0;
	std::atomic<bool> over(false);
	std::vector<std::thread> pool;

	sample_set(counter, 0, sizeof(*counter));
	one_core();
	for (unsigned i = 0; i < POOL; i++)
		pool.emplace_back(wait_for_work, &over);
	for (unsigned i = 0; i < iterations; i++)
		LAUNCH_CALL(crowded_step, 1, 32, 0, nullptr, counter);
	sample_copy(&seen, counter, sizeof(seen), DTOH, PAGEABLE);
	over = true;
	for (std::thread &t : pool)
		t.join();
	sample_verify(seen == iterations);
	sample_free(counter);
	sample_answer(seen, iterations);
	sample_expect("finding=host-starved-of-cpu");
	return sample_finish();
}
