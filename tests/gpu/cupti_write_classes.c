/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the classes of work, and what was left out of them, into the JSON file. */
#include <inttypes.h>
#include <stdio.h>
#include "tests/gpu/cupti_truth.h"

static void write_xyz(FILE *f, const char *name, const int32_t v[3])
{
	fprintf(f, ", \"%s\": [%" PRId32 ", %" PRId32 ", %" PRId32 "]", name, v[0], v[1], v[2]);
}

static void write_class_key(FILE *f, const struct tally *t, const struct class_key *k)
{
	if (k->kind != RAW_KERNEL) {
		fprintf(f,
		        "\"kind\": \"%s\", \"copy_kind\": \"%s\", \"src\": \"%s\", \"dst\": "
		        "\"%s\", "
		        "\"async\": %s, \"bytes\": %" PRIu64,
		        k->kind == RAW_COPY ? "copy" : "set", copy_kind_name(k->copy_kind),
		        memory_kind_name(k->src_kind), memory_kind_name(k->dst_kind),
		        k->async ? "true" : "false", k->bytes);
		return;
	}
	fputs("\"kind\": \"kernel\", \"name\": ", f);
	write_string(f, k->name < t->kernel_count ? t->kernel[k->name].name : "?");
	write_xyz(f, "grid", k->grid);
	write_xyz(f, "block", k->block);
	fprintf(f, ", \"shared_bytes\": %" PRIu32, k->shared_bytes);
}

void write_classes(FILE *f, const struct tally *t)
{
	fprintf(f, " \"own\": {\"kernels\": %" PRIu64 ", \"gpu_ns\": %" PRIu64 "},\n", t->own.items,
	        t->own.gpu_ns);
	fprintf(f, " \"classes_left_out\": %" PRIu64 ",\n \"classes\": [", t->classes.left_out);
	for (uint32_t i = 0; i < t->classes.count; i++) {
		const struct tally_class *c = &t->classes.entry[i];

		fputs(i ? ",\n  {" : "\n  {", f);
		write_class_key(f, t, &c->key);
		fprintf(f,
		        ", \"count\": %" PRIu64 ", \"untimed\": %" PRIu64 ", \"gpu_ns\": %" PRIu64
		        ", \"untrue\": %" PRIu64 ", \"untrue_ns\": %" PRIu64
		        ", \"min_ns\": %" PRIu64 ", \"max_ns\": %" PRIu64 "}",
		        c->count, c->untimed, c->gpu_ns, c->untrue, c->untrue_ns,
		        c->min_ns <= c->max_ns ? c->min_ns : 0, c->max_ns);
	}
	fputs("],\n", f);
}
