/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "report/base/alloc.h"
#include "report/output/json/out_json.h"

json_t *json_findings(const struct findings *all)
{
	json_t *list = json_array();

	for (size_t i = 0; i < all->count; i++) {
		const struct finding *f = &all->items[i];
		char *fix = alloc_format("CUDA: %s. PyTorch: %s.", f->fix_cuda, f->fix_pytorch);
		json_t *o = json_object();
		json_put(o, "id", json_text(f->id));
		json_put(o, "severity", json_text(finding_severities[f->severity]));
		json_put(o, "title", json_text(f->title));
		json_put(o, "share", json_share(f->share));
		json_put(o, "evidence", json_text(f->evidence));
		json_put(o, "fix", json_text(fix));
		json_put(o, "predicted_speedup", json_share(f->speedup));
		json_put(o, "predicted_speedup_low", json_share(f->speedup_low));
		json_put(o, "predicted_speedup_high", json_share(f->speedup_high));
		json_push(list, o);
		free(fix);
	}
	return list;
}
