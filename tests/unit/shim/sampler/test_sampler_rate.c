/* SPDX-License-Identifier: Apache-2.0 */
/* The sampler's budget, in time that the test makes up: a thread that launches steadily, samples
 * when its classes are due, and pays for it. */
#include "shim/sampler/sampler_class.h"
#include "shim/sampler/sampler_keys.h"
#include "tests/unit/shim_stubs.h"

#define LAUNCH 9000u  /* ticks from launch to launch: 3 us */
#define SAMPLE 30000u /* of the host for a sample, and of its stall */
#define LOOK   300u   /* for a look that ends without a sample */

struct program {
	struct sampler_class cls[SAMPLER_CLASSES];
	struct sampler_rate rate;
	uint64_t now, work, random;
	uint64_t samples, looks, spent;
	double percent;
};

static void begin(struct program *p, double percent)
{
	*p = (struct program){.now = 1000, .random = random_seed(42), .percent = percent};
	rate_begin(&p->rate, p->now, 0);
}

/* What the sampler does at a launch, but for the driver. */
static bool launch(struct program *p, uint64_t key)
{
	struct sampler_class *c = class_find(p->cls, key);
	bool sampled = false;
	uint64_t took = 0;

	p->work++;
	p->now += LAUNCH;
	if (!c) {
		class_place(p->cls, key, &p->random);
	} else if (!--c->until) {
		took = LOOK;
		class_put_off(c, &p->rate, &p->random);
		if (rate_affords(&p->rate, p->now, p->percent)) {
			took = SAMPLE;
			rate_sampled(&p->rate, took, p->now + took, p->work, p->percent);
			class_sampled(c, &p->rate, &p->random);
			sampled = true;
		} else {
			rate_spend(&p->rate, took);
			class_refused(c, &p->rate, &p->random);
			p->looks++;
		}
	}
	p->samples += sampled;
	p->spent += took;
	p->now += took;
	return sampled;
}

static uint64_t key_of(unsigned i)
{
	return sampler_key_kernel((void *)(uintptr_t)(0x7f0012340000 + i * 512), 1 + i, 1, 1, 128,
	                          1, 1, 0);
}

static double share(const struct program *p)
{
	return 100.0 * (double)p->spent / (double)p->now;
}

/* ---- the budget ---- */

static void test_a_budget_is_kept_and_used(void **state)
{
	const double budgets[] = {0.1, 1, 5, 50};

	for (unsigned i = 0; i < 4; i++) {
		struct program p;
		begin(&p, budgets[i]);
		for (unsigned n = 0; n < 2000000; n++)
			launch(&p, key_of(n % 8));
		assert_true(share(&p) <= budgets[i] * 1.05);
		assert_true(p.samples > 30 * 8 || budgets[i] < 1);
		assert_true(p.samples > 50);
	}
}

/* What an allowance paid for is made up for by half of the budget: samples go on meanwhile, and
 * when that is done all is as without. */
static void test_samples_go_on_behind_an_allowance(void **state)
{
	struct sampler_rate r;
	const uint64_t debt = 1000;
	unsigned samples = 0;

	(void)state;
	rate_begin(&r, 0, 0);
	rate_ahead(&r, debt);
	rate_sampled(&r, debt, 1, 1, 1);
	r.cost = 10;
	for (uint64_t now = 1; now <= 400000; now++) {
		if (!rate_affords(&r, now, 1))
			continue;
		rate_spend(&r, 10);
		samples++;
		if (now < 190000) /* until then half of it: a budget of 2,000 would have paid */
			assert_in_range(10 * samples + 20, now / 200, now / 200 + 20);
	}
	assert_in_range(r.spent, 4000 - 10, 4000);
}

/* The queue is full, and launches come a hundred times slower: the gap of before would be as many
 * times too long, and would be left by quarters. */
