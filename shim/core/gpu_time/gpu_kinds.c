/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/core/gpu_time/gpu_kinds.h"

#include <string.h>
#include "shim/core/gpu_time/gpu_cache.h"
#include "shim/core/gpu_time/root.h"

#define MEASURED_OFF_NS 250.0
/* Of a kind that nobody measured: the same, and in quadrature with it 200 ns, by which its empty
 * kernel may differ from the middle of those measured (130 and 150 ns did). 200 is a choice, made
 * beside two runs without a row: docs/MEASURED.md. */
#define OTHER_NS     740.0
#define OTHER_OFF_NS 320.0
#define OTHER_SD_NS  140.0
/* What an empty kernel adds to a pair with nothing in it is its own time, and what it takes to
 * start it: 920 ns on an H200 (some 320 recordings), 1,040 and 1,090 on H100s (6 and 12). */
#define START_NS         1000.0
#define START_SD_NS      100.0
#define SIMULATED_OFF_NS 400.0
#define DEVICES_MOST     64u

/* Driver 580; pairs on an idle and on a busy stream. Results in tests/gpu/results. */
static const struct gpu_kind kinds[] = {
        {"NVIDIA H100 80GB HBM3", 870, MEASURED_OFF_NS},
        {"NVIDIA H200", 590, MEASURED_OFF_NS},
        {"Simulated GPU", 590, SIMULATED_OFF_NS}, /* it is told so */
        {NULL, OTHER_NS, OTHER_OFF_NS},
};

const struct gpu_kind *gpu_kind(const char *name)
{
	const struct gpu_kind *k = kinds;

	for (; k->name; k++) {
		size_t n = strlen(k->name);
		if (name && strlen(name) >= n && !memcmp(name, k->name, n))
			break;
	}
	return k;
}

void gpu_kind_told(struct gpu_figures *f, double apart_ns, double variance)
{
	double own = apart_ns - START_NS, prior = 1 / (OTHER_SD_NS * OTHER_SD_NS),
	       told = 1 / (START_SD_NS * START_SD_NS + variance), sum = prior + told;

	if (f->source != GPU_UNMEASURED || f->differ || !(variance >= 0) ||
	    !(own >= GPU_NULL_LEAST_NS) || !(own <= GPU_NULL_MOST_NS))
		return;
	f->null_kernel_ns = (OTHER_NS * prior + own * told) / sum;
	f->off_ns = root(MEASURED_OFF_NS * MEASURED_OFF_NS +
	                 (OTHER_OFF_NS * OTHER_OFF_NS - MEASURED_OFF_NS * MEASURED_OFF_NS) *
	                         (prior / sum));
}

static bool is_calibrated(const struct tf_device *d)
{
	return d->null_kernel_ns >= GPU_NULL_LEAST_NS && d->null_kernel_ns <= GPU_NULL_MOST_NS &&
	       d->off_ns >= GPU_OFF_LEAST_NS && d->off_ns <= GPU_OFF_MOST_NS && d->calibrated;
}

static struct gpu_figures figures_of(const struct tf_device *d)
{
	if (d && is_calibrated(d))
		return (struct gpu_figures){d->null_kernel_ns, d->off_ns, GPU_CALIBRATED,
		                            d->calibrated, false};
	/* A name of a damaged file need not end. */
	const struct gpu_kind *k =
	        gpu_kind(d && memchr(d->name, 0, sizeof(d->name)) ? d->name : NULL);
	return (struct gpu_figures){k->null_kernel_ns, k->off_ns,
	                            k->name ? GPU_BUILT_IN : GPU_UNMEASURED, 0, false};
}

struct gpu_figures gpu_kind_of(const struct tf_map *map)
{
	const struct tf_table *devices = &tf_header(map)->devices;
	struct gpu_figures all = figures_of(NULL);
	double low = 0, high = 0;

	for (uint32_t i = 0; i < tf_count(devices) && i < DEVICES_MOST; i++) {
		struct gpu_figures f =
		        figures_of(tf_entry(map, devices, i, sizeof(struct tf_device)));
		if (!i) {
			all = f;
			low = high = f.null_kernel_ns;
			continue;
		}
		low = f.null_kernel_ns < low ? f.null_kernel_ns : low;
		high = f.null_kernel_ns > high ? f.null_kernel_ns : high;
		all.off_ns = f.off_ns > all.off_ns ? f.off_ns : all.off_ns;
		all.source = f.source < all.source ? f.source : all.source;
		if (f.calibrated && (!all.calibrated || f.calibrated < all.calibrated))
			all.calibrated = f.calibrated;
	}
	if (high > low) {
		all.null_kernel_ns = (low + high) / 2;
		all.off_ns += (high - low) / 2;
		all.differ = true;
	}
	if (all.source != GPU_CALIBRATED)
		all.calibrated = 0;
	return all;
}
