/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/core/options/options.h"

#include <stdlib.h>
#include "shim/life/lifecycle.h"

void options_read(void)
{
	for (const struct spy_option *o = spy_option_rows; o->name; o++) {
		const char *value = getenv(o->name);
		o->read(o->fallback);
		if (value && !o->read(value)) {
			o->read(o->fallback);
			spy_say("%s=%.80s is not %s; using %s", o->name, value, o->wanted,
			        o->fallback);
		}
	}
}
