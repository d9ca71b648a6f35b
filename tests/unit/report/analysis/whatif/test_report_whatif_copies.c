/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "report/analysis/whatif/whatif.h"
#include "shim/core/work/work_class.h"
#include "tests/unit/play.h"
#include "tests/unit/unit.h"

/*
 * A copy of pageable memory is waited for right behind it, as PyTorch does without
 * non_blocking=True, and then the host works for 300 us: that wait is a part of the copy.
 */
static void test_a_pinned_copy_is_not_waited_for(void **state)
{
	struct play p;
	struct model m = {0};

	play_start(&p);
	for (int i = 0; i < 100; i++) {
		play_transfer(&p, SPY_DIR_HTOD, SPY_MEM_PAGEABLE, 5000000, 1000, 0);
		p.host += 1;
		play_sync(&p);
		play_launch(&p, 5, 300);
		p.host += 300;
	}
	play_timed(&p, 300);
	struct whatif_result r = play_ask(&p, &m, WHATIF_PINNED, NULL, 1);
	assert_near(r.predicted, 100 * 510e3, 0.05); /* the GPU's, 200 us of it the copy */
	play_ends(&p, &m);
}

/* A result is kept in fresh pageable memory each time, which takes the host 300 us to give back. */
static void test_pageable_memory_is_unmapped(void **state)
{
	struct play p;
	struct model m = {0};

	play_start(&p);
	for (int i = 0; i < 200; i++) {
		for (int k = 0; k < 10; k++, p.host += 20)
			play_launch(&p, 5, 2);
		play_transfer(&p, SPY_DIR_HTOD, SPY_MEM_PAGEABLE, 4096000, 500, 0);
		p.host += 320;
	}
	play_timed(&p, 2);
	play_sync(&p);
	struct whatif_result r = play_ask(&p, &m, WHATIF_PINNED, NULL, 1);
	/* 500 us of copying are 4 of its call; 1000 pages of 250 ns, half of them in the middle. */
	double left = 10 * 25 + 20 + 4 + 300;
	assert_near(r.window, 200 * (10 * 25 + 20 + 500 + 300) * 1e3, 0.02);
	assert_near(r.predicted, 200 * (left - 125) * 1e3, 0.03);
	assert_near(r.least, 200 * (left - 250) * 1e3 * 0.9, 0.06);
	assert_true(r.most > 200 * left * 1e3);
	play_ends(&p, &m);
}

/* A result comes to memory whose pages the copy makes, as its own 4 bytes a ns show: then they are
 * all given back behind it, though the program asks the driver something in between. Where making
 * them takes longer than usual, 2 us each, giving them back does too. */
static void test_pages_that_a_copy_makes(void **state)
{
	static const struct {
		double copy, goes; /* us */
	} cases[] = {{1000, 250}, {2683, 400}};
	struct play p;
	struct model m = {0};

	for (int k = 0; k < 2; k++) {
		play_start(&p);
		for (int i = 0; i < 200; i++) {
			for (int l = 0; l < 10; l++, p.host += 20)
				play_launch(&p, 5, 2);
			play_transfer(&p, SPY_DIR_DTOH, SPY_MEM_PAGEABLE, 4096000, cases[k].copy,
			              0);
			p.host += 120;
			struct tf_record r = play_call(&p, p.query, 1);
			play_returns(&p, &r);
			p.host += 320;
		}
		play_timed(&p, 2);
		play_sync(&p);
		struct whatif_result r = play_ask(&p, &m, WHATIF_PINNED, NULL, 1);
		/* Of the copy 4 us of its call are left. */
		assert_near(r.window, 200 * (10 * 25 + 20 + cases[k].copy + 441) * 1e3, 0.02);
		assert_near(r.predicted, 200 * (10 * 25 + 4 + 441 - cases[k].goes) * 1e3, 0.03);
		play_ends(&p, &m);
	}
}

/* Behind a large copy of pageable memory the host is slow, as long as the copy took; not behind a
 * small one. */
