/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "report/base/alloc.h"
#include "report/base/complain.h"
#include "report/base/file.h"
#include "report/reader/find.h"
#include "report/reader/reader.h"

#define SAID_MOST 5 /* files that cannot be read, one by one */

struct candidate {
	char *path;
	struct recording_id id;
};

struct candidates {
	struct candidate *items;
	size_t count;
};

static void candidates_free(struct candidates *c)
{
	for (size_t i = 0; i < c->count; i++)
		free(c->items[i].path);
	free(c->items);
	*c = (struct candidates){0};
}

static void add_text(char ***list, size_t *count, char *text)
{
	ALLOC_ROOM(*list, *count);
	(*list)[(*count)++] = text;
}

static void add(struct find_list *list, const char *path)
{
	add_text(&list->paths, &list->count, alloc_string(path));
}

static void texts_free(char **list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(list[i]);
	free(list);
}

void find_free(struct find_list *list)
{
	texts_free(list->paths, list->count);
	texts_free(list->unreadable, list->unreadable_count);
	texts_free(list->others, list->other_count);
	*list = (struct find_list){0};
}

static bool ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), m = strlen(end);

	return n > m && !strcmp(text + n - m, end);
}

/*
 * The recordings of a folder: those called *.cudaspy, or all. What is called so and cannot be read
 * goes into `unreadable`, if that is asked for. False when the folder cannot be read.
 */
static bool scan(struct candidates *found, const char *folder, bool any_name,
                 struct find_list *unreadable)
{
	DIR *d = opendir(folder);
	struct dirent *entry;

	if (!d)
		return false;
	while ((entry = readdir(d))) {
		if (entry->d_name[0] == '.' || !(any_name || ends_with(entry->d_name, ".cudaspy")))
			continue;
		char *path = strcmp(folder, ".") ? alloc_format("%s%s%s", folder,
		                                                ends_with(folder, "/") ? "" : "/",
		                                                entry->d_name)
		                                 : alloc_string(entry->d_name);
		struct recording_id id;
		char error[READER_ERROR_BYTES];
		if (!recording_identify(path, &id, error)) {
			ALLOC_ROOM(found->items, found->count);
			found->items[found->count++] = (struct candidate){path, id};
			continue;
		}
		if (unreadable && !file_is_folder(path))
			add_text(&unreadable->unreadable, &unreadable->unreadable_count,
			         alloc_format("%s: %s", path, error));
		free(path);
	}
	closedir(d);
	return true;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Of many, the first few. */
static void say_unreadable(struct find_list *list, size_t from)
{
	size_t count = list->unreadable_count - from;

	if (count)
		qsort(list->unreadable + from, count, sizeof(*list->unreadable), by_text);
	for (size_t i = 0; i < count && i < SAID_MOST; i++)
		complain("left out: %s", list->unreadable[from + i]);
	if (count > SAID_MOST)
		complain("left out: and %zu more", count - SAID_MOST);
}

/* By process, then by name: the order of a report is the same each time. */
static int by_pid(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->id.pid != y->id.pid)
		return x->id.pid < y->id.pid ? -1 : 1;
	return strcmp(x->path, y->path);
}

static const struct candidate *newest(const struct candidates *c)
{
	const struct candidate *best = NULL;

	for (size_t i = 0; i < c->count; i++)
		if (!best || c->items[i].id.modified_ns > best->id.modified_ns)
			best = &c->items[i];
	return best;
}

static void add_run(struct find_list *list, const struct candidates *c, const char *run_id)
{
	for (size_t i = 0; i < c->count; i++)
		if (!strcmp(c->items[i].id.run_id, run_id))
			add(list, c->items[i].path);
		else
			add_text(&list->others, &list->other_count, alloc_string(c->items[i].path));
}

/* The newest run of a folder. */
static int newest_run(struct find_list *list, const char *folder)
{
	struct candidates found = {0};
	size_t unreadable = list->unreadable_count;

	if (!scan(&found, folder, false, list)) {
		complain("%s: %s", folder, strerror(errno));
		return -1;
	}
	say_unreadable(list, unreadable);
	const struct candidate *last = newest(&found);
	if (!last) {
		complain("%s: no recording (*.cudaspy) %sin this folder", folder,
		         list->unreadable_count > unreadable ? "that can be read " : "");
		candidates_free(&found);
		return -1;
	}
	char *run_id = alloc_string(last->id.run_id);
	qsort(found.items, found.count, sizeof(*found.items), by_pid);
	size_t before = list->count;
	add_run(list, &found, run_id);
	if (list->count - before < found.count)
		complain("%s holds several runs: reporting the newest, %s (%zu of %zu files)",
		         folder, run_id, list->count - before, found.count);
	free(run_id);
	candidates_free(&found);
	return 0;
}

/* Nothing named: the newest recording here, alone. */
static int newest_here(struct find_list *list)
{
	struct candidates found = {0};

	if (!scan(&found, ".", false, list)) {
		complain(".: %s", strerror(errno));
		return -1;
	}
	say_unreadable(list, 0);
	const struct candidate *last = newest(&found);
	if (!last) {
		complain("no recording (*.cudaspy) in this folder; name one, or record with: "
		         "cudaspy run -- COMMAND");
		return -1;
	}
	add(list, last->path);
	complain("reporting %s, the newest recording in this folder", last->path);
	candidates_free(&found);
	return 0;
}

/* Files of different runs have no common window, clock or command. */
static int same_run(const struct find_list *list)
{
	struct recording_id first = {0}, id;
	char error[READER_ERROR_BYTES];
	size_t known = SIZE_MAX;

	for (size_t i = 0; i < list->count; i++) {
		if (recording_identify(list->paths[i], &id, error))
			continue; /* opening it will say why */
		if (known == SIZE_MAX) {
			first = id;
			known = i;
		} else if (strcmp(first.run_id, id.run_id)) {
			complain("%s and %s are of different runs (%s, %s): report them one by one",
			         list->paths[known], list->paths[i], first.run_id, id.run_id);
			return -1;
		}
	}
	return 0;
}

/* The same file twice would be counted twice. */
static int no_file_twice(const struct find_list *list)
{
	struct stat *st = alloc_zeroed(list->count, sizeof(*st));
	int rc = 0;

	for (size_t i = 0; i < list->count; i++) {
		if (stat(list->paths[i], &st[i]))
			continue;
		for (size_t k = 0; k < i && !rc; k++)
			if (st[k].st_ino == st[i].st_ino && st[k].st_dev == st[i].st_dev) {
				complain("%s and %s are the same file", list->paths[k],
				         list->paths[i]);
				rc = -1;
			}
	}
	free(st);
	return rc;
}

int find_recordings(struct find_list *list, char *const *names, size_t count)
{
	*list = (struct find_list){0};
	if (!count)
		return newest_here(list);
	for (size_t i = 0; i < count; i++) {
		if (file_is_folder(names[i])) {
			if (newest_run(list, names[i]))
				return -1;
		} else {
			add(list, names[i]);
		}
	}
	return list->count > 1 && (no_file_twice(list) || same_run(list)) ? -1 : 0;
}

void find_run(struct find_list *list, const char *folder, const char *run_id)
{
	struct candidates found = {0};

	*list = (struct find_list){0};
	if (scan(&found, folder, true, NULL) && found.count) {
		qsort(found.items, found.count, sizeof(*found.items), by_pid);
		add_run(list, &found, run_id);
	}
	candidates_free(&found);
}

char *find_missing(const struct find_list *list)
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
