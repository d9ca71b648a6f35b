/* SPDX-License-Identifier: Apache-2.0 */
/* Writes what was added up: the JSON file, and the timeline where one was asked for. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tests/gpu/cupti_truth.h"

struct span {
	uint32_t device;
	uint64_t start, end;
};

struct stream_sum {
	uint32_t device, context, stream;
	uint64_t records[RAW_GRAPH + 1];
	uint64_t gpu_ns[RAW_GRAPH + 1];
};

void write_string(FILE *f, const char *text)
{
	putc('"', f);
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c == '"' || c == '\\')
			fprintf(f, "\\%c", c);
		else if (c < 0x20 ||
		         c >= 0x7f) /* names need not be UTF-8: each byte is a code point */
			fprintf(f, "\\u%04x", c);
		else
			putc(c, f);
	}
	putc('"', f);
}

const char *copy_kind_name(uint8_t kind)
{
	static const char *const names[] = {"unknown", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA",
	                                    "AtoD",    "DtoA", "DtoD", "HtoH", "PtoP"};

	return kind < sizeof(names) / sizeof(names[0]) ? names[kind] : "unknown";
}

const char *memory_kind_name(uint8_t kind)
{
	static const char *const names[] = {"unknown",       "pageable",      "pinned",
	                                    "device",        "array",         "managed",
	                                    "device_static", "managed_static"};

	return kind < sizeof(names) / sizeof(names[0]) ? names[kind] : "unknown";
}

static void write_sum(FILE *f, const char *name, const struct tally_sum *s)
{
	fprintf(f,
	        "\"%s\": {\"count\": %" PRIu64 ", \"records\": %" PRIu64 ", \"bytes\": %" PRIu64
	        ", \"gpu_ns\": %" PRIu64 "}",
	        name, s->items, s->records, s->bytes, s->gpu_ns);
}

static void write_totals(FILE *f, const char *name, const struct tally_sum sum[2], const char *then)
{
	fprintf(f, "  \"%s\": {", name);
	write_sum(f, "outside", &sum[OUTSIDE]);
	fputs(", ", f);
	write_sum(f, "inside", &sum[INSIDE]);
	fprintf(f, "}%s", then);
}

static void write_groups(FILE *f, const char *name, const struct tally_group *group, uint32_t count)
{
	fprintf(f, " \"%s\": [", name);
	for (uint32_t i = 0; i < count; i++) {
		const struct tally_group *g = &group[i];

		fprintf(f,
		        "%s\n  {\"kind\": \"%s\", \"src\": \"%s\", \"dst\": \"%s\", \"async\": "
		        "%s, ",
		        i ? "," : "", copy_kind_name(g->copy_kind), memory_kind_name(g->src_kind),
		        memory_kind_name(g->dst_kind), g->async ? "true" : "false");
		write_sum(f, "outside", &g->sum[OUTSIDE]);
		fputs(", ", f);
		write_sum(f, "inside", &g->sum[INSIDE]);
		putc('}', f);
	}
	fputs("],\n", f);
}

static void write_kernels(FILE *f, const struct tally *t)
{
	fputs(" \"kernels\": [", f);
	for (uint32_t i = 0; i < t->kernel_count; i++) {
		const struct tally_kernel *k = &t->kernel[i];

		fprintf(f, "%s\n  {\"name\": ", i ? "," : "");
		write_string(f, k->name);
		fprintf(f,
		        ", \"outside\": %" PRIu64 ", \"inside\": %" PRIu64
		        ", \"from_device\": %" PRIu64 ", \"outside_gpu_ns\": %" PRIu64
		        ", \"inside_gpu_ns\": %" PRIu64,
		        k->count[OUTSIDE], k->count[INSIDE], k->from_device, k->gpu_ns[OUTSIDE],
		        k->gpu_ns[INSIDE]);
		if (k->min_ns <= k->max_ns)
			fprintf(f, ", \"min_ns\": %" PRIu64 ", \"max_ns\": %" PRIu64, k->min_ns,
			        k->max_ns);
		else
			fputs(", \"min_ns\": null, \"max_ns\": null", f);
		fprintf(f, ", \"invalid_times\": %" PRIu64 "}", k->invalid_times);
	}
	fputs("],\n", f);
}

static void write_graphs(FILE *f, const struct tally *t)
{
	uint64_t launches = t->launch_count;

	for (uint32_t i = 0; i < t->graphs; i++)
		launches += t->graph[i].launches;
	fprintf(f, " \"graph_launches\": %" PRIu64 ",\n \"graphs\": [", launches);
	for (uint32_t i = 0; i < t->graphs; i++) {
		const struct tally_graph *g = &t->graph[i];

		fprintf(f,
		        "%s\n  {\"graph\": %" PRIu32 ", \"launches\": %" PRIu64
		        ", \"gpu_ns\": %" PRIu64 ", \"untrue\": %" PRIu64
		        ", \"untrue_ns\": %" PRIu64 ", \"min_ns\": %" PRIu64
		        ", \"max_ns\": %" PRIu64 "}",
		        i ? "," : "", g->graph, g->launches, g->gpu_ns, g->untrue, g->untrue_ns,
		        g->min_ns <= g->max_ns ? g->min_ns : 0, g->max_ns);
	}
	fputs("],\n", f);
}

