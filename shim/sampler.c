#include "shim/sampler.h"

#include <errno.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "shim/lifecycle.h"
#include "shim/notes.h"
#include "shim/options.h"
#include "shim/registry.h"
#include "shim/sampler_context.h"
#include "shim/thread.h"
#include "shim/works.h"

#define STALL_US      8 /* at first; a class whose launch takes longer gets a longer one */
#define STALL_MOST_US 60
#define EAGER         30 /* samples of a class that are worth more than its share */
#define ENOUGH        64 /* samples of a class after which it is sampled less */
#define EAGER_GAIN    8  /* how much oftener it is met until then */
#define GAP_MOST      (1u << 20)
#define CALIBRATE_ONE 8 /* of so many samples is a calibration */
#define UNBUDGETED                                                                                 \
	256 /* samples of the process that need no budget: short programs have some too */
#define WAIT_MOST_NS 1000000u

/* A thread's sampler. Made at its first launch, kept until the process ends. */
struct sampler {
	struct sampler_class classes[SAMPLER_CLASSES];
	struct sampler_context *context; /* current one; NULL: not sampled in */
	uint32_t generation;             /* of the process */
	uint64_t random;
	uint64_t born, spent;     /* ticks: first seen; given to sampling */
	uint64_t last, last_work; /* when the last sample was taken, and how much work there was */
	double gap;               /* pieces of work between samples that the budget allows */
	/* of the sample under way */
	struct sampler_pair *pair;
	struct sampler_class *class;
	struct sampler_context *pair_context;
	bool stalled;
};

static struct spy_line {   /* a line of its own: it is written, and what lies beside it is not */
	uint32_t sections; /* threads that are just giving work of ours to a stream */
	uint32_t unbudgeted;
	char rest[56];
} shared __attribute__((aligned(64)));

/* ---- may we? ---- */

/* Between enter and leave work of ours may go to streams: no capture is under way. */
static bool section_enter(CUstreamCaptureMode *mode)
{
	*mode = CU_STREAM_CAPTURE_MODE_RELAXED;
	/* Sequentially consistent, both: either we see the capture, or it sees us. Pairs with
	 * begin() of notes_capture.c and sampler_capture_begins(). */
	__atomic_fetch_add(&shared.sections, 1, __ATOMIC_SEQ_CST);
	if (!__atomic_load_n(&spy_gate_page.gate.captures, __ATOMIC_SEQ_CST) &&
	    sampler_cu.exchange_mode(mode) == CUDA_SUCCESS)
		return true;
	__atomic_fetch_sub(&shared.sections, 1, __ATOMIC_SEQ_CST);
	return false;
}

static bool section_leave(CUstreamCaptureMode *mode)
{
	bool still = !__atomic_load_n(&spy_gate_page.gate.captures, __ATOMIC_SEQ_CST);

	sampler_cu.exchange_mode(mode);
	__atomic_fetch_sub(&shared.sections, 1, __ATOMIC_SEQ_CST);
	return still;
}

static bool capturing(void)
{
	return __atomic_load_n(&spy_gate_page.gate.captures, __ATOMIC_SEQ_CST) != 0;
}

void sampler_capture_begins(void)
{
	if (!__atomic_load_n(&shared.sections, __ATOMIC_SEQ_CST))
		return;
	uint64_t until = clock_monotonic_ns() + WAIT_MOST_NS;
	while (__atomic_load_n(&shared.sections, __ATOMIC_SEQ_CST) && clock_monotonic_ns() < until)
		sched_yield();
}

uint64_t gpu_key_config(const CUlaunchConfig *config, const void *f)
{
	if (!config)
		return 0;
	for (unsigned i = 0; config->attrs && i < config->numAttrs; i++)
		switch ((int)config->attrs[i].id) {
		case 2:  /* CU_LAUNCH_ATTRIBUTE_COOPERATIVE */
		case 6:  /* ..._PROGRAMMATIC_STREAM_SERIALIZATION */
		case 7:  /* ..._PROGRAMMATIC_EVENT */
		case 12: /* ..._LAUNCH_COMPLETION_EVENT, since CUDA 12.3 */
			return 0;
		}
	return gpu_key_kernel(f, config->gridDimX, config->gridDimY, config->gridDimZ,
	                      config->blockDimX, config->blockDimY, config->blockDimZ,
	                      config->sharedMemBytes);
}

