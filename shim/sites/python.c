/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/sites/python_internal.h"

#include <string.h>
#include "shim/base/clock.h"
#include "shim/base/gate.h"
#include "shim/record/span.h"
#include "shim/sites/peek.h"
#include "shim/sites/snapshot.h"

#define OWNED_BY_GENERATOR 1 /* of a frame */
#define OWNED_BY_C         3 /* frames from here on are the interpreter's own, without code of Python */
#define LINKS_MOST         512         /* frames looked at, those of the interpreter too */
#define CHECK_FRAMES       8           /* of the first stack */
#define THREAD_BYTES       200         /* as much of a thread's state as is read */
#define ALONE_NS           1000000000u /* since another thread of Python gave work */

struct python_here python_here;

/* ---- what is known ---- */

enum tf_python python_state(void)
{
	/* Acquire: pairs with the release that says there is one. */
	return (enum tf_python)__atomic_load_n(&python_here.state, __ATOMIC_ACQUIRE);
}

static void set_state(enum tf_python state)
{
	__atomic_store_n(&python_here.state, (uint32_t)state, __ATOMIC_RELEASE);
}

void python_refuse(enum tf_python why)
{
	set_state(why);
}

uint32_t python_version(void)
{
	return python_here.symbols.version;
}

/* The thread that gave work last. Relaxed; who reads it looks at all of it again. */
static struct {
	uintptr_t state; /* 0 = none has */
	const struct tf_thread *thread;
	uint64_t tid;
	uint64_t since; /* ticks: when it took over from another one; 0 = it has been the first */
} giver;

void python_after_fork(void)
{
	python_here.pid = sys_getpid();
	giver.state = 0;
}

/* ---- one frame after the other ---- */

/* A thread's way along its frames. */
struct walk {
	const struct python_layout *l;
	struct snapshot *snapshot; /* NULL: by plain loads */
	uintptr_t frame;
	struct python_frame found;
	uint32_t begins; /* byte at which the function itself begins */
};

static inline uintptr_t word_at(const uint8_t *p, unsigned offset)
{
	uintptr_t v;

	memcpy(&v, p + offset, sizeof(v));
	return v;
}

static inline uint32_t half_at(const uint8_t *p, unsigned offset)
{
	uint32_t v;

	memcpy(&v, p + offset, sizeof(v));
	return v;
}

static inline bool plausible(uintptr_t p)
{
	return p >= 4096 && p < 1ull << 56 && p % 8 == 0;
}

/* Memory of the thread's own; NULL: it is gone. Until the next one. */
static inline const uint8_t *fetch(struct walk *w, uintptr_t at, size_t bytes)
{
	return likely(!w->snapshot) ? (const uint8_t *)at : snapshot_fetch(w->snapshot, at, bytes);
}

/* What makes a code object another one than any that stood at the same address before. */
static inline uint64_t identity_of(const struct python_layout *l, uintptr_t code,
                                   const uint8_t *bytes)
{
	uint64_t h = code * 0x9e3779b97f4a7c15u ^
	             word_at(bytes, l->code_file) * 0xc2b2ae3d27d4eb4fu ^
	             word_at(bytes, l->code_name) * 0xff51afd7ed558ccdu ^
	             word_at(bytes, l->code_lines) * 0x165667b19e3779f9u ^
	             half_at(bytes, l->code_first_line) * 0x85ebca77c2b2ae63u;

	if (l->code_units != PYTHON_NONE) /* else the word has no meaning */
		h ^= word_at(bytes, l->object_size) * 0x27d4eb2f165667c5u;
	return h ^ h >> 32;
}

static inline uint32_t begins_of(const struct python_layout *l, const uint8_t *bytes)
{
	return l->code_begins == PYTHON_NONE ? 0 : half_at(bytes, l->code_begins) * 2;
}

/* The thread's state; 0 = it is not Python's, or nothing may be read. */
static uintptr_t thread_state(const struct python_layout *l)
{
	const struct python_here *here = &python_here;
	const uint8_t *runtime = here->symbols.runtime;

	if (*(void *const volatile *)(runtime + l->finalizing))
		return 0;
	uintptr_t now = *(uintptr_t const volatile *)(runtime + l->interpreters);
	if (here->interpreter && now && now != here->interpreter)
		python_refuse(TF_PYTHON_SEVERAL);
	if (!now || python_state() > TF_PYTHON_READ)
		return 0;
	uintptr_t state = (uintptr_t)here->symbols.this_thread();
	return plausible(state) ? state : 0;
}