static int compare_spans(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	if (x->device != y->device)
		return x->device < y->device ? -1 : 1;
	return x->start < y->start ? -1 : x->start > y->start;
}

/* Per device: the union of all spans, from the first start to the last end. */
static void write_devices(FILE *f, const struct tally *t)
{
	struct span *spans = t->not_kept ? NULL : malloc((t->kept_count + 1) * sizeof(*spans));
	const char *comma = "";
	uint64_t n = 0;

	if (!spans) { /* some records are missing, and with them the truth about idle times */
		fputs(" \"devices\": null,\n", f);
		return;
	}
	for (uint64_t i = 0; i < t->kept_count; i++) {
		const struct raw_record *r = &t->kept[i];

		if (!(r->flags & (RAW_INVALID_TIME | RAW_UNTRUE)))
			spans[n++] = (struct span){r->device, r->start_ns, r->end_ns};
	}
	qsort(spans, n, sizeof(*spans), compare_spans);
	fputs(" \"devices\": [", f);
	for (uint64_t i = 0; i < n;) {
		uint32_t device = spans[i].device;
		uint64_t first = spans[i].start, last = first, busy = 0;

		for (; i < n && spans[i].device == device; i++) {
			if (spans[i].end <= last)
				continue;
			busy += spans[i].end - (spans[i].start > last ? spans[i].start : last);
			last = spans[i].end;
		}
		fprintf(f,
		        "%s\n  {\"device\": %" PRIu32 ", \"busy_ns\": %" PRIu64
		        ", \"idle_ns\": %" PRIu64 ", \"first_ns\": %" PRIu64
		        ", \"last_ns\": %" PRIu64 "}",
		        comma, device, busy, last - first - busy, first, last);
		comma = ",";
	}
	fputs("],\n", f);
	free(spans);
}

static struct stream_sum *find_stream(struct stream_sum **sums, uint32_t *count,
                                      const struct raw_record *r)
{
	struct stream_sum *s;

	for (uint32_t i = 0; i < *count; i++) {
		s = &(*sums)[i];
		if (s->stream == r->stream && s->context == r->context && s->device == r->device)
			return s;
	}
	s = realloc(*sums, (*count + 1) * sizeof(*s));
	if (!s)
		return NULL;
	*sums = s;
	s = &s[(*count)++];
	*s = (struct stream_sum){.device = r->device, .context = r->context, .stream = r->stream};
	return s;
}

static void write_streams(FILE *f, const struct tally *t)
{
	static const char *const kinds[] = {NULL, "kernel", "copy", "set", "graph"};
	struct stream_sum *sums = NULL, *s = NULL;
	uint32_t count = 0;

	for (uint64_t i = 0; i < t->kept_count; i++) {
		const struct raw_record *r = &t->kept[i];

		s = find_stream(&sums, &count, r);
		if (!s)
			break;
		s->records[r->kind]++;
		if (!(r->flags & RAW_INVALID_TIME))
			s->gpu_ns[r->kind] += r->end_ns - r->start_ns;
	}
	fputs(" \"streams\": [", f);
	for (uint32_t i = 0; i < count; i++) {
		s = &sums[i];
		fprintf(f,
		        "%s\n  {\"device\": %" PRIu32 ", \"context\": %" PRIu32
		        ", \"stream\": %" PRIu32,
		        i ? "," : "", s->device, s->context, s->stream);
		for (unsigned k = RAW_KERNEL; k <= RAW_GRAPH; k++)
			fprintf(f, ", \"%s_records\": %" PRIu64 ", \"%s_ns\": %" PRIu64, kinds[k],
			        s->records[k], kinds[k], s->gpu_ns[k]);
		putc('}', f);
	}
	fputs("],\n", f);
	free(sums);
}

void write_api_name(FILE *f, const uint32_t *api)
{
	CUpti_CallbackDomain domain = CUPTI_CB_DOMAIN_RUNTIME_API;
	const char *name = NULL;

	if (!api) {
		fputs("null", f);
		return;
	}
	if (*api & TALLY_DRIVER)
		domain = CUPTI_CB_DOMAIN_DRIVER_API;
	if (truth.cupti.cuptiGetCallbackName(domain, *api & ~TALLY_DRIVER, &name) !=
	            CUPTI_SUCCESS ||
	    !name)
		name = "?";
	write_string(f, name);
}

