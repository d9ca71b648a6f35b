/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kept records of a recording in the order in which they were kept. For the folder's own files.
 */
#ifndef REPORT_MODEL_EVENTS_STORE_H
#define REPORT_MODEL_EVENTS_STORE_H

#include "report/reader/reader.h"

struct events_store {
	const struct tf_map *map;
	struct {
		const struct tf_store *store;
		uint64_t page, first, count; /* records; of a ring: where the oldest stands */
		uint64_t room;
	} part[2]; /* the trace, and the ring behind it */
	unsigned parts, at;
	uint64_t next;                   /* in this part */
	const struct tf_record *page_of; /* the page that is read */
	uint64_t page_number;
	bool whole;
};

/* To be opened before the header is changed. */
void events_store_open(struct events_store *s, const struct tf_map *map);
void events_store_rewind(struct events_store *s);
/* Passes over all but the latest so many; false: there are no more than that. */
bool events_store_latest(struct events_store *s, uint64_t records);
/* False: there are no more. */
bool events_store_next(struct events_store *s, struct tf_record *to);

#endif
