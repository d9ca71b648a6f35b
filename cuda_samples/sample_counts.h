/* SPDX-License-Identifier: Apache-2.0 */
/* What a sample counts as it goes and prints at its end, in the words a correct report uses.
 * Included by every sample, and by sample.h, which counts for those that use the runtime. */
#pragma once
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

enum sample_direction { HTOD, DTOH, DTOD, SAMPLE_DIRECTIONS };
enum sample_memory {
	PAGEABLE,
	PINNED,
	DEVICE,
	SAMPLE_MEMORIES
}; /* of the host side, if there is one */

struct sample_kernel_count {
	std::atomic<const char *> name;
	std::atomic<unsigned long> launches;
};

/* Launches, copies and sets: those that succeeded and were not captured into a graph.
 * Syncs: calls that succeeded and whose purpose is to wait.  Allocs: allocated and freed. */
struct sample_counts {
	std::atomic<unsigned long> launches;
	std::atomic<unsigned long> graph_launches;
	std::atomic<unsigned long> captured;
	std::atomic<unsigned long> copies[SAMPLE_DIRECTIONS][SAMPLE_MEMORIES];
	std::atomic<unsigned long> copy_bytes;
	std::atomic<unsigned long> sets;
	std::atomic<unsigned long> syncs;
	std::atomic<unsigned long> allocs;
	std::atomic<unsigned long> failed;
	sample_kernel_count kernels[48];
};

static sample_counts sample_counted;
static bool sample_simulated;
static std::atomic<bool> sample_wrong;
static unsigned long sample_answered;
static bool sample_has_answer;
static const char *sample_expected[8];

/* A sample's only kind of trouble is a broken environment: say where and stop. */
[[noreturn]] static inline void sample_die(const char *what, const char *why)
{
	fprintf(stderr, "%s: %s\n", what, why);
	exit(1);
}

static inline void sample_device_name(const char *name)
{
	sample_simulated = !strncmp(name, "Simulated GPU", strlen("Simulated GPU"));
}

/* The number of iterations: the program's argument, else `otherwise`. */
static inline unsigned sample_argument(int argc, char **argv, int index, unsigned otherwise)
{
	return argc > index ? (unsigned)strtoul(argv[index], nullptr, 0) : otherwise;
}

static inline void sample_count_copy(sample_direction direction, sample_memory memory, size_t bytes)
{
	sample_counted.copies[direction][memory]++;
	sample_counted.copy_bytes += bytes;
}

static inline void sample_count_launch(const char *kernel)
{
	sample_counted.launches++;
	for (sample_kernel_count &k : sample_counted.kernels) {
		const char *name = nullptr;

		if (k.name.compare_exchange_strong(name, kernel) || !strcmp(name, kernel)) {
			k.launches++;
			return;
		}
	}
	sample_die(kernel, "more kernels than a sample can count");
}

/* A simulated GPU runs no kernel, so there is no result to be wrong. */
static inline void sample_verify(bool right)
{
	if (!right && !sample_simulated)
		sample_wrong = true;
}

static inline unsigned long sample_copies(int direction, int memory)
{
	return sample_counted.copies[direction][memory];
}

/* What a report must say beside the counts: `verdict=CLASS`, `finding=ID` or `no-finding=ID`, as
 * README.md lists them. */
static inline void sample_expect(const char *what)
{
	for (const char *&e : sample_expected) {
		if (!e) {
			e = what;
			return;
		}
	}
	sample_die(what, "more than a sample can expect");
}

/* The result of the work, printed: a sample and its fixed twin have the same. */
static inline void sample_answer(unsigned long found, unsigned long expected)
{
	sample_verify(found == expected);
	sample_answered = expected;
	sample_has_answer = true;
}

/* Prints what a report of this run must say; returns the program's exit status. */
static inline int sample_finish(void)
{
	const sample_counts &c = sample_counted;
	unsigned long copies = 0, pageable = 0;

	for (int d = 0; d < SAMPLE_DIRECTIONS; d++)
		for (int m = 0; m < SAMPLE_MEMORIES; m++)
			copies += sample_copies(d, m);
	pageable = sample_copies(HTOD, PAGEABLE) + sample_copies(DTOH, PAGEABLE);
	printf("expect: launches=%lu graph_launches=%lu captured=%lu copies=%lu "
	       "pageable_copies=%lu "
	       "copies_htod_pageable=%lu copies_htod_pinned=%lu copies_dtoh_pageable=%lu "
	       "copies_dtoh_pinned=%lu copies_dtod=%lu copy_bytes=%lu sets=%lu syncs=%lu "
	       "allocs=%lu failed=%lu\n",
	       c.launches.load(), c.graph_launches.load(), c.captured.load(), copies, pageable,
	       sample_copies(HTOD, PAGEABLE), sample_copies(HTOD, PINNED),
	       sample_copies(DTOH, PAGEABLE), sample_copies(DTOH, PINNED),
	       sample_copies(DTOD, DEVICE), c.copy_bytes.load(), c.sets.load(), c.syncs.load(),
	       c.allocs.load(), c.failed.load());
	for (const sample_kernel_count &k : c.kernels)
		if (k.name.load())
			printf("expect-kernel: %s launches=%lu\n", k.name.load(),
			       k.launches.load());
	for (const char *e : sample_expected)
		if (e)
			printf("expect: %s\n", e);
	if (sample_has_answer)
		printf("answer: %lu\n", sample_answered);
	printf("checked: %s\n", sample_simulated ? "no (a simulated GPU computes nothing)" : "yes");
	printf("result: %s\n", sample_wrong ? "wrong" : "ok");
	return sample_wrong ? 1 : 0;
}
