/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Our own kernels on the program's stream: what stands ahead of a pair's first event, and the empty
 * kernel that a calibration puts into the pair. Sections alone. For the sampler's files.
 *
 * They are launched by themselves ahead of kernels, and as graphs of one node ahead of all else in
 * a context where the program launches graphs. For a kernel that is launched by itself behind a
 * graph makes the later graphs of that stream slower for good: of a step in JAX whose 62 kernels
 * are one graph each begins 0.2 us later, 134 us a launch for 121 (H200, driver 580.159, CUPTI's
 * records of graphs; part accuracy of scripts/gpu_acceptance, program jax_graphs). A graph of ours
 * does not, nor do events, nor a kernel on another stream. Where the program launches kernels there
 * itself, it is so anyway.
 */
#ifndef SPY_SAMPLER_AHEAD_H
#define SPY_SAMPLER_AHEAD_H

#include "shim/record/span.h"
#include "shim/sampler/sampler_context.h"
#include "shim/sampler/sampler_driver.h"

/* Of a call; `graphs`: the context of the sample has seen a graph launched. */
static inline struct sampler_spot sampler_spot_of(const struct spy_span *s, CUstream stream,
                                                  bool graphs)
{
	return (struct sampler_spot){stream, !!(s->flags & TF_PTDS),
	                             sampler_cu.graphs && (s->cls == SPY_CLASS_GRAPH_LAUNCH ||
	                                                   (graphs && s->cls != SPY_CLASS_LAUNCH))};
}

/*
 * What stands ahead of the first event, so that every pair is measured behind the same kind of
 * work: a stall of `us` microseconds, or with 0, on a busy stream, our empty kernel. First it is
 * made, which takes a while where a graph is needed, then launched. False: it was not to be; see
 * sampler_accepted().
 */
bool sampler_make_ahead(struct sampler_context *c, struct sampler_pair *p,
                        const struct sampler_spot *spot, unsigned us);
bool sampler_put_ahead(struct sampler_context *c, struct sampler_pair *p,
                       const struct sampler_spot *spot, unsigned us);

/* Our empty kernel between the events of a calibration, likewise. */
bool sampler_make_null(struct sampler_context *c, struct sampler_pair *p,
                       const struct sampler_spot *spot);
bool sampler_put_null(struct sampler_context *c, struct sampler_pair *p,
                      const struct sampler_spot *spot);

/* Nothing tells when they are done, or the context ends: the pair will have new ones. Those under
 * way are freed when they are done. Outside of sections too. */
void sampler_ahead_drop(struct sampler_pair *p);

#endif
