/* SPDX-License-Identifier: Apache-2.0 */
/*
 * harm_state WAY ...: what belongs to the process or to one of its threads, and a library's own
 * threads and writes must leave alone.
 *
 *   traps [early]  invalid operations, divisions by zero and overflows trap, as gfortran has it
 *   flags          which floating-point exceptions each call of CUDA leaves behind
 *   sent SIGNAL    blocked in all threads, sent to the process, and waited for
 *   handled SIGNAL blocked in all threads but one, whose handler is to run
 *   pending SIGNAL sent to the process again and again, while threads come and go
 *   last HOW       main and all threads end by pthread_exit; full: no descriptor is free; closed:
 *                  nothing can be opened; signals, control, much: a handler of exit shows what is
 *                  blocked, its rounding and name, or needs 2 MiB of stack
 *   last call      main leaves by the system call, the other thread by its end
 *   forked         the same in a child that the system call made, of which the C library counts the
 *                  parent's threads
 *   stack          threads are to have 16 KiB of stack
 *   bus            a handler of SIGBUS needs more stack than the alternate one has
 *   refused CALL   statx or fcntl is refused: are descriptors left open?
 */
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include "tests/e2e/programs/harm.h"

static void *launch(void *launches)
{
	CHECK(cuCtxSetCurrent(work_context));
	work_launches((unsigned)(uintptr_t)launches);
	return NULL;
}

static void threads(unsigned count, uintptr_t launches)
{
	pthread_t thread[16];

	for (unsigned i = 0; i < count; i++)
		need(!pthread_create(&thread[i], NULL, launch, (void *)launches), 92);
	for (unsigned i = 0; i < count; i++)
		pthread_join(thread[i], NULL);
}

/* ---- floating point ---- */

#if defined(__x86_64__)
#define MXCSR_FLAGS    0x3fu
#define MXCSR_TRAPS    0x680u /* the masks of invalid, zero divide, overflow */
#define MXCSR_UPWARD   0x4000u
#define MXCSR_ROUNDING 0x6000u

static unsigned mxcsr(void)
{
	unsigned now;

	__asm__ volatile("stmxcsr %0" : "=m"(now));
	return now;
}

static void set_mxcsr(unsigned to)
{
	__asm__ volatile("ldmxcsr %0" ::"m"(to));
}
#else /* no traps there that could be asked for */
#define MXCSR_FLAGS    0u
#define MXCSR_TRAPS    0u
#define MXCSR_UPWARD   0u
#define MXCSR_ROUNDING 0u
static unsigned mxcsr(void)
{
	return 0;
}
static void set_mxcsr(unsigned to)
{
	(void)to;
}
#endif

static int way_traps(int argc, char **argv)
{
	CUdeviceptr p;
	char bytes[100] = "";

	if (argc)
		set_mxcsr(mxcsr() & ~MXCSR_TRAPS);
	work_start();
	set_mxcsr(mxcsr() & ~MXCSR_TRAPS);
	CHECK(cuMemAlloc(&p, sizeof(bytes)));
	for (int i = 0; i < 3; i++) {
		threads(4, 3000);
		CHECK(cuMemcpyHtoD(p, bytes, sizeof(bytes)));
		CHECK(cuMemcpyDtoH(bytes, p, sizeof(bytes)));
		CHECK(cuCtxSynchronize());
		usleep(30000); /* rounds of the collector */
	}
	say("traps %x\n", mxcsr() & MXCSR_TRAPS);
	return 3;
}

static void *flags_of_first(void *unused)
{
	set_mxcsr(mxcsr() & ~MXCSR_FLAGS);
	CHECK(cuCtxSetCurrent(work_context));
	work_launches(1);
	return (void *)(uintptr_t)(mxcsr() & MXCSR_FLAGS);
}

static int way_flags(int argc, char **argv)
{
	unsigned raised = 0;
	pthread_t thread;
	void *of_thread;
	CUdeviceptr p;

	work_start();
	usleep(20000); /* the clock's rate is known from then on */
	for (int i = 0; i < 3000; i++) {
		set_mxcsr(mxcsr() & ~MXCSR_FLAGS);
		work_launches(1);
		if (i % 50 == 0) {
			CHECK(cuMemAlloc(&p, 100));
			CHECK(cuCtxSynchronize());
			CHECK(cuMemFree(p));
		}
		raised |= mxcsr() & MXCSR_FLAGS;
	}
	for (int i = 0; i < 10; i++) {
		need(!pthread_create(&thread, NULL, flags_of_first, NULL), 92);
		pthread_join(thread, &of_thread);
		raised |= (unsigned)(uintptr_t)of_thread;
	}
	say("raised %x\n", raised);
	return 3;
}

