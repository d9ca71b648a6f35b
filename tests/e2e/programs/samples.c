/* SPDX-License-Identifier: Apache-2.0 */
/*
 * samples FILE: what sampling left in a recording, as JSON: the samples by class of work, what
 * threads spent on them, what went wrong. From the table of classes; where that has none, from the
 * records kept one by one.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "shim/core/work/work_class.h"

static struct tf_map map;
static const char *const kinds[TF_WORK_KINDS] = {"none", "kernel", "graph", "copy",
                                                 "set",  "empty",  "null"};
static const char *const directions[] = {
#define XX(id, name) name,
        SPY_DIRECTION_MAP(XX)
#undef XX
};
static const char *const memories[] = {
#define XX(id, name) name,
        SPY_MEMORY_MAP(XX)
#undef XX
};
static const char *const troubles[] = {
#define XX(id, text) #id,
        SPY_ANOMALY_MAP(XX)
#undef XX
};

static struct tf_work found[TF_WORKS];
static uint64_t facts;

static void die(const char *why)
{
	fprintf(stderr, "samples: %s\n", why);
	exit(2);
}

static void open_recording(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) || (size_t)st.st_size < sizeof(struct tf_header))
		die("no recording");
	map.base = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	map.size = (uint64_t)st.st_size;
	close(fd);
	if (map.base == MAP_FAILED || memcmp(tf_header(&map)->magic, TF_MAGIC, 8))
		die("not a recording");
}

static const char *kernel_name(uint32_t kernel)
{
	const struct tf_kernel *k = tf_entry(&map, &tf_header(&map)->kernels, kernel, sizeof(*k));
	const struct tf_string *s = k ? tf_at(&map, k->name, sizeof(*s)) : NULL;

	return s ? s->text : "";
}

static void add(const struct tf_record *r)
{
	struct tf_work key;

	if (r->call == TF_CALL_FACTS)
		facts++;
	if (r->call != TF_CALL_SAMPLE || r->thread >= TF_WORK_KINDS || r->result >= TF_PAIRS)
		return;
	work_key(&key, r->thread, r);
	for (int i = 0; i < (int)TF_WORKS; i++) {
		if (!found[i].kind)
			found[i] = key;
		if (memcmp(&found[i], &key, offsetof(struct tf_work, count)))
			continue;
		found[i].pairs[r->result].count++;
		found[i].pairs[r->result].sum_ns += (double)r->end;
		return;
	}
}

static void add_store(uint64_t offset)
{
	const struct tf_store *s = tf_at(&map, offset, sizeof(*s));
	uint64_t held = s ? s->page_records * s->pages_max : 0;

	for (uint64_t i = 0; s && i < (s->written < held ? s->written : held); i++) {
		uint64_t page = s->pages[i / s->page_records];
		const struct tf_record *r =
		        tf_at(&map, page ? page + i % s->page_records * 64 : 0, 64);

		if (r)
			add(r);
	}
}

static bool add_works(void)
{
	bool any = false;

	const struct tf_work *w = tf_at(&map, tf_header(&map)->works, TF_WORKS * sizeof(*w));

	for (unsigned i = 0; w && i < TF_WORKS; i++) {
		facts += w[i].registers != 0;
		if (!w[i].pairs[0].count && !w[i].pairs[1].count)
			continue;
		found[i] = w[i];
		any = true;
	}
	return any;
}

static void print_class(const struct tf_work *w)
{
	static int printed;
	bool kernel = w->kind == TF_WORK_KERNEL, copy = w->kind == TF_WORK_COPY;

	if (!w->kind)
		return;
	printf("%s{\"kind\": \"%s\", \"kernel\": \"%s\", \"grid\": %u, \"id\": %u, ",
	       printed++ ? ",\n " : "", kinds[w->kind], kernel ? kernel_name(w->id) : "", w->grid_x,
	       w->id);
	printf("\"direction\": \"%s\", \"memory\": \"%s\", \"bytes\": %" PRIu64 ", ",
	       copy ? directions[w->direction] : "", copy ? memories[w->memory] : "",
	       copy || w->kind == TF_WORK_SET ? work_size_floor(w->size) : 0);
	printf("\"idle\": %" PRIu32 ", \"idle_ns\": %.1f, \"busy\": %" PRIu32
	       ", \"busy_ns\": %.1f}",
	       w->pairs[0].count, w->pairs[0].sum_ns, w->pairs[1].count, w->pairs[1].sum_ns);
}

static void print_threads(const struct tf_header *h)
{
	for (uint32_t i = 0; i < tf_count(&h->threads); i++) {
		const uint64_t *at = tf_entry(&map, &h->threads, i, sizeof(*at));
		const struct tf_thread *t = at ? tf_at(&map, *at, h->thread_bytes) : NULL;

		if (t)
			printf("%s{\"samples\": %" PRIu64 ", \"sample_ticks\": %" PRIu64
			       ", \"ticks\": %" PRIu64 "}",
			       i ? ",\n " : "", t->samples, t->sample_ticks,
			       t->last_return - t->first_call);
	}
}

int main(int argc, char **argv)
{
	static const char *const modes[] = {"off", "sample", "cupti"};

	if (argc != 2)
		die("one file");
	open_recording(argv[1]);
	const struct tf_header *h = tf_header(&map);
	if (!add_works()) {
		add_store(h->keep);
		add_store(h->store);
	}
	printf("{\"mode\": \"%s\", \"facts\": %" PRIu64 ",\n\"classes\": [", modes[h->gpu_mode % 3],
	       facts);
	for (unsigned i = 0; i < TF_WORKS; i++)
		print_class(&found[i]);
	printf("],\n\"threads\": [");
	print_threads(h);
	printf("],\n\"trouble\": {");
	for (unsigned i = 0; i < SPY_ANOMALY_COUNT; i++)
		printf("%s\"%s\": %" PRIu64, i ? ", " : "", troubles[i], h->anomaly[i]);
	printf("}}\n");
	return 0;
}
