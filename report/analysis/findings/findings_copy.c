/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "report/base/alloc.h"
#include "report/analysis/findings/findings_internal.h"
#include "report/analysis/flow/flow.h"
#include "report/base/units.h"
#include "shim/core/cuda/copies.h"

/* ---- pageable memory ---- */

/* By the exact counters: async copies between host and device, and those of pageable memory. */
static struct model_copy pageable(const struct model *m, uint64_t *async)
{
	struct model_copy sum = {0};

	*async = 0;
	for (size_t i = 0; i < m->copy_count; i++) {
		const struct model_copy *c = &m->copies[i];
		if (!c->async || (c->direction != SPY_DIR_HTOD && c->direction != SPY_DIR_DTOH))
			continue;
		*async += c->count;
		if (c->memory != SPY_MEM_PAGEABLE)
			continue;
		sum.count += c->count;
		sum.bytes += c->bytes;
		sum.total += c->total;
	}
	return sum;
}

/* What of the calls' time is waiting is told from this share on. */
#define WAITED_TOLD 0.1
/* A call that copies pageable memory takes no longer for its bytes: a call's 7 to 9 us, and 5 bytes
 * a ns where the host makes the memory's pages for it, both some times as long. */
#define CALL_MOST_NS   50e3
#define BYTES_NS_LEAST 1.0

/*
 * What the call waited for work that the GPU had before it, ns: as the account of its stream says,
 * and what its bytes could not take. Not of copies to the device that the driver makes through its
 * buffers: of pinned memory these would not wait, so that is what pageable memory costs.
 */
static double waits(const struct flow *flow, const struct call_event *a)
{
	double ns = call_event_ns(a), bytes = (double)a->bytes, waited = 0;

	if (a->direction == SPY_DIR_HTOD && !cuda_copy_is_inline(call_event_copy(a)))
		return 0;
	if (a->direction == SPY_DIR_DTOH && a->stream != CALL_LOG_NONE) {
		double lets = flow_lets(flow, a) - a->start;
		waited = isfinite(lets) ? fmin(lets, ns - cuda_staged_least_ns(bytes)) : 0;
	}
	return fmax(0, fmax(waited, ns - CALL_MOST_NS - bytes / BYTES_NS_LEAST));
}

struct pageable_calls { /* API time, ns: all of it, and what of it was waiting */
	double ns, waited;
	double to_host;      /* of what was not, that of copies to the host */
	uint64_t count, all; /* of pageable memory, and of any */
	double bytes;
};

/* Whether most of what pinned memory would save is of copies to the host; of the whole window where
 * no call is held. */
static bool mostly_to_host(const struct model *m, const struct pageable_calls *c)
{
	double bytes[SPY_DIR_COUNT] = {0};

	if (c->ns > c->waited)
		return c->to_host > (c->ns - c->waited) / 2;
	for (size_t i = 0; i < m->copy_count; i++)
		if (m->copies[i].async && m->copies[i].memory == SPY_MEM_PAGEABLE)
			bytes[m->copies[i].direction] += (double)m->copies[i].bytes;
	return bytes[SPY_DIR_DTOH] > bytes[SPY_DIR_HTOD];
}

/* Copies between host and device; of blocking ones those that are no result that is read, and whose
 * bytes are not sent with the call. */
static bool is_such(const struct call_event *a, bool async)
{
	return call_event_is_host_copy(a) && a->async == async &&
	       (async || (!finding_is_read(a) && !cuda_copy_is_inline(call_event_copy(a))));
}

static struct pageable_calls pageable_calls(const struct finding_context *s, bool async)
{
	struct pageable_calls sum = {0};
	struct flow flow;

	flow_start(&flow, s->h, true);
	for (size_t i = 0; i < s->count; i++) {
		const struct call_event *a = &s->call_events[i];
		bool such = is_such(a, async);
		sum.all += such;
		if (such && a->memory == SPY_MEM_PAGEABLE) {
			double waited = waits(&flow, a);
			sum.count++;
			sum.bytes += (double)a->bytes;
			sum.ns += call_event_ns(a);
			sum.waited += waited;
			sum.to_host += a->direction == SPY_DIR_DTOH ? call_event_ns(a) - waited : 0;
		}
		flow_add(&flow, a);
	}
	flow_end(&flow);
	return sum;
}

