/* SPDX-License-Identifier: Apache-2.0 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "report/base/alloc.h"
#include "report/base/complain.h"
#include "report/calibrate/store.h"
#include "report/cli/calibrate_launch.h"
#include "report/cli/calibrate_run.h"
#include "report/cli/commands.h"
#include "report/cli/options.h"
#include "report/output/out_calibrate.h"

#define DEVICES_MOST 1024
#define LAUNCH       "--launch" /* this program as the one that is recorded */

enum { DEVICE, DRY_RUN, FORMAT, HELP };

static const struct option_row rows[] = {
        [DEVICE] = {"device", 'd', "N", "CUDA's number of a GPU (default: one of each kind)"},
        [DRY_RUN] = {"dry-run", 0, NULL, "measure, and store nothing"},
        [FORMAT] = {"format", 'f', "FORMAT", "text (default) or json"},
        [HELP] = {"help", 'h', NULL, "print this"},
        {0},
};

static const char *const format_names[] = {"text", "json", NULL};
static void (*const formats[])(const struct out_calibrated *,
                               FILE *) = {out_calibrate_text, out_calibrate_json};

struct calibration {
	struct calibrate_place place;
	struct calibrate_machine machine;
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

static const struct calibrate_device *device_of(const struct calibrate_machine *m, int index)
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
	const struct calibrate_device *d = device_of(&c->machine, index);
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

static int calibrate_all(struct calibration *c, int device, bool dry, int format)
{
	struct out_calibrated out;

	c->path = store_path();
	if (!c->path || calibrate_place_make(&c->place))
		return EXIT_TROUBLE;
	int rc = add_devices(c, device);
	calibrate_place_remove(&c->place);
	if (rc || (!dry && store_results(c->path, c->results, c->count)))
		return EXIT_TROUBLE;
	out = (struct out_calibrated){.results = c->results,
	                              .count = c->count,
	                              .path = c->path,
	                              .stored = !dry,
	                              .width = 100};
	formats[format](&out, stdout);
	return out_close(stdout, "standard output");
}

static int calibrate_main(int device, bool dry, int format)
{
	struct calibration c = {0};
	int status = calibrate_all(&c, device, dry, format);

	calibrate_machine_free(&c.machine);
	free(c.results);
	free(c.path);
	return status;
}

static int help(void)
{
	option_help("cudaspy calibrate [OPTIONS]",
	            "Measures beside CUPTI, once on this machine, what a run alone cannot know: how "
	            "long an\n"
	            "empty kernel lasts, and how far a sampled time is off. Takes about half a minute "
	            "for a\n"
	            "kind of GPU, which should be idle. Recordings from then on go by what is stored "
	            "in\n"
	            "${XDG_CACHE_HOME:-~/.cache}/cudaspy/gpus.",
	            rows);
	return out_close(stdout, "standard output");
}

int cmd_calibrate(int count, char **args)
{
	bool launches = count && !strcmp(args[0], LAUNCH), dry = false;
	struct option_reader reader = {.command = "calibrate",
	                               .rows = rows,
	                               .args = args + launches,
	                               .count = count - launches};
	int option, device = -1, format = 0;
	const char *value;

	while ((option = option_next(&reader, &value)) != OPTION_END) {
		if (option == OPTION_OPERAND)
			complain("calibrate: unexpected argument %s", value);
		if (option == OPTION_OPERAND || option == OPTION_WRONG)
			return EXIT_TROUBLE;
		if (option == HELP)
			return help();
		if (option == DEVICE && (device = read_device(value)) < 0)
			return EXIT_TROUBLE;
		if (option == FORMAT &&
		    (format = option_choice("calibrate", "format", value, format_names)) < 0)
			return EXIT_TROUBLE;
		dry |= option == DRY_RUN;
	}
	return launches ? calibrate_launch(device < 0 ? 0 : device)
	                : calibrate_main(device, dry, format);
}
