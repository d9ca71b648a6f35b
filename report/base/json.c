/* SPDX-License-Identifier: Apache-2.0 */
#include "report/base/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/base/text.h"

json_t *json_ns(double ns)
{
	if (!isfinite(ns))
		return json_null();
	return json_integer(ns >= 9.2e18 ? INT64_MAX : ns <= -9.2e18 ? INT64_MIN : llround(ns));
}

json_t *json_count(uint64_t count)
{
	return json_integer(count > INT64_MAX ? INT64_MAX : (json_int_t)count);
}

json_t *json_fraction(double v)
{
	return isfinite(v) ? json_real(v) : json_null();
}

json_t *json_share(double share)
{
	return json_fraction(share);
}

json_t *json_number(double v)
{
	return !isfinite(v) ? json_null() : v == rint(v) ? json_ns(v) : json_real(v);
}

json_t *json_triple(const uint32_t v[3])
{
	json_t *list = json_array();

	for (int i = 0; i < 3; i++)
		json_push(list, json_count(v[i]));
	return list;
}

json_t *json_text(const char *text)
{
	if (!text)
		return json_null();
	char *valid = text_utf8(text, strlen(text));
	json_t *value = json_string(valid);
	free(valid);
	return value;
}

void json_put(json_t *object, const char *key, json_t *value)
{
	if (json_object_set_new(object, key, value))
		alloc_failed();
}

void json_push(json_t *array, json_t *value)
{
	if (json_array_append_new(array, value))
		alloc_failed();
}
