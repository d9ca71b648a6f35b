/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ways in which hold_facts asks: does a call hold, does work wait, do two pieces of it run
 * beside each other, how many does a queue take. Included by hold_facts.cu alone.
 */
#pragma once

/* ---- does the call hold its caller? ---- */

/* `give` is made with a gate on stream `busy`: did the gate end before it returned? */
static void hold(const std::string &name, cudaStream_t busy, const doing &give,
                 const doing &prepare = {}, const doing &undo = {}, gate_kind kind = GATE_ONE)
{
	measure("hold:" + name, [&](fact &f) {
		std::vector<double> alone, behind;
		unsigned held = 0, n = repeats();
		for (unsigned i = 0; i < n; i++) {
			also(prepare);
			TRY(cudaEventRecord(gate_event, busy));
			TRY(cudaDeviceSynchronize());
			alone.push_back(timed(give));
			TRY(cudaDeviceSynchronize());
			also(undo);
			also(prepare);
			TRY(cudaDeviceSynchronize());
			shut(busy, kind);
			behind.push_back(timed(give));
			held += gate_is_open();
			let_go();
			also(undo);
		}
		f.figure("held", held);
		f.figure("of", n);
		f.figure("call_ms", median(behind));
		f.figure("alone_ms", median(alone));
		f.verdict = median(alone) > GATE_MS / 2. ? "unclear" : verdict_of(held, n);
	});
}

/* `give` is called on an idle GPU: has its work on `stream` ended when it returns? */
static void own_end(const std::string &name, cudaStream_t stream, const doing &give)
{
	measure("own_end:" + name, [&](fact &f) {
		std::vector<double> call, all;
		unsigned ended = 0, n = repeats();
		for (unsigned i = 0; i < n; i++) {
			TRY(cudaDeviceSynchronize());
			auto start = std::chrono::steady_clock::now();
			call.push_back(timed(give));
			ended += is_done("cudaStreamQuery", cudaStreamQuery(stream));
			TRY(cudaDeviceSynchronize());
			all.push_back(ms_since(start));
		}
		f.figure("ended", ended);
		f.figure("of", n);
		f.figure("call_ms", median(call));
		f.figure("all_ms", median(all));
		f.verdict = verdict_of(ended, n);
	});
}

/* ---- does work wait for other work? ---- */

static bool marked(bool by_flag)
{
#ifdef __CUDACC__
	if (by_flag)
		return flags[2];
#endif
	return is_done("cudaEventQuery", cudaEventQuery(mark_event));
}

/*
 * `give` is made with a gate on stream `busy`, and an event recorded behind it on stream `on`: has
 * that event to wait for the gate? `by_flag`: `give` launches tell(), which is looked at instead of
 * the event. `more` is called with each try's end.
 */
static void order(const std::string &name, cudaStream_t busy, cudaStream_t on, const doing &give,
                  gate_kind kind = GATE_ONE, bool by_flag = false, const doing &prepare = {},
                  const doing &undo = {}, const std::function<void(fact &)> &more = {})
{
	measure("waits:" + name, [&](fact &f) {
		std::vector<double> alone;
		unsigned waits = 0, held = 0, n = repeats();
		for (unsigned i = 0; i < n; i++) {
			also(prepare);
			TRY(cudaEventRecord(gate_event, busy));
			TRY(cudaDeviceSynchronize());
			alone.push_back(timed([&] {
				give();
				TRY(cudaDeviceSynchronize());
			}));
			also(undo);
			also(prepare);
			TRY(cudaDeviceSynchronize());
			shut(busy, kind);
			give();
			TRY(cudaEventRecord(mark_event, on));
			held += gate_is_open();
			auto start = std::chrono::steady_clock::now();
			bool overtook = marked(by_flag);
			while (!overtook && ms_since(start) < WINDOW_MS)
				overtook = marked(by_flag);
			waits += !overtook || gate_is_open();
			let_go();
			also(undo);
		}
		f.figure("waited", waits);
		f.figure("of", n);
		f.figure("host_held", held);
		f.figure("alone_ms", median(alone));
		if (more)
			more(f);
		f.verdict = median(alone) > WINDOW_MS / 2. ? "unclear" : verdict_of(waits, n);
	});
}

/* ---- do two pieces of work run beside each other? ---- */

typedef std::function<void(cudaStream_t)> giving;

struct timing {
	cudaEvent_t from[2], to[2];

	timing()
	{
		for (int i = 0; i < 2; i++) {
			TRY(cudaEventCreate(&from[i]));
			TRY(cudaEventCreate(&to[i]));
		}
	}
	~timing()
	{
		for (int i = 0; i < 2; i++) {
			cudaEventDestroy(from[i]);
			cudaEventDestroy(to[i]);
		}
	}
};

static double ms_between(cudaEvent_t from, cudaEvent_t to)
{
	float ms;

	TRY(cudaEventElapsedTime(&ms, from, to));
	return ms;
}

