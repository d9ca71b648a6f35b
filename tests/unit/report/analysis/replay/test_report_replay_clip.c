/* SPDX-License-Identifier: Apache-2.0 */
/* A wait that returned says that the work was done: what the GPU's clock says of it is put right.
 */
#include <math.h>

#include "report/analysis/replay/replay.h"
#include "tests/unit/unit.h"

#define MOST  4096
#define US    1e3
#define BYTES (1u << 24)

struct made {
	struct call_log h;
	struct replay r;
	struct call_log_thread thread;
	struct call_log_stream stream;
	struct call_event given[MOST];
	struct replay_act acts[MOST];
	uint32_t next[MOST];
};

static struct made made;

static void start(uint64_t calls)
{
	made = (struct made){.stream = {.flags = 1, .thread = CALL_LOG_NONE, .call_events = calls}};
	made.h = (struct call_log){.threads = &made.thread,
	                           .thread_count = 1,
	                           .streams = &made.stream,
	                           .stream_count = 1};
	made.r = (struct replay){.call_log = &made.h,
	                         .given = made.given,
	                         .call_events = made.acts,
	                         .next = made.next};
}

/* A call of 1 us that follows the one before at once. */
static size_t add(enum tf_work_kind kind, double gpu_us)
{
	size_t i = made.r.count++;

	made.given[i] = (struct call_event){.kind = (uint8_t)kind,
	                                    .direction = SPY_DIR_HTOD,
	                                    .memory = SPY_MEM_PINNED,
	                                    .async = true,
	                                    .bytes = BYTES,
	                                    .event = CALL_LOG_NONE,
	                                    .graph = CALL_LOG_NONE};
	made.acts[i] = (struct replay_act){.own = 1 * US,
	                                   .gpu = gpu_us * US,
	                                   .before = CALL_LOG_NONE,
	                                   .event = CALL_LOG_NONE,
	                                   .held = CALL_LOG_NONE};
	made.next[i] = CALL_LOG_NONE;
	if (i)
		made.next[i - 1] = (uint32_t)i;
	return i;
}

/* It returned so long before the end by estimate. */
static void add_wait(enum replay_wait wait, double early_us)
{
	struct replay_act *a = &made.acts[add(TF_WORK_NONE, 0)];

	a->wait = (uint8_t)wait;
	a->late = -early_us * US;
}

static double run_us(void)
{
	return replay_run(&made.r, made.acts) / US;
}

static void test_a_copy_engine_is_free_then(void **state)
{
	for (int whole = 0; whole < 2; whole++) {
		start(4);
		add(TF_WORK_COPY, 1000);
		add_wait(whole ? REPLAY_DEVICE : REPLAY_STREAM, 900);
		add(TF_WORK_COPY, 50);
		add_wait(whole ? REPLAY_DEVICE : REPLAY_STREAM, 0);
		assert_near(run_us(), 101 + 1 + 50, 0.02);
	}
}

static void test_the_launch_queue_is_empty_then(void **state)
{
	start(2 * 1021 + 2);
	for (int k = 0; k < 1021; k++)
		add(TF_WORK_KERNEL, 100);
	add_wait(REPLAY_STREAM, 100000);
	for (int k = 0; k < 1021; k++)
		add(TF_WORK_KERNEL, 0.1);
	add_wait(REPLAY_STREAM, 0);
	/* The second row of launches takes the host 1021 us: no place in the queue is waited for.
	 */
	assert_near(run_us(), 1021 * 100 + 1 - 100000 + 1021 + 1, 0.02);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_a_copy_engine_is_free_then),
	        cmocka_unit_test(test_the_launch_queue_is_empty_then),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
