/* SPDX-License-Identifier: Apache-2.0 */
/* Which recordings are whole, and what each kind of damage is told by. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/gate/figures.h"
#include "tests/unit/recording.h"
#include "tests/unit/render.h"
#include "tests/unit/unit.h"

static struct made made;

static int set_up(void **state)
{
	made_sample(&made, MADE_AREAS);
	made_header(&made)->file_end = made_bytes(&made);
	return 0;
}

static int tear_down(void **state)
{
	made_free(&made);
	return 0;
}

static void kill_it(void)
{
	struct tf_header *h = made_header(&made);

	h->state = TF_STATE_OPEN;
	h->closed = 0;
	h->seal.state = 0;
	h->last_seen = 400000000;
}

static struct tf_thread *thread(uint32_t i)
{
	uint64_t *at = tf_entry(&made.map, &made_header(&made)->threads, i, sizeof(*at));

	return tf_at(&made.map, *at, made_header(&made)->thread_bytes);
}

/* The damage of the first `bytes` bytes, in `to`; "" = it is whole. */
static const char *damage_of(size_t bytes)
{
	static char to[4096];
	struct model m;

	assert_true(render_model(&m, made.map.base, bytes));
	snprintf(to, sizeof(to), "%s", m.processes[0].damage ? m.processes[0].damage : "");
	model_free(&m);
	return to;
}

static void damaged(const char *how)
{
	const char *damage = damage_of(made_bytes(&made));

	if (!strstr(damage, how))
		fail_msg("\"%s\" is not in \"%s\"", how, damage);
}

static void whole(void)
{
	assert_string_equal(damage_of(made_bytes(&made)), "");
}

static void test_sealed(void **state)
{
	made_seal(&made);
	whole();
	thread(0)->calls[0].calls--;
	damaged("the digest that was made at its end");
}

static void test_closed_without_a_seal_that_holds(void **state)
{
	whole(); /* its process ended while it made one, or went on afterwards */
	made_header(&made)->seal.state = 0;
	damaged("digest");
}

static void test_killed(void **state)
{
	kill_it();
	whole();
	assert_non_null(strstr(damage_of(made_bytes(&made) - 1), "cut short"));
	made_header(&made)->file_end += 4096;
	damaged("cut short");
}

/* All of what was reserved, or a copy of what was handed out; nothing between. */
static void test_lengths_of_closed_ones(void **state)
{
	made_header(&made)->file_end = made_bytes(&made) + 8192;
	made_seal(&made);
	whole();
	assert_string_equal(damage_of(made_bytes(&made) + 8192), "");
	assert_string_equal(damage_of(made_bytes(&made) + 9000), "");
	assert_non_null(strstr(damage_of(made_bytes(&made) + 8191), "cut short"));
	assert_non_null(strstr(damage_of(made_bytes(&made) + 1), "cut short"));
	assert_non_null(strstr(damage_of(made_bytes(&made) - 1), "cut short"));
}

static uint64_t *entry_of_threads(uint32_t i)
{
	return tf_entry(&made.map, &made_header(&made)->threads, i, sizeof(uint64_t));
}

