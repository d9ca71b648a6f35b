/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/base/pattern.h"
#include "report/base/units.h"
#include "report/analysis/whatif/whatif_change.h"
#include "report/analysis/whatif/whatif_steps.h"

const char *const whatif_names[] = {
        [WHATIF_GRAPHS] = "graphs",         [WHATIF_PINNED] = "pinned",
        [WHATIF_NO_SYNC] = "no-sync",       [WHATIF_NO_ALLOC] = "no-alloc",
        [WHATIF_OVERLAP] = "overlap",       [WHATIF_HOST] = "host=0",
        [WHATIF_CPU] = "cpu-wait=0",        [WHATIF_FUSED] = "fused",
        [WHATIF_KEPT] = "graphs-unchanged", [WHATIF_STEP] = "graphs",
        [WHATIF_KERNEL] = "kernel",         NULL,
};
const char *const whatif_forms[] = {[WHATIF_RUNS] = "runs", [WHATIF_WHOLE] = "whole_step"};

static void assume(struct whatif_result *to, const char *format, ...)
        __attribute__((format(printf, 2, 3)));

static void assume(struct whatif_result *to, const char *format, ...)
{
	va_list args;

	if (to->assumption_count == WHATIF_ASSUMPTIONS)
		return;
	va_start(args, format);
	vsnprintf(to->assumptions[to->assumption_count++], WHATIF_TEXT, format, args);
	va_end(args);
}

static void assume_copies(struct whatif_result *to, const struct whatif_outcome *o)
{
	assume(to, "copies of pageable memory are asynchronous copies of pinned memory, which the "
	           "program does not change before they are done");
	if (o->assumed_bandwidth && isfinite(o->link.rate))
		assume(to,
		       "no large pinned copy was timed: %.0f %% (%.0f to %.0f %%) of what the link "
		       "carries, PCIe generation %.0f x%.0f, are assumed: %.1f GB/s",
		       100 * ESTIMATE_LINK_REACHED, 100 * ESTIMATE_LINK_LEAST,
		       100 * ESTIMATE_LINK_MOST, o->link.generation, o->link.width,
		       ESTIMATE_LINK_REACHED * o->link.rate);
	else if (o->assumed_bandwidth)
		assume(to,
		       "no large pinned copy was timed: %.0f to %.0f GB/s over the bus are assumed",
		       ASSUMED_BANDWIDTH, BEST_BANDWIDTH);
	else if (isfinite(o->bandwidth[0]) || isfinite(o->bandwidth[1]))
		assume(to, "at the best rate of this run's pinned copies, %.1f GB/s",
		       fmax(isfinite(o->bandwidth[0]) ? o->bandwidth[0] : 0,
		            isfinite(o->bandwidth[1]) ? o->bandwidth[1] : 0));
	if (o->staged & WHATIF_SENT)
		assume(to,
		       "what a library copies to pinned memory of its own before it sends it is "
		       "in pinned memory before (half of that time goes at least)");
	if (o->staged & (WHATIF_MADE | WHATIF_READ))
		assume(to, "results that a library copies from pinned memory of its own to an "
		           "array that it "
		           "makes are not: the host takes them from there, or far fewer bytes "
		           "(half of that "
		           "time goes at least)");
	assume(to, "blocking copies to the host still wait for their result; behind 4 MiB and more "
	           "the host does its work in 0.8 (0.5 to 1) of the time, for as long as a copy "
	           "took");
}

static void assume_launch(struct whatif_result *to, const struct whatif_outcome *o)
{
	if (isfinite(o->graph_launch))
		assume(to, "a graph's launch takes the host %.1f us, as in this run",
		       o->graph_launch / 1e3);
	else
		assume(to, "a graph's launch takes the host %.2g us (%.2g to %.2g)",
		       whatif_graph_launch[HOPE_MIDDLE] / 1e3, whatif_graph_launch[HOPE_MOST] / 1e3,
		       whatif_graph_launch[HOPE_LEAST] / 1e3);
	assume(to, "%.2g us (%.2g to %.2g) from one piece of work of a graph to the next",
	       whatif_node_gap[HOPE_MIDDLE] / 1e3, whatif_node_gap[HOPE_MOST] / 1e3,
	       whatif_node_gap[HOPE_LEAST] / 1e3);
}

