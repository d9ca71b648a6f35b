/* SPDX-License-Identifier: Apache-2.0 */
/* The environment of the simulated driver:
 *
 *   SIM_DEVICES 1           devices, at most 16        SIM_QUEUE 1022   struct sim_queue
 *   SIM_MEMORY_MIB 81920    memory of a device         SIM_DATA_MIB 64  of it that keeps contents
 *   SIM_PCIE_GBPS 55.3      copies to and from the host, each way     SIM_DEVICE_GBPS 2000
 *   SIM_PEER_GBPS 100       SIM_STAGE_GBPS 12 (the host, to and from staging buffers)
 *   SIM_COST=0              all host costs 0;  else in ns:
 *   SIM_LAUNCH_NS SIM_COPY_NS SIM_EVENT_NS SIM_SYNC_NS SIM_STREAM_NS SIM_MALLOC_NS SIM_FREE_NS
 *   SIM_HOST_ALLOC_NS SIM_MODULE_NS SIM_FIRST_LAUNCH_NS SIM_GRAPH_LAUNCH_NS SIM_INSTANTIATE_NS
 *   SIM_CHANGE_NODE_NS SIM_INIT_NS SIM_CONTEXT_NS
 *   on the GPU: SIM_LATENCY_NS (launch to start), SIM_KERNEL_NS (kernels without a stated cost),
 *   SIM_GAP_NS, SIM_GRAPH_GAP_NS (between pieces of work of a stream, of a graph),
 *   SIM_GRAPH_MIXED_NS 0 (more between pieces of a graph, where a kernel was launched by itself
 *   behind a graph of that stream),
 *   SIM_TO_ENGINE_NS, SIM_FROM_ENGINE_NS (what the gap to a copy engine, and from it, is longer),
 *   SIM_NULL_NS 590 (empty kernels of cudaspy's own),
 *   SIM_COPY_FLOOR_NS (shortest copy or set), SIM_TO_DEVICE_NS, SIM_FROM_DEVICE_NS (of a copy by
 *   an engine, beside its bytes)
 *   SIM_LAUNCH_LOCK=1  launches of all threads go one at a time, in turn, as under a driver's lock
 *   SIM_DRIVER_VERSION 13000   SIM_STUB=1   SIM_DRIVER_DLSYM=1   SIM_NEW_ENTRY=1
 *   SIM_MISSING=name,name      SIM_FAIL=name:code[:nth],...      SIM_TRUTH=path
 *
 * A name is an ELF name, or a base name, which means all its forms. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "tests/sim/driver.h"

#define MAX_FAILURES 64

struct sim_config sim_config;
_Atomic unsigned char sim_watch[SIM_APIS];

static struct failure {
	unsigned api;
	int code;
	unsigned long nth; /* 0: every call */
	_Atomic unsigned long seen;
} failure[MAX_FAILURES];
static unsigned failures;

static uint64_t number(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);
	char *end;
	unsigned long long v;

	if (!text || !*text)
		return otherwise;
	v = strtoull(text, &end, 0);
	return *end ? otherwise : v;
}

static double rate(const char *name, double otherwise)
{
	const char *text = getenv(name);
	double v = text ? strtod(text, NULL) : 0;

	return v > 0 ? v : otherwise;
}

/* Whether `want`, of length n, names this ELF symbol: itself, or its base name. */
static bool names(const char *want, size_t n, const char *elf)
{
	const char *p = elf + n;

	if (strncmp(want, elf, n))
		return false;
	if (p[0] == '_' && p[1] == 'v' && p[2] >= '2' && p[2] <= '9')
		p += 3;
	return !*p || !strcmp(p, "_ptsz") || !strcmp(p, "_ptds");
}

static void read_failure(const char *text, size_t n)
{
	const char *colon = memchr(text, ':', n);
	char *rest;
	int code;
	unsigned long nth = 0;

	if (!colon)
		return;
	code = (int)strtol(colon + 1, &rest, 10);
	if (*rest == ':')
		nth = strtoul(rest + 1, NULL, 10);
	for (unsigned api = 0; api < SIM_APIS && failures < MAX_FAILURES; api++) {
		if (!names(text, (size_t)(colon - text), sim_api_name[api]))
			continue;
		failure[failures].api = api;
		failure[failures].code = code;
		failure[failures].nth = nth;
		failures++;
		sim_watch[api] = 1;
	}
}