static void test_behind_a_pageable_copy(void **state)
{
	const double left = 4 + 50 * 13; /* us of a step: the copy's call, and 50 launches */
	struct play p;
	struct model m = {0};

	for (int large = 0; large < 2; large++) {
		play_start(&p);
		for (int i = 0; i < 100; i++) {
			play_transfer(&p, SPY_DIR_HTOD, SPY_MEM_PAGEABLE,
			              large ? 4u << 20 : 1u << 20, 260, 0);
			for (int k = 0; k < 50; k++) {
				p.host += 10;
				play_launch(&p, 3, 2);
			}
		}
		play_timed(&p, 2);
		play_sync(&p);
		struct whatif_result r = play_ask(&p, &m, WHATIF_PINNED, NULL, 1);
		play_assert_base(&m, 0.01);
		/* 20 of the launches are that close. */
		double middle = large ? 20 * 13 * 0.2 : 0, best = large ? 20 * 13 * 0.5 : 0;
		assert_near(r.predicted, 100 * (left - middle) * 1e3, 0.02);
		assert_near(r.least, 100 * (left - best) * 1e3 * 0.95, 0.03);
		assert_true(r.most > 100 * left * 1e3);
		play_ends(&p, &m);
	}
}

/*
 * A thread brings results to pageable memory, and keeps the driver's lock while it copies: the
 * other one's first launch in each step returns behind that, time after time; or a little before,
 * since the last piece is copied without the lock.
 */
static void test_a_copy_holds_the_other_thread(void **state)
{
	struct play p;
	struct model m = {0};

	for (double early = 0; early < 500; early += 250) {
		play_start(&p);
		for (int i = 0; i < 100; i++) {
			double from = p.host;
			p.who = 1;
			play_transfer(&p, SPY_DIR_DTOH, SPY_MEM_PAGEABLE, 20000000, 4000, 0);
			p.host = from + 100;
			p.who = 0;
			play_launch(&p, 3950 - early, 20);
			for (int k = 0; k < 10; k++, p.host += 5)
				play_launch(&p, 5, 2);
			p.host += early;
		}
		play_timed(&p, 4);
		play_sync(&p);
		struct whatif_result r = play_ask(&p, &m, WHATIF_PINNED, NULL, 1);
		play_assert_base(&m, 0.01);
		assert_near(r.window, 100 * 4150e3, 0.01);
		/* 800 us of copying at 25 bytes a ns, and what the other thread does until it goes
		 * on */
		assert_near(r.predicted, 100 * 980e3, 0.15);
		play_ends(&p, &m);
	}
}

/* 4 MiB each way through pageable memory, 400 us of copying each, a kernel of 10 us. */
static void play_pageable(struct play *p)
{
	const uint64_t bytes = 4u << 20;

	play_start(p);
	for (int i = 0; i < 100; i++) {
		play_transfer(p, SPY_DIR_HTOD, SPY_MEM_PAGEABLE, bytes, 400, 0);
		play_launch(p, 3, 10);
		play_transfer(p, SPY_DIR_DTOH, SPY_MEM_PAGEABLE, bytes, 400, 0);
		play_sync(p);
	}
	play_timed(p, 10);
}

static void test_pinned(void **state)
{
	struct play p;
	struct model m = {0};

	play_pageable(&p);
	struct whatif_result r = play_ask(&p, &m, WHATIF_PINNED, NULL, 1);
	play_assert_base(&m, 1e-6);
	/* At 25 bytes a ns: 167.8 us each way, 2.5 and 1.5. */
	assert_near(r.predicted, 100 * 360e3, 0.03);
	assert_true(r.least < 0.6 * r.predicted); /* it may be twice as fast */
	/* On a host that is a quarter slower the copies would take 12 % more. */
	assert_near(r.predicted / r.at_speed[1], sqrt(1.25), 0.03);
	assert_near(r.predicted / r.at_speed[0], sqrt(1 / 1.25), 0.03);
	play_ends(&p, &m);
}

