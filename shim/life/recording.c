/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/life/recording.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "shim/core/format/calls.h"
#include "shim/base/clock.h"
#include "shim/base/cuda_types.h"
#include "shim/base/gate.h"
#include "shim/base/recording_tables.h"
#include "shim/core/options/options.h"
#include "shim/core/sys/same_file.h"
#include "shim/life/gpu_figures.h"
#include "shim/real/real.h"
#include "shim/life/storage.h"
#include "shim/base/sys.h"

#define CLOCKS_MAX 1024u
#define KEEP_PAGE  16384u /* records: 1 MiB */

static void table(struct tf_table *t, uint32_t entry_bytes, uint32_t page_entries, uint32_t max)
{
	t->entry_bytes = entry_bytes;
	t->page_entries = page_entries;
	t->max = max;
}

/* ---- header ---- */

static uint64_t own_start_time(void)
{
	char text[1024], *p;
	uint64_t v = 0;

	sys_read_file("/proc/self/stat", text, sizeof(text));
	p = strrchr(text, ')'); /* the command's name may hold anything */
	for (int field = 2; p && field < 22; field++)
		p = strchr(p + 1, ' ');
	for (p = p ? p + 1 : text; *p >= '0' && *p <= '9'; p++)
		v = v * 10 + (uint64_t)(*p - '0');
	return v;
}

static bool is_run_id(const char *text)
{
	return text && *text && strlen(text) < sizeof(((struct tf_header *)NULL)->run_id);
}

/* A forked child is of its parent's run. */
static void choose_run_id(struct tf_header *h)
{
	static char run_id[sizeof(h->run_id)];
	static uint64_t from;
	const char *id = getenv("CUDASPY_RUN_ID"), *run = getenv("CUDASPY_RUN");

	if (is_run_id(run) && (!is_run_id(id) || !strcmp(id, run))) {
		snprintf(run_id, sizeof(run_id), "%s", run);
		from = TF_RUN_ID_OF_RUN;
	} else if (is_run_id(id)) {
		snprintf(run_id, sizeof(run_id), "%s", id);
		from = TF_RUN_ID_OF_RUN_ID;
	} else if (!h->forked_from) {
		snprintf(run_id, sizeof(run_id), "%llx-%llx", (unsigned long long)h->pid,
		         (unsigned long long)clock_triple(1).realtime_ns);
	}
	memcpy(h->run_id, run_id, sizeof(run_id));
	h->run_id_from = from;
}

/* 0 = not known. */
static uint64_t own_pid_namespace(void)
{
	struct file_id id;

	return identify_at(AT_FDCWD, "/proc/self/ns/pid", 0, &id) ? id.inode : 0;
}

static void identify(struct tf_header *h)
{
	char text[8192];

	h->pid = (uint64_t)getpid();
	h->ppid = (uint64_t)getppid();
	h->pid_start = own_start_time();
	h->pid_namespace = own_pid_namespace();
	sys_read_file("/proc/sys/kernel/random/boot_id", h->boot_id, sizeof(h->boot_id));
	h->boot_id[strcspn(h->boot_id, "\n")] = 0;
	if (gethostname(h->host, sizeof(h->host)))
		strcpy(h->host, "unknown");
	h->host[sizeof(h->host) - 1] = 0;
	snprintf(h->rank, sizeof(h->rank), "%s", options_rank());
	choose_run_id(h);
	snprintf(h->cudaspy_version, sizeof(h->cudaspy_version), "%s", CUDASPY_VERSION);
	uint32_t n = sys_read_file("/proc/self/cmdline", text, sizeof(text));
	h->command = recording_text(text, n && !text[n - 1] ? n - 1 : n);
	if (getcwd(text, sizeof(text)))
		h->working_folder = recording_text(text, strlen(text));
	h->out_path = recording_text(storage_path(), strlen(storage_path()));
}

static bool fill_calls(struct tf_header *h)
{
	for (uint32_t i = 0; i < SPY_CALLS; i++) {
		struct tf_call *c = tf_append(&spy_map, &h->calls);
		if (!c)
			return false;
		snprintf(c->name, sizeof(c->name), "%s", spy_call_rows[i].name);
		c->cls = spy_call_rows[i].cls;
		c->level = spy_call_rows[i].level;
		tf_publish(&h->calls);
	}
	return true;
}

