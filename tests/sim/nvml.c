/* SPDX-License-Identifier: Apache-2.0 */
/* The simulated NVML: libnvidia-ml.so.1 with answers from the environment. A healthy GPU by
 * default; each of these is a number, "a:b" (a is answered first, b from then on, per device) or
 * "x" (not supported):
 *
 *   SIM_NVML_SM 1980   SIM_NVML_SM_MAX 1980   SIM_NVML_MEMORY 2619   SIM_NVML_MEMORY_MAX 2619
 *   SIM_NVML_REASONS 0   SIM_NVML_POWER 310000   SIM_NVML_LIMIT 700000   SIM_NVML_DEFAULT 700000
 *   SIM_NVML_ENERGY 1000000   SIM_NVML_TEMPERATURE 45   SIM_NVML_ECC 0   SIM_NVML_GEN 5
 *   SIM_NVML_GEN_MAX 5   SIM_NVML_WIDTH 16   SIM_NVML_WIDTH_MAX 16   SIM_NVML_UTILIZATION 80
 *   SIM_NVML_PERSISTENCE 1   SIM_NVML_MODE 0   SIM_NVML_MIG 0   SIM_NVML_CAPPED 0 (ns)
 *   SIM_NVML_HEATED 0
 *
 *   SIM_NVML_PROCESSES own     numbers, and "own", separated by commas; 1 GiB each; "x"
 *   SIM_NVML_DEVICE            the one device that the figures above are for; the others are
 * healthy SIM_NVML_INIT 0            what nvmlInit returns SIM_NVML_SLOW_MS 0         what each
 * call takes, from the SIM_NVML_SLOW_FROM-th (1) on SIM_NVML_LOG               a file that each
 * call adds a line to: process, thread's name, function
 *
 * One lock guards all calls, as NVML's own does. */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define EXPORT    __attribute__((visibility("default")))
#define DEVICES   16
#define QUESTIONS 32