static bool assumes(const struct whatif_result *r, const char *text)
{
	for (size_t i = 0; i < r->assumption_count; i++)
		if (strstr(r->assumptions[i], text))
			return true;
	return false;
}

/* The link is known, though at rest when it was read last: 63.0 bytes a ns, and 88 % of them. */
static void test_pinned_by_the_link(void **state)
{
	struct play p;
	struct model m = {0};

	play_pageable(&p);
	struct tf_environment *e = made_environment(&p.made, 1);
	e->devices[0].used = 1;
	made_told(&e->devices[0].first, SPY_ENVIRONMENT_PCIE_WIDTH, 16, 2001000);
	made_told(&e->devices[0].last, SPY_ENVIRONMENT_PCIE_WIDTH, 16, 3001000);
	made_told(&e->devices[0].last, SPY_ENVIRONMENT_PCIE_GEN, 1, 3001000);
	made_told(&e->devices[0].last, SPY_ENVIRONMENT_PCIE_GEN_MAX, 5, 3001000);
	struct whatif_result r = play_ask(&p, &m, WHATIF_PINNED, NULL, 1);
	/* 75.9 us each way, 2.5 and 1.5; a tenth less to a fifth more, and 5 % of the saving. */
	double saving = 0.05 * r.saved;
	assert_near(r.predicted, 100 * 181e3, 0.05);
	assert_true(r.least + saving > 0.88 * r.predicted && r.least + saving < 0.98 * r.predicted);
	assert_true(r.most - saving > 1.1 * r.predicted && r.most - saving < 1.3 * r.predicted);
	assert_true(assumes(&r, "PCIe generation 5 x16, are assumed: 55.3 GB/s"));
	play_ends(&p, &m);
}

/* Small pinned copies tell nothing of the bus: most of their time is their start. */
static void test_pinned_beside_small_ones(void **state)
{
	struct play p;
	struct model m = {0};

	play_pageable(&p);
	play_transfer(&p, SPY_DIR_HTOD, SPY_MEM_PINNED, 65536, 3, 4);
	play_sync(&p);
	play_timed_copy(&p, SPY_DIR_HTOD, 65536, 4);
	struct whatif_result r = play_ask(&p, &m, WHATIF_PINNED, NULL, 1);
	assert_true(assumes(&r, "25 to 50 GB/s over the bus are assumed"));
	assert_near(r.predicted, 100 * 360e3, 0.03);
	play_ends(&p, &m);
}

/* What cannot be is not believed. */
static void test_pinned_by_no_link(void **state)
{
	struct play p;
	struct model m = {0};

	play_pageable(&p);
	struct tf_environment *e = made_environment(&p.made, 1);
	made_told(&e->devices[0].last, SPY_ENVIRONMENT_PCIE_WIDTH, 16, 3001000);
	made_told(&e->devices[0].last, SPY_ENVIRONMENT_PCIE_GEN, 1000, 3001000);
	struct whatif_result r = play_ask(&p, &m, WHATIF_PINNED, NULL, 1);
	assert_near(r.predicted, 100 * 360e3, 0.03);
	assert_true(assumes(&r, "25 to 50 GB/s over the bus are assumed"));
	play_ends(&p, &m);
}

static void test_no_alloc(void **state)
{
	struct play p;
	struct model m = {0};

	play_start(&p);
	for (int i = 0; i < 300; i++) {
		play_alloc(&p, 50, false);
		play_launch(&p, 3, 10);
		play_alloc(&p, 30, true);
	}
	play_timed(&p, 10);
	play_sync(&p);
	struct whatif_result r = play_ask(&p, &m, WHATIF_NO_ALLOC, NULL, 1);
	play_assert_base(&m, 1e-6);
	assert_near(r.window, 300 * 94.8e3, 0.01);
	assert_near(r.predicted, 300 * 10.75e3, 0.03);
	play_ends(&p, &m);
}

/* An array of managed memory is made, a kernel of 1200 us writes to all of it, and it is freed: of
 * 14 MB of pages 1000 us are what they take to come. What the kernel takes does not change where
 * they are the device's. */
