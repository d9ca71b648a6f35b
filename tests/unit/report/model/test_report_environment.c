/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/model/environment.h"
#include "tests/unit/recording.h"
#include "tests/unit/render.h"
#include "tests/unit/unit.h"

#define SECOND 2000000000ull /* ticks */

static struct made made;
static struct tf_environment *e;
static struct tf_reading *first, *last; /* of device 0, ten seconds apart */
static struct model m;

static void tell(struct tf_reading *r, enum spy_environment what, uint64_t value)
{
	made_told(r, what, value, r == first ? SECOND : 11 * SECOND);
}

static int setup(void **state)
{
	made_start(&made, 1 << 20, 4, 0);
	made_clock(&made, 0, 1000000000, 1755767727123000000);
	made_clock(&made, 20 * SECOND, 21000000000, 1755767747123000000); /* 0.5 ns a tick */
	strcpy(made_header(&made)->boot_id, "a-boot");
	e = made_environment(&made, 1);
	first = &e->devices[0].first;
	last = &e->devices[0].last;
	tell(first, SPY_ENVIRONMENT_SM_MHZ, 345);
	tell(last, SPY_ENVIRONMENT_SM_MHZ, 1980);
	return 0;
}

static int teardown(void **state)
{
	made_free(&made);
	return 0;
}

static void read_it(void)
{
	assert_true(render_model(&m, made.map.base, made_bytes(&made)));
}

static struct environment_device *device(void)
{
	read_it();
	assert_int_equal(m.environment_count, 1);
	return &m.environment[0];
}

/* The one thing that is wrong; "" = nothing is. */
static void wrong(const char *text)
{
	struct environment_anomalies t;

	read_it();
	assert_int_equal(environment_anomalies(&m, &t), *text != 0);
	if (t.count != (*text != 0))
		fail_msg("%zu troubles: %s", t.count, t.count ? t.texts[0] : "");
	if (*text)
		assert_string_equal(t.texts[0], text);
	environment_anomalies_free(&t);
	model_free(&m);
}

static void test_healthy(void **state)
{
	tell(last, SPY_ENVIRONMENT_ECC, 0);
	tell(last, SPY_ENVIRONMENT_OTHERS, 0);
	tell(last, SPY_ENVIRONMENT_REASONS,
	     SPY_THROTTLE_IDLE | SPY_THROTTLE_CLOCKS_SET | SPY_THROTTLE_SYNC_BOOST);
	wrong("");
	read_it();
	char *line = environment_line(&m, &m.environment[0]), *unknown = environment_unknown(&m);
	assert_string_equal(line, "GPU 0 at exit: 1980 of n/a MHz, no other process");
	assert_null(unknown);
	free(line);
	model_free(&m);
}

static void test_what_is_not_told_is_not_known(void **state)
{
	const struct environment_device *d = device();

	assert_true(isnan(d->last.value[SPY_ENVIRONMENT_ECC]));
	assert_true(isnan(environment_capped_share(d)));
	assert_true(isnan(environment_mean_power(d)));
	assert_near(d->between, 10e9, 1e-9);
	model_free(&m);
}

static void test_counters_between_the_readings(void **state)
{
	tell(first, SPY_ENVIRONMENT_CAPPED_NS, 7000000000);
	tell(last, SPY_ENVIRONMENT_CAPPED_NS, 9500000000);
	tell(first, SPY_ENVIRONMENT_ENERGY_MJ, 100000);
	tell(last, SPY_ENVIRONMENT_ENERGY_MJ, 5100000);
	tell(first, SPY_ENVIRONMENT_HEATED_NS, 3000000000);
	tell(last, SPY_ENVIRONMENT_HEATED_NS, 1000000000);
	const struct environment_device *d = device();
	assert_near(environment_capped_share(d), 0.25, 1e-9);
	assert_near(environment_mean_power(d), 500, 1e-9); /* 5 kJ in 10 s */
	assert_true(isnan(environment_heated_share(d)));   /* set back meanwhile */
	model_free(&m);
	wrong("GPU 0: its work drew all its power, which held its clocks down for "
	      "25.0 % of the 10.0 s from CUDA's start to exit");
	tell(last, SPY_ENVIRONMENT_CAPPED_NS, 7400000000);
	wrong(""); /* 4 % */
	tell(last, SPY_ENVIRONMENT_CAPPED_NS, UINT64_MAX);
	assert_near(environment_capped_share(device()), 1, 1e-9);
	model_free(&m);
}

