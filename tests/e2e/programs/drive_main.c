/* SPDX-License-Identifier: Apache-2.0 */
/* drive_NAME LAUNCHES: does the work once, and says so. */
#include <stdlib.h>
#include "tests/e2e/programs/drive.h"

int main(int argc, char **argv)
{
	unsigned launches = argc > 1 ? (unsigned)atoi(argv[1]) : 1;

	if (plugin_run(launches))
		return 1;
	printf("drove %u\n", launches);
	return 0;
}
