/* SPDX-License-Identifier: Apache-2.0 */
#include "report/symbols/symbols.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/base/alloc.h"
#include "report/base/names.h"

#if __has_include(<elfutils/libdwfl.h>)
#include <dwarf.h>
#include <elfutils/libdwfl.h>

#define FILES_MOST 256

/* Loaded when it is needed: the reporter runs where there is none. */
#define FUNCTIONS(XX)                                                                              \
	XX(dwfl_begin)                                                                             \
	XX(dwfl_end)                                                                               \
	XX(dwfl_report_elf)                                                                        \
	XX(dwfl_report_end)                                                                        \
	XX(dwfl_module_build_id)                                                                   \
	XX(dwfl_module_getelf)                                                                     \
	XX(dwfl_module_addrname)                                                                   \
	XX(dwfl_module_getsrc)                                                                     \
	XX(dwfl_module_addrdie)                                                                    \
	XX(dwfl_module_getdwarf)                                                                   \
	XX(dwarf_getscopes)                                                                        \
	XX(dwarf_getscopes_die)                                                                    \
	XX(dwarf_offdie)                                                                           \
	XX(dwarf_dieoffset)                                                                        \
	XX(dwarf_tag)                                                                              \
	XX(dwarf_diename)                                                                          \
	XX(dwarf_attr)                                                                             \
	XX(dwarf_attr_integrate)                                                                   \
	XX(dwarf_formstring)                                                                       \
	XX(dwarf_formudata)                                                                        \
	XX(dwarf_getsrcfiles)                                                                      \
	XX(dwarf_filesrc)                                                                          \
	XX(dwfl_lineinfo)                                                                          \
	XX(dwfl_standard_find_debuginfo)

struct library {
#define XX(name) __typeof__(&name) name;
	FUNCTIONS(XX)
#undef XX
};

struct file {
	char *path;
	Dwfl *session;
	Dwfl_Module *module; /* NULL: it cannot be read, or is another one */
};

struct symbols {
	void *handle;
	struct library dw;
	Dwfl_Callbacks callbacks;
	struct file *files;
	size_t count;
};

static int no_elf(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base, char **file,
                  Elf **elf)
{
	(void)module, (void)data, (void)name, (void)base, (void)file, (void)elf;
	return -1;
}