static double kernel_left(enum spy_memory memory, double *least)
{
	struct play p;
	struct model m = {0};

	play_start(&p);
	for (int i = 0; i < 200; i++) {
		struct tf_record r = play_call(&p, p.alloc, 30);
		r.alloc.address = 0x7000;
		r.alloc.bytes = 14000000;
		r.alloc.memory = memory;
		play_returns(&p, &r);
		play_launch(&p, 3, 1200);
		play_alloc(&p, 30, true);
	}
	play_timed(&p, 1200);
	play_sync(&p);
	struct whatif_result r = play_ask(&p, &m, WHATIF_NO_ALLOC, NULL, 1);
	*least = r.least / 200e3;
	assert_int_equal(r.assumption_count, memory == SPY_MEM_MANAGED ? 2 : 1);
	play_ends(&p, &m);
	return r.predicted / 200e3;
}

static void test_pages_of_managed_memory(void **state)
{
	double least;

	assert_near(kernel_left(SPY_MEM_DEVICE, &least), 1200, 0.03);
	assert_near(kernel_left(SPY_MEM_MANAGED, &least), 200, 0.05);
	assert_true(least < 30);
}

/* A pool stands in for allocations: what it takes itself is little, and at most what CuPy's does.
 */
static void test_a_pool_takes_time_too(void **state)
{
	struct play p;
	struct model m = {0};

	play_start(&p);
	for (int i = 0; i < 300; i++) {
		for (int k = 0; k < 10; k++)
			play_alloc(&p, 50, false);
		play_launch(&p, 3, 2);
	}
	play_timed(&p, 2);
	play_sync(&p);
	struct whatif_result r = play_ask(&p, &m, WHATIF_NO_ALLOC, NULL, 1);
	assert_near(r.predicted, 300 * (0.5 * 3e3 + 10 * 0.5e3), 0.03);
	assert_near(r.most, 1.03 * 300 * (3e3 + 10 * 5e3), 0.06);
	play_ends(&p, &m);
}

/* What the host does right behind an allocation is done sooner without; further on it is not. */
static void test_behind_an_allocation(void **state)
{
	struct play p;
	struct model m = {0};

	play_start(&p);
	for (int i = 0; i < 300; i++) {
		play_alloc(&p, 50, false);
		for (int k = 0; k < 8; k++) {
			p.host += 20;
			play_launch(&p, 3, 2);
		}
	}
	play_timed(&p, 2);
	play_sync(&p);
	struct whatif_result r = play_ask(&p, &m, WHATIF_NO_ALLOC, NULL, 1);
	play_assert_base(&m, 1e-6);
	assert_near(r.predicted, 300 * (0.5e3 + (4 * 0.5 + 4) * 23e3), 0.02);
	assert_near(r.most, 1.1 * 300 * (5e3 + 8 * 23e3), 0.06);
	play_ends(&p, &m);
	/* A pool's own calls, which the driver hardly notices. */
	play_start(&p);
	for (int i = 0; i < 300; i++) {
		play_alloc(&p, 2, false);
		p.host += 20;
		play_launch(&p, 3, 2);
	}
	play_timed(&p, 2);
	play_sync(&p);
	r = play_ask(&p, &m, WHATIF_NO_ALLOC, NULL, 1);
	assert_near(r.predicted, 300 * 23.5e3, 0.02);
	play_ends(&p, &m);
}

/* What it takes the program to come to the driver's allocations goes with them, at best all of it.
 */
static void test_the_way_to_an_allocation(void **state)
{
	struct play p;
	struct model m = {0};

	play_start(&p);
	for (int i = 0; i < 300; i++) {
		p.host += 60;
		play_alloc(&p, 50, false);
		p.host += 20;
		play_launch(&p, 3, 2);
	}
	play_timed(&p, 2);
	play_sync(&p);
	struct whatif_result r = play_ask(&p, &m, WHATIF_NO_ALLOC, NULL, 1);
	assert_near(r.predicted, 300 * (0.5 * (0.2 * 60 + 23) + 0.5) * 1e3, 0.02);
	assert_near(r.least, 300 * (0.97 * 0.35 * 23 - 0.25 * 18) * 1e3, 0.03);
	play_ends(&p, &m);
}

