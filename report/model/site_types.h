/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Call sites: from which line of code calls were made, and what they took. For the model, which
 * fills it, the findings and the outputs.
 */
#ifndef REPORT_SITE_TYPES_H
#define REPORT_SITE_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum model_site_kind {
	SITE_WAIT,
	SITE_LAUNCH,
	SITE_COPY,
	SITE_ALLOC,
	SITE_MODULE,
	SITE_GRAPH,
	SITE_KINDS
};
extern const char *const site_kind_names[];

/* One frame of a stack. Texts live as long as the model; NULL = not known. */
struct model_frame {
	bool python;
	bool foreign; /* of a library: the headline of a stack is the first frame that is not */
	bool stub;    /* the compiler made it for a launch */
	const char *function, *file, *module;
	const char *local; /* where its file is said to lie on this machine; NULL = at `file` */
	uint64_t file_bytes, file_mtime; /* as the program had it; 0 = not known */
	uint32_t line;                   /* 0 = not known */
	uint64_t hash;                   /* of its texts */
	uint64_t address; /* native: in its module's file; in memory where that is not known */
};

/* Calls of one function with one stack. */
struct model_site {
	enum model_site_kind kind;
	const char *api;
	uint64_t seen; /* calls whose stack was taken */
	uint64_t failed;
	bool whole;            /* these were all calls with this stack */
	bool estimated;        /* `calls` and `api` stand for more calls than were seen */
	double calls;          /* as many as the samples stand for; else those seen */
	double api_time;       /* ns of these */
	double useful, wasted; /* ns, of a wait; NaN = not known */
	double gpu;            /* ns on the GPU, estimated; NaN = not known */
	uint64_t samples;
	uint64_t bytes, pageable_bytes;
	/* of a thread that was in no Python, where there is Python: its name, and the NVTX range
	 * that was open there, with those around it; or NULL */
	const char *thread, *range;
	struct model_frame *frames; /* innermost first */
	size_t frame_count;
	bool cut;     /* there are more frames outside of these */
	size_t head;  /* the frame that the site is called by */
	size_t place; /* index in `places` */
	/* Of `thread`: the line of Python that another thread was last seen at before it; and the
	 * one at which the thread that it works for was meanwhile, mostly. NULL = not known. */
	const struct model_frame *after, *meanwhile;
};

/* Sites of one kind and function whose headlines are on one line, or that are of one thread without
 * Python and, where it is known, of one line `meanwhile`; added up. */
struct model_place {
	size_t site; /* the one that took most */
	size_t sites;
	uint64_t seen;
	bool whole, estimated;
	double calls, api_time, wasted, gpu;
	uint64_t bytes, pageable_bytes;
};

struct model_sites {
	bool recorded;            /* of some process */
	bool python;              /* frames of Python were read in some process */
	struct model_site *items; /* longest API time first */
	size_t count;
	struct model_place *places; /* the same */
	size_t place_count;
	uint64_t lost;            /* stacks that found no place */
	char *python_trouble;     /* why frames of Python are missing; NULL = they are not */
	double cost;              /* ns of the program's threads that stacks took */
	struct site_texts *texts; /* of the model's own */
};

#endif
