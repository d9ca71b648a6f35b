/* SPDX-License-Identifier: Apache-2.0 */
/*
 * harm_fork WAY ...: children made where it hurts.
 *
 *   inside WHERE THEN   fork() in a signal handler during a wait (WHERE wait), in a host function
 *                       (function), inside a launch (launch). The child calls CUDA and ends there
 *                       (THEN _exit, exit), is replaced (exec), goes back into what it was forked
 *                       out of (back), or calls and goes back (on).
 *   crowd               a child whose eight threads call at once
 *   daemon              forks twice; three threads of the grandchild call at once
 *   init                a child made while another thread is in cuInit; it initialises CUDA itself
 *   starting            children made again and again when another thread has just initialised CUDA
 *   second HOW          a child of _Fork() or a raw clone() (HOW raw); its second thread calls
 * first handler WHEN        the program's own pthread_atfork() handler calls in the child;
 * registered before cuInit, after it, or both vfork               vfork() and exec over and over
 * while threads launch
 */
#include <sys/syscall.h>
#include "tests/e2e/programs/harm.h"

/* ---- inside a call ---- */

static const char *then;
static volatile pid_t child = -1;

static void fork_here(void)
{
	child = fork();
	if (child)
		return;
	harm_inside(HARM_LAUNCH, NULL);
	if (!strcmp(then, "exec")) {
		execl("/proc/self/exe", "harm_fork", "leaf", NULL);
		_exit(97);
	}
	if (!strcmp(then, "back"))
		return;
	calls_of_a_child(5);
	if (!strcmp(then, "_exit"))
		_exit(4);
	if (!strcmp(then, "exit"))
		exit(4);
}

static void fork_in_handler(int number)
{
	fork_here();
}

static void fork_in_function(void *unused)
{
	fork_here();
	if (!child)
		_exit(4);
}

static void wait_for_slow(void)
{
	CUmodule module;
	CUfunction slow;

	CHECK(cuModuleLoadData(&module, "simcuda 1\nkernel slow fixed:20000000\n"));
	CHECK(cuModuleGetFunction(&slow, module, "slow"));
	on_signal(SIGALRM, fork_in_handler, 0);
	while (child < 0) { /* else the wait was over before the signal came */
		CHECK(work_launch(slow, NULL));
		ring_alarm(3000, 0);
		/* A slow machine may be told before it waits: then the child calls this itself. */
		CUresult rc = cuStreamSynchronize(NULL);
		need(!child || rc == CUDA_SUCCESS, 99);
		ring_alarm(0, 0);
	}
}

static int way_inside(int argc, char **argv)
{
	then = argv[1];
	work_start();
	work_launches(10);
	if (!strcmp(argv[0], "wait")) {
		wait_for_slow();
	} else if (!strcmp(argv[0], "function")) {
		CHECK(cuLaunchHostFunc(NULL, fork_in_function, NULL));
		CHECK(cuStreamSynchronize(NULL));
	} else {
		harm_inside(HARM_LAUNCH, fork_here);
		CHECK(work_launch(work_short, NULL));
		harm_inside(HARM_LAUNCH, NULL);
	}
	if (!child) {
		calls_of_a_child(5);
		_exit(4);
	}
	work_launches(10);
	say("child ended with %d\n", end_of(child));
	return 0;
}

static int way_leaf(int argc, char **argv)
{
	work_start();
	work_launches(3);
	return 4;
}

/* ---- children with threads ---- */

static pthread_barrier_t together;

static void *call_often(void *count)
{
	pthread_barrier_wait(&together);
	calls_of_a_child((unsigned)(unsigned long)count);
	return NULL;
}

static void threads_of_a_child(unsigned threads, unsigned long calls)
{
	pthread_t thread[8];

	pthread_barrier_init(&together, NULL, threads);
	start_threads(thread, threads, call_often, (void *)calls);
	join_threads(thread, threads);
}

static int way_crowd(int argc, char **argv)
{
	work_start();
	work_launches(10);
	child = fork();
	if (!child) {
		threads_of_a_child(8, 1000);
		exit(4);
	}
	say("child ended with %d\n", end_of(child));
	work_launches(10);
	return 0;
}

