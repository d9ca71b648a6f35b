/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "shim/core/format/seal.h"
#include "tests/unit/recording.h"

static void fail(const char *what)
{
	fprintf(stderr, "recording for tests: %s\n", what);
	abort();
}

static uint64_t made_alloc(struct tf_map *map, uint64_t bytes)
{
	struct made *m = (struct made *)map;
	uint64_t offset = (tf_header(map)->alloc_end + 63) / 64 * 64;

	bytes = (bytes + 63) / 64 * 64; /* as the shim's own */
	if (offset + bytes > m->room)
		fail("no room");
	map->size = tf_header(map)->alloc_end = offset + bytes;
	return offset;
}

struct tf_header *made_header(struct made *m)
{
	return tf_header(&m->map);
}

static void table(struct tf_table *t, uint32_t entry_bytes, uint32_t page_entries)
{
	t->entry_bytes = entry_bytes;
	t->page_entries = page_entries;
	t->max = page_entries * TF_TABLE_PAGES;
}

static void *append(struct made *m, struct tf_table *t)
{
	void *entry = tf_append(&m->map, t);

	if (!entry)
		fail("a table is full");
	return entry;
}

static void areas(struct made *m)
{
	struct tf_header *h = made_header(m);

	h->slices = made_alloc(&m->map, sizeof(struct tf_slices));
	struct tf_slices *slices = tf_at(&m->map, h->slices, sizeof(*slices));
	slices->origin = 1000;
	slices->width = 1000000;
	h->works = made_alloc(&m->map, TF_WORKS * sizeof(struct tf_work));
	h->keep = made_alloc(&m->map, sizeof(struct tf_store));
	struct tf_store *keep = tf_at(&m->map, h->keep, sizeof(*keep));
	keep->page_records = 64;
	keep->pages_max = 4;
}

void made_start(struct made *m, uint64_t room, uint32_t calls_most, unsigned flags)
{
	*m = (struct made){.room = room, .calls_most = calls_most};
	m->map.base = calloc(1, room);
	if (!m->map.base)
		fail("no memory");
	m->map.size = sizeof(struct tf_header);
	m->map.alloc = made_alloc;
	struct tf_header *h = made_header(m);
	memcpy(h->magic, TF_MAGIC, sizeof(h->magic));
	h->version = TF_VERSION;
	h->endian = TF_ENDIAN;
	h->header_bytes = sizeof(*h);
	h->record_bytes = sizeof(struct tf_record);
	h->thread_bytes =
	        (uint32_t)(sizeof(struct tf_thread) + calls_most * sizeof(struct tf_call_stat));
	h->hist_bytes = sizeof(struct tf_hist);
	h->classes = SPY_CLASS_COUNT;
	h->state = TF_STATE_OPEN;
	h->clock_kind = TF_CLOCK_TSC;
	h->alloc_end = sizeof(*h);
	h->load = 1000;
	h->window_start = 2001000; /* 1 ms later */
	h->pid = 4711;
	strcpy(h->run_id, "0123456789abcdef");
	strcpy(h->host, "testhost");
	strcpy(h->cudaspy_version, "0.0.0");
	table(&h->calls, sizeof(struct tf_call), 8);
	table(&h->threads, sizeof(uint64_t), 8);
	table(&h->kernels, sizeof(struct tf_kernel), 8);
	table(&h->graphs, sizeof(struct tf_graph), 8);
	table(&h->clocks, sizeof(struct tf_clock_triple), 8);
	table(&h->gaps, sizeof(struct tf_gap), 2);
	table(&h->devices, sizeof(struct tf_device), 2);
	table(&h->libraries, sizeof(struct tf_library), 2);
	table(&h->streams, sizeof(struct tf_stream), 2);
	table(&h->ranges, sizeof(struct tf_nvtx_range), 4);
	table(&h->loops, sizeof(struct tf_loop), TF_LOOPS_MAX);
	table(&h->steps, sizeof(struct tf_step), 64);
	if (flags & MADE_AREAS)
		areas(m);
}

void made_free(struct made *m)
{
	free(m->map.base);
	*m = (struct made){0};
}

uint64_t made_string(struct made *m, const char *text, size_t bytes)
{
	uint64_t offset = made_alloc(&m->map, sizeof(struct tf_string) + bytes + 1);
	struct tf_string *s = tf_at(&m->map, offset, sizeof(*s));

	s->bytes = (uint32_t)bytes;
	memcpy(s->text, text, bytes);
	return offset;
}

void made_clock(struct made *m, uint64_t tick, uint64_t monotonic_ns, uint64_t realtime_ns)
{
	struct tf_clock_triple *c = append(m, &made_header(m)->clocks);

	*c = (struct tf_clock_triple){
	        .tick = tick, .monotonic_ns = monotonic_ns, .realtime_ns = realtime_ns};
	tf_publish(&made_header(m)->clocks);
}