/* What a page that is zeroed, repeated or exchanged, or an offset, comes to. */
static void test_structure(void **state)
{
	struct tf_header *h = made_header(&made);
	struct tf_thread *t = thread(0);
	struct tf_kernel *k = tf_entry(&made.map, &h->kernels, 1, sizeof(*k));
	struct tf_kernel *other = tf_entry(&made.map, &h->kernels, 2, sizeof(*k));
	struct tf_call *c = tf_entry(&made.map, &h->calls, 0, sizeof(*c));
	struct tf_ring *ring = tf_at(&made.map, t->ring_first, sizeof(*ring));
	const struct {
		void *at;
		size_t bytes;
		uint64_t value;
		const char *how;
	} rows[] = {
	        {&h->state, 4, 7, "the state of the recording is unknown (7)"},
	        {&h->alloc_end, 8, 64, "the sizes in its header do not agree"},
	        {&h->alloc_end, 8, UINT64_MAX / 2, "cut short"},
	        {&h->calls.entry_bytes, 4, 0, "the table of calls is damaged"},
	        {&h->graphs.page_entries, 4, 0, "the table of graphs is damaged"},
	        {&h->calls.pages[0], 8, 0, "entries of the table of calls are not in the file"},
	        {&h->kernels.count, 4, 1000000, "the table of kernels says"},
	        {&h->streams.pages[5], 8, 1u << 30, "pages of tables are missing or damaged: 1"},
	        {&h->streams.pages[5], 8, h->keep, "lie over"},
	        {&h->works, 8, 0, "areas are missing"},
	        {&h->works, 8, h->slices, "lie over one another"},
	        {&h->keep, 8, 1ull << 60, "areas are missing"},
	        {&h->keep, 8, h->keep + 1, "areas are missing"},
	        {&h->graph_nodes, 8, 1ull << 60, "the table of nodes of graphs is not in the file"},
	        {&h->graph_nodes, 8, 64, "the table of nodes of graphs is not in the file"},
	        {&h->graph_nodes, 8, h->keep, "the table of nodes of graphs is damaged"},
	        {&h->command, 8, 1ull << 60, "texts are missing"},
	        {entry_of_threads(0), 8, 0, "threads are missing or damaged: 1"},
	        {entry_of_threads(0), 8, *entry_of_threads(1), "threads lie over one another"},
	        {entry_of_threads(0), 8, made_bytes(&made), "threads that are not in the file"},
	        {&t->tid, 8, 0, "threads are missing"},
	        {&t->ring_first, 8, 0, "rings of records are missing"},
	        {&ring->capacity, 8, 63, "rings of records are missing"},
	        {&ring->next, 8, 12345, "rings of records are missing"},
	        {&ring->tail, 8, 1000000, "rings of records are missing"},
	        {&t->kernel_pages[0], 4, UINT32_MAX, "counts of kernels are missing"},
	        {&t->kernel_pages[3], 4, t->kernel_pages[0],
	         "counts of kernels lie over one another"},
	        {&c->name, 8, 0, "pages of tables are missing"},
	        {&c->cls, 1, 77, "pages of tables are missing"},
	        {&c->hist, 8, h->works, "distributions"},
	        {&k->name, 8, 0, "names of kernels are missing"},
	        {&k->name, 8, other->name, "names of kernels lie over one another"},
	};

	kill_it();
	whole();
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t before = 0;
		size_t bytes = made_bytes(&made);
		memcpy(&before, rows[i].at, rows[i].bytes);
		memcpy(rows[i].at, &rows[i].value, rows[i].bytes);
		const char *damage = damage_of(bytes);
		if (!strstr(damage, rows[i].how))
			fail_msg("row %zu: \"%s\" is not in \"%s\"", i, rows[i].how, damage);
		memcpy(rows[i].at, &before, rows[i].bytes);
	}
	whole();
}

/* Of a killed one: what the drain counted tells of counts that are gone. So it does of a thread
 * that was in a call when the recording was closed, whom the seal leaves out. */
static void counts_are_gone(void)
{
	struct tf_thread *t = thread(0), before = *t;
	struct tf_call_stat call = t->calls[0], failing = t->calls[3];

	whole();
	t->calls[0] = (struct tf_call_stat){0};
	damaged("counted other than their records");
	t->calls[0] = call;
	t->calls[3].failed = failing.calls + 5;
	damaged("its counts of failures do not agree");
	t->calls[3] = failing;
	memset(t->items, 0, sizeof(t->items));
	t->launches = 0;
	memset(t->copies, 0, sizeof(t->copies));
	damaged("counted other than their records");
	memcpy(t->copies, before.copies, sizeof(t->copies));
	damaged("counted other than their records");
	memcpy(t, &before, sizeof(before));
	struct tf_kernel_stat *page = tf_at(&made.map, t->kernel_pages[0] * 64ull, 4096);
	uint64_t launches = page[1].launches;
	page[1].launches = 0;
	damaged("counted other than their records");
	page[1].launches = launches;
	whole();
}

