/* SPDX-License-Identifier: Apache-2.0 */
/* sites_ready() for programs in Python: the library that SITES_READY names (conftest.py). */
#include "tests/e2e/programs/sites_ready.h"

void wait_until_ready(void);
void wait_until_ready(void)
{
	sites_ready();
}
