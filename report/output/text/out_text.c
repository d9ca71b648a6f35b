/* SPDX-License-Identifier: Apache-2.0 */
#include "report/output/text/out_page.h"

static void write_page(const struct model *m, const struct analysis *a, const struct out_options *o,
                       struct text_layout *page)
{
	out_page_top(m, a, page);
	out_page_expect(m, o, page);
	out_page_findings(m, &a->findings, a->of->phase, page);
	out_page_whatif(a->whatifs, o, a->of->phase, page);
	out_page_processes(m, page);
	out_page_phases(m, a, o, page);
	out_page_picture(m, page);
	out_page_gpu(m, o, page);
	out_page_streams(m, page);
	out_page_sites(m, o, page);
	out_page_host(m, o, page);
	out_page_steps(a->of, o, page);
	out_page_ranges(m, o, page);
	out_page_kernels(m, o, page);
	out_page_occupancy(m, o, page);
	out_page_apis(m, o, page);
	out_page_copies(m, page);
	out_page_work(m, page);
	out_page_graphs(m, o, page);
	out_page_gaps(m, page);
}

void out_text(const struct model *m, const struct analysis *a, const struct out_options *o)
{
	struct text_layout page = {
	        .to = o->to,
	        .colour = o->colour,
	        .whole_names = o->names == NAMES_FULL || o->names == NAMES_MANGLED,
	        .width = o->width,
	};

	write_page(m, a, o, &page);
}

void out_markdown(const struct model *m, const struct analysis *a, const struct out_options *o)
{
	struct text_layout page = {.to = o->to, .markdown = true, .width = o->width};

	fputs("# cudaspy report\n\n", o->to);
	write_page(m, a, o, &page);
}
