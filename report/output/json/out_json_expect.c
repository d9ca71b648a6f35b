/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "report/output/json/out_json.h"

static json_t *kernels(const struct model *m, const struct model_kernel *const *list, size_t count)
{
	json_t *all = json_array();

	for (size_t i = 0; i < count && i < EXPECT_SHOWN; i++) {
		const struct model_kernel *k = list[i];
		json_t *o = json_object();
		json_put(o, "name", json_text(k->name));
		json_put(o, "launches", out_json_count(m, k->launches));
		json_put(o, "launches_per_step", json_share(expect_per_step(m, k)));
		json_put(o, "gpu_share", json_share(k->gpu.total / m->gpu.all.total));
		json_push(all, o);
	}
	return all;
}

json_t *out_json_expect(const struct model *m, const struct out_options *o)
{
	json_t *list = json_array();

	for (size_t i = 0; i < o->expectation_count; i++) {
		struct expect_found x;
		json_t *row = json_object();
		expect_find(m, &o->expectations[i], &x);
		json_put(row, "pattern", json_text(o->expectations[i].pattern));
		json_put(row, "ran", x.known ? json_boolean(x.ran) : json_null());
		json_put(row, "launches", x.known ? json_count(x.launches) : json_null());
		json_put(row, "captured", x.known ? json_count(x.captured) : json_null());
		json_put(row, "gpu_total_ns", json_ns(x.gpu));
		json_put(row, "gpu_share", json_share(x.gpu_share));
		json_put(row, "kernels", kernels(m, x.matches, x.match_count));
		json_put(row, "instead",
		         x.ran || !x.known ? json_null() : kernels(m, x.others, x.other_count));
		json_put(row, "note", json_text(x.note));
		json_push(list, row);
		expect_found_free(&x);
	}
	return list;
}
