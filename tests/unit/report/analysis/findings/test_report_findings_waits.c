/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/report/analysis/findings/findings_fixture.h"

#define STEPS 1000

/* A step a ms: a launch, a wait for it of 500 us, the host elsewhere for `outside` us, and then
 * nothing that matters until the next one. */
static void step_and_wait(struct run *r, double outside)
{
	run_start(r);
	for (int i = 0; i < STEPS; i++) {
		double at = i * 1000.0 + 500;
		run_launch(r, FREE, at - 500 + outside, 400);
		run_sync(r, FREE, at - 490 + outside, 500);
	}
	run_idle(r, TF_IDLE_SYNC, 400);
}

static void test_sync_every_step(void **state)
{
	struct run r;

	step_and_wait(&r, 0);
	run_has(&r, "sync-every-step", 0.4, "1000 waits");
	/* The GPU is busy all the same: the waits cost nothing. */
	run_idle(&r, TF_IDLE_SYNC, 5);
	run_has_not(&r, "sync-every-step");
	/* Not known what the GPU did. */
	run_idle(&r, TF_IDLE_SYNC, 400);
	r.m.gpu.has_busy = false;
	run_has_not(&r, "sync-every-step");
	run_end(&r);
}

/* One wait after much work is none at every step. */
static void test_rare_waits(void **state)
{
	struct run r;

	run_start(&r);
	for (int i = 0; i < STEPS; i++) {
		run_launch(&r, FREE, i * 1000.0, 5);
		if (i % 100 == 99)
			run_sync(&r, FREE, i * 1000.0 + 10, 900);
	}
	run_idle(&r, TF_IDLE_SYNC, 400);
	run_has_not(&r, "sync-every-step");
	run_end(&r);
}

static void test_sync_too_early(void **state)
{
	struct run r;

	step_and_wait(&r, 0); /* the host works for 490 us before it launches again */
	run_has(&r, "sync-too-early", 0.4, "for 490 us (median), 49.0 % of the steady time");
	r.m.lost_share = 0.3; /* there may have been calls in between */
	run_has_not(&r, "sync-too-early");
	run_end(&r);

	run_start(&r); /* the next step is in another stream already */
	for (int i = 0; i < STEPS; i++) {
		double at = i * 1000.0;
		run_launch(&r, i % 2 ? FREE : OTHER_FREE, at, 1400);
		run_sync(&r, i % 2 ? OTHER_FREE : FREE, at + 10, 300);
	}
	run_idle(&r, TF_IDLE_SYNC, 400);
	run_has_not(&r, "sync-too-early");
	run_end(&r);
}

static void event_call(struct run *r, enum cuda_role role, uint32_t event, double at, double us)
{
	bool waits = role == CUDA_ROLE_SYNC_EVENT;
	struct call_event *a = run_call(r, waits ? SPY_CLASS_SYNC : SPY_CLASS_EVENT, at, us);

	a->role = (uint8_t)role;
	a->event = event;
	a->stream = waits ? CALL_LOG_NONE : FREE;
}

/* The host waits for an event, of this step or, with the next one launched already, of the one
 * before. */
static void steps_with_events(struct run *r, bool ahead)
{
	run_start(r);
	for (int i = 0; i < STEPS; i++) {
		uint32_t event = (uint32_t)(i % 2);
		double at = i * 1000.0;
		run_launch(r, FREE, at, 900);
		event_call(r, CUDA_ROLE_EVENT_RECORD, event, at + 4, 1);
		if (i || !ahead)
			event_call(r, CUDA_ROLE_SYNC_EVENT, ahead ? 1 - event : event, at + 6,
			           ahead ? 10 : 500);
	}
	run_idle(r, TF_IDLE_SYNC, 400);
}

static void test_events(void **state)
{
	struct run r;

	steps_with_events(&r, false);
	run_has(&r, "sync-too-early", 0.4, "for 494 us (median)");
	run_end(&r);
	steps_with_events(&r, true);
	run_has_not(&r, "sync-too-early");
	run_end(&r);
}

