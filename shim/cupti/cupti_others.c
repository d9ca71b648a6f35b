/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The door through which others come to CUPTI: kineto, XLA and the like subscribe or register the
 * receiver of records before they do anything else. These stand in front of libcupti's functions of
 * the same names, for callers that are linked with it and for those that look them up, note it, and
 * go on to the function that the caller would have reached without us.
 */
#include <string.h>
#include "shim/cupti/cupti.h"
#include "shim/cupti/cupti_api.h"
#include "shim/cupti/cupti_find.h"
#include "shim/real/real_dlsym.h"

/* Arguments as registers hold them: no function here has more than six, all are words. */
#define WORDS uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d, uintptr_t e, uintptr_t f
typedef int (*function_t)(WORDS);

/* XX(name); the last is there since 13.3 */
#define DOORS(XX)                                                                                  \
	XX(cuptiSubscribe)                                                                         \
	XX(cuptiSubscribe_v2)                                                                      \
	XX(cuptiActivityRegisterCallbacks)                                                         \
	XX(cuptiActivityRegisterCallbacks_v2)

enum {
#define XX(name) DOOR_##name,
	DOORS(XX)
#undef XX
	        DOOR_COUNT
};

#define XX(name) __attribute__((visibility("default"))) int name(WORDS);
DOORS(XX)
#undef XX

/* The functions behind those that were looked up in a library of the looker's choice. */
static function_t found[DOOR_COUNT];

static int go_on(function_t real, const char *name, WORDS)
{
	cupti_taken_by_other(name);
	return real ? real(a, b, c, d, e, f) : CP_NOT_INITIALIZED;
}

#define XX(name)                                                                                   \
	int name(WORDS)                                                                            \
	{                                                                                          \
		function_t real = (function_t)cupti_find_next(#name, __builtin_return_address(0)); \
		return go_on(real, #name, a, b, c, d, e, f);                                       \
	}                                                                                          \
	static int found_##name(WORDS)                                                             \
	{                                                                                          \
		return go_on(__atomic_load_n(&found[DOOR_##name], __ATOMIC_RELAXED), #name, a, b,  \
		             c, d, e, f);                                                          \
	}
DOORS(XX)
#undef XX

void *cupti_pick(void *handle, const char *name)
{
	static const struct {
		const char *name;
		function_t ours, exported;
	} doors[DOOR_COUNT] = {
#define XX(name) [DOOR_##name] = {#name, found_##name, name},
	        DOORS(XX)
#undef XX
	};

	if (!cupti_wanted())
		return NULL;
	for (int i = 0; i < DOOR_COUNT; i++) {
		if (strcmp(name, doors[i].name))
			continue;
		void *real = spy_real_dlsym(handle, name);
		if (!real || real == (void *)doors[i].exported)
			return NULL;
		__atomic_store_n(&found[i], (function_t)real, __ATOMIC_RELAXED);
		return (void *)doors[i].ours;
	}
	return NULL;
}