static void test_counts_of_a_thread_in_a_call(void **state)
{
	struct tf_thread *t = thread(0);

	t->in_call = 1;
	made_seal(&made);
	assert_int_equal(t->unsealed, 1);
	counts_are_gone();
}

/* Up to 64 records may have been counted twice when the collector was killed. */
static void test_counts_of_a_killed_one(void **state)
{
	struct tf_thread *t = thread(0);
	uint16_t sync = 2;

	kill_it();
	whole();
	t->calls[sync].calls = 0;
	whole();
	struct tf_record r = {.start = 5000000, .end = 5000100, .call = sync};
	uint64_t ring = t->ring_first;
	t->ring_first = made.map.alloc(&made.map, sizeof(struct tf_ring) + 128 * 64);
	((struct tf_ring *)tf_at(&made.map, t->ring_first, 64))->capacity = 128;
	((struct tf_ring *)tf_at(&made.map, t->ring_first, 64))->next = ring;
	for (int i = 0; i < 100; i++)
		made_record(&made, t, r);
	made_header(&made)->file_end = made_bytes(&made);
	damaged("counted other than their records");
	t->calls[sync].calls = 101;
	whole();
}

/* What the drain had not taken may be no call. */
static void test_records_that_are_no_calls(void **state)
{
	struct tf_record r = {.start = 5000000, .end = 5000100, .thread = 9};
	struct tf_ring *ring = tf_at(&made.map, thread(0)->ring_first, sizeof(*ring));

	kill_it();
	for (uint32_t call = TF_CALL_LEAST; call <= UINT16_MAX; call++) {
		ring->slots[ring->head & (ring->capacity - 1)] = r;
		ring->slots[ring->head++ & (ring->capacity - 1)].call = (uint16_t)call;
		whole();
	}
	ring->slots[ring->head & (ring->capacity - 1)] = r;
	ring->slots[ring->head++ & (ring->capacity - 1)].call = TF_CALL_LEAST - 1;
	damaged("records are missing");
}

static void test_ended(void **state)
{
	static const struct {
		uint64_t by;
		const char *how;
	} rows[] = {{TF_LEFT_EXIT, "ended by _exit()"},
	            {TF_LEFT_QUICK_EXIT, "ended by quick_exit()"},
	            {TF_LEFT_EXEC, "ended by becoming another program"},
	            {77, "ended without its exit handlers"}};
	struct rendered r;

	kill_it();
	made_header(&made)->left = 400000001;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		made_header(&made)->left_by = rows[i].by;
		assert_true(render(&r, made.map.base, made_bytes(&made)));
		assert_non_null(strstr(r.text, rows[i].how));
		assert_non_null(strstr(r.json, "\"state\": \"ended\""));
		assert_null(strstr(r.text, "killed"));
		rendered_free(&r);
	}
}

/* What a report says of a damaged one, and of one that is not. */
static void test_said(void **state)
{
	struct rendered r;

	made_seal(&made);
	assert_true(render(&r, made.map.base, made_bytes(&made)));
	assert_non_null(strstr(r.text, "state       complete"));
	assert_non_null(strstr(r.text, "lost        nothing"));
	assert_non_null(strstr(r.json, "\"damaged\": null"));
	rendered_free(&r);
	assert_true(render(&r, made.map.base, 300000));
	assert_non_null(strstr(r.text, "state       damaged: the file is cut short: 300000 of "));
	assert_non_null(strstr(r.text, "lost        not known"));
	assert_null(strstr(r.text, "nothing:"));
	assert_null(strstr(r.text, "are exact"));
	assert_non_null(strstr(r.json, "\"damaged\": \"process 4711: the file is cut short"));
	assert_non_null(strstr(r.json, "\"state\": \"complete\""));
	rendered_free(&r);
}

static void test_figures_say_so(void **state)
{
	struct figures f;
	struct model m;

	assert_true(render_model(&m, made.map.base, 300000));
	render_figures(&f, &m);
	assert_non_null(strstr(f.missing, "the recording is damaged: the file is cut short"));
	figures_free(&f);
	model_free(&m);
	assert_true(render_model(&m, made.map.base, made_bytes(&made)));
	render_figures(&f, &m);
	assert_null(f.missing);
	figures_free(&f);
	model_free(&m);
}