static int way_daemon(int argc, char **argv)
{
	work_start();
	work_launches(10);
	if (fork())
		return 0;
	setsid();
	if (fork())
		_exit(0);
	threads_of_a_child(3, 10000);
	say("the daemon is done\n");
	return 0;
}

static void *call_first(void *unused)
{
	calls_of_a_child(100);
	return unused;
}

static int way_second(int argc, char **argv)
{
	work_start();
	work_launches(10);
	child = strcmp(argv[0], "raw") ? _Fork()
	                               : (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
	if (!child) {
		pthread_t thread;

		harm_forked();
		start_threads(&thread, 1, call_first, NULL);
		join_threads(&thread, 1);
		calls_of_a_child(100);
		_exit(4);
	}
	say("child ended with %d\n", end_of(child));
	work_launches(10);
	return 0;
}

/* ---- while CUDA starts ---- */

static atomic_bool in_init, go_on, left, done;

static void hold(void)
{
	atomic_store(&in_init, true);
	while (!atomic_load(&go_on))
		sched_yield();
}

static void leave(void)
{
	atomic_store(&left, true);
}

static void *initialise(void *unused)
{
	work_start();
	work_launches(100);
	return unused;
}

static int way_init(int argc, char **argv)
{
	pthread_t thread;

	harm_inside(HARM_INIT, hold);
	start_threads(&thread, 1, initialise, NULL);
	while (!atomic_load(&in_init))
		sched_yield();
	child = fork();
	if (!child) {
		harm_inside(HARM_INIT, NULL);
		work_start();
		work_launches(50);
		exit(4);
	}
	atomic_store(&go_on, true);
	join_threads(&thread, 1);
	say("child ended with %d\n", end_of(child));
	return 0;
}

static int way_starting(int argc, char **argv)
{
	pthread_t thread;
	pid_t children[8];
	int status = 0;

	/* CUDA is up in the parent, so that the driver refuses the children. */
	harm_inside(HARM_INIT_LEFT, leave);
	start_threads(&thread, 1, initialise, NULL);
	while (!atomic_load(&left))
		;
	for (int i = 0; i < 8; i++) {
		children[i] = fork();
		if (!children[i]) {
			need(cuInit(0) == CUDA_ERROR_NOT_INITIALIZED, 94);
			calls_of_a_child(5);
			_exit(0);
		}
		usleep(200);
	}
	join_threads(&thread, 1);
	for (int i = 0; i < 8; i++)
		status |= end_of(children[i]);
	say("children ended with %d\n", status);
	return 0;
}

/* ---- handlers of fork ---- */

static void call_in_handler(void)
{
	calls_of_a_child(5);
}

static int way_handler(int argc, char **argv)
{
	if (strcmp(argv[0], "after"))
		pthread_atfork(NULL, NULL, call_in_handler);
	work_start();
	if (strcmp(argv[0], "before"))
		pthread_atfork(NULL, NULL, call_in_handler);
	work_launches(10);
	child = fork();
	if (!child) {
		calls_of_a_child(5);
		exit(4);
	}
	say("child ended with %d\n", end_of(child));
	work_launches(10);
	return 0;
}

/* ---- vfork ---- */

static void *launch_until_done(void *unused)
{
	CHECK(cuCtxSetCurrent(work_context));
	while (!atomic_load(&done))
		work_launches(10);
	return unused;
}

static pid_t run_true(void)
{
	pid_t pid = vfork();

	if (!pid) {
		execl("/bin/true", "true", NULL);
		_exit(97);
	}
	return pid;
}

static int way_vfork(int argc, char **argv)
{
	pthread_t thread[3];
	int status = 0;

	work_start();
	start_threads(thread, 3, launch_until_done, NULL);
	for (int i = 0; i < 15; i++)
		status |= end_of(run_true());
	atomic_store(&done, true);
	join_threads(thread, 3);
	say("children ended with %d\n", status);
	return 0;
}

int main(int argc, char **argv)
{
	static const struct harm_way ways[] = {
	        {"inside", way_inside}, {"leaf", way_leaf},         {"crowd", way_crowd},
	        {"daemon", way_daemon}, {"second", way_second},     {"init", way_init},
	        {"vfork", way_vfork},   {"starting", way_starting}, {"handler", way_handler},
	        {NULL, NULL},
	};

	return harm_main(ways, argc, argv);
}
