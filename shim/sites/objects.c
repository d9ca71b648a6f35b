/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is mapped, for the reporter to give return addresses a name; and where CPython is. Read off
 * the loader's list in the collector and at exit: nothing is asked of dlsym().
 */
#include "shim/sites/sites_internal.h"

#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include "shim/base/fork_apart.h"
#include "shim/base/gate.h"
#include "shim/base/recording_tables.h"
#include "shim/base/sys.h"
#include "shim/sites/python.h"

#define FRESH_MOST 512u /* taken in one scan */
#define PATH_BYTES 512u

struct range {
	uintptr_t from, until;
	uintptr_t code, code_until; /* what of it can be run, and all between */
	bool python;                /* it is CPython's */
};

/* What earlier scans found; appended to by the scan alone. Release: entries below the count are
 * there. */
static struct range known[TF_OBJECTS_MAX];
static uint32_t known_count;
static uint32_t busy;

struct fresh {
	struct tf_object object;
	char path[PATH_BYTES];
};

struct scan {
	struct fresh *fresh;
	uint32_t count;
	bool more;
};

bool objects_have(uintptr_t address)
{
	uint32_t n = __atomic_load_n(&known_count, __ATOMIC_ACQUIRE);

	for (uint32_t i = 0; i < n; i++)
		if (address >= known[i].from && address < known[i].until)
			return true;
	return false;
}

bool objects_have_code(uintptr_t address)
{
	uint32_t n = __atomic_load_n(&known_count, __ATOMIC_ACQUIRE);

	for (uint32_t i = n; i-- > 0;)
		if (address >= known[i].code && address < known[i].code_until)
			return !known[i].python;
	return false;
}

uint32_t objects_version(void)
{
	return __atomic_load_n(&known_count, __ATOMIC_RELAXED);
}

void objects_after_fork(void)
{
	known_count = 0;
	busy = 0;
}

/* ---- symbols ---- */

struct symbols {
	const ElfW(Sym) * table;
	const char *strings;
	const uint32_t *hash; /* DT_GNU_HASH */
	uintptr_t bias;
};

static bool read_symbols(const struct dl_phdr_info *info, struct symbols *s)
{
	memset(s, 0, sizeof(*s));
	s->bias = info->dlpi_addr;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		if (info->dlpi_phdr[i].p_type != PT_DYNAMIC)
			continue;
		const ElfW(Dyn) *d = (const void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
		for (; d->d_tag != DT_NULL; d++) {
			/* Addresses; the kernel's own object is not relocated. */
			uintptr_t p = d->d_un.d_ptr < info->dlpi_addr
			                      ? d->d_un.d_ptr + info->dlpi_addr
			                      : d->d_un.d_ptr;
			if (d->d_tag == DT_SYMTAB)
				s->table = (const void *)p;
			else if (d->d_tag == DT_STRTAB)
				s->strings = (const void *)p;
			else if (d->d_tag == DT_GNU_HASH)
				s->hash = (const void *)p;
		}
	}
	return s->table && s->strings && s->hash && s->hash[0] && s->hash[2];
}

static uint32_t gnu_hash(const char *name)
{
	uint32_t h = 5381;

	for (; *name; name++)
		h = h * 33 + (unsigned char)*name;
	return h;
}

/* The address of a symbol that the object defines; NULL = it does not. */
static const void *symbol(const struct symbols *s, const char *name)
{
	const uint32_t buckets = s->hash[0], first = s->hash[1], words = s->hash[2];
	const uint64_t *bloom = (const uint64_t *)(s->hash + 4);
	const uint32_t *bucket = (const uint32_t *)(bloom + words), *chain = bucket + buckets;
	uint32_t h = gnu_hash(name);
	uint64_t word = bloom[h / 64 % words];

	if (!(word >> h % 64 & 1) || !(word >> (h >> s->hash[3]) % 64 & 1))
		return NULL;
	for (uint32_t i = bucket[h % buckets]; i >= first; i++) {
		const ElfW(Sym) *y = &s->table[i];
		if ((chain[i - first] | 1) == (h | 1) && y->st_shndx != SHN_UNDEF &&
		    !strcmp(s->strings + y->st_name, name))
			return (const void *)(s->bias + y->st_value);
		if (chain[i - first] & 1)
			break;
	}
	return NULL;
}

/* Py_Version says it since 3.11; before that, what a version exports for the first time. */
static uint32_t version_of(const struct symbols *s)
{
	const unsigned long *version = symbol(s, "Py_Version");

	if (version)
		return (uint32_t)(*version >> 16);
	if (symbol(s, "PyModule_AddObjectRef"))
		return 0x30a;
	return symbol(s, "PyFrame_GetBack") ? 0x309 : 0;
}

/* Whether it is the object that CPython is in. */
static bool look_for_python(const struct dl_phdr_info *info)
{
	struct symbols s;
	struct python_symbols p;

	if (python_state() != TF_PYTHON_NONE || !read_symbols(info, &s))
		return false;
	if (symbol(&s, "PyPyGILState_Ensure")) {
		python_refuse(TF_PYTHON_OTHER);
		return false;
	}
	p.runtime = symbol(&s, "_PyRuntime");
	p.this_thread = (void *(*)(void))symbol(&s, "PyGILState_GetThisThreadState");
	p.code_type = symbol(&s, "PyCode_Type");
	p.text_type = symbol(&s, "PyUnicode_Type");
	p.bytes_type = symbol(&s, "PyBytes_Type");
	p.version = version_of(&s);
	if (p.this_thread && (!p.runtime || !p.code_type || !p.text_type || !p.bytes_type))
		python_refuse(TF_PYTHON_UNKNOWN);
	else if (p.this_thread)
		python_found(&p);
	return p.this_thread;
}

