/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The simulated driver as the harm_* programs need it, made of its own objects with the linker's
 * --wrap: a signal handler may call it whatever it interrupts, since it takes no signal and is not
 * cancelled while it holds a lock; it calls back from inside a call; and a forked child's truth is
 * its own before a thread of the child calls.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include "tests/e2e/programs/harm_driver.h"
#include "tests/sim/driver_enter.h"

struct sim_thread *sim_thread_get(void);

static _Atomic(void (*)(void)) inside[HARM_PLACES];

void harm_inside(enum harm_place place, void (*function)(void))
{
	atomic_store(&inside[place], function);
}

void harm_forked(void)
{
	sim_thread_get();
}

/* The driver opens its truth now, which takes a large stack, a descriptor and a key. */
static void __attribute__((constructor)) at_load(void)
{
	sim_thread_get();
	pthread_atfork(NULL, NULL, harm_forked);
}

struct guard {
	sigset_t signals;
	int cancel;
};

static void call_back(enum harm_place place)
{
	void (*call)(void) = atomic_load(&inside[place]);

	if (call)
		call();
}

static void guard_begin(struct guard *g, enum harm_place place)
{
	sigset_t all;

	call_back(place);
	sigfillset(&all);
	sigdelset(&all, SIGTRAP); /* harm_step steps through here */
	pthread_sigmask(SIG_SETMASK, &all, &g->signals);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &g->cancel);
}

static void guard_end(const struct guard *g, enum harm_place place)
{
	pthread_setcancelstate(g->cancel, NULL);
	pthread_sigmask(SIG_SETMASK, &g->signals, NULL);
	if (place == HARM_INIT)
		call_back(HARM_INIT_LEFT);
}

#define GUARDED(name, place, parameters, arguments)                                                \
	__typeof__(name) __real_##name, __wrap_##name;                                             \
	CUresult __wrap_##name parameters                                                          \
	{                                                                                          \
		struct guard g;                                                                    \
		guard_begin(&g, place);                                                            \
		CUresult rc = __real_##name arguments;                                             \
		guard_end(&g, place);                                                              \
		return rc;                                                                         \
	}

GUARDED(sim_enter_slow, HARM_NOWHERE, (struct sim_thread * *out, unsigned api, unsigned how),
        (out, api, how))
GUARDED(do_cuInit, HARM_INIT, (unsigned flags), (flags))
GUARDED(do_cuDevicePrimaryCtxRetain, HARM_NOWHERE, (CUcontext * c, CUdevice d), (c, d))
GUARDED(do_cuCtxSetCurrent, HARM_NOWHERE, (CUcontext c), (c))
GUARDED(do_cuModuleLoadData, HARM_NOWHERE, (CUmodule * m, const void *image), (m, image))
GUARDED(do_cuModuleUnload, HARM_NOWHERE, (CUmodule m), (m))
GUARDED(do_cuModuleGetFunction, HARM_NOWHERE, (CUfunction * f, CUmodule m, const char *name),
        (f, m, name))
GUARDED(do_cuMemAlloc_v2, HARM_ALLOC, (CUdeviceptr * p, size_t bytes), (p, bytes))
GUARDED(do_cuMemFree_v2, HARM_NOWHERE, (CUdeviceptr p), (p))
GUARDED(do_cuMemsetD8Async, HARM_NOWHERE, (CUdeviceptr p, unsigned char v, size_t n, CUstream s),
        (p, v, n, s))
GUARDED(do_cuStreamCreate, HARM_NOWHERE, (CUstream * s, unsigned flags), (s, flags))
GUARDED(do_cuStreamDestroy_v2, HARM_NOWHERE, (CUstream s), (s))
GUARDED(do_cuLaunchHostFunc, HARM_NOWHERE, (CUstream s, CUhostFn fn, void *data), (s, fn, data))
GUARDED(do_cuLaunchKernel, HARM_LAUNCH,
        (CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
         unsigned shared, CUstream s, void **params, void **extra),
        (f, gx, gy, gz, bx, by, bz, shared, s, params, extra))
