#include <math.h>
#include <stdlib.h>

#include "report/alloc.h"
#include "report/judge_parts.h"

/* Of ranges whose work must be known for a figure per range. */
#define COUNTED_LEAST 0.99

static bool matches(const struct rule *r, const struct range_part *p)
{
	return !regexec(&r->regex, p->name, 0, NULL, 0);
}

struct range_sum {
	double count, counted, work;
};

/* A range inside one that matches is counted with that one. */
static struct range_sum sum_of(const struct rule *r, const struct figures *f)
{
	const struct range_parts *ranges = &f->ranges;
	bool *within = alloc_zeroed(ranges->count, sizeof(*within));
	struct range_sum sum = {0};
	int index = metric_work(r->metric);

	for (size_t i = 0; index >= 0 && i < ranges->count; i++) {
		const struct range_part *p = &ranges->items[i];
		within[i] = p->parent != RANGE_NONE && within[p->parent];
		if (within[i] || !matches(r, p))
			continue;
		within[i] = true;
		sum.count += p->count;
		sum.counted += p->counted;
		sum.work += p->of[index];
	}
	free(within);
	return sum;
}

double judge_ranges(const struct rule *r, const struct figures *f)
{
	struct range_sum sum = sum_of(r, f);

	if (!(sum.count > 0))
		return NAN;
	return r->per_step ? sum.work / sum.counted : sum.work;
}

char *judge_ranges_unsure(const struct rule *r, const struct figures *f)
{
	if (!f->ranges.count)
		return alloc_format("%s: it holds no NVTX ranges", f->name);
	if (f->ranges.lost)
		return alloc_format("%s: some of its NVTX ranges were lost", f->name);
	struct range_sum sum = sum_of(r, f);
	if (!(sum.count > 0))
		return alloc_format("%s: no NVTX range matches %s", f->name, r->pattern);
	if (sum.counted < sum.count * (r->per_step ? COUNTED_LEAST : 1))
		return alloc_format("%s: of %.0f NVTX ranges that match the work of %.0f is not "
		                    "known",
		                    f->name, sum.count, sum.count - sum.counted);
	return NULL;
}
