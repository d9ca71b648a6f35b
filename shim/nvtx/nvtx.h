/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NVTX ranges of the program: their names, and what a thread did while one was open. For the files
 * nvtx*.c.
 *
 * A push or pop of a name that was seen before takes no lock and no memory: two readings of the
 * clock a range, two looks into a table, one record. Ranges are recorded while calls are; before
 * cuInit, in a forked child that has not used CUDA, and outside CUDASPY_RANGE they only get the
 * levels and ids that their callers expect.
 */
#ifndef SPY_NVTX_H
#define SPY_NVTX_H

#include <stdbool.h>
#include <stdint.h>
#include <wchar.h>
#include "shim/core/format/trace_format.h"

#define NVTX_TEXT_MOST 255u /* bytes of a name that count */
#define NVTX_DOMAINS   256u

#define NVTX_ERROR       (-1) /* a pop of what was not pushed */
#define NVTX_NOT_TRACKED (-2) /* NVTX_NO_PUSH_POP_TRACKING */

struct nvtx_text {
	const char *text; /* need not end with a NUL */
	uint32_t bytes;
	uint64_t hash;
};

/* ---- names: nvtx_names.c ---- */

struct nvtx_text nvtx_ascii(const char *text);
/* Written as UTF-8 to `room`. */
struct nvtx_text nvtx_unicode(const wchar_t *text, char room[NVTX_TEXT_MOST + 1]);

/*
 * The text registered under a handle; the empty text where the handle is none of ours. Handles are
 * never given back: a program that registers without end shares the last one.
 */
struct nvtx_text nvtx_registered(const void *handle);
const void *nvtx_register(const struct nvtx_text *text);

/* A domain's number, 0 = the default one, also for what is no handle of ours. */
uint32_t nvtx_domain(const void *handle);
/* Never NULL; the same name, the same handle. */
const void *nvtx_domain_handle(const struct nvtx_text *name);

/*
 * The index in table `ranges` of the range of this name in `parent` (index + 1, 0 = in no other).
 * The calling thread is recorded. Cold for a name's first time.
 */
uint32_t nvtx_node(uint32_t parent, uint32_t domain, const struct nvtx_text *text);

/* ---- what was done: nvtx_counts.c ---- */

struct nvtx_counts {
	struct tf_counts own;
	/* of the threads without ranges of their own: they work for those that have some, as a
	 * framework's backward thread does */
	struct tf_counts helpers;
	bool helped; /* there may be some */
};

/* All so far; from here on `self`, which is the caller's, has ranges. */
void nvtx_counts(struct tf_thread *self, struct nvtx_counts *to);
/* What was done since `before`, into a record TF_CALL_RANGE. */
void nvtx_fill_counts(struct tf_record *r, const struct tf_thread *self,
                      const struct nvtx_counts *before);

/* ---- open ranges: nvtx_open.c ---- */

/* What the callers of NVTX get: a push or pop's level from 0, or NVTX_ERROR; a start's id. */
int nvtx_push(uint32_t domain, const struct nvtx_text *text);
int nvtx_pop(uint32_t domain);
uint64_t nvtx_start(uint32_t domain, const struct nvtx_text *text);
void nvtx_end(uint64_t id);

#endif