/* " 98.5 % of that is waiting ...", or nothing (free it). */
static char *waited_text(const struct pageable_calls *c)
{
	char share[UNIT_BYTES];

	if (!(c->waited >= WAITED_TOLD * c->ns))
		return alloc_string("");
	return alloc_format(" Of that %s %% is waiting for work that the GPU had before, which "
	                    "pinned memory does not take away.",
	                    unit_percent(share, c->waited, c->ns));
}

/* Takes the evidence over. `least`: share of the time that is worth telling. */
static bool tell_pageable(const struct finding_context *s, struct finding *f,
                          const struct pageable_calls *c, double whole, double least, char *text)
{
	double used = steady_kernels(s), left = (c->ns - c->waited) / whole;
	/* Where pinning gains something by what a library does around these copies, it is told. */
	bool gains = s->pinned.known && s->pinned.speedup >= 1 + FINDING_MEDIUM &&
	             steady_stake(c->ns / whole, used) >= FINDING_LEAST;

	f->direction = mostly_to_host(s->m, c) ? SPY_DIR_DTOH : SPY_DIR_HTOD;
	f->advice = f->direction == SPY_DIR_DTOH ? "pageable-to-host" : "pageable-async-copy";
	finding_tell(f, steady_stake(left, used), text);
	return f->share >= least || gains;
}

bool detect_pageable_async_copy(const struct finding_context *s, struct finding *f)
{
	char bytes[UNIT_BYTES], share[UNIT_BYTES], time[UNIT_BYTES];
	uint64_t async;
	struct model_copy all = pageable(s->m, &async);
	double whole = s->held;

	if (!all.count)
		return false;
	struct pageable_calls calls = pageable_calls(s, true);
	if (!(whole > 0)) { /* nothing is held of it: the whole window */
		calls = (struct pageable_calls){.ns = all.total};
		whole = s->window;
	}
	if (!(whole > 0))
		return false;
	char *waited = waited_text(&calls);
	char *text = alloc_format(
	        "%llu of %llu asynchronous copies between host and device are of pageable memory, "
	        "%s in all; the host spends %s in these calls, %s %% of its %s.%s",
	        (unsigned long long)all.count, (unsigned long long)async,
	        unit_bytes(bytes, (double)all.bytes), unit_time_apart(time, calls.ns),
	        unit_percent(share, calls.ns, whole), steady_whose(s), waited);
	free(waited);
	return tell_pageable(s, f, &calls, whole, FINDING_LEAST, text);
}

/* A program that copies so says that it waits: it is told where that matters. */
bool detect_pageable_blocking_copy(const struct finding_context *s, struct finding *f)
{
	char bytes[UNIT_BYTES], share[UNIT_BYTES], time[UNIT_BYTES], span[SPAN_BYTES];
	struct pageable_calls calls = pageable_calls(s, false);

	if (!calls.count || !(s->held > 0))
		return false;
	char *waited = waited_text(&calls);
	char *text = alloc_format(
	        "%llu of %llu blocking copies between host and device%s, results of up to 64 KiB "
	        "apart, are of pageable memory, %s in all; the host spends %s in these calls, %s "
	        "%% of its %s.%s",
	        (unsigned long long)calls.count, (unsigned long long)calls.all,
	        steady_span(s, span), unit_bytes(bytes, calls.bytes),
	        unit_time_apart(time, calls.ns), unit_percent(share, calls.ns, s->held),
	        steady_whose(s), waited);
	free(waited);
	return tell_pageable(s, f, &calls, s->held,
	                     s->blamed == VERDICT_COPY ? FINDING_LEAST : FINDING_MEDIUM, text);
}

/* ---- many small ones ---- */

/* Up to this size (bytes) what a copy costs is mostly not its bytes: at 25 GB/s they take 2.6 us.
 */
#define SMALL_COPY 65536u
/* In a row, on average, and so many in all: fewer are not worth packing. */
#define ROW_LEAST   4.0
#define SMALL_LEAST 100u

