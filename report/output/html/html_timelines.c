/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stretches of the run that are drawn call by call: the longest steps, one like most, the last; of
 * runs without steps the last calls. And of more steps what the host and the GPU did in them.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/output/html/html_page.h"
#include "report/output/html/html_placed.h"

#define MOST_CALLS     12000u /* of all that are drawn */
#define MOST_OF_ONE    4000u
#define MOST_OUTLIERS  12u
#define MOST_COLUMNS   60u /* steps whose time is divided */
#define WITHOUT_STEPS  1200u
#define MOST_PROCESSES 4u

struct drawn { /* what the stretches of a process have in common */
	const struct model *m;
	const struct call_log *h;
	const struct html_placed *placed;
	uint32_t process;
	size_t left; /* calls that may still be drawn */
	json_t *list;
};

static json_t *work_name(const struct call_log_work *w)
{
	if (w->kernel)
		return json_text(w->kernel);
	if (w->kind != TF_WORK_COPY)
		return json_text(model_work_name(w->kind));
	char *text = alloc_format("copy %s", model_direction_names[w->direction]);
	json_t *name = json_text(text);
	free(text);
	return name;
}

/* The number of a name in a list of them, which grows: an index of the recording's, or
 * CALL_LOG_NONE.
 */
static json_t *number_of(uint32_t *numbers, uint32_t index, json_t *names, json_t *name)
{
	if (numbers[index] == CALL_LOG_NONE) {
		numbers[index] = (uint32_t)json_array_size(names);
		json_push(names, name);
	} else {
		json_decref(name);
	}
	return json_count(numbers[index]);
}

static uint32_t *no_numbers(size_t count)
{
	uint32_t *numbers = alloc_zeroed(count + 1, sizeof(*numbers));

	memset(numbers, 0xff, (count + 1) * sizeof(*numbers));
	return numbers;
}

static json_t *call_name(const struct call_log_call *c)
{
	json_t *pair = json_array();

	json_push(pair, json_text(c->name));
	json_push(pair, json_text(model_class_names[c->cls]));
	return pair;
}

static json_t *thread_name(const struct call_log_thread *t)
{
	char *text = t->name[0] ? alloc_format("%.*s (%llu)", (int)sizeof(t->name), t->name,
	                                       (unsigned long long)(t->tid & UINT32_MAX))
	                        : alloc_format("%llu", (unsigned long long)(t->tid & UINT32_MAX));
	json_t *name = json_text(text);

	free(text);
	return name;
}

static json_t *stream_name(const struct call_log_stream *s)
{
	char *text = s->handle > 2 ? alloc_format("GPU %u, stream %llx", s->device,
	                                          (unsigned long long)s->handle)
	                           : alloc_format("GPU %u, default stream", s->device);
	json_t *name = json_text(text);

	free(text);
	return name;
}

/* thread, call, start, duration */
static void put_calls(json_t *o, const struct call_log *h, size_t first, size_t last, double from)
{
	uint32_t *calls = no_numbers(h->call_count), *threads = no_numbers(h->thread_count);
	json_t *rows = json_array(), *call_names = json_array(), *thread_names = json_array();

	for (size_t i = first; i < last; i++) {
		const struct call_event *e = &h->call_events[i];
		json_push(rows, number_of(threads, e->thread, thread_names,
		                          thread_name(&h->threads[e->thread])));
		json_push(rows,
		          number_of(calls, e->call, call_names, call_name(&h->calls[e->call])));
		json_push(rows, json_ns(e->start - from));
		json_push(rows, json_ns(e->end - e->start));
	}
	json_put(o, "calls", rows);
	json_put(o, "call_names", call_names);
	json_put(o, "threads", thread_names);
	free(calls);
	free(threads);
}

/* stream, work, start, duration, the number of the call that gave it, from 0, or -1; enum
 * html_timed */
