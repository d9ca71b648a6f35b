/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one run says, in the form in which runs are compared: figures by metric, and counts by
 * kernel, by API and by kind of copy. Taken from a model, or from a baseline. For diff and check.
 */
#ifndef REPORT_FIGURES_H
#define REPORT_FIGURES_H

#include "report/analysis/analysis.h"
#include "report/gate/metrics.h"

struct figures_part { /* a kernel, an API, or a kind of copy */
	char *name;   /* no two of a list have the same */
	unsigned cls;
	uint64_t count, failed, bytes;
	double total, p50;          /* API time, ns; NaN where not known */
	uint64_t captured;          /* of kernels: put into graphs */
	uint64_t in_graphs;         /* of kernels: run by graphs, as far as their nodes are known */
	double gpu_share;           /* of kernels: of all GPU time; NaN = not known */
	uint64_t shapes;            /* of kernels: launch geometries, 0 = not known */
	uint32_t grid[3], block[3]; /* of the one launched most often */
};

struct figures_parts { /* in order of names */
	struct figures_part *items;
	size_t count;
};

struct figures_step { /* of a count, over the steps judged; NaN = not known */
	double mean, min, max;
	double error;   /* standard error of the mean; 0 = no two steps differ */
	double freedom; /* its degrees of freedom */
};

#define STEPS_ALIKE 0.02 /* as many, or of as much work, but for this share: the same steps */
struct figures_step_set {
	enum model_steps_source source; /* STEPS_NONE: there are none */
	char *name;  /* of the NVTX range, or of what tells the steps apart; or NULL */
	bool unsure; /* found with low confidence */
	uint64_t count, judged, skipped, odd;
	double period_low, period_high;       /* of their period, 95 %, ns; NaN = not known */
	struct figures_step of[WORK_FIGURES]; /* as metric_work() says */
};

struct figures_range {           /* NVTX ranges of one name inside the same other one */
	char *name, *domain;     /* domain NULL: the default one */
	size_t parent;           /* index, RANGE_NONE = in no other; smaller than its own */
	double count;            /* so often it occurred */
	double counted;          /* ... and so often with its work known */
	double of[WORK_FIGURES]; /* sums over those */
};

struct figures_ranges { /* parents first */
	struct figures_range *items;
	size_t count;
	bool lost; /* some have no place in it */
};

struct figures_site { /* a line of the program, and the CUDA function called there */
	char *key;    /* the same for the same place in a program that was edited, but for `line` */
	char *api, *where;                      /* where: in words */
	char *thread;                           /* of one without Python; or NULL */
	char *file, *local, *function, *module; /* NULL = not known */
	uint32_t line;                          /* 0 = not known */
	bool python, whole, estimated;          /* as struct model_place has them */
	uint64_t file_bytes, file_mtime;        /* 0 = not known */
	enum model_site_kind kind;
	double calls, api_time, wasted; /* ns; NaN = not known */
	double bytes, pageable_bytes;
};

struct figures_sites { /* in order of keys and lines */
	struct figures_site *items;
	size_t count;
	bool known; /* where calls are made was recorded */
};

struct figures_site_pair { /* NULL = the other run has none such */
	const struct figures_site *before, *after;
};

struct figures_ranks { /* of the processes that a launcher gave one; in order, each once */
	char **names;
	size_t count;
	bool known; /* not of an older baseline */
};

struct figures_doubt {              /* about the verdict */
	char *reason;               /* why it is inconclusive; NULL = it is not, or not known */
	bool unsure;                /* its confidence is low */
	const char *first, *second; /* the two classes of a mixed one, or NULL; not owned */
};

/* Times compare only where these are the same. */
struct figures_machine {
	char *gpus;   /* "2 x NVIDIA H200"; NULL = none seen */
	char *driver; /* "13.0" */
	char *mode;   /* CUDASPY_GPU: "sample", "cupti", "off" */
};

struct figures {
	char *name;
	char *program; /* of a run of one process: its name, of Python the script's; NULL = not
	                  known */
	char *run; /* which run it is of, as the shim named it; NULL = not known, as of baselines */
	double values[METRICS]; /* NaN = not known */
	double below[METRICS];  /* of an estimate: so far below the value it may lie, with 95 % */
	double above[METRICS];
	char *verdict; /* NULL = not known */
	struct figures_doubt doubt;
	struct figures_step_set steps;
	struct figures_ranges ranges;
	struct figures_parts kernels, apis, copies;
	struct figures_sites sites;
	bool has_times; /* parts have times, failures and geometry: not those of a baseline */
	struct figures_machine machine;
	enum process_state state; /* the worst of its processes */
	char *missing;            /* why its counts say nothing of the program; NULL = they do */
	size_t processes;
	struct figures_ranks ranks;
	uint64_t lost_calls; /* in no count */
	double lost_share;   /* of records */
	double steps_said;   /* as somebody said; 0 = nobody did */
	double wall, window; /* ns */
};