static bool is_captured(const struct spy_span *s, CUstream stream)
{
	CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;

	return sampler_cu.is_capturing[!!(s->flags & TF_PTDS)](stream, &status) == CUDA_SUCCESS &&
	       status != CU_STREAM_CAPTURE_STATUS_NONE;
}

/* Kernels of communication libraries wait for other GPUs: nothing is put ahead of them. */
static bool communicates(const void *function)
{
	const struct tf_header *h = tf_header(&spy_map);
	uint32_t kernel = TF_KERNEL_UNKNOWN, bytes;

	if (!registry_get(HANDLE_FUNCTION, (uintptr_t)function, &kernel))
		return true;
	const struct tf_kernel *k = tf_entry(&spy_map, &h->kernels, kernel, sizeof(*k));
	const struct tf_string *name = k ? tf_at(&spy_map, k->name, sizeof(*name)) : NULL;
	bytes = name ? name->bytes : 0;
	return (bytes >= 4 && !strncmp(name->text, "nccl", 4)) ||
	       (bytes >= 7 && !strncmp(name->text, "nvshmem", 7));
}

/* ---- the thread's sampler ---- */

static struct sampler *make_sampler(void)
{
	struct sampler *m =
	        mmap(NULL, sizeof(*m), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (m == MAP_FAILED)
		return NULL;
	m->born = m->last = spy_clock();
	m->random = (uintptr_t)m ^ m->born * 0x9e3779b97f4a7c15u;
	m->gap = 1;
	return m;
}

/* xorshift64: any sequence that does not beat with the program's loop will do. */
static uint32_t below(struct sampler *m, uint32_t bound)
{
	m->random ^= m->random << 13;
	m->random ^= m->random >> 7;
	m->random ^= m->random << 17;
	return bound ? (uint32_t)((m->random >> 32) * bound >> 32) : 0;
}

/* Pieces of work until a class is due again: the budget's gap, shorter by `gain`, half to one and a
 * half times. */
static uint32_t jitter(struct sampler *m, unsigned gain)
{
	double gap = m->gap / gain;
	uint32_t whole = gap > GAP_MOST ? GAP_MOST : gap < 1 ? 1 : (uint32_t)gap;

	return 1 + whole / 2 + below(m, whole);
}

/* A class that was sampled often is known well: the mean of 64 is off by an eighth of the spread.
 * From there on it is only watched for change, at less than the budget. */
static uint32_t next_gap(struct sampler *m, unsigned samples)
{
	uint32_t gap = jitter(m, samples < EAGER ? EAGER_GAIN : 1);

	return samples < ENOUGH ? gap : samples < 2 * ENOUGH ? gap * 2 : gap * 8;
}

void sampler_context_changed(void)
{
	spy_tls.sampled = NULL;
}

/* The thread met a context anew: is it one we may work in, or can be made one? */
static void enter_context(struct sampler *m, struct spy_span *s, CUstream stream)
{
	CUstreamCaptureMode mode;
	CUcontext current = NULL;

	m->context = NULL;
	if (sampler_cu.get_current(&current) != CUDA_SUCCESS || !current)
		return; /* asked again at the next launch */
	m->context = sampler_context_find((uintptr_t)current);
	if (!m->context && capturing() && is_captured(s, stream))
		return; /* goes into a graph: the context's first launch is still to come */
	spy_tls.sampled = m->classes;
	if (m->context)
		return;
	if (!section_enter(&mode)) {
		sampler_context_refuse((uintptr_t)current);
		return;
	}
	m->context = sampler_context_make((uintptr_t)current, stream, !!(s->flags & TF_PTDS));
	section_leave(&mode);
}

static struct sampler *my_sampler(struct spy_span *s, CUstream stream)
{
	struct spy_tls *t = &spy_tls;

	if (t->sampler && t->sampler->generation != spy_generation)
		t->sampler = NULL; /* the parent's; its memory is left */
	if (!t->sampler) {
		t->sampler = make_sampler();
		if (!t->sampler)
			return NULL;
		t->sampler->generation = spy_generation;
	}
	if (!t->sampled)
		enter_context(t->sampler, s, stream);
	return t->sampler;
}

/* The class's place: one of two neighbours. A class that finds both taken takes one over now and
 * then, so that one met often comes to have its own. */
static struct sampler_class *place(struct sampler *m, uint64_t key)
{
	struct sampler_class *c = &m->classes[key >> 55], *other = &m->classes[(key >> 55) ^ 1];

