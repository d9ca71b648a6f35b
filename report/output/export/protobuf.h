/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages of protocol buffers, written: a buffer that grows, fields by number. For the export of
 * profiles.
 */
#ifndef REPORT_PROTOBUF_H
#define REPORT_PROTOBUF_H

#include <stddef.h>
#include <stdint.h>

struct protobuf { /* all zero: an empty message */
	unsigned char *bytes;
	size_t count, room;
};

void protobuf_varint(struct protobuf *p, uint64_t v);
void protobuf_number(struct protobuf *p, unsigned field, uint64_t v); /* 0 is left out */
void protobuf_bytes(struct protobuf *p, unsigned field, const void *bytes, size_t count);
/* A message within the message, or packed numbers; empties `inner` but keeps its room. */
void protobuf_message(struct protobuf *p, unsigned field, struct protobuf *inner);
void protobuf_free(struct protobuf *p);

#endif
