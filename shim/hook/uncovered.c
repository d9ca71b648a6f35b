/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/hook/uncovered.h"

/*
 * Ways around us, and the runtimes there are: read off the loaded libraries, in the collector and
 * at exit, never on a program's path.
 *
 * A library opened with RTLD_DEEPBIND binds to glibc's dlsym or to the driver itself; that shows in
 * its relocated slots. One opened by dlmopen() is mapped but not in our namespace's list.
 */
#include "shim/base/fork_apart.h"
#include "shim/base/recording_tables.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "shim/base/gate.h"
#include "shim/hook/lookup.h"
#include "shim/base/sys.h"
#include "shim/real/real_dlsym.h"

#define OBJECTS_MOST 64
#define SEEN_MOST    4096u

struct found {
	char path[240];
	uintptr_t base;
	uint32_t kind;   /* enum tf_library_kind, 0: only a way around us */
	char around[96]; /* what it reached past us; "" = nothing */
};

struct scan {
	struct found objects[OBJECTS_MOST];
	unsigned count;
	unsigned drivers; /* libcuda and libcudart in our namespace */
};

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool starts(const char *name, const char *prefix)
{
	return !strncmp(name, prefix, strlen(prefix));
}

static uint32_t kind_of(const char *name)
{
	if (starts(name, "libcudart"))
		return TF_LIBRARY_RUNTIME;
	if (starts(name, "libcuda.so"))
		return TF_LIBRARY_DRIVER;
	if (starts(name, "libcupti") || starts(name, "libToolsInjection") ||
	    starts(name, "libsanitizer-"))
		return TF_LIBRARY_TOOL;
	return 0;
}

/* ---- relocated slots ---- */

struct dynamic {
	const ElfW(Sym) * symbols;
	const char *strings;
	const ElfW(Rela) * tables[2]; /* of the PLT; of the rest */
	size_t bytes[2];
	size_t relative; /* leading entries of the second that name no symbol */
};

/* Values in a loaded object's dynamic section are addresses on x86-64 and aarch64 (glibc relocates
 * them). */
static struct dynamic read_dynamic(const struct dl_phdr_info *info)
{
	struct dynamic d = {0};