	if (c->key == key)
		return c;
	if (other->key == key) {
		struct sampler_class swapped = *c;
		*c = *other;
		*other = swapped;
		if (c->until && --c->until)
			return NULL;
		return c;
	}
	if (c->key && !other->key)
		*other = *c;
	else if (c->key && below(m, 4))
		return NULL;
	*c = (struct sampler_class){.key = key, .until = 1, .stall_us = STALL_US};
	return NULL; /* its first launch here */
}

/* ---- what it may cost ---- */

static uint64_t work_of(const struct tf_thread *th)
{
	return th->launches + th->items[SPY_CLASS_LAUNCH] + th->items[SPY_CLASS_GRAPH_LAUNCH] +
	       th->items[SPY_CLASS_COPY] + th->items[SPY_CLASS_SET];
}

static bool affordable(struct sampler *m, uint64_t now)
{
	double allowed = (double)(now - m->born) * spy_options.budget_percent / 100;

	if ((double)m->spent <= allowed)
		return true;
	/* Relaxed: a few more or less do not matter. */
	return __atomic_load_n(&shared.unbudgeted, __ATOMIC_RELAXED) < UNBUDGETED &&
	       __atomic_fetch_add(&shared.unbudgeted, 1, __ATOMIC_RELAXED) < UNBUDGETED;
}

/* Books what a sample took, and sets the gap so that the budget holds at the present rate of work.
 */
static void book(struct sampler *m, uint64_t ticks, uint64_t now)
{
	uint64_t work = work_of(spy_tls.thread);
	double budget = spy_options.budget_percent / 100;

	m->spent += ticks;
	spy_count(&spy_tls.thread->sample_ticks, ticks);
	if (now <= m->last || budget <= 0)
		return;
	double rate = (double)(work - m->last_work) / (double)(now - m->last);
	double gap = (double)ticks / budget * rate;
	m->gap += (gap - m->gap) / 4;
	m->last = now;
	m->last_work = work;
}

/* Our time is no time of the call's: its beginning moves up by it. */
static void take_out(struct spy_span *outer, uint64_t ticks)
{
	outer->rec->start += ticks;
}

/* ---- before the real call ---- */

/* Facts about a kernel, asked once a class, on the thread that is launching it, whose handle is
 * valid. */
static void ask_facts(struct sampler_context *c, const void *function, const struct tf_record *r)
{
	CUfunction f = (CUfunction)function;
	int threads = r->launch.block_x * r->launch.block_y * r->launch.block_z;
	int blocks = 0, registers = 0, shared_bytes = 0;

	if (!threads || sampler_cu.occupancy(&blocks, f, threads, r->launch.shared_bytes) ||
	    sampler_cu.function_attribute(&registers, CU_FUNC_ATTRIBUTE_NUM_REGS, f) ||
	    sampler_cu.function_attribute(&shared_bytes, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, f))
		return;
	struct tf_record facts = *r;
	facts.call = TF_CALL_FACTS;
	facts.end = 0;
	facts.start = (uint64_t)(registers & 0xffff) | (uint64_t)(blocks & 0xffff) << 16 |
	              (uint64_t)(c->warps_per_sm & 0xffff) << 32 |
	              (uint64_t)(shared_bytes < 0xffff ? shared_bytes : 0xffff) << 48;
	span_push_aside(&facts);
}

/* The stream's context must be the one whose events we use. */
static bool is_streams_context(const struct sampler_context *c, CUstream stream)
{
	CUcontext owner = NULL;

	if ((uintptr_t)stream <= 2)
		return true;
	return sampler_cu.stream_context(stream, &owner) == CUDA_SUCCESS &&
	       (uintptr_t)owner == c->handle;
}

/* Queues the first event, or a calibration. True: the work is between our events now. */
static bool open_pair(struct sampler *m, struct spy_span *s, CUstream stream, bool may_stall)
{
	int ptds = !!(s->flags & TF_PTDS);
	struct sampler_context *c = m->context;
	CUresult idle = sampler_cu.stream_query[ptds](stream);
	if (idle != CUDA_SUCCESS && idle != CUDA_ERROR_NOT_READY) {
		sampler_context_give_up(c);
		return false;
	}
	m->stalled = idle == CUDA_SUCCESS;
	if (m->stalled && !may_stall)
		return false;
	if (!below(m, CALIBRATE_ONE)) {
		enum tf_work_kind kind = below(m, 4) ? TF_WORK_NULL : TF_WORK_EMPTY;
		if (!capturing() && !sampler_calibrate(c, stream, ptds, kind, !m->stalled))
			sampler_context_give_up(c);
		return false;
	}
	m->pair = sampler_pair_take(c);
	if (!m->pair) {
		spy_count_trouble(SPY_TROUBLE_SAMPLES_DROPPED);
		return false;
	}
	if (!capturing() && sampler_ahead(c, stream, ptds, m->stalled ? m->class->stall_us : 0) &&
	    !capturing()) {
		if (sampler_cu.record[ptds](m->pair->a, stream) == CUDA_SUCCESS)
			return true;
		sampler_context_give_up(c);
	}
	sampler_pair_return(c, m->pair);
	return false;
}

static void consider(struct sampler *m, struct sampler_class *class, struct spy_span *s,
                     CUstream stream, const void *function)
{
	struct sampler_context *c = m->context;
	CUstreamCaptureMode mode;
	/* Of a launch that the program makes as such: not one inside another kind of call. */
	bool eligible = c && c->on && spy_recording(spy_outer()) &&
	                spy_outer()->class == s->class && !(spy_outer()->unusual & SPAN_NO_ROOM);

	class->until = jitter(m, EAGER_GAIN);
	if (!eligible)
		return;
	if (class->context != c->number) { /* first met in this context: not sampled now */
		class->context = (uint16_t)c->number;
		class->until = 1 + below(m, 3);
		return;
	}
	uint64_t now = spy_clock();
	if (!affordable(m, now) || capturing() || is_captured(s, stream) ||
	    !is_streams_context(c, stream))
		return;
	if (!section_enter(&mode))
		return;
	sampler_harvest(c, 4);
	m->class = class;
	m->pair_context = c;
	bool may_stall = s->class != SPY_CLASS_LAUNCH || (function && !communicates(function));
	if (c->on && open_pair(m, s, stream, may_stall)) {
		s->gpu = 1;
		s->kept[3] = (uintptr_t)function;
	}
	section_leave(&mode);
}

void sampler_before(struct spy_span *s, uint64_t key, CUstream stream, const void *function)
{
	int saved = errno;
	struct spy_span *o = spy_outer();
	uint64_t start = spy_clock();
	struct sampler *m = key ? my_sampler(s, stream) : NULL;
	struct sampler_class *c = m && spy_tls.sampled ? place(m, key) : NULL;

	if (c)
		consider(m, c, s, stream, function);
	if (m && spy_recording(o)) {
		uint64_t now = spy_clock(), ticks = now - start;
		take_out(o, ticks);
		if (s->gpu)
			m->spent += ticks; /* the rest is booked when it is done */
		else if (c)
			book(m, ticks, now);
		if (s->gpu)
			spy_count(&spy_tls.thread->sample_ticks, ticks);
	}
	errno = saved;
}

/* ---- after it ---- */

/* Records the second event; true: the sample holds. */
static bool close_pair(struct sampler *m, struct spy_span *s, CUstream stream)
{
	int ptds = !!(s->flags & TF_PTDS);
	struct sampler_context *c = m->pair_context;
	CUstreamCaptureMode mode;

	if (!c->on || !section_enter(&mode))
		return false;
	bool ok = sampler_cu.record[ptds](m->pair->b, stream) == CUDA_SUCCESS;
	/* Had the first event passed before the second was queued, the host's time would be in
	 * between. */
	CUresult passed = ok ? sampler_cu.event_query(m->pair->a) : CUDA_SUCCESS;
	if (!ok || (passed != CUDA_SUCCESS && passed != CUDA_ERROR_NOT_READY))
		sampler_context_give_up(c);
	ok = ok && passed == CUDA_ERROR_NOT_READY;
	if (!section_leave(&mode))
		ok = false;
	if (!ok) {
		spy_count_trouble(SPY_TROUBLE_SAMPLES_DROPPED);
		if (m->stalled && m->class->stall_us < STALL_MOST_US)
			m->class->stall_us = (uint8_t)(m->class->stall_us * 3 / 2);
	}
	return ok;
}

static void keep_sample(struct sampler *m, struct spy_span *s, struct spy_span *o)
{
	struct tf_record *r = &m->pair->record;

	*r = *o->rec;
	r->call = TF_CALL_SAMPLE;
	r->thread = (uint16_t)work_kind(s->class);
	r->result = m->stalled ? TF_PAIR_IDLE : TF_PAIR_BUSY;
	r->end = 0;
	o->rec->flags |= (uint16_t)(TF_SAMPLED | (m->stalled ? TF_STALLED : 0));
	spy_count(&spy_tls.thread->samples, 1);
	if (s->kept[3] && !m->class->samples)
		ask_facts(m->pair_context, (const void *)(uintptr_t)s->kept[3], o->rec);
	if (m->class->samples < UINT8_MAX)
		m->class->samples++;
	sampler_pair_commit(m->pair_context, m->pair);
}

void sampler_after(struct spy_span *s, CUresult rc, CUstream stream)
{
	int saved = errno;
	struct sampler *m = spy_tls.sampler;
	struct spy_span *o = spy_outer();
	uint64_t start = spy_clock();
	bool known = rc == CUDA_SUCCESS && !(o->rec->flags & (TF_NO_ARGS | TF_CAPTURED));

	if (known && close_pair(m, s, stream))
		keep_sample(m, s, o);
	else
		sampler_pair_return(m->pair_context, m->pair);
	uint64_t now = spy_clock();
	take_out(o, now - start);
	/* A stall also holds up the program's work by its length: that counts as cost as well. */
	book(m, now - start + (m->stalled ? now - start : 0), now);
	m->class->until = next_gap(m, m->class->samples);
	errno = saved;
}

/* ---- life cycle ---- */

/* Tools under which timing means nothing, or our work would be in their way. */
static int is_hostile_tool(struct dl_phdr_info *info, size_t bytes, void *found)
{
	static const char *const names[] = {"libsanitizer-collection", "libcudadebugger",
	                                    "libInterceptorInjection"};

	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (info->dlpi_name && strstr(info->dlpi_name, names[i]))
			*(const char **)found = names[i];
	return *(const char **)found != NULL;
}

static const char *refusal(void)
{
	const char *blocking = getenv("CUDA_LAUNCH_BLOCKING"), *tool = NULL;

	if (blocking && *blocking && strcmp(blocking, "0"))
		return "CUDA_LAUNCH_BLOCKING is set";
	dl_iterate_phdr(is_hostile_tool, &tool);
	if (tool)
		return "the process runs under a debugger or sanitizer";
	if (!sampler_driver_find())
		return "the driver is too old";
	return NULL;
}

enum tf_gpu_mode sampler_start(enum tf_gpu_mode asked)
{
	const char *why = asked == TF_GPU_SAMPLE ? refusal() : NULL;

