#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/base/alloc.h"
#include "report/gate/baseline.h"
#include "report/cli/commands.h"
#include "report/base/complain.h"
#include "report/gate/figures.h"
#include "report/reader/find.h"

/*
 * What of a folder may belong to the run and is not in its figures: files that cannot be read, and
 * recordings that say they are of another run but are damaged. NULL = nothing (free it).
 */
static char *not_found(const struct find_list *list)
{
	if (list->unreadable_count)
		return alloc_format("%zu of its files cannot be read: %s%s", list->unreadable_count,
		                    list->unreadable[0], list->unreadable_count > 1 ? " ..." : "");
	for (size_t i = 0; i < list->other_count; i++)
		if (recording_is_damaged(list->others[i]))
			return alloc_format("%s is damaged, and may be of this run",
			                    list->others[i]);
	return NULL;
}

static int add_run(struct run_set *s, const char *name, const struct run_set_options *o)
{
	struct find_list list = {0};
	struct model m = {.skip_steps = o->skip_steps, .steps_from = o->steps_from};
	int rc = -1;

	if (!find_recordings(&list, (char *const *)&name, 1) &&
	    !report_read(&m, list.paths, list.count)) {
		ALLOC_ROOM(s->runs, s->count);
		struct figures *f = &s->runs[s->count++];
		figures_take(f, &m);
		f->name = alloc_copy(name, strlen(name));
		if (!f->missing)
			f->missing = not_found(&list);
		rc = 0;
	}
	model_free(&m);
	find_free(&list);
	return rc;
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

	for (size_t i = 0; i < count && !rc; i++) {
		bool there = !stat(names[i], &st[i]);
		for (size_t k = 0; k < i && there && !rc; k++)
			if (st[k].st_ino == st[i].st_ino && st[k].st_dev == st[i].st_dev) {
				complain("%s is named twice: one recording is no repeat of itself",
				         names[i]);
				rc = -1;
			}
		rc = rc ? rc : run_set_add(s, names[i], o);
	}
	free(st);
	return rc;
}