struct row {           /* of small copies on one stream, nothing between them */
	uint64_t turn; /* it goes on where that is still the turn */
	uint32_t length;
};

struct small {
	uint64_t rows, copies;  /* rows of two and more, and the copies in them */
	double bytes, api, gpu; /* of those behind the first of a row; GPU time where known */
	uint64_t turn;          /* one more with each thing that ends all rows */
	uint8_t direction;      /* of the turn's copies */
};

static bool is_small(const struct call_event *a)
{
	return a->kind == TF_WORK_COPY && a->items == 1 && a->bytes <= SMALL_COPY &&
	       a->stream != CALL_LOG_NONE;
}

static void add_small(struct small *to, struct row *row, const struct call_event *a)
{
	if (row->turn != to->turn) {
		*row = (struct row){to->turn, 1};
		return;
	}
	if (++row->length == 2) {
		to->rows++;
		to->copies++;
	}
	to->copies++;
	to->bytes += (double)a->bytes;
	to->api += call_event_ns(a);
	to->gpu += a->gpu > 0 ? a->gpu : 0;
}

/*
 * What is packed is known, or needed, at one time. So a row ends, whatever its stream and thread,
 * where the program gave other work, which may take what was sent or make what is sent or read
 * next, and where it waited, or may have read what was brought to the host: asked whether it is
 * there, or had it as the copy returned.
 */
static bool ends_rows(const struct small *sum, const struct call_event *a)
{
	if (a->cls == SPY_CLASS_SYNC || flow_is_device_wait(a))
		return true;
	if (a->cls == SPY_CLASS_QUERY)
		return !a->result && sum->direction == SPY_DIR_DTOH;
	return flow_is_work(a) && (!is_small(a) || a->direction != sum->direction);
}

static bool is_there(const struct call_event *a)
{
	return a->direction == SPY_DIR_DTOH && flow_is_blocking(a);
}

static struct small small_copies(const struct finding_context *s)
{
	struct small sum = {.turn = 1};
	struct row *rows = alloc_zeroed(s->h->stream_count + 1, sizeof(*rows));

	for (size_t i = 0; i < s->count; i++) {
		const struct call_event *a = &s->call_events[i];
		sum.turn += ends_rows(&sum, a);
		if (!flow_is_work(a) || !is_small(a))
			continue;
		sum.direction = a->direction;
		add_small(&sum, &rows[a->stream], a);
		sum.turn += is_there(a);
	}
	free(rows);
	return sum;
}

bool detect_many_small_copies(const struct finding_context *s, struct finding *f)
{
	char bytes[UNIT_BYTES], each[UNIT_BYTES], share[UNIT_BYTES], row[UNIT_BYTES];
	char span[SPAN_BYTES];
	struct small sum = small_copies(s);

	if (sum.copies < SMALL_LEAST || !(s->held > 0) ||
	    (double)sum.copies < ROW_LEAST * (double)sum.rows)
		return false;
	double behind = (double)(sum.copies - sum.rows);
	char *text = alloc_format(
	        "%llu copies of %s on average%s came in rows of %s: one direction, one stream, "
	        "no other work and no wait between them. Each takes the host %s; all but the first "
	        "of each row take %s %% of its %s.",
	        (unsigned long long)sum.copies, unit_bytes(bytes, sum.bytes / behind),
	        steady_span(s, span), unit_count(row, (double)sum.copies / (double)sum.rows),
	        unit_time_apart(each, sum.api / behind), unit_percent(share, sum.api, s->held),
	        steady_whose(s));
	return finding_tell(
	        f, steady_stake(finding_share(s, fmax(sum.api, sum.gpu)), steady_kernels(s)), text);
}

/* ---- bandwidth ---- */

/* Copies below this size (bytes) tell nothing of bandwidth: at 25 GB/s they take 2.6 us. */
#define LARGE_COPY 65536.0
/* What a copy may take besides its bytes, ns: copy engines need some 2 us, samples err by more. */
#define COPY_EXTRA 10e3
/* So much longer than at the best bandwidth is far under it. */
#define FAR_UNDER 3.0
/*
 * What pinned memory reaches at least, bytes a ns, where no copy of this run tells: PCIe 3.0 with
 * 16 lanes carries some 12 GB/s. Taken for copies of rows alone, which are known to be slow.
 */