static void test_a_counter_says_more_than_a_moment(void **state)
{
	tell(last, SPY_ENVIRONMENT_REASONS, SPY_THROTTLE_POWER_CAP);
	wrong("GPU 0: its work drew all its power, which held its clocks down at "
	      "exit");
	tell(first, SPY_ENVIRONMENT_CAPPED_NS, 0);
	tell(last, SPY_ENVIRONMENT_CAPPED_NS, 1000);
	wrong("");
	tell(last, SPY_ENVIRONMENT_REASONS, SPY_THROTTLE_HARDWARE | SPY_THROTTLE_POWER_BRAKE);
	wrong("GPU 0: its clocks were held down at exit: external power brake");
}

static void test_power_limit(void **state)
{
	tell(last, SPY_ENVIRONMENT_POWER_DEFAULT_MW, 700000);
	tell(last, SPY_ENVIRONMENT_POWER_LIMIT_MW, 700000);
	wrong("");
	tell(last, SPY_ENVIRONMENT_POWER_LIMIT_MW, 350000);
	wrong("GPU 0: its power limit is 350 W, 700 W is the default");
}

/* So many texts, so many of them of its own work's power; the first one. */
static void power(size_t count, size_t normal, const char *text)
{
	struct environment_anomalies t;

	read_it();
	assert_true(environment_anomalies(&m, &t));
	assert_string_equal(t.texts[0], text);
	assert_int_equal(t.count, count);
	assert_int_equal(t.normal, normal);
	assert_int_equal(isnan(t.throttled_share), normal > 0);
	environment_anomalies_free(&t);
	model_free(&m);
}

/* That a program's own work takes all the power is no anomaly; under a lowered limit, in heat, or
 * beside others it may be. */
static void test_all_the_power(void **state)
{
	static const char own[] = "GPU 0: the program's work drew all its power "
	                          "(700 W), which held its clocks down for 25.0 % of the 10.0 s "
	                          "from CUDA's start to exit",
	                  held[] = "GPU 0: the power limit (700 W) held its clocks down for 25.0 % "
	                           "of the 10.0 s from CUDA's start to exit";

	tell(first, SPY_ENVIRONMENT_CAPPED_NS, 7000000000);
	tell(last, SPY_ENVIRONMENT_CAPPED_NS, 9500000000);
	tell(last, SPY_ENVIRONMENT_POWER_DEFAULT_MW, 700000);
	tell(last, SPY_ENVIRONMENT_POWER_LIMIT_MW, 700000);
	tell(last, SPY_ENVIRONMENT_OTHERS, 0);
	power(1, 1, own);
	tell(last, SPY_ENVIRONMENT_REASONS, SPY_THROTTLE_POWER_CAP | SPY_THROTTLE_CLOCKS_SET);
	power(1, 1, own);
	tell(last, SPY_ENVIRONMENT_REASONS, SPY_THROTTLE_THERMAL);
	power(2, 0, held);
	tell(last, SPY_ENVIRONMENT_REASONS, 0);
	tell(first, SPY_ENVIRONMENT_HEATED_NS, 0);
	tell(last, SPY_ENVIRONMENT_HEATED_NS, 1000000000);
	power(2, 0, held);
	tell(last, SPY_ENVIRONMENT_HEATED_NS, 1000000);
	tell(last, SPY_ENVIRONMENT_OTHERS, 1);
	power(2, 0, held);
	tell(last, SPY_ENVIRONMENT_OTHERS, 0);
	tell(last, SPY_ENVIRONMENT_MIG, 1); /* of a device in instances the others are not known */
	power(1, 0, held);
	tell(last, SPY_ENVIRONMENT_MIG, 0);
	tell(last, SPY_ENVIRONMENT_POWER_DEFAULT_MW, 800000);
	power(2, 0, held);
}

