/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reader of Python's frames alone, without the shim, as a library that a Python program calls
 * by ctypes: what it reads can be compared with what Python says of itself at the same place, and
 * it can be built with sanitizers. With report/model/python_lines.c it also tells lines.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <sys/syscall.h>

#include "report/model/python_lines.h"
#include "shim/base/gate.h"
#include "shim/base/recording_tables.h"
#include "shim/record/span.h"
#include "shim/sites/python.h"

#define EXPORT __attribute__((visibility("default")))
/* For ctypes. */
EXPORT int reader_start(const void *runtime, void *this_thread, const void *code_type,
                        const void *text_type, const void *bytes_type, unsigned version);
EXPORT int reader_ready(void);
EXPORT int reader_stack(char *text, size_t bytes, int plain);
EXPORT uint64_t reader_walks(unsigned count, unsigned batch, double *ns, int plain);
EXPORT uint64_t reader_times(unsigned count, double *ns, double *noise, int plain);
EXPORT int reader_cold(unsigned count, double *ns, double *noise, int plain);
EXPORT double reader_first(int plain);
EXPORT unsigned reader_line(unsigned version, const uint8_t *table, size_t bytes,
                            unsigned first_line, unsigned at);

struct tf_map spy_map;
__thread struct spy_tls spy_tls __attribute__((tls_model(SPY_TLS_MODEL), aligned(64)));
static __thread struct tf_thread own_thread;

void spy_lock(void)
{
}

void spy_unlock(void)
{
}

/* The texts of one code object at a time. */
static __thread char texts[3][TF_STRING_MAX + 1];
static __thread uint32_t lengths[3], text_count;

uint64_t recording_text(const char *text, uint64_t bytes)
{
	memcpy(texts[text_count], text, bytes);
	texts[text_count][bytes] = 0;
	lengths[text_count] = (uint32_t)bytes;
	return ++text_count;
}

EXPORT int reader_start(const void *runtime, void *this_thread, const void *code_type,
                        const void *text_type, const void *bytes_type, unsigned version)
{
	const struct python_symbols symbols = {.runtime = runtime,
	                                       .this_thread = (void *(*)(void))this_thread,
	                                       .code_type = code_type,
	                                       .text_type = text_type,
	                                       .bytes_type = bytes_type,
	                                       .version = version};

	spy_map.base = calloc(1, sizeof(struct tf_header));
	tf_header(&spy_map)->pid = (uint64_t)getpid();
	python_found(&symbols);
	return python_state();
}

/* `plain`: as the process' first thread does, by plain loads. */
static void be_a_thread(int plain)
{
	own_thread.tid = plain ? (uint64_t)getpid() : 0;
	spy_tls.thread = &own_thread;
}

EXPORT int reader_ready(void)
{
	be_a_thread(0);
	python_ready();
	return python_state();
}

struct stack {
	struct python_frame frame[PYTHON_FRAMES_MOST];
	unsigned count;
};

static bool keep(void *context, const struct python_frame *frame)
{
	struct stack *s = context;

	s->frame[s->count++] = *frame;
	return true;
}

/* "file\tname\tline\n" for each frame; how many, + 1000 where there are more. */
EXPORT int reader_stack(char *text, size_t bytes, int plain)
{
	struct stack s = {.count = 0};
	size_t used = 0;
	bool cut;

	be_a_thread(plain);
	python_walk(PYTHON_FRAMES_MOST, keep, &s, &cut);
	for (unsigned i = 0; i < s.count; i++) {
		struct tf_code code = {0};
		text_count = 0;
		if (!python_describe(s.frame[i].code, &code))
			return -1;
		used += (size_t)snprintf(
		        text + used, bytes - used, "%s\t%s\t%u\n", texts[0], texts[1],
		        python_line(code.python, code.lines ? (const uint8_t *)texts[2] : NULL,
		                    code.lines ? lengths[2] : 0, code.first_line, s.frame[i].at));
	}
	return (int)s.count + (cut ? 1000 : 0);
}

