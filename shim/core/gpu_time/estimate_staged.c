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

static struct estimate_bus bus_of(double rate, double least, double most)
{
	return (struct estimate_bus){rate, least, most, least};
}

/* An idle link goes down to a lower generation to save power, but not when it is copied over. */
static struct estimate_bus link_of(const struct tf_environment_device *d)
{
	double generation =
	        larger(most(d, SPY_ENVIRONMENT_PCIE_GEN), most(d, SPY_ENVIRONMENT_PCIE_GEN_MAX));
	double link = estimate_link(generation, most(d, SPY_ENVIRONMENT_PCIE_WIDTH));
	struct estimate_bus bus = bus_of(link * ESTIMATE_LINK_REACHED, link * ESTIMATE_LINK_LEAST,
	                                 link * ESTIMATE_LINK_MOST);

	if (generation >= 5)
		bus.slow = link * ESTIMATE_LINK_SLOW_5;
	return bus;
}

static struct estimate_bus slower(struct estimate_bus a, struct estimate_bus b)
{
	return a.rate < b.rate || isnan(b.rate) ? a : b;
}

struct estimate_bus estimate_bus_told(const struct tf_map *map)
{
	const struct tf_environment *e = tf_at(map, tf_header(map)->environment, sizeof(*e));
	struct estimate_bus slowest = bus_of(NAN, NAN, NAN), used = slowest;

	for (uint32_t i = 0; e && i < e->count && i < TF_ENVIRONMENT_DEVICES; i++) {
		struct estimate_bus link = link_of(&e->devices[i]);
		slowest = slower(link, slowest);
		if (e->devices[i].used) /* known at exit */
			used = slower(link, used);
	}
	return isnan(used.rate) ? slowest : used;
}

struct estimate_bus estimate_bus_timed(double rate, double ns, double sd)
{
	double off = smaller(larger(2 * sd / ns, ESTIMATE_COPIES_TELL), 0.5);

	return bus_of(rate, rate * (1 - off), rate * (1 + off));
}

/* So much a time may be, and so much less or more. */
struct part {
	double ns, less, more;
};

static struct part sum_of(struct part a, struct part b)
{
	return (struct part){a.ns + b.ns, a.less + b.less, a.more + b.more};
}

static struct part times(double n, struct part p)
{
	return (struct part){n * p.ns, n * p.less, n * p.more};
}

static struct part start_of(bool to_host)
{
	if (to_host)
		return (struct part){ESTIMATE_OUT_NS, ESTIMATE_STAGED_OUT_LESS_NS,
		                     ESTIMATE_STAGED_OUT_MORE_NS};
	return (struct part){ESTIMATE_STAGED_IN_NS, ESTIMATE_STAGED_IN_LESS_NS,
	                     ESTIMATE_STAGED_IN_MORE_NS};
}

static struct part on_bus(const struct estimate_bus *bus, double bytes)
{
	double ns = bytes / bus->rate;

	return (struct part){ns, ns - bytes / bus->most, bytes / bus->slow - ns};
}

/* Pieces that go one after the other, as fast as the bus lets them. */
static struct part pieces(const struct estimate_bus *bus, bool to_host, double bytes)
{
	static const struct part next = {ESTIMATE_NEXT_NS, ESTIMATE_NEXT_LESS_NS,
	                                 ESTIMATE_NEXT_MORE_NS};
	double most = to_host ? ESTIMATE_PIECE_OUT : ESTIMATE_PIECE_IN;
	double more = (double)(uint64_t)(larger(bytes - 1, 0) / most);
	struct part start = start_of(to_host);

	return sum_of(on_bus(bus, bytes), sum_of(start, times(more, to_host ? next : start)));
}

/* Bytes of the last piece of a copy to the device. */
static double last_bytes(double bytes)
{
	double before = (double)(uint64_t)(larger(bytes - 1, 0) / ESTIMATE_PIECE_IN);

	return bytes - before * ESTIMATE_PIECE_IN;
}

double estimate_last_piece(const struct estimate_bus *bus, double bytes, double call_ns)
{
	double last = last_bytes(bytes);

	if (!(bus->rate > 0))
		return 0;
	/* A short one may be staged before the one ahead of it has gone. */
	double ahead = bytes > ESTIMATE_PIECE_IN
	                       ? pieces(bus, false, ESTIMATE_PIECE_IN).ns - call_ns * last / bytes
	                       : 0;
	return pieces(bus, false, last).ns + larger(ahead, 0);
}

double estimate_staged_ahead(const struct estimate_bus *bus, double bytes, double call_ns,
                             double ahead_ns)
{
	double first = ESTIMATE_PIECE_IN / bytes; /* its share of the staging */

	if (bytes <= ESTIMATE_PIECE_IN || !(ahead_ns > 0))
		return call_ns;
	double stages = larger(call_ns - ESTIMATE_STAGED_CALL_NS, 0);
	return larger(call_ns + smaller(stages * first / (1 - first), ahead_ns), bytes / bus->rate);
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
	double last = to_host ? 0 : estimate_last_piece(bus, bytes, call_ns);
	double off = paced * (to_host ? ESTIMATE_STAGED_OFF_OUT : ESTIMATE_STAGED_OFF_IN);
	double more = off + (to_host ? ESTIMATE_STAGED_BUFFERS_OFF * (call_ns - paced) : 0);
	struct part p = pieces(bus, to_host, bytes),
	            ends = to_host ? times(2, pieces(bus, true, ESTIMATE_PIECE_OUT))
	                           : pieces(bus, false, last_bytes(bytes));

	if (!to_host)
		ends.ns = last;
	if (paced > 0 && paced + ends.ns > p.ns)
		p = sum_of(ends, (struct part){paced, off, more});
	/* It cannot be shorter than its bytes take, nor go on when the call has the last of them.
	 */
	double shortest = bytes / bus->most, longest = call_ns + last;
	double ns = smaller(p.ns, larger(longest, shortest));
	return (struct estimate_range){ns, smaller(ns, larger(p.ns - p.less, shortest)),
	                               larger(ns, smaller(p.ns + p.more, longest))};
}