uint16_t made_call(struct made *m, const char *name, enum spy_class cls, enum spy_level level)
{
	struct tf_table *calls = &made_header(m)->calls;
	struct tf_call *c = append(m, calls);

	snprintf(c->name, sizeof(c->name), "%s", name);
	c->cls = (uint8_t)cls;
	c->level = (uint8_t)level;
	tf_publish(calls);
	if (calls->count > m->calls_most)
		fail("too many calls");
	return (uint16_t)(calls->count - 1);
}

uint32_t made_kernel(struct made *m, const char *name)
{
	struct tf_table *kernels = &made_header(m)->kernels;
	struct tf_kernel *k = append(m, kernels);

	k->name = made_string(m, name, strlen(name));
	tf_publish(kernels);
	return kernels->count - 1;
}

uint32_t made_graph(struct made *m, uint64_t handle, uint64_t instantiate_ticks)
{
	struct tf_table *graphs = &made_header(m)->graphs;
	struct tf_graph *g = append(m, graphs);

	g->handle = handle;
	g->instantiate_ticks = instantiate_ticks;
	tf_publish(graphs);
	return graphs->count - 1;
}

uint32_t made_graph_nodes(struct made *m, struct tf_graph_nodes row)
{
	struct tf_header *h = made_header(m);

	if (!h->graph_nodes) {
		h->graph_nodes = made_alloc(&m->map, sizeof(struct tf_table));
		table(tf_at(&m->map, h->graph_nodes, sizeof(struct tf_table)),
		      sizeof(struct tf_graph_nodes), 8);
	}
	struct tf_table *nodes = tf_at(&m->map, h->graph_nodes, sizeof(*nodes));
	struct tf_graph_nodes *to = append(m, nodes);
	*to = row;
	tf_publish(nodes);
	return nodes->count;
}

void made_device(struct made *m, const char *name, bool simulated)
{
	struct tf_table *devices = &made_header(m)->devices;
	struct tf_device *d = append(m, devices);

	snprintf(d->name, sizeof(d->name), "%s", name);
	d->memory_bytes = 8ull << 30;
	d->simulated = simulated;
	d->index = devices->count;
	tf_publish(devices);
}

void made_gap(struct made *m, enum tf_gap_kind kind, const char *name, uint64_t count)
{
	struct tf_gap *g = append(m, &made_header(m)->gaps);

	snprintf(g->name, sizeof(g->name), "%s", name);
	g->kind = kind;
	g->version = kind == TF_GAP_NEW_ENTRY ? 13000 : 0;
	g->count = count;
	tf_publish(&made_header(m)->gaps);
}

void made_library(struct made *m, enum tf_library_kind kind, const char *path, uint32_t version)
{
	struct tf_library *l = append(m, &made_header(m)->libraries);

	snprintf(l->path, sizeof(l->path), "%s", path);
	l->kind = kind;
	l->version = version;
	tf_publish(&made_header(m)->libraries);
}

struct tf_environment *made_environment(struct made *m, uint32_t devices)
{
	struct tf_environment *e;

	made_header(m)->environment = made_alloc(&m->map, sizeof(*e));
	e = tf_at(&m->map, made_header(m)->environment, sizeof(*e));
	e->state = TF_ENVIRONMENT_READ;
	e->count = devices;
	for (uint32_t i = 0; i < devices && i < TF_ENVIRONMENT_DEVICES; i++) {
		e->devices[i].index = i;
		snprintf(e->devices[i].bus_id, sizeof(e->devices[i].bus_id), "0000:%02X:00.0", i);
		snprintf(e->devices[i].uuid, sizeof(e->devices[i].uuid), "GPU-%u", i);
	}
	return e;
}

void made_told(struct tf_reading *r, enum spy_environment what, uint64_t value, uint64_t tick)
{
	r->tick = tick;
	r->known |= 1ull << what;
	r->value[what] = value;
}

uint64_t made_ring(struct made *m, uint64_t records)
{
	uint64_t offset =
	        made_alloc(&m->map, sizeof(struct tf_ring) + records * sizeof(struct tf_record));
	struct tf_ring *ring = tf_at(&m->map, offset, sizeof(*ring));

	ring->capacity = records;
	return offset;
}

struct tf_thread *made_thread(struct made *m, uint64_t tid, const char *name, uint64_t ring_records)
{
	struct tf_header *h = made_header(m);
	uint64_t *entry = append(m, &h->threads);

