/* SPDX-License-Identifier: Apache-2.0 */
/* How the parts of the recording's file hang together: for storage*.c alone. */
#ifndef SPY_STORAGE_INTERNAL_H
#define SPY_STORAGE_INTERNAL_H

#include <limits.h>
#include "shim/core/sys/same_file.h"
#include "shim/life/storage.h"

#define MIB          (1ull << 20)
#define FIRST_BYTES  (1 * MIB)
#define LIVE_FOLDERS 2u
#define MEMORY_SHARE 4 /* of the memory that is free where live data goes: one part in so many */

struct storage_file {
	char path[PATH_MAX];    /* what the user asked for */
	char live[PATH_MAX];    /* where the mapped file is; the same, unless it lives in memory */
	struct file_id live_id; /* of the live file */
	struct file_id published_id; /* of the stub or the copy at `path` */
	struct file_id root;         /* "/" as it was: without it names mean nothing */
	uint64_t reserved;           /* address space */
	uint64_t space_most;         /* bytes that it may take in memory; 0 = no limit of ours */
	bool in_memory, of_cgroup;   /* of_cgroup: that is what a cgroup leaves, not a folder */
	bool blocks_tell;            /* the file system counts what it promised */
	bool published;              /* the copy was made, and the live data is gone */
	bool limit_said, full_said, copy_said, cut_said;
	int error;              /* the last one, -errno */
	uint64_t full_until_ns; /* monotonic: no new try before */
};
extern struct storage_file storage_file;

/* storage.c */

/* All of it, in pieces; false: errno. Signals may interrupt it, cancellation does not. */
bool storage_write_all(int fd, const void *data, uint64_t bytes);

/* storage_names.c */

/* The template expanded, in a folder if it names one, absolute so that a later chdir() does not
 * matter. */
bool storage_wanted_path(char *path);

/* Makes a file that was not there, following no link in its last part; its descriptor, or -errno.
 */
int storage_make_new(const char *path, char *made);

/* Where live data goes: the user's runtime folder, else /dev/shm. NULL where there is none. */
const char *storage_live_folder(unsigned i);

/* A file in memory for the live data. */
int storage_make_live(char *made);

/* storage_space.c, storage_cgroup.c */

/*
 * File systems on which fallocate() promises the space to later writes through a mapping. Others
 * (network, copy on write, layered, FUSE) may run out of it under a store, which is SIGBUS.
 */
bool storage_reservation_holds(int fd);

/* Whether the file lacks any of its first `end` bytes: it was cut, and perhaps made longer again.
 * Of another file that has got the descriptor's number meanwhile it says nothing. */
bool storage_is_short(int fd, uint64_t end);

/*
 * What a file of `own` bytes may grow to in a file system in memory: the program needs it too, for
 * the segments of its DataLoaders, and in a container there are often but 64 MiB. UINT64_MAX: it
 * has no limit.
 */
uint64_t storage_memory_share(int fd, uint64_t own);

/* Memory that the process' cgroups leave free; UINT64_MAX: all of it. */
uint64_t storage_cgroup_free(void);

/* The file's space from `from` on is taken; 0, or -errno. */
int storage_reserve(int fd, uint64_t from, uint64_t bytes);

/* storage_grow.c */

/* The file's bytes from `from` on, at their place in the reservation. */
bool storage_map_part(int fd, uint8_t *base, uint64_t from, uint64_t bytes);
uint64_t storage_alloc(struct tf_map *map, uint64_t bytes);

#endif
