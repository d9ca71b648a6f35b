/* SPDX-License-Identifier: Apache-2.0 */
/* The driver's functions by the linker: -lcuda. */
#include "tests/e2e/programs/drive.h"

int plugin_run(unsigned launches)
{
#define X(name, base, version) .name = name,
	struct drive_calls d = {DRIVE_CALLS(X)};
#undef X
	return drive(&d, launches);
}