/* After the wait the host only looks at the result. */
static void test_short_look(void **state)
{
	struct run r;

	run_start(&r);
	for (int i = 0; i < STEPS; i++) {
		run_launch(&r, FREE, i * 1000.0, 900);
		run_sync(&r, FREE, i * 1000.0 + 10, 985);
	}
	run_idle(&r, TF_IDLE_SYNC, 400);
	run_has_not(&r, "sync-too-early");
	run_has(&r, "sync-every-step", 0.4, "waits");
	run_end(&r);
}

static void test_implicit_sync(void **state)
{
	struct run r;

	run_start(&r);
	for (int i = 0; i < STEPS; i++) {
		run_launch(&r, LEGACY, i * 1000.0, 500);
		run_copy_back(&r, LEGACY, i * 1000.0 + 3, 510);
	}
	run_idle(&r, TF_IDLE_OUTSIDE, 450);
	/* 500 us each are for the kernel, the rest of the copy is the copy. */
	run_has(&r, "implicit-sync", 0.45, "waited for earlier work for 50.0 %");
	assert_non_null(strstr(run_finding(&r, "implicit-sync")->evidence, "1000 calls"));
	assert_string_equal(run_finding(&r, "implicit-sync")->advice, "implicit-read");
	run_has_not(&r, "sync-every-step");
	run_end(&r);
}

/* The verdict says that the host waits outside CUDA: the results that are copied back are told; or
 * that it waits, and no call is made to: those that are read by blocking copies. */
static void test_reads_outside(void **state)
{
	struct run r;

	for (int outside = 0; outside < 2; outside++) {
		run_start(&r);
		r.verdict = (struct verdict){.cls = VERDICT_SYNC,
		                             .first = VERDICT_SYNC,
		                             .second = VERDICT_HOST,
		                             .gain = 0.6,
		                             .waits_outside = outside};
		for (int i = 0; i < STEPS; i++) {
			run_launch(&r, FREE, i * 1000.0, 100);
			run_copy_back(&r, FREE, i * 1000.0 + 110, 5)->bytes = 8;
		}
		run_idle(&r, TF_IDLE_OUTSIDE, 800);
		if (outside)
			run_has(&r, "sync-every-step", 0.6, "Calls of CUDA wait for 0.0 % of");
		else
			run_has(&r, "sync-every-step", 0.8,
			        "1000 results are read by blocking copies, 1000 a second");
		r.verdict = (struct verdict){.cls = VERDICT_HOST, .first = VERDICT_HOST};
		run_has_not(&r, "sync-every-step");
		run_end(&r);
	}
}

/* Few waits are told where the verdict is of waits and there is no other finding of them. */
static void test_waits_that_the_verdict_names(void **state)
{
	static const enum verdict_class classes[] = {VERDICT_SYNC, VERDICT_MIXED, VERDICT_LAUNCH};
	struct run r;

	for (size_t k = 0; k < sizeof(classes) / sizeof(classes[0]); k++) {
		run_start(&r);
		for (int i = 0; i < STEPS; i++) {
			run_launch(&r, FREE, i * 1000.0, 5);
			if (i % 200 == 199)
				run_sync(&r, FREE, i * 1000.0 + 10, 900);
		}
		run_idle(&r, TF_IDLE_SYNC, 100);
		r.verdict.cls = classes[k];
		r.verdict.first = k ? VERDICT_LAUNCH : VERDICT_SYNC;
		r.verdict.second = VERDICT_SYNC;
		if (classes[k] == VERDICT_LAUNCH) {
			run_has_not(&r, "sync-every-step");
		} else {
			run_has(&r, "sync-every-step", 0.0045, "5 waits, 5 a second");
			assert_string_equal(run_finding(&r, "sync-every-step")->title,
			                    "The host waits for the GPU, and only then gives it "
			                    "more work");
		}
		run_end(&r);
	}
}

/* Long copies that nothing was ahead of are copies; kernels of unknown length tell nothing. */
static void test_copies_that_do_not_wait(void **state)
{
	struct run r;

	run_start(&r);
	for (int i = 0; i < STEPS; i++) {
		run_launch(&r, LEGACY, i * 1000.0, 5);
		run_copy_back(&r, LEGACY, i * 1000.0 + 100, 800);
	}
	run_idle(&r, TF_IDLE_COPY, 450);
	run_has_not(&r, "implicit-sync");
	for (size_t i = 0; i < r.process.call_log.count; i++)
		r.process.call_log.call_events[i].gpu = NAN;
	run_has_not(&r, "implicit-sync");
	run_end(&r);
}

