/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pair_cost: what a pair of events shows around a kernel, beside CUPTI's record of the same kernel.
 *
 *     pair_cost pairs [LIBCUPTI]     pairs as cudaspy takes them, without CUPTI, then CUPTI's
 *                                    records without pairs, then both, then pairs once more
 *     pair_cost apart                pairs far apart in a program that goes on, by one pair of events
 *                                    and by many: what the tight ones above do not show
 *     pair_cost loop NAME [LIBCUPTI] a program that launches one kind of kernel, for cudaspy;
 *                                    CUPTI's mean of its kernels where the library is given
 *
 * A simulated GPU has no CUPTI, and its kernels take what they are said to take.
 */
#include "cuda_samples/sample.h"
#include <algorithm>
#include <cmath>
#include <dlfcn.h>
#include <random>
#include <vector>
#if defined(__CUDACC__) && __has_include(<cupti.h>)
#include <cupti.h>
#include "cupti_record_names.h"
#define WITH_CUPTI 1
#endif

#define ROUNDS       250
#define BUSY_NS      40000 /* the work that keeps the stream busy until the pair is queued */
#define STALL_LEAST  8000
#define STALL_MOST   60000
#define BUFFER_BYTES (1 << 20)
#define FLOATS       (1 << 20)

#ifdef __CUDACC__
static __device__ unsigned long long now_ns()
{
	unsigned long long ns;

	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
	return ns;
}
#endif

/* cudaspy's own two. */
KERNEL(pair_null, "fixed:600", ())
{
}

KERNEL(pair_stall, "arg:0:1", (unsigned long long nanoseconds))
{
#ifdef __CUDACC__
	unsigned long long start = now_ns();

	while (now_ns() - start < nanoseconds)
		;
#endif
}

/* The program's. */
KERNEL(busy, "arg:0:1", (unsigned long long nanoseconds))
{
#ifdef __CUDACC__
	unsigned long long start = now_ns();

	while (now_ns() - start < nanoseconds)
		;
#endif
}

KERNEL(empty, "fixed:600", (float *p, unsigned n))
{
}

KERNEL(stores, "fixed:900", (float *p, unsigned n))
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		p[i] = i;
}

KERNEL(spin, "arg:0:1", (unsigned long long nanoseconds))
{
#ifdef __CUDACC__
	unsigned long long start = now_ns();

	while (now_ns() - start < nanoseconds)
		;
#endif
}

KERNEL(cycles, "arg:0:1", (unsigned long long count))
{
#ifdef __CUDACC__
	long long start = clock64();

	while (clock64() - start < (long long)count)
		;
#endif
}

/* Cycles of a multiprocessor in so many nanoseconds. */
KERNEL(clocks, "arg:1:1", (unsigned long long *out, unsigned long long nanoseconds))
{
#ifdef __CUDACC__
	unsigned long long start = now_ns();
	long long from = clock64();

	while (now_ns() - start < nanoseconds)
		;
	out[0] = clock64() - from;
	out[1] = now_ns() - start;
#endif
}

static cudaStream_t stream;
static cudaEvent_t first, second;
static cudaEvent_t many[64][2];
static float *memory;

/* ---- the kernels between the events ---- */

struct kind {
	const char *name;
	void (*give)(unsigned long long);
	unsigned long long argument;
	unsigned kernels;
};

static void give_null(unsigned long long times)
{
	while (times--)
		LAUNCH(pair_null, 1, 1, 0, stream);
}

static void give_empty(unsigned long long blocks)
{
	LAUNCH(empty, (unsigned)blocks, 256, 0, stream, memory, FLOATS);
}

static void give_stores(unsigned long long blocks)
{
	LAUNCH(stores, (unsigned)blocks, 256, 0, stream, memory, FLOATS);
}

static void give_spin(unsigned long long ns)
{
	LAUNCH(spin, 1, 1, 0, stream, ns);
}

static void give_cycles(unsigned long long count)
{
	LAUNCH(cycles, 64, 128, 0, stream, count);
}

static const kind kinds[] = {
        {"nothing", give_null, 0, 0},
        {"null", give_null, 1, 1},
        {"null_x2", give_null, 2, 2},
        {"null_x5", give_null, 5, 5},
        {"empty_1", give_empty, 1, 1},
        {"empty_64", give_empty, 64, 1},
        {"empty_1024", give_empty, 1024, 1},
        {"stores_64", give_stores, 64, 1},
        {"stores_1024", give_stores, 1024, 1},
        {"stores_4096", give_stores, 4096, 1},
        {"spin_1000", give_spin, 1000, 1},
        {"spin_2000", give_spin, 2000, 1},
        {"spin_5000", give_spin, 5000, 1},
        {"spin_20000", give_spin, 20000, 1},
        {"cycles_3000", give_cycles, 3000, 1},
        {"cycles_8000", give_cycles, 8000, 1},
        {"cycles_30000", give_cycles, 30000, 1},
        {"cycles_90000", give_cycles, 90000, 1},
};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

