/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "report/base/alloc.h"
#include "report/base/file.h"
#include "report/cli/target.h"

#define SCRIPTS_MOST 4 /* a script's interpreter may be a script: as deep as the kernel goes */

/* The file that execvp() would run (free it); NULL when there is none. */
static char *find_in_path(const char *command)
{
	const char *path = getenv("PATH");

	if (strchr(command, '/'))
		return access(command, F_OK) ? NULL : alloc_string(command);
	if (!path)
		path = "/bin:/usr/bin";
	for (;;) {
		size_t bytes = strcspn(path, ":");
		char *full = alloc_format("%.*s%s%s", (int)bytes, path, bytes ? "/" : "", command);
		if (file_is_there(full) && !access(full, X_OK))
			return full;
		free(full);
		if (!path[bytes])
			return NULL;
		path += bytes + 1;
	}
}

struct image {
	const uint8_t *base;
	uint64_t bytes;
};

static const void *image_at(const struct image *i, uint64_t offset, uint64_t bytes)
{
	return offset <= i->bytes && bytes <= i->bytes - offset ? i->base + offset : NULL;
}

static Elf64_Phdr segment(const struct image *i, const Elf64_Ehdr *e, unsigned index)
{
	Elf64_Phdr p = {.p_type = PT_NULL};
	const void *at = e->e_phentsize == sizeof(p)
	                         ? image_at(i, e->e_phoff + (uint64_t)index * sizeof(p), sizeof(p))
	                         : NULL;

	if (at)
		memcpy(&p, at, sizeof(p));
	return p;
}

static bool find_segment(const struct image *i, const Elf64_Ehdr *e, uint32_t type,
                         Elf64_Phdr *found)
{
	for (unsigned k = 0; k < e->e_phnum; k++) {
		*found = segment(i, e, k);
		if (found->p_type == type)
			return true;
	}
	return false;
}

/* Where an address of the loaded program lies in the file; UINT64_MAX = nowhere. */
static uint64_t file_offset(const struct image *i, const Elf64_Ehdr *e, uint64_t address)
{
	for (unsigned k = 0; k < e->e_phnum; k++) {
		Elf64_Phdr p = segment(i, e, k);
		if (p.p_type == PT_LOAD && address >= p.p_vaddr && address - p.p_vaddr < p.p_filesz)
			return p.p_offset + (address - p.p_vaddr);
	}
	return UINT64_MAX;
}

static bool is_sanitizer(const char *name)
{
	static const char *const starts[] = {"libasan.so", "libtsan.so", "libclang_rt.asan",
	                                     "libclang_rt.tsan"};

	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++)
		if (!strncmp(name, starts[i], strlen(starts[i])))
			return true;
	return false;
}

/* The sanitizer's library among those the program asks for (free it); NULL = none. */
static char *needed_sanitizer(const struct image *i, const Elf64_Ehdr *e)
{
	Elf64_Phdr dynamic;
	Elf64_Dyn entry;
	uint64_t strings = UINT64_MAX;
	const void *at;

	if (!find_segment(i, e, PT_DYNAMIC, &dynamic))
		return NULL;
	uint64_t entries = dynamic.p_filesz / sizeof(entry);
	for (uint64_t k = 0; k < entries; k++) {
		if (!(at = image_at(i, dynamic.p_offset + k * sizeof(entry), sizeof(entry))))
			break;
		memcpy(&entry, at, sizeof(entry));
		if (entry.d_tag == DT_STRTAB)
			strings = file_offset(i, e, entry.d_un.d_ptr);
		if (entry.d_tag == DT_NULL)
			break;
	}
	for (uint64_t k = 0; k < entries && strings < i->bytes; k++) {
		if (!(at = image_at(i, dynamic.p_offset + k * sizeof(entry), sizeof(entry))))
			break;
		memcpy(&entry, at, sizeof(entry));
		if (entry.d_tag == DT_NULL)
			break;
		if (entry.d_tag != DT_NEEDED || entry.d_un.d_val >= i->bytes - strings)
			continue;
		const char *name = (const char *)i->base + strings + entry.d_un.d_val;
		if (memchr(name, '\0', i->bytes - strings - entry.d_un.d_val) && is_sanitizer(name))
			return alloc_string(name);
	}
	return NULL;
}

