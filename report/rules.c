#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "report/alloc.h"
#include "report/complain.h"
#include "report/rules.h"

const char *const rule_op_names[] = {
        [OP_LE] = "<=", [OP_GE] = ">=", [OP_EQ] = "=", [OP_NE] = "!=", [OP_LT] = "<", [OP_GT] = ">",
};

struct parser {
	struct rule *rule;
	const char *text, *at;
	struct rule_error *error;
};

static bool wrong(struct parser *p, const char *where, const char *format, ...)
        __attribute__((format(printf, 3, 4)));

static bool wrong(struct parser *p, const char *where, const char *format, ...)
{
	va_list args;

	p->error->column = (size_t)(where - p->text) + 1;
	va_start(args, format);
	vsnprintf(p->error->text, sizeof(p->error->text), format, args);
	va_end(args);
	return false;
}

static void skip_blanks(struct parser *p)
{
	p->at += strspn(p->at, " \t");
}

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"
#define DIGITS  "0123456789"

static size_t word_here(const struct parser *p)
{
	return strspn(p->at, LETTERS DIGITS);
}

static bool is_word(const char *at, size_t bytes, const char *word)
{
	return strlen(word) == bytes && !memcmp(at, word, bytes);
}

/* "PATTERN", with \" for a quote, then perhaps a colon. */
static bool parse_pattern(struct parser *p, const char *what)
{
	const char *start = p->at;
	char why[128];

	if (*p->at != '"')
		return wrong(p, p->at, "expected the name of a %s in quotes: %s \"...\"", what,
		             what);
	char *to = p->rule->pattern = alloc_zeroed(strlen(p->at) + 1, 1);
	for (p->at++; *p->at && *p->at != '"'; p->at++) {
		if (p->at[0] == '\\' && p->at[1] == '"')
			p->at++;
		*to++ = *p->at;
	}
	if (*p->at != '"')
		return wrong(p, start, "this quote is not closed");
	p->at++;
	if (!*p->rule->pattern)
		return wrong(p, start, "an empty name; \".*\" means every %s", what);
	int rc = regcomp(&p->rule->regex, p->rule->pattern, REG_EXTENDED | REG_NOSUB);
	if (rc) {
		regerror(rc, &p->rule->regex, why, sizeof(why));
		return wrong(p, start, "no regular expression: %s", why);
	}
	p->rule->select = !strcmp(what, "kernel") ? SELECT_KERNEL : SELECT_RANGE;
	skip_blanks(p);
	p->at += *p->at == ':';
	return true;
}

static bool parse_selector(struct parser *p)
{
	static const char *const selectors[] = {"kernel", "range"};
	size_t bytes = word_here(p);

	for (size_t i = 0; i < 2; i++)
		if (is_word(p->at, bytes, selectors[i])) {
			p->at += bytes;
			skip_blanks(p);
			return parse_pattern(p, selectors[i]);
		}
	return true;
}

static bool unknown_metric(struct parser *p, const char *at, size_t bytes)
{
	char *name = alloc_copy(at, bytes);
	const char *meant = suggest(name, metric_names());

	if (meant)
		wrong(p, at, "unknown metric %s; did you mean %s?", name, meant);
	else
		wrong(p, at, "unknown metric %s; cudaspy check --metrics lists them", name);
	free(name);
	return false;
}

static bool parse_metric(struct parser *p)
{
	static const char per_step[] = "_per_step";
	const size_t tail = sizeof(per_step) - 1;
	const char *start = p->at;
	size_t bytes = word_here(p);
	struct rule *r = p->rule;

	if (!bytes)
		return wrong(p, start, "expected a metric, such as launches");
	r->metric = metric_find(start, bytes);
	if (!r->metric && bytes > tail && !memcmp(start + bytes - tail, per_step, tail)) {
		r->per_step = true;
		r->metric = metric_find(start, bytes - tail);
		if (!r->metric)
			return unknown_metric(p, start, bytes - tail);
		if (!metric_is_count(r->metric))
			return wrong(p, start + bytes - tail,
			             "%s is no count: it has no value per step", r->metric->name);
	}
	if (!r->metric)
		return unknown_metric(p, start, bytes);
	if (r->select == SELECT_KERNEL && !(r->metric->flags & METRIC_KERNELS))
		return wrong(p, start, "%s is not known of single kernels; launches is",
		             r->metric->name);
	p->at += bytes;
	return true;
}