/* `from`: where the time slices begin. */
static bool make_areas(struct tf_header *h, uint64_t from)
{
	h->slices = spy_map.alloc(&spy_map, sizeof(struct tf_slices));
	h->works = spy_map.alloc(&spy_map, TF_WORKS * sizeof(struct tf_work));
	h->keep = spy_map.alloc(&spy_map, sizeof(struct tf_store));
	struct tf_slices *slices = tf_at(&spy_map, h->slices, sizeof(*slices));
	struct tf_store *keep = tf_at(&spy_map, h->keep, sizeof(*keep));
	if (!slices || !keep || !h->works)
		return false;
	h->graph_nodes = spy_map.alloc(&spy_map, sizeof(struct tf_table));
	struct tf_table *nodes = tf_at(&spy_map, h->graph_nodes, sizeof(*nodes));
	if (!nodes)
		return false;
	table(nodes, sizeof(struct tf_graph_nodes), TF_GRAPH_NODES_PAGE, TF_GRAPH_NODES_MAX);
	slices->origin = from;
	slices->width = spy_clock_kind == TF_CLOCK_CNTVCT ? 1 << 12 : 1 << 18; /* some 100 us */
	keep->page_records = KEEP_PAGE;
	uint64_t kept = storage_share(spy_options.keep_bytes, 2);
	keep->pages_max = kept / (KEEP_PAGE * sizeof(struct tf_record));
	if (keep->pages_max > TF_STORE_PAGES) {
		keep->page_records = kept / TF_STORE_PAGES / sizeof(struct tf_record);
		keep->pages_max = TF_STORE_PAGES;
	} else if (!keep->pages_max && kept) {
		keep->page_records = kept / sizeof(struct tf_record);
		keep->pages_max = keep->page_records > 0;
	}
	if (spy_options.trace_max_bytes) {
		h->store = spy_map.alloc(&spy_map, sizeof(struct tf_store));
		struct tf_store *all = tf_at(&spy_map, h->store, sizeof(*all));
		if (!all)
			return false;
		uint64_t records = spy_options.trace_max_bytes / sizeof(struct tf_record);
		uint64_t page = KEEP_PAGE, pages; /* never read back: the file may be cut by now */
		while (records / page > TF_STORE_PAGES)
			page *= 2;
		pages = records / page ? records / page : 1;
		all->page_records = page;
		all->pages_max = pages < TF_STORE_PAGES ? pages : TF_STORE_PAGES;
	}
	return true;
}

bool recording_fill(uint64_t load_tick, uint64_t forked_from)
{
	struct tf_header *h = tf_header(&spy_map);

	h->version = TF_VERSION;
	h->endian = TF_ENDIAN;
	h->header_bytes = sizeof(struct tf_header);
	h->record_bytes = sizeof(struct tf_record);
	h->thread_bytes =
	        (uint32_t)(sizeof(struct tf_thread) + SPY_CALLS * sizeof(struct tf_call_stat));
	h->hist_bytes = sizeof(struct tf_hist);
	h->classes = SPY_CLASS_COUNT;
	h->state = TF_STATE_OPEN;
	h->clock_kind = spy_clock_kind;
	h->gpu_mode = spy_options.gpu;
	h->load = load_tick;
	h->last_seen = spy_clock();
	h->forked_from = forked_from;
	h->range_mode = spy_options.range;
	h->trace = spy_options.trace_max_bytes > 0;
	h->keep_bytes = storage_share(spy_options.keep_bytes, 2);
	h->trace_max_bytes = spy_options.trace_max_bytes;
	h->ring_records = spy_options.ring_records;
	h->budget_percent_x100 = (uint32_t)(spy_options.budget_percent * 100);
	table(&h->calls, sizeof(struct tf_call), SPY_CALLS, SPY_CALLS);
	table(&h->threads, sizeof(uint64_t), 512, 65535);
	table(&h->kernels, sizeof(struct tf_kernel), 512, TF_KERNELS_MAX);
	table(&h->graphs, sizeof(struct tf_graph), 64, TF_GRAPHS_MAX);
	table(&h->clocks, sizeof(struct tf_clock_triple), 32, CLOCKS_MAX);
	table(&h->gaps, sizeof(struct tf_gap), 8, 512);
	table(&h->devices, sizeof(struct tf_device), 8, 256);
	table(&h->libraries, sizeof(struct tf_library), 8, 256);
	table(&h->streams, sizeof(struct tf_stream), 64, 64 * TF_TABLE_PAGES);
	table(&h->ranges, sizeof(struct tf_nvtx_range), 128, TF_RANGES_MAX);
	table(&h->loops, sizeof(struct tf_loop), TF_LOOPS_MAX, TF_LOOPS_MAX);
	table(&h->steps, sizeof(struct tf_step), 1024, TF_STEPS_MAX);
	identify(h);
	/* A program may read its data for minutes before cuInit, of which slices have nothing to
	 * say. A forked child's window begins at the fork. */
	if (!fill_calls(h) || !make_areas(h, forked_from ? load_tick : h->last_seen))
		return false;
	struct tf_kernel *unknown = tf_append(&spy_map, &h->kernels);
	if (!unknown)
		return false;
	unknown->name = recording_text("(unknown)", 9);
	tf_publish(&h->kernels);
	/* Two readings from the start: one alone tells no rate to who reads this after an early
	 * kill. */
	struct tf_clock_triple *loaded = tf_append(&spy_map, &h->clocks);
	if (loaded) {
		*loaded = spy_load_clock;
		tf_publish(&h->clocks);
	}
	recording_clock(50);
	/* Release: a reader that sees the magic sees a whole header. */
	uint64_t magic;
	memcpy(&magic, TF_MAGIC, 8);
	__atomic_store_n((uint64_t *)h->magic, magic, __ATOMIC_RELEASE);
	return true;
}