/* A large copy of pageable memory to the device is over when its call is, but for its last piece:
 * what comes behind it need not wait for as long as it takes. */
static void test_staged_copies_end_by_their_return(void **state)
{
	struct run r;

	run_start(&r);
	for (int i = 0; i < STEPS; i++) {
		struct call_event *a = run_copy_back(&r, FREE, i * 1000.0, 320);
		a->direction = SPY_DIR_HTOD;
		a->async = 1;
		a->bytes = 4 << 20;
		a->gpu = 250 * US;
		run_copy_back(&r, FREE, i * 1000.0 + 330, 420)->gpu = 270 * US;
	}
	run_idle(&r, TF_IDLE_COPY, 450);
	run_has_not(&r, "implicit-sync");
	run_end(&r);
}

/* A free lasts as long as the GPU works; an allocation that takes its time does not wait. */
static void test_frees_and_allocations(void **state)
{
	struct run r;

	for (int frees = 0; frees < 2; frees++) {
		run_start(&r);
		for (int i = 0; i < STEPS; i++) {
			run_launch(&r, FREE, i * 1000.0, 500);
			struct call_event *a =
			        run_call(&r, SPY_CLASS_ALLOC, i * 1000.0 + 3, frees ? 505 : 300);
			a->role = frees ? CUDA_ROLE_FREE : CUDA_ROLE_ALLOC;
			a->is_free = frees;
			a->address = 0x7000;
			a->memory = SPY_MEM_DEVICE;
		}
		run_idle(&r, TF_IDLE_ALLOC, 450);
		if (frees)
			run_has(&r, "implicit-sync", 0.45, "for 50.0 % of the steady time");
		else
			run_has_not(&r, "implicit-sync");
		run_end(&r);
	}
}

/* Three turns of 50 us in one stream, a wait for the device after each; beside the first of them
 * 200 us in another. */
static void device_waits(struct run *r, bool beside, uint32_t wait_for)
{
	run_start(r);
	for (int i = 0; i < STEPS; i++) {
		double at = i * 1000.0;
		if (beside)
			run_launch(r, OTHER_FREE, at, 200);
		run_launch(r, FREE, at + 3, 50);
		run_sync(r, wait_for, at + 6, beside && wait_for == CALL_LOG_NONE ? 200 : 50);
		run_launch(r, FREE, at + 300, 50);
		run_sync(r, wait_for, at + 303, 50);
		run_launch(r, FREE, at + 400, 50);
		run_sync(r, wait_for, at + 403, 50);
	}
}

static void test_device_sync(void **state)
{
	struct run r;

	device_waits(&r, true, CALL_LOG_NONE);
	run_has(&r, "device-sync-for-stream", 0.15, "3000 waits for the whole device 2000 came");
	run_end(&r);
	device_waits(&r, true, FREE); /* it waits for the stream alone */
	run_has_not(&r, "device-sync-for-stream");
	run_end(&r);
	device_waits(&r, false, CALL_LOG_NONE); /* the last one alone is for all there is */
	run_launch(&r, OTHER_FREE, 999e3, 1);
	run_launch(&r, FREE, 999e3 + 4, 1);
	run_sync(&r, CALL_LOG_NONE, 999e3 + 8, 300e3);
	run_has_not(&r, "device-sync-for-stream");
	run_end(&r);
	device_waits(&r, false, CALL_LOG_NONE); /* there is no other stream */
	run_has_not(&r, "device-sync-for-stream");
	run_end(&r);
}

/* All streams get work before each wait: the host wants all of it. */
static void test_fork_and_join(void **state)
{
	struct run r;

	run_start(&r);
	for (int i = 0; i < STEPS; i++) {
		run_launch(&r, OTHER_FREE, i * 1000.0, 400);
		run_launch(&r, FREE, i * 1000.0 + 3, 50);
		run_sync(&r, CALL_LOG_NONE, i * 1000.0 + 6, 400);
	}
	run_has_not(&r, "device-sync-for-stream");
	run_end(&r);
}

