/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recording opened for reading: mapped privately, checked, and drained of what its process had
 * left in the rings. The file is not trusted: what cannot be used leaves a warning or an error, and
 * every access goes through tf_at(). What its process did not leave that way is its damage: of a
 * damaged recording no count is known.
 */
#ifndef REPORT_READER_H
#define REPORT_READER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "report/reader/warnings.h"
#include "shim/core/format/seal.h"

#define READER_ERROR_BYTES 512

struct recording {
	struct tf_map map; /* first: its `alloc` finds the rest by it */
	char *path;        /* of the file that was read: where a stub led, when there was one */
	dev_t device;
	ino_t inode;
	uint64_t file_bytes;
	uint64_t mapped_bytes; /* address space: the file's, a gap, and the room of the drain */
	struct warnings *warnings;
	struct warnings damage; /* what is missing, or not as its process left it */
	enum seal_finding seal;
	bool live;        /* its process runs: it changes while it is read */
	uint64_t drained; /* records that were still in the rings */
	uint64_t twice;   /* of these, so many at most that the collector had counted already */

	/* Entries of the tables that may be asked for; fixed when the recording was opened. */
	uint32_t calls, threads, kernels, graphs, clocks, gaps, devices, libraries, streams;
	uint32_t ranges, loops, steps, graph_nodes;
	uint32_t sites, codes, objects; /* of the area `sites` */
	uint32_t thread_calls;          /* struct tf_call_stat of a thread */
};

/* 0, or -1 and one line in `error`. Warnings are added to `warnings`, which must outlive the
 * recording. */
int recording_open(struct recording *r, const char *path, struct warnings *warnings,
                   char error[READER_ERROR_BYTES]);
/* The same from a copy of `bytes` bytes in memory. */
int recording_from_memory(struct recording *r, const void *data, size_t bytes,
                          struct warnings *warnings, char error[READER_ERROR_BYTES]);
/* True when the file became shorter while it was read: nothing that was read is to be trusted. */
bool recording_shrank(const struct recording *r);
void recording_close(struct recording *r);

/* The thread in slot `index`, or NULL; its `calls` has `thread_calls` entries. */
const struct tf_thread *recording_thread(const struct recording *r, uint32_t index);

#define RECORDING_RUN_ID_MOST (sizeof(((struct tf_header *)NULL)->run_id) - 1) /* characters */

/* Whether a file with these first bytes is a recording, or the stub of one. */
#define RECORDING_MAGIC_BYTES 8
bool recording_begins_so(const char first[RECORDING_MAGIC_BYTES]);

/* What a file says of itself, read without mapping it. */
struct recording_id {
	char run_id[41];
	uint64_t pid;
	int64_t modified_ns;
};
/* 0, or -1 and one line in `error` when it cannot be read as a recording (nor as a stub of one). */
int recording_identify(const char *path, struct recording_id *id, char error[READER_ERROR_BYTES]);
/* Whether its process is about to end, and has not closed it. */
bool recording_is_dying(const char *path);
/* Whether what the file says of itself can be wrong: it is cut, or its seal does not hold. Reads
 * all of a closed recording. */
bool recording_is_damaged(const char *path);

#endif