/* Longer than the run's work took at most, others' work did it: how long beside the run's is not
 * known. */
static void test_all_the_power_to_others(void **state)
{
	static const double busy[] = {NAN, 2.6e9, 2.4e9}; /* clocks were held down for 2.5 s */

	tell(first, SPY_ENVIRONMENT_CAPPED_NS, 7000000000);
	tell(last, SPY_ENVIRONMENT_CAPPED_NS, 9500000000);
	assert_true(isnan(device()->busy));
	model_free(&m);
	for (int i = 0; i < 3; i++) {
		struct environment_anomalies t;
		device()->busy = busy[i];
		assert_true(environment_anomalies(&m, &t));
		assert_int_equal(t.normal, i < 2);
		assert_true(isnan(t.throttled_share));
		if (i == 2)
			assert_string_equal(t.texts[0],
			                    "GPU 0: other work drew all its power: its clocks were "
			                    "held down for 25.0 % of the 10.0 s from CUDA's start "
			                    "to exit, and the program's work took 2.40 s of that "
			                    "at most");
		environment_anomalies_free(&t);
		model_free(&m);
	}
}

static void test_memory_errors(void **state)
{
	tell(last, SPY_ENVIRONMENT_ECC, 3);
	wrong("GPU 0: 3 uncorrected memory errors (ECC) since its driver was loaded");
	tell(first, SPY_ENVIRONMENT_ECC, 2);
	wrong("GPU 0: 3 uncorrected memory errors (ECC) since its driver was loaded, 1 of them "
	      "during this run");
}

static void test_link(void **state)
{
	tell(last, SPY_ENVIRONMENT_PCIE_GEN, 1);
	tell(last, SPY_ENVIRONMENT_PCIE_GEN_MAX, 5);
	tell(last, SPY_ENVIRONMENT_PCIE_WIDTH, 16);
	tell(last, SPY_ENVIRONMENT_PCIE_WIDTH_MAX, 16);
	wrong(""); /* nobody knows whether it was busy */
	tell(last, SPY_ENVIRONMENT_UTILIZATION, 0);
	wrong("");
	tell(last, SPY_ENVIRONMENT_UTILIZATION, 30);
	wrong("GPU 0: its PCIe link was of generation 1 x16 while it worked; 5 x16 is possible");
	tell(last, SPY_ENVIRONMENT_PCIE_GEN, 5);
	wrong("");
	tell(last, SPY_ENVIRONMENT_PCIE_WIDTH, 8);
	wrong("GPU 0: its PCIe link was of generation 5 x8 while it worked; 5 x16 is possible");
}

static void test_other_processes(void **state)
{
	tell(first, SPY_ENVIRONMENT_OTHERS, 2);
	tell(first, SPY_ENVIRONMENT_OTHERS_BYTES, 3ull << 30);
	first->pids[0] = 99;
	first->pids[1] = 4711; /* of this run */
	tell(last, SPY_ENVIRONMENT_OTHERS, 0);
	wrong("GPU 0: 1 other process on it at the start, gone at exit (99), with n/a of its "
	      "memory");
	tell(last, SPY_ENVIRONMENT_OTHERS, 1);
	tell(last, SPY_ENVIRONMENT_OTHERS_BYTES, 1ull << 30);
	last->pids[0] = 98;
	wrong("GPU 0: 1 other process on it at exit (98), with 1.00GiB of its memory");
	tell(last, SPY_ENVIRONMENT_MIG, 1);
	wrong(""); /* in an instance of their own, perhaps */
}