/* Its innermost frame; 0 = it is not in Python. */
static uintptr_t first_frame(struct walk *w, uintptr_t state)
{
	const struct python_layout *l = w->l;
	const uint8_t *thread = fetch(w, state, l->thread_frame + sizeof(void *));

	if (!thread)
		return 0;
	uintptr_t interpreter = word_at(thread, l->thread_interpreter),
	          frame = word_at(thread, l->thread_frame);
	if (python_here.interpreter && interpreter != python_here.interpreter)
		return 0;
	if (l->cframe_frame == PYTHON_NONE || !plausible(frame))
		return frame;
	const uint8_t *at = fetch(w, frame + l->cframe_frame, sizeof(frame));
	return at ? word_at(at, 0) : 0;
}

/* The code object of the frame; false: it is gone. */
static bool find_code(struct walk *w, uintptr_t code, uintptr_t function)
{
	struct snapshot_code found;

	w->found.code = code;
	if (!plausible(code))
		return false;
	if (likely(!w->snapshot)) {
		w->found.identity = identity_of(w->l, code, (const uint8_t *)code);
		w->begins = begins_of(w->l, (const uint8_t *)code);
		return true;
	}
	if (!snapshot_code(w->snapshot, code, function, &found)) {
		const uint8_t *bytes = snapshot_code_bytes(w->snapshot, code, w->l->code_bytes);
		if (!bytes)
			return false;
		found.identity = identity_of(w->l, code, bytes);
		found.begins = begins_of(w->l, bytes);
		snapshot_tell_code(w->snapshot, code, function, &found);
	}
	w->found.identity = found.identity;
	w->begins = found.begins;
	return true;
}

/* The place in the code; false: it is none. `at`: what the frame says of it. */
static inline bool find_at(struct walk *w, uintptr_t code, uintptr_t said)
{
	int64_t at;

	if (w->l->at == PYTHON_AT_POINTER)
		at = (int64_t)(said - code - w->l->code_units);
	else
		at = (int64_t)(int32_t)said * (w->l->at == PYTHON_AT_UNIT ? 2 : 1);
	w->found.at = at > 0 ? (uint32_t)at : 0;
	return at > -16 && at < 1 << 28;
}

static inline __attribute__((always_inline)) bool walk_frames(struct walk *w, uintptr_t state,
                                                              unsigned most, python_tell *tell,
                                                              void *context, bool *cut)
{
	const struct python_layout *l = w->l;
	unsigned told = 0;

	w->frame = first_frame(w, state);
	for (unsigned i = 0; plausible(w->frame) && i < LINKS_MOST; i++) {
		const uint8_t *frame = fetch(w, w->frame, l->frame_bytes);
		if (!frame)
			return false;
		w->frame = word_at(frame, l->frame_back);
		unsigned owner = l->frame_owner != PYTHON_NONE ? frame[l->frame_owner] : 0;
		if (owner >= OWNED_BY_C)
			continue; /* its code, if any, is of no interest */
		uintptr_t code = word_at(frame, l->frame_code) & ~(uintptr_t)l->code_tag,
		          said = l->at == PYTHON_AT_POINTER ? word_at(frame, l->frame_at)
		                                            : half_at(frame, l->frame_at);
		uintptr_t function =
		        l->frame_function != PYTHON_NONE ? word_at(frame, l->frame_function) : 0;
		if (!find_code(w, code, function) || !find_at(w, code, said))
			return false;
		if (w->found.at < w->begins && owner != OWNED_BY_GENERATOR)
			continue; /* the interpreter's own as well, or not in the function yet */
		if (told++ == most)
			break;
		if (!tell(context, &w->found))
			return false;
	}
	*cut = told > most || plausible(w->frame);
	return true;
}

static bool is_first_thread(void)
{
	return spy_tls.thread->tid == tf_header(&spy_map)->pid;
}

