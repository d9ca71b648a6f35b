/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/base/json.h"
#include "report/base/text.h"
#include "report/output/export/chrome.h"

void chrome_out_start(struct chrome_out *o, FILE *to)
{
	*o = (struct chrome_out){.to = to, .buffer = alloc_zeroed(CHROME_BUFFER, 1)};
}

static void flush(struct chrome_out *o)
{
	if (o->used)
		fwrite(o->buffer, 1, o->used, o->to);
	o->used = 0;
}

void chrome_out_end(struct chrome_out *o)
{
	flush(o);
	free(o->buffer);
}

void chrome_put(struct chrome_out *o, const char *text, size_t bytes)
{
	if (bytes > CHROME_BUFFER - o->used)
		flush(o);
	if (bytes > CHROME_BUFFER) {
		fwrite(text, 1, bytes, o->to);
		return;
	}
	memcpy(o->buffer + o->used, text, bytes);
	o->used += bytes;
}

void chrome_text(struct chrome_out *o, const char *text)
{
	chrome_put(o, text, strlen(text));
}

void chrome_format(struct chrome_out *o, const char *format, ...)
{
	char text[1024];
	va_list args;

	va_start(args, format);
	int n = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (n > 0)
		chrome_put(o, text, (size_t)n < sizeof(text) ? (size_t)n : sizeof(text) - 1);
}

void chrome_number(struct chrome_out *o, uint64_t v)
{
	char digits[20];
	size_t at = sizeof(digits);

	do {
		digits[--at] = (char)('0' + v % 10);
		v /= 10;
	} while (v);
	chrome_put(o, digits + at, sizeof(digits) - at);
}

void chrome_us(struct chrome_out *o, uint64_t ns)
{
	const uint32_t rest = (uint32_t)(ns % 1000);
	const char part[4] = {'.', (char)('0' + rest / 100), (char)('0' + rest / 10 % 10),
	                      (char)('0' + rest % 10)};

	chrome_number(o, ns / 1000);
	chrome_put(o, part, sizeof(part));
}

char *chrome_quoted(const char *text, size_t bytes)
{
	char *utf8 = text_utf8(text, bytes);
	json_t *value = json_text(utf8);
	char *quoted = json_dumps(value, JSON_ENCODE_ANY | JSON_ENSURE_ASCII);

	json_decref(value);
	free(utf8);
	if (!quoted)
		alloc_failed();
	return quoted;
}

void chrome_begin(struct chrome_out *o)
{
	if (o->events++)
		chrome_put(o, ",\n", 2);
	else
		chrome_put(o, "\n", 1);
}

void chrome_span(struct chrome_out *o, uint64_t start, uint64_t end)
{
	chrome_text(o, ",\"ts\":");
	chrome_us(o, start);
	chrome_text(o, ",\"dur\":");
	chrome_us(o, end > start ? end - start : 0);
}

void chrome_meta(struct chrome_out *o, const char *what, const char *key, uint64_t pid,
                 uint64_t tid, const char *json)
{
	chrome_begin(o);
	chrome_format(o, "{\"ph\":\"M\",\"name\":\"%s\",\"pid\":%llu,\"tid\":%llu,\"ts\":0.000,",
	              what, (unsigned long long)pid, (unsigned long long)tid);
	chrome_format(o, "\"args\":{\"%s\":", key);
	chrome_text(o, json);
	chrome_text(o, "}}");
}

uint32_t chrome_lane(struct chrome_lanes *l, uint64_t *start, uint64_t *end)
{
	uint32_t best = 0;

	for (uint32_t i = 0; i < l->used; i++) {
		if (l->end[i] <= *start) {
			l->end[i] = *end;
			return i;
		}
		if (l->end[i] < l->end[best])
			best = i;
	}
	if (l->used < CHROME_LANES) {
		l->end[l->used] = *end;
		return l->used++;
	}
	*start = l->end[best];
	if (*end < *start)
		*end = *start;
	l->end[best] = *end;
	return best;
}
