/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From event pairs to GPU time: what a pair costs, as calibrated in the same run, and what a piece
 * of work of a class takes, with its errors. For the model of GPU time.
 */
#ifndef REPORT_MODEL_GPU_PAIRS_H
#define REPORT_MODEL_GPU_PAIRS_H

#include "report/model/model_gpu_types.h"
#include "shim/core/format/classes.h"
#include "shim/core/gpu_time/estimate_pinned.h"

/* Pieces of which the standard deviation is so large a share of the mean are not of one kind. */
#define MODEL_MIXED_SHARE 0.5

struct model_pair_cost {
	double mean, half; /* ns; half of the 95 % interval of the mean */
};

struct model_calibration {
	struct model_pair_cost cost[ESTIMATE_PATHS][TF_PAIRS];
	double systematic; /* ns a piece of work: what the method itself may be off */
	/* Relative, of one piece: of the classes timed more than once, and of those of them whose
	 * pieces are of one length; which part of the classes has pieces of several. */
	double deviation, plain_deviation, mixed;
	struct estimate_costs costs; /* for copies over the bus */
};

/* A piece of work of one class; errors as in struct model_gpu_sum. */
struct model_work_time {
	bool known, exact;
	bool by_calls; /* no pairs: the time of its calls tells */
	double mean;
	double random, shared, systematic, below, above;
	double deviation; /* of one piece; NaN: not known */
	uint64_t samples;
	uint64_t tries; /* pieces that events stood around; 0 = not known */
};

/* True when a tf_pairs can be what was measured; others are left alone. */
bool model_pairs_good(const struct tf_pairs *p);
struct model_pair_line model_pair_line_of(const struct tf_pairs *p);

/* The calibration of one recording; `works`: its classes. */
void model_calibrate(struct model_calibration *c, const struct tf_map *map,
                     const struct tf_work *works, uint32_t count);
struct model_work_time model_work_time(const struct tf_work *w, const struct model_calibration *c);

/* What a class adds up to: so many pieces, for how many of them its mean stands, and how many of
 * these are of other classes, which were not timed. */
struct model_work_share {
	double pieces, known, rest;
};
/* Adds `part` of that, 0 to 1. */
void model_gpu_sum_share(struct model_gpu_sum *to, const struct model_work_time *t,
                         const struct model_work_share *s, double part);

/* Half of the interval of one piece's time, downwards and upwards, ns. */
double model_work_below(const struct model_work_time *t);
double model_work_above(const struct model_work_time *t);

struct model_part;
/* Gives each graph its part of the time of its class; each class's share is known by then. */
void model_add_graph_rows(const struct model_part *p, const struct tf_work *works,
                          const struct model_work_time *times,
                          const struct model_work_share *shares, uint32_t count);
/* Adds a class to the model's list; `w` is of a kernel that the model has, or of none. */
void model_add_class(const struct model_part *p, const struct tf_work *w,
                     const struct model_work_time *t);

#endif