/* To the device, a kernel, to the host, 100 us each, one after the other on one stream. */
static void test_overlap(void **state)
{
	const uint64_t bytes = 1u << 20;
	struct play p;
	struct model m = {0};

	play_start(&p);
	for (int i = 0; i < 300; i++) {
		play_transfer(&p, SPY_DIR_HTOD, SPY_MEM_PINNED, bytes, 3, 100);
		play_launch(&p, 3, 100);
		play_transfer(&p, SPY_DIR_DTOH, SPY_MEM_PINNED, bytes, 3, 100);
	}
	play_timed(&p, 100);
	play_timed_copy(&p, SPY_DIR_HTOD, bytes, 100);
	play_timed_copy(&p, SPY_DIR_DTOH, bytes, 100);
	play_sync(&p);
	struct whatif_result r = play_ask(&p, &m, WHATIF_OVERLAP, NULL, 1);
	play_assert_base(&m, 1e-6);
	assert_near(r.window, 300 * 302.25e3, 0.01);
	assert_near(r.predicted, 300 * 100.75e3, 0.02);
	play_ends(&p, &m);
}

static void play_event(struct play *p, uint16_t call, uint64_t event)
{
	struct tf_record r = play_call(p, call, 1);

	r.event.event = event;
	play_returns(p, &r);
}

/*
 * The next batch is copied while the GPU is to work at this one, 100 us each; the program's events
 * say so, but copies and kernels are on one stream. The host reads a result each step: a batch that
 * needs its own copy alone is there by then, and what needs the copy issued right before it is not.
 */
static void test_overlap_by_events(void **state)
{
	const uint64_t bytes = 1u << 20;
	struct play p;
	struct model m = {0};

	play_start(&p);
	uint16_t wait = made_call(&p.made, "cuStreamWaitEvent", SPY_CLASS_EVENT, SPY_LEVEL_DRIVER);
	for (int i = 0; i < 300; i++) {
		play_event(&p, wait, 0x600 + (uint64_t)(i % 2)); /* the place was used */
		play_transfer(&p, SPY_DIR_HTOD, SPY_MEM_PINNED, bytes, 3, 100);
		play_event(&p, p.mark, 0x500 + (uint64_t)(i % 2));
		play_event(&p, wait, 0x500 + (uint64_t)((i + 1) % 2));
		play_launch(&p, 3, 100);
		play_event(&p, p.mark, 0x600 + (uint64_t)((i + 1) % 2));
		play_sync(&p);
	}
	play_timed(&p, 100);
	play_timed_copy(&p, SPY_DIR_HTOD, bytes, 100);
	struct whatif_result r = play_ask(&p, &m, WHATIF_OVERLAP, NULL, 1);
	play_assert_base(&m, 0.01);
	assert_near(r.window, 300 * 210e3, 0.03);
	assert_near(r.predicted, 300 * 112e3, 0.05);
	play_ends(&p, &m);
}

/* A copy of pinned memory to the device, by a call that holds the host until it is done. */
static void play_blocking(struct play *p, uint64_t bytes, double us)
{
	double from = p->host;

	p->tail = fmax(p->host + 5, p->tail + 0.75) + us;
	p->host = p->tail;
	made_copy(&p->made, p->thread[0], p->copy, SPY_DIR_HTOD, SPY_MEM_PINNED, false, bytes,
	          2001000 + (uint64_t)(from * 2000), 2001000 + (uint64_t)(p->host * 2000));
}

/*
 * A batch is copied by such a call, 100 us, then a kernel takes as long and its result is waited
 * for: on a stream of its own, and made a step ahead, the copy goes beside the kernel before. Where
 * the host takes 300 us to come to it, that may be to make the batch, and it stays.
 */
