/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/core/work/work_class.h"

#include <string.h>

#define PROBES    64
#define KEY_BYTES offsetof(struct tf_work, count)

uint32_t work_size_bucket(uint64_t bytes)
{
	if (bytes < 4)
		return (uint32_t)bytes;
	uint32_t octave = 63 - (uint32_t)__builtin_clzll(bytes);

	return octave * 4 - 4 + (uint32_t)(bytes >> (octave - 2) & 3);
}

uint64_t work_size_floor(uint32_t bucket)
{
	uint32_t octave = bucket / 4 + 1;

	if (bucket < 4)
		return bucket;
	return octave < 64 ? (4ull + bucket % 4) << (octave - 2) : UINT64_MAX;
}

void work_key(struct tf_work *key, enum tf_work_kind kind, const struct tf_record *r)
{
	*key = (struct tf_work){.kind = (uint8_t)kind};
	switch (kind) {
	case TF_WORK_KERNEL:
		key->id = r->launch.kernel;
		key->grid_x = r->launch.grid_x;
		key->grid_y = r->launch.grid_y;
		key->grid_z = r->launch.grid_z;
		key->block_x = r->launch.block_x;
		key->block_y = r->launch.block_y;
		key->block_z = r->launch.block_z;
		key->cluster_x = r->launch.cluster_x;
		key->cluster_y = r->launch.cluster_y;
		key->cluster_z = r->launch.cluster_z;
		key->shared_bytes = r->launch.shared_bytes;
		break;
	case TF_WORK_GRAPH:
		key->id = work_graph(r->graph.graph, r->graph.content);
		break;
	case TF_WORK_COPY:
	case TF_WORK_SET:
		key->direction = r->copy.direction;
		key->memory = r->copy.memory;
		key->async = r->copy.async;
		key->size = work_size_bucket(r->copy.bytes);
		break;
	case TF_WORK_EMPTY:
	case TF_WORK_NULL:
		key->id = r->launch.kernel;
		break;
	default:
		break;
	}
}

static uint32_t hash(const struct tf_work *key)
{
	uint64_t words[4], h = 0x9e3779b97f4a7c15u;

	memcpy(words, key, sizeof(words));
	for (int i = 0; i < 4; i++) {
		h ^= words[i];
		h *= 0xff51afd7ed558ccdu;
		h ^= h >> 32;
	}
	return (uint32_t)h;
}

/* The class's place, or the first free one where it would stand; NULL when there is neither. */
static struct tf_work *place_of(const struct tf_map *map, const struct tf_work *key)
{
	struct tf_work *works = tf_at(map, tf_header(map)->works, TF_WORKS * sizeof(*works));

	if (!works || !key->kind)
		return NULL;
	uint32_t at = hash(key) % TF_WORKS;
	for (uint32_t probe = 0; probe < PROBES; probe++, at = (at + 1) % TF_WORKS)
		if (!works[at].kind || !memcmp(&works[at], key, KEY_BYTES))
			return &works[at];
	return NULL;
}

struct tf_work *work_find(const struct tf_map *map, const struct tf_work *key)
{
	struct tf_work *w = place_of(map, key);

	if (w && !w->kind)
		memcpy(w, key, KEY_BYTES);
	return w;
}

const struct tf_work *work_known(const struct tf_map *map, const struct tf_work *key)
{
	const struct tf_work *w = place_of(map, key);

	return w && w->kind ? w : NULL;
}

uint32_t work_index(const struct tf_map *map, const struct tf_work *w)
{
	const struct tf_work *works = tf_at(map, tf_header(map)->works, TF_WORKS * sizeof(*works));

	if (!works)
		return TF_WORKS;
	if (w < works || w >= works + TF_WORKS)
		w = work_known(map, w);
	return w ? (uint32_t)(w - works) : TF_WORKS;
}
