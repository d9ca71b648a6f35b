/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "shim/core/gpu_time/estimate.h"
#include "shim/core/work/work_class.h"
#include "tests/unit/recording.h"
#include "tests/unit/unit.h"

static struct made made;

static int start(void **state)
{
	made_start(&made, 2u << 20, 1, MADE_AREAS);
	return 0;
}

static int end(void **state)
{
	made_free(&made);
	return 0;
}

/* One H200, driver 580, PCIe 5 x16: medians of 64 copies of each size. */
static const struct {
	bool to_host;
	double bytes, call, gpu; /* CUPTI's record; ns */
} measured[] = {
        {false, 131072, 14975, 5312},
        {false, 262144, 22662, 7679},
        {false, 524288, 38968, 12128},
        {false, 1 << 20, 74145, 21824},
        {false, 2 << 20, 148843, 90367},
        {false, 4 << 20, 322584, 253661},
        {false, 8 << 20, 618122, 545339},
        {false, 16 << 20, 1335490, 1238164},
        {false, 32 << 20, 2692220, 2627175},
        {false, 64 << 20, 6454452, 6386563},
        {true, 4, 12570, 1408},
        {true, 1024, 12842, 1440},
        {true, 16384, 14215, 1728},
        {true, 65536, 19968, 2592},
        {true, 131072, 28010, 3808},
        {true, 262144, 41512, 6176},
        {true, 524288, 75345, 16799},
        {true, 1 << 20, 134641, 29951},
        {true, 2 << 20, 241750, 78495},
        {true, 4 << 20, 420564, 276382},
        {true, 8 << 20, 789780, 648186},
        {true, 16 << 20, 1554151, 1408338},
        {true, 32 << 20, 3067214, 2918788},
        {true, 64 << 20, 6043043, 5884072},
};

static struct estimate_bus told(uint64_t generation, uint64_t width)
{
	struct tf_environment *e = made_environment(&made, 1);

	made_told(&e->devices[0].first, SPY_ENVIRONMENT_PCIE_GEN_MAX, generation, 1000);
	made_told(&e->devices[0].first, SPY_ENVIRONMENT_PCIE_WIDTH, width, 1000);
	return estimate_bus_told(&made.map);
}

static void test_what_was_measured(void **state)
{
	struct estimate_bus bus = told(5, 16);

	for (size_t i = 0; i < sizeof(measured) / sizeof(measured[0]); i++) {
		struct estimate_range r = estimate_staged(&bus, measured[i].to_host,
		                                          measured[i].bytes, measured[i].call);
		/* From 256 KiB to 1.5 MiB to the host, gaps between pieces differ; up to 1 MiB to
		 * the device only the start and the bus do. */
		bool gaps = measured[i].to_host && measured[i].bytes > 262144 &&
		            measured[i].bytes < 2 << 20;
		assert_near(r.ns, measured[i].gpu, gaps ? 0.30 : 0.09);
		assert_true(r.low <= measured[i].gpu && measured[i].gpu <= r.high);
		if (!measured[i].to_host)
			assert_true(r.high - r.low <= 0.28 * r.ns);
		else
			assert_true(r.low >= 0.7 * r.ns &&
			            r.high <= 1.55 * r.ns + ESTIMATE_STAGED_OUT_MORE_NS);
	}
}

/* The same sizes as a program has them: medians of 13 copies each, idle streams and work ahead. */
static void test_in_a_program(void **state)
{
	static const struct {
		bool to_host;
		double bytes, gpu;
	} one_piece[] = {{false, 81920, 4452},   {false, 98304, 4582},   {false, 163840, 5627},
	                 {false, 393216, 9708},  {false, 655360, 14713}, {false, 917504, 19478},
	                 {true, 64, 1978},       {true, 1024, 1642},     {true, 40960, 2142},
	                 {true, 229376, 5649},   {true, 327680, 7791},   {true, 393216, 9847},
	                 {true, 655360, 13984},  {true, 655360, 16711},  {true, 917504, 19331},
	                 {true, 1 << 20, 20995}, {true, 1310720, 27288}};
	struct estimate_bus bus = told(5, 16);

	for (size_t i = 0; i < sizeof(one_piece) / sizeof(one_piece[0]); i++) {
		struct estimate_range r =
		        estimate_staged(&bus, one_piece[i].to_host, one_piece[i].bytes, 200000);
		assert_true(r.low <= one_piece[i].gpu && one_piece[i].gpu <= r.high);
	}
	/* little more than the buffers hold: 2 and 2.5 MiB */
	assert_true(estimate_staged(&bus, true, 2 << 20, 182000).high >= 73200);
	assert_true(estimate_staged(&bus, true, 2.5 * (1 << 20), 205000).high >= 121800);
}

static double behind_ns(const struct estimate_bus *bus, double bytes, double call, double ahead)
{
	return estimate_staged(bus, false, bytes, estimate_staged_ahead(bus, bytes, call, ahead))
	        .ns;
}

