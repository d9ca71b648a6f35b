/* SPDX-License-Identifier: Apache-2.0 */
/*
 * harm_stack WHAT: how much of the caller's stack is used; bare it is the driver's and the
 * loader's. Measured on a stack of the program's own, painted below the frame that calls: what is
 * no longer as painted was used.
 *
 *   first     the process's first calls, up to the first launch
 *   thread    a thread's first call
 *   child     a forked child's first call
 *   growth    launches that make the ring grow
 *   exit      exit(), up to the last of its handlers
 *
 *   handler   nothing is measured: a forked child's first call, in a signal handler, whose stack of
 *             16 KiB ends where nothing is mapped
 */
#include <sys/mman.h>
#include "tests/e2e/programs/harm.h"

#define STACK (192u << 10)
#define PAINT 0x5a

static unsigned char *stack;

/* From here down to the end of the stack, but for this function's own frame. */
static __attribute__((noinline)) unsigned char *paint(void)
{
	unsigned char *top = (unsigned char *)__builtin_frame_address(0) - 256;

	for (volatile unsigned char *p = stack; p < top; p++)
		*p = PAINT;
	return top;
}

static __attribute__((noinline)) long used(const unsigned char *top)
{
	const volatile unsigned char *p = stack;

	while (p < top && *p == PAINT)
		p++;
	return top - p;
}

static void tell(const char *what, long bytes)
{
	say("measure %s %ld\n", what, bytes);
}

static void *first(void *unused)
{
	unsigned char *top = paint();

	work_start();
	work_launches(1);
	tell("first", used(top));
	return unused;
}

static void *thread_first(void *unused)
{
	unsigned char *top = paint();

	CHECK(cuCtxSetCurrent(work_context));
	work_launches(1);
	tell("thread", used(top));
	return unused;
}

static void *child_first(void *unused)
{
	pid_t child = fork();

	if (!child) {
		unsigned char *top = paint();

		calls_of_a_child(1);
		tell("child", used(top));
		_exit(0);
	}
	need(!end_of(child), 94);
	return unused;
}

static void *growth(void *unused)
{
	CHECK(cuCtxSetCurrent(work_context));
	work_launches(1);
	unsigned char *top = paint();
	work_launches(200000);
	tell("growth", used(top));
	return unused;
}

static unsigned char *top_at_exit;

static void last_handler(void)
{
	tell("exit", used(top_at_exit));
}

static void *end_process(void *unused)
{
	CHECK(cuCtxSetCurrent(work_context));
	work_launches(1);
	top_at_exit = paint();
	exit(0);
}

static void call_in_handler(int number)
{
	calls_of_a_child(1);
}

static void *handler(void *unused)
{
	char *base =
	        mmap(NULL, 20 << 10, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const stack_t small = {.ss_sp = base + 4096, .ss_size = 16 << 10};
	pid_t child;

	need(base != MAP_FAILED && !mprotect(base, 4096, PROT_NONE), 92);
	on_signal(SIGUSR1, call_in_handler, SA_ONSTACK);
	child = fork();
	if (!child) {
		need(!sigaltstack(&small, NULL), 92);
		raise(SIGUSR1);
		_exit(0);
	}
	say("child ended with %d\n", end_of(child));
	return unused;
}

static void run(void *(*work)(void *))
{
	pthread_attr_t attr;
	pthread_t thread;

	stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	need(stack != MAP_FAILED, 92);
	pthread_attr_init(&attr);
	need(!pthread_attr_setstack(&attr, stack, STACK), 92);
	need(!pthread_create(&thread, &attr, work, NULL), 93);
	need(!pthread_join(thread, NULL), 93);
}

int main(int argc, char **argv)
{
	const char *what = argv[1];

	if (!strcmp(what, "first")) {
		run(first);
		return 0;
	}
	atexit(last_handler);
	work_start();
	run(!strcmp(what, "thread")    ? thread_first
	    : !strcmp(what, "child")   ? child_first
	    : !strcmp(what, "handler") ? handler
	    : !strcmp(what, "growth")  ? growth
	                               : end_process);
	_exit(0);
}
