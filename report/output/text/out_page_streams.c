/* SPDX-License-Identifier: Apache-2.0 */
#include "report/output/text/out_page.h"
#include "report/base/units.h"

#define STREAMS_SHOWN 15

/* Columns that would say the same in every row are left out. */
struct stream_columns {
	bool device, graphs;
};

static void stream_row(struct text_layout_table *t, const struct model_stream *s,
                       struct stream_columns has)
{
	if (has.device)
		table_cell(t, "%u", s->device);
	out_page_count(t, s->kernels);
	if (has.graphs)
		out_page_count(t, s->graphs);
	out_page_count(t, s->copies);
	out_page_count(t, s->sets);
	out_page_time(t, s->kernel_ns);
	out_page_time(t, s->copy_ns);
	out_page_time(t, s->overlapped);
	table_cell(t, "%s", model_stream_kind(s->flags));
	table_cell(t, "%#llx", (unsigned long long)s->handle);
}

void out_page_streams(const struct model *m, struct text_layout *page)
{
	static const struct text_layout_column always[] = {
	        {"copies", false},  {"memsets", false}, {"kernel", false}, {"copy", false},
	        {"overlap", false}, {"kind", true},     {"stream", true}};
	const struct model_gpu *gpu = &m->gpu;
	struct stream_columns has = {0};
	struct text_layout_column columns[TABLE_COLUMNS];
	struct text_layout_table t;
	size_t n = 0, rows = gpu->stream_count < STREAMS_SHOWN ? gpu->stream_count : STREAMS_SHOWN;

	if (gpu->stream_count < 2)
		return;
	for (size_t i = 0; i < gpu->stream_count; i++) {
		has.device |= gpu->streams[i].device != gpu->streams[0].device;
		has.graphs |= gpu->streams[i].graphs != 0;
	}
	if (has.device)
		columns[n++] = (struct text_layout_column){"device", false};
	columns[n++] = (struct text_layout_column){"kernels", false};
	if (has.graphs)
		columns[n++] = (struct text_layout_column){"graphs", false};
	for (size_t i = 0; i < sizeof(always) / sizeof(always[0]); i++)
		columns[n++] = always[i];
	text_layout_heading(
	        page, "Streams (kernel, copy: GPU time%s; overlap: copies while a kernel ran)",
	        gpu->estimated ? ", estimated" : "");
	table_start(&t, columns, n);
	for (size_t i = 0; i < rows; i++)
		stream_row(&t, &gpu->streams[i], has);
	table_print(&t, page);
	out_page_rest(page, rows, gpu->stream_count, "streams");
}