/* Where work was ahead the first pieces were staged meanwhile: the rest of the call is the GPU's.
 */
static void test_behind_work(void **state)
{
	struct estimate_bus bus = told(5, 16);
	double mib = 1 << 20;

	/* 5 MiB: CUPTI says 443 us; 20 MiB: 2,419 */
	assert_near(behind_ns(&bus, 5 * mib, 430000, 623000), 443000, 0.05);
	assert_near(behind_ns(&bus, 20 * mib, 2405000, 605000), 2419000, 0.05);
	/* all of it: 1.25 MiB, 29.8 us; 1.75 MiB, 42.9 */
	assert_near(behind_ns(&bus, 1.25 * mib, 0, 139000), 29800, 0.05);
	assert_near(behind_ns(&bus, 1.75 * mib, 0, 196000), 42900, 0.12);
	/* a short wait, a part of the first piece; none; one piece alone */
	assert_near(estimate_staged_ahead(&bus, 4 * mib, 300000, 50000), 350000, 1e-9);
	assert_near(estimate_staged_ahead(&bus, 4 * mib, 300000, 0), 300000, 1e-9);
	assert_near(estimate_staged_ahead(&bus, mib, 70000, 50000), 70000, 1e-9);
	/* no bus is known */
	bus.rate = NAN;
	assert_near(estimate_staged_ahead(&bus, 4 * mib, 305600, 900000), 405600, 1e-9);
}

/* What cannot be is not said: faster than the bus, longer than the call. */
static void test_sure_bounds(void **state)
{
	struct estimate_bus bus = told(5, 16);

	for (double bytes = 1; bytes < 1e9; bytes *= 1.3)
		for (double call = 100; call < 1e8; call *= 3) {
			struct estimate_range out = estimate_staged(&bus, true, bytes, call),
			                      in = estimate_staged(&bus, false, bytes, call);
			double least = bytes / bus.most;
			assert_true(out.ns >= least && out.ns <= fmax(call, least));
			assert_true(in.ns >= least &&
			            in.ns <= fmax(call + estimate_last_piece(&bus, bytes, call),
			                          least));
			assert_true(out.low <= out.ns && out.ns <= out.high && out.low >= least);
			assert_true(in.low <= in.ns && in.ns <= in.high && in.low >= least);
		}
}

/* One byte more is hardly longer, at the ends of pieces and buffers too. */
static void test_no_jumps(void **state)
{
	struct estimate_bus bus = told(5, 16);

	for (double bytes = 65536; bytes <= 4 << 20; bytes += 65536)
		for (int to_host = 0; to_host < 2; to_host++) {
			double call = 10000 + bytes / 10;
			double ns = estimate_staged(&bus, to_host, bytes, call).ns,
			       next = estimate_staged(&bus, to_host, bytes + 1, call + .1).ns;
			assert_true(next >= ns - 1 && next <= ns + 4000);
		}
}

static void test_links(void **state)
{
	const double nan = estimate_bus_told(&made.map).rate;

	assert_true(isnan(nan)); /* NVML was not asked */
	assert_near(estimate_link(5, 16), 63.04, 1e-6);
	assert_near(estimate_link(3, 16), 15.76, 1e-6);
	assert_near(estimate_link(4, 8), 15.76, 1e-6);
	assert_true(isnan(estimate_link(0, 16)) && isnan(estimate_link(1000, 16)));
	assert_true(isnan(estimate_link(5, 0)) && isnan(estimate_link(NAN, 16)));
	assert_true(isnan(told(5, 300).rate));
	assert_near(told(5, 16).rate, 55.3, 1e-3);
	assert_near(told(5, 16).slow, 50.4, 1e-3); /* measured; older ones were not */
	assert_near(told(4, 16).slow, told(4, 16).least, 1e-9);
	/* Of several: the slowest, of those that were used once that is known. */
	struct tf_environment *e = made_environment(&made, 3);
	made_told(&e->devices[0].first, SPY_ENVIRONMENT_PCIE_GEN, 1, 1000); /* it rests */
	made_told(&e->devices[0].first, SPY_ENVIRONMENT_PCIE_GEN_MAX, 5, 1000);
	made_told(&e->devices[0].first, SPY_ENVIRONMENT_PCIE_WIDTH, 16, 1000);
	made_told(&e->devices[1].first, SPY_ENVIRONMENT_PCIE_GEN, 4, 1000);
	made_told(&e->devices[1].first, SPY_ENVIRONMENT_PCIE_WIDTH, 8, 1000);
	assert_near(estimate_bus_told(&made.map).rate, 15.76 * ESTIMATE_LINK_REACHED, 1e-6);
	e->devices[0].used = 1;
	assert_near(estimate_bus_told(&made.map).rate, 63.04 * ESTIMATE_LINK_REACHED, 1e-6);
	e->devices[0].first.tick = 0; /* not complete */
	assert_near(estimate_bus_told(&made.map).rate, 15.76 * ESTIMATE_LINK_REACHED, 1e-6);
}

