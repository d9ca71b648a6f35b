/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/base/own_stack.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

#define GUARD_BYTES 4096u

/* In switch_stack.S. */
__attribute__((visibility("hidden"))) void spy_switch_stack(void (*f)(void *), void *argument,
                                                            void *top);

static __thread bool on_own __attribute__((tls_model("initial-exec")));

void own_stack_call(void (*f)(void *argument), void *argument)
{
	int saved = errno;
	uint8_t *stack =
	        on_own ? MAP_FAILED
	               : mmap(NULL, GUARD_BYTES + OWN_STACK_BYTES, PROT_READ | PROT_WRITE,
	                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);

	if (stack == MAP_FAILED) {
		f(argument);
		return;
	}
	mprotect(stack, GUARD_BYTES, PROT_NONE);
	errno = saved;
	on_own = true;
	spy_switch_stack(f, argument, stack + GUARD_BYTES + OWN_STACK_BYTES);
	on_own = false;
	saved = errno;
	munmap(stack, GUARD_BYTES + OWN_STACK_BYTES);
	errno = saved;
}
