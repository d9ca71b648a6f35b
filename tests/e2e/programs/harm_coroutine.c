/* SPDX-License-Identifier: Apache-2.0 */
/*
 * harm_coroutine WHEN: three threads, each of which runs 32 coroutines on stacks of 32 KiB. They
 * take turns between their launches (WHEN between), or amid them (inside): each leaves its stack
 * in the driver, and others launch meanwhile, from stacks above and below.
 */
#include <sys/mman.h>
#include <ucontext.h>
#include "tests/e2e/programs/harm.h"

#define COROUTINES 32
#define STACK      (32u << 10)
#define LAUNCHES   60 /* of each */

static __thread ucontext_t scheduler, coroutine[COROUTINES];
static __thread int running = -1, alive;
static __thread bool over[COROUTINES];
static bool inside;

static void take_turns(void)
{
	int self = running;

	if (self < 0)
		return;
	running = -1;
	need(!swapcontext(&coroutine[self], &scheduler), 92);
}

static void launch_and_yield(void)
{
	for (int i = 0; i < LAUNCHES; i++) {
		work_launches(1);
		if (!inside)
			take_turns();
	}
	over[running] = true;
	alive--;
	running = -1;
	setcontext(&scheduler);
}

static void *run_coroutines(void *unused)
{
	char *stacks = mmap(NULL, COROUTINES * STACK, PROT_READ | PROT_WRITE,
	                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	need(stacks != MAP_FAILED, 92);
	CHECK(cuCtxSetCurrent(work_context));
	alive = COROUTINES;
	for (int i = 0; i < COROUTINES; i++) {
		need(!getcontext(&coroutine[i]), 92);
		coroutine[i].uc_stack = (stack_t){.ss_sp = stacks + i * STACK, .ss_size = STACK};
		makecontext(&coroutine[i], launch_and_yield, 0);
	}
	for (int i = 0; alive; i = (i + 1) % COROUTINES)
		if (!over[i]) {
			running = i;
			need(!swapcontext(&scheduler, &coroutine[i]), 92);
		}
	munmap(stacks, COROUTINES * STACK);
	work_launches(10);
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t thread[3];

	inside = !strcmp(argv[1], "inside");
	work_start();
	if (inside)
		harm_inside(HARM_LAUNCH, take_turns);
	start_threads(thread, 3, run_coroutines, NULL);
	join_threads(thread, 3);
	say("launched\n");
	return 3;
}