/* Where the bus is not known: what the call alone tells, or nothing. */
static void test_no_link(void **state)
{
	struct estimate_bus bus = estimate_bus_told(&made.map);

	assert_true(isnan(estimate_staged(&bus, true, 4, 10000).ns));
	assert_true(isnan(estimate_staged(&bus, false, 1 << 20, 74000).ns));
	for (size_t i = 0; i < sizeof(measured) / sizeof(measured[0]); i++) {
		struct estimate_range r = estimate_staged(&bus, measured[i].to_host,
		                                          measured[i].bytes, measured[i].call);
		if (measured[i].bytes < 4 << 20)
			continue;
		assert_true(r.low <= measured[i].gpu && measured[i].gpu <= r.high);
		assert_true(r.ns <= measured[i].call && r.high <= measured[i].call);
	}
}

static struct tf_work *copies(enum spy_direction direction, enum spy_memory memory, uint64_t bytes)
{
	struct tf_work key = {.kind = TF_WORK_COPY,
	                      .direction = (uint8_t)direction,
	                      .memory = (uint8_t)memory,
	                      .async = 1,
	                      .size = work_size_bucket(bytes)};
	struct tf_work *w = made_work(&made, key, 4);

	w->bytes = 4 * bytes;
	return w;
}

static double mean_ns(const struct tf_work *w)
{
	struct estimate_costs costs;

	estimate_costs(&made.map, &costs);
	return estimate_ns(&costs, w);
}

/* A class has the mean of its calls; its pinned copies tell more of the bus than its link. */
static void test_classes(void **state)
{
	struct tf_work *w = copies(SPY_DIR_DTOH, SPY_MEM_PAGEABLE, 4 << 20);

	told(5, 16);
	assert_true(isnan(mean_ns(w))); /* nothing is known of its calls */
	w->staged_ns = 4 * 420564.0;
	assert_near(mean_ns(w), 276382, 0.02);
	w->staged_ns = NAN;
	assert_true(isnan(mean_ns(w)));
	w->staged_ns = 4 * 420564.0;
	w->exact_count = 2; /* CUPTI's word */
	w->exact_ns = 2 * 270000;
	assert_near(mean_ns(w), 270000, 1e-9);

	struct tf_work *in = copies(SPY_DIR_HTOD, SPY_MEM_PAGEABLE, 1 << 20),
	               *pinned = copies(SPY_DIR_HTOD, SPY_MEM_PINNED, 8 << 20);
	struct estimate_costs costs;
	in->staged_ns = 4 * 74145.0;
	assert_near(mean_ns(in), 21824, 0.03);
	estimate_costs(&made.map, &costs);
	/* 25 bytes a ns, by its pairs. */
	double ns = ESTIMATE_IN_NS + (8 << 20) / 25.0 + costs.cost[ESTIMATE_ENGINE][0].ns;
	made_pairs(pinned, TF_PAIR_IDLE, 3, ns, 0); /* too few to tell */
	assert_near(mean_ns(in), 21824, 0.03);
	made_pairs(pinned, TF_PAIR_IDLE, 4, ns, 0);
	assert_near(mean_ns(in), ESTIMATE_STAGED_IN_NS + (1 << 20) / 25.0, 1e-3);
	made_pairs(pinned, TF_PAIR_IDLE, 4, ns / 10, 0); /* faster than the link lets them */
	estimate_costs(&made.map, &costs);
	assert_near(costs.bus[0].rate, estimate_bus_told(&made.map).most, 1e-9);
	made_pairs(pinned, TF_PAIR_IDLE, 4, ns, 0);
	assert_near(mean_ns(w), 270000, 1e-9);
	/* Small ones to the device travel with the command: pairs stand around them. */
	in = copies(SPY_DIR_HTOD, SPY_MEM_PAGEABLE, 4096);
	made_pairs(in, TF_PAIR_IDLE, 4, 2280, 0);
	assert_false(estimate_is_staged(in));
	assert_near(mean_ns(in), 2280 - ESTIMATE_EMPTY_PAIR_NS, 1e-9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test_setup_teardown(test_what_was_measured, start, end),
	        cmocka_unit_test_setup_teardown(test_in_a_program, start, end),
	        cmocka_unit_test_setup_teardown(test_behind_work, start, end),
	        cmocka_unit_test_setup_teardown(test_sure_bounds, start, end),
	        cmocka_unit_test_setup_teardown(test_no_jumps, start, end),
	        cmocka_unit_test_setup_teardown(test_links, start, end),
	        cmocka_unit_test_setup_teardown(test_no_link, start, end),
	        cmocka_unit_test_setup_teardown(test_classes, start, end),
	};

	return cmocka_run_group_tests_name("estimate_staged", tests, NULL, NULL);
}
