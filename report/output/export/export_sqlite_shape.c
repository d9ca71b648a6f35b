/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/base/units.h"
#include "report/output/export/export_sqlite.h"

/* The schema of nsys that the names follow. */
#define NSYS_SCHEMA "3.28.1"

#define ON_GPU                                                                                     \
	"start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER, contextId INTEGER, "      \
	"streamId INTEGER, correlationId INTEGER, globalPid INTEGER, "

/* The last column of those on the GPU is ours: ENUM_CUDASPY_TIMED. */
static const struct {
	const char *name, *columns;
	bool needs_gpu; /* not there where the GPU's time was not recorded */
	bool is_long;
	const char *index, *indexed; /* its name, and its column, or NULL both */
} shapes[SQLITE_TABLES] = {
        [SQLITE_CALLS] = {"CUPTI_ACTIVITY_KIND_RUNTIME",
                          "start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER, "
                          "globalTid INTEGER, correlationId INTEGER PRIMARY KEY, nameId INTEGER, "
                          "returnValue INTEGER",
                          false, true},
        [SQLITE_KERNELS] = {"CUPTI_ACTIVITY_KIND_KERNEL",
                            ON_GPU "demangledName INTEGER, shortName INTEGER, mangledName INTEGER, "
                                   "gridX INTEGER, gridY INTEGER, gridZ INTEGER, blockX INTEGER, "
                                   "blockY INTEGER, blockZ INTEGER, staticSharedMemory INTEGER, "
                                   "dynamicSharedMemory INTEGER, registersPerThread INTEGER, "
                                   "graphNodeId INTEGER, timed INTEGER",
                            true, true, "kernel_correlation", "correlationId"},
        [SQLITE_COPIES] = {"CUPTI_ACTIVITY_KIND_MEMCPY",
                           ON_GPU "bytes INTEGER, copyKind INTEGER, srcKind INTEGER, "
                                  "dstKind INTEGER, copyCount INTEGER, graphNodeId INTEGER, "
                                  "timed INTEGER",
                           true, true, "copy_correlation", "correlationId"},
        [SQLITE_SETS] = {"CUPTI_ACTIVITY_KIND_MEMSET",
                         ON_GPU "value INTEGER, bytes INTEGER, memKind INTEGER, "
                                "graphNodeId INTEGER, timed INTEGER",
                         true, true, "set_correlation", "correlationId"},
        [SQLITE_GRAPHS] = {"CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
                           ON_GPU "graphId INTEGER, graphExecId INTEGER, timed INTEGER", true,
                           true},
        [SQLITE_SYNCS] = {"CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
                          ON_GPU "syncType INTEGER, eventId INTEGER", false, true},
        [SQLITE_RANGES] = {"NVTX_EVENTS",
                           "start INTEGER NOT NULL, end INTEGER, eventType INTEGER, text TEXT, "
                           "textId INTEGER, globalTid INTEGER, endGlobalTid INTEGER, "
                           "domainId INTEGER, rangeId INTEGER",
                           false, true, "range_start", "start"},
        [SQLITE_THREADS] = {"ThreadNames", "nameId INTEGER, priority INTEGER, globalTid INTEGER",
                            false, false},
        [SQLITE_COVERED] = {"cudaspy_covered",
                            "pid INTEGER, rank TEXT, whole INTEGER, from_ns INTEGER, "
                            "until_ns INTEGER, records INTEGER, calls INTEGER, gpu_work INTEGER, "
                            "unplaced INTEGER, left_out INTEGER, all_calls INTEGER",
                            false, false},
};

struct word {
	int id;
	const char *name, *label;
};

static void words(struct sqlite_export *x, const char *table, const struct word *list)
{
	struct database_table t;

	database_create(&x->db, &t, table, "id INTEGER PRIMARY KEY, name TEXT, label TEXT");
	for (; list->name; list++) {
		row_int(&t, list->id);
		row_text(&t, list->name);
		row_text(&t, list->label);
		row_end(&t);
	}
	database_end(&t);
}

