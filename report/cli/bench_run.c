/* SPDX-License-Identifier: Apache-2.0 */
#include "report/cli/bench_run.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/base/alloc.h"
#include "report/base/complain.h"
#include "report/base/progress.h"
#include "report/base/units.h"
#include "report/cli/bench_output.h"
#include "report/cli/child.h"
#include "report/cli/run_output.h"
#include "report/cli/run_preload.h"
#include "report/reader/find.h"

struct variant { /* a command, with the shim or without */
	size_t side;
	bool bare;
};

struct state {
	struct bench *bench;
	const struct bench_plan *plan;
	char *library;
	struct target targets[BENCH_SIDES];
	char *folder; /* of all runs */
	bool made;    /* by us, to be removed */
	struct variant variants[2 * BENCH_SIDES];
	size_t variant_count;
	size_t done, all; /* runs */
	double spent_ns;  /* in them */
	struct bench_output output;
};

/* ---- being stopped ---- */

/* Between two runs; while one goes on child.c sees to it. What was made is removed all the same. */
static volatile sig_atomic_t stopped;
static const int ending[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM};
#define ENDING (sizeof(ending) / sizeof(ending[0]))

static void stop(int signal)
{
	stopped = signal;
}

static void catch_signals(struct sigaction before[ENDING])
{
	struct sigaction action = {.sa_handler = stop, .sa_flags = SA_RESTART};

	stopped = 0;
	for (size_t i = 0; i < ENDING; i++) {
		sigaction(ending[i], NULL, &before[i]);
		if (before[i].sa_handler != SIG_IGN)
			sigaction(ending[i], &action, NULL);
	}
}

/* ---- folders ---- */

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(path);
}

static void remove_folder(const char *path)
{
	nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static int make_folder(const char *path)
{
	if (!mkdir(path, 0777))
		return 0;
	complain("bench: %s: %s", path, strerror(errno));
	return -1;
}

/* "DIR/run-3", of two commands "DIR/B/run-3" (free it). */
static char *run_folder(const struct state *s, const struct variant *v, const char *name,
                        size_t number)
{
	const char *side = s->bench->side_count > 1 ? s->bench->sides[v->side].label : "";

	return alloc_format("%s/%s%s%s%s-%zu", s->folder, side, *side ? "/" : "",
	                    v->bare ? "bare-" : "", name, number);
}

/* What is there already is not ours. */
static int check_kept(const struct state *s)
{
	static const char *const names[] = {"A", "B", "run-1", "bare-run-1"};
	int rc = 0;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !rc; i++) {
		char *path = alloc_format("%s/%s", s->folder, names[i]);
		if (!access(path, F_OK)) {
			complain("bench: --keep: %s is there already", path);
			rc = -1;
		}
		free(path);
	}
	return rc;
}

static int make_folders(struct state *s)
{
	const char *keep = s->bench->keep, *temporary = getenv("TMPDIR");

	if (keep) {
		if (mkdir(keep, 0777) && errno != EEXIST) {
			complain("bench: --keep %s: %s", keep, strerror(errno));
			return -1;
		}
		s->folder = realpath(keep, NULL);
		if (!s->folder) {
			complain("bench: --keep %s: %s", keep, strerror(errno));
			return -1;
		}
		if (check_kept(s))
			return -1;
	} else {
		s->folder = alloc_format("%s/cudaspy-bench-XXXXXX",
		                         temporary && *temporary ? temporary : "/tmp");
		if (!mkdtemp(s->folder)) {
			complain("bench: %s: %s", s->folder, strerror(errno));
			return -1;
		}
		s->made = true;
	}
	for (size_t i = 0; i < s->bench->side_count && s->bench->side_count > 1; i++) {
		char *path = alloc_format("%s/%s", s->folder, s->bench->sides[i].label);
		int rc = make_folder(path);
		free(path);
		if (rc)
			return -1;
	}
	return 0;
}

/* ---- one run ---- */