	*entry = made_alloc(&m->map, h->thread_bytes);
	tf_publish(&h->threads);
	struct tf_thread *t = tf_at(&m->map, *entry, h->thread_bytes);
	t->tid = tid;
	t->birth = h->window_start;
	memcpy(t->name, name,
	       strnlen(name, sizeof(t->name))); /* without a NUL when it is full, as the kernel's */
	t->ring_first = made_ring(m, ring_records);
	return t;
}

static uint16_t index_of(struct made *m, const struct tf_thread *t)
{
	const struct tf_table *threads = &made_header(m)->threads;
	uint16_t i = 0;

	while (tf_at(&m->map, *(uint64_t *)tf_entry(&m->map, threads, i, sizeof(uint64_t)), 8) != t)
		i++;
	return i;
}

static void push(struct made *m, struct tf_thread *t, const struct tf_record *record)
{
	struct tf_ring *ring = tf_at(&m->map, t->ring_first, sizeof(*ring));

	if (ring->head - ring->tail >= ring->capacity) {
		t->lost++;
		return;
	}
	struct tf_record *slot = &ring->slots[ring->head & (ring->capacity - 1)];
	*slot = *record;
	slot->thread = index_of(m, t);
	ring->head++;
}

void made_record(struct made *m, struct tf_thread *t, struct tf_record r)
{
	push(m, t, &r);
}

static void add_failure(struct tf_thread *t, const struct tf_record *r)
{
	for (struct tf_failure *f = t->failures; f < t->failures + TF_FAILURES; f++) {
		if (f->count && (f->call != r->call || f->result != r->result))
			continue;
		f->call = r->call;
		f->result = r->result;
		f->count++;
		return;
	}
}

void made_return(struct made *m, struct tf_thread *t, struct tf_record r)
{
	struct tf_call *call = tf_entry(&m->map, &made_header(m)->calls, r.call, sizeof(*call));
	struct tf_call_stat *s = &t->calls[r.call];
	uint64_t ticks = r.end - r.start;

	s->calls++;
	s->failed += r.result != 0;
	s->sum_ticks += ticks;
	if (ticks > s->max_ticks)
		s->max_ticks = ticks;
	if (r.result)
		add_failure(t, &r);
	else if (r.flags & TF_CAPTURED)
		t->captured[call->cls]++;
	else
		t->items[call->cls]++;
	if (!t->first_call)
		t->first_call = r.start;
	if (r.end > t->last_return)
		t->last_return = r.end;
	push(m, t, &r);
}

void made_own(struct made *m, struct tf_thread *t, uint64_t start, uint64_t end)
{
	struct tf_record r = {.call = TF_CALL_OWN, .start = start, .end = end};

	t->sample_ticks += end - start;
	push(m, t, &r);
}

static struct tf_kernel_stat *kernel_stat(struct made *m, struct tf_thread *t, uint32_t kernel)
{
	uint32_t *page = &t->kernel_pages[kernel / TF_KERNEL_PAGE];
	uint64_t bytes = TF_KERNEL_PAGE * sizeof(struct tf_kernel_stat);

	if (!*page)
		*page = (uint32_t)(made_alloc(&m->map, bytes) / 64);
	return (struct tf_kernel_stat *)tf_at(&m->map, (uint64_t)*page * 64, bytes) +
	       kernel % TF_KERNEL_PAGE;
}

void made_launch(struct made *m, struct tf_thread *t, uint16_t call, uint32_t kernel,
                 uint32_t grid_x, uint64_t start, uint64_t end)
{
	struct tf_record r = {.start = start, .end = end, .call = call};
	struct tf_kernel_stat *s = kernel_stat(m, t, kernel);

	r.launch.kernel = kernel;
	r.launch.grid_x = grid_x;
	r.launch.grid_y = r.launch.grid_z = r.launch.block_y = r.launch.block_z = 1;
	r.launch.block_x = 256;
	r.launch.items = 1;
	if (!s->launches++)
		s->first_ticks = end - start;
	s->sum_ticks += end - start;
	if (end - start > s->max_ticks)
		s->max_ticks = end - start;
	made_return(m, t, r);
	/* As the shim has it: of a kernel that has figures of its own. */
	t->items[SPY_CLASS_LAUNCH]--;
	t->launches++;
}

void made_copy(struct made *m, struct tf_thread *t, uint16_t call, enum spy_direction direction,
               enum spy_memory memory, bool async, uint64_t bytes, uint64_t start, uint64_t end)
{
	struct tf_record r = {.start = start, .end = end, .call = call};
	struct tf_copy_stat *s = &t->copies[TF_COPY_KIND(direction, memory, async)];

