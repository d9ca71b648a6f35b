/* SPDX-License-Identifier: Apache-2.0 */
#include "report/gate/toml.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

extern "C" {
#include "report/base/alloc.h"
}

#if __has_include(<toml++/toml.h>)
#define HAS_TOML 1
#else
#define HAS_TOML 0 /* Debian 11 and Ubuntu 22.04 have no such package: rules by --limit alone */
#endif

#if HAS_TOML
/*
 * toml++ 3.3 asserts what a wrong file breaks: that a key follows "[". What is thrown in an assert's
 * place is caught in toml_parse(), whatever NDEBUG says.
 */
#undef NDEBUG
struct broken_assumption {};
[[noreturn]] static void broken()
{
	throw broken_assumption();
}
#define TOML_ASSERT(holds) ((holds) ? void() : broken())
#define TOML_EXCEPTIONS        0
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>

static char *copy_of(std::string_view text)
{
	return alloc_copy(text.data(), text.size());
}

static void take(struct toml_entry *to, const toml::node &node)
{
	to->line = node.source().begin.line;
	to->column = node.source().begin.column;
	to->kind = TOML_OTHER;
	if (auto text = node.as_string()) {
		/* With a NUL in it no text of ours: what stands behind that would not be seen. */
		if (text->get().find('\0') != std::string::npos)
			return;
		to->kind = TOML_TEXT;
		to->text = copy_of(text->get());
	} else if (auto integer = node.as_integer()) {
		to->kind = TOML_INTEGER;
		to->integer = integer->get();
	} else if (auto flag = node.as_boolean()) {
		to->kind = TOML_SWITCH;
		to->integer = flag->get();
	} else if (auto list = node.as_array()) {
		to->kind = TOML_LIST;
		to->items = static_cast<struct toml_entry *>(
		        alloc_zeroed(list->size(), sizeof(*to->items)));
		for (auto &&item : *list)
			take(&to->items[to->item_count++], item);
	}
}

bool toml_supported(void)
{
	return true;
}

static void set_place(struct toml_file *file, const char *text, size_t at)
{
	file->error_line = file->error_column = 1;
	for (size_t i = 0; i < at; i++) {
		file->error_column = text[i] == '\n' ? 1 : file->error_column + 1;
		file->error_line += text[i] == '\n';
	}
}

static bool breaks(const char *text, size_t bytes)
{
	try {
		[[maybe_unused]] auto result = toml::parse(std::string_view(text, bytes));
		return false;
	} catch (const broken_assumption &) {
		return true;
	}
}

/* The text up to which an assumption holds, found by halves: the place is one behind it. */
static void find_break(struct toml_file *file, const char *text, size_t bytes)
{
	size_t good = 0, bad = bytes;

	while (bad - good > 1) {
		size_t middle = good + (bad - good) / 2;
		(breaks(text, middle) ? bad : good) = middle;
	}
	set_place(file, text, good);
	snprintf(file->error, sizeof(file->error), "this is no TOML: a key must stand here");
}

static bool parse(struct toml_file *file, const char *text, size_t bytes)
{
	toml::parse_result result = toml::parse(std::string_view(text, bytes));
	if (!result) {
		const toml::parse_error &e = result.error();
		file->error_line = e.source().begin.line;
		file->error_column = e.source().begin.column;
		snprintf(file->error, sizeof(file->error), "%.*s", (int)e.description().size(),
		         e.description().data());
		return false;
	}
	const toml::table &table = result.table();
	for (auto &&[key, value] : table)
		if (key.str().find('\0') != std::string_view::npos) {
			file->error_line = key.source().begin.line;
			file->error_column = key.source().begin.column;
			snprintf(file->error, sizeof(file->error), "a key with a NUL character");
			return false;
		}
	file->entries = static_cast<struct toml_entry *>(
	        alloc_zeroed(table.size(), sizeof(*file->entries)));
	for (auto &&[key, value] : table) {
		struct toml_entry *to = &file->entries[file->count++];
		to->key = copy_of(key.str());
		take(to, value);
		to->key_line = key.source().begin.line;
		to->key_column = key.source().begin.column;
	}
	return true;
}

/*
 * toml++ makes a table for each part of a dotted key, and gives them back one inside the other: a file
 * of half a million dots takes all of the stack. What a file nests is looked at before it is parsed,
 * by its brackets and by the dots of a line, strings and comments left out. Where a string is wrong
 * the parser stops, so nothing behind it matters.
 */
static const unsigned NESTED_MOST = 32;

/* Behind the string that begins at `at`: one line, or with three quotes any number. */
static size_t behind_string(std::string_view text, size_t at)
{
	const char quote = text[at];
	const std::string_view three = quote == '"' ? "\"\"\"" : "'''";
	const bool long_one = text.substr(at, 3) == three;

	for (at += long_one ? 3 : 1; at < text.size(); at++) {
		if (text[at] == '\\' && quote == '"')
			at++;
		else if (long_one && text.substr(at, 3) == three)
			return at + 3;
		else if (!long_one && (text[at] == quote || text[at] == '\n'))
			return at + 1;
	}
	return text.size();
}

/* Where it is nested too deep; npos = nowhere. */
static size_t find_depth(std::string_view text)
{
	unsigned depth = 0, dots = 0;

	for (size_t at = 0; at < text.size();) {
		const char c = text[at];
		if (c == '"' || c == '\'') {
			at = behind_string(text, at);
			continue;
		}
		if (c == '#')
			at = std::min(text.find('\n', at), text.size()) - 1;
		else if (c == '[' || c == '{')
			depth++;
		else if ((c == ']' || c == '}') && depth)
			depth--;
		dots = c == '\n' ? 0 : dots + (c == '.');
		if (depth > NESTED_MOST || dots > NESTED_MOST)
			return at;
		at++;
	}
	return std::string_view::npos;
}

static bool too_deep(struct toml_file *file, const char *text, size_t bytes)
{
	const size_t at = find_depth(std::string_view(text, bytes));

	if (at == std::string_view::npos)
		return false;
	set_place(file, text, at);
	snprintf(file->error, sizeof(file->error),
	         "nested more than %u deep: settings are not nested", NESTED_MOST);
	return true;
}

bool toml_parse(struct toml_file *file, const char *text, size_t bytes)
{
	*file = {};
	if (too_deep(file, text, bytes))
		return false;
	try {
		return parse(file, text, bytes);
	} catch (const broken_assumption &) {
		find_break(file, text, bytes);
		return false;
	}
}

#else

bool toml_supported(void)
{
	return false;
}

bool toml_parse(struct toml_file *file, const char *, size_t)
{
	*file = {};
	return false;
}

#endif

static void free_entry(struct toml_entry *e)
{
	for (size_t i = 0; i < e->item_count; i++)
		free_entry(&e->items[i]);
	free(e->items);
	free(e->key);
	free(e->text);
}

void toml_free(struct toml_file *file)
{
	for (size_t i = 0; i < file->count; i++)
		free_entry(&file->entries[i]);
	free(file->entries);
	*file = {};
}