struct place { /* what the child is told */
	const struct state *state;
	const struct variant *variant;
	const char *folder;
};

/* In the child. */
static int prepare(void *context)
{
	const struct place *p = context;
	const struct state *s = p->state;
	char *path = bench_output_path(p->folder), *out = NULL;
	int rc = child_redirect(path, O_WRONLY);

	if (!rc && !p->variant->bare) {
		for (const char *c = p->folder; *c; c++)
			alloc_append(&out, "%s%c", *c == '%' ? "%" : "", *c);
		alloc_append(&out, "/");
		preload_variable("CUDASPY_OUT", out);
		preload_variable("CUDASPY_QUIET", "1");
		preload_set(s->library, &s->targets[p->variant->side]);
	}
	return rc;
}

/* "the command", "command B" */
static const char *which(const struct state *s, const struct variant *v)
{
	static const char *const names[] = {"command A", "command B"};

	return s->bench->side_count > 1 ? names[v->side] : "the command";
}

static int failed(const struct state *s, const struct variant *v, const struct child *c,
                  const char *run, size_t number, const char *folder)
{
	const char *bare = v->bare ? " without the shim" : "";

	bench_output_show(folder);
	if (c->caught)
		complain("bench: stopped by signal %d in %s %zu", c->caught, run, number);
	else if (c->status > 128)
		complain("bench: %s%s was killed by signal %d in %s %zu, status %d: %s",
		         which(s, v), bare, c->status - 128, run, number, c->status,
		         s->bench->sides[v->side].command);
	else
		complain("bench: %s%s failed in %s %zu, status %d: %s", which(s, v), bare, run,
		         number, c->status, s->bench->sides[v->side].command);
	return c->caught ? 128 + c->caught : c->status;
}

static void say_progress(const struct state *s, const struct variant *v, const char *run,
                         size_t number, size_t of)
{
	char left[UNIT_BYTES] = "";

	if (s->done)
		unit_time_apart(left, s->spent_ns / (double)s->done * (double)(s->all - s->done));
	progress_stage("bench: %s %zu of %zu, %s%s%s%s", run, number, of, which(s, v),
	               v->bare ? " without the shim" : "", *left ? ", about " : "", left);
	progress_show();
}

/* Reads what the run recorded. EXIT_TROUBLE when one line was written. */
static int read_run(struct state *s, const struct variant *v, const char *folder, size_t number)
{
	struct run_set *to = v->side ? &s->bench->found.after : &s->bench->found.before;
	struct find_list list;
	int rc = -1;

	find_run(&list, folder, getenv("CUDASPY_RUN_ID"));
	run_output_wait(&list);
	if (list.count)
		rc = run_set_add(to, folder, &s->plan->figures);
	else
		complain("bench: no recording of %s in run %zu: it used no CUDA, or could not be "
		         "observed",
		         which(s, v), number);
	find_free(&list);
	if (!rc && !s->bench->keep) {
		char **name = &to->runs[to->count - 1].name;
		free(*name);
		*name = alloc_format("%s, run %zu", s->bench->sides[v->side].label, number);
	}
	return rc ? EXIT_TROUBLE : EXIT_DONE;
}

/* What the shim had to say of it: a disk that is full, and what follows from that. */
static void tell_output(struct state *s, const struct variant *v, const char *run, size_t number,
                        const char *folder)
{
	char *name = s->bench->side_count > 1 ? alloc_format("%s, %s %zu", which(s, v), run, number)
	                                      : alloc_format("%s %zu", run, number);

	bench_output_tell(&s->output, folder, name);
	free(name);
}

static void measured(struct bench *b, const struct variant *v, const struct child *c)
{
	struct bench_side *side = &b->sides[v->side];

	bench_add(v->bare ? &side->bare_wall : &side->wall, c->wall_ns);
	bench_add(v->bare ? &side->bare_cpu : &side->cpu, c->cpu_ns);
}

