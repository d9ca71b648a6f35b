/* SPDX-License-Identifier: Apache-2.0 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "report/base/alloc.h"
#include "report/base/complain.h"
#include "report/calibrate/store.h"
#include "report/cli/calibrate_launch.h"
#include "report/cli/calibrate_run.h"
#include "report/cli/commands.h"
#include "report/cli/options.h"
#include "report/output/out.h"
#include "report/output/out_calibrate.h"

#define DEVICES_MOST 1024
#define WIDTH        100
#define LAUNCH       "--launch" /* this program as the one that is recorded */

enum { DEVICE, DRY_RUN, FORMAT, OUTPUT, HELP };

static const char *const format_names[] = {"text", "json", NULL};

static const struct option_row rows[] = {
        [DEVICE] = {"device", 'd', "N", "CUDA's number of a GPU (default: one of each kind)"},
        [DRY_RUN] = {"dry-run", 0, NULL, "measure, and store nothing"},
        [FORMAT] = {"format", 'f', "FORMAT", "text (default) or json", format_names},
        [OUTPUT] = {"output", 'o', "FILE", "write to FILE"},
        [HELP] = {"help", 'h', NULL, "print this"},
        {0},
};

static void (*const formats[])(const struct out_calibrated *, FILE *) = {out_calibrate_text,
                                                                         out_calibrate_json};

struct request {
	int device; /* -1: one of each kind */
	bool dry_run;
	int format;
	const char *output;
};

struct calibration {
	struct calibrate_place place;
	struct kernel_times_machine machine;
	char *path;
	struct calibrate_result *results;
	size_t count;
};

/* -1 when one line was written. */
static int read_device(const char *value)
{
	char *end;
	long n = strtol(value, &end, 10);

	if (*value >= '0' && *value <= '9' && !*end && n < DEVICES_MOST)
		return (int)n;
	complain("calibrate: --device %s is not the number of a GPU", value);
	return -1;
}

static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (double)now.tv_sec * 1e9;
}

/* Both by turns, so that what drifts meanwhile is the same for both. */
static int measure(struct calibration *c, int device, struct calibrate_result *to)
{
	struct calibrate_run exact[CALIBRATE_ROUNDS], sampled[CALIBRATE_ROUNDS];
	struct calibrate_child child;
	char *why = NULL;

	for (int i = 0; i < CALIBRATE_ROUNDS; i++) {
		if (calibrate_run_child(&c->place, device, true, &child,
		                        c->machine.count ? NULL : &c->machine))
			return -1;
		exact[i] = child.run;
		to->clock_khz = child.clock_khz;
		if (calibrate_run_child(&c->place, device, false, &child, NULL))
			return -1;
		sampled[i] = child.run;
	}
	if (calibrate_figure(exact, sampled, CALIBRATE_ROUNDS, &to->figure, &why)) {
		complain("calibrate: %s; nothing is stored", why);
		free(why);
		return -1;
	}
	to->time = now_ns();
	return 0;
}

static const struct kernel_times_device *device_of(const struct kernel_times_machine *m, int index)
{
	for (size_t i = 0; i < m->count; i++)
		if (m->devices[i].index == (uint32_t)index)
			return &m->devices[i];
	complain("calibrate: the recording knows no GPU %d", index);
	return NULL;
}

static int add_device(struct calibration *c, int index)
{
	struct calibrate_result r = {0};

	if (measure(c, index, &r))
		return -1;
	const struct kernel_times_device *d = device_of(&c->machine, index);
	if (!d)
		return -1;
	r.device = *d;
	r.driver_text = c->machine.driver_text;
	r.before = store_before(c->path, d, r.clock_khz);
	ALLOC_ROOM(c->results, c->count);
	c->results[c->count++] = r;
	return 0;
}

static bool is_known(const struct calibration *c, const char *name)
{
	for (size_t i = 0; i < c->count; i++)
		if (!strcmp(c->results[i].device.name, name))
			return true;
	return false;
}

/* `device` -1: the first, then whichever is of another kind. */
static int add_devices(struct calibration *c, int device)
{
	if (add_device(c, device < 0 ? 0 : device))
		return -1;
	for (size_t i = 0; device < 0 && i < c->machine.count; i++)
		if (!is_known(c, c->machine.devices[i].name) &&
		    add_device(c, (int)c->machine.devices[i].index))
			return -1;
	return 0;
}

static int print(const struct calibration *c, const struct request *r)
{
	struct out_calibrated out = {.results = c->results,
	                             .count = c->count,
	                             .path = c->path,
	                             .stored = !r->dry_run,
	                             .width = WIDTH};
	struct out_file file;

	formats[r->format](&out, out_begin(&file));
	return out_end(&file, r->output);
}

static int calibrate_all(struct calibration *c, const struct request *r)
{
	c->path = store_path();
	if (!c->path || calibrate_place_make(&c->place))
		return EXIT_TROUBLE;
	int rc = add_devices(c, r->device);
	calibrate_place_remove(&c->place);
	if (rc || (!r->dry_run && store_results(c->path, c->results, c->count)))
		return EXIT_TROUBLE;
	return print(c, r);
}

static int calibrate_main(const struct request *r)
{
	struct calibration c = {0};
	int status = calibrate_all(&c, r);

	kernel_times_machine_free(&c.machine);
	free(c.results);
	free(c.path);
	return status;
}

static int help(void)
{
	option_help(
	        "cudaspy calibrate [OPTIONS]",
	        "Measures beside CUPTI, once on this machine, what a run alone cannot know: how "
	        "long an\n"
	        "empty kernel lasts, and how far a sampled time is off. Takes about half a minute "
	        "for a\n"
	        "kind of GPU, which should be idle. Recordings from then on go by what is stored "
	        "in "
	        "$XDG_CACHE_HOME/cudaspy/gpus, else in ~/.cache/cudaspy/gpus.",
	        rows);
	return out_close(stdout, "standard output");
}

/* False: the command line is wrong, which was said. */
static bool take(struct request *r, int option, const char *value)
{
	switch (option) {
	case DEVICE:
		r->device = read_device(value);
		return r->device >= 0;
	case FORMAT:
		r->format = option_choice("calibrate", "format", value, format_names);
		return r->format >= 0;
	case DRY_RUN:
		r->dry_run = true;
		return true;
	case OUTPUT:
		r->output = option_output(value);
		return true;
	case OPTION_OPERAND:
		complain("calibrate: unexpected argument %s", value);
		return false;
	default:
		return false;
	}
}

int cmd_calibrate(int count, char **args)
{
	bool launches = count && !strcmp(args[0], LAUNCH);
	struct option_reader reader = {.command = "calibrate",
	                               .rows = rows,
	                               .args = args + launches,
	                               .count = count - launches};
	struct request r = {.device = -1};
	const char *value;
	int option;

	while ((option = option_next(&reader, &value)) != OPTION_END) {
		if (option == HELP)
			return help();
		if (!take(&r, option, value))
			return EXIT_TROUBLE;
	}
	return launches ? calibrate_launch(r.device < 0 ? 0 : r.device) : calibrate_main(&r);
}