static void load(struct symbols *s)
{
	/* Else a library would ask the servers that it names. */
	unsetenv("DEBUGINFOD_URLS");
	s->handle = dlopen("libdw.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!s->handle)
		return;
#define XX(name) *(void **)&s->dw.name = dlsym(s->handle, #name);
	FUNCTIONS(XX)
#undef XX
#define XX(name) || !s->dw.name
	if (0 FUNCTIONS(XX)) {
#undef XX
		dlclose(s->handle);
		s->handle = NULL;
	}
	s->callbacks = (Dwfl_Callbacks){.find_elf = no_elf,
	                                .find_debuginfo = s->dw.dwfl_standard_find_debuginfo};
}

struct symbols *symbols_new(void)
{
	struct symbols *s = alloc_zeroed(1, sizeof(*s));

	load(s);
	return s;
}

void symbols_free(struct symbols *s)
{
	for (size_t i = 0; s && i < s->count; i++) {
		free(s->files[i].path);
		if (s->files[i].session)
			s->dw.dwfl_end(s->files[i].session);
	}
	if (s && s->handle)
		dlclose(s->handle);
	if (s)
		free(s->files);
	free(s);
}

/* A regular file: opening waits for nobody. */
static int open_file(const char *path)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	if (fd >= 0 && (fstat(fd, &st) || !S_ISREG(st.st_mode))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static bool is_same(struct symbols *s, Dwfl_Module *module, const uint8_t *id, size_t bytes)
{
	const unsigned char *found;
	GElf_Addr at;
	GElf_Addr bias;

	s->dw.dwfl_module_getelf(module, &bias);
	int n = s->dw.dwfl_module_build_id(module, &found, &at);

	return bytes && n >= 0 && (size_t)n >= bytes && !memcmp(found, id, bytes);
}

static struct file *file_of(struct symbols *s, const char *path, const uint8_t *id, size_t bytes)
{
	for (size_t i = 0; i < s->count; i++)
		if (!strcmp(s->files[i].path, path))
			return &s->files[i];
	if (s->count == FILES_MOST)
		return NULL;
	ALLOC_ROOM(s->files, s->count);
	struct file *f = &s->files[s->count++];
	*f = (struct file){.path = alloc_string(path)};
	int fd = open_file(path);
	if (fd < 0)
		return f;
	f->session = s->dw.dwfl_begin(&s->callbacks);
	Dwfl_Module *module =
	        f->session ? s->dw.dwfl_report_elf(f->session, path, path, fd, 0, true) : NULL;
	if (!module) {
		close(fd);
		return f;
	}
	s->dw.dwfl_report_end(f->session, NULL, NULL);
	if (is_same(s, module, id, bytes))
		f->module = module;
	return f;
}

/* The name of a function that was inlined. */
static char *name_of(struct symbols *s, Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	const char *name = NULL;

	if (s->dw.dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute))
		name = s->dw.dwarf_formstring(&attribute);
	name = name ? name : s->dw.dwarf_diename(die);
	return name ? name_demangle(name, strlen(name)) : NULL;
}

static uint32_t number_of(struct symbols *s, Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attribute;
	Dwarf_Word value = 0;

	if (!s->dw.dwarf_attr(die, name, &attribute) || s->dw.dwarf_formudata(&attribute, &value) ||
	    value > INT32_MAX)
		return 0;
	return (uint32_t)value;
}

/* Where a function that was inlined is called. */
static void call_of(struct symbols *s, Dwarf_Die *unit, Dwarf_Die *die, struct symbol *to)
{
	Dwarf_Files *files;
	size_t count;
	uint32_t file = number_of(s, die, DW_AT_call_file);

	to->line = number_of(s, die, DW_AT_call_line);
	if (s->dw.dwarf_getsrcfiles(unit, &files, &count) || file >= count)
		return;
	const char *source = s->dw.dwarf_filesrc(files, file, NULL, NULL);
	if (source && to->line)
		to->file = alloc_string(source);
}

/* The scopes around an address, innermost first, free them; how many. The unit that they are in. */
static int scopes_of(struct symbols *s, Dwfl_Module *module, uint64_t address, Dwarf_Die **scopes,
                     Dwarf_Die **unit)
{
	Dwarf_Addr bias = 0;
	Dwarf_Die innermost;

	*unit = s->dw.dwfl_module_addrdie(module, address, &bias);
	*scopes = NULL;
	if (!*unit)
		return 0;
	int n = s->dw.dwarf_getscopes(*unit, address - bias, scopes);
	if (n <= 0)
		return 0;
	Dwarf_Off offset = s->dw.dwarf_dieoffset(&(*scopes)[0]);
	free(*scopes);
	*scopes = NULL;
	Dwarf *all = s->dw.dwfl_module_getdwarf(module, &bias);
	if (!all || !s->dw.dwarf_offdie(all, offset, &innermost))
		return 0;
	return s->dw.dwarf_getscopes_die(&innermost, scopes);
}

/* found[0] has a place, found[count - 1] gets the name that the function has as a symbol. */
static size_t find_inlined(struct symbols *s, Dwfl_Module *module, uint64_t address,
                           struct symbol found[SYMBOLS_MOST])
{
	Dwarf_Die *scopes, *unit;
	int n = scopes_of(s, module, address, &scopes, &unit);
	size_t count = 0;

	for (int i = 0; i < n && count + 1 < SYMBOLS_MOST; i++) {
		if (s->dw.dwarf_tag(&scopes[i]) != DW_TAG_inlined_subroutine)
			continue;
		found[count].function = name_of(s, &scopes[i]);
		count++;
		found[count] = (struct symbol){0};
		call_of(s, unit, &scopes[i], &found[count]);
	}
	free(scopes);
	return count + 1;
}

size_t symbols_find(struct symbols *s, const char *path, const uint8_t *build_id, size_t bytes,
                    uint64_t address, struct symbol found[SYMBOLS_MOST])
{
	struct file *f = s->handle && path && *path ? file_of(s, path, build_id, bytes) : NULL;

	if (!f || !f->module)
		return 0;
	found[0] = (struct symbol){0};
	Dwfl_Line *line = s->dw.dwfl_module_getsrc(f->module, address);
	int number = 0;
	const char *source =
	        line ? s->dw.dwfl_lineinfo(line, NULL, &number, NULL, NULL, NULL) : NULL;
	if (source && number > 0) {
		found[0].file = alloc_string(source);
		found[0].line = (uint32_t)number;
	}
	size_t count = line ? find_inlined(s, f->module, address, found) : 1;
	const char *name = s->dw.dwfl_module_addrname(f->module, address);
	if (name)
		found[count - 1].function = name_demangle(name, strlen(name));
	return count;
}

#else

struct symbols {
	char nothing;
};

struct symbols *symbols_new(void)
{
	return alloc_zeroed(1, sizeof(struct symbols));
}

void symbols_free(struct symbols *s)
{
	free(s);
}

size_t symbols_find(struct symbols *s, const char *path, const uint8_t *build_id, size_t bytes,
                    uint64_t address, struct symbol found[SYMBOLS_MOST])
{
	(void)s, (void)path, (void)build_id, (void)bytes, (void)address, (void)found;
	return 0;
}

#endif