/* ---- signals ---- */

static int way_sent(int argc, char **argv)
{
	const struct timespec most = {.tv_sec = 10};
	int number = atoi(argv[0]);
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, NULL);
	work_start();
	work_launches(100);
	usleep(20000);
	need(!kill(getpid(), number), 92);
	usleep(20000);
	say("got %d\n", sigtimedwait(&all, NULL, &most));
	return 3;
}

static atomic_int handled_by, handled;

static void note_thread(int number)
{
	atomic_store(&handled_by, (int)syscall(SYS_gettid));
	atomic_fetch_add(&handled, 1);
}

static void *open_to_signals(void *unused)
{
	sigset_t none;

	sigemptyset(&none);
	pthread_sigmask(SIG_SETMASK, &none, NULL);
	while (!atomic_load(&handled_by))
		usleep(500);
	return (void *)(uintptr_t)syscall(SYS_gettid);
}

static int way_handled(int argc, char **argv)
{
	struct sigaction action = {.sa_handler = note_thread};
	int number = atoi(argv[0]), elsewhere = 0;
	pthread_t thread;
	sigset_t all;
	void *tid;

	work_start();
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, NULL);
	sigaction(number, &action, NULL);
	work_launches(10);
	for (int i = 0; i < 30; i++) {
		atomic_store(&handled_by, 0);
		need(!pthread_create(&thread, NULL, open_to_signals, NULL), 92);
		usleep(1000);
		need(!kill(getpid(), number), 92);
		pthread_join(thread, &tid);
		elsewhere += (uintptr_t)tid != (uintptr_t)atomic_load(&handled_by);
	}
	say("handled elsewhere %d\n", elsewhere);
	return 3;
}

static atomic_bool done;

static void *send_again(void *number)
{
	int lost = 0;

	for (int sent = 0; !atomic_load(&done); sent++) {
		int before = atomic_load(&handled);
		need(!kill(getpid(), (int)(uintptr_t)number), 92);
		for (time_t end = time(NULL) + 20;
		     atomic_load(&handled) == before && time(NULL) < end;)
			usleep(100);
		lost += atomic_load(&handled) == before;
	}
	return (void *)(uintptr_t)lost;
}

static int way_pending(int argc, char **argv)
{
	struct sigaction action = {.sa_handler = note_thread, .sa_flags = SA_RESTART};
	uintptr_t number = (uintptr_t)atoi(argv[0]);
	pthread_t sender;
	void *lost;

	sigaction((int)number, &action, NULL);
	work_start();
	need(!pthread_create(&sender, NULL, send_again, (void *)number), 92);
	for (int i = 0; i < 10; i++)
		threads(16, 2000);
	atomic_store(&done, true);
	pthread_join(sender, &lost);
	say("lost %d\n", (int)(uintptr_t)lost);
	return 3;
}

/* ---- the last thread ---- */

static void refuse(unsigned call, unsigned error)
{
	struct sock_filter filter[] = {
	        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
	        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
	        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = {sizeof(filter) / sizeof(filter[0]), filter};

	need(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 92);
	need(!syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program),
	     92);
}

static void *launch_slowly(void *unused)
{
	CHECK(cuCtxSetCurrent(work_context));
	for (int i = 0; i < 20; i++) {
		work_launches(5);
		usleep(1000);
	}
	pthread_exit(NULL);
}

static void *sleep_long(void *unused)
{
	for (;;)
		pause();
	return unused;
}

static void show_signals(void)
{
	sigset_t blocked;
	int count = 0;

	pthread_sigmask(SIG_BLOCK, NULL, &blocked);
	for (int i = 1; i < 65; i++)
		count += sigismember(&blocked, i) == 1;
	say("blocked at exit: %d\n", count);
	raise(SIGTERM);
	say("it did not end\n");
}

static void show_control(void)
{
	char name[16] = "";
	sigset_t blocked;

	prctl(PR_GET_NAME, name);
	pthread_sigmask(SIG_BLOCK, NULL, &blocked);
	say("at exit: %x, %s, %d\n", mxcsr() & MXCSR_ROUNDING, name,
	    sigismember(&blocked, SIGUSR1));
}

static void use_much(void)
{
	volatile char much[2 << 20];

	for (size_t i = 0; i < sizeof(much); i += 4096)
		much[i] = (char)i;
	say("used %zu bytes, %d\n", sizeof(much), much[4096]);
}

