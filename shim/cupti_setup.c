#include "shim/cupti_setup.h"

#include <string.h>
#include "shim/cupti_buffers.h"
#include "shim/cupti_find.h"
#include "shim/real.h"

/* On the GPU, for each context: at most 64 buffers of 2 MiB, of 32 bytes a piece of work: 4 million
 * pieces may wait to be read. CUPTI's own limit is 800 MB. */
#define DEVICE_BUFFER_BYTES (2u << 20)
#define DEVICE_BUFFERS      64u

#define CALLBACK_IDS 2048u /* more than twice what 13.0 has */

static const struct {
	int kind;
	bool needed;
} kinds[] = {{CP_KIND_KERNEL, true},
             {CP_KIND_MEMCPY, true},
             {CP_KIND_MEMSET, true},
             {CP_KIND_MEMCPY2, false},
             {CP_KIND_EXTERNAL, false}};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

static void no_callback(void *user, int domain, uint32_t id, const void *data)
{
}

/* Whether nobody else subscribed, nor is a tool attached. Given back at once: holding it would make
 * the program's own profiler fail for good (HOOKING 9.1). */
static int test_subscription(const struct cp_functions *cupti)
{
	void *subscriber = NULL;
	int rc = cupti->subscribe(&subscriber, no_callback, NULL);

	if (rc == CP_OK)
		cupti->unsubscribe(subscriber);
	return rc;
}

static void set_size(const struct cp_functions *cupti, int attribute, size_t value)
{
	size_t bytes = sizeof(value);

	cupti->set_attribute(attribute, &bytes, &value);
}

/* One that this version does not know it refuses; then it goes on with its own. */
static void set_attributes(const struct cp_functions *cupti)
{
	uint8_t yes = 1;
	size_t bytes = sizeof(yes);

	set_size(cupti, CP_ATTR_DEVICE_BUFFER_SIZE, DEVICE_BUFFER_BYTES);
	set_size(cupti, CP_ATTR_DEVICE_POOL_LIMIT, DEVICE_BUFFERS);
	cupti->set_attribute(CP_ATTR_ZEROED_OUT, &bytes, &yes);
}

static bool gives_work(const char *name)
{
	for (unsigned i = 0; i < SPY_DRIVER_CALLS; i++)
		if (!strcmp(spy_call_rows[i].name, name))
			return spy_call_rows[i].class == SPY_CLASS_LAUNCH ||
			       spy_call_rows[i].class == SPY_CLASS_GRAPH_LAUNCH ||
			       spy_call_rows[i].class == SPY_CLASS_COPY ||
			       spy_call_rows[i].class == SPY_CLASS_SET;
	return false;
}

/*
 * External ids are noted with the record of a driver call, so such records must be on (NVIDIA/Fuser
 * pull 1135): of the calls that give work, or before 12.5 of all calls. They are not read.
 */
static void switch_carrier(const struct cp_functions *cupti, bool on)
{
	const char *name;
	unsigned switched = 0;

	for (uint32_t id = 1; cupti->enable_driver_api && id < CALLBACK_IDS; id++) {
		name = NULL;
		if (cupti->callback_name(CP_DOMAIN_DRIVER, id, &name) == CP_OK && name &&
		    gives_work(name))
			switched += cupti->enable_driver_api(id, on) == CP_OK;
	}
	if (!switched && on)
		cupti->enable(CP_KIND_DRIVER);
	else if (!switched)
		cupti->disable(CP_KIND_DRIVER);
}

void cupti_disable_all(const struct cp_functions *cupti)
{
	for (unsigned i = 0; i < KINDS; i++)
		cupti->disable(kinds[i].kind);
	switch_carrier(cupti, false);
}

static int enable_all(const struct cp_functions *cupti)
{
	switch_carrier(cupti, true);
	for (unsigned i = 0; i < KINDS; i++) {
		int rc = cupti->enable(kinds[i].kind);
		if (rc == CP_OK || !kinds[i].needed)
			continue;
		cupti_disable_all(cupti);
		return rc;
	}
	return CP_OK;
}

static int driver_version(void)
{
	int (*get)(int *) = (int (*)(int *))spy_driver_symbol("cuDriverGetVersion");
	int version = 0;

	return get && get(&version) == 0 ? version : 0;
}

/* The last look-up of all succeeds, so that none of ours is left in dlerror(). */
static bool find(struct cp_functions *cupti)
{
	bool found = cupti_find(cupti, driver_version());

	spy_driver_symbol("cuInit");
	return found;
}

const char *cupti_set_up(struct cp_functions *cupti, int *code)
{
	uint32_t version = 0;

	*code = CP_OK;
	if (cupti_find_tools())
		return "another CUDA tool is attached";
	if (!find(cupti))
		return "no libcupti was found";
	if (cupti->get_version(&version) != CP_OK || version < CP_VERSION_11_0)
		return "this libcupti is older than CUDA 11";
	*code = test_subscription(cupti);
	if (*code == CP_MULTIPLE_SUBSCRIBERS)
		return "another CUDA tool uses CUPTI";
	if (*code != CP_OK)
		return "CUPTI does not start";
	cupti_buffers_start(version < CP_VERSION_12_9);
	set_attributes(cupti);
	*code = cupti->register_callbacks(cupti_buffer_requested, cupti_buffer_completed);
	if (*code == CP_OK)
		*code = enable_all(cupti);
	return *code == CP_OK ? NULL : "CUPTI refuses to record";
}
