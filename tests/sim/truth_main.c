/* SPDX-License-Identifier: Apache-2.0 */
/* truth FILE: prints what the simulated driver really did, as JSON. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "tests/sim/truth.h"

static const char *const direction[TRUTH_DIRECTIONS] = {"h2d", "d2h", "d2d", "p2p", "h2h"};

static const struct truth_file *open_truth(const char *path, unsigned *threads)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	const struct truth_file *f;
	struct stat st;
	size_t room;

	if (fd < 0 || fstat(fd, &st) || (size_t)st.st_size < sizeof(*f)) {
		fprintf(stderr, "truth: %s: %s\n", path, errno ? strerror(errno) : "too short");
		return NULL;
	}
	f = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	if (f == MAP_FAILED || f->magic != TRUTH_MAGIC || f->version != TRUTH_VERSION ||
	    f->thread_bytes != sizeof(struct truth_thread)) {
		fprintf(stderr, "truth: %s: not a truth file of this version\n", path);
		return NULL;
	}
	room = ((size_t)st.st_size - sizeof(*f)) / sizeof(struct truth_thread);
	*threads = atomic_load(&f->threads_used);
	if (*threads > room)
		*threads = (unsigned)room;
	return f;
}

/* Adds the counters of `from`, all of which are 64 bits wide. */
static void add(struct truth_totals *to, const struct truth_totals *from)
{
	uint64_t *a = (uint64_t *)to;
	const uint64_t *b = (const uint64_t *)from;

	for (size_t i = 0; i < sizeof(*to) / sizeof(*a); i++)
		a[i] += b[i];
}

static void text(const char *s)
{
	putchar('"');
	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			printf("\\%c", *s);
		else if ((unsigned char)*s < 32)
			printf("\\u%04x", (unsigned)(unsigned char)*s);
		else
			putchar(*s);
	}
	putchar('"');
}

static void print_totals(const struct truth_totals *t)
{
	static const struct {
		const char *name;
		size_t at;
	} row[] = {
#define ROW(field) {#field, offsetof(struct truth_totals, field)}
	        ROW(calls),          ROW(failed),           ROW(launches),   ROW(graph_launches),
	        ROW(graph_kernels),  ROW(graph_copies),     ROW(graph_sets), ROW(pageable_copies),
	        ROW(sets),           ROW(set_bytes),        ROW(syncs),      ROW(sync_wait_ns),
	        ROW(implicit_syncs), ROW(implicit_wait_ns), ROW(own_waits),  ROW(queue_full),
	        ROW(queue_full_ns),  ROW(allocs),           ROW(frees),      ROW(captured),
	        ROW(module_loads),
#undef ROW
	};
	uint64_t copies = 0, bytes = 0;

	printf("\"totals\": {");
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++)
		printf("\"%s\": %" PRIu64 ", ", row[i].name,
		       *(const uint64_t *)((const char *)t + row[i].at));
	for (int d = 0; d < TRUTH_DIRECTIONS; d++) {
		copies += t->copies[d];
		bytes += t->copy_bytes[d];
	}
	printf("\"copies\": %" PRIu64 ", \"copy_bytes\": %" PRIu64 "}", copies, bytes);
	printf(",\n \"copies\": {");
	for (int d = 0; d < TRUTH_DIRECTIONS; d++)
		printf("%s\"%s\": {\"count\": %" PRIu64 ", \"bytes\": %" PRIu64 "}", d ? ", " : "",
		       direction[d], t->copies[d], t->copy_bytes[d]);
	printf("},\n");
}

static void print_apis(const struct truth_file *f, unsigned threads)
{
	bool first = true;

	printf(" \"apis\": {");
	for (unsigned a = 0; a < f->apis && a < TRUTH_APIS; a++) {
		uint64_t calls = 0, failed = 0;

		for (unsigned i = 0; i < threads; i++) {
			calls += f->thread[i].api_calls[a];
			failed += f->thread[i].api_failed[a];
		}
		if (!calls)
			continue;
		printf("%s\n  \"%s\": {\"calls\": %" PRIu64 ", \"failed\": %" PRIu64 "}",
		       first ? "" : ",", f->api_name[a], calls, failed);
		first = false;
	}
	printf("},\n");
}