bool python_walk(unsigned most, python_tell *tell, void *context, bool *cut)
{
	struct walk w = {.l = &python_here.layout};

	*cut = false;
	uintptr_t state = python_state() == TF_PYTHON_READ ? thread_state(w.l) : 0;
	if (!state)
		return true; /* none that anybody could read */
	if (likely(is_first_thread()))
		return walk_frames(&w, state, most, tell, context, cut);
	w.snapshot = snapshot_take(python_here.pid, state);
	if (!w.snapshot)
		return false;
	bool whole = walk_frames(&w, state, most, tell, context, cut);
	snapshot_give(w.snapshot);
	return whole;
}

void python_gives(void)
{
	uintptr_t state = python_state() == TF_PYTHON_READ ? thread_state(&python_here.layout) : 0,
	          was = __atomic_load_n(&giver.state, __ATOMIC_RELAXED);
	const struct tf_thread *thread = spy_tls.thread;

	if (!state ||
	    (state == was && __atomic_load_n(&giver.tid, __ATOMIC_RELAXED) == thread->tid))
		return;
	__atomic_store_n(&giver.state, 0, __ATOMIC_RELAXED); /* who walks gives up */
	__atomic_store_n(&giver.since, was ? spy_clock() : 0, __ATOMIC_RELAXED);
	__atomic_store_n(&giver.thread, thread, __ATOMIC_RELAXED);
	__atomic_store_n(&giver.tid, thread->tid, __ATOMIC_RELAXED);
	/* Release: pairs with giver_now(). */
	__atomic_store_n(&giver.state, state, __ATOMIC_RELEASE);
}

/* The state of the one thread that has given work for a while, and lives; else 0: of two it is not
 * known for which another thread works. */
static uintptr_t giver_now(void)
{
	uintptr_t state = __atomic_load_n(&giver.state, __ATOMIC_ACQUIRE);
	const struct tf_thread *thread = __atomic_load_n(&giver.thread, __ATOMIC_RELAXED);
	uint64_t since = __atomic_load_n(&giver.since, __ATOMIC_RELAXED), now = spy_clock();

	if (!state || __atomic_load_n(&thread->death, __ATOMIC_RELAXED) ||
	    __atomic_load_n(&thread->tid, __ATOMIC_RELAXED) !=
	            __atomic_load_n(&giver.tid, __ATOMIC_RELAXED))
		return 0;
	return !since || (now > since && clock_ns_of(now - since) > ALONE_NS) ? state : 0;
}

bool python_walk_giver(unsigned most, python_tell *tell, void *context, bool *cut)
{
	struct walk w = {.l = &python_here.layout};

	*cut = false;
	if (python_state() != TF_PYTHON_READ ||
	    *(void *const volatile *)(python_here.symbols.runtime + w.l->finalizing))
		return false;
	uintptr_t state = giver_now();
	w.snapshot = state ? snapshot_take(python_here.pid, state) : NULL;
	if (!w.snapshot)
		return false;
	bool whole = walk_frames(&w, state, most, tell, context, cut);
	snapshot_give(w.snapshot);
	return whole && giver_now() == state;
}

/* ---- the first stack ---- */

#define OFFSETS_VERSION 1u /* word; the ones behind it are in struct python_words */
#define OFFSETS_WORDS   64u

/* One offset, as Python itself says it; false: it cannot be. */
static bool take_offset(const uint64_t *said, unsigned word, uint64_t most, void *to, size_t bytes)
{
	uint64_t v = said[word % OFFSETS_WORDS];

	memcpy(to, &v, bytes); /* little-endian, as all machines are that this runs on */
	return v <= most;
}

/* Takes its own word for what it says. */
static enum tf_python take_offsets(struct python_here *here)
{
	struct python_layout *l = &here->layout;
	const struct python_words *w = &l->words;
	uint64_t o[OFFSETS_WORDS];
	bool good = true;