static bool parse_op(struct parser *p)
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
			return wrong(p, p->at,
			             "a %s is a word: compare it with = or !=", r->metric->name);
		if (equality && (r->metric->kind == METRIC_TIME || r->metric->kind == METRIC_SHARE))
			return wrong(p, p->at, "%s is measured, two are never equal: use <= or >=",
			             r->metric->name);
		p->at += bytes;
		return true;
	}
	return wrong(p, p->at, "expected a comparison: <= >= < > = or !=");
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

static bool parse_unit(struct parser *p, const char *start)
{
	static const char *const kinds[] = {
	        [METRIC_COUNT] = "a count and takes no unit",
	        [METRIC_BYTES] = "in bytes: B, KiB, MiB, GiB, kB, MB or GB",
	        [METRIC_TIME] = "a time: ns, us, ms or s",
	        [METRIC_SHARE] = "a share: give it in %",
	};
	struct rule *r = p->rule;
	enum metric_kind kind = r->metric->kind;
	size_t bytes = strspn(p->at, LETTERS);

	if (*p->at == '%') {
		if (!r->relative && kind != METRIC_SHARE)
			return wrong(p, start, "a percentage of what? +%.*s is over the baseline",
			             (int)(p->at - start + 1), start);
		r->percent = r->relative;
		if (!r->relative)
			r->value /= 100;
		p->at++;
		return true;
	}
	if (kind == METRIC_SHARE)
		return wrong(p, bytes ? p->at : start, "%s is %s", r->metric->name, kinds[kind]);
	for (size_t i = 0; bytes && i < sizeof(units) / sizeof(units[0]); i++)
		if (is_word(p->at, bytes, units[i].name) && units[i].kind == kind) {
			r->value *= units[i].factor;
			p->at += bytes;
			return true;
		}
	if (bytes)
		return wrong(p, p->at, "unit %.*s: %s is %s", (int)bytes, p->at, r->metric->name,
		             kinds[kind]);
	return true;
}

static bool parse_number(struct parser *p)
{
	const char *start = p->at;
	struct rule *r = p->rule;
	bool minus = *start == '-';

	r->relative = *start == '+' || minus;
	p->at += r->relative;
	size_t whole = strspn(p->at, DIGITS), bytes = whole;
	if (p->at[bytes] == '.')
		bytes += 1 + strspn(p->at + bytes + 1, DIGITS);
	if (!whole || bytes > 18)
		return wrong(p, start,
		             whole ? "a number of more than 18 characters"
		                   : "expected a limit: 5, +0, +5%% or the like");
	char *digits = alloc_copy(p->at, bytes);
	r->value = strtod(digits, NULL) * (minus ? -1 : 1);
	free(digits);
	p->at += bytes;
	if (!parse_unit(p, start))
		return false;
	if (metric_is_count(r->metric) && !r->per_step && !r->percent && r->value != rint(r->value))
		return wrong(p, start, "%s is a whole number", r->metric->name);
	if (r->relative && r->op == OP_NE)
		return wrong(p, start, "!= takes a number without a sign");
	return true;
}

static bool parse_word(struct parser *p)
{
	size_t bytes = strspn(p->at, LETTERS "-");
	bool known = false;

	if (!bytes)
		return wrong(p, p->at, "expected a class of verdict, such as sync-bound");
	p->rule->word = alloc_copy(p->at, bytes);
	for (size_t i = 0; verdict_names[i]; i++)
		known |= !strcmp(verdict_names[i], p->rule->word);
	if (!known) {
		const char *meant = suggest(p->rule->word, verdict_names);
		return wrong(p, p->at, "unknown verdict %s%s%s%s", p->rule->word,
		             meant ? "; did you mean " : "", meant ? meant : "", meant ? "?" : "");
	}
	p->at += bytes;
	return true;
}

static bool parse(struct parser *p)
{
	skip_blanks(p);
	if (!parse_selector(p))
		return false;
	skip_blanks(p);
	if (!parse_metric(p))
		return false;
	skip_blanks(p);
	if (!parse_op(p))
		return false;
	skip_blanks(p);
	if (!(p->rule->metric->kind == METRIC_WORD ? parse_word(p) : parse_number(p)))
		return false;
	skip_blanks(p);
	return *p->at ? wrong(p, p->at, "this is too much: the rule ended before it") : true;
}

bool rule_parse(struct rule *r, const char *text, struct rule_error *error)
{
	struct parser p = {.rule = r, .text = text, .at = text, .error = error};

	*r = (struct rule){.text = alloc_copy(text, strlen(text))};
	if (parse(&p))
		return true;
	rule_free(r);
	return false;
}

void rule_free(struct rule *r)
{
	if (r->select != SELECT_RUN)
		regfree(&r->regex);
	free(r->text);
	free(r->pattern);
	free(r->word);
	*r = (struct rule){0};
}
