/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/cupti/cupti_setup.h"

#include <string.h>
#include "shim/cupti/cupti_buffers.h"
#include "shim/cupti/cupti_find.h"
#include "shim/real/real.h"

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
             /* 1,000 launches of a graph of 100 kernels took 104 to 148 ms on an H200 with a
              * record of each node, 78 ms with these, 76 ms without CUPTI. Before CUDA 11.7 there
              * are the nodes alone. */
             {CP_KIND_GRAPH, false}};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

static bool graphs_recorded;
static void *subscriber; /* NULL: not subscribed; changed by who sets up, then by who lets go */

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
			return spy_call_rows[i].cls == SPY_CLASS_LAUNCH ||
			       spy_call_rows[i].cls == SPY_CLASS_GRAPH_LAUNCH ||
			       spy_call_rows[i].cls == SPY_CLASS_COPY ||
			       spy_call_rows[i].cls == SPY_CLASS_SET;
	return false;
}

/*
 * Which call gave a piece of work CUPTI tells by a number, and that number at the call's entry
 * alone. (External ids would need a record of every such call: on an H200 these cost 300 to 400 ns
 * a launch, the callback nothing that could be measured beside the record of the kernel.)
 */
static int ask_for_calls(const struct cp_functions *cupti)
{
	int answer = CP_NOT_INITIALIZED;
	bool told = false;
	const char *name;

	for (uint32_t id = 1; id < CALLBACK_IDS; id++) {
		name = NULL;
		if (cupti->callback_name(CP_DOMAIN_DRIVER, id, &name) != CP_OK || !name ||
		    !gives_work(name))
			continue;
		answer = cupti->enable_callback(1, subscriber, CP_DOMAIN_DRIVER, id);
		told = told || answer == CP_OK;
	}
	return told ? CP_OK : answer;
}

/* There is one subscriber: who comes after us finds the place free. */
static void unsubscribe(const struct cp_functions *cupti)
{
	if (subscriber)
		cupti->unsubscribe(subscriber);
	subscriber = NULL;
}

bool cupti_may_ask(void)
{
	return !graphs_recorded;
}

static void hand_over_each(const struct cp_functions *cupti, uint32_t ms)
{
	if (graphs_recorded && cupti->flush_period)
		cupti->flush_period(ms);
}

void cupti_disable_all(const struct cp_functions *cupti)
{
	hand_over_each(cupti, 0); /* CUPTI's own ways again, for who comes after us */
	for (unsigned i = 0; i < KINDS; i++)
		cupti->disable(kinds[i].kind);
	unsubscribe(cupti);
}

static int enable_all(const struct cp_functions *cupti)
{
	for (unsigned i = 0; i < KINDS; i++) {
		int rc = cupti->enable(kinds[i].kind);
		if (rc != CP_OK && kinds[i].needed)
			return rc;
		graphs_recorded |= rc == CP_OK && kinds[i].kind == CP_KIND_GRAPH;
	}
	hand_over_each(cupti, CUPTI_HAND_OVER_MS);
	return ask_for_calls(cupti);
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

const char *cupti_set_up(struct cp_functions *cupti, cp_callback_t on_call, int *code)
{
	uint32_t version = 0;

	*code = CP_OK;
	if (cupti_find_tools())
		return "another CUDA tool is attached";
	if (!find(cupti))
		return "no libcupti was found";
	if (cupti->get_version(&version) != CP_OK || version < CP_VERSION_11_0)
		return "this libcupti is older than CUDA 11";
	*code = cupti->subscribe(&subscriber, on_call, NULL);
	if (*code == CP_MULTIPLE_SUBSCRIBERS)
		return "another CUDA tool uses CUPTI";
	if (*code != CP_OK)
		return "CUPTI does not start";
	cupti_buffers_start(version < CP_VERSION_12_9);
	set_attributes(cupti);
	*code = cupti->register_callbacks(cupti_buffer_requested, cupti_buffer_completed);
	if (*code == CP_OK)
		*code = enable_all(cupti);
	if (*code == CP_OK)
		return NULL;
	cupti_disable_all(cupti);
	return "CUPTI refuses to record";
}
