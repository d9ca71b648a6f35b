/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/sites/python_internal.h"

#include <string.h>
#include "shim/base/gate.h"
#include "shim/record/span.h"
#include "shim/sites/peek.h"

#define OWNED_BY_C   3   /* frames from here on are the interpreter's own, without code of Python */
#define LINKS_MOST   512 /* frames looked at, those of the interpreter too */
#define CHECK_FRAMES 8   /* of the first stack */

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

void python_after_fork(void)
{
	python_here.pid = sys_getpid();
}

void python_found(const struct python_symbols *symbols)
{
	if (python_state() != TF_PYTHON_NONE)
		return;
	python_here.symbols = *symbols;
	python_here.pid = sys_getpid();
	const struct python_layout *l = python_layout_of(symbols->version);
	if (!l) {
		set_state(TF_PYTHON_UNKNOWN);
		return;
	}
	python_here.layout = *l;
	set_state(TF_PYTHON_FOUND);
}

/* ---- one frame after the other ---- */

/* A thread's way along its frames. */
struct walk {
	const struct python_layout *l;
	uint64_t pid;
	bool direct; /* by plain loads */
	uintptr_t frame;
	const uint8_t *code;
	struct python_frame found;
	uint8_t frame_bytes[PYTHON_FRAME_BYTES] __attribute__((aligned(8)));
	uint8_t code_bytes[PYTHON_CODE_BYTES] __attribute__((aligned(8)));
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

static inline uint64_t stir(uint64_t h, uint64_t word)
{
	h = (h ^ word) * 0x9e3779b97f4a7c15u;
	return h ^ h >> 32;
}

/* What makes a code object another one than any that stood at the same address before. */
static uint64_t identity_of(const struct python_layout *l, uintptr_t code, const uint8_t *bytes)
{
	uint64_t h = stir(code, word_at(bytes, l->code_file));

	h = stir(h, word_at(bytes, l->code_name));
	h = stir(h, word_at(bytes, l->code_lines));
	h = stir(h, half_at(bytes, l->code_first_line));
	if (l->code_units != PYTHON_NONE) /* else the word has no meaning */
		h = stir(h, word_at(bytes, l->object_size));
	return h;
}

/* The thread's innermost frame; 0 = it is not in Python, or nothing may be read. */
static uintptr_t first_frame(struct walk *w)
{
	const struct python_here *here = &python_here;
	const uint8_t *runtime = here->symbols.runtime;
	uint8_t thread_bytes[256] __attribute__((aligned(8)));
	const uint8_t *thread = thread_bytes;
	uintptr_t frame;

	if (*(void *const volatile *)(runtime + w->l->finalizing))
		return 0;
	uintptr_t now = *(uintptr_t const volatile *)(runtime + w->l->interpreters);
	if (here->interpreter && now && now != here->interpreter)
		python_refuse(TF_PYTHON_SEVERAL);
	if (!now || python_state() > TF_PYTHON_READ)
		return 0;
	uintptr_t state = (uintptr_t)here->symbols.this_thread();
	if (!plausible(state))
		return 0;
	if (w->direct)
		thread = (const uint8_t *)state;
	else if (!peek(w->pid, state, thread_bytes, w->l->thread_frame + sizeof(void *)))
		return 0;
	if (word_at(thread, w->l->thread_interpreter) != now)
		return 0;
	frame = word_at(thread, w->l->thread_frame);
	if (w->l->cframe_frame == PYTHON_NONE || !plausible(frame))
		return frame;
	if (w->direct)
		return word_at((const uint8_t *)frame, w->l->cframe_frame);
	return peek(w->pid, frame + w->l->cframe_frame, &frame, sizeof(frame)) ? frame : 0;
}

/* Reads the frame's code object, and the frame outside of it: `w->frame`, 0 = there is none. */
static bool read_on(struct walk *w, const uint8_t *frame, uint8_t *next_bytes)
{
	const struct python_layout *l = w->l;
	uintptr_t next = word_at(frame, l->frame_back), code = word_at(frame, l->frame_code);
	bool more;

	w->frame = plausible(next) ? next : 0;
	if (!plausible(code))
		return false;
	w->found.code = code;
	if (w->direct) {
		w->code = (const uint8_t *)code;
		return true;
	}
	const struct iovec local[2] = {{w->code_bytes, l->code_bytes}, {next_bytes, l->frame_bytes}},
	                   remote[2] = {{(void *)code, l->code_bytes},
	                                {(void *)w->frame, l->frame_bytes}};
	if (!peek_two(w->pid, local, remote, &more))
		return false;
	if (!more)
		w->frame = 0;
	w->code = w->code_bytes;
	return true;
}

/* The place in the code; false: it is none. */
static bool find_at(struct walk *w, const uint8_t *frame)
{
	const struct python_layout *l = w->l;
	int64_t at;

	if (l->at == PYTHON_AT_POINTER) {
		uintptr_t start = w->found.code + l->code_units;
		at = (int64_t)(word_at(frame, l->frame_at) - start);
	} else {
		at = (int32_t)half_at(frame, l->frame_at);
		at *= l->at == PYTHON_AT_UNIT ? 2 : 1;
	}
	w->found.at = at > 0 ? (uint32_t)at : 0;
	return at > -16 && at < 1 << 28;
}

/* Whether there was one; false too where what is there cannot be a frame. */
static void walk_frames(struct walk *w, unsigned most, python_tell *tell, void *context, bool *cut)
{
	const struct python_layout *l = w->l;
	uint8_t copy[PYTHON_FRAME_BYTES] __attribute__((aligned(8)));
	unsigned told = 0;

	w->frame = first_frame(w);
	if (!plausible(w->frame) ||
	    (!w->direct && !peek(w->pid, w->frame, w->frame_bytes, l->frame_bytes)))
		return;
	for (unsigned i = 0; w->frame && i < LINKS_MOST; i++) {
		const uint8_t *frame = (const uint8_t *)w->frame;
		if (!w->direct) {
			memcpy(copy, w->frame_bytes, sizeof(copy));
			frame = copy;
		}
		bool ours = l->frame_owner != PYTHON_NONE && frame[l->frame_owner] >= OWNED_BY_C;
		if (told == most && !ours) {
			*cut = true;
			return;
		}
		if (ours) { /* its code, if any, is of no interest */
			uintptr_t next = word_at(frame, l->frame_back);
			w->frame = plausible(next) ? next : 0;
			if (!w->direct && w->frame &&
			    !peek(w->pid, w->frame, w->frame_bytes, l->frame_bytes))
				return;
			continue;
		}
		if (!read_on(w, frame, w->frame_bytes) || !find_at(w, frame))
			return;
		w->found.identity = identity_of(l, w->found.code, w->code);
		told++;
		if (!tell(context, &w->found))
			return;
	}
	*cut = w->frame != 0;
}

static bool is_first_thread(void)
{
	return spy_tls.thread->tid == tf_header(&spy_map)->pid;
}

void python_walk(unsigned most, python_tell *tell, void *context, bool *cut)
{
	struct walk w;

	*cut = false;
	if (python_state() != TF_PYTHON_READ)
		return;
	w.l = &python_here.layout;
	w.pid = python_here.pid;
	w.direct = is_first_thread();
	walk_frames(&w, most, tell, context, cut);
}

/* ---- the first stack ---- */

/* 3.13 and newer describe themselves at the beginning of _PyRuntime. Places by the word. */
enum { OFFSETS_VERSION = 1,
       OFFSETS_FREE_THREADED,
       OFFSETS_FINALIZING = 4,
       OFFSETS_INTERPRETERS,
       OFFSETS_NEXT = 8,
       OFFSETS_THREAD_INTERPRETER = 22,
       OFFSETS_THREAD_FRAME,
       OFFSETS_FRAME_BACK = 29,
       OFFSETS_FRAME_CODE,
       OFFSETS_FRAME_AT,
       OFFSETS_FRAME_BYTES,
       OFFSETS_FRAME_OWNER,
       OFFSETS_CODE_FILE = 35,
       OFFSETS_CODE_NAME = 37,
       OFFSETS_CODE_LINES,
       OFFSETS_CODE_FIRST_LINE,
       OFFSETS_CODE_UNITS = 43,
       OFFSETS_WORDS };

/* Takes its own word for what it says. */
static enum tf_python take_offsets(struct python_here *here)
{
	struct python_layout *l = &here->layout;
	uint64_t o[OFFSETS_WORDS];