static bool mix(void *context, const struct python_frame *frame)
{
	*(uint64_t *)context = *(uint64_t *)context * 31 + frame->identity + frame->at;
	return true;
}

/* So many walks; ns[]: of each, by batches of `batch`. How many frames were seen in all. */
EXPORT uint64_t reader_walks(unsigned count, unsigned batch, double *ns, int plain)
{
	uint64_t sum = 0;
	bool cut;

	be_a_thread(plain);
	for (unsigned i = 0; i < count; i++) {
		struct timespec a, b;
		clock_gettime(CLOCK_MONOTONIC, &a);
		for (unsigned k = 0; k < batch; k++)
			python_walk(PYTHON_FRAMES_MOST, mix, &sum, &cut);
		clock_gettime(CLOCK_MONOTONIC, &b);
		if (ns)
			ns[i] = ((double)(b.tv_sec - a.tv_sec) * 1e9 +
			         (double)(b.tv_nsec - a.tv_nsec)) /
			        batch;
	}
	return sum;
}

static double ns_between(const struct timespec *a, const struct timespec *b)
{
	return (double)(b->tv_sec - a->tv_sec) * 1e9 + (double)(b->tv_nsec - a->tv_nsec);
}

/* So many walks, one at a time: ns[] of each, and before each noise[], of nothing at all: two
 * readings of the clock, and whatever the machine does meanwhile. */
EXPORT uint64_t reader_times(unsigned count, double *ns, double *noise, int plain)
{
	uint64_t sum = 0;
	bool cut;

	be_a_thread(plain);
	for (unsigned i = 0; i < count; i++) {
		struct timespec t[3];
		for (unsigned k = 0; k < 2; k++)
			clock_gettime(CLOCK_MONOTONIC, &t[k]);
		python_walk(PYTHON_FRAMES_MOST, mix, &sum, &cut);
		clock_gettime(CLOCK_MONOTONIC, &t[2]);
		noise[i] = ns_between(&t[0], &t[1]);
		ns[i] = ns_between(&t[1], &t[2]);
	}
	return sum;
}

/* More than processors keep of memory. */
#define COLD_BYTES (128u << 20)

/* The same, one at a time, after other memory was written; 0 = there is not so much. */
EXPORT int reader_cold(unsigned count, double *ns, double *noise, int plain)
{
	uint64_t sum = 0;
	bool cut;
	char *other =
	        mmap(NULL, COLD_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (other == MAP_FAILED)
		return 0;
	be_a_thread(plain);
	for (unsigned i = 0; i < count; i++) {
		struct timespec t[4];
		memset(other, (int)i, COLD_BYTES);
		for (unsigned k = 0; k < 3; k++) /* the first reads what the clock needs */
			clock_gettime(CLOCK_MONOTONIC, &t[k]);
		python_walk(PYTHON_FRAMES_MOST, mix, &sum, &cut);
		clock_gettime(CLOCK_MONOTONIC, &t[3]);
		noise[i] = ns_between(&t[1], &t[2]);
		ns[i] = ns_between(&t[2], &t[3]);
	}
	munmap(other, COLD_BYTES);
	return sum != 0;
}

/* One stack as one that is new: read, and of each code object what is kept. ns. */
EXPORT double reader_first(int plain)
{
	struct stack s = {.count = 0};
	struct timespec a, b;
	bool cut;

	be_a_thread(plain);
	clock_gettime(CLOCK_MONOTONIC, &a);
	python_walk(PYTHON_FRAMES_MOST, keep, &s, &cut);
	for (unsigned i = 0; i < s.count; i++) {
		struct tf_code code = {0};
		text_count = 0;
		python_describe(s.frame[i].code, &code);
	}
	clock_gettime(CLOCK_MONOTONIC, &b);
	return (double)(b.tv_sec - a.tv_sec) * 1e9 + (double)(b.tv_nsec - a.tv_nsec);
}

EXPORT unsigned reader_line(unsigned version, const uint8_t *table, size_t bytes,
                            unsigned first_line, unsigned at)
{
	return python_line(version, table, bytes, first_line, at);
}
