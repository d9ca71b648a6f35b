/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/base/recording_tables.h"

#include <stdio.h>
#include <string.h>
#include "shim/base/gate.h"

uint64_t recording_text(const char *text, uint64_t bytes)
{
	struct tf_string *s;

	if (bytes > TF_STRING_MAX)
		bytes = TF_STRING_MAX;
	uint64_t offset = bytes ? spy_map.alloc(&spy_map, sizeof(*s) + bytes + 1) : 0;
	s = tf_at(&spy_map, offset, sizeof(*s) + bytes + 1);
	if (!s)
		return 0;
	memcpy(s->text, text, bytes);
	s->text[bytes] = 0;
	/* Release: whoever finds a length finds the text. */
	__atomic_store_n(&s->bytes, (uint32_t)bytes, __ATOMIC_RELEASE);
	return offset;
}

void recording_uncovered(uint32_t kind, const char *name, uint32_t version)
{
	struct tf_header *h = spy_map.base ? tf_header(&spy_map) : NULL;
	struct tf_gap *g = NULL;

	if (!h)
		return;
	spy_lock();
	for (uint32_t i = 0; i < h->gaps.count; i++) {
		g = tf_entry(&spy_map, &h->gaps, i, sizeof(*g));
		if (g && g->kind == kind && !strncmp(g->name, name, sizeof(g->name) - 1))
			break;
		g = NULL;
	}
	if (!g && (g = tf_append(&spy_map, &h->gaps))) {
		snprintf(g->name, sizeof(g->name), "%s", name);
		g->kind = kind;
		g->version = version;
		tf_publish(&h->gaps);
	}
	if (g)
		g->count++;
	spy_unlock();
}
