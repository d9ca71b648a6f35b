/* SPDX-License-Identifier: Apache-2.0 */
/*
 * damage [-k FOLDER] SEED COUNT RECORDING...
 *
 * Damages recordings in memory, COUNT times in all, and judges each by the rules that the whole one
 * fails: none may pass. Whole ones must answer as they did. What passed is kept in FOLDER. The same
 * seed does the same. Where the reporter itself goes down, what was done to which recording is
 * said.
 */
#include <execinfo.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report/gate/judge.h"
#include "tests/fuzz/damage.h"

#define RULES_MOST 256

struct subject { /* a whole recording */
	const char *path;
	uint8_t *data;
	size_t bytes;
	bool open;
	struct figures before; /* a run that did a little less: the baseline */
	struct rule rules[RULES_MOST];
	enum judge_outcome outcomes[RULES_MOST];
	size_t rule_count, failing;
};

struct finding_tally {
	uint64_t done, refused, unanswered, unchanged, passed, passed_killed;
};

static void die(const char *what, const char *path)
{
	fprintf(stderr, "damage: %s: %s\n", path, what);
	exit(2);
}

/* ---- going down ---- */

static struct { /* what is tried just now */
	const char *path;
	char what[256];
} trying;

/* The line, and the calls that led there as addresses; then the signal as it comes without us. */
static void gone_down(int signal)
{
	void *calls[64];
	const char *parts[] = {"damage: ", trying.path ? trying.path : "", ", ", trying.what, "\n"};

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (write(STDERR_FILENO, parts[i], strlen(parts[i])) < 0)
			break;
	backtrace_symbols_fd(calls, backtrace(calls, 64), STDERR_FILENO);
	raise(signal);
}

static void say_when_down(void)
{
	const struct sigaction action = {.sa_handler = gone_down,
	                                 .sa_flags = (int)SA_RESETHAND | SA_NODEFER};
	static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
	void *calls[1];

	backtrace(calls, 1); /* loads its library now */
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		struct sigaction before; /* a sanitizer's says more */
		if (!sigaction(signals[i], NULL, &before) && before.sa_handler == SIG_DFL)
			sigaction(signals[i], &action, NULL);
	}
}

/* ---- reading and judging ---- */

/* The reporter's own way from bytes to figures; false: it refuses them. */
static bool take(struct figures *f, const void *data, size_t bytes, bool *damaged)
{
	char error[READER_ERROR_BYTES];
	struct recording r;
	struct model m = {0};

	if (recording_from_memory(&r, data, bytes, &m.warnings, error)) {
		model_free(&m);
		return false;
	}
	*damaged = r.damage.count > 0;
	model_add(&m, &r);
	recording_close(&r);
	model_finish(&m);
	struct analysis a;
	analysis_make(&a, &m, m.phases.main);
	figures_take(f, &m, &a);
	analysis_free(&a);
	f->name = strdup("it");
	model_free(&m);
	return true;
}

static enum judge_outcome judge(const struct subject *s, size_t rule, struct figures *f,
                                bool allow_killed)
{
	const struct run_set before = {(struct figures *)&s->before, 1}, after = {f, 1};
	const struct judge by = {.before = &before, .after = &after, .allow_killed = allow_killed};
	struct judgement j;

	judge_rule(&j, &s->rules[rule], &by);
	enum judge_outcome outcome = j.outcome;
	judgement_free(&j);
	return outcome;
}

/* ---- rules that a whole recording breaks ---- */

static void add_rule(struct subject *s, const char *text)
{
	struct rule_error error;

	if (s->rule_count == RULES_MOST || !rule_parse(&s->rules[s->rule_count], text, &error))
		die("too many rules, or one that is wrong", text);
	s->rule_count++;
}

/* What has a count is asked for less of it, for none, and for more; and for no more than before. */
static void add_rules(struct subject *s, const char *selector, const char *metric, double v)
{
	char text[1024];
	const struct {
		const char *op;
		double limit;
	} limits[] = {{"<=", v - 1}, {"=", 0}, {"<=", 5}, {">=", v + 1}};

	if (!(v > 0) || v != rint(v) || v > 1e15)
		return;
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		if (limits[i].op[0] == '<' && limits[i].limit >= v)
			continue;
		snprintf(text, sizeof(text), "%s%s %s %.0f", selector, metric, limits[i].op,
		         limits[i].limit);
		add_rule(s, text);
	}
	snprintf(text, sizeof(text), "%s%s <= +0", selector, metric);
	add_rule(s, text);
}