static void enums(struct sqlite_export *x)
{
	static const struct word classes[] = {
	        {0, "TRACE_PROCESS_EVENT_CUDA_RUNTIME", "CUDA runtime"},
	        {1, "TRACE_PROCESS_EVENT_CUDA_DRIVER", "CUDA driver"},
	        {0}};
	static const struct word copies[] = {{0, "CUDA_MEMCPY_KIND_UNKNOWN", "Unknown"},
	                                     {1, "CUDA_MEMCPY_KIND_HTOD", "Host-to-Device"},
	                                     {2, "CUDA_MEMCPY_KIND_DTOH", "Device-to-Host"},
	                                     {8, "CUDA_MEMCPY_KIND_DTOD", "Device-to-Device"},
	                                     {9, "CUDA_MEMCPY_KIND_HTOH", "Host-to-Host"},
	                                     {10, "CUDA_MEMCPY_KIND_PTOP", "Peer-to-Peer"},
	                                     {0}};
	static const struct word memory[] = {{0, "CUDA_MEMOPR_MEMORY_KIND_PAGEABLE", "Pageable"},
	                                     {1, "CUDA_MEMOPR_MEMORY_KIND_PINNED", "Pinned"},
	                                     {2, "CUDA_MEMOPR_MEMORY_KIND_DEVICE", "Device"},
	                                     {4, "CUDA_MEMOPR_MEMORY_KIND_MANAGED", "Managed"},
	                                     {7, "CUDA_MEMOPR_MEMORY_KIND_UNKNOWN", "Unknown"},
	                                     {0}};
	static const struct word syncs[] = {
	        {1, "CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE", "Event sync"},
	        {2, "CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT", "Stream wait event"},
	        {3, "CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE", "Stream sync"},
	        {4, "CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE", "Context sync"},
	        {0}};
	static const struct word ranges[] = {{59, "NvtxPushPopRange", "Push/pop range"},
	                                     {60, "NvtxStartEndRange", "Start/end range"},
	                                     {0}};
	static const struct word timed[] = {
	        {EVENTS_BY_CUPTI, "CUPTI", "as CUPTI recorded it"},
	        {EVENTS_BY_EVENTS, "EVENTS", "its length was timed by two events around it"},
	        {EVENTS_BY_CLASS, "CLASS", "estimated: as long as the mean of work like it"},
	        {EVENTS_GUESSED, "GUESSED", "estimated: nothing like it was ever timed"},
	        {0}};

	words(x, "ENUM_NSYS_EVENT_CLASS", classes);
	words(x, "ENUM_CUDA_MEMCPY_OPER", copies);
	words(x, "ENUM_CUDA_MEM_KIND", memory);
	words(x, "ENUM_CUPTI_SYNC_TYPE", syncs);
	words(x, "ENUM_NSYS_EVENT_TYPE", ranges);
	words(x, "ENUM_CUDASPY_TIMED", timed);
}

void sqlite_create(struct sqlite_export *x)
{
	const struct model *m = x->job->model;
	bool gpu = false;

	for (size_t i = 0; i < m->process_count; i++)
		gpu |= m->processes[i].gpu_mode != TF_GPU_OFF;
	for (int i = 0; i < SQLITE_TABLES; i++) {
		if (!gpu && shapes[i].needs_gpu)
			continue;
		(shapes[i].is_long ? database_create_long : database_create)(
		        &x->db, &x->tables[i], shapes[i].name, shapes[i].columns);
		if (shapes[i].index)
			database_index(&x->tables[i], shapes[i].index, shapes[i].indexed);
	}
	enums(x);
}

/* Those that are not made yet. Calls have theirs, the primary key. */
void sqlite_indexes(struct sqlite_export *x)
{
	for (int i = 0; i < SQLITE_TABLES; i++)
		database_end(&x->tables[i]);
}

