/* SPDX-License-Identifier: Apache-2.0 */
/*
 * activities FILE: CUPTI's records in a recording, as JSON, beside the calls that are still in the
 * threads' rings, one line each. Times in ns of CLOCK_MONOTONIC; causes as the format has them.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "shim/core/format/trace_map.h"

static struct tf_map map;
static const char *comma;

static void open_recording(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) || (size_t)st.st_size < sizeof(struct tf_header))
		exit(2);
	map.base = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	map.size = (uint64_t)st.st_size;
	close(fd);
	if (map.base == MAP_FAILED || memcmp(tf_header(&map)->magic, TF_MAGIC, 8))
		exit(2);
}

/* By the first and the last reading of the clocks. */
static uint64_t monotonic(uint64_t tick)
{
	const struct tf_table *t = &tf_header(&map)->clocks;
	const struct tf_clock_triple *a = tf_entry(&map, t, 0, sizeof(*a));
	const struct tf_clock_triple *b = tf_entry(&map, t, tf_count(t) - 1, sizeof(*b));
	double rate = (double)(b->monotonic_ns - a->monotonic_ns) / (double)(b->tick - a->tick);

	return b->monotonic_ns + (uint64_t)(int64_t)((double)(int64_t)(tick - b->tick) * rate);
}

static void print_work(const struct tf_record *r)
{
	const struct tf_header *h = tf_header(&map);
	const struct tf_kernel *k = tf_entry(&map, &h->kernels, r->activity.kernel, sizeof(*k));

	printf("%s\n  {\"kind\": %u, \"start\": %" PRIu64 ", \"end\": %" PRIu64
	       ", \"cause\": %" PRIu64 ", \"device\": %u, \"stream\": %u, \"bytes\": %" PRIu64
	       ", \"node\": %u, \"kernel\": \"%s\"}",
	       comma, r->thread, monotonic(r->start), monotonic(r->end), r->stream,
	       r->activity.device, r->activity.stream, r->activity.bytes, r->activity.graph_node,
	       r->thread == TF_WORK_KERNEL && k ? tf_text(&map, k->name, NULL) : "");
}

static void print_call(const struct tf_record *r)
{
	const struct tf_call *c = tf_entry(&map, &tf_header(&map)->calls, r->call, sizeof(*c));

	printf("%s\n  {\"cause\": %" PRIu64 ", \"start\": %" PRIu64
	       ", \"thread\": %u, \"call\": \"%s\"}",
	       comma, TF_CAUSE(r->thread, r->start), monotonic(r->start), r->thread,
	       c ? c->name : "");
}

static void print_ring(uint64_t offset)
{
	const struct tf_ring *ring;

	for (; (ring = tf_at(&map, offset, sizeof(*ring))); offset = ring->next)
		for (uint64_t i = ring->head > ring->capacity ? ring->head - ring->capacity : 0;
		     i < ring->head; i++) {
			const struct tf_record *r = &ring->slots[i & (ring->capacity - 1)];
			if (r->call == TF_CALL_ACTIVITY)
				print_work(r);
			else
				print_call(r);
			comma = ",";
		}
}

int main(int argc, char **argv)
{
	static const char *const troubles[] = {
#define XX(id, text) #id,
	        SPY_ANOMALY_MAP(XX)
#undef XX
	};

	if (argc != 2)
		return 2;
	open_recording(argv[1]);
	const struct tf_header *h = tf_header(&map);
	printf("{\"mode\": %u, \"partial\": %" PRIu64 ", \"trouble\": {", h->gpu_mode,
	       h->gpu_partial ? monotonic(h->gpu_partial) : 0);
	for (unsigned i = 0; i < SPY_ANOMALY_COUNT; i++)
		printf("%s\"%s\": %" PRIu64, i ? ", " : "", troubles[i], h->anomaly[i]);
	printf("},\n \"work\": [");
	comma = "";
	print_ring(h->activity_ring);
	printf("],\n \"calls\": [");
	comma = "";
	for (uint32_t i = 0; i < tf_count(&h->threads); i++) {
		const uint64_t *at = tf_entry(&map, &h->threads, i, sizeof(*at));
		const struct tf_thread *t = at ? tf_at(&map, *at, h->thread_bytes) : NULL;
		if (t)
			print_ring(t->ring_first);
	}
	printf("]}\n");
	return 0;
}
