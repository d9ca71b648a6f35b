/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/core/options/options.h"

#include <stdlib.h>
#include <string.h>
#include "shim/life/lifecycle.h"

#define RUN_ID_MOST ((unsigned)sizeof(((struct tf_header *)NULL)->run_id) - 1)

/* Names of a run are read with the header, where they must fit. */
static void say_if_too_long(const char *name)
{
	const char *value = getenv(name);

	if (value && strlen(value) > RUN_ID_MOST)
		spy_say("%s=%.80s is not a name of up to %u characters; not using it", name, value,
		        RUN_ID_MOST);
}

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
	say_if_too_long("CUDASPY_RUN_ID");
	say_if_too_long("CUDASPY_RUN");
}
