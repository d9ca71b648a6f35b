/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "report/base/alloc.h"
#include "report/model/model_internal.h"

char *model_text(const char *text, size_t room)
{
	size_t bytes = strnlen(text, room);

	return bytes ? alloc_copy(text, bytes) : NULL;
}

char *model_string(const struct recording *r, uint64_t offset)
{
	uint32_t bytes;
	const char *text = offset ? tf_text(&r->map, offset, &bytes) : NULL;

	return text ? alloc_copy(text, strnlen(text, bytes)) : NULL;
}