static void print_kernels(const struct truth_file *f, unsigned threads)
{
	unsigned n = atomic_load(&f->kernels_used);

	printf(" \"kernels\": [");
	for (unsigned k = 0; k < n && k < TRUTH_KERNELS; k++) {
		const struct truth_kernel *kernel = &f->kernel[k];
		uint64_t launches = atomic_load(&kernel->launches);
		uint64_t ns = atomic_load(&kernel->gpu_ns);

		for (unsigned i = 0; i < threads && k < TRUTH_OWN; i++) {
			launches += f->thread[i].kernel_launches[k];
			ns += f->thread[i].kernel_ns[k];
		}
		printf("%s\n  {\"name\": ", k ? "," : "");
		text(kernel->name);
		printf(", \"launches\": %" PRIu64 ", \"gpu_ns\": %" PRIu64
		       ", \"graph_launches\": %" PRIu64 ", \"graph_gpu_ns\": %" PRIu64 "}",
		       launches, ns, atomic_load(&kernel->graph_launches),
		       atomic_load(&kernel->graph_gpu_ns));
	}
	printf("],\n");
}

static void print_devices(const struct truth_file *f)
{
	printf(" \"devices\": [");
	for (unsigned i = 0; i < f->devices && i < TRUTH_DEVICES; i++) {
		const struct truth_device *d = &f->device[i];
		uint64_t span = d->last_end_ns - d->first_start_ns;

		printf("%s\n  {\"index\": %u, \"busy_ns\": %" PRIu64 ", \"idle_ns\": %" PRIu64
		       ", \"first_start_ns\": %" PRIu64 ", \"last_end_ns\": %" PRIu64
		       ", \"kernel_ns\": %" PRIu64 ", \"copy_ns\": %" PRIu64
		       ", \"set_ns\": %" PRIu64 "}",
		       i ? "," : "", i, d->busy_ns, span > d->busy_ns ? span - d->busy_ns : 0,
		       d->first_start_ns, d->last_end_ns, d->kernel_ns, d->copy_ns, d->set_ns);
	}
	printf("],\n");
}

static void print_threads(const struct truth_file *f, unsigned threads)
{
	printf(" \"threads\": [");
	for (unsigned i = 0; i < threads; i++) {
		const struct truth_thread *t = &f->thread[i];
		unsigned in = atomic_load(&t->in_call);

		printf("%s\n  {\"tid\": %d, \"alive\": %s, \"reuses\": %u, \"calls\": %" PRIu64
		       ", \"failed\": %" PRIu64 ", \"launches\": %" PRIu64 ", \"in_call\": ",
		       i ? "," : "", t->tid, atomic_load(&t->state) == 1 ? "true" : "false",
		       t->reuses, t->total.calls, t->total.failed, t->total.launches);
		if (in && in <= f->apis)
			printf("\"%s\"}", f->api_name[in - 1]);
		else
			printf("null}");
	}
	printf("]}\n");
}

int main(int argc, char **argv)
{
	const struct truth_file *f;
	struct truth_totals sum = {0};
	unsigned threads;
	const char *state;

	if (argc != 2) {
		fprintf(stderr, "usage: truth FILE\n");
		return 2;
	}
	f = open_truth(argv[1], &threads);
	if (!f)
		return 2;
	for (unsigned i = 0; i < threads; i++)
		add(&sum, &f->thread[i].total);
	state = atomic_load(&f->state) == TRUTH_FINISHED ? "finished"
	        : kill(f->pid, 0) == 0                   ? "running"
	                                                 : "killed";
	printf("{\"pid\": %d, \"state\": \"%s\", \"inits\": %" PRIu64 ",\n ", f->pid, state,
	       atomic_load(&f->inits));
	print_totals(&sum);
	print_apis(f, threads);
	print_kernels(f, threads);
	print_devices(f);
	print_threads(f, threads);
	return ferror(stdout) || fflush(stdout) ? 2 : 0;
}
