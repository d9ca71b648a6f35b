/* SPDX-License-Identifier: Apache-2.0 */
/* Facts about streams: what waits for what, and what runs beside what. Included by hold_facts.cu
 * alone. */
#pragma once

static void give_spin(cudaStream_t stream)
{
	TRY(SAMPLE_LAUNCH(spin, 1, 1, 0, stream, 2u));
}

static void give_tell(cudaStream_t stream)
{
	TRY(SAMPLE_LAUNCH(tell, 1, 1, 0, stream, flags));
}

/* A kernel on `blocking2`, behind something on the legacy stream, with the gate on `busy`. */
static void order_through_legacy(const std::string &name, cudaStream_t busy, const doing &on_legacy,
                                 const doing &undo = {})
{
	order(
	        "kernel_on_blocking:" + name, busy, blocking2,
	        [=] {
		        also(on_legacy);
		        give_spin(blocking2);
	        },
	        GATE_ONE, false, {}, undo);
}

static void facts_legacy()
{
	static cudaEvent_t passed, between;
	static void *ordered;

	TRY(cudaEventCreateWithFlags(&passed, cudaEventDisableTiming));
	TRY(cudaEventCreateWithFlags(&between, cudaEventDisableTiming));
	TRY(cudaEventRecord(passed, other));
	/* The event itself. */
	order("event_on_legacy:behind_blocking", blocking, cudaStreamLegacy, [] {});
	order("event_on_legacy:behind_non_blocking", own, cudaStreamLegacy, [] {});
	order("event_on_legacy:behind_per_thread", cudaStreamPerThread, cudaStreamLegacy, [] {});
	order("event_on_blocking:behind_legacy", cudaStreamLegacy, blocking, [] {});
	order("event_on_non_blocking:behind_legacy", cudaStreamLegacy, own, [] {});
	order("event_on_blocking:behind_other_blocking", blocking, blocking2, [] {});
	/* Kernels. */
	order("kernel_on_same:behind_same", own, own, [] { give_spin(own); });
	order("kernel_on_non_blocking:behind_non_blocking", own, other, [] { give_spin(other); });
	order("kernel_on_blocking:behind_other_blocking", blocking, blocking2,
	      [] { give_spin(blocking2); });
	order("kernel_on_blocking:behind_legacy", cudaStreamLegacy, blocking,
	      [] { give_spin(blocking); });
	order("kernel_on_non_blocking:behind_legacy", cudaStreamLegacy, own,
	      [] { give_spin(own); });
	order("kernel_on_per_thread:behind_legacy", cudaStreamLegacy, cudaStreamPerThread,
	      [] { give_spin(cudaStreamPerThread); });
	order("kernel_on_per_thread:behind_blocking", blocking, cudaStreamPerThread,
	      [] { give_spin(cudaStreamPerThread); });
	order(
	        "kernel_on_legacy:behind_blocking", blocking, cudaStreamLegacy,
	        [] { give_tell(cudaStreamLegacy); }, GATE_ONE, true);
	order(
	        "kernel_on_legacy:behind_per_thread", cudaStreamPerThread, cudaStreamLegacy,
	        [] { give_tell(cudaStreamLegacy); }, GATE_ONE, true);
	order(
	        "kernel_on_legacy:behind_non_blocking", own, cudaStreamLegacy,
	        [] { give_tell(cudaStreamLegacy); }, GATE_ONE, true);
	/* What on the legacy stream stands between two blocking ones. */
	order_through_legacy("nothing_on_legacy:behind_blocking", blocking, {});
	order_through_legacy("event_on_legacy:behind_blocking", blocking,
	                     [] { TRY(cudaEventRecord(between, cudaStreamLegacy)); });
	order_through_legacy("wait_for_passed_event_on_legacy:behind_blocking", blocking,
	                     [] { TRY(cudaStreamWaitEvent(cudaStreamLegacy, passed, 0)); });
	order_through_legacy("wait_for_event_on_legacy:behind_non_blocking", own,
	                     [] { TRY(cudaStreamWaitEvent(cudaStreamLegacy, gate_event, 0)); });
	order_through_legacy("event_after_wait_on_legacy:behind_non_blocking", own, [] {
		TRY(cudaStreamWaitEvent(cudaStreamLegacy, gate_event, 0));
		TRY(cudaEventRecord(between, cudaStreamLegacy));
	});
	order_through_legacy("kernel_on_legacy:behind_blocking", blocking,
	                     [] { give_spin(cudaStreamLegacy); });
	order_through_legacy("set_on_legacy:behind_blocking", blocking,
	                     [] { TRY(cudaMemsetAsync(to[DEVICE], 0, 4, cudaStreamLegacy)); });
	order_through_legacy("small_copy_on_legacy:behind_blocking", blocking, [] {
		TRY(cudaMemcpyAsync(to[DEVICE], from[PINNED], 4, cudaMemcpyDefault,
		                    cudaStreamLegacy));
	});
	order_through_legacy(
	        "alloc_on_legacy:behind_blocking", blocking,
	        [] { TRY(cudaMallocAsync(&ordered, 4096, cudaStreamLegacy)); },
	        [] { TRY(cudaFreeAsync(ordered, cudaStreamLegacy)); });
	order_through_legacy("query_of_legacy:behind_blocking", blocking,
	                     [] { is_done("cudaStreamQuery", cudaStreamQuery(cudaStreamLegacy)); });
	/* Asked, the legacy stream speaks for those that it waits for? */
	measure("query:legacy_is_ready_while_blocking_is_busy", [](fact &f) {
		shut(blocking);
		f.verdict = is_done("cudaStreamQuery", cudaStreamQuery(cudaStreamLegacy)) ? "yes"
		                                                                          : "no";
		let_go();
	});
	measure("query:stream_is_ready_while_it_waits_for_an_event_only", [](fact &f) {
		shut(own);
		TRY(cudaStreamWaitEvent(other, gate_event, 0));
		f.verdict = is_done("cudaStreamQuery", cudaStreamQuery(other)) ? "yes" : "no";
		let_go();
	});
	TRY(cudaEventDestroy(passed));
	TRY(cudaEventDestroy(between));
}

