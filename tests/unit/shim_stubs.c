/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/shim_stubs.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/clock.h"
#include "shim/cpu/cpu.h"
#include "shim/core/options/options.h"
#include "shim/base/own_stack.h"
#include "shim/base/recording_tables.h"
#include "shim/record/messages.h"
#include "shim/record/span.h"
#include "shim/record/thread.h"

struct tf_map spy_map;
uint32_t spy_generation = 1;
uint64_t spy_load_tick;

/* Where the module under test has its own, that is taken. */
union spy_gate_page spy_gate_page __attribute__((weak, aligned(4096)));
__thread struct spy_tls spy_tls
        __attribute__((weak, tls_model(SPY_TLS_MODEL))) = {.generation = SPY_NO_GENERATION};
struct spy_options spy_options __attribute__((weak));

uint64_t stub_room, stub_anomalies[SPY_ANOMALY_COUNT];
char stub_said[1024];
unsigned stub_lines;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, room_lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t seed = 88172645463325252u;

static uint64_t stub_alloc(struct tf_map *map, uint64_t bytes)
{
	uint64_t offset = 0;

	bytes = (bytes + 63) / 64 * 64;
	pthread_mutex_lock(&room_lock);
	if (bytes <= stub_room) {
		offset = tf_header(map)->alloc_end;
		tf_header(map)->alloc_end += bytes;
		stub_room -= bytes;
	}
	pthread_mutex_unlock(&room_lock);
	return offset;
}

void stub_start(uint64_t bytes)
{
	uint64_t header = (sizeof(struct tf_header) + 63) / 64 * 64;

	spy_map = (struct tf_map){
	        .base = calloc(1, bytes + header), .size = bytes + header, .alloc = stub_alloc};
	assert_non_null(spy_map.base);
	stub_room = bytes;
	struct tf_header *h = tf_header(&spy_map);
	h->alloc_end = header;
	h->kernels = (struct tf_table){.entry_bytes = sizeof(struct tf_kernel),
	                               .page_entries = 512,
	                               .max = TF_KERNELS_MAX};
	memset(stub_anomalies, 0, sizeof(stub_anomalies));
	stub_said[0] = 0;
	stub_lines = 0;
}

void stub_end(void)
{
	free(spy_map.base);
	spy_map = (struct tf_map){0};
}

uint32_t stub_locks;

void spy_lock(void)
{
	pthread_mutex_lock(&lock);
	stub_locks++;
}

void spy_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

void spy_count_anomaly(enum spy_anomaly what)
{
	__atomic_fetch_add(&stub_anomalies[what], 1, __ATOMIC_RELAXED);
}

void spy_say(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(stub_said, sizeof(stub_said), format, args);
	va_end(args);
	stub_lines++;
}

bool stub_recording;

void stub_forget_thread(void)
{
	memset(&spy_tls, 0, sizeof(spy_tls));
	spy_tls.generation = SPY_NO_GENERATION;
}

void stub_gate(bool open)
{
	uint32_t counter = open && spy_clock_is_counter() ? spy_generation : 0;

	stub_recording = open;
	spy_gate_page.gate.mine = spy_generation;
	spy_gate_page.gate.live = open ? spy_generation : 0;
	spy_gate_page.gate.counter = spy_gate_page.gate.open = counter;
}

enum spy_answer spy_ask(bool may_wait)
{
	return stub_recording ? SPY_ON : SPY_NOT_YET;
}

bool spy_started(void)
{
	return stub_recording;
}

bool spy_starting(void)
{
	return false;
}

bool __attribute__((weak)) spy_still_open(void)
{
	return stub_recording && spy_tls.generation == spy_generation;
}

uint32_t stub_sites; /* calls whose site was wanted */

uint64_t __attribute__((weak)) gate_call_site(struct tf_record *r, struct spy_caller caller)
{
	stub_sites++;
	return 0;
}

uint64_t stub_lost_calls;

void spy_lose_call(void)
{
	stub_lost_calls++;
}

/* Nothing here calls it from another stack. */
void own_stack_call(void (*f)(void *argument), void *argument)
{
	f(argument);
}

bool spy_in_range(void)
{
	return true;
}

bool spy_too_late(int result)
{
	return false;
}

bool gate_is_mine(void)
{
	return stub_recording;
}

bool gate_reopens(void)
{
	return stub_recording;
}

void gate_thread_died(void)
{
}

void gate_slot_taken(uint16_t index)
{
}

void __attribute__((weak))
spy_window_begins(unsigned call, unsigned cls, uint64_t ticks, uint64_t now)
{
	tf_header(&spy_map)->first_call = call + 1;
	tf_header(&spy_map)->window_start = now;
}

uint64_t recording_text(const char *text, uint64_t bytes)
{
	uint64_t offset = spy_map.alloc(&spy_map, sizeof(struct tf_string) + bytes + 1);
	struct tf_string *s = tf_at(&spy_map, offset, sizeof(*s) + bytes + 1);

	if (!s)
		return 0;
	memcpy(s->text, text, bytes);
	s->bytes = (uint32_t)bytes;
	return offset;
}

uint64_t stub_random(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

void __attribute__((weak)) cpu_thread_begins(struct tf_thread *th)
{
}

void __attribute__((weak)) cpu_thread_ends(struct tf_thread *th)
{
}