static void read_failures(void)
{
	const char *text = getenv("SIM_FAIL");

	while (text && *text) {
		size_t n = strcspn(text, ",");

		read_failure(text, n);
		text += n + (text[n] == ',');
	}
}

int sim_config_failure(unsigned api)
{
	for (unsigned i = 0; i < failures; i++) {
		struct failure *f = &failure[i];

		if (f->api == api && (!f->nth || atomic_fetch_add(&f->seen, 1) + 1 == f->nth))
			return f->code;
	}
	return 0;
}

bool sim_config_missing(const char *name, const char *elf_name)
{
	const char *text = sim_config.missing;

	while (text && *text) {
		size_t n = strcspn(text, ",");

		if ((strlen(name) == n && !strncmp(text, name, n)) ||
		    (strlen(elf_name) == n && !strncmp(text, elf_name, n)))
			return true;
		text += n + (text[n] == ',');
	}
	return false;
}

static void read_costs(struct sim_config *c)
{
	c->launch_ns = number("SIM_LAUNCH_NS", 2500);
	c->copy_ns = number("SIM_COPY_NS", 2500);
	c->event_ns = number("SIM_EVENT_NS", 500);
	c->sync_ns = number("SIM_SYNC_NS", 1000);
	c->stream_ns = number("SIM_STREAM_NS", 5000);
	c->malloc_ns = number("SIM_MALLOC_NS", 20000);
	c->free_ns = number("SIM_FREE_NS", 10000);
	c->host_alloc_ns = number("SIM_HOST_ALLOC_NS", 100000);
	c->module_ns = number("SIM_MODULE_NS", 200000);
	c->first_launch_ns = number("SIM_FIRST_LAUNCH_NS", 30000);
	c->graph_launch_ns = number("SIM_GRAPH_LAUNCH_NS", 4000);
	c->instantiate_ns = number("SIM_INSTANTIATE_NS", 50000);
	c->change_node_ns = number("SIM_CHANGE_NODE_NS", 1300);
	c->init_ns = number("SIM_INIT_NS", 1000000);
	c->context_ns = number("SIM_CONTEXT_NS", 2000000);
}

void sim_config_read(void)
{
	struct sim_config *c = &sim_config;

	c->devices = (int)number("SIM_DEVICES", 1);
	if (c->devices > SIM_MAX_DEVICES)
		c->devices = SIM_MAX_DEVICES;
	c->queue = (unsigned)number("SIM_QUEUE", CUDA_QUEUE_ENTRIES);
	if (c->queue == 0)
		c->queue = 1;
	c->memory_bytes = number("SIM_MEMORY_MIB", 81920) << 20;
	c->data_bytes = number("SIM_DATA_MIB", 64) << 20;
	c->pcie = rate("SIM_PCIE_GBPS", 55.3);
	c->device = rate("SIM_DEVICE_GBPS", 2000);
	c->peer = rate("SIM_PEER_GBPS", 100);
	c->stage = rate("SIM_STAGE_GBPS", 12);
	if (number("SIM_COST", 1))
		read_costs(c);
	c->latency_ns = number("SIM_LATENCY_NS", 2000);
	c->kernel_ns = number("SIM_KERNEL_NS", 10000);
	c->gap_ns = number("SIM_GAP_NS", 750);
	c->to_engine_ns = number("SIM_TO_ENGINE_NS", 4000);
	c->from_engine_ns = number("SIM_FROM_ENGINE_NS", 2000);
	c->null_ns = number("SIM_NULL_NS", 590);
	c->to_device_ns = number("SIM_TO_DEVICE_NS", 2500);
	c->from_device_ns = number("SIM_FROM_DEVICE_NS", 1500);
	c->graph_gap_ns = number("SIM_GRAPH_GAP_NS", 200);
	c->graph_mixed_ns = number("SIM_GRAPH_MIXED_NS", 0);
	c->copy_floor_ns = number("SIM_COPY_FLOOR_NS", 1000);
	c->stub = number("SIM_STUB", 0);
	c->driver_dlsym = number("SIM_DRIVER_DLSYM", 0);
	c->launch_lock = number("SIM_LAUNCH_LOCK", 0);
	c->new_entry = number("SIM_NEW_ENTRY", 0);
	c->driver_version = (int)number("SIM_DRIVER_VERSION", c->new_entry ? 14000 : 13000);
	c->missing = getenv("SIM_MISSING");
	c->truth = getenv("SIM_TRUTH");
	read_failures();
}
