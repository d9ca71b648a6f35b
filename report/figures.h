/*
 * What one run says, in the form in which runs are compared: figures by metric, and counts by
 * kernel, by API and by kind of copy. Taken from a model, or from a baseline. For diff and check.
 */
#ifndef REPORT_FIGURES_H
#define REPORT_FIGURES_H

#include "report/metrics.h"

struct part {       /* a kernel, an API, or a kind of copy */
	char *name; /* no two of a list have the same */
	unsigned class;
	uint64_t count, failed, bytes;
	double total, p50;          /* API time, ns; NaN where not known */
	uint64_t shapes;            /* of kernels: launch geometries, 0 = not known */
	uint32_t grid[3], block[3]; /* of the one launched most often */
};

struct parts { /* in order of names */
	struct part *items;
	size_t count;
};

/* Times compare only where these are the same. */
struct machine {
	char *gpus;   /* "2 x NVIDIA H200"; NULL = none seen */
	char *driver; /* "13.0" */
	char *mode;   /* CUDASPY_GPU: "sample", "cupti", "off" */
};

struct figures {
	char *name;
	double values[METRICS]; /* NaN = not known */
	char *verdict;          /* NULL = not known */
	struct parts kernels, apis, copies;
	bool has_times; /* parts have times, failures and geometry: not those of a baseline */
	struct machine machine;
	enum process_state state; /* the worst of its processes */
	size_t processes;
	uint64_t lost_calls; /* in no count */
	double lost_share;   /* of records */
	double steps;        /* as somebody said; 0 = not known */
	double wall, window; /* ns */
};

/* Of a finished model; what stays NULL or 0 is the caller's. */
void figures_take(struct figures *f, const struct model *m);
void figures_free(struct figures *f);

/* Recordings that are repeats of one another. */
struct side {
	struct figures *runs;
	size_t count;
};
void side_free(struct side *s);
/*
 * Adds what the user named: a recording, a folder (one run, its processes summed) or a baseline
 * with all its runs. -1 when one line was written.
 */
int side_add(struct side *s, const char *name);
/* The same file named twice is no repeat. -1 when one line was written. */
int side_add_all(struct side *s, char *const *names, size_t count);

/* The list's entry of that name, or NULL. */
const struct part *parts_find(const struct parts *p, const char *name);
/* Puts the list in order of names. */
void parts_sort(struct parts *p);
/* The same, and adds up entries of the same name. */
void parts_order(struct parts *p);

/* NULL when times of these runs compare, else what differs (free it). */
char *machine_difference(const struct side *a, const struct side *b);

#endif
