/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/life/gpu_figures.h"

#include <limits.h>
#include <stdlib.h>
#include "shim/base/gate.h"
#include "shim/core/gpu_time/gpu_cache.h"
#include "shim/core/options/options.h"
#include "shim/core/sys/own_file.h"

static struct gpu_cache_entry known[GPU_CACHE_ENTRIES];
static uint32_t known_count;

void gpu_figures_load(void)
{
	static char text[GPU_CACHE_BYTES];
	char path[PATH_MAX];
	struct gpu_cache_reader r;

	known_count = 0;
	if (spy_options.gpu == TF_GPU_OFF ||
	    !gpu_cache_path(getenv("XDG_CACHE_HOME"), getenv("HOME"), path, sizeof(path)))
		return;
	int32_t bytes = own_file_read(path, text, sizeof(text));
	if (bytes < 0)
		spy_count_anomaly(SPY_ANOMALY_GPU_CACHE);
	if (bytes <= 0)
		return;
	r = gpu_cache_read(text, (uint32_t)bytes);
	while (gpu_cache_next(&r, &known[known_count]))
		known_count++;
	while (r.bad--)
		spy_count_anomaly(SPY_ANOMALY_GPU_CACHE);
}

void gpu_figures_fill(struct tf_device *d, uint32_t driver, uint32_t clock_khz)
{
	for (uint32_t i = 0; i < known_count; i++) {
		const struct gpu_cache_entry *e = &known[i];
		if (!gpu_cache_is_of(e, d->name, driver, clock_khz))
			continue;
		d->null_kernel_ns = e->null_kernel_ns;
		d->off_ns = e->off_ns;
		d->calibrated = e->time;
		return;
	}
}
