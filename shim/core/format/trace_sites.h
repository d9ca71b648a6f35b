/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Call sites: the stacks that calls were made from. A part of trace_format.h.
 *
 * A record with TF_SITE has its site in the high bits of its last word, see tf_site_of(). The area
 * `sites` of the header has the tables.
 */
#ifndef SPY_TRACE_SITES_H
#define SPY_TRACE_SITES_H

#include <stdint.h>
#include "shim/core/format/trace_records.h"
#include "shim/core/format/trace_tables.h"

enum tf_sites_mode { TF_SITES_OFF, TF_SITES_ON, TF_SITES_ALL };

/* Whether Python frames are read, and why not. */
enum tf_python {
	TF_PYTHON_NONE,          /* no CPython in the process, as far as was looked */
	TF_PYTHON_FOUND,         /* there is one; no thread of it was met yet */
	TF_PYTHON_READ,          /* they are */
	TF_PYTHON_UNKNOWN,       /* a version of CPython whose structures are not known here */
	TF_PYTHON_FREE_THREADED, /* a build without the GIL */
	TF_PYTHON_SEVERAL,       /* several interpreters in the process */
	TF_PYTHON_DOUBT,         /* memory did not look as this version's structures do */
	TF_PYTHON_NO_PEEK, /* the kernel does not let us check addresses: process_vm_readv() */
	TF_PYTHON_OTHER    /* PyPy */
};

struct tf_code {        /* table `codes`: code objects of Python */
	uint64_t file;  /* struct tf_string */
	uint64_t name;  /* the same: qualified, since 3.11 */
	uint64_t lines; /* the same: the line table as this version has it */
	uint32_t first_line;
	uint32_t python; /* version: major << 8 | minor */
	/* its file, soon after the code was met first; 0 = not known */
	uint64_t file_bytes;
	uint64_t file_mtime; /* ns since 1970 */
	uint64_t reserved[2];
};
#define TF_CODES_MAX 65536u

/* A frame: TF_FRAME_PYTHON, index in table `codes` << 32, byte of the instruction; or else a return
 * address. */
#define TF_FRAME_PYTHON (1ull << 63)

struct tf_giver {       /* of a site: a stack that was found while its calls were made */
	uint32_t site;  /* index + 1 of the row with the stack; 0 = none */
	uint32_t votes; /* at least so many answers found it, and a quarter of all more at most */
};
#define TF_GIVERS 3

struct tf_site {         /* table `sites` */
	uint64_t frames; /* offset of uint64_t[frame_count], innermost first */
	uint32_t frame_count;
	uint16_t call;
	uint8_t cut;   /* 1: there are more frames outside of these */
	uint8_t looks; /* that `answers` are of, 255 at most */
	/* written by the drain; by the timeline `useful` and `wasted` */
	uint64_t calls; /* records with this site */
	uint64_t failed;
	uint64_t ticks;                      /* API time */
	uint64_t useful_ticks, wasted_ticks; /* of a wait */
	uint64_t bytes, pageable_bytes;      /* of copies and allocations */
	uint64_t samples;                    /* pieces of its work that were timed */
	/* of a thread that runs no Python, in a process that does */
	char thread[16]; /* its name */
	uint32_t range;  /* index + 1 of the NVTX range open on it; where it opens none, of one open
	                    on another thread; 0 = none */
	/*
	 * Of such a thread: where the thread of Python that gave the GPU its last work was at
	 * meanwhile, as one that waits for a result is. Looked at now and then; a stack begins at
	 * the innermost frame that is no library's. Rows that only stand for that have no calls.
	 */
	uint32_t answers; /* calls that the looks stand for which found a stack */
	/* Those found most (Misra and Gries): any that more than a quarter of the answers found is
	 * here; a vote against all three takes of each. */
	struct tf_giver giver[TF_GIVERS];
};
#define TF_SITES_MAX 65536u

/* How many of a site's samples were of one class of work: a hash table with open addressing, by
 * site and work. */
struct tf_site_pair {
	uint32_t site; /* index + 1; 0 = a free place */
	uint32_t work; /* index in area `works` */
	uint64_t samples;
};
#define TF_SITE_PAIRS 16384u

struct tf_object {            /* table `objects`: programs and libraries that are mapped */
	uint64_t from, until; /* addresses */
	uint64_t bias;        /* of addresses in memory over those in the file */
	uint64_t path;        /* struct tf_string */
	uint32_t build_id_bytes;
	uint8_t build_id[20];
	uint64_t reserved;
};
#define TF_OBJECTS_MAX 8192u

struct tf_sites {                /* the area */
	uint32_t mode;           /* enum tf_sites_mode */
	uint32_t python;         /* enum tf_python */
	uint32_t python_version; /* major << 8 | minor; 0 = not known */
	uint32_t reserved;
	uint64_t lost;  /* stacks that found no place in a table */
	uint64_t pairs; /* struct tf_site_pair[TF_SITE_PAIRS]; 0 = none; made by the drain */
	uint64_t pairs_lost;
	uint64_t least_ticks; /* calls at least this long are looked at; 0 = not known yet */
	uint64_t reserved2[8];
	struct tf_table codes, sites, objects;
};

/* Index + 1 of the record's site; 0 = none. */
static inline uint32_t tf_site_of(const struct tf_record *r)
{
	return r->flags & TF_SITE ? (uint32_t)(r->arg[3] >> 40) : 0;
}

static inline void tf_set_site(struct tf_record *r, uint32_t site)
{
	r->flags |= TF_SITE;
	r->arg[3] = (r->arg[3] & 0xffffffffffu) | (uint64_t)site << 40;
}

#endif