/* ---- CUPTI ---- */

struct span {
	unsigned long long start, end;
};
static std::vector<span> records;

#ifdef WITH_CUPTI
static CUptiResult (*next_record)(uint8_t *, size_t, CUpti_Activity **);
static CUptiResult (*activity_on)(CUpti_ActivityKind);
static CUptiResult (*activity_off)(CUpti_ActivityKind);
static CUptiResult (*activity_flush)(uint32_t);

static void CUPTIAPI give_buffer(uint8_t **buffer, size_t *size, size_t *most)
{
	*buffer = (uint8_t *)aligned_alloc(4096, BUFFER_BYTES);
	*size = *buffer ? BUFFER_BYTES : 0;
	*most = 0;
}

static void CUPTIAPI take_buffer(CUcontext, uint32_t, uint8_t *buffer, size_t, size_t valid)
{
	CUpti_Activity *a = NULL;

	while (valid && next_record(buffer, valid, &a) == CUPTI_SUCCESS) {
		const REC_KERNEL *k = (const REC_KERNEL *)a;
		if (a->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)
			records.push_back({k->start, k->end});
	}
	free(buffer);
}

template <typename F> static bool find(void *library, const char *name, F *f)
{
	*f = (F)dlsym(library, name);
	return *f;
}

static bool cupti_load(const char *path)
{
	void *library = path ? dlopen(path, RTLD_NOW) : NULL;
	CUptiResult (*callbacks)(CUpti_BuffersCallbackRequestFunc,
	                         CUpti_BuffersCallbackCompleteFunc);
	CUptiResult (*version)(uint32_t *);
	uint32_t number = 0;

	if (path && !library)
		fprintf(stderr, "pair_cost: %s\n", dlerror());
	if (!library || !find(library, "cuptiActivityRegisterCallbacks", &callbacks) ||
	    !find(library, "cuptiActivityGetNextRecord", &next_record) ||
	    !find(library, "cuptiActivityEnable", &activity_on) ||
	    !find(library, "cuptiActivityDisable", &activity_off) ||
	    !find(library, "cuptiActivityFlushAll", &activity_flush) ||
	    !find(library, "cuptiGetVersion", &version))
		return false;
	version(&number);
	printf("cupti: %u\n", number);
	return callbacks(give_buffer, take_buffer) == CUPTI_SUCCESS;
}

static bool cupti_on()
{
	return activity_on(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) == CUPTI_SUCCESS;
}