/* The name as a pattern of it alone. */
static void selector_of(char *to, size_t room, const char *kind, const char *name)
{
	size_t n = (size_t)snprintf(to, room, "%s \"^", kind);

	for (; *name && n + 8 < room; name++) {
		if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_ ",
		            *name))
			to[n++] = *name == '"' ? '.' : '\\';
		if (*name != '"')
			to[n++] = *name;
	}
	snprintf(to + n, room - n, "$\" ");
}

static void add_kernels(struct subject *s, const struct figures *f)
{
	char selector[600];

	add_rules(s, "kernel \".\" ", "launches", f->values[METRIC_LAUNCHES]);
	for (size_t i = 0; i < f->kernels.count && i < 4; i++) {
		selector_of(selector, sizeof(selector), "kernel", f->kernels.items[i].name);
		add_rules(s, selector, "launches", (double)f->kernels.items[i].count);
	}
}

static void add_ranges(struct subject *s, const struct figures *f)
{
	const int launches = metric_work(&metrics[METRIC_LAUNCHES]);
	char selector[600];

	for (size_t i = 0; i < f->ranges.count && i < 4; i++) {
		if (strlen(f->ranges.items[i].name) > 200)
			continue;
		selector_of(selector, sizeof(selector), "range", f->ranges.items[i].name);
		add_rules(s, selector, "launches", f->ranges.items[i].of[launches]);
	}
}

/* A run that did one of everything less. */
static void make_baseline(struct subject *s)
{
	bool damaged;

	take(&s->before, s->data, s->bytes, &damaged);
	for (size_t i = 0; i < METRICS; i++)
		if (metric_is_count(&metrics[i]) && s->before.values[i] > 0)
			s->before.values[i]--;
	for (size_t i = 0; i < s->before.kernels.count; i++)
		s->before.kernels.items[i].count -= s->before.kernels.items[i].count > 0;
	for (size_t i = 0; i < s->before.ranges.count; i++)
		for (size_t k = 0; k < WORK_FIGURES; k++)
			s->before.ranges.items[i].of[k] -= s->before.ranges.items[i].of[k] > 0;
	s->before.state = PROCESS_COMPLETE;
	/* One kernel less is no kernel without a name. */
	double listed = 0;
	for (size_t i = 0; i < s->before.kernels.count; i++)
		listed += (double)s->before.kernels.items[i].count;
	s->before.values[METRIC_LAUNCHES] = listed;
}

static void make_rules(struct subject *s, struct figures *f)
{
	static const char *const others[] = {"window_ns <= 1", "launch_p50_ns <= 1",
	                                     "step_p50_ns <= 1", "launches_per_step <= 0.001"};

	for (size_t i = 0; i < METRICS; i++)
		if (metric_is_count(&metrics[i]))
			add_rules(s, "", metrics[i].name, f->values[i]);
	add_kernels(s, f);
	add_ranges(s, f);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		add_rule(s, others[i]);
	for (size_t i = 0; i < s->rule_count; i++) {
		s->outcomes[i] = judge(s, i, f, false);
		s->failing += s->outcomes[i] == OUTCOME_FAIL;
	}
}

static void start(struct subject *s, const char *path)
{
	FILE *f = fopen(path, "rb");
	struct figures whole;
	bool damaged;

	*s = (struct subject){.path = path};
	if (!f || fseek(f, 0, SEEK_END) || ftell(f) < (long)sizeof(struct tf_header))
		die("cannot be read", path);
	s->bytes = (size_t)ftell(f);
	s->data = malloc(s->bytes);
	rewind(f);
	if (!s->data || fread(s->data, 1, s->bytes, f) != s->bytes)
		die("cannot be read", path);
	fclose(f);
	s->open = ((const struct tf_header *)s->data)->state == TF_STATE_OPEN;
	if (!take(&whole, s->data, s->bytes, &damaged) || damaged || whole.missing)
		die("is not whole to begin with", path);
	make_baseline(s);
	make_rules(s, &whole);
	figures_free(&whole);
	if (s->failing < 10)
		die("breaks too few rules to tell anything", path);
}

/* ---- the campaign ---- */

static void keep(const char *folder, const uint8_t *data, size_t bytes, uint64_t number)
{
	char path[4096];

	if (!folder)
		return;
	snprintf(path, sizeof(path), "%s/passed-%llu.cudaspy", folder, (unsigned long long)number);
	FILE *f = fopen(path, "wb");
	if (f) {
		fwrite(data, 1, bytes, f);
		fclose(f);
	}
}

/* Whether a rule that the whole one fails passes. */
static bool passes(const struct subject *s, struct figures *f, const char *what)
{
	bool passed = false;

	for (size_t i = 0; i < s->rule_count; i++)
		if (s->outcomes[i] == OUTCOME_FAIL && judge(s, i, f, false) == OUTCOME_PASS) {
			fprintf(stderr, "%s, %s: passes %s\n", s->path, what, s->rules[i].text);
			passed = true;
		}
	return passed;
}

