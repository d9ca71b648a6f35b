/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every unit test includes: CMocka and what it wants before it. For tests/unit alone.
 */
#ifndef TESTS_UNIT_UNIT_H
#define TESTS_UNIT_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Within `part` of the wanted value. */
#define assert_near(got, wanted, part)                                                             \
	do {                                                                                       \
		double got_ = (got), wanted_ = (wanted),                                           \
		       room_ = (part) * (wanted_ < 0 ? -wanted_ : wanted_);                        \
		if (!(got_ >= wanted_ - room_ && got_ <= wanted_ + room_))                         \
			fail_msg("%s = %.9g, wanted %.9g", #got, got_, wanted_);                   \
	} while (0)

#endif
