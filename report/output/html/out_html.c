/* SPDX-License-Identifier: Apache-2.0 */
#include "report/output/html/html_page.h"
#include "report/output/json/out_json.h"

void out_html(const struct model *m, const struct analysis *a, const struct out_options *o)
{
	json_t *data = json_object();

	json_put(data, "report", json_report(m, a, o));
	json_put(data, "extra", html_extra(m, a));
	html_page_write(o->to, data);
}
