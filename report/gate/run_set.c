/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "report/base/alloc.h"
#include "report/gate/baseline.h"
#include "report/base/complain.h"
#include "report/base/progress.h"
#include "report/gate/figures.h"

/* Processes of one run, or copies of one recording, tell nothing of how runs differ. */
static void say_if_one_run(const struct run_set *s)
{
	const struct figures *last = &s->runs[s->count - 1];

	for (size_t i = 0; i + 1 < s->count; i++) {
		const struct figures *f = &s->runs[i];
		if (!f->run || !last->run || strcmp(f->run, last->run) != 0)
			continue;
		complain("%s is of the same run as %s: they are no repeats of each other",
		         last->name, f->name);
		return;
	}
}

static bool of_other_programs(const struct figures *a, const struct figures *b)
{
	return a->program && *a->program && b->program && *b->program &&
	       strcmp(a->program, b->program) != 0;
}

static void say_if_other_program(const struct run_set *s)
{
	const struct figures *last = &s->runs[s->count - 1], *first = &s->runs[0];

	if (of_other_programs(first, last))
		complain("%s is of %s, %s of %s: they are no repeats of each other", last->name,
		         last->program, first->name, first->program);
}

void run_sets_say_if_apart(const struct run_set *before, const struct run_set *after)
{
	const struct figures *a = before->runs, *b = after->runs;

	if (before->count && after->count && of_other_programs(a, b))
		complain("%s is of %s, %s of %s: is it the right baseline?", a->name, a->program,
		         b->name, b->program);
}

static int add_run(struct run_set *s, const char *name, const struct run_set_options *o)
{
	struct figures f;

	if (o->load(&f, name, o))
		return -1;
	ALLOC_ROOM(s->runs, s->count);
	s->runs[s->count++] = f;
	say_if_one_run(s);
	say_if_other_program(s);
	return 0;
}

int run_set_add(struct run_set *s, const char *name, const struct run_set_options *o)
{
	return baseline_is(name) ? baseline_load(s, name) : add_run(s, name, o);
}

int run_set_add_all(struct run_set *s, char *const *names, size_t count,
                    const struct run_set_options *o)
{
	struct stat *st = alloc_zeroed(count, sizeof(*st));
	int rc = 0;

	progress_begin();
	for (size_t i = 0; i < count && !rc; i++) {
		progress_stage("%zu of %zu, reading %s", i + 1, count, names[i]);
		bool there = !stat(names[i], &st[i]);
		for (size_t k = 0; k < i && there && !rc; k++)
			if (st[k].st_ino == st[i].st_ino && st[k].st_dev == st[i].st_dev) {
				complain("%s is named twice: one recording is no repeat of itself",
				         names[i]);
				rc = -1;
			}
		rc = rc ? rc : run_set_add(s, names[i], o);
	}
	progress_end();
	free(st);
	return rc;
}
