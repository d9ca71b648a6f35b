/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The same of ten libraries, each with fifty functions into which four others are inlined one in
 * the other: many_libraries COUNT. Built once with LIBRARY and NUMBER for each of them, once
 * without.
 */
#define LIBRARIES 10
#define EACH      50
#define DEPTH     12

struct path {
	unsigned left; /* which functions are to be called */
	unsigned depth;
	void (*const *all)(struct path *); /* LIBRARIES * EACH */
	void (*wait)(void);
};
typedef void function(struct path *);

#ifdef LIBRARY

#define INLINED static inline __attribute__((always_inline))

INLINED void innermost(struct path *p)
{
	unsigned which = p->left * 2654435761u >> 7;

	p->left = p->left / 3 * 7919 + p->depth;
	if (p->depth--)
		p->all[which % (LIBRARIES * EACH)](p);
	else
		p->wait();
	__asm__ volatile("");
}

INLINED void third(struct path *p)
{
	innermost(p);
	__asm__ volatile("");
}

INLINED void second(struct path *p)
{
	third(p);
	__asm__ volatile("");
}

INLINED void first(struct path *p)
{
	second(p);
	__asm__ volatile("");
}

#define FUNCTION(n)                                                                                \
	static __attribute__((noinline, noclone)) void function_##n(struct path *p)                \
	{                                                                                          \
		first(p);                                                                          \
		__asm__ volatile("# " #n); /* else they are one */                                 \
	}
#define TEN(X, n) X(n##0) X(n##1) X(n##2) X(n##3) X(n##4) X(n##5) X(n##6) X(n##7) X(n##8) X(n##9)
#define ALL(X)    TEN(X, 1) TEN(X, 2) TEN(X, 3) TEN(X, 4) TEN(X, 5)
ALL(FUNCTION)

#define NAME(n) function_##n,
__attribute__((visibility("default"))) function *const LIBRARY[EACH] = {ALL(NAME)};

#else

#include <string.h>
#include <unistd.h>
#include "tests/e2e/programs/work.h"

#define LIST(X)                                                                                    \
	X(many_0)                                                                                  \
	X(many_1) X(many_2) X(many_3) X(many_4) X(many_5) X(many_6) X(many_7) X(many_8) X(many_9)
#define DECLARE(name) extern __attribute__((visibility("default"))) function *const name[EACH];
LIST(DECLARE)

static void wait_here(void)
{
	CHECK(cuCtxSynchronize());
	__asm__ volatile("");
}

int main(int count, char **args)
{
#define POINTER(name) name,
	function *const *libraries[LIBRARIES] = {LIST(POINTER)};
	function *all[LIBRARIES * EACH];

	for (int i = 0; i < LIBRARIES; i++)
		memcpy(all + i * EACH, libraries[i], sizeof(all) / LIBRARIES);
	work_start();
	usleep(200000); /* by now the collector has seen what is mapped */
	for (unsigned i = 0; count > 1 && i < (unsigned)atoi(args[1]); i++) {
		struct path p = {i * 40503u, DEPTH, all, wait_here};
		all[i % (LIBRARIES * EACH)](&p);
	}
	return 0;
}

#endif
