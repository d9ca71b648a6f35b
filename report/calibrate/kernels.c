/* SPDX-License-Identifier: Apache-2.0 */
#include "report/calibrate/calibrate.h"

const char *const calibrate_code_names[] = {[CALIBRATE_EMPTY] = "calibrate_empty",
                                            [CALIBRATE_STORES] = "calibrate_stores",
                                            [CALIBRATE_SPIN] = "calibrate_spin"};

/* The first is what the sampler measures around itself, cudaspy_null: one thread. */
const struct calibrate_kind calibrate_kinds[CALIBRATE_KINDS] = {
        {"empty", CALIBRATE_EMPTY, 1, 1, 0},
        {"empty, 64 x 256", CALIBRATE_EMPTY, 64, 256, 0},
        {"stores, 64 x 256", CALIBRATE_STORES, 64, 256, 0},
        {"stores, 1024 x 256", CALIBRATE_STORES, 1024, 256, 0},
        {"spins 2 us", CALIBRATE_SPIN, 1, 32, 2000},
        {"spins 5 us", CALIBRATE_SPIN, 1, 64, 5000},
        {"spins 20 us", CALIBRATE_SPIN, 1, 96, 20000},
};

/* Spinning goes by the GPU's own clock. */
const char calibrate_ptx[] = ".version 6.0\n"
                             ".target sm_50\n"
                             ".address_size 64\n"
                             "\n"
                             ".visible .entry calibrate_empty()\n"
                             "{\n"
                             "	ret;\n"
                             "}\n"
                             "\n"
                             ".visible .entry calibrate_stores(.param .u64 to)\n"
                             "{\n"
                             "	.reg .u32 %block, %threads, %thread, %i;\n"
                             "	.reg .u64 %to, %offset;\n"
                             "\n"
                             "	ld.param.u64 %to, [to];\n"
                             "	cvta.to.global.u64 %to, %to;\n"
                             "	mov.u32 %block, %ctaid.x;\n"
                             "	mov.u32 %threads, %ntid.x;\n"
                             "	mov.u32 %thread, %tid.x;\n"
                             "	mad.lo.u32 %i, %block, %threads, %thread;\n"
                             "	mul.wide.u32 %offset, %i, 4;\n"
                             "	add.u64 %to, %to, %offset;\n"
                             "	st.global.u32 [%to], %i;\n"
                             "	ret;\n"
                             "}\n"
                             "\n"
                             ".visible .entry calibrate_spin(.param .u64 nanoseconds)\n"
                             "{\n"
                             "	.reg .u64 %start, %now, %gone, %until;\n"
                             "	.reg .pred %more;\n"
                             "\n"
                             "	ld.param.u64 %until, [nanoseconds];\n"
                             "	mov.u64 %start, %globaltimer;\n"
                             "again:\n"
                             "	mov.u64 %now, %globaltimer;\n"
                             "	sub.u64 %gone, %now, %start;\n"
                             "	setp.lt.u64 %more, %gone, %until;\n"
                             "	@%more bra again;\n"
                             "	ret;\n"
                             "}\n";