	r.copy.bytes = bytes;
	r.copy.items = 1;
	r.copy.direction = (uint8_t)direction;
	r.copy.memory = (uint8_t)memory;
	r.copy.async = async;
	s->count++;
	s->bytes += bytes;
	s->sum_ticks += end - start;
	if (end - start > s->max_ticks)
		s->max_ticks = end - start;
	made_return(m, t, r);
}

void made_close(struct made *m, uint64_t tick)
{
	made_header(m)->state = TF_STATE_CLOSED;
	made_header(m)->closed = made_header(m)->last_seen = tick;
	seal_break(&m->map); /* tests go on changing it */
}

void made_seal(struct made *m)
{
	seal_begin(&m->map);
	if (!seal_make(&m->map, NULL))
		fail("cannot be sealed");
}

uint64_t made_bytes(const struct made *m)
{
	return tf_header(&m->map)->alloc_end;
}

void made_write(const struct made *m, const char *path)
{
	FILE *f = fopen(path, "w");

	tf_header(&m->map)->file_end = made_bytes(m);
	if (!f || fwrite(m->map.base, 1, made_bytes(m), f) != made_bytes(m) || fclose(f))
		fail("cannot write");
}

void made_sample(struct made *m, unsigned flags)
{
	static const char command[] = "python3\0train.py\0--name=a b";
	struct tf_header *h;

	made_start(m, 4u << 20, 8, flags);
	h = made_header(m);
	h->command = made_string(m, command, sizeof(command) - 1);
	h->driver_version = 13000;
	h->span_ticks_x1024 = 80 * 1024; /* 40 ns */
	h->collector_cpu_ns = 500000;
	h->gpu_mode = TF_GPU_SAMPLE;
	h->first_call_ticks = 1000000;
	made_clock(m, 0, 1000000000, 1755767727123000000);
	made_clock(m, 400000000, 1200000000, 1755767727323000000); /* 0.5 ns a tick */
	uint16_t launch = made_call(m, "cudaLaunchKernel", SPY_CLASS_LAUNCH, SPY_LEVEL_RUNTIME);
	uint16_t copy = made_call(m, "cudaMemcpyAsync", SPY_CLASS_COPY, SPY_LEVEL_RUNTIME);
	uint16_t sync = made_call(m, "cudaStreamSynchronize", SPY_CLASS_SYNC, SPY_LEVEL_RUNTIME);
	uint16_t alloc = made_call(m, "cudaMalloc", SPY_CLASS_ALLOC, SPY_LEVEL_RUNTIME);
	uint16_t replay =
	        made_call(m, "cudaGraphLaunch", SPY_CLASS_GRAPH_LAUNCH, SPY_LEVEL_RUNTIME);
	uint16_t init = made_call(m, "cuInit", SPY_CLASS_CONTEXT, SPY_LEVEL_DRIVER);
	h->first_call = init + 1u;
	made_kernel(m, "");
	uint32_t add = made_kernel(m, "_Z10vector_addIfEvPKT_S2_PS0_i");
	uint32_t scale = made_kernel(m, "scale");
	uint32_t graph = made_graph(m, 0x7f00beef, 4000000);
	made_device(m, "Simulated GPU 0", true);
	made_gap(m, TF_GAP_NEW_ENTRY, "cuFutureCall", 3);
	made_library(m, TF_LIBRARY_RUNTIME, "/usr/lib/libcudart.so.13", 13000);

	struct tf_thread *main_thread = made_thread(m, 4711, "python3", 64);
	struct tf_thread *worker = made_thread(m, 4712, "worker", 16);
	uint64_t tick = h->window_start;
	for (uint32_t i = 0; i < 20; i++, tick += 20000)
		made_launch(m, main_thread, launch, i % 4 ? add : scale, i % 2 ? 64 : 128, tick,
		            tick + 8000);
	made_copy(m, main_thread, copy, SPY_DIR_HTOD, SPY_MEM_PAGEABLE, true, 1 << 20, tick,
	          tick + 200000);
	made_copy(m, main_thread, copy, SPY_DIR_DTOH, SPY_MEM_PINNED, true, 4096, tick + 300000,
	          tick + 304000);
	struct tf_record r = {.start = tick + 400000, .end = tick + 2400000, .call = sync};
	made_return(m, main_thread, r);
	r = (struct tf_record){.start = tick + 2500000, .end = tick + 2500600, .call = replay};
	r.graph.graph = graph;
	r.graph.handle = 0x7f00beef;
	made_return(m, main_thread, r);
	for (uint32_t i = 0; i < 5; i++) {
		r = (struct tf_record){.start = 3001000 + i * 1000,
		                       .end = 3001400 + i * 1000,
		                       .call = alloc,
		                       .result = i == 4 ? 2 : 0};
		made_return(m, worker, r);
	}
	worker->death = 4001000;
	made_close(m, 10001000);
}