static void test_overlap_a_step_ahead(void **state)
{
	const uint64_t bytes = 2500000;
	struct play p;

	for (int late = 0; late < 2; late++) {
		struct model m = {0};
		struct tf_work key = {.kind = TF_WORK_COPY,
		                      .direction = SPY_DIR_HTOD,
		                      .memory = SPY_MEM_PINNED,
		                      .size = work_size_bucket(bytes)};
		play_start(&p);
		for (int i = 0; i < 100; i++) {
			p.host += late ? 300 : 10;
			play_blocking(&p, bytes, 100);
			play_launch(&p, 5, 100);
			play_sync(&p);
		}
		play_timed(&p, 100);
		made_pairs(made_work(&p.made, key, 0), TF_PAIR_IDLE, 400, 1e3 * 105.2, 1);
		struct whatif_result r = play_ask(&p, &m, WHATIF_OVERLAP, NULL, 1);
		double step = (late ? 300 : 10) + 105 + 5 + 1.8 + 100 + 3.2;
		assert_near(r.window, 100 * step * 1e3, 0.03);
		assert_near(r.predicted, 100 * (late ? step : step - 100) * 1e3, 0.05);
		assert_near(r.most, r.window, 0.05);
		play_ends(&p, &m);
	}
}

/*
 * One thread gives the GPU its work, three steps ahead, and sleeps until the other one, which
 * brings back the result of each step by an event, lets it go on: the stream is never empty, and
 * a step's work takes 1.5 % longer than it was timed. That does not add up.
 */
static void test_overlap_of_two_threads(void **state)
{
	const uint64_t bytes = 1u << 20;
	struct play p;
	struct model m = {0};

	play_start(&p);
	uint16_t wait = made_call(&p.made, "cuStreamWaitEvent", SPY_CLASS_EVENT, SPY_LEVEL_DRIVER);
	for (int i = 0; i < 300; i++) {
		play_transfer(&p, SPY_DIR_HTOD, SPY_MEM_PINNED, bytes, 3, 330);
		play_event(&p, p.mark, 0x500 + (uint64_t)(i % 8));
		play_event(&p, wait, 0x500 + (uint64_t)(i % 8));
		play_launch(&p, 3, 330);
		play_event(&p, p.mark, 0x600 + (uint64_t)(i % 8));
		if (i < 3)
			continue;
		p.who = 1;
		play_event(&p, wait, 0x600 + (uint64_t)((i - 3) % 8));
		play_transfer(&p, SPY_DIR_DTOH, SPY_MEM_PINNED, bytes, 3, 330);
		play_event(&p, p.mark, 0x700 + (uint64_t)(i % 8));
		/* The other thread has been let go by the wait before this one. */
		struct tf_record r = play_call(&p, p.wait_mark, fmax(1, p.tail + 3.2 - p.host));
		r.event.event = 0x700 + (uint64_t)(i % 8);
		play_returns(&p, &r);
		p.host += 20;
		p.who = 0;
	}
	play_timed(&p, 325);
	play_timed_copy(&p, SPY_DIR_HTOD, bytes, 325);
	play_timed_copy(&p, SPY_DIR_DTOH, bytes, 325);
	struct whatif_result r = play_ask(&p, &m, WHATIF_OVERLAP, NULL, 1);
	play_assert_base(&m, 0.02);
	assert_near(r.window, 300 * 1010e3, 0.05);
	assert_near(r.predicted, 300 * 350e3, 0.1);
	play_ends(&p, &m);
}

/* The copy must wait for the kernel before it, as an event says, and for an older one, as the
 * next event does: the first one still counts. */
