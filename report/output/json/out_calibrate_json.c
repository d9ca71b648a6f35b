/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "report/base/alloc.h"
#include "report/base/json.h"
#include "report/base/units.h"
#include "report/model/model_gpu_types.h"
#include "report/output/out_calibrate.h"

static json_t *date(double realtime_ns)
{
	char text[UNIT_BYTES];

	return json_text(isfinite(realtime_ns) ? unit_date(text, realtime_ns) : NULL);
}

static json_t *before(const struct calibrate_before *b)
{
	json_t *o = json_object();

	json_put(o, "null_kernel_ns", json_share(b->null_kernel));
	json_put(o, "off_ns", json_share(b->off));
	json_put(o, "source", json_text(model_kind_source_names[b->source]));
	json_put(o, "calibrated_at", date(b->calibrated));
	return o;
}

static json_t *kinds(const struct calibrate_figure *f)
{
	json_t *list = json_array();

	for (int i = 0; i < CALIBRATE_KINDS; i++) {
		json_t *o = json_object();
		json_put(o, "name", json_text(calibrate_kinds[i].text));
		json_put(o, "exact_ns", json_share(f->kinds[i].exact));
		json_put(o, "pairs_ns", json_share(f->kinds[i].pairs));
		json_put(o, "off_ns", json_share(f->kinds[i].off));
		json_put(o, "worst_off_ns", json_share(f->kinds[i].worst));
		json_put(o, "launches", json_count(f->kinds[i].launches));
		json_put(o, "pairs", json_count(f->kinds[i].samples));
		json_push(list, o);
	}
	return list;
}

void out_calibrate_json(const struct out_calibrated *c, FILE *to)
{
	json_t *root = json_object(), *list = json_array();

	if (!root)
		alloc_failed();
	json_put(root, "schema", json_text("cudaspy.calibrate/1"));
	json_put(root, "generated_by", json_text("cudaspy " CUDASPY_VERSION));
	json_put(root, "path", json_text(c->path));
	json_put(root, "stored", json_boolean(c->stored));
	for (size_t i = 0; i < c->count; i++) {
		const struct calibrate_result *r = &c->results[i];
		json_t *o = json_object();
		json_put(o, "index", json_count(r->device.index));
		json_put(o, "name", json_text(r->device.name));
		json_put(o, "simulated", json_boolean(r->device.simulated));
		json_put(o, "cuda_driver", json_count(r->device.driver));
		json_put(o, "driver", json_text(r->driver_text));
		json_put(o, "clock_khz", r->clock_khz ? json_count(r->clock_khz) : json_null());
		json_put(o, "calibrated_at", date(r->time));
		json_put(o, "null_kernel_ns", json_share(r->figure.null_kernel));
		json_put(o, "null_low_ns", json_share(r->figure.null_low));
		json_put(o, "null_high_ns", json_share(r->figure.null_high));
		json_put(o, "off_ns", json_share(r->figure.off));
		json_put(o, "before", before(&r->before));
		json_put(o, "kinds", kinds(&r->figure));
		json_push(list, o);
	}
	json_put(root, "devices", list);
	json_dumpf(root, to, JSON_INDENT(2) | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(9));
	putc('\n', to);
	json_decref(root);
}
