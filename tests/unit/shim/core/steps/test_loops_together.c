/* SPDX-License-Identifier: Apache-2.0 */
/* Launches that come together are the same events as one by one: programs at random, fed both ways.
 */
#include "tests/unit/shim/core/steps/loops_fixture.h"

#define TOGETHER 64u
#define ROWS     8u
#define PROGRAMS 400u

static unsigned most; /* launches that come together; 0 = each by itself */
static struct tf_record launches[TOGETHER];
static struct steps_symbols symbols[TOGETHER];
static unsigned held;

static void hand_over(void)
{
	const struct steps_symbols *of[TOGETHER];

	for (unsigned i = 0; i < held; i++)
		of[i] = &symbols[i];
	if (held)
		steps_launches(steps, &made.map, by, launches, of, held);
	held = 0;
}

static void pass(uint64_t ticks)
{
	now += ticks;
}

static void kernel_of(uint32_t kernel, uint32_t blocks)
{
	struct tf_record r = a_launch(kernel, blocks);

	if (!most) {
		give(r, SPY_CLASS_LAUNCH);
		return;
	}
	r.start = now;
	r.end = now + CALL_TICKS;
	now += CALL_TICKS + BETWEEN + any(20);
	launches[held] = r;
	symbols[held++] = steps_symbols_of(&r, SPY_CLASS_LAUNCH);
	if (held >= most)
		hand_over();
}

/* What an iteration does, drawn once; each time it may be a bit different, or late. */
struct iteration {
	unsigned parts, times[6], kind[6], kernel[6];
	bool waits, pauses;
	bool helped; /* another thread uploads now and then */
};

static void draw(struct iteration *it)
{
	it->parts = 1 + (unsigned)any(6);
	for (unsigned i = 0; i < it->parts; i++) {
		it->kind[i] = (unsigned)any(4);
		it->times[i] = 1 + (unsigned)any(it->kind[i] ? 60 : 4);
		it->kernel[i] = 1 + (unsigned)any(9);
	}
	it->waits = any(2);
	it->pauses = any(2);
	it->helped = any(3) == 0;
}

static void go_through(const struct iteration *it)
{
	for (unsigned i = 0; i < it->parts; i++)
		for (unsigned k = it->times[i] - (unsigned)(any(8) == 0); k > 0; k--) {
			if (any(200) == 0)
				pass(LONG_GAP * (1 + any(30)));
			if (it->helped && any(50) == 0) {
				hand_over();
				by = 1;
				upload();
				by = 0;
			}
			if (it->kind[i]) {
				kernel_of(it->kernel[i], 1 + (uint32_t)(any(10) == 0));
				continue;
			}
			hand_over();
			upload();
		}
	if (it->waits) {
		hand_over();
		wait_here();
	}
	if (it->pauses)
		pass(LONG_GAP);
}

static void program(uint64_t seed)
{
	noise += seed * 0x9e3779b97f4a7c15u;
	for (unsigned loops = 1 + (unsigned)any(3); loops > 0; loops--) {
		struct iteration it;
		draw(&it);
		for (uint64_t n = 5 + any(120); n > 0; n--)
			go_through(&it);
		pass(any(50) * LONG_GAP);
	}
	hand_over();
	steps_finish(steps, &made.map);
}

static unsigned copy_rows(struct tf_loop *to)
{
	unsigned count = 0;

	for (; count < ROWS && loop(count); count++) {
		to[count] = *loop(count);
		to[count].hist = 0; /* where it lies */
	}
	return count;
}

static void test_the_same_loops(void **state)
{
	static struct tf_loop one[ROWS], other[ROWS];
	unsigned found = 0;

	for (uint64_t seed = 1; seed <= PROGRAMS; seed++) {
		finish(state);
		begin(state);
		most = 0;
		program(seed);
		unsigned count = copy_rows(one);
		finish(state);
		begin(state);
		most = 1 + (unsigned)(seed * 7 % TOGETHER);
		program(seed);
		assert_int_equal(copy_rows(other), count);
		for (unsigned i = 0; i < count; i++) {
			if (memcmp(&one[i], &other[i], sizeof(one[i])))
				fail_msg("program %u: loop %u has %u steps one by one, and %u "
				         "together",
				         (unsigned)seed, i, (unsigned)one[i].steps,
				         (unsigned)other[i].steps);
			found += one[i].steps > 0;
		}
		rows_agree();
	}
	assert_true(found > PROGRAMS / 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test_setup_teardown(test_the_same_loops, begin, finish),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
