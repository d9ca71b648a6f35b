/* SPDX-License-Identifier: Apache-2.0 */
#include "report/output/json/out_json.h"

static json_t *class_of(const struct model_gpu_class *c)
{
	bool is_kernel = c->kind == TF_WORK_KERNEL, is_copy = c->kind == TF_WORK_COPY;
	json_t *o = json_object();

	json_put(o, "kind", json_text(model_work_name(c->kind)));
	json_put(o, "kernel", json_text(c->name));
	json_put(o, "grid", is_kernel ? json_triple(c->grid) : json_null());
	json_put(o, "block", is_kernel ? json_triple(c->block) : json_null());
	json_put(o, "shared_bytes", is_kernel ? json_count(c->shared_bytes) : json_null());
	json_put(o, "direction",
	         is_copy && c->direction < SPY_DIR_COUNT
	                 ? json_text(model_direction_names[c->direction])
	                 : json_null());
	json_put(o, "memory",
	         is_copy && c->memory < SPY_MEM_COUNT ? json_text(model_memory_names[c->memory])
	                                              : json_null());
	json_put(o, "bytes",
	         is_copy || c->kind == TF_WORK_SET ? json_count(c->bytes) : json_null());
	json_put(o, "count", json_count(c->count));
	json_put(o, "samples", json_count(c->samples));
	json_put(o, "mean_ns", json_share(c->mean));
	json_put(o, "low_ns", json_share(c->low));
	json_put(o, "high_ns", json_share(c->high));
	json_put(o, "deviation_ns", json_share(c->deviation));
	json_put(o, "tries", c->tries ? json_count(c->tries) : json_null());
	json_put(o, "mixed", json_boolean(c->mixed));
	json_put(o, "lossy", json_boolean(c->lossy));
	json_put(o, "api_mean_ns", json_share(c->api_mean));
	return o;
}

json_t *out_json_works(const struct model *m)
{
	json_t *list = json_array();

	for (size_t i = 0; i < m->gpu.class_count; i++)
		json_push(list, class_of(&m->gpu.classes[i]));
	return list;
}
