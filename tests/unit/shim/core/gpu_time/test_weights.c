/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "shim/core/gpu_time/weights.h"
#include "tests/unit/unit.h"

#define LAUNCHES 60000u
#define RUNS     2000u

static uint64_t random_state;

static double random_one(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (double)(random_state >> 11) / (double)(1ull << 53);
}

static uint64_t random_below(double bound)
{
	return (uint64_t)(random_one() * bound);
}

/* ---- programs: how long each launch takes ---- */

static double drift(unsigned i)
{
	return i < 2000 ? 30000 : 5000;
}

static double reverse(unsigned i)
{
	return i >= LAUNCHES - 2000 ? 30000 : 5000;
}

static double sawtooth(unsigned i)
{
	return 3000 + 4 * (i % 6000);
}

static double bimodal(unsigned i)
{
	return (i + 1) * 0x9e3779b97f4a7c15u >> 60 & 4 ? 50000 : 5000;
}

/* As different as by chance. */
static double either(unsigned i)
{
	uint64_t x = (i + 1) * 0x9e3779b97f4a7c15u;

	x = (x ^ x >> 33) * 0xff51afd7ed558ccdu;
	x = (x ^ x >> 33) * 0xc4ceb9fe1a85ec53u;
	return x >> 63 ? 50000 : 5000;
}

static double steady(unsigned i)
{
	return 5000 + 40 * (double)((i * 0x9e3779b9u) >> 28);
}

/* ---- sampling them ---- */

struct program {
	double (*takes)(unsigned i);
	unsigned launches;
	double gap;     /* launches between samples */
	unsigned eager; /* samples ahead of these, eight times as close */
};

static double truth_of(const struct program *p)
{
	double sum = 0;

	for (unsigned i = 0; i < p->launches; i++)
		sum += p->takes(i);
	return sum / p->launches;
}

/* As sampler_class.c: half to one and a half times the gap. */
static uint64_t next_gap(const struct program *p, unsigned samples)
{
	double gap = samples < 8 ? 2 : samples < p->eager ? p->gap / 8 : p->gap;

	if (samples < 8)
		return 1 + random_below(3);
	return 1 + (uint64_t)(gap / 2) + random_below(gap);
}

static struct weights_mean sampled(const struct program *p)
{
	struct tf_weights w = {.pairs = 0};
	struct weights_series s = {.nth = 0};
	struct weights_mean m;
	uint64_t nth = 2;

	for (unsigned n = 0; nth <= p->launches; nth += next_gap(p, n++)) {
		int regime = random_one() < 0.3;
		weights_add(&w, &s, nth, nth, regime,
		            p->takes((unsigned)nth - 1) + 2000 + 30 * random_one());
	}
	assert_int_equal(w.covered, s.nth);
	assert_true(weights_mean(&w, p->launches, &m));
	assert_near(m.share[TF_PAIR_IDLE] + m.share[TF_PAIR_BUSY], 1, 1e-9);
	m.ns -= 2015;
	return m;
}

/* Student's t: half of a 95 % interval in standard deviations; for 3 degrees and more. */
static double student(double degrees)
{
	double d = fmax(3, degrees);

	return 1.96 + 2.372 / d + 2.822 / (d * d) + 2.556 / (d * d * d);
}

/* Of many runs: how many intervals hold the truth, and how many means are within 5 %. */
static void holds(const struct program *p, double least, double near_least)
{
	const double truth = truth_of(p);
	double held = 0, near = 0;

	for (unsigned run = 0; run < RUNS; run++) {
		random_state = (run + 1) * 0x9e3779b97f4a7c15u;
		struct weights_mean m = sampled(p);
		double half = student(m.degrees) * sqrt(m.variance);
		held += fabs(m.ns - truth) <= half + 20;
		near += fabs(m.ns - truth) <= 0.05 * truth;
	}
	assert_true(held >= least * RUNS);
	assert_true(near >= near_least * RUNS);
}

static void test_drift(void **state)
{
	holds(&(struct program){drift, LAUNCHES, 300, 30}, 0.95, 0.99);
}

static void test_reverse(void **state)
{
	holds(&(struct program){reverse, LAUNCHES, 300, 30}, 0.95, 0.99);
}