/* All records so far, in the order in which they began. */
static void cupti_off()
{
	sample_sync_device();
	activity_flush(0);
	activity_off(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
	activity_flush(1);
	std::sort(records.begin(), records.end(),
	          [](const span &a, const span &b) { return a.start < b.start; });
}
#else
static bool cupti_load(const char *)
{
	return false;
}

static bool cupti_on()
{
	return false;
}

static void cupti_off()
{
}
#endif

/* ---- samples ---- */

/* BEHIND: a kernel of the program's, on all of the GPU, stands right ahead of the pair. */
enum { IDLE, BUSY, BEHIND, REGIMES };
static const char *const regimes[] = {"idle", "busy", "behind"};
#define WIDE_BLOCKS 256

typedef std::vector<double> list;
static unsigned long long stalls[KINDS][REGIMES];

/* One sample: what goes ahead, the kernels, with events around these or without. The pair's time,
 * negative where the host was late. */
static double sample(unsigned k, int regime, bool events, unsigned *ahead)
{
	unsigned long long &stall = stalls[k][regime];
	float ms = 0;
	bool held = true;

	*ahead = 1;
	if (regime == IDLE) {
		stall = std::max(stall, (unsigned long long)STALL_LEAST);
		LAUNCH(pair_stall, 1, 1, 0, stream, stall);
	} else {
		stall = std::max(stall, (unsigned long long)BUSY_NS);
		LAUNCH(busy, regime == BEHIND ? WIDE_BLOCKS : 1, regime == BEHIND ? 512 : 32, 0,
		       stream, stall);
		if (regime == BUSY)
			LAUNCH(pair_null, 1, 1, 0, stream);
		*ahead = regime == BUSY ? 2 : 1;
	}
	if (events)
		CHECK(cudaEventRecord(first, stream));
	kinds[k].give(kinds[k].argument);
	if (events) {
		CHECK(cudaEventRecord(second, stream));
		held = cudaEventQuery(first) == cudaErrorNotReady;
	}
	sample_sync_stream(stream);
	if (!events)
		return 0;
	CHECK(cudaEventElapsedTime(&ms, first, second));
	if (held)
		return ms * 1e6;
	stall = std::min(stall * 3 / 2, (unsigned long long)STALL_MOST * 3);
	return -1;
}

struct phase {
	list pairs[KINDS][REGIMES], times[KINDS][REGIMES];
};

/* Every kind in both regimes, by turns. */
static void measure(phase *p, bool events, bool cupti, unsigned rounds)
{
	struct taken {
		unsigned kind, ahead;
		int regime;
	};
	std::vector<taken> order;
	std::mt19937 random(rounds);
	std::vector<unsigned> turns;

	for (unsigned i = 0; i < KINDS * REGIMES; i++)
		turns.push_back(i);
	records.clear();
	for (unsigned r = 0; r < rounds; r++) {
		std::shuffle(turns.begin(), turns.end(), random);
		for (unsigned i : turns) {
			taken t = {i / REGIMES, 0, (int)(i % REGIMES)};
			double ns = sample(t.kind, t.regime, events, &t.ahead);
			if (events && ns >= 0)
				p->pairs[t.kind][t.regime].push_back(ns);
			order.push_back(t);
		}
	}
	if (!cupti)
		return;
	cupti_off();
	size_t at = 0, expected = 0;
	for (const taken &t : order)
		expected += t.ahead + kinds[t.kind].kernels;
	if (records.size() != expected) {
		fprintf(stderr, "pair_cost: %zu records of %zu kernels\n", records.size(),
		        expected);
		return;
	}
	for (const taken &t : order) {
		at += t.ahead;
		if (kinds[t.kind].kernels)
			p->times[t.kind][t.regime].push_back(
			        (double)(records[at + kinds[t.kind].kernels - 1].end -
			                 records[at].start));
		at += kinds[t.kind].kernels;
	}
}

static void print(const char *what, list values)
{
	double sum = 0, squares = 0;

	if (values.empty())
		return;
	std::sort(values.begin(), values.end());
	/* A few are interrupted: the middle 98 % count. */
	size_t cut = values.size() / 100, n = values.size() - 2 * cut;
	for (size_t i = cut; i < cut + n; i++)
		sum += values[i];
	for (size_t i = cut; i < cut + n; i++)
		squares += (values[i] - sum / n) * (values[i] - sum / n);
	printf(" %s_mean=%.1f %s_median=%.0f %s_sd=%.1f %s_least=%.0f %s_n=%zu", what, sum / n,
	       what, values[values.size() / 2], what, sqrt(squares / n), what, values[0], what,
	       values.size());
}

static int pairs(const char *library, unsigned rounds)
{
	static phase warm, alone, records_only, both, after;

	measure(&warm, true, false, rounds / 10 + 1);
	measure(&alone, true, false, rounds);
	if (cupti_load(library) && cupti_on()) {
		measure(&records_only, false, true, rounds);
		if (cupti_on())
			measure(&both, true, true, rounds);
		measure(&after, true, false, rounds);
	}
	for (unsigned k = 0; k < KINDS; k++)
		for (int r = 0; r < REGIMES; r++) {
			printf("pair: %s %s", kinds[k].name, regimes[r]);
			print("alone", alone.pairs[k][r]);
			print("cupti", records_only.times[k][r]);
			print("beside", both.pairs[k][r]);
			print("cupti_beside", both.times[k][r]);
			print("after", after.pairs[k][r]);
			printf("\n");
		}
	return 0;
}

/* Beside the mean: what a tail does to it. */
static void print_quantiles(list values)
{
	static const double quantiles[] = {0, 0.1, 0.25, 0.5, 0.75, 0.9, 1};
	double sum = 0, squares = 0;

	std::sort(values.begin(), values.end());
	for (double v : values)
		sum += v;
	for (double v : values)
		squares += (v - sum / values.size()) * (v - sum / values.size());
	printf(" n=%zu mean=%.0f sd=%.0f quantiles", values.size(), sum / values.size(),
	       sqrt(squares / values.size()));
	for (double q : quantiles)
		printf(" %.0f", values[(size_t)(q * (values.size() - 1))]);
	printf("\n");
}

/* Samples with so many kernels of the program between them, on a stream that is waited for or not. */
static void apart(unsigned between, bool wait, bool events, bool warm)
{
	static const char *const names[] = {"nothing", "null", "empty_64", "cycles_3000"};

	for (const char *name : names) {
		unsigned k = 0, n = 0;
		list values;
		float ms;
		while (strcmp(kinds[k].name, name))
			k++;
		for (unsigned i = 0; i < 200; i++) {
			for (unsigned b = 0; b < between; b++) {
				LAUNCH(cycles, 64, 128, 0, stream, 3000);
				if (b % 20 == 19)
					sample_sync_stream(stream);
			}
			if (wait)
				sample_sync_stream(stream);
			cudaEvent_t *pair = many[events ? n++ % 64 : 0];
			LAUNCH(pair_stall, 1, 1, 0, stream, 20000);
			if (warm)
				kinds[k].give(kinds[k].argument);
			CHECK(cudaEventRecord(pair[0], stream));
			kinds[k].give(kinds[k].argument);
			CHECK(cudaEventRecord(pair[1], stream));
			bool held = cudaEventQuery(pair[0]) == cudaErrorNotReady;
			sample_sync_stream(stream);
			CHECK(cudaEventElapsedTime(&ms, pair[0], pair[1]));
			if (held)
				values.push_back(ms * 1e6);
		}
		if (values.empty())
			continue;
		printf("apart: %s between=%u wait=%d events=%d warm=%d", name, between, wait,
		       events ? 64 : 1, warm);
		print_quantiles(values);
	}
}

static int all_apart()
{
	for (auto &pair : many)
		for (cudaEvent_t &e : pair)
			CHECK(cudaEventCreate(&e));
	for (int events = 0; events < 2; events++)
		for (unsigned between : {0u, 1u, 100u, 500u}) {
			apart(between, true, events, false);
			apart(between, true, events, true);
			if (between > 1)
				apart(between, false, events, false);
		}
	return 0;
}

/* ---- programs ---- */

static double length_of(unsigned launch, unsigned all, const char *name)
{
	if (!strcmp(name, "drift"))
		return launch < 2000 ? 30000 : 5000;
	if (!strcmp(name, "reverse"))
		return launch + 2000 >= all ? 30000 : 5000;
	if (!strcmp(name, "sawtooth"))
		return 3000 + launch % 6000 * 4.0;
	return launch * 0x9e3779b97f4a7c15ull >> 63 ? 50000 : 5000; /* bimodal */
}

static int loop(const char *name, const char *library)
{
	const kind *found = NULL;
	unsigned launches = 60000;
	bool cupti = library && cupti_load(library) && cupti_on();

	for (unsigned k = 0; k < KINDS; k++)
		if (!strcmp(kinds[k].name, name))
			found = &kinds[k];
	if (!found && strcmp(name, "drift") && strcmp(name, "reverse") &&
	    strcmp(name, "sawtooth") && strcmp(name, "bimodal")) {
		fprintf(stderr, "pair_cost: no program '%s'\n", name);
		return 2;
	}
	for (unsigned i = 0; i < launches; i++) {
		if (found)
			found->give(found->argument);
		else
			give_spin((unsigned long long)length_of(i, launches, name));
		if (i % 100 == 99)
			sample_sync_stream(stream);
	}
	sample_sync_device();
	if (!cupti)
		return 0;
	cupti_off();
	double sum = 0;
	for (const span &s : records)
		sum += (double)(s.end - s.start);
	printf("truth: %s mean=%.2f kernels=%zu\n", name, sum / (double)records.size(),
	       records.size());
	return 0;
}

int main(int argc, char **argv)
{
	unsigned long long *out;
	int driver = 0, pairs_asked = argc > 1 && !strcmp(argv[1], "pairs"),
	        apart_asked = argc > 1 && !strcmp(argv[1], "apart");

	if (!pairs_asked && !apart_asked && !(argc > 2 && !strcmp(argv[1], "loop"))) {
		fprintf(stderr,
		        "usage: pair_cost pairs [LIBCUPTI] | pair_cost apart | pair_cost loop NAME [LIBCUPTI]\n");
		return 2;
	}
	sample_start(1, argv, 0);
	CHECK(cudaDriverGetVersion(&driver));
	printf("driver: %d\n", driver);
	CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	CHECK(cudaEventCreate(&first));
	CHECK(cudaEventCreate(&second));
	memory = sample_malloc<float>(FLOATS);
	out = sample_malloc_pinned<unsigned long long>(2);
	for (int i = 0; i < 3 && pairs_asked; i++) { /* and the clocks go up */
		LAUNCH(clocks, 1, 1, 0, stream, out, 100000000ull);
		sample_sync_device();
	}
	if (pairs_asked && out[1])
		printf("clock: %.0f MHz\n", (double)out[0] * 1e3 / (double)out[1]);
	if (apart_asked)
		return all_apart();
	return pairs_asked ? pairs(argc > 2 ? argv[2] : NULL, ROUNDS)
	                   : loop(argv[2], argc > 3 ? argv[3] : NULL);
}