static void facts_host_functions()
{
	order(
	        "kernel_on_same:behind_host_function", own, own, [] { give_spin(own); },
	        GATE_HOST_FUNCTION);
	order(
	        "kernel_on_other:behind_host_function", own, other, [] { give_spin(other); },
	        GATE_HOST_FUNCTION);
	order(
	        "host_function_on_other:behind_host_function", own, other,
	        [] {
		        TRY(cudaLaunchHostFunc(
		                other, [](void *) {}, nullptr));
	        },
	        GATE_HOST_FUNCTION);
	order("host_function_on_other:behind_kernel", own, other, [] {
		TRY(cudaLaunchHostFunc(
		        other, [](void *) {}, nullptr));
	});
	order(
	        "kernel_on_blocking:behind_host_function_on_legacy", cudaStreamLegacy, blocking,
	        [] { give_spin(blocking); }, GATE_HOST_FUNCTION);
	hold("host_function:behind_same", own, [] {
		TRY(cudaLaunchHostFunc(
		        own, [](void *) {}, nullptr));
	});
}

/* A host function between kernels: what the gap between the two is longer. */
static void facts_host_function_gaps()
{
	giving kernels = [](cudaStream_t s) {
		give_spin(s);
		give_spin(s);
	};
	giving with_one = [](cudaStream_t s) {
		give_spin(s);
		TRY(cudaLaunchHostFunc(
		        s, [](void *) {}, nullptr));
		give_spin(s);
	};
	giving with_two = [](cudaStream_t s) {
		give_spin(s);
		for (int i = 0; i < 2; i++)
			TRY(cudaLaunchHostFunc(
			        s, [](void *) {}, nullptr));
		give_spin(s);
	};

	takes("two_kernels", kernels);
	takes("two_kernels:host_function_between", with_one);
	takes("two_kernels:two_host_functions_between", with_two);
}

/* Does memory that a stream frees behind a gate keep another stream's allocation waiting? */
static void facts_ordered_order()
{
	static void *mine, *theirs;
	static unsigned same;

	order(
	        "kernel_behind_ordered_alloc:of_memory_freed_behind_the_gate", own, other,
	        [] {
		        TRY(cudaFreeAsync(mine, own));
		        TRY(cudaMallocAsync(&theirs, MIB(64), other));
		        same += theirs == mine;
		        give_spin(other);
	        },
	        GATE_ONE, false, [] { TRY(cudaMallocAsync(&mine, MIB(64), own)); },
	        [] { TRY(cudaFreeAsync(theirs, other)); },
	        [](fact &f) { f.figure("same_pointer_of_both", same); });
	order(
	        "kernel_behind_ordered_alloc:with_other_busy", own, other,
	        [] {
		        TRY(cudaMallocAsync(&theirs, MIB(64), other));
		        give_spin(other);
	        },
	        GATE_ONE, false, {}, [] { TRY(cudaFreeAsync(theirs, other)); });
}

/* ---- who does the work: a copy engine needs no place on the SMs ---- */

static void beside_full(const std::string &name, const doing &give)
{
	order(name + ":behind_all_sms_full", own, other, give, GATE_FULL);
}

static void copy_beside_full(memory dst, memory src, size_t bytes)
{
	beside_full(copy_name("copy_async", dst, src, bytes), [=] {
		TRY(cudaMemcpyAsync(to[dst], from[src], bytes, cudaMemcpyDefault, other));
	});
}

