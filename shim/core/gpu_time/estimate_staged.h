/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GPU time of copies of pageable memory that go by a copy engine: all to the host, those to the
 * device beyond 64 KiB. The driver takes them through pinned buffers of its own, piece by piece,
 * and the call has returned, or nearly so, when it is done: no event can be put behind the copy in
 * time. What tells its GPU time are its bytes and the time T that the call had for it, from when
 * the work ahead on its stream had ended.
 *
 * The GPU is with a copy from the start of its first piece to the end of its last one, as CUPTI's
 * records are. Beside these, on an H200 (driver 580, PCIe 5 x16), sizes of 4 bytes to 64 MiB, 64
 * copies of each:
 *
 *  - to the device, up to a piece of 1 MiB: as a pinned copy, when the call returns. Beyond, GPU =
 *    T * (1 - piece / bytes) + the last piece: the first one starts once it is staged, the last one
 *    when the call returns. Off by 7 % at most. Behind other work its first pieces are staged while
 *    that still runs: estimate_staged_ahead().
 *  - to the host, up to the buffers' 1.5 MiB: pieces of 256 KiB, one after the other; the host
 *    empties the buffers behind them. Beyond, GPU = T * (1 - buffers / bytes) + two pieces: when
 *    the last piece ends, the host has the full buffers still to empty. Off by 8 % at most.
 *    Between pieces lie 0.1 to 5.5 us: least where there was work ahead of the copy, so that all
 *    of them were given to the GPU before the first one began.
 *
 * For the timeline, copy by copy, and the reporter, by means of a class; both by the same formula.
 */
#ifndef SPY_ESTIMATE_STAGED_H
#define SPY_ESTIMATE_STAGED_H

#include <stdbool.h>
#include "shim/core/format/trace_map.h"

/* Bytes, see above. */
#define ESTIMATE_PIECE_IN    1048576.0
#define ESTIMATE_PIECE_OUT   262144.0
#define ESTIMATE_BUFFERS_OUT 1572864.0
/* A copy engine's copy beside its bytes, ns: what CUPTI's records of copies of 16 KiB and more come
 * to at none. */
#define ESTIMATE_IN_NS  2500.0
#define ESTIMATE_OUT_NS 1500.0
/*
 * The same of a staged copy, and so much less or more it may be. Fitted to the 17 records of part
 * `accuracy` that have such copies (2026-11, H200 and three of an H100; of how many machines is not
 * known): to the device 2.5 to 3.3 us, to the host 1.4 to 1.6 in most, 2.2 to 2.8 in some.
 */
#define ESTIMATE_STAGED_IN_NS       2700.0
#define ESTIMATE_STAGED_IN_LESS_NS  350.0
#define ESTIMATE_STAGED_IN_MORE_NS  650.0
#define ESTIMATE_STAGED_OUT_LESS_NS 150.0
#define ESTIMATE_STAGED_OUT_MORE_NS 1300.0
/* What a call takes beside the staging: 131,072 bytes 15.0 us, 1 MiB 74.1. */
#define ESTIMATE_STAGED_CALL_NS 5600.0
/* Between pieces to the host whose buffers are free. */
#define ESTIMATE_NEXT_NS      1200.0
#define ESTIMATE_NEXT_LESS_NS 1200.0
#define ESTIMATE_NEXT_MORE_NS 3500.0
/*
 * The share of what the link carries that copies reach: 55.3 of 63.0 bytes a ns, both ways. The
 * others are assumed: what such copies reach elsewhere. With PCIe 5 staged copies of 1 MiB to the
 * device took as long as by that to 6 % more in these records.
 */
#define ESTIMATE_LINK_REACHED 0.877
#define ESTIMATE_LINK_MOST    0.92
#define ESTIMATE_LINK_LEAST   0.70
#define ESTIMATE_LINK_SLOW_5  0.80 /* generation 5 and later, staged copies */
/* Where pinned copies of the run were timed: how well these tell it at best. */
#define ESTIMATE_COPIES_TELL 0.05
/* Nothing on PCIe is faster (generation 5 x16), bytes a ns. */
#define ESTIMATE_BUS_MOST 64.0
/* The interval of what a call tells: this share of it. Means of copies to the device were off by 4
 * %, of those to the host by 3 % on one H200 and by 15 % on another. */
#define ESTIMATE_STAGED_OFF_IN  0.10
#define ESTIMATE_STAGED_OFF_OUT 0.20
/* So much of the time for the buffers the GPU may be with a copy to the host all the same: of 2 to
 * 3 MiB, 13 and 27 us more than a fifth. */
#define ESTIMATE_STAGED_BUFFERS_OFF 0.10
/* Where the bus is not known: the last piece, of unknown length, is not in it. */
#define ESTIMATE_STAGED_OFF_MORE 0.20

/* What copies to the device, or from it, reach: bytes a ns; NaN: not known. `slow`: staged ones at
 * least. */
struct estimate_bus {
	double rate, least, most, slow;
};

/* What a copy over the bus takes beside its bytes. */
static inline double estimate_start_ns(bool to_host)
{
	return to_host ? ESTIMATE_OUT_NS : ESTIMATE_IN_NS;
}

struct estimate_range { /* ns; NaN: not known */
	double ns, low, high;
};

/* What a PCIe link carries each way, bytes a ns; NaN where there is no such link. */
double estimate_link(double generation, double width);

/* By the slowest link to a device of the recording, as NVML tells it. */
struct estimate_bus estimate_bus_told(const struct tf_map *map);
/* By this rate of pinned copies, of which each took `ns`, known to `sd`. */
struct estimate_bus estimate_bus_timed(double rate, double ns, double sd);

/*
 * What the call of a copy to the device would have had for it on an idle stream, ns: it had
 * `call_ns` when the work ahead had ended, and staged its first pieces in `ahead_ns` before that.
 */
double estimate_staged_ahead(const struct estimate_bus *bus, double bytes, double call_ns,
                             double ahead_ns);

/* A copy of `bytes` whose call had `call_ns` for it, on an idle stream. */
struct estimate_range estimate_staged(const struct estimate_bus *bus, bool to_host, double bytes,
                                      double call_ns);

/* What a copy to the device has still to go when its call returns, ns; 0 where it is not known. */
double estimate_last_piece(const struct estimate_bus *bus, double bytes, double call_ns);

#endif