/* `count`: it is no warm-up. */
static int run_one(struct state *s, const struct variant *v, const char *run, size_t number,
                   bool count)
{
	char *folder = run_folder(s, v, run, number);
	struct place place = {s, v, folder};
	struct child child = {
	        .command = s->plan->commands[v->side], .prepare = prepare, .context = &place};
	int status = make_folder(folder) || bench_output_make(folder) ? EXIT_TROUBLE : EXIT_DONE;

	if (status == EXIT_DONE) {
		say_progress(s, v, run, number, count ? s->bench->runs : s->bench->warmup);
		preload_run_id(true);
		int why = child_run(&child);
		if (why)
			status = preload_cannot_execute("bench", child.command[0], why);
		else if (child.caught || (child.status && !s->plan->ignore_failure))
			status = failed(s, v, &child, run, number, folder);
		else
			tell_output(s, v, run, number, folder);
		if (status == EXIT_DONE && count && !v->bare)
			status = read_run(s, v, folder, number);
	}
	if (stopped && !child.caught) {
		complain("bench: stopped by signal %d after %s %zu", (int)stopped, run, number);
		status = 128 + stopped;
	}
	if (status == EXIT_DONE && count)
		measured(s->bench, v, &child);
	s->done++;
	s->spent_ns += child.wall_ns;
	if (!count || !s->bench->keep)
		remove_folder(folder);
	free(folder);
	return status;
}

/* ---- all runs ---- */

static int examine(struct state *s)
{
	const struct spy_option *wrong = preload_wrong_variable();

	if (wrong) {
		complain("bench: %s=%s is not %s", wrong->name, getenv(wrong->name), wrong->wanted);
		return EXIT_TROUBLE;
	}
	s->library = preload_library("bench");
	if (!s->library)
		return EXIT_TROUBLE;
	for (size_t i = 0; i < s->bench->side_count; i++) {
		struct target *t = &s->targets[i];
		const char *command = s->plan->commands[i][0];
		target_examine(t, command);
		if (!t->path || access(t->path, X_OK))
			return preload_cannot_execute("bench", command, t->path ? errno : ENOENT);
		if (t->foreign || t->unobserved) {
			complain("bench: %s cannot be observed: %s", t->program,
			         t->foreign ? t->foreign : t->unobserved);
			return EXIT_TROUBLE;
		}
	}
	return make_folders(s) ? EXIT_TROUBLE : EXIT_DONE;
}

/* A B, then B A: what drifts (clocks, temperature, caches) is as much of the one as of the other.
 */
static int run_turns(struct state *s)
{
	int status = EXIT_DONE;

	for (size_t i = 0; i < s->bench->warmup; i++)
		for (size_t k = 0; k < s->variant_count && status == EXIT_DONE; k++)
			status = run_one(s, &s->variants[k], "warmup", i + 1, false);
	for (size_t i = 0; i < s->bench->runs; i++)
		for (size_t k = 0; k < s->variant_count && status == EXIT_DONE; k++)
			status = run_one(s, &s->variants[i % 2 ? s->variant_count - 1 - k : k],
			                 "run", i + 1, true);
	return status;
}

int bench_run(struct bench *b, const struct bench_plan *plan)
{
	struct state s = {.bench = b, .plan = plan};
	struct sigaction before[ENDING];

	catch_signals(before);
	for (size_t i = 0; i < b->side_count; i++)
		for (int bare = 0; bare <= b->bare; bare++)
			s.variants[s.variant_count++] = (struct variant){i, bare};
	s.all = (b->runs + b->warmup) * s.variant_count;
	int status = examine(&s);
	progress_begin();
	if (status == EXIT_DONE)
		status = run_turns(&s);
	progress_end();
	if (s.made)
		remove_folder(s.folder);
	for (size_t i = 0; i < ENDING; i++)
		sigaction(ending[i], &before[i], NULL);
	for (size_t i = 0; i < b->side_count; i++)
		target_free(&s.targets[i]);
	bench_output_free(&s.output);
	free(s.folder);
	free(s.library);
	return status;
}