/* What main has late, as the last one. */
static int end_last(void)
{
	sigset_t one;

	prctl(PR_SET_NAME, "late");
	sigemptyset(&one);
	sigaddset(&one, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &one, NULL);
	set_mxcsr(mxcsr() | MXCSR_UPWARD);
	pthread_exit(NULL);
}

static int way_forked(int argc, char **argv)
{
	pthread_t idle;
	int status = 0;

	need(dlopen("libgcc_s.so.1", RTLD_NOW) != NULL, 92);
	need(!pthread_create(&idle, NULL, sleep_long, NULL), 92);
	pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, 0);
	if (!child) {
		work_start();
		work_launches(100);
		pthread_exit(NULL);
	}
	need(child > 0 && waitpid(child, &status, 0) == child, 92);
	say("the child ended, %x\n", status);
	_exit(3);
}

static int way_last(int argc, char **argv)
{
	const struct rlimit few = {64, 64};
	pthread_t thread;

	/* What pthread_exit() loads, when nothing can be opened any more. */
	need(dlopen("libgcc_s.so.1", RTLD_NOW) != NULL, 92);
	if (!strcmp(argv[0], "signals"))
		atexit(show_signals);
	else if (!strcmp(argv[0], "control"))
		atexit(show_control);
	else if (!strcmp(argv[0], "much"))
		atexit(use_much);
	work_start();
	work_launches(10);
	if (!strcmp(argv[0], "full")) {
		need(!setrlimit(RLIMIT_NOFILE, &few), 92);
		while (open("/dev/null", O_RDONLY) >= 0)
			;
	} else if (!strcmp(argv[0], "closed")) {
		refuse(SYS_openat, EPERM);
	}
	need(!pthread_create(&thread, NULL, launch_slowly, NULL), 92);
	say("the last one ends the process\n");
	if (!strcmp(argv[0], "call"))
		syscall(SYS_exit, 0);
	if (!strcmp(argv[0], "control")) {
		pthread_join(thread, NULL);
		end_last();
	}
	pthread_exit(NULL);
}

/* ---- stacks ---- */

static int way_stack(int argc, char **argv)
{
	pthread_attr_t attr;

	pthread_attr_init(&attr);
	need(!pthread_attr_setstacksize(&attr, PTHREAD_STACK_MIN) &&
	             !pthread_setattr_default_np(&attr),
	     92);
	work_start();
	work_launches(10000);
	say("launched\n");
	return 3;
}

static void use_stack(int number)
{
	volatile char much[65536];

	for (size_t i = 0; i < sizeof(much); i++)
		much[i] = (char)number;
	say("signal %d\n", much[sizeof(much) / 2]);
	_exit(5);
}

static int way_bus(int argc, char **argv)
{
	static char around[65536];
	const stack_t alternate = {.ss_sp = around + 32768, .ss_size = 8192};
	const struct sigaction action = {.sa_handler = use_stack};
	FILE *file = tmpfile();

	need(file && !sigaltstack(&alternate, NULL) && !sigaction(SIGBUS, &action, NULL), 92);
	work_start();
	work_launches(10);
	need(!ftruncate(fileno(file), 4096), 92);
	volatile char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(file), 0);
	need(page != MAP_FAILED && !ftruncate(fileno(file), 0), 92);
	*page = 1;
	return 1;
}

/* ---- descriptors ---- */

static int descriptors_now(void)
{
	DIR *folder = opendir("/proc/self/fd");
	int count = 0;

	need(folder != NULL, 92);
	while (readdir(folder))
		count++;
	closedir(folder);
	return count;
}

/* The least of 20 looks, or of 20 s of them until there are no more than `most`: other threads may
 * be reading a file just then. */
static int open_descriptors(int most)
{
	int least = descriptors_now();

	for (int i = 0; i < 19 || (least > most && i < 2000); i++) {
		usleep(10000);
		int now = descriptors_now();
		least = now < least ? now : least;
	}
	return least;
}

static int way_refused(int argc, char **argv)
{
	work_start();
	work_launches(10);
	int before = open_descriptors(INT_MAX);
	refuse(strcmp(argv[0], "statx") ? SYS_fcntl : SYS_statx, EPERM);
	threads(8, 10000);
	say("left open: %d\n", open_descriptors(before) - before);
	return 3;
}

int main(int argc, char **argv)
{
	static const struct harm_way ways[] = {
	        {"traps", way_traps},
	        {"flags", way_flags},
	        {"sent", way_sent},
	        {"handled", way_handled},
	        {"pending", way_pending},
	        {"last", way_last},
	        {"stack", way_stack},
	        {"bus", way_bus},
	        {"refused", way_refused},
	        {"forked", way_forked},
	        {NULL, NULL},
	};

	return harm_main(ways, argc, argv);
}
