/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/analysis/verdict/verdict.h"
#include "report/base/alloc.h"
#include "report/base/complain.h"
#include "report/gate/rules_internal.h"

bool rule_parse_op(struct rule_parser *p)
{
	static const struct {
		const char *text;
		enum rule_op op;
	} ops[] = {{"<=", OP_LE}, {">=", OP_GE}, {"==", OP_EQ}, {"!=", OP_NE},
	           {"<", OP_LT},  {">", OP_GT},  {"=", OP_EQ}};
	struct rule *r = p->rule;

	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		size_t bytes = strlen(ops[i].text);
		if (strncmp(p->at, ops[i].text, bytes))
			continue;
		r->op = ops[i].op;
		bool equality = r->op == OP_EQ || r->op == OP_NE;
		if (r->metric->kind == METRIC_WORD && !equality)
			return rule_wrong(p, p->at, "a %s is a word: compare it with = or !=",
			                  r->metric->name);
		if (equality && (r->metric->kind == METRIC_TIME || r->metric->kind == METRIC_SHARE))
			return rule_wrong(p, p->at,
			                  "%s is measured, two are never equal: use <= or >=",
			                  r->metric->name);
		p->at += bytes;
		return true;
	}
	return rule_wrong(p, p->at, "expected a comparison: <= >= < > = or !=");
}

struct unit {
	const char *name;
	enum metric_kind kind;
	double factor;
};
static const struct unit units[] = {
        {"ns", METRIC_TIME, 1},
        {"us", METRIC_TIME, 1e3},
        {"ms", METRIC_TIME, 1e6},
        {"s", METRIC_TIME, 1e9},
        {"B", METRIC_BYTES, 1},
        {"KiB", METRIC_BYTES, 1024},
        {"MiB", METRIC_BYTES, 1024. * 1024},
        {"GiB", METRIC_BYTES, 1024. * 1024 * 1024},
        {"kB", METRIC_BYTES, 1e3},
        {"MB", METRIC_BYTES, 1e6},
        {"GB", METRIC_BYTES, 1e9},
};

static bool parse_unit(struct rule_parser *p, const char *start)
{
	static const char *const kinds[] = {
	        [METRIC_COUNT] = "a count and takes no unit",
	        [METRIC_BYTES] = "in bytes: B, KiB, MiB, GiB, kB, MB or GB",
	        [METRIC_TIME] = "a time: ns, us, ms or s",
	        [METRIC_SHARE] = "a share: give it in %",
	};
	struct rule *r = p->rule;
	enum metric_kind kind = r->metric->kind;
	size_t bytes = strspn(p->at, RULE_LETTERS);

	if (*p->at == '%') {
		if (!r->relative && kind != METRIC_SHARE)
			return rule_wrong(p, start,
			                  "a percentage of what? +%.*s is over the baseline",
			                  (int)(p->at - start + 1), start);
		r->percent = r->relative;
		if (!r->relative)
			r->value /= 100;
		p->at++;
		return true;
	}
	if (kind == METRIC_SHARE)
		return rule_wrong(p, bytes ? p->at : start, "%s is %s", r->metric->name,
		                  kinds[kind]);
	for (size_t i = 0; bytes && i < sizeof(units) / sizeof(units[0]); i++)
		if (rule_is_word(p->at, bytes, units[i].name) && units[i].kind == kind) {
			r->value *= units[i].factor;
			p->at += bytes;
			return true;
		}
	if (bytes)
		return rule_wrong(p, p->at, "unit %.*s: %s is %s", (int)bytes, p->at,
		                  r->metric->name, kinds[kind]);
	return true;
}

static bool parse_number(struct rule_parser *p)
{
	const char *start = p->at;
	struct rule *r = p->rule;
	bool minus = *start == '-';

	r->relative = *start == '+' || minus;
	p->at += r->relative;
	size_t whole = strspn(p->at, RULE_DIGITS), bytes = whole;
	if (p->at[bytes] == '.')
		bytes += 1 + strspn(p->at + bytes + 1, RULE_DIGITS);
	if (!whole || bytes > 18)
		return rule_wrong(p, start,
		                  whole ? "a number of more than 18 characters"
		                        : "expected a limit: 5, +0, +5%% or the like");
	char *digits = alloc_copy(p->at, bytes);
	r->value = strtod(digits, NULL) * (minus ? -1 : 1);
	free(digits);
	p->at += bytes;
	if (!parse_unit(p, start))
		return false;
	if (metric_is_count(r->metric) && !r->per_step && !r->percent && r->value != rint(r->value))
		return rule_wrong(p, start, "%s is a whole number", r->metric->name);
	if (r->relative && r->op == OP_NE)
		return rule_wrong(p, start, "!= takes a number without a sign");
	return true;
}

static bool parse_word(struct rule_parser *p)
{
	size_t bytes = strspn(p->at, RULE_LETTERS "-");
	bool known = false;

	if (!bytes)
		return rule_wrong(p, p->at, "expected a class of verdict, such as sync-bound");
	p->rule->word = alloc_copy(p->at, bytes);
	for (size_t i = 0; verdict_names[i]; i++)
		known |= !strcmp(verdict_names[i], p->rule->word);
	if (!known) {
		const char *meant = suggest(p->rule->word, verdict_names);
		return rule_wrong(p, p->at, "unknown verdict %s%s%s%s", p->rule->word,
		                  meant ? "; did you mean " : "", meant ? meant : "",
		                  meant ? "?" : "");
	}
	if (!strcmp(p->rule->word, verdict_names[VERDICT_NONE]))
		return rule_wrong(p, p->at,
		                  "a rule on an inconclusive verdict has no answer anyway: the "
		                  "exit status is 3");
	p->at += bytes;
	return true;
}

bool rule_holds_always(const struct rule *r)
{
	bool share = r->metric->kind == METRIC_SHARE;
	double least = r->relative ? -100 : 0, most = !share ? INFINITY : r->relative ? 100 : 1;

	if (r->select != SELECT_RUN || r->word || (r->relative && !r->percent))
		return false;
	return (r->op == OP_GE && r->value <= least) || (r->op == OP_GT && r->value < least) ||
	       (r->op == OP_LE && r->value >= most) || (r->op == OP_LT && r->value > most);
}

bool rule_parse_limit(struct rule_parser *p)
{
	return p->rule->metric->kind == METRIC_WORD ? parse_word(p) : parse_number(p);
}
