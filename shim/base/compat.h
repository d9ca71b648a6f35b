/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Binds the glibc functions that moved or were renewed after glibc 2.28 to their old symbol
 * versions, so that one build runs on every later one. Forced into every file of the shim by the
 * build (-include); `make test` checks the ceiling.
 */
#ifndef SPY_COMPAT_H
#define SPY_COMPAT_H

#if defined(__x86_64__)
#define SPY_GLIBC_BASE "GLIBC_2.2.5"
#elif defined(__aarch64__)
#define SPY_GLIBC_BASE "GLIBC_2.17"
#else
#error "cudaspy knows x86-64 and aarch64"
#endif

#define SPY_PIN(name) __asm__(".symver " #name "," #name "@" SPY_GLIBC_BASE)
SPY_PIN(dladdr);
SPY_PIN(dlopen);
SPY_PIN(dlvsym);
SPY_PIN(pthread_attr_getstacksize);
SPY_PIN(pthread_attr_setstacksize);
SPY_PIN(pthread_create);
SPY_PIN(pthread_detach);
SPY_PIN(pthread_join);
SPY_PIN(pthread_key_create);
SPY_PIN(pthread_setspecific);
SPY_PIN(pthread_sigmask);
#undef SPY_PIN

/* Linux 5.14; refused by older kernels, which does no harm. Not in older headers. */
#define MADV_POPULATE_WRITE 23

#endif