	for (int i = 0; i < info->dlpi_phnum; i++) {
		if (info->dlpi_phdr[i].p_type != PT_DYNAMIC)
			continue;
		const ElfW(Dyn) *e = (const void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
		for (; e->d_tag != DT_NULL; e++) {
			const void *p = (const void *)(e->d_un.d_ptr < info->dlpi_addr
			                                       ? e->d_un.d_ptr + info->dlpi_addr
			                                       : e->d_un.d_ptr);
			switch (e->d_tag) {
			case DT_SYMTAB:
				d.symbols = p;
				break;
			case DT_STRTAB:
				d.strings = p;
				break;
			case DT_JMPREL:
				d.tables[0] = p;
				break;
			case DT_PLTRELSZ:
				d.bytes[0] = e->d_un.d_val;
				break;
			case DT_RELA:
				d.tables[1] = p;
				break;
			case DT_RELASZ:
				d.bytes[1] = e->d_un.d_val;
				break;
			case DT_RELACOUNT:
				d.relative = e->d_un.d_val;
				break;
			}
		}
	}
	return d;
}

/* Whether a slot that should hold one of ours holds the real function. */
static bool leads_around(const char *symbol, void *value)
{
	if (!strcmp(symbol, "dlsym"))
		return value == (void *)spy_libc_dlsym;
	return symbol[0] == 'c' && symbol[1] == 'u' && symbol[2] >= 'A' && symbol[2] <= 'Z' &&
	       lookup_wrapper(value) != NULL;
}

static bool scan_slots(const struct dl_phdr_info *info, char *around, size_t bytes)
{
	struct dynamic d = read_dynamic(info);

	if (!d.symbols || !d.strings)
		return false;
	for (int t = 0; t < 2; t++) {
		size_t n = d.tables[t] ? d.bytes[t] / sizeof(ElfW(Rela)) : 0;
		for (size_t i = t ? d.relative : 0; i < n; i++) {
			const ElfW(Rela) *r = &d.tables[t][i];
			uint32_t index = (uint32_t)ELF64_R_SYM(r->r_info),
			         type = (uint32_t)ELF64_R_TYPE(r->r_info);
#if defined(__x86_64__)
			if (!index || (type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT))
				continue;
#else
			if (!index || (type != R_AARCH64_JUMP_SLOT && type != R_AARCH64_GLOB_DAT))
				continue;
#endif
			const char *symbol = d.strings + d.symbols[index].st_name;
			if ((*symbol != 'd' && *symbol != 'c') ||
			    !leads_around(symbol, *(void **)(info->dlpi_addr + r->r_offset)))
				continue;
			snprintf(around, bytes, "%s", symbol);
			return true;
		}
	}
	return false;
}

/* ---- the loaded objects ---- */

static uintptr_t seen[SEEN_MOST]; /* bases of objects looked at; only the scan itself touches it */

static bool seen_before(uintptr_t base)
{
	for (uint32_t i = (uint32_t)(base >> 12) * 2654435761u % SEEN_MOST, n = 0; n < 64;
	     n++, i = (i + 1) % SEEN_MOST) {
		if (seen[i] == base)
			return true;
		if (!seen[i]) {
			seen[i] = base;
			return false;
		}
	}
	return true;
}

static int look_at(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct scan *scan = arg;
	const char *path = info->dlpi_name, *name = base_name(path);
	struct found *f = &scan->objects[scan->count];
	uint32_t kind = kind_of(name);

	(void)size;
	scan->drivers += kind == TF_LIBRARY_DRIVER || kind == TF_LIBRARY_RUNTIME;
	if (scan->count == OBJECTS_MOST || seen_before(info->dlpi_addr + 1))
		return 0;
	f->around[0] = 0;
	/* Tools and the driver's own libraries are meant to go around us; libc and ourselves hold
	 * the real thing. */
	if (kind != TF_LIBRARY_TOOL && kind != TF_LIBRARY_DRIVER && *path &&
	    !starts(name, "libcudaspy") && !starts(name, "libnvidia-") &&
	    !starts(name, "libc.so") && !starts(name, "libdl.so") && !starts(name, "ld-linux") &&
	    !starts(name, "lib/ld-"))
		scan_slots(info, f->around, sizeof(f->around));
	if (!kind && !f->around[0])
		return 0;
	f->kind = kind;
	f->base = info->dlpi_addr;
	snprintf(f->path, sizeof(f->path), "%s", path);
	scan->count++;
	return 0;
}

/* "libcudart.so.12.9.79" -> 12090; 0 where the name tells nothing. */
static uint32_t version_of(const char *name)
{
	const char *p = strstr(name, ".so.");
	uint32_t major = 0, minor = 0;

	for (p = p ? p + 4 : ""; *p >= '0' && *p <= '9'; p++)
		major = major * 10 + (uint32_t)(*p - '0');
	for (p += *p == '.'; *p >= '0' && *p <= '9'; p++)
		minor = minor * 10 + (uint32_t)(*p - '0');
	return major < 1000 ? major * 1000 + minor * 10 : 0;
}

static void args_library(const char *path, uint32_t kind)
{
	struct tf_header *h = tf_header(&spy_map);
	char real[4096];
	struct tf_library *l = NULL;

	spy_lock();
	for (uint32_t i = 0; i < h->libraries.count; i++) {
		l = tf_entry(&spy_map, &h->libraries, i, sizeof(*l));
		if (l && !strncmp(l->path, path, sizeof(l->path) - 1))
			break;
		l = NULL;
	}
	if (!l && (l = tf_append(&spy_map, &h->libraries))) {
		snprintf(l->path, sizeof(l->path), "%s", path);
		l->kind = kind;
		if (kind == TF_LIBRARY_RUNTIME)
			l->version = version_of(base_name(realpath(path, real) ? real : path));
		tf_publish(&h->libraries);
	}
	spy_unlock();
}

/* A mapping of the driver or a runtime that our namespace's list does not have. */
static void look_for_namespaces(unsigned listed)
{
	char line[512], name[96] = "";
	unsigned mapped = 0;
	size_t used = 0;
	ssize_t n;
	int fd = sys_open("/proc/self/maps", O_RDONLY, 0);

	if (fd < 0)
		return;
	while ((n = sys_read(fd, line + used, sizeof(line) - 1 - used)) > 0) {
		used += (size_t)n;
		line[used] = 0;
		char *start = line, *end;
		while ((end = strchr(start, '\n'))) {
			*end = 0;
			const char *path = strchr(start, '/');
			/* "start-end perms offset dev inode path": one line of each object has
			 * offset 0 */
			if (path && kind_of(base_name(path)) &&
			    kind_of(base_name(path)) != TF_LIBRARY_TOOL &&
			    strstr(start, " 00000000 ")) {
				mapped++;
				snprintf(name, sizeof(name), "%s", base_name(path));
			}
			start = end + 1;
		}
		used = strlen(start);
		if (used == sizeof(line) - 1)
			used = 0; /* a path that long is none of CUDA's */
		memmove(line, start, used);
	}
	sys_close(fd);
	if (mapped > listed)
		recording_uncovered(TF_GAP_DLMOPEN, name, 0);
}

void uncovered_scan_libraries(void)
{
	static struct scan scan;
	static uint32_t generation;
	static uint32_t busy;
	const void *callers[64];

	if (__atomic_exchange_n(&busy, 1, __ATOMIC_ACQUIRE))
		return;
	if (generation != spy_generation) { /* a forked child's recording names them anew */
		generation = spy_generation;
		memset(seen, 0, sizeof(seen));
	}
	scan.count = scan.drivers = 0;
	if (fork_apart_enter()) {
		dl_iterate_phdr(look_at, &scan);
		fork_apart_leave();
	}
	for (unsigned i = 0; i < scan.count; i++) {
		if (scan.objects[i].kind)
			args_library(scan.objects[i].path, scan.objects[i].kind);
		if (scan.objects[i].around[0]) {
			char text[340];
			snprintf(text, sizeof(text), "%s", base_name(scan.objects[i].path));
			recording_uncovered(TF_GAP_DEEPBIND, text, 0);
		}
	}
	unsigned n = lookup_callers(callers, 64);
	for (unsigned i = 0; i < n; i++) {
		Dl_info info;
		if (dladdr(callers[i], &info) && info.dli_fname &&
		    !kind_of(base_name(info.dli_fname)))
			args_library(info.dli_fname, TF_LIBRARY_STATIC_RUNTIME);
	}
	look_for_namespaces(scan.drivers);
	__atomic_store_n(&busy, 0, __ATOMIC_RELEASE);
}