static void test_old_driver(void **state)
{
	made_header(&made)->driver_version = 12080;
	made_library(&made, TF_LIBRARY_RUNTIME, "/usr/lib/libcudart.so.12", 12000);
	made_library(&made, TF_LIBRARY_TOOL, "/usr/lib/libcupti.so.13", 13000);
	wrong("");
	made_library(&made, TF_LIBRARY_RUNTIME, "/usr/lib/libcudart.so.13", 13000);
	wrong("the driver is of CUDA 12.8, older than the runtime's 13.0 (libcudart.so.13)");
	made_header(&made)->driver_version = 0;
	wrong("");
}

static void test_why_nothing_is_known(void **state)
{
	static const struct {
		uint32_t state;
		const char *text;
	} all[] = {
	        {TF_ENVIRONMENT_UNKNOWN, "NVML did not answer in time"},
	        {TF_ENVIRONMENT_NO_LIBRARY, "no libnvidia-ml.so.1"},
	        {TF_ENVIRONMENT_FAILED, "NVML failed: error 18"},
	        {TF_ENVIRONMENT_FORKED, "a forked child does not ask"},
	        {4000000000u, "not in the recording"},
	};

	e->result = 18;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		e->state = all[i].state;
		read_it();
		char *text = environment_unknown(&m);
		assert_string_equal(text, all[i].text);
		free(text);
		model_free(&m);
		wrong("");
	}
	made_header(&made)->environment = 0; /* of an older cudaspy */
	read_it();
	char *text = environment_unknown(&m);
	assert_string_equal(text, "not in the recording");
	free(text);
	model_free(&m);
}

/* Two processes of a run that see the same two devices: one line a device, of who used it. */
static void test_one_row_a_device(void **state)
{
	struct made other;
	struct recording r;
	struct warnings warnings = {0};
	char error[READER_ERROR_BYTES];

	made_start(&other, 1 << 20, 4, 0);
	strcpy(made_header(&other)->boot_id, "a-boot");
	made_header(&other)->pid = 4712;
	e->devices[0].used = 1;
	struct tf_environment *theirs = made_environment(&other, 2);
	made_told(&theirs->devices[0].first, SPY_ENVIRONMENT_SM_MHZ, 1, SECOND);
	made_told(&theirs->devices[1].first, SPY_ENVIRONMENT_SM_MHZ, 2, SECOND);
	memset(&m, 0, sizeof(m));
	const struct made *both[] = {&other, &made};
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(recording_from_memory(&r, both[i]->map.base, made_bytes(both[i]),
		                                       &warnings, error),
		                 0);
		model_add(&m, &r);
		recording_close(&r);
	}
	model_finish(&m);
	assert_int_equal(m.environment_count, 2);
	assert_int_equal(m.environment[0].process, 1);
	assert_true(m.environment[0].used);
	assert_near(m.environment[0].last.value[SPY_ENVIRONMENT_SM_MHZ], 1980, 1e-9);
	assert_false(m.environment[1].used);
	model_free(&m);
	warnings_free(&warnings);
	made_free(&other);
}

static void test_damaged(void **state)
{
	struct rendered r;

	e->count = UINT32_MAX;
	memset(e->devices, 0xff, sizeof(e->devices));
	memset(e->driver_version, 0xff, sizeof(e->driver_version));
	assert_true(render(&r, made.map.base, made_bytes(&made)));
	assert_null(strstr(r.json, "nan"));
	assert_null(strstr(r.text, "nan"));
	rendered_free(&r);
	made_header(&made)->environment = made_bytes(&made) - 8;
	assert_true(render(&r, made.map.base, made_bytes(&made)));
	assert_non_null(strstr(r.text, "not known (not in the recording)"));
	rendered_free(&r);
}

/* ---- CPUs ---- */

static void line_is(const char *wanted)
{
	read_it();
	char *line = environment_cpu_line(&m.processes[0].cpu);
	assert_string_equal(line, wanted);
	free(line);
	model_free(&m);
}