enum { OK, UNINITIALIZED = 1, NOT_SUPPORTED = 3, NOT_FOUND = 6, INSUFFICIENT_SIZE = 7 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned calls, users;
static struct device {
	int ordinal;
	const char *asked[QUESTIONS];
} devices[DEVICES];

static unsigned long number(const char *name, unsigned long otherwise)
{
	const char *text = getenv(name);

	return text && *text ? strtoul(text, NULL, 0) : otherwise;
}

static void enter(const char *function)
{
	const char *path = getenv("SIM_NVML_LOG");
	unsigned long ms = number("SIM_NVML_SLOW_MS", 0);
	char line[128], name[16] = "";

	pthread_mutex_lock(&lock);
	if (path) {
		int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
		prctl(PR_GET_NAME, name);
		int n = snprintf(line, sizeof(line), "%d %s %s\n", (int)getpid(), name, function);
		if (write(fd, line, (size_t)n) != n)
			abort();
		close(fd);
	}
	if (++calls >= number("SIM_NVML_SLOW_FROM", 1) && ms)
		nanosleep(&(struct timespec){(time_t)(ms / 1000), (long)(ms % 1000) * 1000000},
		          NULL);
}

static int leave(int rc)
{
	pthread_mutex_unlock(&lock);
	return rc;
}

/* Whether it is the first time that this is asked of the device. */
static int is_first(struct device *d, const char *variable)
{
	int i = 0;

	for (; i < QUESTIONS && d->asked[i]; i++)
		if (!strcmp(d->asked[i], variable))
			return 0;
	if (i < QUESTIONS)
		d->asked[i] = variable;
	return 1;
}

static int answer(struct device *d, const char *function, const char *variable, uint64_t healthy,
                  uint64_t *to)
{
	const char *text = getenv(variable), *second = text ? strchr(text, ':') : NULL;
	int rc = OK;

	enter(function);
	int first = is_first(d, variable);
	if (!text ||
	    number("SIM_NVML_DEVICE", (unsigned long)d->ordinal) != (unsigned long)d->ordinal)
		*to = healthy;
	else if (*(text = second && !first ? second + 1 : text) == 'x')
		rc = NOT_SUPPORTED;
	else
		*to = strtoull(text, NULL, 0);
	return leave(users ? rc : UNINITIALIZED);
}

static int answer_small(struct device *d, const char *function, const char *variable,
                        unsigned healthy, unsigned *to)
{
	uint64_t value = 0;
	int rc = answer(d, function, variable, healthy, &value);

	if (rc == OK)
		*to = (unsigned)value;
	return rc;
}

EXPORT int nvmlInit_v2(void)
{
	enter(__func__);
	int rc = (int)number("SIM_NVML_INIT", 0);
	users += rc == OK;
	return leave(rc);
}

EXPORT int nvmlShutdown(void)
{
	enter(__func__);
	users -= users > 0;
	return leave(OK);
}

EXPORT int nvmlSystemGetDriverVersion(char *to, unsigned bytes)
{
	enter(__func__);
	snprintf(to, bytes, "580.95.05");
	return leave(OK);
}

/* As the simulated driver has them: bus 1 is device 0. */
EXPORT int nvmlDeviceGetHandleByPciBusId_v2(const char *bus_id, struct device **device)
{
	unsigned domain, bus, slot;

	enter(__func__);
	if (sscanf(bus_id, "%x:%x:%x", &domain, &bus, &slot) != 3 || !bus || bus > DEVICES ||
	    bus > number("SIM_DEVICES", 1))
		return leave(NOT_FOUND);
	*device = &devices[bus - 1];
	(*device)->ordinal = (int)bus - 1;
	return leave(OK);
}

EXPORT int nvmlDeviceGetUUID(struct device *d, char *to, unsigned bytes)
{
	enter(__func__);
	snprintf(to, bytes, "GPU-73696d75-6c61-7465-642d-6770752d30%02d", d->ordinal);
	return leave(OK);
}

EXPORT int nvmlDeviceGetClockInfo(struct device *d, int type, unsigned *mhz)
{
	return type == 1 ? answer_small(d, __func__, "SIM_NVML_SM", 1980, mhz)
	                 : answer_small(d, __func__, "SIM_NVML_MEMORY", 2619, mhz);
}

EXPORT int nvmlDeviceGetMaxClockInfo(struct device *d, int type, unsigned *mhz)
{
	return type == 1 ? answer_small(d, __func__, "SIM_NVML_SM_MAX", 1980, mhz)
	                 : answer_small(d, __func__, "SIM_NVML_MEMORY_MAX", 2619, mhz);
}

EXPORT int nvmlDeviceGetCurrentClocksThrottleReasons(struct device *d, unsigned long long *to)
{
	uint64_t value = 0;
	int rc = answer(d, __func__, "SIM_NVML_REASONS", 0, &value);

	*to = value;
	return rc;
}

EXPORT int nvmlDeviceGetTotalEnergyConsumption(struct device *d, unsigned long long *to)
{
	uint64_t value = 0;
	int rc = answer(d, __func__, "SIM_NVML_ENERGY", 1000000, &value);

	*to = value;
	return rc;
}

EXPORT int nvmlDeviceGetPowerUsage(struct device *d, unsigned *to)
{
	return answer_small(d, __func__, "SIM_NVML_POWER", 310000, to);
}

EXPORT int nvmlDeviceGetEnforcedPowerLimit(struct device *d, unsigned *to)
{
	return answer_small(d, __func__, "SIM_NVML_LIMIT", 700000, to);
}

EXPORT int nvmlDeviceGetPowerManagementDefaultLimit(struct device *d, unsigned *to)
{
	return answer_small(d, __func__, "SIM_NVML_DEFAULT", 700000, to);
}

EXPORT int nvmlDeviceGetTemperature(struct device *d, int sensor, unsigned *to)
{
	return answer_small(d, __func__, "SIM_NVML_TEMPERATURE", 45, to);
}

EXPORT int nvmlDeviceGetTotalEccErrors(struct device *d, int type, int counter,
                                       unsigned long long *to)
{
	uint64_t value = 0;
	int rc = type == 1 && counter == 0 ? answer(d, __func__, "SIM_NVML_ECC", 0, &value)
	                                   : NOT_SUPPORTED;

	*to = value;
	return rc;
}

EXPORT int nvmlDeviceGetCurrPcieLinkGeneration(struct device *d, unsigned *to)
{
	return answer_small(d, __func__, "SIM_NVML_GEN", 5, to);
}

EXPORT int nvmlDeviceGetMaxPcieLinkGeneration(struct device *d, unsigned *to)
{
	return answer_small(d, __func__, "SIM_NVML_GEN_MAX", 5, to);
}

EXPORT int nvmlDeviceGetCurrPcieLinkWidth(struct device *d, unsigned *to)
{
	return answer_small(d, __func__, "SIM_NVML_WIDTH", 16, to);
}

EXPORT int nvmlDeviceGetMaxPcieLinkWidth(struct device *d, unsigned *to)
{
	return answer_small(d, __func__, "SIM_NVML_WIDTH_MAX", 16, to);
}

EXPORT int nvmlDeviceGetUtilizationRates(struct device *d, unsigned to[2])
{
	to[1] = 0;
	return answer_small(d, __func__, "SIM_NVML_UTILIZATION", 80, &to[0]);
}

EXPORT int nvmlDeviceGetPersistenceMode(struct device *d, unsigned *to)
{
	return answer_small(d, __func__, "SIM_NVML_PERSISTENCE", 1, to);
}

EXPORT int nvmlDeviceGetComputeMode(struct device *d, unsigned *to)
{
	return answer_small(d, __func__, "SIM_NVML_MODE", 0, to);
}

EXPORT int nvmlDeviceGetMigMode(struct device *d, unsigned *now, unsigned *pending)
{
	*pending = 0;
	return answer_small(d, __func__, "SIM_NVML_MIG", 0, now);
}

EXPORT int nvmlDeviceGetViolationStatus(struct device *d, int policy, unsigned long long to[2])
{
	uint64_t value = 0;
	int rc = policy > 1 ? NOT_SUPPORTED
	                    : answer(d, __func__, policy ? "SIM_NVML_HEATED" : "SIM_NVML_CAPPED", 0,
	                             &value);

	to[0] = 0;
	to[1] = value;
	return rc;
}

EXPORT int nvmlDeviceGetComputeRunningProcesses_v2(struct device *d, unsigned *count, void *to)
{
	struct {
		unsigned pid;
		unsigned long long bytes;
		unsigned gpu_instance, compute_instance;
	} *list = to;
	const char *text = getenv("SIM_NVML_PROCESSES");
	unsigned n = 0;

	enter(__func__);
	if (!text ||
	    number("SIM_NVML_DEVICE", (unsigned long)d->ordinal) != (unsigned long)d->ordinal)
		text = "own";
	if (*text == 'x')
		return leave(NOT_SUPPORTED);
	for (; *text; text += strcspn(text, ","), text += *text == ',', n++) {
		if (n >= *count)
			continue;
		list[n].pid = *text == 'o' ? (unsigned)getpid() : (unsigned)strtoul(text, NULL, 10);
		list[n].bytes = 1ull << 30;
		list[n].gpu_instance = list[n].compute_instance = 0xffffffff;
	}
	int rc = n > *count ? INSUFFICIENT_SIZE : OK;
	*count = n;
	return leave(rc);
}