/* Not under the lock: the names come from CUPTI. The counts are those of finished buffers. */
static void write_apis(FILE *f)
{
	const char *comma = "";

	fputs(" \"apis\": [", f);
	for (unsigned driver = 0; driver < 2; driver++) {
		for (uint32_t id = 0; id < TALLY_APIS; id++) {
			const struct tally_api *a = &truth.tally.api[driver][id];
			uint32_t api = id | (driver ? TALLY_DRIVER : 0);

			if (!a->calls)
				continue;
			fprintf(f, "%s\n  {\"level\": \"%s\", \"name\": ", comma,
			        driver ? "driver" : "runtime");
			write_api_name(f, &api);
			fprintf(f,
			        ", \"calls\": %" PRIu64 ", \"failed\": %" PRIu64
			        ", \"total_ns\": %" PRIu64 "}",
			        a->calls, a->failed, a->total_ns);
			comma = ",";
		}
	}
	fputs("],\n", f);
}

static void write_head(FILE *f, bool complete)
{
	const struct tally *t = &truth.tally;

	fprintf(f, "{\"schema\": \"cudaspy.cupti/1\", \"pid\": %d, \"complete\": %s,\n", truth.pid,
	        complete ? "true" : "false");
	fputs(" \"library\": ", f);
	write_string(f, truth.library);
	fprintf(f, ", \"cupti_version\": %" PRIu32 ", \"header_version\": %d,\n",
	        truth.cupti_version, CUPTI_API_VERSION);
	fprintf(f, " \"graph_trace\": %s, \"api_records\": %s,\n",
	        truth.graph_trace ? "true" : "false", truth.api_records ? "true" : "false");
	fprintf(f,
	        " \"lost\": {\"dropped\": %" PRIu64 ", \"no_buffer\": %" PRIu64
	        ", \"out_of_memory\": %" PRIu64 "},\n",
	        truth.dropped, truth.no_buffer, t->out_of_memory);
	fprintf(f,
	        " \"invalid_times\": %" PRIu64 ", \"unknown_records\": %" PRIu64
	        ", \"not_kept\": %" PRIu64 ",\n",
	        t->invalid_times, truth.unknown_records, t->not_kept);
	fputs(" \"errors\": [", f);
	for (unsigned i = 0; i < truth.errors; i++) {
		fputs(i ? ", " : "", f);
		write_string(f, truth.error[i]);
	}
	fputs("],\n", f);
}

static void write_json(FILE *f, bool complete)
{
	const struct tally *t = &truth.tally;

	pthread_mutex_lock(&truth.lock);
	write_head(f, complete);
	fprintf(f, " \"kernels_from_device\": %" PRIu64 ",\n \"totals\": {\n",
	        t->kernels_from_device);
	write_totals(f, "kernels", t->kernels, ",\n");
	write_totals(f, "copies", t->copies, ",\n");
	write_totals(f, "sets", t->sets, "},\n");
	write_graphs(f, t);
	write_kernels(f, t);
	write_groups(f, "copies", t->copy_group, t->copy_groups);
	write_groups(f, "sets", t->set_group, t->set_groups);
	write_classes(f, t);
	if (complete) { /* costly, and of no use before the end */
		write_devices(f, t);
		write_streams(f, t);
	}
	pthread_mutex_unlock(&truth.lock);
	if (truth.api_records)
		write_apis(f);
	if (truth.api_records && complete)
		write_causes(f);
	fprintf(f, " \"kept_records\": %" PRIu64 "}\n", t->kept_count);
}

static void write_raw(FILE *f)
{
	const struct tally *t = &truth.tally;
	struct raw_header h = {
	        .magic = RAW_MAGIC,
	        .version = RAW_VERSION,
	        .header_bytes = sizeof(h),
	        .record_bytes = sizeof(struct raw_record),
	        .names = t->kernel_count,
	        .records = t->kept_count,
	        .not_kept = t->not_kept,
	};

	fwrite(&h, sizeof(h), 1, f);
	fwrite(t->kept, sizeof(*t->kept), t->kept_count, f);
	for (uint32_t i = 0; i < t->kernel_count; i++) {
		uint32_t bytes = (uint32_t)strlen(t->kernel[i].name);

		fwrite(&bytes, sizeof(bytes), 1, f);
		fwrite(t->kernel[i].name, 1, bytes, f);
	}
}

/* Writes beside the file and renames, so that nobody ever reads half of one. */
static void write_file(const char *path, bool complete, bool raw)
{
	char temporary[4200];
	FILE *f;
	bool bad;

	snprintf(temporary, sizeof(temporary), "%s.part", path);
	f = fopen(temporary, "we");
	if (!f) {
		fprintf(stderr, "cupti truth: %s: %s\n", temporary, strerror(errno));
		return;
	}
	if (raw)
		write_raw(f);
	else
		write_json(f, complete);
	bad = ferror(f);
	bad |= fclose(f) != 0;
	if (bad || rename(temporary, path))
		fprintf(stderr, "cupti truth: %s: %s\n", path, strerror(errno));
}

void write_truth(bool complete)
{
	if (complete) {
		pthread_mutex_lock(&truth.lock);
		tally_find_untrue(&truth.tally);
		pthread_mutex_unlock(&truth.lock);
	}
	if (complete && truth.raw[0])
		write_file(truth.raw, true, true);
	write_file(truth.out, complete, false);
}