static void give_timed(const timing &t, int which, cudaStream_t stream, const giving &give)
{
	TRY(cudaEventRecord(t.from[which], stream));
	give(stream);
	TRY(cudaEventRecord(t.to[which], stream));
}

static double alone_ms(const timing &t, const giving &give)
{
	give_timed(t, 0, own, give);
	TRY(cudaDeviceSynchronize());
	return ms_between(t.from[0], t.to[0]);
}

/* `big` on one stream, and 100 us after it began `small` on another: does that end first? */
static void overtakes(const std::string &name, const giving &big, const giving &small)
{
	measure("overtakes:" + name, [&](fact &f) {
		std::vector<double> bigs, smalls, smalls_alone, leads;
		unsigned first = 0, n = repeats();
		timing t;
		alone_ms(t, big); /* its first call may load something */
		for (unsigned i = 0; i < n; i++) {
			smalls_alone.push_back(alone_ms(t, small));
			shut(own);
			TRY(cudaStreamWaitEvent(other, gate_event, 0));
			TRY(SAMPLE_LAUNCH(spin, 1, 1, 0, other, 100u));
			give_timed(t, 0, own, big);
			give_timed(t, 1, other, small);
			bool held = gate_is_open();
			let_go();
			if (held)
				throw failed{"a call held its caller"};
			bigs.push_back(ms_between(t.from[0], t.to[0]));
			smalls.push_back(ms_between(t.from[1], t.to[1]));
			leads.push_back(ms_between(t.to[1], t.to[0]));
			first += leads.back() > 0;
		}
		f.figure("first", first);
		f.figure("of", n);
		f.figure("big_ms", median(bigs));
		f.figure("small_ms", median(smalls));
		f.figure("small_alone_ms", median(smalls_alone));
		f.figure("lead_ms", median(leads));
		f.verdict = verdict_of(first, n);
	});
}

/* How long two on two streams take together, in times of one: 1 = beside each other, 2 = in turn.
 */
static void together(const std::string &name, const giving &one, const giving &two)
{
	measure("together:" + name, [&](fact &f) {
		std::vector<double> alone, both;
		unsigned n = repeats();
		timing t;
		for (unsigned i = 0; i < n; i++) {
			alone.push_back(std::max(alone_ms(t, one), alone_ms(t, two)));
			shut(own);
			TRY(cudaStreamWaitEvent(other, gate_event, 0));
			give_timed(t, 0, own, one);
			give_timed(t, 1, other, two);
			let_go();
			both.push_back(std::max(ms_between(t.from[0], t.to[0]),
			                        ms_between(t.from[0], t.to[1])));
		}
		char text[32];
		snprintf(text, sizeof(text), "%.2f", median(both) / median(alone));
		f.verdict = text;
		f.figure("longer_alone_ms", median(alone));
		f.figure("both_ms", median(both));
	});
}

/* Between two events around it, on a stream that was idle for some ms (us), and behind a gate,
 * where all of it was queued when it began (queued_us). */
static void takes(const std::string &name, const giving &give)
{
	measure("takes:" + name, [&](fact &f) {
		std::vector<double> idle, queued;
		unsigned n = repeats();
		timing t;
		alone_ms(t, give); /* its first call may load something */
		for (unsigned i = 0; i < n; i++) {
			usleep(3000); /* a copy engine sleeps by then */
			idle.push_back(1000 * alone_ms(t, give));
			shut(own);
			give_timed(t, 0, own, give);
			let_go();
			queued.push_back(1000 * ms_between(t.from[0], t.to[0]));
		}
		char text[32];
		snprintf(text, sizeof(text), "%.1f", median(idle));
		f.verdict = text;
		f.figure("us", median(idle));
		f.figure("queued_us", median(queued));
	});
}

/* ---- how many calls does a stream take? ---- */

/* `give` is made again and again behind a gate: the number of the first call that waits. */
static void queue(const std::string &name, const doing &give)
{
	measure("queue:" + name, [&](fact &f) {
		std::vector<double> taken;
		unsigned unclear = 0, waited = 0, n = std::min<unsigned>(repeats(), QUEUE_ROUNDS);
		for (unsigned i = 0; i < 8; i++)
			give(); /* what is made at the first calls */
		for (unsigned i = 0; i < n; i++) {
			TRY(cudaDeviceSynchronize());
			shut(own, GATE_ONE, QUEUE_MS);
			TRY(cudaStreamWaitEvent(other, gate_event, 0));
			unsigned calls = 0;
			double ms = 0;
			for (; calls < CALLS_MOST && ms < WAITED_MS; calls++)
				ms = timed(give);
			bool waits = ms >= WAITED_MS;
			waited += waits;
			unclear += !waits && gate_is_open();
			taken.push_back(calls);
			let_go();
		}
		f.figure("calls", median(taken));
		f.figure("waited", waited);
		f.figure("of", n);
		char text[32];
		snprintf(text, sizeof(text), "%.0f", median(taken));
		f.verdict = unclear ? "unclear" : waited ? text : "none";
	});
}