static void assume_graphs(struct whatif_result *to, const struct whatif_outcome *o)
{
	char stalled[UNIT_BYTES];

	assume(to,
	       "runs of 5 and more launches, asynchronous copies and memsets that repeat, with no "
	       "more than 100 us between them, are replayed as graphs");
	assume(to,
	       "what the host does between the calls of such a run is the cost of issuing them");
	if (o->stalls > 0)
		assume(to,
		       "%.0f longer times between calls, %s in all, come wherever the program "
		       "happens to be: something else held the host up, and they go with the "
		       "calls; for the least gain they are work of the program's own",
		       o->stalls, unit_time_apart(stalled, o->stalled));
	assume_launch(to, o);
}

static void assume_steps(struct whatif_result *to, const struct whatif_outcome *o)
{
	char stays[UNIT_BYTES], goes[UNIT_BYTES];

	assume(to,
	       "%.0f of %.0f steps give the GPU the same work in the same order: each becomes one "
	       "graph, whatever time is between its calls; copies to the device come before it",
	       to->repeated, to->steps);
	assume(to,
	       "waits and allocations stay, and divide the graph where they are inside a step; at "
	       "best they are at its ends, and steps unlike the others are graphs too");
	if (to->stays > 0)
		assume(to,
		       "the longest stretch outside CUDA of each step stays, %s a step, as a "
		       "loader or logic of the program's own; at best %s of it go, and a fifth of "
		       "the rest",
		       unit_time_apart(stays, to->repeated > 0 ? to->stays / to->repeated : 0),
		       unit_time_apart(goes, WHATIF_FRAMEWORK_NS));
	if (o->fuses)
		assume(to, "kernels take as long as they do now; where XLA fuses short ones of "
		           "several functions, now in one, more is gained than is said here");
	assume_launch(to, o);
}