static void put_work(json_t *o, const struct drawn *d, size_t first, size_t last, double from,
                     double until)
{
	const struct call_log *h = d->h;
	uint32_t *works = no_numbers(h->work_count), *streams = no_numbers(h->stream_count);
	json_t *rows = json_array(), *names = json_array(), *stream_names = json_array();
	size_t count = 0;

	for (size_t i = 0; i < d->placed->count && count < MOST_OF_ONE; i++) {
		const struct html_piece *piece = &d->placed->pieces[i];
		const struct call_event *e = &h->call_events[piece->by];
		if (piece->end < from || piece->start > until || e->work == CALL_LOG_NONE)
			continue;
		bool here = piece->by >= first && piece->by < last;
		json_push(rows, number_of(streams, e->stream, stream_names,
		                          stream_name(&h->streams[e->stream])));
		json_push(rows, number_of(works, e->work, names, work_name(&h->works[e->work])));
		json_push(rows, json_ns(piece->start - from));
		json_push(rows, json_ns(piece->end - piece->start));
		json_push(rows, here ? json_count(piece->by - first) : json_integer(-1));
		json_push(rows, json_integer(piece->timed));
		count++;
	}
	json_put(o, "work", rows);
	json_put(o, "work_names", names);
	json_put(o, "streams", stream_names);
	free(works);
	free(streams);
}

/* Between two times; `why` it was chosen. */
static void draw(struct drawn *d, const char *why, double start, double end)
{
	const struct call_log *h = d->h;
	size_t first = call_log_at(h, start), last = call_log_at(h, end);
	size_t room = d->left < MOST_OF_ONE ? d->left : MOST_OF_ONE, all = last - first;

	if (last <= first || !room)
		return;
	bool cut = all > room;
	if (cut) {
		last = first + room;
		end = h->call_events[last].start;
	}
	json_t *o = json_object();
	json_put(o, "process", json_count(d->process));
	json_put(o, "why", json_text(why));
	json_put(o, "start_ns", json_ns(start));
	json_put(o, "duration_ns", json_ns(end - start));
	json_put(o, "calls_of", json_count(all));
	put_calls(o, h, first, last, start);
	put_work(o, d, first, last, start, end);
	json_push(d->list, o);
	d->left -= last - first;
}

static bool is_kept(const struct call_log *h, const struct model_step *s)
{
	return s->start >= h->from && s->start + s->duration <= h->until;
}

static int by_length(const void *a, const void *b)
{
	const struct model_step *x = *(struct model_step *const *)a,
	                        *y = *(struct model_step *const *)b;

	return x->duration < y->duration ? -1 : x->duration > y->duration;
}

/* The steps of a process whose calls are kept, by their length (free them). */
static const struct model_step **kept_steps(const struct model *view, uint32_t process,
                                            const struct call_log *h, size_t *count)
{
	const struct model_steps_figures *f = &view->steps;
	const struct model_step **kept =
	        alloc_zeroed(f->judged + 1, sizeof(const struct model_step *));

	*count = 0;
	for (size_t i = 0; i < f->judged; i++)
		if (f->rows[i].process == process && is_kept(h, &f->rows[i]))
			kept[(*count)++] = &f->rows[i];
	if (*count)
		qsort(kept, *count, sizeof(const struct model_step *), by_length);
	return kept;
}

/* The first of them that is long enough to be an outlier of what was judged. */
static bool is_long(const struct model_steps_figures *f, const struct model_step *s)
{
	return f->outlier_count && s->duration >= f->outliers[f->outlier_count - 1].duration;
}

