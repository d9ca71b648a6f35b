/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/real/real_dlsym.h"

#include <dlfcn.h>

spy_dlsym_t spy_real_dlsym, spy_libc_dlsym;

void spy_find_dlsym(void)
{
	/* This version and no other: asking for one that is not there makes glibc allocate. */
	spy_dlsym_t libc = (spy_dlsym_t)dlvsym(RTLD_NEXT, "dlsym", SPY_GLIBC_BASE);
	/* A preload behind us that exports a dlsym without a version was passed over; the program
	 * would have met it. */
	spy_dlsym_t next = (spy_dlsym_t)libc(RTLD_NEXT, "dlsym");

	spy_libc_dlsym = libc;
	spy_real_dlsym = next ? next : libc;
}

void real_dlsym_init(void)
{
	if (!spy_real_dlsym)
		spy_find_dlsym();
}

extern char __ehdr_start[] __attribute__((visibility("hidden")));
extern char _end[] __attribute__((visibility("hidden")));

bool real_is_ours(const void *p)
{
	return (const char *)p >= __ehdr_start && (const char *)p < _end;
}
