/* SPDX-License-Identifier: Apache-2.0 */
/* Programs at random: how many of them have a last step that ends with its own last call, whatever
 * comes behind it. */
#include "tests/unit/shim/core/steps/loops_fixture.h"

enum { NOTHING, FREE, LONG_FREE, EVALUATION, OTHER_WORK, SYNC_COPY, SYNC_FREE, TAILS };

enum outcome { RIGHT, TOO_LATE, TOO_EARLY, ANOTHER }; /* level, or no loop */

#define PROGRAMS 150u

/* The next call comes behind it. */
static void allocate_now(uint64_t start, uint64_t ticks)
{
	allocate(start, ticks);
	now = start + ticks + BETWEEN;
}

static enum outcome one(uint64_t seed, int tail, int in_last)
{
	uint32_t kernels[40], count = 0;
	int pos_upload, pos_sync;

	noise = seed * 0x9e3779b97f4a7c15u + 88172645463325252u;
	for (int i = 0; i < 20; i++)
		any(2);
	count = 4 + (uint32_t)any(16);
	for (uint32_t i = 0; i < count; i++)
		kernels[i] = i && any(3) == 0 ? kernels[any(i)] : 1 + (uint32_t)any(40);
	pos_upload = any(4) ? (int)any(count) : -1;
	pos_sync = any(2) ? (int)any(count) : -1;
	int allocs = (int)any(3); /* 0 none, 1 each step, 2 now and then */
	int varies = (int)any(3); /* 0: now and then one launch more */
	uint32_t extra = (uint32_t)any(count);
	for (uint32_t k = 100; k <= 110; k++)
		run_kernel(k);
	uint64_t begun = now;
	int n = 200;
	for (int i = 1; i <= n; i++) {
		for (uint32_t k = 0; k < count; k++) {
			if (in_last && i == n && k == count / 2)
				now += (uint64_t)(2 + any(6)) * (now - begun) / (uint64_t)n;
			if ((int)k == pos_upload)
				upload();
			if ((int)k == pos_sync)
				wait_here();
			run_kernel(kernels[k]);
			if (!varies && k == extra && any(2))
				run_kernel(kernels[k]);
			if (k == 1 && (allocs == 1 || (allocs == 2 && any(2))))
				allocate_now(now, CALL_TICKS);
		}
	}
	uint64_t ended = now, mean = (now - begun) / (uint64_t)n;
	uint64_t pause = (5 + any(80)) * mean;
	switch (tail) {
	case FREE:
		allocate_now(now + pause, CALL_TICKS);
		allocate_now(now, CALL_TICKS);
		break;
	case LONG_FREE:
		allocate_now(now, pause);
		break;
	case EVALUATION:
		now += pause;
		for (int i = 0; i < 3; i++)
			for (uint32_t k = 0; k < count / 2; k++)
				run_kernel(kernels[k]);
		break;
	case OTHER_WORK:
		now += pause;
		for (uint32_t k = 0; k < 20; k++)
			run_kernel(60 + k);
		break;
	case SYNC_COPY:
		now += pause;
		wait_here();
		upload();
		break;
	case SYNC_FREE:
		now += pause;
		wait_here();
		allocate_now(now + pause, CALL_TICKS);
		break;
	default:
		break;
	}
	const struct tf_loop *best = NULL;
	steps_finish(steps, &made.map);
	for (uint32_t i = 0; loop(i); i++)
		if (loop(i)->steps && (!best || loop(i)->ticks > best->ticks))
			best = loop(i);
	if (!best || best->steps < 150 || best->steps > 260)
		return ANOTHER;
	int64_t off = (int64_t)(best->episode[best->episodes - 1].end - ended);
	if (off > (int64_t)mean)
		return TOO_LATE;
	return off < -(int64_t)(2 * mean + mean / 2) || best->steps < 199 ? TOO_EARLY : RIGHT;
}

static unsigned right(void **state, int tail, int in_last)
{
	unsigned count = 0;

	for (uint64_t seed = 1; seed <= PROGRAMS; seed++) {
		begin(state);
		count += one(seed + 1000 * (uint64_t)tail, tail, in_last) == RIGHT;
		finish(state);
	}
	return count;
}

/* Of an evaluation, and of waits, some look like a further step. */
static void test_last_steps_of_programs_at_random(void **state)
{
	static const unsigned least[2][TAILS] = {{147, 145, 147, 90, 144, 66, 92},
	                                         {142, 138, 137, 82, 134, 64, 80}};

	for (int in_last = 0; in_last < 2; in_last++)
		for (int tail = 0; tail < TAILS; tail++) {
			unsigned count = right(state, tail, in_last);
			print_message("pause in the last step %d, behind it %d: %u of %u\n",
			              in_last, tail, count, PROGRAMS);
			assert_true(count >= least[in_last][tail]);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_last_steps_of_programs_at_random),
	};

	return cmocka_run_group_tests_name("last_steps_random", tests, NULL, NULL);
}