static void draw_steps(struct drawn *d, const struct model *view, const struct model_step **kept,
                       size_t count)
{
	const struct model_step *middle = kept[count / 2], *last = kept[0];

	for (size_t i = 0; i < count; i++)
		last = kept[i]->start > last->start ? kept[i] : last;
	draw(d, "median", middle->start, middle->start + middle->duration);
	if (last != middle && last != kept[count - 1])
		draw(d, "last", last->start, last->start + last->duration);
	for (size_t i = count; i-- > 0 && i + MOST_OUTLIERS >= count;)
		if (kept[i] != middle && kept[i] != last &&
		    (is_long(&view->steps, kept[i]) || i == count - 1))
			draw(d, is_long(&view->steps, kept[i]) ? "outlier" : "longest",
			     kept[i]->start, kept[i]->start + kept[i]->duration);
	if (kept[0] != middle && kept[0] != last)
		draw(d, "shortest", kept[0]->start, kept[0]->start + kept[0]->duration);
}

/* What the calls between two times took by class: where threads overlap, the one that began first.
 */
static void divide(const struct call_log *h, double start, double end, double by[SPY_CLASS_COUNT])
{
	double at = start;

	memset(by, 0, SPY_CLASS_COUNT * sizeof(*by));
	for (size_t i = call_log_at(h, start); i < h->count && h->call_events[i].start < end; i++) {
		const struct call_event *e = &h->call_events[i];
		double from = fmax(at, e->start), until = fmin(end, e->end);
		if (until <= from)
			continue;
		by[e->cls] += until - from;
		at = until;
	}
}

static int in_time(const void *a, const void *b)
{
	const struct model_step *x = *(struct model_step *const *)a,
	                        *y = *(struct model_step *const *)b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* process, start, duration, busy, then by class */
static void divide_steps(const struct drawn *d, json_t *rows, const struct model_step **kept,
                         size_t count)
{
	size_t every = (count + MOST_COLUMNS - 1) / MOST_COLUMNS;
	double by[SPY_CLASS_COUNT];

	qsort(kept, count, sizeof(const struct model_step *), in_time);
	for (size_t i = 0; i < count; i += every) {
		double start = kept[i]->start, end = start + kept[i]->duration;
		json_t *row = json_array();
		divide(d->h, start, end, by);
		json_push(row, json_count(d->process));
		json_push(row, json_ns(start));
		json_push(row, json_ns(end - start));
		json_push(row, json_ns(d->placed->count && d->m->gpu.measured
		                               ? html_busy(d->placed, start, end)
		                               : NAN));
		for (int k = 0; k < SPY_CLASS_COUNT; k++)
			json_push(row, json_ns(by[k]));
		json_push(rows, row);
	}
}

static void draw_process(json_t *list, json_t *rows, const struct model *m,
                         const struct model *view, uint32_t process, size_t room)
{
	const struct call_log *h = &m->processes[process].call_log;
	struct drawn d = {.m = m, .h = h, .process = process, .left = room, .list = list};
	struct html_placed placed;
	size_t count;

	if (!h->count)
		return;
	html_place(&placed, &m->processes[process]);
	d.placed = &placed;
	const struct model_step **kept = kept_steps(view, process, h, &count);
	if (count) {
		draw_steps(&d, view, kept, count);
		divide_steps(&d, rows, kept, count);
	} else {
		size_t first = h->count > WITHOUT_STEPS ? h->count - WITHOUT_STEPS : 0;
		draw(&d, "last calls", h->call_events[first].start,
		     h->call_events[h->count - 1].end);
	}
	free(kept);
	html_placed_free(&placed);
}

void html_put_timelines(json_t *extra, const struct model *m, const struct analysis *a)
{
	json_t *list = json_array(), *rows = json_array(), *classes = json_array();
	size_t processes = m->process_count < MOST_PROCESSES ? m->process_count : MOST_PROCESSES;

	for (size_t i = 0; i < processes; i++)
		draw_process(list, rows, m, a->of, (uint32_t)i, MOST_CALLS / processes);
	for (int k = 0; k < SPY_CLASS_COUNT; k++)
		json_push(classes, json_text(model_class_names[k]));
	json_put(extra, "timelines", list);
	json_put(extra, "step_classes", classes);
	json_put(extra, "step_rows", rows);
}
