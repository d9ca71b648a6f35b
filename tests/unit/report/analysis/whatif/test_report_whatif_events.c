/* SPDX-License-Identifier: Apache-2.0 */
/* Copies on streams of their own, and the events around them. */
#include <math.h>
#include <string.h>

#include "report/analysis/whatif/whatif.h"
#include "shim/core/work/work_class.h"
#include "tests/unit/play.h"
#include "tests/unit/unit.h"

static double tails[8], marks[8];

static struct tf_record from_to(const struct play *p, uint16_t id, uint64_t stream, double from)
{
	return (struct tf_record){.call = id,
	                          .stream = stream,
	                          .start = 2001000 + (uint64_t)(from * 2000),
	                          .end = 2001000 + (uint64_t)(p->host * 2000)};
}

static void put(struct play *p, uint64_t stream, double us)
{
	double *tail = &tails[stream & 7];

	*tail = fmax(p->host + 1.8, *tail + 0.75) + us;
	p->tail = fmax(p->tail, *tail);
}

static void kernel_on(struct play *p, uint64_t stream, uint32_t kernel, double us)
{
	double from = p->host;

	p->host += 3;
	struct tf_record r = from_to(p, p->launch, stream, from);
	r.launch.kernel = kernel;
	r.launch.items = 1;
	r.launch.grid_x = r.launch.grid_y = r.launch.grid_z = 1;
	r.launch.block_x = 256;
	r.launch.block_y = r.launch.block_z = 1;
	made_return(&p->made, p->thread[0], r);
	put(p, stream, us);
}

static void copy_on(struct play *p, uint64_t stream, uint64_t bytes, double us)
{
	double from = p->host;

	p->host += 3;
	struct tf_record r = from_to(p, p->copy, stream, from);
	r.copy.bytes = bytes;
	r.copy.items = 1;
	r.copy.direction = SPY_DIR_HTOD;
	r.copy.memory = SPY_MEM_PINNED;
	r.copy.async = true;
	made_return(&p->made, p->thread[0], r);
	put(p, stream, us);
}

static void event_on(struct play *p, uint16_t id, uint64_t stream, unsigned event)
{
	double from = p->host, *tail = &tails[stream & 7];

	p->host += 1;
	struct tf_record r = from_to(p, id, stream, from);
	r.event.event = 0x600 + event;
	made_return(&p->made, p->thread[0], r);
	if (id == p->mark)
		marks[event] = *tail;
	else
		*tail = fmax(*tail, marks[event]);
}

static void sync_on(struct play *p, uint64_t stream)
{
	double from = p->host;

	p->host = fmax(p->host + 1, tails[stream & 7] + 3.2);
	struct tf_record r = from_to(p, p->sync, stream, from);
	made_return(&p->made, p->thread[0], r);
}

static void timed(struct play *p, uint32_t kernel, double us)
{
	p->kernel = kernel;
	play_timed(p, us);
}

/* The copy overwrites what a kernel of 1000 us on one stream reads, and what one of 10 us on
 * another does: the copy's stream waits for both, in either order. Nothing can be gained. */
static void two_events(bool long_last)
{
	const uint64_t bytes = 1u << 24, a = 0x501, b = 0x502, c = 0x503;
	struct play p;
	struct model m = {0};

	play_start(&p);
	for (int i = 0; i < 8; i++)
		tails[i] = marks[i] = -1e9;
	uint32_t slow = made_kernel(&p.made, "slow"), fast = made_kernel(&p.made, "fast");
	uint16_t wait = made_call(&p.made, "cuStreamWaitEvent", SPY_CLASS_EVENT, SPY_LEVEL_DRIVER);
	for (int i = 0; i < 300; i++) {
		kernel_on(&p, a, slow, 1000);
		event_on(&p, p.mark, a, 1);
		kernel_on(&p, b, fast, 10);
		event_on(&p, p.mark, b, 2);
		event_on(&p, wait, c, long_last ? 2 : 1);
		event_on(&p, wait, c, long_last ? 1 : 2);
		copy_on(&p, c, bytes, 1000);
		event_on(&p, p.mark, c, 3);
		event_on(&p, wait, a, 3);
		kernel_on(&p, a, fast, 10);
		sync_on(&p, a);
	}
	timed(&p, slow, 1000);
	timed(&p, fast, 10);
	play_timed_copy(&p, SPY_DIR_HTOD, bytes, 1000);
	struct whatif_result r = play_ask(&p, &m, WHATIF_OVERLAP, NULL, 1);
	play_assert_base(&m, 0.02);
	play_ends(&p, &m);
	assert_near(r.predicted, r.window, 0.05);
}

static void test_two_events_of_two_streams(void **state)
{
	two_events(true);
}

static void test_two_events_of_two_streams_the_other_way(void **state)
{
	two_events(false);
}

/* A step: a copy on a stream of copies, a short kernel on another one that unpacks it, a second
 * copy, a kernel of 1000 us, a wait. Both copies can be made a step ahead. */
static void test_two_copies_with_a_kernel_between(void **state)
{
	const uint64_t bytes = 1u << 23, a = 0x501, c = 0x503;
	struct play p;
	struct model m = {0};

	play_start(&p);
	for (int i = 0; i < 8; i++)
		tails[i] = marks[i] = -1e9;
	uint32_t slow = made_kernel(&p.made, "slow"), fast = made_kernel(&p.made, "fast");
	uint16_t wait = made_call(&p.made, "cuStreamWaitEvent", SPY_CLASS_EVENT, SPY_LEVEL_DRIVER);
	for (int i = 0; i < 300; i++) {
		copy_on(&p, c, bytes, 400);
		event_on(&p, p.mark, c, 1);
		event_on(&p, wait, a, 1);
		kernel_on(&p, a, fast, 5);
		copy_on(&p, c, bytes, 400);
		event_on(&p, p.mark, c, 2);
		event_on(&p, wait, a, 2);
		kernel_on(&p, a, slow, 1000);
		sync_on(&p, a);
	}
	timed(&p, slow, 1000);
	timed(&p, fast, 5);
	play_timed_copy(&p, SPY_DIR_HTOD, bytes, 400);
	struct whatif_result r = play_ask(&p, &m, WHATIF_OVERLAP, NULL, 1);
	play_assert_base(&m, 0.02);
	play_ends(&p, &m);
	assert_near(r.predicted, 300 * 1025e3, 0.1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_two_events_of_two_streams),
	        cmocka_unit_test(test_two_events_of_two_streams_the_other_way),
	        cmocka_unit_test(test_two_copies_with_a_kernel_between),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
