/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/nvml/nvml_environment.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include "shim/base/fork_apart.h"
#include "shim/base/sys.h"

#define PROCESSES_MOST 256u

static void put(struct tf_reading *to, enum spy_environment what, int rc, uint64_t value)
{
	if (rc != NV_OK)
		return; /* not supported, or not for us to see: not known */
	to->value[what] = value;
	to->known |= 1ull << what;
}

/* One question: a fork may begin between two. */
#define ASK(what, function, value, ...)                                                            \
	do {                                                                                       \
		fork_apart_enter();                                                                \
		int rc = (function) ? (function)(device, ##__VA_ARGS__) : -1;                      \
		fork_apart_leave();                                                                \
		put(to, SPY_ENVIRONMENT_##what, rc, (uint64_t)(value));                            \
	} while (0)

static void read_load(const struct nv_functions *nvml, void *device, struct tf_reading *to)
{
	struct nv_utilization utilization = {0};
	struct nv_violation power = {0}, heat = {0};
	uint64_t reasons = 0, energy = 0;
	unsigned n = 0;

	/* What changes fastest first. */
	ASK(UTILIZATION, nvml->utilization, utilization.gpu, &utilization);
	ASK(REASONS, nvml->reasons ? nvml->reasons : nvml->reasons_older, reasons, &reasons);
	ASK(SM_MHZ, nvml->clock, n, NV_CLOCK_SM, &n);
	ASK(MEMORY_MHZ, nvml->clock, n, NV_CLOCK_MEMORY, &n);
	ASK(POWER_MW, nvml->power, n, &n);
	ASK(PCIE_GEN, nvml->pcie_gen, n, &n);
	ASK(PCIE_WIDTH, nvml->pcie_width, n, &n);
	ASK(CELSIUS, nvml->temperature, n, NV_SENSOR_GPU, &n);
	ASK(ENERGY_MJ, nvml->energy, energy, &energy);
	ASK(CAPPED_NS, nvml->violation, power.violation_ns, NV_POLICY_POWER, &power);
	ASK(HEATED_NS, nvml->violation, heat.violation_ns, NV_POLICY_THERMAL, &heat);
}

static void read_limits(const struct nv_functions *nvml, void *device, struct tf_reading *to)
{
	unsigned n = 0, pending;
	uint64_t errors = 0;
	int mode = 0;

	ASK(SM_MHZ_MAX, nvml->clock_max, n, NV_CLOCK_SM, &n);
	ASK(MEMORY_MHZ_MAX, nvml->clock_max, n, NV_CLOCK_MEMORY, &n);
	ASK(POWER_LIMIT_MW, nvml->power_limit, n, &n);
	ASK(POWER_DEFAULT_MW, nvml->power_default, n, &n);
	ASK(PCIE_GEN_MAX, nvml->pcie_gen_max, n, &n);
	ASK(PCIE_WIDTH_MAX, nvml->pcie_width_max, n, &n);
	ASK(ECC, nvml->ecc_errors, errors, NV_ECC_UNCORRECTED, NV_ECC_VOLATILE, &errors);
	ASK(PERSISTENCE, nvml->persistence, mode, &mode);
	ASK(COMPUTE_MODE, nvml->compute_mode, mode, &mode);
	ASK(MIG, nvml->mig, n, &n, &pending);
}

/* ---- other processes ---- */

/* In a namespace of its own a process sees other numbers than those outside, or none at all. */
static bool sees_all_processes(void)
{
	char text[64];
	ssize_t n = readlink("/proc/self/ns/pid", text, sizeof(text) - 1);

	text[n > 0 ? n : 0] = 0;
	return !strcmp(text, "pid:[4026531836]"); /* the first one's number in every Linux */
}

/* Drivers have been seen that give a thread's number where the process has a namespace. */
static bool is_ours(uint32_t pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/task/%u", pid);
	return pid == sys_getpid() || !syscall(SYS_faccessat, AT_FDCWD, path, F_OK);
}

/* CUDA's multi-process server is listed beside those that it serves. */
static bool is_server(uint32_t pid)
{
	char path[64], name[32];

	snprintf(path, sizeof(path), "/proc/%u/comm", pid);
	return sys_read_file(path, name, sizeof(name)) && !strncmp(name, "nvidia-cuda-mps", 15);
}

static int list_processes(const struct nv_functions *nvml, void *device, struct nv_process *list,
                          unsigned *count)
{
	int rc = -1;

	fork_apart_enter();
	if (nvml->processes_v2 || nvml->processes_v3) {
		rc = (nvml->processes_v2 ? nvml->processes_v2 : nvml->processes_v3)(device, count,
		                                                                    list);
	} else if (nvml->processes_v1) {
		struct nv_process_v1 old[PROCESSES_MOST];
		rc = nvml->processes_v1(device, count, old);
		for (unsigned i = 0; rc == NV_OK && i < *count && i < PROCESSES_MOST; i++)
			list[i] = (struct nv_process){.pid = old[i].pid, .bytes = old[i].bytes};
	}
	fork_apart_leave();
	return rc;
}

static bool listed_before(const struct nv_process *list, unsigned i)
{
	for (unsigned k = 0; k < i; k++)
		if (list[k].pid == list[i].pid)
			return true;
	return false;
}

static void read_processes(const struct nv_functions *nvml, void *device, struct tf_reading *to)
{
	struct nv_process list[PROCESSES_MOST];
	unsigned count = PROCESSES_MOST, others = 0;
	bool own = false, bytes_known = true;
	uint64_t bytes = 0;

	if (list_processes(nvml, device, list, &count) != NV_OK || count > PROCESSES_MOST)
		return;
	for (unsigned i = 0; i < count; i++) {
		bool ours = is_ours(list[i].pid);
		own |= ours;
		if (ours || listed_before(list, i) || is_server(list[i].pid))
			continue;
		if (others < TF_READING_PIDS)
			to->pids[others] = list[i].pid;
		others++;
		bytes_known &= list[i].bytes != NV_MEMORY_NOT_KNOWN;
		bytes += list[i].bytes;
	}
	/* In a container ours may be among them under another number, and those outside hidden. */
	bool certain = sees_all_processes() || (own && others);
	put(to, SPY_ENVIRONMENT_OTHERS, certain ? NV_OK : -1, others);
	put(to, SPY_ENVIRONMENT_OTHERS_BYTES, certain && bytes_known ? NV_OK : -1, bytes);
	if (!certain)
		memset(to->pids, 0, sizeof(to->pids));
}

void environment_read(const struct nv_functions *nvml, void *device, struct tf_reading *to)
{
	read_load(nvml, device, to);
	read_processes(nvml, device, to);
	read_limits(nvml, device, to);
}