/* musl's loader ends a program whose preloaded library asks for glibc's symbols. */
static bool is_musl(const struct image *i, const Elf64_Phdr *interpreter)
{
	const char *path = image_at(i, interpreter->p_offset, interpreter->p_filesz);
	size_t bytes = path ? strnlen(path, interpreter->p_filesz) : 0;
	const char *slash = bytes ? memrchr(path, '/', bytes) : NULL,
	           *base = slash ? slash + 1 : path;

	return bytes && bytes - (size_t)(base - path) >= 7 && !memcmp(base, "ld-musl", 7);
}

static void examine_elf(struct target *t, const struct image *i)
{
	Elf64_Phdr interpreter;
	Elf64_Ehdr e;
	const void *at = image_at(i, 0, sizeof(e));

	if (!at)
		return;
	memcpy(&e, at, sizeof(e));
	if (e.e_ident[EI_CLASS] != ELFCLASS64) {
		t->unobserved = "it is a 32-bit program";
		return;
	}
	if (!find_segment(i, &e, PT_INTERP, &interpreter)) {
		t->unobserved = "it is linked statically";
		return;
	}
	if (is_musl(i, &interpreter))
		t->foreign = "it is a program for musl, which cannot load libcudaspy.so, a library "
		             "for glibc";
	t->sanitizer = needed_sanitizer(i, &e);
}

/* The loader ignores preloading for a program that runs with other rights than the user's. */
static void examine_rights(struct target *t, const struct stat *st)
{
	if (((st->st_mode & S_ISUID) && st->st_uid != geteuid()) ||
	    ((st->st_mode & S_ISGID) && (st->st_mode & S_IXGRP) && st->st_gid != getegid()))
		t->unobserved = "it is set-user-ID or set-group-ID";
	else if (geteuid() != 0 && getxattr(t->program, "security.capability", NULL, 0) > 0)
		t->unobserved = "it has file capabilities";
}

/* The interpreter that a script's first line names (free it); for `env`, what env will start. */
static char *interpreter_of(const struct image *i)
{
	size_t bytes = i->bytes < 256 ? i->bytes : 256;
	char *line = alloc_copy((const char *)i->base + 2, bytes - 2), *rest;

	line[strcspn(line, "\n")] = '\0';
	char *word = strtok_r(line, " \t", &rest), *found = NULL;
	if (word) {
		const char *base = strrchr(word, '/');
		char *next = NULL;
		if (!strcmp(base ? base + 1 : word, "env"))
			for (next = strtok_r(NULL, " \t", &rest);
			     next && (next[0] == '-' || strchr(next, '='));
			     next = strtok_r(NULL, " \t", &rest))
				;
		found = next ? find_in_path(next) : alloc_string(word);
	}
	free(line);
	return found;
}

/* Examines t->program; true when it is a script and t->program became its interpreter. */
static bool examine_file(struct target *t)
{
	struct image i = {0};
	struct stat st;
	int fd = open(t->program, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	bool again = false;

	if (fd < 0)
		return false;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size > 2) {
		i.bytes = (uint64_t)st.st_size;
		void *base = mmap(NULL, i.bytes, PROT_READ, MAP_PRIVATE, fd, 0);
		i.base = base == MAP_FAILED ? NULL : base;
	}
	close(fd);
	if (!i.base)
		return false;
	if (!memcmp(i.base, "#!", 2)) {
		char *interpreter = interpreter_of(&i);
		if (interpreter) {
			free(t->program);
			t->program = interpreter;
			again = true;
		}
	} else if (i.bytes > EI_NIDENT && !memcmp(i.base, ELFMAG, SELFMAG)) {
		examine_elf(t, &i);
		if (!t->unobserved)
			examine_rights(t, &st);
	}
	munmap((void *)i.base, i.bytes);
	return again;
}

void target_examine(struct target *t, const char *command)
{
	*t = (struct target){.path = find_in_path(command)};
	if (!t->path)
		return;
	t->program = alloc_string(t->path);
	for (int scripts = 0; scripts <= SCRIPTS_MOST && examine_file(t); scripts++)
		;
}

void target_free(struct target *t)
{
	free(t->path);
	free(t->program);
	free(t->sanitizer);
	*t = (struct target){0};
}
