/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The thread's floating-point control while our own arithmetic is under way: a program may have
 * asked for a trap (feenableexcept(), gfortran -ffpe-trap), another rounding, or no denormals, and
 * may look at the flags later. Ours is the default one, and theirs comes back as it was. Code in
 * between is in functions of its own: the compiler may move arithmetic within one.
 */
#ifndef SPY_FLOATING_POINT_H
#define SPY_FLOATING_POINT_H

#include <stdint.h>

struct floating_point {
	uint64_t control, status;
};

static inline struct floating_point floating_point_now(void)
{
	struct floating_point now = {0};
#if defined(__x86_64__)
	uint32_t control;

	__asm__ volatile("stmxcsr %0" : "=m"(control)::"memory");
	now.control = control;
#elif defined(__aarch64__)
	__asm__ volatile("mrs %0, fpcr" : "=r"(now.control)::"memory");
	__asm__ volatile("mrs %0, fpsr" : "=r"(now.status)::"memory");
#endif
	return now;
}

/* No traps, to nearest, with denormals; the program's. */
static inline struct floating_point floating_point_begin(void)
{
	struct floating_point theirs = floating_point_now();
#if defined(__x86_64__)
	const uint32_t standard = 0x1f80; /* Intel SDM vol. 1, 10.2.3: MXCSR at reset */

	__asm__ volatile("ldmxcsr %0" ::"m"(standard) : "memory");
#elif defined(__aarch64__)
	__asm__ volatile("msr fpcr, %0" ::"r"((uint64_t)0) : "memory");
#endif
	return theirs;
}

static inline void floating_point_end(const struct floating_point *theirs)
{
#if defined(__x86_64__)
	const uint32_t was = (uint32_t)theirs->control;

	__asm__ volatile("ldmxcsr %0" ::"m"(was) : "memory");
#elif defined(__aarch64__)
	__asm__ volatile("msr fpcr, %0" ::"r"(theirs->control) : "memory");
	__asm__ volatile("msr fpsr, %0" ::"r"(theirs->status) : "memory");
#endif
}

/* The same of a thread of ours, once and for all: what it runs of others' may use the x87 unit. */
static inline void floating_point_ours(void)
{
	floating_point_begin();
#if defined(__x86_64__)
	__asm__ volatile("fninit" ::: "memory");
#endif
}

/* The x87 unit's control word, which nothing of ours changes in a thread of the program's. */
static inline uint16_t floating_point_x87(void)
{
	uint16_t control = 0;
#if defined(__x86_64__)
	__asm__ volatile("fnstcw %0" : "=m"(control)::"memory");
#endif
	return control;
}

static inline void floating_point_set_x87(uint16_t control)
{
#if defined(__x86_64__)
	__asm__ volatile("fldcw %0" ::"m"(control) : "memory");
#else
	(void)control;
#endif
}

#endif
