/* SPDX-License-Identifier: Apache-2.0 */
#include "report/output/json/out_json.h"

json_t *out_json_count(const struct model *m, uint64_t count)
{
	return model_is_known(m) ? json_count(count) : json_null();
}
