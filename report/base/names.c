/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/base/names.h"

/*
 * The demangler hands its output over in pieces: a few hundred bytes of input may stand for an
 * output of any length (a type that refers twice to the one before it, again and again); with
 * pieces it can be left in time. It holds no memory but its stack, so leaving it by longjmp() loses
 * nothing.
 *
 * libiberty's takes names of any length. libstdc++'s, which is the same code, gives up names of
 * more than 1,024 bytes, as CUTLASS' and cuDNN's kernels have.
 */
#ifdef LIBIBERTY_H /* report.mk */
#include LIBIBERTY_H
#else
extern int __gcclibcxx_demangle_callback(const char *mangled,
                                         void (*callback)(const char *, size_t, void *),
                                         void *opaque) __attribute__((weak)); /* 0 = demangled */
/* Only the archive has it; the shared library has just this one, for names that cannot grow much.
 */
extern char *__cxa_demangle(const char *mangled, char *buffer, size_t *bytes, int *status);
#define WHOLE_BYTES_MOST      1024u
#define WHOLE_REFERENCES_MOST 16u /* each may double the output */
#endif

#define NESTING_MOST 64 /* levels of template arguments; each level costs the demangler stack */

struct piecewise {
	char *text;
	size_t bytes;
	jmp_buf too_long;
};

static void take_piece(const char *piece, size_t bytes, void *opaque)
{
	struct piecewise *p = opaque;

	if (bytes > NAME_DEMANGLED_MOST - p->bytes)
		longjmp(p->too_long, 1);
	memcpy(p->text + p->bytes, piece, bytes);
	p->bytes += bytes;
}

/* S_, S1I_, T2_: a reference to what went before, its number in base 36. Its letters after the
 * first, or 0. */
static size_t reference(const char *s)
{
	size_t n =
	        *s == 'S' || *s == 'T' ? strspn(s + 1, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ") : 0;

	return (*s == 'S' || *s == 'T') && s[1 + n] == '_' ? 1 + n : 0;
}

/* How deep the template arguments (I...E) and nested names (N...E) of a mangled name may at most
 * go. */
static unsigned nesting(const char *mangled)
{
	unsigned depth = 0, most = 0;

	for (const char *s = mangled; *s; s++) {
		if (*s == 'E')
			depth -= depth > 0;
		else if (reference(s))
			s += reference(s);
		else if (strchr("ILNXJ", *s))
			depth++;
		else if (isdigit((unsigned char)*s)) { /* an identifier: its length, then its
			                                  letters */
			char *end;
			unsigned long length = strtoul(s, &end, 10);
			s = length < strlen(end) ? end + length - 1 : end - 1;
		}
		most = depth > most ? depth : most;
	}
	return most;
}

/* The start and the end of a name that is too long to be shown. */
static char *ends_of(const char *name, size_t bytes)
{
	return alloc_format("%.*s..%.*s", 256, name, 64, name + bytes - 64);
}

#ifdef LIBIBERTY_H
static bool demangle(const char *name, struct piecewise *p)
{
	if (setjmp(p->too_long))
		return false;
	return cplus_demangle_v3_callback(name, DMGL_PARAMS | DMGL_TYPES | DMGL_NO_RECURSE_LIMIT,
	                                  take_piece, p) &&
	       p->bytes;
}
#else
static bool demangle_whole(const char *name, struct piecewise *p)
{
	unsigned references = 0;

	for (const char *s = name; *s; s++)
		references += reference(s) != 0;
	if (references > WHOLE_REFERENCES_MOST || strlen(name) > WHOLE_BYTES_MOST)
		return false;
	int status;
	char *text = __cxa_demangle(name, NULL, NULL, &status);
	size_t bytes = text ? strlen(text) : 0;
	if (bytes && bytes <= NAME_DEMANGLED_MOST) {
		memcpy(p->text, text, bytes);
		p->bytes = bytes;
	}
	free(text);
	return p->bytes != 0;
}

static bool demangle(const char *name, struct piecewise *p)
{
	if (!__gcclibcxx_demangle_callback)
		return demangle_whole(name, p);
	if (setjmp(p->too_long))
		return false;
	return !__gcclibcxx_demangle_callback(name, take_piece, p) && p->bytes;
}
#endif

char *name_demangle(const char *mangled, size_t bytes)
{
	struct piecewise p = {0};

	bytes = strnlen(mangled, bytes);
	if (bytes > NAME_MANGLED_MOST)
		return ends_of(mangled, bytes);
	char *name = alloc_copy(mangled, bytes);
	if (bytes < 3 || strncmp(name, "_Z", 2) || nesting(name) > NESTING_MOST)
		return name;
	p.text = alloc_zeroed(NAME_DEMANGLED_MOST + 1, 1);
	char *result = demangle(name, &p) ? alloc_copy(p.text, p.bytes) : alloc_copy(name, bytes);
	free(p.text);
	free(name);
	return result;
}

const char *name_call(const char *symbol)
{
	return strncmp(symbol, "__cuda", 6) ? symbol : symbol + 2;
}
