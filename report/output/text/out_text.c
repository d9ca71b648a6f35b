/* SPDX-License-Identifier: Apache-2.0 */
#include "report/output/text/out_page.h"

/* In the order of the page. */
enum section {
	SECTION_RUN,
	SECTION_FINDINGS,
	SECTION_WHAT_IF,
	SECTION_PROCESSES,
	SECTION_PHASES,
	SECTION_TIMELINE,
	SECTION_GPU,
	SECTION_STREAMS,
	SECTION_SITES,
	SECTION_HOST,
	SECTION_STEPS,
	SECTION_NVTX,
	SECTION_KERNELS,
	SECTION_OCCUPANCY,
	SECTION_APIS,
	SECTION_COPIES,
	SECTION_CALLS,
	SECTION_GRAPHS,
	SECTION_GAPS,
	SECTIONS
};
const char *const out_section_names[] = {
        [SECTION_RUN] = "run",         [SECTION_FINDINGS] = "findings",
        [SECTION_WHAT_IF] = "what-if", [SECTION_PROCESSES] = "processes",
        [SECTION_PHASES] = "phases",   [SECTION_TIMELINE] = "timeline",
        [SECTION_GPU] = "gpu",         [SECTION_STREAMS] = "streams",
        [SECTION_SITES] = "sites",     [SECTION_HOST] = "host",
        [SECTION_STEPS] = "steps",     [SECTION_NVTX] = "nvtx",
        [SECTION_KERNELS] = "kernels", [SECTION_OCCUPANCY] = "occupancy",
        [SECTION_APIS] = "apis",       [SECTION_COPIES] = "copies",
        [SECTION_CALLS] = "calls",     [SECTION_GRAPHS] = "graphs",
        [SECTION_GAPS] = "gaps",       NULL,
};

static void write_section(enum section which, const struct model *m, const struct analysis *a,
                          const struct out_options *o, struct text_layout *page)
{
	switch (which) {
	case SECTION_RUN:
		out_page_top(m, a, page);
		out_page_expect(m, o, page);
		break;
	case SECTION_FINDINGS:
		out_page_findings(m, &a->findings, a->of->phase, page);
		break;
	case SECTION_WHAT_IF:
		out_page_whatif(a->whatifs, o, a->of->phase, page);
		break;
	case SECTION_PROCESSES:
		out_page_processes(m, page);
		break;
	case SECTION_PHASES:
		out_page_phases(m, a, o, page);
		break;
	case SECTION_TIMELINE:
		out_page_overview(m, page);
		break;
	case SECTION_GPU:
		out_page_gpu(m, a, o, page);
		break;
	case SECTION_STREAMS:
		out_page_streams(m, page);
		break;
	case SECTION_SITES:
		out_page_sites(m, o, page);
		break;
	case SECTION_HOST:
		out_page_host(m, a, o, page);
		break;
	case SECTION_STEPS:
		out_page_steps(a->of, o, page);
		break;
	case SECTION_NVTX:
		out_page_ranges(m, o, page);
		break;
	case SECTION_KERNELS:
		out_page_kernels(m, o, page);
		break;
	case SECTION_OCCUPANCY:
		out_page_occupancy(m, o, page);
		break;
	case SECTION_APIS:
		out_page_apis(m, o, page);
		break;
	case SECTION_COPIES:
		out_page_copies(m, page);
		break;
	case SECTION_CALLS:
		out_page_work(m, page);
		break;
	case SECTION_GRAPHS:
		out_page_graphs(m, o, page);
		break;
	case SECTION_GAPS:
		out_page_gaps(m, page);
		break;
	case SECTIONS:
		break;
	}
}

/* What an option of its own asks for. */
static uint64_t asked(const struct out_options *o)
{
	uint64_t bits = 0;

	bits |= o->whatif_count ? 1u << SECTION_WHAT_IF : 0;
	bits |= o->sites ? 1u << SECTION_SITES : 0;
	bits |= o->all_threads ? 1u << SECTION_HOST : 0;
	bits |= o->steps_asked ? 1u << SECTION_STEPS : 0;
	return bits;
}

static void write_sections(uint64_t bits, bool named, const struct model *m,
                           const struct analysis *a, const struct out_options *o,
                           struct text_layout *page)
{
	for (int i = 0; i < SECTIONS; i++) {
		if (!(bits >> i & 1))
			continue;
		long before = ftell(page->to);
		write_section((enum section)i, m, a, o, page);
		if (named && before >= 0 && ftell(page->to) == before)
			text_layout_line(page, "%s: nothing in this recording.",
			                 out_section_names[i]);
	}
}

static void write_page(const struct model *m, const struct analysis *a, const struct out_options *o,
                       struct text_layout *page)
{
	if (o->sections)
		write_sections(o->sections | asked(o), true, m, a, o, page);
	else
		write_sections(UINT64_MAX, false, m, a, o, page);
}

void out_page_asked(const struct model *m, const struct analysis *a, const struct out_options *o,
                    struct text_layout *page)
{
	out_page_expect(m, o, page);
	write_sections(asked(o), true, m, a, o, page);
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