	if (!peek(here->pid, (uintptr_t)here->symbols.runtime, o, sizeof(o)) ||
	    memcmp(o, "xdebugpy", 8) || o[OFFSETS_VERSION] >> 16 != l->version)
		return TF_PYTHON_DOUBT;
	if (o[OFFSETS_FREE_THREADED])
		return TF_PYTHON_FREE_THREADED;
	for (unsigned i = OFFSETS_FINALIZING; i < OFFSETS_WORDS; i++)
		if (i >= OFFSETS_THREAD_INTERPRETER && o[i] >= PYTHON_NONE)
			return TF_PYTHON_DOUBT;
	if (o[OFFSETS_FRAME_BYTES] > PYTHON_FRAME_BYTES || o[OFFSETS_CODE_UNITS] > PYTHON_CODE_BYTES ||
	    o[OFFSETS_THREAD_FRAME] > 200 || o[OFFSETS_FINALIZING] > 1u << 20 ||
	    o[OFFSETS_INTERPRETERS] > 1u << 20 || o[OFFSETS_NEXT] > 1u << 24)
		return TF_PYTHON_DOUBT;
	l->finalizing = (uint32_t)o[OFFSETS_FINALIZING];
	l->interpreters = (uint32_t)o[OFFSETS_INTERPRETERS];
	l->interpreter_next = (uint32_t)o[OFFSETS_NEXT];
	l->thread_interpreter = (uint16_t)o[OFFSETS_THREAD_INTERPRETER];
	l->thread_frame = (uint16_t)o[OFFSETS_THREAD_FRAME];
	l->frame_back = (uint16_t)o[OFFSETS_FRAME_BACK];
	l->frame_code = (uint16_t)o[OFFSETS_FRAME_CODE];
	l->frame_at = (uint16_t)o[OFFSETS_FRAME_AT];
	l->frame_bytes = (uint16_t)o[OFFSETS_FRAME_BYTES];
	l->frame_owner = (uint16_t)o[OFFSETS_FRAME_OWNER];
	l->code_file = (uint16_t)o[OFFSETS_CODE_FILE];
	l->code_name = (uint16_t)o[OFFSETS_CODE_NAME];
	l->code_lines = (uint16_t)o[OFFSETS_CODE_LINES];
	l->code_first_line = (uint16_t)o[OFFSETS_CODE_FIRST_LINE];
	l->code_units = l->code_bytes = (uint16_t)o[OFFSETS_CODE_UNITS];
	return TF_PYTHON_READ;
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
	char byte;
	bool cut;

	if (!peek(here->pid, (uintptr_t)&byte, &byte, 1))
		return TF_PYTHON_NO_PEEK;
	if (here->symbols.version >= 0x30d) {
		enum tf_python taken = take_offsets(here);
		if (taken != TF_PYTHON_READ)
			return taken;
	}
	const struct python_layout *l = &here->layout;
	if (!peek(here->pid, (uintptr_t)runtime + l->interpreters, &interpreter, sizeof(interpreter)))
		return TF_PYTHON_DOUBT;
	if (!interpreter) /* not yet, or no more */
		return TF_PYTHON_FOUND;
	if (!plausible(interpreter) ||
	    !peek(here->pid, interpreter + l->interpreter_next, &next, sizeof(next)))
		return TF_PYTHON_DOUBT;
	if (next)
		return TF_PYTHON_SEVERAL;
	w.l = l;
	w.pid = here->pid;
	w.direct = false;
	walk_frames(&w, PYTHON_FRAMES_MOST, check_frame, &c, &cut);
	if (c.wrong)
		return TF_PYTHON_DOUBT;
	if (c.frames)
		here->interpreter = interpreter;
	return c.frames ? TF_PYTHON_READ : TF_PYTHON_FOUND;
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
