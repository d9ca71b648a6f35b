/* SPDX-License-Identifier: Apache-2.0 */
/*
 * harm_signal WAY PLACE ...: signal handlers that call CUDA, run on the stack that they interrupt
 * (PLACE same) or on one of their own above or below it.
 *
 *   start                   a timer's, as often as the kernel will, while CUDA starts
 *   storm PLACE SIGNALS     the same while eight threads, one after another, launch until so many
 *                           have come
 *   kill                    another thread's pthread_kill(), to four threads that launch
 *   inside PLACE            inside each tenth launch
 *   jump PLACE              siglongjmp() out of a wait, then calls from deeper and from shallower
 */
#include <sys/mman.h>
#include "tests/e2e/programs/harm.h"

#define STACK (256ul << 10)

static char *own_stack; /* of handlers; NULL: they run on the thread's */
static char *three;     /* stacks: that of the thread is the one in the middle */

/* ---- threads whose signal stack lies where we want it ---- */

static void handle(int number, void (*handler)(int), const char *place)
{
	three = mmap(NULL, 3 * STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	need(three != MAP_FAILED, 92);
	if (strcmp(place, "same"))
		own_stack = strcmp(place, "above") ? three : three + 2 * STACK;
	on_signal(number, handler, own_stack ? SA_ONSTACK : 0);
}

static void *take_signals(void *work)
{
	const stack_t own = {.ss_sp = own_stack, .ss_size = STACK};
	sigset_t none;

	need(!own_stack || !sigaltstack(&own, NULL), 92);
	sigemptyset(&none);
	pthread_sigmask(SIG_SETMASK, &none, NULL);
	CHECK(cuCtxSetCurrent(work_context));
	return ((void *(*)(void *))work)(NULL);
}

static void take_none(void)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
}

/* The one thread that takes signals runs `work`. */
static void run(void *(*work)(void *))
{
	pthread_attr_t attr;
	pthread_t thread;

	take_none();
	pthread_attr_init(&attr);
	need(!pthread_attr_setstack(&attr, three + STACK, STACK), 92);
	need(!pthread_create(&thread, &attr, take_signals, work), 93);
	need(!pthread_join(thread, NULL), 93);
}

static void launch_one(int number)
{
	int saved = errno;

	CHECK(work_launch(work_short, NULL));
	errno = saved;
}

/* ---- storms ---- */

static volatile sig_atomic_t to_come;
static int storm_signals;

static void launch_another(int number)
{
	to_come--;
	launch_one(number);
}

static void *launch_many(void *unused)
{
	to_come = storm_signals;
	ring_alarm(20, 20);
	while (to_come > 0)
		work_launches(1);
	ring_alarm(0, 0);
	return unused;
}

static int way_storm(int argc, char **argv)
{
	storm_signals = atoi(argv[1]);
	work_start();
	handle(SIGALRM, launch_another, argv[0]);
	for (int i = 0; i < 8; i++)
		run(launch_many);
	say("launched, and launched in handlers\n");
	return 0;
}

/* Nothing to be launched yet: a call that fails. */
static void launch_nothing(int number)
{
	int saved = errno;

	work_launch(NULL, NULL);
	errno = saved;
}

static int way_start(int argc, char **argv)
{
	on_signal(SIGALRM, launch_nothing, 0);
	ring_alarm(20, 20);
	work_start();
	work_launches(1000); /* storms have many */
	ring_alarm(0, 0);
	say("launched\n");
	return 0;
}

static void *launch_targets(void *unused)
{
	sigset_t storm;

	CHECK(cuCtxSetCurrent(work_context));
	sigemptyset(&storm);
	sigaddset(&storm, SIGUSR1);
	pthread_sigmask(SIG_UNBLOCK, &storm, NULL);
	work_launches(20000);
	pthread_sigmask(SIG_BLOCK, &storm, NULL); /* the driver's data of this thread goes first */
	return unused;
}

static int way_kill(int argc, char **argv)
{
	pthread_t thread[4];

	work_start();
	on_signal(SIGUSR1, launch_one, 0);
	take_none();
	start_threads(thread, 4, launch_targets, NULL);
	for (unsigned ended = 0; ended < 4; ended++)
		while (pthread_tryjoin_np(thread[ended], NULL)) {
			for (unsigned i = ended; i < 4; i++)
				pthread_kill(thread[i], SIGUSR1);
			usleep(50);
		}
	say("launched, and launched in handlers\n");
	return 0;
}

/* ---- handlers inside a call ---- */

static void now_and_then(void)
{
	static unsigned calls;

	if (++calls % 10)
		return;
	harm_inside(HARM_LAUNCH, NULL);
	raise(SIGUSR1);
	harm_inside(HARM_LAUNCH, now_and_then);
}

static void *launch_inside(void *unused)
{
	harm_inside(HARM_LAUNCH, now_and_then);
	work_launches(1000);
	harm_inside(HARM_LAUNCH, NULL);
	return unused;
}

static int way_inside(int argc, char **argv)
{
	work_start();
	handle(SIGUSR1, launch_one, argv[0]);
	run(launch_inside);
	say("launched 1000, and 100 in the handler\n");
	return 0;
}

/* ---- out of a call ---- */

static sigjmp_buf back;

static void jump(int number)
{
	siglongjmp(back, 1);
}

static __attribute__((noinline)) void deeper(unsigned frames, void (*last)(void))
{
	volatile char frame[512];

	frame[0] = 1;
	if (frames)
		deeper(frames - 1, last);
	else
		last();
	frame[1] = frame[0];
}

static CUstream waited_for;

static void wait_for_long(void)
{
	cuStreamSynchronize(waited_for);
	need(false, 96);
}

static void launch_some(void)
{
	work_launches(100);
}

static void wait_and_jump(unsigned depth)
{
	CHECK(cuStreamCreate(&waited_for, CU_STREAM_NON_BLOCKING));
	CHECK(work_launch(work_long, waited_for));
	if (!sigsetjmp(back, 1)) {
		ring_alarm(3000, 0);
		deeper(depth, wait_for_long);
	}
}

static void *jump_and_call(void *unused)
{
	wait_and_jump(4);
	launch_some();          /* from a shallower frame than the wait's */
	deeper(8, launch_some); /* from a deeper one */
	deeper(2, launch_some);
	wait_and_jump(0);
	deeper(8, launch_some);
	deeper(16, launch_some);
	launch_some();
	return unused;
}

static int way_jump(int argc, char **argv)
{
	work_start();
	handle(SIGALRM, jump, argv[0]);
	run(jump_and_call);
	say("jumped twice, launched 602\n");
	return 0;
}

int main(int argc, char **argv)
{
	static const struct harm_way ways[] = {
	        {"start", way_start},   {"storm", way_storm}, {"kill", way_kill},
	        {"inside", way_inside}, {"jump", way_jump},   {NULL, NULL},
	};

	return harm_main(ways, argc, argv);
}