	if (!peek(here->pid, (uintptr_t)here->symbols.runtime, o, sizeof(o)) ||
	    memcmp(o, "xdebugpy", 8) || o[OFFSETS_VERSION] >> 16 != l->version)
		return TF_PYTHON_DOUBT;
	if (o[w->free_threaded])
		return TF_PYTHON_FREE_THREADED;
#define TAKE(field, most) good &= take_offset(o, w->field, most, &l->field, sizeof(l->field));
	TAKE(finalizing, 1u << 20)
	TAKE(interpreters, 1u << 20)
	TAKE(interpreter_next, 1u << 24)
	TAKE(thread_interpreter, THREAD_BYTES)
	TAKE(thread_frame, THREAD_BYTES)
	TAKE(frame_back, PYTHON_FRAME_BYTES - 8)
	TAKE(frame_code, PYTHON_FRAME_BYTES - 8)
	TAKE(frame_at, PYTHON_FRAME_BYTES - 8)
	TAKE(frame_owner, PYTHON_FRAME_BYTES - 1)
	TAKE(frame_bytes, PYTHON_FRAME_BYTES)
	TAKE(code_file, PYTHON_CODE_BYTES - 8)
	TAKE(code_name, PYTHON_CODE_BYTES - 8)
	TAKE(code_lines, PYTHON_CODE_BYTES - 8)
	TAKE(code_first_line, PYTHON_CODE_BYTES - 8)
	TAKE(code_units, PYTHON_CODE_BYTES)
#undef TAKE
	l->code_bytes = l->code_units;
	return good && l->finalizing && l->interpreters && l->thread_frame && l->frame_bytes &&
	                       l->code_file && l->code_units
	               ? TF_PYTHON_FOUND
	               : TF_PYTHON_DOUBT;
}

/* What a version that is known says of itself. */
static enum tf_python look_at(struct python_here *here)
{
	char byte = 0;

	if (!peek(here->pid, (uintptr_t)&byte, &byte, 1))
		return TF_PYTHON_NO_PEEK;
	if (here->symbols.version < 0x30d)
		return TF_PYTHON_FOUND;
	return take_offsets(here);
}

void python_found(const struct python_symbols *symbols)
{
	struct python_here *here = &python_here;

	if (python_state() != TF_PYTHON_NONE)
		return;
	here->symbols = *symbols;
	here->pid = sys_getpid();
	const struct python_layout *l = python_layout_of(symbols->version);
	if (l)
		here->layout = *l;
	set_state(l ? look_at(here) : TF_PYTHON_UNKNOWN);
}

struct check {
	unsigned frames, wrong;
};

static bool check_frame(void *context, const struct python_frame *frame)
{
	struct check *c = context;

	c->frames++;
	c->wrong += !python_is_code(frame->code, frame->at);
	return c->frames < CHECK_FRAMES;
}

/* TF_PYTHON_FOUND: this thread is not in Python, another one may be. */
static enum tf_python check(struct python_here *here)
{
	const uint8_t *runtime = here->symbols.runtime;
	uintptr_t interpreter, next;
	struct check c = {0};
	struct walk w;
	bool cut;

	const struct python_layout *l = &here->layout;
	if (!peek(here->pid, (uintptr_t)runtime + l->interpreters, &interpreter,
	          sizeof(interpreter)))
		return TF_PYTHON_DOUBT;
	if (!interpreter) /* not yet, or no more */
		return TF_PYTHON_FOUND;
	if (!plausible(interpreter) ||
	    !peek(here->pid, interpreter + l->interpreter_next, &next, sizeof(next)))
		return TF_PYTHON_DOUBT;
	if (next)
		return TF_PYTHON_SEVERAL;
	w.l = l;
	uintptr_t state = thread_state(l);
	w.snapshot = state ? snapshot_take(here->pid, state) : NULL;
	if (!w.snapshot) /* the next one */
		return TF_PYTHON_FOUND;
	walk_frames(&w, state, PYTHON_FRAMES_MOST, check_frame, &c, &cut);
	snapshot_give(w.snapshot);
	if (c.wrong)
		return TF_PYTHON_DOUBT;
	if (c.frames)
		here->interpreter = interpreter;
	return c.frames ? TF_PYTHON_READ : TF_PYTHON_FOUND;
}

bool python_wants_check(void)
{
	static uint32_t asked; /* relaxed: about */

	if (python_state() != TF_PYTHON_FOUND || !thread_state(&python_here.layout))
		return false;
	uint32_t n = __atomic_fetch_add(&asked, 1, __ATOMIC_RELAXED);
	return n < 64 || !(n & (n - 1));
}

bool python_ready(void)
{
	if (python_state() == TF_PYTHON_FOUND) {
		spy_lock();
		enum tf_python now = python_state();
		if (now == TF_PYTHON_FOUND) {
			now = check(&python_here);
			set_state(now);
		}
		spy_unlock();
	}
	return python_state() == TF_PYTHON_READ;
}