static void test_a_range_that_never_opened(void **state)
{
	static const char *const how[] = {[TF_RANGE_PROFILER] = "cuProfilerStart was not called",
	                                  [TF_RANGE_TIME] = "by time"};
	struct tf_header *h = made_header(&made);

	for (h->range_mode = TF_RANGE_PROFILER; h->range_mode <= TF_RANGE_TIME; h->range_mode++) {
		struct figures f;
		struct rendered r;
		struct model m;
		h->range_from = 0;
		assert_true(render_model(&m, made.map.base, made_bytes(&made)));
		assert_true(m.processes[0].never_opened);
		assert_true(isnan(m.window) && isnan(m.startup));
		render_figures(&f, &m);
		assert_non_null(strstr(f.missing, how[h->range_mode]));
		figures_free(&f);
		model_free(&m);
		assert_true(render(&r, made.map.base, made_bytes(&made)));
		assert_non_null(strstr(r.text, "range       its range never opened"));
		assert_non_null(strstr(r.json, "\"range_opened\": false"));
		rendered_free(&r);
		h->range_from = h->window_start;
		assert_true(render_model(&m, made.map.base, made_bytes(&made)));
		assert_false(m.processes[0].never_opened);
		assert_false(isnan(m.window));
		render_figures(&f, &m);
		assert_null(f.missing);
		figures_free(&f);
		model_free(&m);
	}
}

/* What is named is the script, not an option's value nor the interpreter. */
static void test_the_program(void **state)
{
	static const struct {
		const char *command;
		size_t bytes;
		const char *program;
	} runs[] = {
#define RUN(command, program) {command, sizeof(command) - 1, program}
	        RUN("./train", "train"),
	        RUN("python3\0train.py\0-W", "train.py"),
	        RUN("/usr/bin/python3.12\0-W\0ignore\0-u\0/a/b.py", "b.py"),
	        RUN("python\0-X\0dev\0-m\0pkg.train", "pkg.train"),
	        RUN("python3\0-c\0print()", NULL),
	        RUN("./python_sim\0x", "python_sim"),
	        RUN("/my project/vadd\0--size=3", "vadd"),
	        RUN("python3", NULL),
#undef RUN
	};

	for (size_t i = 0; i < sizeof(runs) / sizeof(runs[0]); i++) {
		struct model m;
		struct figures f;
		made_header(&made)->command = made_string(&made, runs[i].command, runs[i].bytes);
		assert_true(render_model(&m, made.map.base, made_bytes(&made)));
		render_figures(&f, &m);
		if (runs[i].program)
			assert_string_equal(f.program, runs[i].program);
		else
			assert_null(f.program);
		figures_free(&f);
		model_free(&m);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test_setup_teardown(test_sealed, set_up, tear_down),
	        cmocka_unit_test_setup_teardown(test_closed_without_a_seal_that_holds, set_up,
	                                        tear_down),
	        cmocka_unit_test_setup_teardown(test_killed, set_up, tear_down),
	        cmocka_unit_test_setup_teardown(test_lengths_of_closed_ones, set_up, tear_down),
	        cmocka_unit_test_setup_teardown(test_structure, set_up, tear_down),
	        cmocka_unit_test_setup_teardown(test_counts_of_a_thread_in_a_call, set_up,
	                                        tear_down),
	        cmocka_unit_test_setup_teardown(test_counts_of_a_killed_one, set_up, tear_down),
	        cmocka_unit_test_setup_teardown(test_records_that_are_no_calls, set_up, tear_down),
	        cmocka_unit_test_setup_teardown(test_ended, set_up, tear_down),
	        cmocka_unit_test_setup_teardown(test_said, set_up, tear_down),
	        cmocka_unit_test_setup_teardown(test_the_program, set_up, tear_down),
	        cmocka_unit_test_setup_teardown(test_figures_say_so, set_up, tear_down),
	        cmocka_unit_test_setup_teardown(test_a_range_that_never_opened, set_up, tear_down),
	};

	return cmocka_run_group_tests_name("whole", tests, NULL, NULL);
}
