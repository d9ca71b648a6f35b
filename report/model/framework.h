/* SPDX-License-Identifier: Apache-2.0 */
/* Which framework a program gives the GPU its work by. For the findings, the what-ifs and the
 * outputs, which advise in its words. */
#ifndef REPORT_FRAMEWORK_H
#define REPORT_FRAMEWORK_H

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
/* That by which most of the work was given, of a model with its sites. */
enum framework framework_of(const struct model *m);
/* Launches of the run that go through an optimizer's code (optax, or a folder or file whose name
 * begins with "optim"), estimated; NaN: no stacks of launches with Python's frames were taken. */
double framework_optimizer_launches(const struct model *m);

#endif
