/* SPDX-License-Identifier: Apache-2.0 */
#include "report/model/call_log_compiling.h"

#include <stdlib.h>

#include "report/base/alloc.h"

bool *call_log_compiling(const struct call_event *calls, size_t count, size_t threads)
{
	bool *found = alloc_zeroed(count + 1, sizeof(*found)),
	     *ahead = alloc_zeroed(threads + 1, sizeof(*ahead)); /* it loads code before its work */
	size_t *seen = alloc_zeroed(threads + 1, sizeof(*seen)), loaded = 0; /* loads, + 1 */

	for (size_t i = 0; i < count; i++) {
		size_t *last = &seen[calls[i].thread];
		loaded += call_event_loads_code(&calls[i]);
		found[i] = *last && loaded + 1 > *last;
		*last = loaded + 1;
	}
	for (size_t i = count; i-- > 0;) {
		bool *of = &ahead[calls[i].thread];
		*of = calls[i].kind == TF_WORK_NONE && (*of || call_event_loads_code(&calls[i]));
		found[i] |= *of;
	}
	free(ahead);
	free(seen);
	return found;
}
