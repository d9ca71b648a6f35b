/* SPDX-License-Identifier: Apache-2.0 */
/* Call sites in words. */
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/base/file.h"
#include "report/model/sites_internal.h"

#define AUTOGRAD "pt_autograd_" /* PyTorch names its backward threads so, and a number */

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

char *site_thread_text(const struct model_site *s)
{
	const char *backward =
	        s->thread && !strncmp(s->thread, AUTOGRAD, strlen(AUTOGRAD)) ? "backward " : "";

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
	char *frame = s->frame_count ? site_frame_text(&s->frames[s->head], full)
	                             : alloc_string("unknown");
	if (!thread)
		return frame;
	char *text = alloc_format("%s: %s", thread, frame);
	free(frame);
	free(thread);
	return text;
}

char *site_where(const struct model_site *s)
{
	char *head = site_headline(s, false),
	     *line = s->after ? site_frame_text(s->after, false) : NULL;

	if (!line)
		return head;
	char *text = alloc_format("%s, after %s", head, line);
	free(head);
	free(line);
	return text;
}
