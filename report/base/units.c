/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "report/base/units.h"

static char *not_known(char *to)
{
	return strcpy(to, "n/a");
}

/* Three digits that count: 1.23, 12.3, 123; larger ones whole. */
static void three_digits(char *to, double v, const char *unit)
{
	int decimals = v < 9.995 ? 2 : v < 99.95 ? 1 : 0;

	snprintf(to, UNIT_BYTES, "%.*f%s", decimals, v, unit);
}

char *unit_time(char *to, double ns)
{
	if (!isfinite(ns))
		return not_known(to);
	if (ns <= 0)
		return strcpy(to, "0");
	if (ns < 9.5)
		snprintf(to, UNIT_BYTES, "%.1fns", ns);
	else if (ns < 999.5)
		snprintf(to, UNIT_BYTES, "%.0fns", ns);
	else if (ns < 999.5e3)
		three_digits(to, ns / 1e3, "us");
	else if (ns < 999.5e6)
		three_digits(to, ns / 1e6, "ms");
	else if (ns < 1e18)
		three_digits(to, ns / 1e9, "s");
	else
		snprintf(to, UNIT_BYTES, "%.3gs", ns / 1e9);
	return to;
}

char *unit_time_apart(char *to, double ns)
{
	unit_time(to, ns);
	size_t digits = strspn(to, "0123456789.e+");
	if (digits && to[digits] && strlen(to) + 1 < UNIT_BYTES) {
		memmove(to + digits + 1, to + digits, strlen(to + digits) + 1);
		to[digits] = ' ';
	}
	return to;
}

char *unit_bytes(char *to, double bytes)
{
	static const char *const names[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
	unsigned i = 0;

	if (!isfinite(bytes))
		return not_known(to);
	if (bytes < 1024) {
		snprintf(to, UNIT_BYTES, "%.0fB", bytes);
		return to;
	}
	bytes /= 1024;
	while (bytes >= 999.5 && i + 1 < sizeof(names) / sizeof(names[0])) {
		bytes /= 1024;
		i++;
	}
	three_digits(to, bytes, names[i]);
	return to;
}

char *unit_count(char *to, double count)
{
	if (!isfinite(count))
		return not_known(to);
	if (count > 0 && count < 0.0005)
		return strcpy(to, "<0.001");
	snprintf(to, UNIT_BYTES, count < 999.5 || count >= 1e18 ? "%.3g" : "%.0f", count);
	return to;
}

char *unit_percent(char *to, double part, double whole)
{
	double percent = 100 * part / whole;

	if (!isfinite(part) || !isfinite(whole) || whole <= 0 || !isfinite(percent))
		return not_known(to);
	if (percent >= 1e6)
		snprintf(to, UNIT_BYTES, "%.1g", percent);
	else if (percent > 0 && percent < 0.05)
		strcpy(to, "<0.1");
	else
		snprintf(to, UNIT_BYTES, "%.1f", percent);
	return to;
}

char *unit_date(char *to, double realtime_ns)
{
	struct tm tm;
	time_t seconds;

	/* Years 1970 to 9999: what the format has room for. */
	if (!(realtime_ns >= 0 && realtime_ns < 253402300799e9))
		return not_known(to);
	seconds = (time_t)(realtime_ns / 1e9);
	int ms = (int)((realtime_ns - (double)seconds * 1e9) / 1e6);
	if (!gmtime_r(&seconds, &tm))
		return not_known(to);
	size_t n = strftime(to, UNIT_BYTES, "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(to + n, UNIT_BYTES - n, ".%03dZ", ms < 0 ? 0 : ms > 999 ? 999 : ms);
	return to;
}

/* Beyond ten times as much a percentage is no easy figure. */
#define CHANGE_PERCENT_MOST 9.99
/* Beyond this it came from next to nothing, and how many times that is no figure at all. */
#define CHANGE_FACTOR_MOST 1000.0

char *unit_change(char *to, double share)
{
	if (share > CHANGE_FACTOR_MOST)
		snprintf(to, UNIT_BYTES, ">x%.0f", CHANGE_FACTOR_MOST);
	else if (share > CHANGE_PERCENT_MOST)
		snprintf(to, UNIT_BYTES, share >= 99 ? "x%.0f" : "x%.1f", 1 + share);
	else
		snprintf(to, UNIT_BYTES, "%+.1f %%", fabs(share) < 0.0005 ? 0 : 100 * share);
	return to;
}
