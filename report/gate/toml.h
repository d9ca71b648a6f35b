/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TOML files as what a settings file of ours may hold: texts, numbers, switches and lists of texts
 * at the top level, each with its place. The parser is toml++, a C++ library; this is all that is
 * seen of it. For config.
 */
#ifndef REPORT_TOML_H
#define REPORT_TOML_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum toml_kind { TOML_TEXT, TOML_INTEGER, TOML_SWITCH, TOML_LIST, TOML_OTHER };

struct toml_entry {
	char *key;
	enum toml_kind kind;
	char *text;                                  /* of TOML_TEXT */
	long long integer;                           /* of TOML_INTEGER and TOML_SWITCH */
	unsigned key_line, key_column, line, column; /* from 1; of the value: its first character */
	struct toml_entry *items;                    /* of TOML_LIST; they have no key */
	size_t item_count;
};

/* In the order of the keys. Errors: where, and what. */
struct toml_file {
	struct toml_entry *entries;
	size_t count;
	unsigned error_line, error_column;
	char error[256];
};

/* Whether this build has a parser. */
bool toml_supported(void);
/* False on an error, which `file` then holds. Free it in either case. Only where supported. */
bool toml_parse(struct toml_file *file, const char *text, size_t bytes);
void toml_free(struct toml_file *file);

#ifdef __cplusplus
}
#endif

#endif
