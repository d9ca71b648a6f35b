/* SPDX-License-Identifier: Apache-2.0 */
/* Call sites in words. */
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/base/file.h"
#include "report/model/sites_internal.h"

#define AUTOGRAD "pt_autograd_" /* PyTorch names its backward threads so, and a number */
#define PYTHON   "python"

char *sites_python_trouble(const struct tf_sites *area)
{
	static const char *const why[] = {
	        [TF_PYTHON_FREE_THREADED] = "this build of it has no GIL",
	        [TF_PYTHON_SEVERAL] = "the process has several interpreters",
	        [TF_PYTHON_DOUBT] = "its data is not where this version has it",
	        [TF_PYTHON_NO_PEEK] =
	                "the kernel refuses process_vm_readv(), by which addresses are "
	                "checked",
	        [TF_PYTHON_OTHER] = "the interpreter is not CPython"};

	if (area->python == TF_PYTHON_UNKNOWN && area->python_version)
		return alloc_format("this was never tried with Python %u.%u",
		                    area->python_version >> 8 & 255, area->python_version & 255);
	if (area->python == TF_PYTHON_UNKNOWN)
		return alloc_string("this version of it is not known");
	if (area->python < sizeof(why) / sizeof(why[0]) && why[area->python])
		return alloc_string(why[area->python]);
	return NULL;
}

/* Python's qualified name from the innermost function on that it stands in: "make.<locals>.step"
 * says no more than "step" beside a line. */
static const char *brief_function(const char *function)
{
	static const char within[] = ".<locals>.";

	for (const char *at; (at = strstr(function, within)) && at[strlen(within)];)
		function = at + strlen(within);
	return function;
}

/* A place as pages name it: "train.py:57 in step", or without the function (free it). */
static char *frame_place(const struct model_frame *f, bool function)
{
	const char *file = file_base_name(f->file);

	if (!file || !(f->line || f->function))
		return site_frame_text(f, false);
	char *line = f->line ? alloc_format("%s:%u", file, f->line) : alloc_string(file);
	if (function || !f->line)
		alloc_append(&line, " in %s", f->function ? brief_function(f->function) : "?");
	return line;
}

char *site_frame_text(const struct model_frame *f, bool full)
{
	const char *file = full ? f->file : file_base_name(f->file);
	const char *module = full ? f->module : file_base_name(f->module);

	if (file && f->line)
		return alloc_format("%s:%u in %s", file, f->line, f->function ? f->function : "?");
	if (file)
		return alloc_format("%s in %s", file, f->function ? f->function : "?");
	if (f->function && module)
		return alloc_format("%s in %s", f->function, module);
	if (module)
		return alloc_format("%s+%#llx", module, (unsigned long long)f->address);
	return alloc_format("%#llx", (unsigned long long)f->address);
}

char *site_frame_owner(const struct model_frame *f)
{
	static const char *const folders[] = {"/site-packages/", "/dist-packages/"};

	for (size_t i = 0; f->python && f->file && i < 2; i++) {
		const char *at = strstr(f->file, folders[i]);
		if (!at)
			continue;
		at += strlen(folders[i]);
		size_t n = strcspn(at, "/");
		return at[n] || n <= 3 ? alloc_copy(at, n) : alloc_copy(at, n - 3); /* ".py" */
	}
	if (f->python)
		return alloc_string("Python");
	return alloc_string(f->module ? file_base_name(f->module) : "code without a name");
}

static bool is_backward(const struct model_site *s)
{
	return s->thread && !strncmp(s->thread, AUTOGRAD, strlen(AUTOGRAD));
}

char *site_thread_text(const struct model_site *s)
{
	const char *backward = is_backward(s) ? "backward " : "";

	if (!s->thread)
		return NULL;
	if (s->range)
		return alloc_format("NVTX range %s, %sthread %s", s->range, backward, s->thread);
	return alloc_format("%sthread %s", backward, s->thread);
}

char *site_headline(const struct model_site *s, bool full)
{
	char *thread = site_thread_text(s);

	if (thread && !full)
		return thread;
	char *frame = !s->frame_count ? alloc_string("unknown")
	              : full          ? site_frame_text(&s->frames[s->head], true)
	                              : frame_place(&s->frames[s->head], true);
	if (!thread)
		return frame;
	char *text = alloc_format("%s: %s", thread, frame);
	free(frame);
	free(thread);
	return text;
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

/* The frame that calls the site's headline, in the same file; NULL = none is known. */
static const struct model_frame *caller_of(const struct model_site *s)
{
	const struct model_frame *head = s->frame_count && !s->thread ? &s->frames[s->head] : NULL;

	for (size_t i = s->head + 1; head && head->line && i < s->frame_count; i++) {
		const struct model_frame *f = &s->frames[i];
		if (f->python == head->python && !f->foreign)
			return f->line && same_text(f->file, head->file) ? f : NULL;
	}
	return NULL;
}

/* As frame_place(), without the file where that was just named (free it). */
static char *place_beside(const struct model_frame *f, const struct model_frame *named,
                          bool function)
{
	char *text = frame_place(f, function);

	if (!f->line || !named->line || !same_text(f->file, named->file))
		return text;
	char *line = alloc_string(text + strlen(file_base_name(f->file)));
	free(text);
	return line;
}

static char *between(const struct model_frame *since, const struct model_frame *until,
                     bool functions)
{
	char *from = frame_place(since, functions), *to = frame_place(until, functions), *text;

	if (!strcmp(from, to)) {
		text = alloc_format("between two calls at %s", from);
	} else {
		free(to);
		to = place_beside(until, since, functions);
		text = alloc_format("between the calls at %s and %s", from, to);
	}
	free(from);
	free(to);
	return text;
}

char *site_ahead(const struct model_site *s, const struct model_frame *since,
                 const struct model_frame *until, bool functions, bool callers)
{
	const struct model_frame *caller = callers ? caller_of(s) : NULL;
	char *text;

	if (since && until && !is_backward(s)) {
		text = between(since, until, functions);
	} else {
		char *where = site_where(s, functions);
		text = alloc_format("ahead of %s", where);
		free(where);
	}
	if (!caller)
		return text;
	char *at = place_beside(caller, caller, functions);
	alloc_append(&text, " (called at %s)", at);
	free(at);
	return text;
}

/* A thread that nobody named has the name of the interpreter, as the main one does. */
static bool is_unnamed(const struct model_site *s)
{
	return s->thread && !s->range && !strncmp(s->thread, PYTHON, strlen(PYTHON));
}

char *site_where(const struct model_site *s, bool functions)
{
	const bool thread = s->thread != NULL;
	char *head = !functions && !thread && s->frame_count
	                     ? frame_place(&s->frames[s->head], false)
	                     : site_headline(s, false),
	     *after = s->after ? frame_place(s->after, functions) : NULL, *text = NULL;
	const bool backward = is_backward(s) && !s->range;

	if (s->meanwhile) {
		char *line = frame_place(s->meanwhile, functions);
		text = backward        ? alloc_format("%s, backward pass", line)
		       : is_unnamed(s) ? alloc_format("%s, by a library's thread", line)
		                       : alloc_format("%s, %s", line, head);
		free(line);
	} else if (after) {
		text = backward        ? alloc_format("backward pass after %s", after)
		       : is_unnamed(s) ? alloc_format("a library's thread after %s", after)
		                       : alloc_format("%s, after %s", head, after);
	}
	free(after);
	if (!text)
		return head;
	free(head);
	return text;
}
