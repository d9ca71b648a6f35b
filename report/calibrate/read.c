/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "report/calibrate/calibrate.h"

static int kind_of(const struct kernel_times_row *row)
{
	for (int i = 0; i < CALIBRATE_KINDS; i++)
		if (calibrate_kinds[i].grid == row->grid &&
		    calibrate_kinds[i].block == row->block &&
		    !strcmp(calibrate_code_names[calibrate_kinds[i].code], row->name))
			return i;
	return -1;
}

int calibrate_read(const char *path, struct calibrate_run *run,
                   struct kernel_times_machine *machine, char **why)
{
	struct kernel_times t;

	*run = (struct calibrate_run){0};
	for (int i = 0; i < CALIBRATE_KINDS; i++)
		run->ns[i] = NAN;
	if (kernel_times_read(path, &t, why))
		return -1;
	run->exact = t.exact;
	run->null_pairs = t.null_pairs;
	for (size_t i = 0; i < t.count; i++) {
		int kind = kind_of(&t.rows[i]);
		if (kind < 0)
			continue;
		run->count[kind] = t.rows[i].count;
		run->ns[kind] = t.rows[i].ns;
	}
	if (machine) {
		*machine = t.machine;
		t.machine = (struct kernel_times_machine){0};
	}
	kernel_times_free(&t);
	return 0;
}