static void test_a_copy_behind_two_events(void **state)
{
	const uint64_t bytes = 1u << 20;
	struct play p;
	struct model m = {0};

	for (int both = 0; both < 2; both++) {
		m = (struct model){0};
		play_start(&p);
		uint16_t wait =
		        made_call(&p.made, "cuStreamWaitEvent", SPY_CLASS_EVENT, SPY_LEVEL_DRIVER);
		for (int i = 0; i < 300; i++) {
			play_launch(&p, 3, 100);
			play_event(&p, p.mark, 0x700);
			play_launch(&p, 3, 100);
			play_event(&p, p.mark, 0x600);
			play_event(&p, wait, 0x600);
			if (both)
				play_event(&p, wait, 0x700);
			play_transfer(&p, SPY_DIR_HTOD, SPY_MEM_PINNED, bytes, 3, 100);
		}
		play_timed(&p, 100);
		play_timed_copy(&p, SPY_DIR_HTOD, bytes, 100);
		play_sync(&p);
		struct whatif_result r = play_ask(&p, &m, WHATIF_OVERLAP, NULL, 1);
		assert_near(r.predicted, r.window, 0.03);
		play_ends(&p, &m);
	}
}

/*
 * Each step has a copy of pageable memory, 1000 us of the host's, and a kernel of 800: the copy
 * waits for the kernel before it on the stream, or the host waits for the kernel, or the copy
 * brings its result. Where it is made at another time the kernel runs meanwhile. Copies of few
 * bytes, and those that the host takes longer to come to, stay; at least, all do.
 */
static void test_overlap_of_pageable_memory(void **state)
{
	static const struct {
		enum spy_direction direction;
		uint64_t bytes;
		double work; /* of the host's ahead of the copy */
		bool waits, gains;
	} cases[] = {{SPY_DIR_HTOD, 5000000, 0, false, true},
	             {SPY_DIR_HTOD, 5000000, 0, true, true},
	             {SPY_DIR_DTOH, 5000000, 0, false, true},
	             {SPY_DIR_HTOD, 500000, 0, true, false},
	             {SPY_DIR_HTOD, 5000000, 1100, true, false}};

	for (unsigned k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
		bool to_host = cases[k].direction == SPY_DIR_DTOH;
		struct play p;
		struct model m = {0};

		play_start(&p);
		for (int i = 0; i < 100; i++) {
			p.host += cases[k].work;
			if (!to_host)
				play_transfer(&p, SPY_DIR_HTOD, SPY_MEM_PAGEABLE, cases[k].bytes,
				              1000, 0);
			play_launch(&p, 5, 800);
			if (to_host)
				play_transfer(&p, SPY_DIR_DTOH, SPY_MEM_PAGEABLE, cases[k].bytes,
				              1000, 0);
			if (cases[k].waits)
				play_sync(&p);
		}
		play_timed(&p, 800);
		struct whatif_result r = play_ask(&p, &m, WHATIF_OVERLAP, NULL, 1);
		double window = 100 * (1805 + cases[k].work) * 1e3;
		assert_near(r.window, window, 0.02);
		assert_near(r.predicted, cases[k].gains ? 100 * 1005e3 : window, 0.03);
		assert_near(r.most, window, 0.03);
		play_ends(&p, &m);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_a_pinned_copy_is_not_waited_for),
	        cmocka_unit_test(test_behind_a_pageable_copy),
	        cmocka_unit_test(test_a_copy_holds_the_other_thread),
	        cmocka_unit_test(test_pageable_memory_is_unmapped),
	        cmocka_unit_test(test_pages_that_a_copy_makes),
	        cmocka_unit_test(test_pinned),
	        cmocka_unit_test(test_pinned_by_the_link),
	        cmocka_unit_test(test_pinned_beside_small_ones),
	        cmocka_unit_test(test_pinned_by_no_link),
	        cmocka_unit_test(test_no_alloc),
	        cmocka_unit_test(test_pages_of_managed_memory),
	        cmocka_unit_test(test_a_pool_takes_time_too),
	        cmocka_unit_test(test_behind_an_allocation),
	        cmocka_unit_test(test_the_way_to_an_allocation),
	        cmocka_unit_test(test_overlap),
	        cmocka_unit_test(test_overlap_by_events),
	        cmocka_unit_test(test_overlap_a_step_ahead),
	        cmocka_unit_test(test_overlap_of_pageable_memory),
	        cmocka_unit_test(test_overlap_of_two_threads),
	        cmocka_unit_test(test_a_copy_behind_two_events),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
