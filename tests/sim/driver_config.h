/* SPDX-License-Identifier: Apache-2.0 */
/* What the environment says about the simulated device and its costs; read once.
 * Times are in ns, bandwidths in bytes per ns, which is GB/s. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct sim_config {
	int devices;
	int driver_version;
	unsigned queue;                   /* entries of a stream's launch queue */
	uint64_t memory_bytes;            /* of a device */
	uint64_t data_bytes;              /* of device memory that keeps its contents */
	double pcie, device, peer, stage; /* bandwidths */
	uint64_t launch_ns, latency_ns, sync_ns, malloc_ns, free_ns, host_alloc_ns, module_ns;
	uint64_t first_launch_ns, event_ns, stream_ns, copy_ns, graph_launch_ns, instantiate_ns,
	        change_node_ns;
	uint64_t init_ns, context_ns;
	uint64_t kernel_ns, gap_ns, graph_gap_ns, graph_mixed_ns, copy_floor_ns; /* GPU side */
	uint64_t to_engine_ns, from_engine_ns;
	uint64_t null_ns;                      /* of our own empty kernels */
	uint64_t to_device_ns, from_device_ns; /* of a copy by an engine, beside its bytes */
	bool stub, driver_dlsym, new_entry, launch_lock;
	const char *missing; /* names separated by commas */
	const char *truth;   /* path, or NULL */
};

extern struct sim_config sim_config;

/* Reads the environment into sim_config and the list of SIM_FAIL; once. */
void sim_config_read(void);
/* The result that SIM_FAIL wants for this call now, or 0. */
int sim_config_failure(unsigned api);
bool sim_config_missing(const char *name, const char *elf_name);