static void test_a_new_rate_tells_alone(void **state)
{
	struct sampler_rate r;
	uint64_t now = 1000, work = 0;

	(void)state;
	rate_begin(&r, now, work);
	for (int i = 0; i < 100; i++) {
		now += 1000 * LAUNCH;
		work += 1000;
		rate_sampled(&r, SAMPLE, now, work, 1);
	}
	assert_in_range(rate_gap(&r, 1), 300, 350); /* SAMPLE / 1 % / LAUNCH */
	rate_anew(&r, now, work);
	assert_in_range(rate_gap(&r, 1), 2, 20);
	now += 10 * 100 * LAUNCH;
	work += 10;
	rate_sampled(&r, SAMPLE, now, work, 1);
	assert_in_range(rate_gap(&r, 1), 3, 4);
}

/* Looks that come to nothing must not eat what samples would need. */
static void test_many_new_classes_do_not_starve_it(void **state)
{
	struct program p;

	begin(&p, 1);
	for (unsigned n = 0; n < 2000000; n++)
		launch(&p, key_of(n % 200));
	assert_true(share(&p) <= 1.05);
	assert_true((double)p.samples * SAMPLE > 0.5 * (double)p.spent);
	assert_true(p.samples > 3000);
}

static void test_looks_are_few(void **state)
{
	struct program p;

	begin(&p, 0.1);
	for (unsigned n = 0; n < 2000000; n++)
		launch(&p, key_of(n % 8));
	assert_true(p.looks < 2000000 / 32);
	assert_true(p.samples > 100);
}

/* A program that waits most of the time has the budget of its time, not of its launches. */
static void test_a_slow_program_is_sampled_oftener(void **state)
{
	struct program p;

	begin(&p, 1);
	for (unsigned n = 0; n < 20000; n++) {
		launch(&p, key_of(n % 8));
		p.now += 100 * LAUNCH;
	}
	assert_true(share(&p) <= 1.05);
	assert_true(p.samples > 8 * 64);
}

/* ---- which ---- */

static void test_every_class_of_a_loop_is_met_alike(void **state)
{
	for (unsigned kernels = 2; kernels <= 16; kernels *= 2) {
		struct program p;
		uint64_t met[16] = {0}, least = UINT64_MAX, most = 0;
		begin(&p, 1);
		for (unsigned n = 0; n < 1000000; n++)
			met[n % kernels] += launch(&p, key_of(n % kernels));
		for (unsigned i = 0; i < kernels; i++) {
			least = met[i] < least ? met[i] : least;
			most = met[i] > most ? met[i] : most;
		}
		assert_true(least > 64);
		assert_true(most < 2 * least);
	}
}

static void test_a_rare_class_gets_its_samples(void **state)
{
	struct program p;
	uint64_t rare = 0;

	begin(&p, 1);
	for (unsigned n = 0; n < 1000000; n++) {
		launch(&p, key_of(n % 8));
		if (n % 5000 == 4999)
			rare += launch(&p, key_of(100));
	}
	assert_true(rare >= 8); /* of 200 */
}

/* More classes than places: those met often have one. */
static void test_more_classes_than_places(void **state)
{
	struct program p;
	uint64_t often = 0;

	begin(&p, 1);
	for (unsigned n = 0; n < 3000000; n++) {
		launch(&p, key_of(100 + n % 600));
		often += launch(&p, key_of(n % 4));
	}
	assert_true(share(&p) <= 1.05);
	assert_true(often > 500);
	assert_true(p.samples > often + 1000);
}

static void test_a_well_known_class_is_sampled_less(void **state)
{
	struct program p;

	begin(&p, 1);
	for (unsigned n = 0; n < 10000000; n++)
		launch(&p, key_of(0));
	assert_true(share(&p) < 0.3);
	assert_true(p.samples > 128);
}

/* ---- ends of ranges ---- */

static void test_a_thread_that_goes_on_in_another_slot(void **state)
{
	struct program p;

	begin(&p, 1);
	for (unsigned n = 0; n < 100000; n++)
		launch(&p, key_of(0));
	uint32_t gap = rate_gap(&p.rate, 1);
	/* A slot that other threads left, with a thousand million launches; then a fresh one. */
	p.work = 1000000000;
	rate_resume(&p.rate, p.now, p.work);
	p.now += LAUNCH;
	rate_sampled(&p.rate, SAMPLE, p.now, ++p.work, p.percent);
	assert_true(rate_gap(&p.rate, 1) < 4 * gap + 1000);
	rate_sampled(&p.rate, SAMPLE, p.now + 1, 5, p.percent);
	assert_true(rate_gap(&p.rate, 1) < 4 * gap + 1000);
}