/* ---- clocks, devices ---- */

void recording_clock(int brackets)
{
	struct tf_header *h = tf_header(&spy_map);
	struct tf_clock_triple now = clock_triple(brackets), *last;

	if (h->clocks.count == CLOCKS_MAX) {
		/* Keep every second one: the drift over hours is what matters. */
		for (uint32_t i = 1; i < CLOCKS_MAX / 2; i++) {
			struct tf_clock_triple *to = tf_entry(&spy_map, &h->clocks, i, sizeof(*to)),
			                       *from = tf_entry(&spy_map, &h->clocks, 2 * i,
			                                        sizeof(*from));
			if (to && from)
				*to = *from;
		}
		__atomic_store_n(&h->clocks.count, CLOCKS_MAX / 2, __ATOMIC_RELEASE);
	}
	last = h->clocks.count ? tf_entry(&spy_map, &h->clocks, h->clocks.count - 1, sizeof(now))
	                       : NULL;
	if (last && (now.tick <= last->tick || now.monotonic_ns <= last->monotonic_ns)) {
		spy_count_anomaly(SPY_ANOMALY_CLOCK_JUMP);
		return;
	}
	struct tf_clock_triple *to = tf_append(&spy_map, &h->clocks);
	if (to) {
		*to = now;
		tf_publish(&h->clocks);
	}
}

void recording_describe_driver(void)
{
	struct tf_header *h = tf_header(&spy_map);
	CUresult (*get_version)(int *) =
	        (CUresult(*)(int *))spy_driver_symbol("cuDriverGetVersion");
	CUresult (*get_count)(int *) = (CUresult(*)(int *))spy_driver_symbol("cuDeviceGetCount");
	CUresult (*get_name)(char *, int, CUdevice) =
	        (CUresult(*)(char *, int, CUdevice))spy_driver_symbol("cuDeviceGetName");
	CUresult (*get_memory)(size_t *, CUdevice) =
	        (CUresult(*)(size_t *, CUdevice))spy_driver_symbol("cuDeviceTotalMem_v2");
	CUresult (*get_attribute)(int *, CUdevice_attribute, CUdevice) = (CUresult(*)(
	        int *, CUdevice_attribute, CUdevice))spy_driver_symbol("cuDeviceGetAttribute");
	int version = 0, count = 0;

	if (get_version && !get_version(&version))
		h->driver_version = (uint32_t)version;
	if (!get_count || get_count(&count))
		return;
	gpu_figures_load();
	for (int i = 0; i < count; i++) {
		struct tf_device *d = tf_append(&spy_map, &h->devices);
		size_t bytes = 0;
		int khz = 0;
		if (!d)
			return;
		d->index = (uint32_t)i;
		/* Ordinals are device handles: cuDeviceGet() returns its argument on every driver
		 * seen. */
		if (!get_name || get_name(d->name, sizeof(d->name), i))
			snprintf(d->name, sizeof(d->name), "device %d", i);
		if (get_memory && !get_memory(&bytes, i))
			d->memory_bytes = bytes;
		if (get_attribute && get_attribute(&khz, CU_DEVICE_ATTRIBUTE_CLOCK_RATE, i))
			khz = 0;
		gpu_figures_fill(d, (uint32_t)version, (uint32_t)khz);
		d->simulated = spy_driver_symbol("cudaspy_simulated_driver") != NULL;
		tf_publish(&h->devices);
	}
}
