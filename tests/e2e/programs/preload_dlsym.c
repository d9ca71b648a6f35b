/* SPDX-License-Identifier: Apache-2.0 */
/* A preload that exports dlsym and counts what passes, as vGPU libraries do: unversioned, and on
 * with the next one at glibc's first version. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__)
#define FIRST_VERSION "GLIBC_2.2.5"
#else
#define FIRST_VERSION "GLIBC_2.17"
#endif

static void *(*next)(void *, const char *);
static unsigned launches, others;

void *dlsym(void *handle, const char *name)
{
	if (!next)
		next = dlvsym(RTLD_NEXT, "dlsym", FIRST_VERSION);
	if (!strcmp(name, "cuLaunchKernel"))
		launches++;
	else
		others++;
	return next(handle, name);
}

static void __attribute__((destructor)) say(void)
{
	printf("preload_dlsym: launch %u others %s\n", launches, others ? "some" : "none");
}