/* ---- objects ---- */

/* Whether a part of the object is in memory. */
static bool is_mapped(const struct dl_phdr_info *info, const ElfW(Phdr) * part)
{
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		if (p->p_type == PT_LOAD && p->p_flags & PF_R && part->p_vaddr >= p->p_vaddr &&
		    part->p_vaddr + part->p_memsz <= p->p_vaddr + p->p_filesz)
			return true;
	}
	return false;
}

static void read_build_id(const struct dl_phdr_info *info, struct tf_object *o)
{
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		if (p->p_type != PT_NOTE || !is_mapped(info, p))
			continue;
		const char *at = (const char *)(info->dlpi_addr + p->p_vaddr),
		           *end = at + p->p_memsz;
		while (at + sizeof(ElfW(Nhdr)) <= end) {
			const ElfW(Nhdr) *n = (const void *)at;
			const char *name = at + sizeof(*n),
			           *data = name + (n->n_namesz + 3) / 4 * 4;
			if (data + n->n_descsz > end)
				break;
			if (n->n_type == NT_GNU_BUILD_ID && n->n_namesz == 4 &&
			    !memcmp(name, "GNU", 4)) {
				o->build_id_bytes = n->n_descsz < sizeof(o->build_id)
				                            ? n->n_descsz
				                            : sizeof(o->build_id);
				memcpy(o->build_id, data, o->build_id_bytes);
				return;
			}
			at = data + (n->n_descsz + 3) / 4 * 4;
		}
	}
}

static bool extent_of(const struct dl_phdr_info *info, struct range *r)
{
	*r = (struct range){.from = UINTPTR_MAX, .code = UINTPTR_MAX};
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		if (p->p_type != PT_LOAD)
			continue;
		uintptr_t from = info->dlpi_addr + p->p_vaddr;
		if (from < r->from)
			r->from = from;
		if (from + p->p_memsz > r->until)
			r->until = from + p->p_memsz;
		if (!(p->p_flags & PF_X))
			continue;
		if (from < r->code)
			r->code = from;
		if (from + p->p_memsz > r->code_until)
			r->code_until = from + p->p_memsz;
	}
	return r->from < r->until;
}

static bool is_known(const struct range *r)
{
	for (uint32_t i = 0; i < known_count; i++)
		if (known[i].from == r->from && known[i].until == r->until)
			return true;
	return false;
}

static int look_at(struct dl_phdr_info *info, size_t size, void *context)
{
	struct scan *scan = context;
	struct range r;

	(void)size;
	if (!extent_of(info, &r) || is_known(&r))
		return 0;
	if (scan->count == FRESH_MOST || known_count == TF_OBJECTS_MAX) {
		scan->more = known_count < TF_OBJECTS_MAX;
		return 1;
	}
	struct fresh *f = &scan->fresh[scan->count++];
	memset(f, 0, sizeof(*f));
	f->object.from = r.from;
	f->object.until = r.until;
	f->object.bias = info->dlpi_addr;
	read_build_id(info, &f->object);
	strncpy(f->path, info->dlpi_name, sizeof(f->path) - 1);
	r.python = look_for_python(info);
	known[known_count] = r;
	/* Release: pairs with objects_have(). */
	__atomic_store_n(&known_count, known_count + 1, __ATOMIC_RELEASE);
	return 0;
}

/* `area` is NULL where the recording was cut meanwhile. */
static void keep(struct tf_sites *area, struct fresh *f)
{
	if (!area)
		return;
	if (!f->path[0]) { /* the program itself */
		ssize_t n = sys_result(syscall(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", f->path,
		                               sizeof(f->path) - 1));
		f->path[n > 0 ? n : 0] = 0;
	}
	f->object.path = recording_text(f->path, strlen(f->path));
	spy_lock();
	struct tf_object *to = tf_append(&spy_map, &area->objects);
	if (to) {
		*to = f->object;
		tf_publish(&area->objects);
	}
	spy_unlock();
}

void objects_scan(void)
{
	struct scan scan = {.more = true};
	void *fresh;

	if (__atomic_exchange_n(&busy, 1, __ATOMIC_ACQUIRE))
		return;
	fresh = mmap(NULL, FRESH_MOST * sizeof(struct fresh), PROT_READ | PROT_WRITE,
	             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	scan.fresh = fresh;
	for (int round = 0; fresh != MAP_FAILED && scan.more && round < 16; round++) {
		scan.more = false;
		scan.count = 0;
		if (fork_apart_enter()) {
			dl_iterate_phdr(look_at, &scan);
			fork_apart_leave();
		}
		for (uint32_t i = 0; i < scan.count; i++)
			keep(sites_area(), &scan.fresh[i]);
	}
	if (fresh != MAP_FAILED)
		munmap(fresh, FRESH_MOST * sizeof(struct fresh));
	__atomic_store_n(&busy, 0, __ATOMIC_RELEASE);
}
