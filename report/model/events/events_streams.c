/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <uthash.h>

#include "report/base/alloc.h"
#include "report/model/events/events_internal.h"
#include "shim/core/cuda/streams.h"

struct events_stream_place {
	uint64_t key[2]; /* handle, and whose a default stream is */
	uint32_t index;
	UT_hash_handle hh;
};

static struct events_stream_place *place_of(struct events_streams *s, const uint64_t key[2])
{
	struct events_stream_place *place;

	HASH_FIND(hh, s->by_key, key, sizeof(place->key), place);
	if (place || s->count >= EVENTS_STREAMS)
		return place;
	place = alloc_zeroed(1, sizeof(*place));
	memcpy(place->key, key, sizeof(place->key));
	place->index = s->count++;
	s->is_default[place->index] = key[0] == CUDA_STREAM_LEGACY;
	HASH_ADD(hh, s->by_key, key, sizeof(place->key), place);
	return place;
}

uint32_t stream_of(struct events_streams *s, const struct tf_record *r, uint32_t thread,
                   uint32_t device)
{
	const uint64_t stream = cuda_stream(r->stream, r->flags);
	const uint64_t key[2] = {stream, stream == CUDA_STREAM_LEGACY ? device
	                                 : stream == CUDA_STREAM_PER_THREAD
	                                         ? (uint64_t)thread << 32 | device
	                                         : 0};
	const struct events_stream_place *place = place_of(s, key);

	return place ? place->index : EVENTS_STREAMS - 1;
}

void stream_made(struct events_streams *s, const struct tf_record *r)
{
	const uint64_t key[2] = {r->stream, 0};
	struct events_stream_place *place = NULL;

	HASH_FIND(hh, s->by_key, key, sizeof(place->key), place);
	if (place && s->count < EVENTS_STREAMS)
		place->index = s->count++;
}

void streams_end(struct events_streams *s)
{
	struct events_stream_place *place, *next;

	HASH_ITER(hh, s->by_key, place, next)
	{
		HASH_DEL(s->by_key, place);
		free(place);
	}
}
