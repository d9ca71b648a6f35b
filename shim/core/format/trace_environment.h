/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the devices and the CPUs were like: readings of NVML, and the CPUs that the process may
 * use. A part of trace_format.h.
 */
#ifndef SPY_TRACE_ENVIRONMENT_H
#define SPY_TRACE_ENVIRONMENT_H

#include <stdint.h>

#define TF_READING_VALUES 40u
#define TF_READING_PIDS   8u

struct tf_reading {    /* of one device; written by a thread of the shim's that does nothing else */
	uint64_t tick; /* when it was complete, release; 0 = it was not made */
	uint64_t cost_ns; /* what it took */
	uint64_t known;   /* 1 << enum spy_environment: the value was told */
	uint64_t value[TF_READING_VALUES];
	uint32_t pids[TF_READING_PIDS]; /* the first of the other processes; 0 = no more */
};

struct tf_environment_device {
	uint32_t index;  /* of table `devices` */
	uint32_t used;   /* it had a context, as far as was seen; written at exit */
	char bus_id[32]; /* PCI, as the driver says; the device's name for NVML */
	char uuid[48];
	struct tf_reading first, last; /* at the start; at exit, of devices that were used */
};
#define TF_ENVIRONMENT_DEVICES 16u

enum tf_environment_state {
	TF_ENVIRONMENT_UNKNOWN, /* the answer did not come in time */
	TF_ENVIRONMENT_NO_LIBRARY,
	TF_ENVIRONMENT_FAILED, /* `result` says why */
	TF_ENVIRONMENT_READ,
	TF_ENVIRONMENT_FORKED /* a forked child: not asked */
};

struct tf_environment {  /* area `environment` */
	uint32_t state;  /* enum tf_environment_state; release */
	uint32_t result; /* of NVML's initialisation */
	uint32_t count;  /* of `devices` */
	uint32_t reserved;
	uint64_t init_ns;        /* loading and initialising NVML */
	uint64_t cpu_ns;         /* of the threads that read */
	char driver_version[32]; /* of the kernel's driver: "580.95.05" */
	struct tf_environment_device devices[TF_ENVIRONMENT_DEVICES];
};

/* ---- the CPUs that the process may use ---- */

/* Written by the collector, now and then and at exit. */
struct tf_cpu {            /* area `cpu` */
	uint64_t known;    /* 1 << enum tf_cpu_known */
	uint64_t cores;    /* that it may run on */
	uint64_t online;   /* that the machine has */
	uint64_t quota_us; /* of CPU time in each `period_us`, all threads together: the tightest */
	uint64_t period_us; /* ... of the cgroups that the process is in */
	/* Since the first reading, in the cgroup that was held up most: periods, those in which it
	 * had used up its quota, and what its threads waited then, summed over CPUs. */
	uint64_t periods, throttled_periods, throttled_ns;
};

enum tf_cpu_known {
	TF_CPU_CORES,
	TF_CPU_ONLINE,
	TF_CPU_LIMIT, /* whether there is a quota */
	TF_CPU_QUOTA, /* there is one */
	TF_CPU_THROTTLED,
};

#endif