static void facts_engines()
{
	static const size_t steps[] = {4, 4095, KIB(4), KIB(64), MIB(1), MIB(16)};

	beside_full("kernel", [] { give_spin(other); });
	beside_full("event", [] {});
	for (size_t bytes : steps)
		copy_beside_full(DEVICE, DEVICE, bytes);
	for (size_t bytes : steps)
		copy_beside_full(DEVICE, PINNED, bytes);
	for (size_t bytes : steps)
		copy_beside_full(PINNED, DEVICE, bytes);
	for (size_t bytes : {(size_t)4, KIB(4), KIB(64), KIB(64) + 1, MIB(1)})
		copy_beside_full(DEVICE, PAGEABLE, bytes);
	for (size_t bytes : {(size_t)4, KIB(64)})
		copy_beside_full(PAGEABLE, DEVICE, bytes);
	copy_beside_full(MANAGED, MANAGED, MIB(1));
	copy_beside_full(MANAGED, PINNED, MIB(1));
	copy_beside_full(DEVICE, MANAGED, MIB(1));
	copy_beside_full(PINNED, PINNED, MIB(1));
	for (memory m : {DEVICE, MANAGED, PINNED})
		for (size_t bytes : {(size_t)4, MIB(1)})
			beside_full(std::string("set_async:") + memory_names[m] + ":" +
			                    std::to_string(bytes),
			            [=] { TRY(cudaMemsetAsync(to[m], 0, bytes, other)); });
	order("copy_async:device_to_device:65536:behind_kernel_of_another_stream", own, other, [] {
		TRY(cudaMemcpyAsync(to[DEVICE], from[DEVICE], KIB(64), cudaMemcpyDefault, other));
	});
}

/* Up to which size the front end makes a copy: where a copy engine does, which sleeps by then, it
 * takes some us longer. */
static void facts_front_end()
{
	static const size_t steps[] = {4,    256,  1024, 1536, 2048,  2560,   3072,
	                               3584, 4095, 4096, 8192, 16384, KIB(64)};

	takes("nothing", [](cudaStream_t) {});
	for (size_t bytes : steps) {
		takes(copy_name("copy_async", DEVICE, PINNED, bytes), [=](cudaStream_t s) {
			TRY(cudaMemcpyAsync(to[DEVICE], from[PINNED], bytes, cudaMemcpyDefault, s));
		});
		takes(copy_name("copy_async", DEVICE, PAGEABLE, bytes), [=](cudaStream_t s) {
			TRY(cudaMemcpyAsync(to[DEVICE], from[PAGEABLE], bytes, cudaMemcpyDefault,
			                    s));
		});
	}
	for (size_t bytes : {(size_t)4, KIB(4), KIB(4) + 4, KIB(16), KIB(64)})
		takes("set_async:device:" + std::to_string(bytes),
		      [=](cudaStream_t s) { TRY(cudaMemsetAsync(to[DEVICE], 0, bytes, s)); });
}

/* ---- copies beside copies ---- */

static giving copying(void *dst, const void *src, size_t bytes)
{
	return [=](cudaStream_t stream) {
		TRY(cudaMemcpyAsync(dst, src, bytes, cudaMemcpyDefault, stream));
	};
}

static void facts_overlap(const big_buffers &b)
{
	const giving big_in = copying(b.device[0], b.pinned, BIG_HOST_BYTES),
	             big_out = copying(b.pinned, b.device[0], BIG_HOST_BYTES),
	             big_within = copying(b.device[1], b.device[0], BIG_DEVICE_BYTES),
	             in = copying(to[DEVICE], from[PINNED], MIB(1)),
	             in_small = copying(to[DEVICE], from[PINNED], 4),
	             out = copying(to[PINNED], from[DEVICE], MIB(1)),
	             within = copying(to[DEVICE], from[DEVICE], MIB(1)),
	             mid_in = copying(to[DEVICE], from[PINNED], MIB(16)),
	             mid_in2 = copying(b.device[1], b.pinned, MIB(16)),
	             mid_out = copying(to[PINNED], from[DEVICE], MIB(16)),
	             mid_out2 = copying(b.pinned, b.device[1], MIB(16)),
	             within2 = copying(b.device[1], b.device[0], BIG_DEVICE_BYTES / 4),
	             within3 = copying(b.device[1] + BIG_DEVICE_BYTES / 2,
	                               b.device[0] + BIG_DEVICE_BYTES / 2, BIG_DEVICE_BYTES / 4);

	overtakes("in_1MiB:big_in", big_in, in);
	overtakes("in_4B:big_in", big_in, in_small);
	overtakes("out_1MiB:big_out", big_out, out);
	overtakes("out_1MiB:big_in", big_in, out);
	overtakes("in_1MiB:big_out", big_out, in);
	overtakes("within_1MiB:big_in", big_in, within);
	overtakes("within_1MiB:big_within", big_within, within);
	overtakes("in_1MiB:big_within", big_within, in);
	overtakes("out_1MiB:big_within", big_within, out);
	overtakes("kernel:big_within", big_within, [](cudaStream_t stream) { give_spin(stream); });
	together("in_and_in", mid_in, mid_in2);
	together("out_and_out", mid_out, mid_out2);
	together("in_and_out", mid_in, mid_out2);
	together("within_and_within", within2, within3);
}
