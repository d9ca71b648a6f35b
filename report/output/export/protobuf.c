/* SPDX-License-Identifier: Apache-2.0 */
#include "report/output/export/protobuf.h"

#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"

enum { WIRE_VARINT = 0, WIRE_BYTES = 2 };

static void put(struct protobuf *p, const void *bytes, size_t count)
{
	if (p->room - p->count < count) {
		size_t room = p->room ? p->room : 64;
		while (room - p->count < count) {
			if (room > SIZE_MAX / 2)
				alloc_failed();
			room *= 2;
		}
		p->bytes = realloc(p->bytes, room);
		if (!p->bytes)
			alloc_failed();
		p->room = room;
	}
	if (count)
		memcpy(p->bytes + p->count, bytes, count);
	p->count += count;
}

void protobuf_varint(struct protobuf *p, uint64_t v)
{
	unsigned char bytes[10];
	size_t n = 0;

	for (; v >= 0x80; v >>= 7)
		bytes[n++] = (unsigned char)(v | 0x80);
	bytes[n++] = (unsigned char)v;
	put(p, bytes, n);
}

void protobuf_number(struct protobuf *p, unsigned field, uint64_t v)
{
	if (!v)
		return;
	protobuf_varint(p, field << 3 | WIRE_VARINT);
	protobuf_varint(p, v);
}

void protobuf_bytes(struct protobuf *p, unsigned field, const void *bytes, size_t count)
{
	protobuf_varint(p, field << 3 | WIRE_BYTES);
	protobuf_varint(p, count);
	put(p, bytes, count);
}

void protobuf_message(struct protobuf *p, unsigned field, struct protobuf *inner)
{
	protobuf_bytes(p, field, inner->bytes, inner->count);
	inner->count = 0;
}

void protobuf_free(struct protobuf *p)
{
	free(p->bytes);
	*p = (struct protobuf){0};
}
