/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "report/base/names.h"
#include "report/base/units.h"
#include "report/model/framework.h"
#include "report/model/model.h"
#include "report/analysis/whatif/whatif.h"

static const char *const words[BLOCK_KINDS] = {
        [BLOCK_READ] = "reads a result inside the step: read it behind the step",
        [BLOCK_WAIT] = "waits inside the step: wait behind it",
        [BLOCK_PAGEABLE] = "copies pageable memory: pin it, or copy before the graph's launch",
        [BLOCK_ALLOC] = "allocates or frees: do that once before, or in the stream's order",
        [BLOCK_MODULE] = "loads code: do that once before",
        [BLOCK_SHAPES] = "begins steps of other shapes: pad, or a graph for each shape",
        [BLOCK_LEGACY] = "works on the legacy default stream: capture on another one",
        [BLOCK_THREADS] = "is made by a thread that has no part in the step",
};

const char *whatif_block_text(const struct whatif_block *b, size_t count, size_t *said,
                              char to[WHATIF_TEXT])
{
	double per_step = b->per_step;
	char others[48] = "", each[UNIT_BYTES];

	for (*said = 1; b->kind == BLOCK_LEGACY && *said < count && b[*said].kind == BLOCK_LEGACY;
	     ++*said)
		per_step += b[*said].per_step;
	if (*said > 1)
		snprintf(others, sizeof(others), " (and %zu other call%s)", *said - 1,
		         *said > 2 ? "s" : "");
	snprintf(to, WHATIF_TEXT, "%.55s%s, %s a step, %s", name_call(b->call), others,
	         unit_count(each, per_step), words[b->kind]);
	return to;
}

const char *whatif_graph_way(const struct model *m)
{
	switch (framework_of(m)) {
	case FRAMEWORK_PYTORCH:
		return "torch.compile(mode=\"reduce-overhead\"), "
		       "torch.cuda.make_graphed_callables, "
		       "or torch.cuda.graph around the whole step, with capturable=True for the "
		       "optimizer";
	case FRAMEWORK_JAX:
		return "jax.jit around the whole step, with donated arguments; lax.scan over "
		       "several steps, with unroll where a round has few kernels";
	case FRAMEWORK_CUPY:
		return "begin_capture() and end_capture() of a cupy.cuda.Stream around the step "
		       "once, then the graph's launch() each step; cupy.fuse() for elementwise "
		       "operations";
	case FRAMEWORK_NUMBA:
		return "a cuda.core.GraphBuilder as the kernels' stream (numba-cuda since March "
		       "2026); one kernel for several where there is none";
	default:
		return "cudaStreamBeginCapture around the step once, then cudaGraphLaunch each "
		       "step";
	}
}
