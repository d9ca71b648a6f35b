/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the two files that parse a rule work together: what it is about in one, comparison and limit
 * in the other. For these alone.
 */
#ifndef REPORT_RULES_INTERNAL_H
#define REPORT_RULES_INTERNAL_H

#include "report/gate/rules.h"

#define RULE_LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"
#define RULE_DIGITS  "0123456789"

struct rule_parser {
	struct rule *rule;
	const char *text, *at;
	struct rule_error *error;
};

/* Sets the error; `where` is its place in the text. Always false. */
bool rule_wrong(struct rule_parser *p, const char *where, const char *format, ...)
        __attribute__((format(printf, 3, 4)));
bool rule_is_word(const char *at, size_t bytes, const char *word);

/* Each goes on at `at` and leaves it behind what it took; false with the error set. */
bool rule_parse_op(struct rule_parser *p);
bool rule_parse_limit(struct rule_parser *p);

#endif
