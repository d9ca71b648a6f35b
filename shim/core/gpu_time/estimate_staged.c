/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/core/gpu_time/estimate_staged.h"

#include <math.h>

/*
 * What a lane of PCIe carries each way, bytes a ns, in generation 3: 8 GT/s, of which 128 of 130
 * bits are data. Each generation doubles it, near enough.
 */
#define LANE_RATE 0.985
/* Links there can be; what is told beyond is nonsense. */
#define GENERATION_MOST 8
#define WIDTH_MOST      32

/* As fmax() and fmin(): the shim does without libm. */
static double larger(double a, double b)
{
	return a > b || isnan(b) ? a : b;
}

static double smaller(double a, double b)
{
	return a < b || isnan(b) ? a : b;
}

double estimate_link(double generation, double width)
{
	if (!(generation >= 1 && generation <= GENERATION_MOST && width >= 1 &&
	      width <= WIDTH_MOST))
		return NAN;
	return LANE_RATE * width * (double)(1u << (unsigned)generation) / 8;
}

/* The larger of what a device's two readings say; NaN where none says it. */
static double most(const struct tf_environment_device *d, enum spy_environment what)
{
	const struct tf_reading *readings[] = {&d->first, &d->last};
	double value = NAN;

	for (int i = 0; i < 2; i++) {
		const struct tf_reading *r = readings[i];
		/* Acquire: the reading is complete. Pairs with the shim's store. */
		if (__atomic_load_n(&r->tick, __ATOMIC_ACQUIRE) && r->known >> what & 1)
			value = larger(value, (double)r->value[what]);
	}
	return value;
}

/* An idle link goes down to a lower generation to save power, but not when it is copied over. */
static double link_of(const struct tf_environment_device *d)
{
	return estimate_link(
	        larger(most(d, SPY_ENVIRONMENT_PCIE_GEN), most(d, SPY_ENVIRONMENT_PCIE_GEN_MAX)),
	        most(d, SPY_ENVIRONMENT_PCIE_WIDTH));
}

static struct estimate_bus bus_of(double rate, double least, double most)
{
	return (struct estimate_bus){rate, least, most};
}

struct estimate_bus estimate_bus_told(const struct tf_map *map)
{
	const struct tf_environment *e = tf_at(map, tf_header(map)->environment, sizeof(*e));
	double slowest = NAN, used = NAN;

	for (uint32_t i = 0; e && i < e->count && i < TF_ENVIRONMENT_DEVICES; i++) {
		double link = link_of(&e->devices[i]);
		slowest = smaller(slowest, link);
		if (e->devices[i].used) /* known at exit */
			used = smaller(used, link);
	}
	if (!isnan(used))
		slowest = used;
	return bus_of(slowest * ESTIMATE_LINK_REACHED, slowest * ESTIMATE_LINK_LEAST,
	              slowest * ESTIMATE_LINK_MOST);
}

struct estimate_bus estimate_bus_timed(double rate, double ns, double sd)
{
	double off = smaller(larger(2 * sd / ns, ESTIMATE_COPIES_TELL), 0.5);

	return bus_of(rate, rate * (1 - off), rate * (1 + off));
}

/* Pieces that go one after the other, as fast as the bus lets them. */
static double pieces_ns(const struct estimate_bus *bus, bool to_host, double bytes)
{
	double most = to_host ? ESTIMATE_PIECE_OUT : ESTIMATE_PIECE_IN;
	double pieces = (double)(uint64_t)(larger(bytes - 1, 0) / most) + 1;
	double each = estimate_start_ns(to_host);

	return pieces * each + bytes / bus->rate + (to_host ? (pieces - 1) * ESTIMATE_NEXT_NS : 0);
}

double estimate_last_piece(const struct estimate_bus *bus, double bytes, double call_ns)
{
	double before = (double)(uint64_t)(larger(bytes - 1, 0) / ESTIMATE_PIECE_IN);
	double last = bytes - before * ESTIMATE_PIECE_IN;

	if (!(bus->rate > 0))
		return 0;
	/* A short one may be staged before the one ahead of it has gone. */
	double ahead =
	        before > 0 ? pieces_ns(bus, false, ESTIMATE_PIECE_IN) - call_ns * last / bytes : 0;
	return pieces_ns(bus, false, last) + larger(ahead, 0);
}

/* Without a bus: what lies between the first piece and the last one is known, for the rest there is
 * the call's time. */
static struct estimate_range by_call(double paced, double bytes, double call_ns)
{
	double low = larger(paced * (1 - ESTIMATE_STAGED_OFF_MORE), bytes / ESTIMATE_BUS_MOST);

	if (!(paced > 0))
		return (struct estimate_range){NAN, NAN, NAN};
	return (struct estimate_range){paced, smaller(paced, low), larger(paced, call_ns)};
}

struct estimate_range estimate_staged(const struct estimate_bus *bus, bool to_host, double bytes,
                                      double call_ns)
{
	double buffers = to_host ? ESTIMATE_BUFFERS_OUT : ESTIMATE_PIECE_IN;
	/* In it the host fills or empties one buffer while the GPU is with another. */
	double paced = bytes > buffers ? call_ns * (1 - buffers / bytes) : 0;

	if (!(bus->rate > 0))
		return by_call(paced, bytes, call_ns);
	double ends = to_host ? 2 * pieces_ns(bus, true, ESTIMATE_PIECE_OUT)
	                      : estimate_last_piece(bus, bytes, call_ns);
	double least = pieces_ns(bus, to_host, bytes),
	       ns = larger(least, paced > 0 ? paced + ends : 0);
	double by_bus = ns > least ? ends : least;
	/* It cannot be shorter than its bytes take, nor go on when the call has the last of them.
	 */
	double shortest = bytes / bus->most,
	       longest = call_ns + (to_host ? 0 : estimate_last_piece(bus, bytes, call_ns));
	double off = ns * (to_host ? ESTIMATE_STAGED_OFF_OUT : ESTIMATE_STAGED_OFF_IN);
	double low = ns - off - by_bus * (1 - bus->rate / bus->most),
	       high = ns + off + by_bus * (bus->rate / bus->least - 1) +
	              (to_host ? ESTIMATE_OUT_MORE_NS : 0);
	ns = smaller(ns, larger(longest, shortest));
	return (struct estimate_range){ns, smaller(ns, larger(low, shortest)),
	                               larger(ns, smaller(high, longest))};
}