static void test_nothing_is_out_of_range(void **state)
{
	struct sampler_rate r;
	uint64_t random = random_seed(0);

	assert_true(random != 0);
	rate_begin(&r, 5, 0);
	assert_false(rate_affords(&r, 5, 1));
	assert_true(rate_affords(&r, 6, 1));
	rate_sampled(&r, UINT64_MAX / 4, 6, UINT64_MAX / 2, 0.001);
	assert_int_equal(rate_gap(&r, 1), RATE_GAP_MOST);
	for (unsigned samples = 0; samples < 300; samples++) {
		struct sampler_class c = {.samples = (uint8_t)(samples < 255 ? samples : 255)};
		for (unsigned i = 0; i < 40; i++) {
			class_late(&c, &r, &random);
			assert_true(c.until >= 1 && c.until < 1u << 31);
			assert_true(class_stall_us(&c) >= STALL_FIRST_US &&
			            class_stall_us(&c) <= 450);
		}
		class_sampled(&c, &r, &random);
		assert_true(c.until >= 1 && c.until < 1u << 31);
	}
	rate_begin(&r, 5, 0);
	for (unsigned i = 0; i < 1000; i++) {
		struct sampler_class c = {.samples = 200};
		class_sampled(&c, &r, &random);
		assert_true(c.until >= 1);
		class_refused(&c, &r, &random);
		assert_true(c.until >= 1);
		class_put_off(&c, &r, &random);
		assert_true(c.until >= 1);
	}
	assert_int_equal(random_below(&random, 0), 0);
	assert_int_equal(random_below(&random, 1), 0);
}

/* A class whose every stall runs out is left alone in the end. */
static void test_a_hopeless_class_is_given_up(void **state)
{
	struct program p;
	struct sampler_class c = {.until = 1};
	uint64_t tries = 0;

	begin(&p, 1);
	p.rate.gap = 300;
	for (unsigned n = 0; n < 1000000; n++)
		if (!--c.until) {
			tries++;
			class_late(&c, &p.rate, &p.random);
		}
	assert_true(tries < 100);
	assert_int_equal(class_stall_us(&c), 450);
	c.until = 1;
	class_sampled(&c, &p.rate, &p.random);
	assert_int_equal(c.late, 0);
}

/* One whose calls wait by themselves is left alone sooner, and no longer stall is tried; the same
 * call may wait for nothing next time. */
static void test_a_class_that_waits_by_itself(void **state)
{
	struct program p;
	struct sampler_class c = {.until = 1};
	uint64_t tries = 0;

	begin(&p, 1);
	p.rate.gap = 300;
	for (unsigned n = 0; n < 1000000; n++)
		if (!--c.until) {
			tries++;
			class_waited(&c, &p.rate, &p.random);
			assert_int_equal(class_stall_us(&c), STALL_FIRST_US);
		}
	assert_true(tries > 4 && tries < 80);
	c.until = 1;
	class_sampled(&c, &p.rate, &p.random);
	assert_int_equal(c.late, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_a_budget_is_kept_and_used),
	        cmocka_unit_test(test_samples_go_on_behind_an_allowance),
	        cmocka_unit_test(test_a_new_rate_tells_alone),
	        cmocka_unit_test(test_many_new_classes_do_not_starve_it),
	        cmocka_unit_test(test_looks_are_few),
	        cmocka_unit_test(test_a_slow_program_is_sampled_oftener),
	        cmocka_unit_test(test_every_class_of_a_loop_is_met_alike),
	        cmocka_unit_test(test_a_rare_class_gets_its_samples),
	        cmocka_unit_test(test_more_classes_than_places),
	        cmocka_unit_test(test_a_well_known_class_is_sampled_less),
	        cmocka_unit_test(test_a_thread_that_goes_on_in_another_slot),
	        cmocka_unit_test(test_nothing_is_out_of_range),
	        cmocka_unit_test(test_a_hopeless_class_is_given_up),
	        cmocka_unit_test(test_a_class_that_waits_by_itself),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
