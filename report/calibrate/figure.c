/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdint.h>

#include "report/base/alloc.h"
#include "report/base/stats.h"
#include "report/base/units.h"
#include "report/calibrate/calibrate.h"
#include "shim/core/gpu_time/gpu_cache.h"
#include "shim/core/gpu_time/gpu_kinds.h"

#define PAIRS_LEAST    16 /* of a kind, in one run: fewer may be off by a tail */
#define LAUNCHES_LEAST 100
/* A few kinds of kernels on a quiet GPU lie closer than those of programs do: 0.25 us and less in 9
 * of 10 classes of PyTorch programs, on GPUs whose own kinds lay within 0.15 us. */
#define OFF_LEAST_NS 250.0

static int check_run(const struct calibrate_run *r, char **why)
{
	for (int k = 0; k < CALIBRATE_KINDS; k++) {
		uint64_t least = r->exact ? LAUNCHES_LEAST : PAIRS_LEAST;
		if (r->count[k] >= least && isfinite(r->ns[k]))
			continue;
		*why = alloc_format("too few %s of the kernel '%s': %llu, %llu are needed",
		                    r->exact ? "records of CUPTI's" : "samples",
		                    calibrate_kinds[k].text, (unsigned long long)r->count[k],
		                    (unsigned long long)least);
		return -1;
	}
	if (!r->exact && r->null_pairs < PAIRS_LEAST) {
		*why = alloc_format("too few samples of the sampler's own empty kernel: %llu",
		                    (unsigned long long)r->null_pairs);
		return -1;
	}
	return 0;
}

static double middle_of(const struct calibrate_run *runs, size_t rounds, int kind)
{
	double ns[CALIBRATE_ROUNDS];

	for (size_t i = 0; i < rounds; i++)
		ns[i] = runs[i].ns[kind];
	stats_sort(ns, rounds);
	return stats_median(ns, rounds);
}

static void find_null(const struct calibrate_run *exact, size_t rounds, struct calibrate_figure *f)
{
	f->null_kernel = middle_of(exact, rounds, 0);
	f->null_low = f->null_high = f->null_kernel;
	for (size_t i = 0; i < rounds; i++) {
		f->null_low = fmin(f->null_low, exact[i].ns[0]);
		f->null_high = fmax(f->null_high, exact[i].ns[0]);
	}
}

int calibrate_figure(const struct calibrate_run *exact, const struct calibrate_run *sampled,
                     size_t rounds, struct calibrate_figure *f, char **why)
{
	double squares = 0;
	size_t n = 0;

	*f = (struct calibrate_figure){0};
	for (size_t i = 0; i < rounds; i++)
		if (check_run(&exact[i], why) || check_run(&sampled[i], why))
			return -1;
	find_null(exact, rounds, f);
	for (int k = 0; k < CALIBRATE_KINDS; k++) {
		f->kinds[k].exact = middle_of(exact, rounds, k);
		f->kinds[k].pairs = f->null_kernel + middle_of(sampled, rounds, k);
		for (size_t i = 0; i < rounds; i++) {
			double off = f->null_kernel + sampled[i].ns[k] - f->kinds[k].exact;
			f->kinds[k].off += off / (double)rounds;
			if (fabs(off) >= fabs(f->kinds[k].worst))
				f->kinds[k].worst = off;
			f->kinds[k].launches += exact[i].count[k];
			f->kinds[k].samples += sampled[i].count[k];
			squares += off * off;
			n++;
		}
	}
	f->off = fmax(OFF_LEAST_NS, 1.96 * sqrt(squares / (double)n));
	if (!(f->null_kernel >= GPU_NULL_LEAST_NS && f->null_kernel <= GPU_NULL_MOST_NS) ||
	    !(f->off <= GPU_OFF_MOST_NS)) {
		char null[UNIT_BYTES], off[UNIT_BYTES];
		*why = alloc_format("CUPTI's time of an empty kernel came out as %s, and pairs off "
		                    "others' by %s, which cannot be",
		                    unit_time_apart(null, f->null_kernel),
		                    unit_time_apart(off, f->off));
		return -1;
	}
	return 0;
}
