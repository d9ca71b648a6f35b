/* SPDX-License-Identifier: Apache-2.0 */
#include "report/model/call_times.h"

#include <stdlib.h>

#include "report/base/alloc.h"
#include "shim/core/format/histogram.h"

struct call_times {
	struct tf_hist *of;
};

struct call_times *call_times_new(size_t count)
{
	struct call_times *t = alloc_zeroed(1, sizeof(*t));

	t->of = alloc_zeroed(count + 1, sizeof(*t->of));
	return t;
}

void call_times_add(struct call_times *t, size_t call, double ns)
{
	hist_add(&t->of[call], (uint64_t)ns);
}

double call_times_quantile(const struct call_times *t, size_t call, double q)
{
	return hist_quantile(&t->of[call], q);
}

void call_times_free(struct call_times *t)
{
	free(t->of);
	free(t);
}
