/* SPDX-License-Identifier: Apache-2.0 */
/* A library whose constructor initialises CUDA and launches, while the loader's lock is held and
 * another thread is inside cuInit. */
#include "tests/e2e/programs/work.h"

void harm_meet(void);

static void __attribute__((constructor)) at_load(void)
{
	harm_meet();
	work_start();
	work_launches(100);
}