static bool passes_killed(const struct subject *s, struct figures *f)
{
	for (size_t i = 0; s->open && i < s->rule_count; i++)
		if (s->outcomes[i] == OUTCOME_FAIL && judge(s, i, f, true) == OUTCOME_PASS)
			return true;
	return false;
}

static void try_one(struct subject *s, enum damage_kind kind, uint64_t *seed,
                    struct finding_tally *t, const char *folder)
{
	uint8_t *data = malloc(s->bytes);
	size_t bytes = s->bytes;
	struct figures f;
	bool damaged;

	memcpy(data, s->data, bytes);
	trying.path = s->path;
	bool changed = damage_do(kind, data, &bytes, seed, trying.what, sizeof(trying.what));
	t->done++;
	if (!take(&f, data, bytes, &damaged)) {
		t->refused++;
	} else {
		if (damaged)
			t->unanswered++;
		else
			t->unchanged += !changed;
		if (passes(s, &f, trying.what)) {
			keep(folder, data, bytes, t->done);
			t->passed++;
		}
		t->passed_killed += passes_killed(s, &f);
		figures_free(&f);
	}
	free(data);
}

/* Whole ones answer as they did before all this. */
static bool same_as_ever(struct subject *s)
{
	struct figures f;
	bool damaged, same = true;

	if (!take(&f, s->data, s->bytes, &damaged) || damaged)
		return false;
	for (size_t i = 0; i < s->rule_count; i++)
		same &= judge(s, i, &f, false) == s->outcomes[i];
	figures_free(&f);
	return same;
}

static void say(const struct finding_tally *tallies)
{
	struct finding_tally sum = {0};

	printf("%-15s %8s %8s %8s %8s %8s %8s\n", "damage", "done", "refused", "told", "same",
	       "passed", "(killed)");
	for (int k = 0; k <= DAMAGE_KINDS; k++) {
		const struct finding_tally *t = k < DAMAGE_KINDS ? &tallies[k] : &sum;
		printf("%-15s %8llu %8llu %8llu %8llu %8llu %8llu\n",
		       k < DAMAGE_KINDS ? damage_names[k] : "all", (unsigned long long)t->done,
		       (unsigned long long)t->refused, (unsigned long long)t->unanswered,
		       (unsigned long long)(t->done - t->refused - t->unanswered),
		       (unsigned long long)t->passed, (unsigned long long)t->passed_killed);
		sum.done += t->done;
		sum.refused += t->refused;
		sum.unanswered += t->unanswered;
		sum.passed += t->passed;
		sum.passed_killed += t->passed_killed;
	}
}

static void stop(struct subject *s)
{
	for (size_t i = 0; i < s->rule_count; i++)
		rule_free(&s->rules[i]);
	figures_free(&s->before);
	free(s->data);
}

int main(int argc, char **argv)
{
	struct finding_tally tallies[DAMAGE_KINDS] = {{0}};
	const char *folder = NULL;
	int status = 0;

	if (argc > 2 && !strcmp(argv[1], "-k")) {
		folder = argv[2];
		argv += 2;
		argc -= 2;
	}
	if (argc < 4)
		die("damage [-k FOLDER] SEED COUNT RECORDING...", "usage");
	say_when_down();
	uint64_t seed = strtoull(argv[1], NULL, 0) * 2 + 1, count = strtoull(argv[2], NULL, 0);
	size_t subjects = (size_t)argc - 3;
	struct subject *all = calloc(subjects, sizeof(*all));
	for (size_t i = 0; i < subjects; i++)
		start(&all[i], argv[3 + i]);
	for (uint64_t i = 0; i < count; i++) {
		struct subject *s = &all[i % subjects];
		enum damage_kind kind = (enum damage_kind)(i / subjects % DAMAGE_KINDS);
		if (kind == DAMAGE_FLIPPED && s->open)
			kind = (enum damage_kind)(damage_random(&seed) % DAMAGE_FLIPPED);
		try_one(s, kind, &seed, &tallies[kind], folder);
	}
	for (size_t i = 0; i < subjects; i++) {
		printf("%s: %s, %zu bytes, %zu rules, %zu of them broken\n", all[i].path,
		       all[i].open ? "open" : "closed", all[i].bytes, all[i].rule_count,
		       all[i].failing);
		if (!same_as_ever(&all[i])) {
			fprintf(stderr, "%s: the whole recording has other answers\n", all[i].path);
			status = 1;
		}
		stop(&all[i]);
	}
	free(all);
	say(tallies);
	for (int k = 0; k < DAMAGE_KINDS; k++)
		status |= tallies[k].passed > 0;
	return status;
}
