/* SPDX-License-Identifier: Apache-2.0 */
/* The square root, by Newton's way: the shim does without libm. */
#ifndef SPY_ROOT_H
#define SPY_ROOT_H

/* Of x >= 0; INFINITY gives NaN. */
static inline double root(double x)
{
	double r = x > 1 ? x : 1;

	for (int i = 0; i < 64; i++)
		r = (r + x / r) / 2;
	return r;
}

#endif
