/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `cudaspy calibrate` found out about this machine's GPUs: a small text file in the user's
 * cache folder, which the shim reads when it meets a GPU.
 *
 *     cudaspy-gpus 1
 *     driver 13000 clock_khz 1980000 null_ns 870 off_ns 250 time 1763888888 gpu NVIDIA H100 80GB
 * HBM3
 *
 * A line a GPU, its name last. `#` begins a comment. Whoever reads it trusts nothing in it.
 */
#ifndef SPY_GPU_CACHE_H
#define SPY_GPU_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#define GPU_CACHE_FOLDER  "cudaspy"
#define GPU_CACHE_FILE    "gpus"
#define GPU_CACHE_HEAD    "cudaspy-gpus 1"
#define GPU_CACHE_BYTES   16384u /* of the file at most, with a NUL */
#define GPU_CACHE_ENTRIES 64u

/* What can be a figure; ns. */
#define GPU_NULL_LEAST_NS 50u
#define GPU_NULL_MOST_NS  20000u
#define GPU_OFF_LEAST_NS  50u
#define GPU_OFF_MOST_NS   10000u

struct gpu_cache_entry {
	char name[96];                   /* as the driver has it, in printable ASCII */
	uint32_t driver;                 /* cuDriverGetVersion: 13000 */
	uint32_t clock_khz;              /* the most that the driver says for its multiprocessors */
	uint32_t null_kernel_ns, off_ns; /* struct gpu_kind */
	uint64_t time;                   /* when it was measured: seconds since 1970 */
};

/* The file, in `$XDG_CACHE_HOME`, else in `.cache` in `$HOME`; either may be NULL, and counts only
 * where it is an absolute path. False: neither, or no room. */
bool gpu_cache_path(const char *xdg_cache_home, const char *home, char *path, uint32_t bytes);

struct gpu_cache_reader {
	const char *at, *end;
	bool begun;
	uint32_t count, bad; /* entries; lines that cannot be used */
};

/* Of `bytes` bytes of text. */
struct gpu_cache_reader gpu_cache_read(const char *text, uint32_t bytes);
/* The next entry; false: there is none. */
bool gpu_cache_next(struct gpu_cache_reader *r, struct gpu_cache_entry *e);

/* Whether an entry is of this GPU, driver and clock. */
bool gpu_cache_is_of(const struct gpu_cache_entry *e, const char *name, uint32_t driver,
                     uint32_t clock_khz);

#endif
