/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "report/base/alloc.h"
#include "report/model/call_log_internal.h"

static struct number_place *number_place(const struct call_log_numbers *m, uint64_t key)
{
	uint64_t h = (key ^ key >> 32) * 0x9e3779b97f4a7c15u;
	size_t at = (size_t)(h ^ h >> 29) & (m->room - 1);

	while (m->places[at].value && m->places[at].key != key)
		at = (at + 1) & (m->room - 1);
	return &m->places[at];
}

uint32_t number_get(const struct call_log_numbers *m, uint64_t key)
{
	return m->used ? number_place(m, key)->value - 1 : CALL_LOG_NONE;
}

static void number_grow(struct call_log_numbers *m)
{
	struct call_log_numbers more = {.room = m->room ? m->room * 2 : 64};

	more.places = alloc_zeroed(more.room, sizeof(*more.places));
	for (size_t i = 0; i < m->room; i++)
		if (m->places[i].value)
			*number_place(&more, m->places[i].key) = m->places[i];
	more.used = m->used;
	free(m->places);
	*m = more;
}

void number_put(struct call_log_numbers *m, uint64_t key, uint32_t value)
{
	if ((m->used + 1) * 2 > m->room)
		number_grow(m);
	struct number_place *p = number_place(m, key);
	m->used += !p->value;
	*p = (struct number_place){key, value + 1};
}

void number_free(struct call_log_numbers *m)
{
	free(m->places);
	*m = (struct call_log_numbers){0};
}
