/* SPDX-License-Identifier: Apache-2.0 */
/*
 * harm_step CALL ACTION PLACE FROM EVERY: a signal at every instruction of the recorder at which
 * one can come. A thread makes CALL one instruction at a time; at the first of the recorder's the
 * handler does ACTION; another thread does the same at the second, and so on until CALL has no
 * more: or at number FROM, and at each EVERY'th behind it. Bare it is made once. x86-64 only.
 *
 *   CALL    attach: a thread's first call at all; first: its first launch; again: a later one;
 *           growth: one at which its ring grows; copy, alloc, wait, event: others
 *   ACTION  launch: the same function; other: one that a thread keeps in the same place; call: the
 *           same call; many: launches that make the ring grow; jump: siglongjmp() out of the call
 *   PLACE   of the handler's stack: same, above, below, as in harm_signal
 */
#include <link.h>
#include <stdint.h>
#include <sys/mman.h>
#include <ucontext.h>
#include "tests/e2e/programs/harm.h"

#define STACK     (256ul << 10)
#define TRAP_FLAG 0x100 /* of the processor: a trap after the next instruction */

static struct {
	uintptr_t from, until; /* the recorder's code; 0: it is not there */
	unsigned at;           /* act at this instruction */
	unsigned met;          /* so many so far */
} step;

static CUfunction other; /* see find_other() */
static CUdeviceptr memory;
static CUevent event;
static void (*call)(void), (*act)(void), (*prepare)(void);
static char *stacks, *own_stack; /* of the handler; NULL: it runs on the thread's */
static sigjmp_buf back;

/* ---- calls and actions ---- */

static void set_current(void)
{
	CHECK(cuCtxSetCurrent(work_context));
}

static void launch(void)
{
	CHECK(work_launch(work_short, NULL));
}

static void launch_other(void)
{
	CHECK(work_launch(other, NULL));
}

static void launch_many(void)
{
	work_launches(600);
}

static void copy(void)
{
	static char host[64];

	CHECK(cuMemcpyHtoD(memory, host, sizeof(host)));
}

static void allocate(void)
{
	CUdeviceptr more;

	CHECK(cuMemAlloc(&more, 64));
	CHECK(cuMemFree(more));
}

static void wait_for_all(void)
{
	CHECK(cuStreamSynchronize(NULL));
}

static void record(void)
{
	CHECK(cuEventRecord(event, NULL));
}

static void jump(void)
{
	siglongjmp(back, 1);
}

static void nothing(void)
{
}

static void prepare_again(void)
{
	set_current();
	work_launches(2);
}

static void prepare_growth(void)
{
	set_current();
	work_launches(255); /* half of the first ring, with the call above */
}

static const struct {
	const char *name;
	void (*prepare)(void), (*call)(void);
} calls[] = {
        {"attach", nothing, set_current},
        {"first", set_current, launch},
        {"again", prepare_again, launch},
        {"growth", prepare_growth, launch},
        {"copy", set_current, copy},
        {"alloc", set_current, allocate},
        {"wait", set_current, wait_for_all},
        {"event", set_current, record},
        {NULL, NULL, NULL},
};

static void choose(const char *what, const char *how)
{
	static const struct {
		const char *name;
		void (*act)(void);
	} actions[] = {
	        {"launch", launch}, {"other", launch_other}, {"many", launch_many},
	        {"call", NULL},     {"jump", jump},
	};

	for (unsigned i = 0; calls[i].name; i++)
		if (!strcmp(calls[i].name, what)) {
			prepare = calls[i].prepare;
			call = calls[i].call;
		}
	need(call != NULL, 90);
	for (unsigned i = 0; i < sizeof(actions) / sizeof(actions[0]); i++)
		if (!strcmp(actions[i].name, how))
			act = actions[i].act ? actions[i].act : call;
	need(act != NULL, 90);
}

/* A function whose handle falls into the same place of eight as that of the one that is launched:
 * span.h, launch_known(). */
static void find_other(void)
{
	static const char image[] = "simcuda 1\nkernel other_work fixed:500\n";
	uintptr_t f = (uintptr_t)work_short, g;

	do {
		CUmodule module;
		CHECK(cuModuleLoadData(&module, image));
		CHECK(cuModuleGetFunction(&other, module, "other_work"));
		g = (uintptr_t)other;
	} while (((f >> 5 ^ f >> 10) ^ (g >> 5 ^ g >> 10)) % 8);
}

/* ---- one instruction at a time ---- */

static int find_recorder(struct dl_phdr_info *info, size_t size, void *unused)
{
#if defined(__x86_64__)
	if (!strstr(info->dlpi_name, "libcudaspy"))
		return 0;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		if (p->p_type == PT_LOAD && (p->p_flags & PF_X)) {
			step.from = info->dlpi_addr + p->p_vaddr;
			step.until = step.from + p->p_memsz;
		}
	}
	return 1;
#else
	return 0;
#endif
}

static void on_step(int number, siginfo_t *info, void *context)
{
#if defined(__x86_64__)
	ucontext_t *c = context;
	uintptr_t pc = (uintptr_t)c->uc_mcontext.gregs[REG_RIP];
	int saved = errno;

	if (info->si_code <= 0) { /* raised: begin, or stop */
		c->uc_mcontext.gregs[REG_EFL] ^= TRAP_FLAG;
		return;
	}
	if (pc < step.from || pc >= step.until || sigismember(&c->uc_sigmask, SIGALRM))
		return;
	if (step.met++ < step.at)
		return;
	c->uc_mcontext.gregs[REG_EFL] &= ~(greg_t)TRAP_FLAG;
	act();
	errno = saved;
#endif
}

static void *make_call(void *unused)
{
	const stack_t own = {.ss_sp = own_stack, .ss_size = STACK};

	need(!own_stack || !sigaltstack(&own, NULL), 92);
	prepare();
	step.met = 0;
	if (!sigsetjmp(back, 1)) {
		if (step.from)
			raise(SIGTRAP);
		call();
		if (step.from && step.met <= step.at)
			raise(SIGTRAP);
	}
	set_current(); /* which a jump may have left out */
	launch();
	return NULL;
}

static void run(void)
{
	pthread_attr_t attr;
	pthread_t thread;

	pthread_attr_init(&attr);
	need(!pthread_attr_setstack(&attr, stacks + STACK, STACK), 92);
	need(!pthread_create(&thread, &attr, make_call, NULL), 93);
	need(!pthread_join(thread, NULL), 93);
	pthread_attr_destroy(&attr);
}

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO};

	need(argc == 6, 90);
	step.at = (unsigned)atoi(argv[4]);
	unsigned every = (unsigned)atoi(argv[5]);
	stacks = mmap(NULL, 3 * STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	need(stacks != MAP_FAILED, 92);
	if (strcmp(argv[3], "same")) {
		own_stack = strcmp(argv[3], "above") ? stacks : stacks + 2 * STACK;
		action.sa_flags |= SA_ONSTACK;
	}
	choose(argv[1], argv[2]);
	need(!sigaction(SIGTRAP, &action, NULL), 92);
	work_start();
	CHECK(cuMemAlloc(&memory, 4096));
	CHECK(cuEventCreate(&event, CU_EVENT_DEFAULT));
	find_other();
	dl_iterate_phdr(find_recorder, NULL);
	for (run(); step.from && step.met > step.at; run())
		step.at += every;
	say("measure instructions %u\nlaunched\n", step.met);
	return 0;
}
