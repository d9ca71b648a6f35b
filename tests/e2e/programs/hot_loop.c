/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hot_loop LAUNCHES: launches between two system calls that a tracer knows by their arguments, and
 * counts what the loop asked of the allocator; with "errno", looks after errno instead. The loop
 * starts warm: rings have grown, the kernel is known.
 */
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>
#include "tests/e2e/programs/work.h"

#define WARM_UP 300000

static __thread unsigned long asked; /* of the allocator, by this thread */

extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);
extern void *__libc_realloc(void *old, size_t bytes);
extern void __libc_free(void *memory);

void *malloc(size_t bytes)
{
	asked++;
	return __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
	asked++;
	return __libc_calloc(count, bytes);
}

void *realloc(void *old, size_t bytes)
{
	asked++;
	return __libc_realloc(old, bytes);
}

void free(void *memory)
{
	asked++;
	__libc_free(memory);
}

static void *first_call(void *wrong)
{
	/* A thread's first call makes its place in the recording: many system calls. */
	errno = 12345;
	cuCtxSetCurrent(work_context);
	if (errno != 12345)
		*(int *)wrong += 1;
	work_launches(1);
	if (errno != 12345)
		*(int *)wrong += 1;
	return NULL;
}

static int look_after_errno(unsigned launches)
{
	pthread_t thread;
	int wrong = 0;

	errno = 12345;
	CHECK(cuInit(0));
	wrong += errno != 12345;
	work_start();
	errno = 12345;
	for (unsigned i = 0; i < launches; i++) {
		work_launches(1);
		wrong += errno != 12345;
	}
	for (int i = 0; i < 50; i++) {
		pthread_create(&thread, NULL, first_call, &wrong);
		pthread_join(thread, NULL);
	}
	printf("wrong=%d\n", wrong);
	return 0;
}

int main(int argc, char **argv)
{
	unsigned launches = (unsigned)atoi(argv[1]);

	if (argc > 2)
		return look_after_errno(launches);
	work_start();
	work_launches(WARM_UP);
	(void)!write(-1, "loop begins", 11);
	asked = 0;
	work_launches(launches);
	unsigned long in_loop = asked;
	(void)!write(-1, "loop ends", 9);
	printf("asked=%lu\n", in_loop);
	return 0;
}
