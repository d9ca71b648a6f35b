/* SPDX-License-Identifier: Apache-2.0 */
/* The door for an observer of the simulated GPU. */
#include "tests/sim/driver.h"
#include "tests/sim/observe.h"

void (*_Atomic sim_observer)(const struct sim_piece *);

SIM_EXPORT void sim_observe(void (*fn)(const struct sim_piece *))
{
	atomic_store(&sim_observer, fn);
}
