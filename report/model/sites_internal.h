/* SPDX-License-Identifier: Apache-2.0 */
/* How the files of the call sites hang together. */
#ifndef REPORT_SITES_INTERNAL_H
#define REPORT_SITES_INTERNAL_H

#include "report/model/model_internal.h"

struct site_texts {
	char **items;
	size_t count;
	struct symbols *symbols;
	struct native_entry *natives; /* addresses that were looked up */
	struct model_frame other;     /* the last that was too many */
	struct perf_map *jit;         /* of the process of index jit_process - 1 */
	char *jit_path;
	uint32_t jit_process;
	struct site_entry *by_stack;
};

/* Takes the text over, for as long as the model lives; it. */
const char *sites_keep(struct model *m, char *text);

uint64_t sites_hash(const char *text); /* of NULL: as of nothing */

/* The innermost frame of the program's own. */
size_t sites_head(const struct model_site *s);
/* Adds a site to the one with the same stack, or as a new one: its index, until the sites are in
 * order. Takes its frames over. */
uint32_t sites_merge(struct model *m, struct model_site *s);

/* A return address: the function that it lies in, behind those inlined there; how many, at least
 * one, the model's own. */
size_t sites_native(struct model_part *p, const struct tf_sites *area, uint64_t address,
                    const struct model_frame **frames);
/* Whose code a native frame of a known module is: `foreign`, `stub`. Looks through many names: once
 * for each address. */
void sites_judge_native(struct model_frame *f);
/* Of a whole stack: a stub is called by the function that bears the kernel's name, `foreign` too.
 */
void sites_mark_stubs(struct model_frame *frames, size_t count);
bool sites_is_c_runtime(const struct model_frame *f);
void sites_natives_free(struct site_texts *t);

/* Where the recorded path is in folder `root`: the longest end of it that is a file there; NULL =
 * none is (free it). */
char *sites_local_file(const char *root, const char *path);

/* Once places are in order: `after` of sites. */
void sites_find_after(struct model *m);

/* Why frames of Python are missing (free it); NULL = they are not. */
char *sites_python_trouble(const struct tf_sites *area);

#endif