/*
 * The time from one step to the next, ns: the loop is cut into ten pieces of as many steps, and of
 * their means this is the middle one. What a loop takes in bursts is in it, and a first step that
 * compiles for a minute, or one that hangs, is not. NaN = not known; low and high: 95 %.
 */
double figure_step_period(const struct model *m, double *low, double *high);

/* Steps and NVTX ranges of a finished model; figures_take() does this too. */
void figures_take_steps(struct figures_step_set *to, const struct model *m);
void figures_take_ranges(struct figures_ranges *to, const struct model *m);
void figures_free_ranges(struct figures_ranges *r);
/* "step #/forward", with domains (free it). */
char *range_path(const struct figures_ranges *r, size_t index);

void figures_take_sites(struct figures_sites *to, const struct model *m);
void figures_free_sites(struct figures_sites *s);
char *figures_site_key(const struct figures_site *s);
void figures_sort_sites(struct figures_sites *s);
/* Which places of two runs are the same; how many pairs (free them). */
size_t figures_match_sites(const struct figures_sites *before, const struct figures_sites *after,
                           struct figures_site_pair **pairs);

/* Of a finished model; what stays NULL or 0 is the caller's. */
void figures_take(struct figures *f, const struct model *m, const struct analysis *a);
void figures_free(struct figures *f);

/* Recordings that are repeats of one another. */
struct run_set {
	struct figures *runs;
	size_t count;
};
void run_set_free(struct run_set *s);

struct run_set_options;
/* Reads the run that a name stands for into its figures; -1 when one line was written. */
typedef int (*run_set_load_fn)(struct figures *to, const char *name,
                               const struct run_set_options *o);

struct run_set_options {
	run_set_load_fn load;
	/* which steps are judged; both zero: those that are found */
	uint64_t skip_steps;     /* without so many first ones of each process */
	const char *steps_from;  /* NVTX ranges of this name; or NULL */
	const char *source_root; /* where recorded source files lie here; or NULL */
};
/*
 * Adds what the user named: a recording, a folder (one run, its processes summed) or a baseline
 * with all its runs. -1 when one line was written.
 */
int run_set_add(struct run_set *s, const char *name, const struct run_set_options *o);
/* The same file named twice is no repeat. -1 when one line was written. */
int run_set_add_all(struct run_set *s, char *const *names, size_t count,
                    const struct run_set_options *o);
/* One line where the baseline is of another program than what is judged by it. */
void run_sets_say_if_apart(const struct run_set *before, const struct run_set *after);

/* The list that stands at that offset of the figures. */
static inline const struct figures_parts *parts_of(const struct figures *f, size_t offset)
{
	return (const struct figures_parts *)((const char *)f + offset);
}

/* The list's entry of that name, or NULL. */
const struct figures_part *parts_find(const struct figures_parts *p, const char *name);
/* Puts the list in order of names. */
void parts_sort(struct figures_parts *p);
/* The same, and adds up entries of the same name. */
void parts_order(struct figures_parts *p);

/*
 * A count per step: of the steps recorded, or with `said` steps the run's total divided by them (or
 * by those that were said of this run). Of what is not counted step by step, the run's total
 * divided by the recorded steps. NaN where nothing tells.
 */
struct figures_step figure_per_step(const struct figures *f, const struct metric *m, double said);
/* What tells steps apart, as pages have it (free it): kernels short. */
char *figure_steps_name(const struct figures_step_set *s);
/* What the steps of these runs are, and how many are judged: "200 NVTX ranges step, 190 judged",
 * "n/a" (free it). */
char *figure_steps_text(const struct run_set *s);
/* How many steps that is about; NaN = not known. */
double figure_steps(const struct figures *f, double said);

/* A rank of the one that the other has not; NULL = it has all, or nobody knows. */
const char *ranks_missing(const struct figures_ranks *of, const struct figures_ranks *in);
void figures_add_rank(struct figures_ranks *r, char *name); /* which it takes over */
void figures_free_ranks(struct figures_ranks *r);

/* NULL when times of these runs compare, else what differs (free it). */
char *machine_difference(const struct run_set *a, const struct run_set *b);

#endif
