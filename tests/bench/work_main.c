/* SPDX-License-Identifier: Apache-2.0 */
/* The working process with a peer built in. */
#include "tests/bench/work.h"

int main(void)
{
	return work();
}