	if (asked != TF_GPU_SAMPLE)
		return asked;
	if (why) {
		spy_say("GPU time is not sampled: %s", why);
		return TF_GPU_OFF;
	}
	tf_header(&spy_map)->stall_ns = STALL_US * 1000;
	__atomic_store_n(&spy_gate_page.gate.gpu, SPY_GPU_SAMPLE, __ATOMIC_RELEASE);
	return asked;
}

static void harvest_all(struct sampler_context *c)
{
	CUstreamCaptureMode mode;

	if (!section_enter(&mode))
		return;
	sampler_harvest(c, SAMPLER_PAIRS);
	section_leave(&mode);
}

void sampler_finish(void)
{
	if (spy_gate_page.gate.gpu != SPY_GPU_SAMPLE)
		return;
	/* No further samples: what the GPU has not finished by now stays unknown. */
	__atomic_store_n(&spy_gate_page.gate.gpu, SPY_GPU_NONE, __ATOMIC_RELAXED);
	if (spy_tls.thread)
		sampler_contexts_each(harvest_all);
}

void sampler_after_fork(void)
{
	shared.sections = 0;
	spy_tls.sampled = NULL;
	spy_tls.sampler = NULL;
	sampler_contexts_after_fork();
}

void sampler_context_died(uint64_t context)
{
	sampler_context_forget(context);
	sampler_context_changed();
}