/* ---- where it ran ---- */

static void meta(struct sqlite_export *x)
{
	const struct model *m = x->job->model;
	struct database_table t;
	const struct {
		const char *name, *value;
	} rows[] = {
	        {"EXPORTED_BY", "cudaspy " CUDASPY_VERSION},
	        {"SCHEMA", "cudaspy.sqlite/1"},
	        {"EXPORT_SCHEMA_VERSION", NSYS_SCHEMA},
	        {"CUDASPY_GPU", m->process_count ? model_gpu_mode_name(m->gpu.mode) : NULL},
	        {"CUDASPY_RUN_ID", m->process_count ? m->processes[0].run_id : NULL},
	        {"SIMULATED_GPU", m->simulated ? "1" : "0"},
	};

	database_create(&x->db, &t, "META_DATA_EXPORT", "name TEXT, value TEXT");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		row_text(&t, rows[i].name);
		row_text(&t, rows[i].value);
		row_end(&t);
	}
	database_end(&t);
}

static const struct environment_device *environment_of(const struct model *m, size_t process,
                                                       uint32_t index)
{
	for (size_t i = 0; i < m->environment_count; i++)
		if (m->environment[i].process == process && m->environment[i].index == index)
			return &m->environment[i];
	return NULL;
}

static void gpus(struct sqlite_export *x)
{
	const struct model *m = x->job->model;
	struct database_table gpu, device;
	int64_t id = 0;

	database_create(
	        &x->db, &gpu, "TARGET_INFO_GPU",
	        "vmId INTEGER, id INTEGER, name TEXT, busLocation TEXT, totalMemory INTEGER, "
	        "memoryBandwidth INTEGER, clockRate INTEGER, smCount INTEGER, uuid TEXT, "
	        "chipName TEXT, cuDevice INTEGER");
	database_create(&x->db, &device, "TARGET_INFO_CUDA_DEVICE",
	                "gpuId INTEGER, cudaId INTEGER, pid INTEGER, uuid TEXT, "
	                "numMultiprocessors INTEGER");
	for (size_t i = 0; i < m->process_count; i++)
		for (size_t k = 0; k < m->processes[i].device_count; k++, id++) {
			const struct model_device *d = &m->processes[i].devices[k];
			const struct environment_device *e = environment_of(m, i, d->index);
			row_int(&gpu, 0);
			row_int(&gpu, id);
			row_text(&gpu, d->name);
			row_text(&gpu, e ? e->bus_id : NULL);
			row_count(&gpu, d->memory_bytes);
			for (int n = 0; n < 3; n++)
				row_null(&gpu);
			row_text(&gpu, e ? e->uuid : NULL);
			row_null(&gpu);
			row_int(&gpu, d->index);
			row_end(&gpu);
			row_int(&device, id);
			row_int(&device, d->index);
			row_count(&device, m->processes[i].pid);
			row_text(&device, e ? e->uuid : NULL);
			row_end(&device);
		}
	database_end(&gpu);
	database_end(&device);
}

static void session(struct sqlite_export *x)
{
	struct database_table t;
	char date[UNIT_BYTES];

	database_create(&x->db, &t, "TARGET_INFO_SESSION_START_TIME",
	                "utcEpochNs INTEGER, utcTime TEXT, localTime TEXT");
	row_ns(&t, x->base);
	row_text(&t, unit_date(date, x->base));
	row_end(&t);
	database_end(&t);
	database_create(&x->db, &t, "ANALYSIS_DETAILS",
	                "globalVid INTEGER, duration INTEGER, startTime INTEGER, stopTime INTEGER");
	row_int(&t, 0);
	row_count(&t, x->until > x->from ? x->until - x->from : 0);
	row_count(&t, x->from);
	row_count(&t, x->until);
	row_end(&t);
	database_end(&t);
}

void sqlite_targets(struct sqlite_export *x)
{
	meta(x);
	gpus(x);
	session(x);
}