void whatif_assume(struct whatif_result *to, const struct whatif_outcome *o)
{
	switch (to->what) {
	case WHATIF_GRAPHS:
		assume_graphs(to, o);
		break;
	case WHATIF_FUSED:
		assume(to,
		       "kernels under 10 us of at most %u names that come 200 and more in a "
		       "row, PyTorch's over the elements of a tensor or any in many shapes, are "
		       "each for a tensor of its own: launched for 64 (24 to 512) at once; "
		       "where stacks were taken, an optimizer's or, beside one, the program's own, "
		       "and no network's",
		       WHATIF_ROW_KERNELS);
		assume(to, "most of what the shortest of them takes goes with each launch: 80 %% "
		           "(70 to 85)");
		assume(to, "for each tensor the host does half of what a launch took it (0.25 to "
		           "1 times)");
		break;
	case WHATIF_KEPT:
		assume(to, "graphs are launched as they are, their arguments stay where they were: "
		           "what the host does between one change of a node and the next goes too, "
		           "and at best what it does before the first one and behind the last");
		break;
	case WHATIF_STEP:
		assume_steps(to, o);
		break;
	case WHATIF_PINNED:
		assume_copies(to, o);
		break;
	case WHATIF_NO_SYNC:
		assume(to,
		       "no result is needed before the end: all waits but the last one go, small "
		       "blocking copies to the host among them");
		assume(to, "for the most gain the small kernels go too that make what is read, and "
		           "the small copies that may bring an answer back");
		if (o->selected)
			assume(to,
			       "selections that need a count on the host (nonzero(), a mask as an "
			       "index, unique()) are not made, as with where(); for the least gain "
			       "they are");
		break;
	case WHATIF_NO_ALLOC:
		assume(to,
		       "memory, code and graphs are there before: allocations, frees, module loads "
		       "and the making of graphs go, and what they wait for");
		if (o->managed)
			assume(to, "kernels that first wrote to managed memory took its pages, 14 "
			           "bytes a ns (8 for the most gain); these are there before too");
		break;
	case WHATIF_OVERLAP:
		assume(to,
		       "copies to the device do not wait for the work before them on their stream, "
		       "nor work for the copies to the host before it");
		assume(to,
		       "there are buffers enough; copies of one direction go one after the other");
		assume(to,
		       "what is copied from pinned memory to the device is there a step ahead, and "
		       "such a copy does not hold the host; for the least gain neither");
		if (o->pageable)
			assume(to, "copies of pageable memory hold the host as before, but while "
			           "the GPU works: a step ahead to the device, a step later from "
			           "it; for the least gain they stay where they are");
		if (o->staged)
			assume(to, "large results are asked for ahead and taken a step later, and "
			           "copied out "
			           "of the library's memory then, for the most gain by another "
			           "thread; for "
			           "the least neither");
		break;
	case WHATIF_HOST:
		assume(to,
		       "the host's own work goes but for %.0f %%, all of it where it compiles code "
		       "that is then loaded; what issuing calls costs in between stays",
		       100 * WHATIF_HOST_LEFT);
		assume(to,
		       "for the least gain %.0f workers share that work, for the most none of it "
		       "is left",
		       o->hands);
		break;
	case WHATIF_CPU:
		assume(to, "the time that threads waited for a CPU lies evenly in all that they "
		           "did (low), "
		           "or only where they did not wait for the GPU (high)");
		break;
	default:
		break;
	}
	if (o->others > 0)
		assume(to,
		       "the GPU's time is this process' own; for the least gain %.0f other%s, by "
		       "NVML, take%s as much of it",
		       o->others, o->others > 1 ? "s" : "", o->others > 1 ? " each" : "s");
	if (o->capped >= 0.05)
		assume(to,
		       "the power limit held the GPU's clocks down for %.0f %% of the time: there "
		       "it does no more work when it is idle less, but for the most gain",
		       100 * o->capped);
	if (to->coverage < 0.995)
		assume(to,
		       "the calls that were kept, of %.0f %% of the steady window, stand for all",
		       100 * to->coverage);
}

/* ---- reading ---- */

static int refuse(char *error, const char *format, ...) __attribute__((format(printf, 2, 3)));

static int refuse(char *error, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(error, WHATIF_TEXT, format, args);
	va_end(args);
	return -1;
}

/* "REGEX=K": K stands behind the last '='. */
static int parse_kernel(struct whatif_question *to, const char *text, char *error)
{
	const char *equals = strrchr(text, '=');
	char *end, why[PATTERN_ERROR_BYTES];
	struct pattern_regex compiled;

	if (!equals || equals == text)
		return refuse(error, "kernel:%.60s: it must be kernel:REGEX=K", text);
	to->factor = strtod(equals + 1, &end);
	if (end == equals + 1 || *end || !isfinite(to->factor) || !(to->factor > 0))
		return refuse(error, "kernel:%.60s: %.20s is no number above 0", text, equals + 1);
	char *pattern = alloc_copy(text, (size_t)(equals - text));
	if (pattern_compile(&compiled, pattern, why)) {
		free(pattern);
		return refuse(error, "kernel:%.60s: %.100s", text, why);
	}
	pattern_free(&compiled);
	to->kernel = pattern;
	return 0;
}

int whatif_parse(struct whatif_question *to, const char *text, char *error)
{
	static const char prefix[] = "kernel:";

	*to = (struct whatif_question){.text = text, .what = WHATIF_KERNEL, .factor = 1};
	for (enum whatif i = 0; i < WHATIF_STEP; i++)
		if (!strcmp(text, whatif_names[i])) {
			to->what = i;
			return 0;
		}
	if (!strncmp(text, prefix, sizeof(prefix) - 1))
		return parse_kernel(to, text + sizeof(prefix) - 1, error);
	return refuse(error,
	              "%.60s: none of graphs, pinned, no-sync, no-alloc, overlap, host=0, "
	              "cpu-wait=0, fused, graphs-unchanged, kernel:REGEX=K, all",
	              text);
}