static void test_sawtooth(void **state)
{
	holds(&(struct program){sawtooth, LAUNCHES, 300, 30}, 0.95, 0.99);
}

static void test_steady(void **state)
{
	holds(&(struct program){steady, LAUNCHES, 500, 30}, 0.94, 1);
}

static void test_mixture(void **state)
{
	holds(&(struct program){bimodal, LAUNCHES, 300, 30}, 0.93, 0.5);
	/* 95 % of 95 %: no more than one interval in twenty misses, but for the chance of 2,000
	 * runs */
	holds(&(struct program){either, 20000, 20, 30}, 0.94, 0.9);
	holds(&(struct program){either, 20000, 100, 30}, 0.94, 0.5);
	holds(&(struct program){either, 20000, 300, 30}, 0.94, 0.3);
}

static void test_few(void **state)
{
	holds(&(struct program){steady, 12, 2, 8}, 0.93, 1);
	holds(&(struct program){bimodal, 40, 2, 8}, 0.85, 0);
}

/*
 * Threads whose pieces differ, until all of them end at some moment: what is behind the last sample
 * of each is not known, and can be half of all.
 */
static void test_behind_the_ends(void **state)
{
	static const struct {
		double every, gap, ns; /* time between launches, launches between samples */
	} threads[] = {{1, 200, 5000}, {10, 20, 50000}, {3, 60, 20000}};
	unsigned held = 0, without = 0;

	for (unsigned run = 0; run < RUNS; run++) {
		struct tf_weights w = {.pairs = 0};
		struct weights_mean m;
		double end = 400 + 2000 * random_one(), count = 0, sum = 0;
		for (unsigned i = 0; i < 3; i++) {
			struct weights_series s = {.nth = 0};
			double gap = threads[i].gap, launches = floor(end / threads[i].every);
			for (double nth = 1; nth <= launches;
			     nth += floor(gap * (0.5 + random_one())))
				weights_add(&w, &s, (uint64_t)nth, UINT32_MAX, TF_PAIR_IDLE,
				            threads[i].ns);
			count += launches;
			sum += launches * threads[i].ns;
		}
		assert_true(weights_mean(&w, (uint64_t)count, &m));
		double off = fabs(m.ns - sum / count);
		held += off <= 1.96 * sqrt(m.variance) + 1;
		without += off <= 1.96 * sqrt(m.variance - m.division) + 1;
	}
	assert_true(held >= 0.95 * RUNS);
	assert_true(without < 0.1 * RUNS); /* all pieces of a thread are alike */
}

/* ---- figures ---- */

static void test_by_hand(void **state)
{
	struct tf_weights w = {.pairs = 0};
	struct weights_series s = {.nth = 0};
	struct weights_mean m;

	assert_false(weights_mean(&w, 100, &m));
	weights_add(&w, &s, 10, 12, TF_PAIR_IDLE, 1000);
	assert_true(weights_mean(&w, 10, &m));
	assert_near(m.ns, 1000, 1e-9);
	assert_true(isnan(m.variance)); /* one tells nothing of others */
	weights_add(&w, &s, 20, 20, TF_PAIR_IDLE, 2000);
	weights_add(&w, &s, 60, 60, TF_PAIR_BUSY, 5000);
	weights_add(&w, &s, 80, 80, TF_PAIR_IDLE, 4000);
	assert_true(weights_mean(&w, 100, &m));
	/* 10 + 5, 5 + 20, 20 + 10, 10 + 20 */
	assert_near(m.ns, (15 * 1000.0 + 25 * 2000 + 30 * 5000 + 30 * 4000) / 100, 1e-9);
	assert_near(m.share[TF_PAIR_BUSY], 0.3, 1e-9);
	assert_near(m.degrees, 10000 / (225.0 + 625 + 900 + 900), 1e-9);
	/* of the one on a busy stream no difference is known */
	double d = (225 * 5e5 + 625 * 5e5 + 900 * 2e6) / (225 + 625 + 900);
	assert_near(m.piece, d, 1e-9);
	assert_near(m.variance, d / m.degrees, 1e-9);
	assert_true(weights_recent(&w, &m));
	assert_near(m.ns, 3000, 1e-9);
	assert_near(m.share[TF_PAIR_BUSY], 0.25, 1e-9);
}

