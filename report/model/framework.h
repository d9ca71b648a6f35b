/* SPDX-License-Identifier: Apache-2.0 */
/* Which framework a program gives the GPU its work by. For the findings, the what-ifs and the
 * outputs, which advise in its words. */
#ifndef REPORT_FRAMEWORK_H
#define REPORT_FRAMEWORK_H

#include <stdbool.h>

enum framework {
	FRAMEWORK_NONE, /* none of these, or not known */
	FRAMEWORK_PYTORCH,
	FRAMEWORK_JAX,
	FRAMEWORK_CUPY,
	FRAMEWORK_NUMBA,
	FRAMEWORKS
};
extern const char *const framework_names[]; /* NULL for none */

struct model;
struct model_site;
/* That by which most of the work was given, of a model with its sites. */
enum framework framework_of(const struct model *m);
/* Whether its stack goes through an optimizer's code: optax, or a folder or file whose name begins
 * with "optim". */
bool framework_is_optimizers(const struct model_site *s);
/* Whether it goes through a network's layers (PyTorch's torch.nn, flax), or has no frame of
 * Python's, as a backward pass. */
bool framework_is_networks(const struct model_site *s);

#endif
