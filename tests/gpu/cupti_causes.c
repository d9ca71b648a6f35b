/* SPDX-License-Identifier: Apache-2.0 */
/* Which call caused which work: joins GPU records with call records by their correlation id. Only
 * with CUPTI_TRUTH_API=1; it tells where a difference in the counts comes from. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include "tests/gpu/cupti_truth.h"

#define NO_CALL 0xffffffffu
#define CAUSES  256

struct cause {
	uint8_t kind; /* enum raw_kind */
	uint32_t api;
	uint64_t records, items, bytes;
};

/* A driver call inside a runtime call has the same id: it stands after the runtime call and is
 * found first. */
static int compare_calls(const void *a, const void *b)
{
	const struct tally_call *x = a, *y = b;

	if (x->correlation != y->correlation)
		return x->correlation < y->correlation ? -1 : 1;
	return x->api < y->api ? -1 : x->api > y->api;
}

static uint32_t cause_of(const struct tally *t, uint32_t correlation)
{
	uint64_t low = 0, high = t->call_count;

	while (low < high) { /* the first call beyond this id */
		uint64_t middle = low + (high - low) / 2;

		if (t->call[middle].correlation <= correlation)
			low = middle + 1;
		else
			high = middle;
	}
	return low && t->call[low - 1].correlation == correlation ? t->call[low - 1].api : NO_CALL;
}

static unsigned add_cause(struct cause *causes, unsigned count, const struct raw_record *r,
                          uint32_t api)
{
	unsigned i = 0;

	while (i < count && (causes[i].kind != r->kind || causes[i].api != api))
		i++;
	if (i == CAUSES)
		return count;
	if (i == count)
		causes[count++] = (struct cause){.kind = r->kind, .api = api};
	causes[i].records++;
	causes[i].items += r->items;
	causes[i].bytes += r->bytes;
	return count;
}

void write_causes(FILE *f)
{
	static const char *const kinds[] = {"", "kernel", "copy", "set", "graph"};
	static struct cause causes[CAUSES];
	struct tally *t = &truth.tally;
	unsigned count = 0;

	if (t->call_count)
		qsort(t->call, t->call_count, sizeof(*t->call), compare_calls);
	for (uint64_t i = 0; i < t->kept_count; i++) {
		const struct raw_record *r = &t->kept[i];

		if (!(r->flags & RAW_IN_GRAPH))
			count = add_cause(causes, count, r, cause_of(t, r->correlation));
	}
	fputs(" \"causes\": [", f);
	for (unsigned i = 0; i < count; i++) {
		const struct cause *c = &causes[i];

		fprintf(f, "%s\n  {\"kind\": \"%s\", \"level\": \"%s\", \"call\": ", i ? "," : "",
		        kinds[c->kind], c->api & TALLY_DRIVER ? "driver" : "runtime");
		write_api_name(f, c->api == NO_CALL ? NULL : &c->api);
		fprintf(f,
		        ", \"records\": %" PRIu64 ", \"items\": %" PRIu64 ", \"bytes\": %" PRIu64
		        "}",
		        c->records, c->items, c->bytes);
	}
	fputs("],\n", f);
}
