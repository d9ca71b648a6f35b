/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What CUPTI says of a few kinds of kernels, and what pairs of events say of the same: by
 * recordings of a program that launches nothing else, in turns with CUPTI and with samples. What
 * follows is stored for this user (store.h). For `cudaspy calibrate` and its outputs.
 */
#ifndef REPORT_CALIBRATE_H
#define REPORT_CALIBRATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/model/kernel_times.h"
#include "shim/core/gpu_time/gpu_kinds.h"

/* ---- what is launched ---- */

enum calibrate_code { CALIBRATE_EMPTY, CALIBRATE_STORES, CALIBRATE_SPIN, CALIBRATE_CODES };
extern const char *const calibrate_code_names[]; /* of the kernels, as the PTX has them */
extern const char calibrate_ptx[];

/* Kinds are told apart in a recording by kernel and shape. */
struct calibrate_kind {
	const char *text;
	enum calibrate_code code;
	uint32_t grid, block;
	uint64_t spin_ns; /* of CALIBRATE_SPIN */
};
#define CALIBRATE_KINDS 7
extern const struct calibrate_kind calibrate_kinds[CALIBRATE_KINDS]; /* the first: empty */
#define CALIBRATE_STORED_BYTES (1024u * 256 * 4) /* the most that CALIBRATE_STORES writes */

/* ---- what recordings say of it ---- */

struct calibrate_run {
	bool exact;                      /* CUPTI's times; else samples */
	double ns[CALIBRATE_KINDS];      /* exact: mean time; else how much longer the pair is than
	                                    one around an empty kernel. NaN: not known */
	uint64_t count[CALIBRATE_KINDS]; /* launches that this rests on */
	uint64_t null_pairs;             /* around an empty kernel of the sampler's own */
};

/* 0, or -1 and why in one line (free it). `machine`, unless NULL, gets what there is. */
int calibrate_read(const char *path, struct calibrate_run *run,
                   struct kernel_times_machine *machine, char **why);

/* ---- what follows ---- */

#define CALIBRATE_ROUNDS 3

struct calibrate_figure {
	double null_kernel, null_low, null_high; /* CUPTI's mean of the empty kernel, of all rounds
	                                            in the middle, and from which to which; ns */
	double off;
	struct {
		double exact, pairs; /* ns, middle of the rounds */
		double off, worst;   /* pairs less exact: mean, and the one farthest off */
		uint64_t launches, samples;
	} kinds[CALIBRATE_KINDS];
};

/* Of so many rounds of both. 0, or -1 and why in one line (free it): too few samples, or figures
 * that cannot be. */
int calibrate_figure(const struct calibrate_run *exact, const struct calibrate_run *sampled,
                     size_t rounds, struct calibrate_figure *f, char **why);

/* ---- and what is told ---- */

struct calibrate_before {
	double null_kernel, off;
	enum gpu_source source;
	double calibrated; /* realtime ns; NaN: not */
};
struct calibrate_result {
	struct kernel_times_device device;
	char *driver_text; /* NULL: not known */
	uint32_t clock_khz;
	double time; /* realtime ns */
	struct calibrate_before before;
	struct calibrate_figure figure;
};

#endif
