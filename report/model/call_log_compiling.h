/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REPORT_CALL_LOG_COMPILING_H
#define REPORT_CALL_LOG_COMPILING_H

#include "report/model/call_log.h"

static inline bool call_event_loads_code(const struct call_event *a)
{
	return cuda_role_is_loading(a->role) && !a->result;
}

/*
 * Of the time before each of these calls (by start, of so many threads), since its thread's last
 * one, whether it is what making code takes (free it): code was loaded meanwhile, by any thread, or
 * the thread loads some before it gives work again. Code that is made once takes no more of it.
 */
bool *call_log_compiling(const struct call_event *calls, size_t count, size_t threads);

#endif
