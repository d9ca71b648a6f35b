/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/cut.h"

#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define PAGE      4096u
#define GUARD     (64u * PAGE)
#define TRAP_FLAG 0x100 /* of the processor: a trap after the next instruction */
#define HANGS_S   30

enum { FINE, OUTSIDE, DIVIDED, HANGS, NO_PROCESS };
static const char *const failures[] = {
        [OUTSIDE] = "touched memory outside",
        [DIVIDED] = "divided by zero",
        [HANGS] = "did not come back",
        [NO_PROCESS] = "no process could be made",
};

static struct {
	struct cut *cut;
	uint8_t *open[4]; /* pages that one instruction may touch while it is made */
	unsigned opened;
	int is_cut; /* this process is a copy */
	sigjmp_buf out;
} now;

uint8_t *cut_memory(uint64_t bytes)
{
	uint8_t *all = mmap(NULL, bytes + 2 * GUARD, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (all == MAP_FAILED || mprotect(all + GUARD, bytes, PROT_READ | PROT_WRITE))
		return NULL;
	return all + GUARD;
}

void cut_free(uint8_t *base, uint64_t bytes)
{
	munmap(base - GUARD, bytes + 2 * GUARD);
}

static void leave(int failure)
{
	if (now.is_cut)
		_exit(failure);
	now.cut->failure = failures[failure];
	siglongjmp(now.out, 1);
}

static void single_step(void *context, int on)
{
#if defined(__x86_64__)
	greg_t *flags = &((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL];

	*flags = on ? *flags | TRAP_FLAG : *flags & ~(greg_t)TRAP_FLAG;
#endif
}

/* In a copy of the process what lies behind `kept` is gone, and it goes on; 0 in this one, once the
 * copy has ended well. */
static int cut_in_a_copy(uint64_t kept)
{
	struct cut *c = now.cut;
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		now.is_cut = 1;
		alarm(HANGS_S);
		mprotect(c->base, c->bytes, PROT_READ | PROT_WRITE);
		memset(c->base + kept, 0, c->bytes - kept);
		return 1;
	}
	c->cuts++;
	if (pid > 0 && waitpid(pid, &status, 0) == pid && !status)
		return 0;
	c->failed_at = c->accesses;
	c->failed_kept = kept;
	leave(pid < 0 ? NO_PROCESS : WIFEXITED(status) ? WEXITSTATUS(status) : OUTSIDE);
	return 0;
}

static void on_access(int signal, siginfo_t *info, void *context)
{
	const uint8_t *at = info->si_addr;
	struct cut *c = now.cut;

	if (now.is_cut || at < c->base || at >= c->base + c->bytes ||
	    now.opened == sizeof(now.open) / sizeof(now.open[0]))
		leave(OUTSIDE);
	if (!now.opened && ++c->accesses % c->stride == 0)
		for (unsigned i = 0; i < CUT_KEPT; i++)
			if (cut_in_a_copy(c->kept[i]))
				return;
	now.open[now.opened] = c->base + (at - c->base) / PAGE * PAGE;
	mprotect(now.open[now.opened++], PAGE, PROT_READ | PROT_WRITE);
	single_step(context, 1);
}

static void on_step(int signal, siginfo_t *info, void *context)
{
	while (now.opened)
		mprotect(now.open[--now.opened], PAGE, PROT_NONE);
	single_step(context, 0);
}

static void on_trouble(int signal)
{
	leave(signal == SIGFPE ? DIVIDED : HANGS);
}

void cut_run(struct cut *c, void (*run)(void *), void *argument)
{
	const int signals[] = {SIGSEGV, SIGBUS, SIGTRAP, SIGFPE, SIGALRM};
	struct sigaction before[5];

	now.cut = c;
	now.opened = 0;
	c->accesses = c->cuts = 0;
	c->failure = NULL;
	for (unsigned i = 0; i < 5; i++) {
		struct sigaction action = {.sa_flags = SA_NODEFER};
		if (signals[i] == SIGFPE || signals[i] == SIGALRM) {
			action.sa_handler = on_trouble;
		} else {
			action.sa_flags |= SA_SIGINFO;
			action.sa_sigaction = signals[i] == SIGTRAP ? on_step : on_access;
		}
		sigaction(signals[i], &action, &before[i]);
	}
	if (!sigsetjmp(now.out, 1)) {
		mprotect(c->base, c->bytes, PROT_NONE);
		run(argument);
		if (now.is_cut)
			_exit(FINE);
	}
	mprotect(c->base, c->bytes, PROT_READ | PROT_WRITE);
	for (unsigned i = 0; i < 5; i++)
		sigaction(signals[i], &before[i], NULL);
}