#define USUAL_BANDWIDTH 12.0

struct speed {
	bool *rows;       /* by work: some of its copies are of rows (2D, 3D) */
	uint64_t *steady; /* by work: copies of the steady state */
	double best;      /* bytes a ns; 0 = none */
};

static bool is_large(const struct call_log_work *w)
{
	return w->kind == TF_WORK_COPY && w->memory == SPY_MEM_PINNED &&
	       (w->direction == SPY_DIR_HTOD || w->direction == SPY_DIR_DTOH) &&
	       (double)w->bytes >= LARGE_COPY && w->mean > 0;
}

/* Start-up has copies to compare with as well as the steady state has. */
static void measure(const struct finding_context *s, struct speed *to)
{
	const struct call_log *h = s->h;

	*to = (struct speed){.rows = alloc_zeroed(h->work_count + 1, sizeof(*to->rows)),
	                     .steady = alloc_zeroed(h->work_count + 1, sizeof(*to->steady))};
	for (size_t i = 0; i < h->count; i++) {
		const struct call_event *a = &h->call_events[i];
		if (!call_event_is_host_copy(a) || a->work == CALL_LOG_NONE)
			continue;
		to->rows[a->work] |= a->role == CUDA_ROLE_COPY_ROWS;
		to->steady[a->work] += a >= s->call_events ? a->items : 0;
	}
	for (size_t i = 0; i < h->work_count; i++)
		if (is_large(&h->works[i]) && !to->rows[i])
			to->best = fmax(to->best, (double)h->works[i].bytes / h->works[i].mean);
}

/* ns that the bytes need at the best bandwidth; NaN where there is nothing to compare with. */
static double needed(const struct speed *v, const struct call_log *h, size_t work)
{
	double best = v->best > 0 ? v->best : v->rows[work] ? USUAL_BANDWIDTH : NAN;

	return COPY_EXTRA + (double)h->works[work].bytes / best;
}

bool detect_low_bandwidth_copy(const struct finding_context *s, struct finding *f)
{
	static const char *const names[] = {[SPY_DIR_HTOD] = "HtoD", [SPY_DIR_DTOH] = "DtoH"};
	const struct call_log *h = s->h;
	const struct call_log_work *worst = NULL;
	char bytes[UNIT_BYTES], than[96], span[SPAN_BYTES], rate[UNIT_BYTES];
	double lost = 0, most = 0;
	uint64_t count = 0;
	struct speed v;

	measure(s, &v);
	for (size_t i = 0; i < h->work_count; i++) {
		const struct call_log_work *w = &h->works[i];
		double need = is_large(w) ? needed(&v, h, i) : NAN;
		if (!v.steady[i] || !(w->low > FAR_UNDER * need))
			continue;
		double excess = (w->mean - need) * (double)v.steady[i];
		lost += excess;
		if (excess > most) {
			most = excess;
			worst = w;
			count = v.steady[i];
		}
	}
	free(v.rows);
	free(v.steady);
	if (!worst || !(s->held > 0))
		return false;
	if (v.best > 0)
		snprintf(than, sizeof(than), "the best of this run reach %s GB/s",
		         unit_count(rate, v.best));
	else
		snprintf(
		        than, sizeof(than),
		        "in one piece some %.0f GB/s are usual (this run has none to compare with)",
		        USUAL_BANDWIDTH);
	char *text = alloc_format("%llu %s copies of %s of pinned memory%s reach %s GB/s%s; %s.",
	                          (unsigned long long)count, names[worst->direction],
	                          unit_bytes(bytes, (double)worst->bytes), steady_span(s, span),
	                          unit_count(rate, (double)worst->bytes / worst->mean),
	                          worst->exact ? "" : " (estimated)", than);
	return finding_tell(f, steady_stake(finding_share(s, lost), steady_kernels(s)), text);
}