static void test_cpus(void **state)
{
	struct tf_header *h = made_header(&made);

	line_is("CPU: not known");
	h->cpu = made.map.alloc(&made.map, sizeof(struct tf_cpu));
	struct tf_cpu *c = tf_at(&made.map, h->cpu, sizeof(*c));
	line_is("CPU: not known");
	*c = (struct tf_cpu){.cores = 4,
	                     .online = 64,
	                     .quota_us = 150000,
	                     .period_us = 100000,
	                     .periods = 100,
	                     .throttled_periods = 50,
	                     .throttled_ns = 1200000000};
	c->known = 1 << TF_CPU_CORES;
	line_is("CPU: 4 of n/a cores, quota n/a");
	c->known |= 1 << TF_CPU_ONLINE | 1 << TF_CPU_LIMIT;
	line_is("CPU: 4 of 64 cores, no quota");
	c->known |= 1 << TF_CPU_QUOTA;
	line_is("CPU: 4 of 64 cores, quota 1.5 (whether it was used up: n/a)");
	c->known |= 1 << TF_CPU_THROTTLED;
	line_is("CPU: 4 of 64 cores, quota 1.5 (used up in 50 of 100 periods, threads waited 1.20 "
	        "s)");
	c->throttled_periods = 0;
	line_is("CPU: 4 of 64 cores, quota 1.5 (never used up)");
	c->period_us = 0; /* cannot be */
	line_is("CPU: 4 of 64 cores, no quota");
	h->cpu = made.map.size - 8;
	line_is("CPU: not known");
}

static void test_cpus_in_json(void **state)
{
	struct tf_header *h = made_header(&made);
	struct tf_thread *t = made_thread(&made, 7, "main", 4);

	made_calls(&made, t, made_call(&made, "cuCtxSynchronize", SPY_CLASS_SYNC, SPY_LEVEL_DRIVER),
	           3, 300);
	h->cpu = made.map.alloc(&made.map, sizeof(struct tf_cpu));
	struct tf_cpu *c = tf_at(&made.map, h->cpu, sizeof(*c));
	c->known = 1 << TF_CPU_CORES;
	c->cores = 3;
	c->quota_us = c->period_us = 5; /* not known to be one */
	struct rendered r;
	assert_true(render(&r, made.map.base, made_bytes(&made)));
	const char *text = r.json;
	assert_non_null(strstr(text, "\"cores\": 3"));
	assert_non_null(strstr(text, "\"online_cores\": null"));
	assert_non_null(strstr(text, "\"limited\": null"));
	assert_non_null(strstr(text, "\"quota_cores\": null"));
	assert_non_null(strstr(text, "\"throttled_ns\": null"));
	assert_non_null(strstr(text, "\"cpu_wait_ns\": null"));
	rendered_free(&r);
	t->cpu_tick = 1;
	t->cpu_wait_ns = 5000;
	assert_true(render(&r, made.map.base, made_bytes(&made)));
	text = r.json;
	assert_non_null(strstr(text, "\"cpu_wait_ns\": 5000"));
	assert_non_null(strstr(text, "\"cpu_cores\": null"));
	rendered_free(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test_setup_teardown(test_healthy, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_what_is_not_told_is_not_known, setup,
	                                        teardown),
	        cmocka_unit_test_setup_teardown(test_counters_between_the_readings, setup,
	                                        teardown),
	        cmocka_unit_test_setup_teardown(test_a_counter_says_more_than_a_moment, setup,
	                                        teardown),
	        cmocka_unit_test_setup_teardown(test_power_limit, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_all_the_power_to_others, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_all_the_power, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_memory_errors, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_link, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_other_processes, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_old_driver, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_why_nothing_is_known, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_one_row_a_device, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_damaged, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_cpus, setup, teardown),
	        cmocka_unit_test_setup_teardown(test_cpus_in_json, setup, teardown),
	};

	return cmocka_run_group_tests_name("environment", tests, NULL, NULL);
}