/* 400 us in each of two streams, a short kernel in the default stream after each of them. */
static void two_and_legacy(struct run *r, uint32_t one, uint32_t two)
{
	run_start(r);
	for (int i = 0; i < STEPS; i++) {
		run_launch(r, one, i * 1000.0, 400);
		run_launch(r, LEGACY, i * 1000.0 + 3, 10);
		run_launch(r, two, i * 1000.0 + 6, 400);
		run_launch(r, LEGACY, i * 1000.0 + 9, 10);
	}
}

static void test_legacy_stream(void **state)
{
	struct run r;

	/* 820 us a step one after the other, 400 side by side. */
	two_and_legacy(&r, BLOCKING, OTHER_BLOCKING);
	run_has(&r, "legacy-stream-serializes", 0.42,
	        "2000 pieces of work in the legacy default stream stand between the work of 2 "
	        "blocking streams");
	r.process.call_log.call_events[0].gpu =
	        NAN; /* one that is not known does not matter, most do */
	run_has(&r, "legacy-stream-serializes", 0.42, "820 ms");
	for (size_t i = 0; i < r.process.call_log.count; i++)
		r.process.call_log.call_events[i].gpu = NAN;
	run_has_not(&r, "legacy-stream-serializes");
	run_end(&r);
	two_and_legacy(&r, FREE, OTHER_FREE);
	run_has_not(&r, "legacy-stream-serializes");
	run_end(&r);
	two_and_legacy(&r, LEGACY, LEGACY); /* one stream alone has its order */
	run_has_not(&r, "legacy-stream-serializes");
	run_end(&r);
}

/* Each stream waits for an event of the other: they take turns with or without the default one. */
static void test_legacy_and_events(void **state)
{
	struct run r;

	run_start(&r);
	for (int i = 0; i < 2 * STEPS; i++) {
		uint32_t stream = i % 2 ? BLOCKING : OTHER_BLOCKING;
		double at = i * 500.0;
		event_call(&r, CUDA_ROLE_EVENT_WAIT, 0, at, 1);
		r.process.call_log.call_events[r.process.call_log.count - 1].stream = stream;
		run_launch(&r, stream, at + 2, 400);
		event_call(&r, CUDA_ROLE_EVENT_RECORD, 0, at + 6, 1);
		r.process.call_log.call_events[r.process.call_log.count - 1].stream = stream;
		run_launch(&r, LEGACY, at + 8, 10);
	}
	run_has_not(&r, "legacy-stream-serializes");
	run_end(&r);
}

/* A blocking copy in the default stream fetches what the stream made: it belongs after it. */
static void test_legacy_copies(void **state)
{
	struct run r;

	run_start(&r);
	for (int i = 0; i < STEPS; i++) {
		run_launch(&r, BLOCKING, i * 1000.0, 600);
		struct call_event *a = run_copy_back(&r, LEGACY, i * 1000.0 + 3, 900);
		a->gpu = 300 * US;
	}
	run_has_not(&r, "legacy-stream-serializes");
	run_end(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_sync_every_step),
	        cmocka_unit_test(test_rare_waits),
	        cmocka_unit_test(test_sync_too_early),
	        cmocka_unit_test(test_events),
	        cmocka_unit_test(test_short_look),
	        cmocka_unit_test(test_implicit_sync),
	        cmocka_unit_test(test_reads_outside),
	        cmocka_unit_test(test_waits_that_the_verdict_names),
	        cmocka_unit_test(test_copies_that_do_not_wait),
	        cmocka_unit_test(test_staged_copies_end_by_their_return),
	        cmocka_unit_test(test_frees_and_allocations),
	        cmocka_unit_test(test_device_sync),
	        cmocka_unit_test(test_fork_and_join),
	        cmocka_unit_test(test_legacy_stream),
	        cmocka_unit_test(test_legacy_and_events),
	        cmocka_unit_test(test_legacy_copies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
