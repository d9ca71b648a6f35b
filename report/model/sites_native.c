/* SPDX-License-Identifier: Apache-2.0 */
/* Return addresses: which program or library they lie in, and what stands there. */
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/model/sites_internal.h"
#include "report/symbols/perf_map.h"
#include "report/symbols/symbols.h"

#define HASH_NONFATAL_OOM          1
#define uthash_nonfatal_oom(entry) alloc_failed()
#include <uthash.h>

#define NATIVES_MOST 16384u /* addresses that are looked up */

struct native_key {
	uint64_t address;
	uint32_t process, reserved;
};

struct native_entry {
	struct native_key key;
	struct model_frame *frames;
	size_t count;
	UT_hash_handle hh;
};

/* The last one that was seen there: what lay there before may have been unloaded. */
static const struct tf_object *object_at(const struct model_part *p, const struct tf_sites *area,
                                         uint64_t address)
{
	const struct recording *r = p->recording;

	for (uint32_t i = r->objects; i-- > 0;) {
		const struct tf_object *o = tf_entry(&r->map, &area->objects, i, sizeof(*o));
		if (o && address >= o->from && address < o->until)
			return o;
	}
	return NULL;
}

/* Code that the program made. */
static void look_up_jit(struct model_part *p, struct model_frame *f)
{
	struct site_texts *t = p->model->sites.texts;

	if (t->jit_process != p->process_index + 1) {
		perf_map_free(t->jit);
		t->jit_process = p->process_index + 1;
		t->jit_path =
		        alloc_format("/tmp/perf-%llu.map", (unsigned long long)p->process->pid);
		sites_keep(p->model, t->jit_path);
		t->jit = perf_map_read(t->jit_path, p->process->start_realtime);
	}
	const char *name = perf_map_find(t->jit, f->address - 1);
	if (!name)
		return;
	f->function = sites_keep(p->model, alloc_string(name));
	f->module = t->jit_path;
	f->foreign = false;
	f->hash = sites_hash(f->function) * 31;
}

static void look_up(struct model_part *p, const struct tf_sites *area, uint64_t address,
                    struct native_entry *e)
{
	struct model *m = p->model;
	struct site_texts *t = m->sites.texts;
	const struct tf_object *o = object_at(p, area, address);
	struct model_frame f = {.address = address, .foreign = true};
	struct symbol found[SYMBOLS_MOST];

	if (!o) {
		look_up_jit(p, &f);
		if (f.module)
			sites_judge_native(&f);
		ALLOC_ROOM(e->frames, 0);
		e->frames[0] = f;
		e->count = 1;
		return;
	}
	char *path = model_string(p->recording, o->path);
	f.module = sites_keep(m, path);
	f.address = address - o->bias;
	if (!t->symbols)
		t->symbols = symbols_new();
	uint32_t id = o->build_id_bytes < sizeof(o->build_id) ? o->build_id_bytes
	                                                      : (uint32_t)sizeof(o->build_id);
	/* The call stands ahead of where it returns to. */
	size_t n = symbols_find(t->symbols, path, o->build_id, id, f.address - 1, found);
	e->count = n ? n : 1;
	e->frames = alloc_zeroed(e->count, sizeof(*e->frames));
	for (size_t i = 0; i < e->count; i++) {
		f.function = n ? sites_keep(m, found[i].function) : NULL;
		f.file = n ? sites_keep(m, found[i].file) : NULL;
		f.line = n ? found[i].line : 0;
		f.hash = sites_hash(f.function) * 31 + sites_hash(path);
		sites_judge_native(&f);
		e->frames[i] = f;
	}
}

size_t sites_native(struct model_part *p, const struct tf_sites *area, uint64_t address,
                    const struct model_frame **frames)
{
	struct site_texts *t = p->model->sites.texts;
	struct native_key key = {.address = address, .process = p->process_index};
	struct native_entry *e;

	HASH_FIND(hh, t->natives, &key, sizeof(key), e);
	if (!e && HASH_COUNT(t->natives) >= NATIVES_MOST) {
		t->other = (struct model_frame){.address = address, .foreign = true};
		*frames = &t->other;
		return 1;
	}
	if (!e) {
		e = alloc_zeroed(1, sizeof(*e));
		e->key = key;
		look_up(p, area, address, e);
		HASH_ADD(hh, t->natives, key, sizeof(key), e);
	}
	*frames = e->frames;
	return e->count;
}

void sites_natives_free(struct site_texts *t)
{
	struct native_entry *e, *next;

	HASH_ITER(hh, t->natives, e, next)
	{
		HASH_DEL(t->natives, e);
		free(e->frames);
		free(e);
	}
	symbols_free(t->symbols);
	perf_map_free(t->jit);
}
