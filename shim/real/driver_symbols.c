/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include "shim/real/real.h"

bool spy_driver_symbols(const struct spy_wanted *wanted, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		void *f = spy_driver_symbol(wanted[i].name);
		if (!f && wanted[i].older)
			f = spy_driver_symbol(wanted[i].older);
		if (!f)
			return false;
		memcpy(wanted[i].slot, &f, sizeof(f));
	}
	return true;
}