/* Two threads, of which one launches ten times as often and is sampled as often: pairs of one stand
 * for ten times as many. */
static void test_two_threads(void **state)
{
	struct tf_weights w = {.pairs = 0};
	struct weights_series a = {.nth = 0}, b = {.nth = 0};
	struct weights_mean m;

	for (uint64_t i = 1; i <= 50; i++) {
		weights_add(&w, &a, 100 * i, 110 * i, TF_PAIR_IDLE, 5000);
		weights_add(&w, &b, 10 * i, 110 * i, TF_PAIR_BUSY, 50000);
	}
	assert_true(weights_mean(&w, 5500, &m));
	assert_near(m.ns, (5000 * 5000.0 + 500 * 50000.0) / 5500, 1e-9);
	assert_true(m.variance == 0 && m.division == 0);
	assert_true(weights_mean(&w, 11000, &m)); /* as often as before, behind the ends */
	assert_near(m.ns, (5000 * 5000.0 + 500 * 50000.0) / 5500, 1e-9);
	assert_near(m.share[TF_PAIR_BUSY], 1.0 / 11, 1e-9);
	/* 100 to 10 of these 5,500, of half the launches, are divided so: off by 45 us for each
	 * that is the other thread's. */
	double apart = 45000 * (100.0 / 110 * (10.0 / 110)) / 2;
	assert_near(m.division, 2 * 2 * apart * apart, 1e-3);
	assert_near(m.variance, m.division, 1e-9);
	w.end_apart = w.end_apart_ns = 0; /* of an earlier version */
	assert_true(weights_mean(&w, 11000, &m));
	assert_true(m.division == 0);
}

static void test_out_of_order_and_lost_series(void **state)
{
	struct tf_weights w = {.pairs = 0};
	struct weights_series s = {.nth = 0}, again = {.nth = 0};
	struct weights_mean m;

	weights_add(&w, &s, 100, 100, TF_PAIR_IDLE, 1000);
	weights_add(&w, &s, 1000, 1000, TF_PAIR_IDLE, 1000);
	weights_add(&w, &s, 999, 1000, TF_PAIR_IDLE, 9000);
	weights_add(&w, &s, 1000, 1000, TF_PAIR_IDLE, 9000);
	assert_int_equal(w.pairs, 2);
	/* Another process goes on, and does not know of the pairs before. */
	weights_add(&w, &again, 1100, 1110, TF_PAIR_IDLE, 2000);
	assert_int_equal(w.covered, 1110);
	assert_true(weights_mean(&w, 1110, &m));
	assert_true(m.ns < 1200);
}

static void test_damaged(void **state)
{
	static const double wrong[] = {NAN, INFINITY, -1, 1e300, -1e300};
	struct tf_weights good = {.pairs = 0};
	struct weights_series s = {.nth = 0};
	struct weights_mean m;

	for (uint64_t i = 1; i < 9; i++)
		weights_add(&good, &s, 10 * i, 10 * i, i & 1, 1000.0 * (double)i);
	for (size_t at = 0; at < offsetof(struct tf_weights, reserved); at += sizeof(double))
		for (size_t k = 0; k < sizeof(wrong) / sizeof(wrong[0]); k++) {
			struct tf_weights w = good;
			memcpy((char *)&w + at, &wrong[k], sizeof(double));
			if (!weights_mean(&w, 100, &m))
				continue;
			assert_true(m.ns >= 0 && m.ns < 1e15);
			assert_true(m.degrees > 0 && m.degrees < 1e18);
			assert_true(isnan(m.piece) || (m.piece >= 0 && m.piece < 1e30));
			assert_true(m.share[0] >= 0 && m.share[0] <= 1);
			assert_true(m.division >= 0 && m.division < 1e30);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_drift),
	        cmocka_unit_test(test_reverse),
	        cmocka_unit_test(test_sawtooth),
	        cmocka_unit_test(test_steady),
	        cmocka_unit_test(test_mixture),
	        cmocka_unit_test(test_few),
	        cmocka_unit_test(test_behind_the_ends),
	        cmocka_unit_test(test_by_hand),
	        cmocka_unit_test(test_two_threads),
	        cmocka_unit_test(test_out_of_order_and_lost_series),
	        cmocka_unit_test(test_damaged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
