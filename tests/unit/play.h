/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs played on a GPU of one stream and two copy engines, in us: work starts 1.8 us after its
 * call's return and 0.75 us after the work before it; a wait returns 3.2 us after the work. For the
 * tests of the what-ifs.
 */
#ifndef TESTS_UNIT_PLAY_H
#define TESTS_UNIT_PLAY_H

#include "report/analysis/whatif/whatif.h"
#include "report/model/model.h"
#include "tests/unit/recording.h"

struct play {
	struct made made;
	struct whatifs *whatifs;
	struct tf_thread *thread[2];
	unsigned who;      /* thread that calls */
	double host, tail; /* now; end of the last work */
	double queue[1024];
	unsigned queued;
	uint16_t launch, copy, sync, mark, wait_mark, alloc, release, query;
	uint32_t kernel;
};

#define KERNEL_EMPTY_US 2.0 /* what a pair around a kernel costs */

void play_start(struct play *p);
struct tf_record play_call(const struct play *p, uint16_t id, double us);
void play_returns(struct play *p, const struct tf_record *r);
/* A kernel; waits for a place in the queue. */
void play_launch(struct play *p, double own, double us);
void play_sync(struct play *p);
void play_alloc(struct play *p, double us, bool is_free);
void play_transfer(struct play *p, enum spy_direction direction, enum spy_memory memory,
                   uint64_t bytes, double own, double us);
/* XLA's: another thread, awake now, copies a result and adds a host function behind the copy. */
struct play_xla {
	uint16_t current, told;
};
struct play_xla play_xla(struct play *p);
void play_read(struct play *p, const struct play_xla *xla, uint64_t bytes, double us);
/* The class of the kernel takes so long. */
void play_timed(struct play *p, double us);
void play_timed_copy(struct play *p, enum spy_direction direction, uint64_t bytes, double us);
/* The prediction; the model is the test's, to be freed by play_ends(). */
struct whatif_result play_ask(struct play *p, struct model *m, enum whatif what, const char *kernel,
                              double factor);
void play_ends(struct play *p, struct model *m);
/* What is not changed comes to what it was, whatever the program does. */
void play_assert_base(const struct model *m, double part);

#endif
