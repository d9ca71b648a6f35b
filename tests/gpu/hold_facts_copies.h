/* SPDX-License-Identifier: Apache-2.0 */
/* Facts about copies and sets: which of them hold their caller. Included by hold_facts.cu alone. */
#pragma once

enum memory { DEVICE, MANAGED, PINNED, PAGEABLE, MEMORIES };

static const char *const memory_names[MEMORIES] = {"device", "managed", "pinned", "pageable"};
/* Of each: what is copied from, and what is copied to. */
static char *from[MEMORIES], *to[MEMORIES];

static const size_t sizes[] = {4,        KIB(4), KIB(64),    KIB(64) + 1, KIB(128), KIB(256),
                               KIB(512), MIB(1), MIB(1) + 1, MIB(2),      MIB(4),   MIB(16)};

static std::string copy_name(const char *call, memory dst, memory src, size_t bytes)
{
	return std::string(call) + ":" + memory_names[src] + "_to_" + memory_names[dst] + ":" +
	       std::to_string(bytes);
}

/* The blocking call, which is on the legacy default stream, with the gate on `busy`. */
static void hold_copy(memory dst, memory src, size_t bytes, cudaStream_t busy, const char *place)
{
	hold(copy_name("copy", dst, src, bytes) + ":behind_" + place, busy,
	     [=] { TRY(cudaMemcpy(to[dst], from[src], bytes, cudaMemcpyDefault)); });
}

static void hold_copy_everywhere(memory dst, memory src, size_t bytes)
{
	hold_copy(dst, src, bytes, cudaStreamLegacy, "legacy");
	hold_copy(dst, src, bytes, blocking, "blocking");
	hold_copy(dst, src, bytes, own, "non_blocking");
}

static void hold_copy_async(memory dst, memory src, size_t bytes)
{
	hold(copy_name("copy_async", dst, src, bytes) + ":behind_same", own,
	     [=] { TRY(cudaMemcpyAsync(to[dst], from[src], bytes, cudaMemcpyDefault, own)); });
}

static void make_buffers()
{
	for (char **side : {from, to}) {
		TRY(cudaMalloc((void **)&side[DEVICE], BUFFER_BYTES));
		TRY(cudaMallocManaged((void **)&side[MANAGED], BUFFER_BYTES, cudaMemAttachGlobal));
		TRY(cudaMallocHost((void **)&side[PINNED], BUFFER_BYTES));
		side[PAGEABLE] = (char *)malloc(BUFFER_BYTES);
		if (!side[PAGEABLE])
			throw failed{"malloc"};
		TRY(cudaMemset(side[DEVICE], 1, BUFFER_BYTES));
		TRY(cudaMemset(side[MANAGED], 1, BUFFER_BYTES));
		memset(side[PINNED], 1, BUFFER_BYTES);
		memset(side[PAGEABLE], 1, BUFFER_BYTES);
	}
	TRY(cudaDeviceSynchronize());
}

static void facts_pageable()
{
	for (size_t bytes : sizes)
		hold_copy_async(DEVICE, PAGEABLE, bytes);
	for (size_t bytes : sizes)
		hold_copy_async(PAGEABLE, DEVICE, bytes);
	for (size_t bytes : sizes)
		hold_copy(DEVICE, PAGEABLE, bytes, cudaStreamLegacy, "legacy");
	for (size_t bytes : sizes)
		hold_copy(PAGEABLE, DEVICE, bytes, cudaStreamLegacy, "legacy");
	for (size_t bytes : {KIB(64), MIB(1)}) {
		hold_copy(DEVICE, PAGEABLE, bytes, blocking, "blocking");
		hold_copy(PAGEABLE, DEVICE, bytes, blocking, "blocking");
		hold_copy(DEVICE, PAGEABLE, bytes, own, "non_blocking");
		hold_copy(PAGEABLE, DEVICE, bytes, own, "non_blocking");
		/* On a stream of its own, with a gate on another: nothing to wait for. */
		hold(copy_name("copy_async", DEVICE, PAGEABLE, bytes) + ":behind_other", own, [=] {
			TRY(cudaMemcpyAsync(to[DEVICE], from[PAGEABLE], bytes, cudaMemcpyDefault,
			                    other));
		});
		hold(copy_name("copy_async", PAGEABLE, DEVICE, bytes) + ":behind_other", own, [=] {
			TRY(cudaMemcpyAsync(to[PAGEABLE], from[DEVICE], bytes, cudaMemcpyDefault,
			                    other));
		});
	}
}

static void facts_pinned()
{
	for (size_t bytes : {(size_t)4, KIB(64), MIB(1), MIB(16)}) {
		hold_copy_async(DEVICE, PINNED, bytes);
		hold_copy_async(PINNED, DEVICE, bytes);
		hold_copy(DEVICE, PINNED, bytes, cudaStreamLegacy, "legacy");
		hold_copy(PINNED, DEVICE, bytes, cudaStreamLegacy, "legacy");
	}
	hold_copy(DEVICE, PINNED, KIB(64), blocking, "blocking");
	hold_copy(PINNED, DEVICE, KIB(64), blocking, "blocking");
	hold_copy(DEVICE, PINNED, KIB(64), own, "non_blocking");
	hold_copy(PINNED, DEVICE, KIB(64), own, "non_blocking");
}

static void facts_managed()
{
	static const memory pairs[][2] = {
	        {MANAGED, PAGEABLE}, {MANAGED, PINNED},   {MANAGED, MANAGED}, {DEVICE, MANAGED},
	        {MANAGED, DEVICE},   {PAGEABLE, MANAGED}, {PINNED, MANAGED}};

	for (const auto &pair : pairs)
		for (size_t bytes : {KIB(64), MIB(4)}) {
			hold_copy_everywhere(pair[0], pair[1], bytes);
			hold_copy_async(pair[0], pair[1], bytes);
		}
}

static void facts_other_copies()
{
	static const memory host_pairs[][2] = {
	        {PAGEABLE, PAGEABLE}, {PINNED, PINNED}, {PAGEABLE, PINNED}, {PINNED, PAGEABLE}};

	hold_copy(DEVICE, DEVICE, 4, cudaStreamLegacy, "legacy");
	hold_copy_everywhere(DEVICE, DEVICE, KIB(64));
	hold_copy(DEVICE, DEVICE, MIB(16), cudaStreamLegacy, "legacy");
	hold_copy_async(DEVICE, DEVICE, KIB(64));
	for (const auto &pair : host_pairs) {
		hold_copy(pair[0], pair[1], KIB(64), cudaStreamLegacy, "legacy");
		hold_copy_async(pair[0], pair[1], KIB(64));
	}
	hold_copy(PINNED, PINNED, KIB(64), own, "non_blocking");
}

/* By the call that names the direction (cuMemcpyDtoD), not the one that finds it out. */
static void facts_copies_within()
{
	static const memory pairs[][2] = {
	        {DEVICE, DEVICE}, {MANAGED, MANAGED}, {DEVICE, MANAGED}, {MANAGED, DEVICE}};

	for (const auto &pair : pairs) {
		void *dst = to[pair[0]], *src = from[pair[1]];
		doing copy = [=] { TRY(cudaMemcpy(dst, src, KIB(64), cudaMemcpyDeviceToDevice)); };
		hold(copy_name("copy_named", pair[0], pair[1], KIB(64)) + ":behind_legacy",
		     cudaStreamLegacy, copy);
		hold(copy_name("copy_named", pair[0], pair[1], KIB(64)) + ":behind_blocking",
		     blocking, copy);
		hold(copy_name("copy_named_async", pair[0], pair[1], KIB(64)) + ":behind_same", own,
		     [=] {
			     TRY(cudaMemcpyAsync(dst, src, KIB(64), cudaMemcpyDeviceToDevice, own));
		     });
	}
}

static void facts_sets()
{
	for (memory m : {DEVICE, MANAGED, PINNED})
		for (size_t bytes : {(size_t)4, MIB(1)}) {
			std::string what =
			        std::string(memory_names[m]) + ":" + std::to_string(bytes);
			doing set = [=] { TRY(cudaMemset(to[m], 0, bytes)); };
			hold("set:" + what + ":behind_legacy", cudaStreamLegacy, set);
			hold("set:" + what + ":behind_blocking", blocking, set);
			hold("set:" + what + ":behind_non_blocking", own, set);
			hold("set_async:" + what + ":behind_same", own,
			     [=] { TRY(cudaMemsetAsync(to[m], 0, bytes, own)); });
		}
}

/* ---- has it ended when the call returns? ---- */

struct big_buffers {
	char *device[2] = {}, *managed[2] = {}, *pinned = nullptr, *pageable = nullptr;

	big_buffers()
	{
		for (int i = 0; i < 2; i++) {
			TRY(cudaMalloc((void **)&device[i], BIG_DEVICE_BYTES));
			TRY(cudaMallocManaged((void **)&managed[i], BIG_HOST_BYTES,
			                      cudaMemAttachGlobal));
			TRY(cudaMemset(managed[i], 1, BIG_HOST_BYTES));
			TRY(cudaMemset(device[i], 1, BIG_DEVICE_BYTES));
		}
		TRY(cudaMallocHost((void **)&pinned, BIG_HOST_BYTES));
		pageable = (char *)calloc(1, BIG_HOST_BYTES);
		if (!pageable)
			throw failed{"calloc"};
		memset(pageable, 1, BIG_HOST_BYTES);
	}
	~big_buffers()
	{
		for (int i = 0; i < 2; i++) {
			cudaFree(device[i]);
			cudaFree(managed[i]);
		}
		cudaFreeHost(pinned);
		free(pageable);
	}
};

static void end_of_copy(const char *name, void *dst, const void *src, size_t bytes)
{
	own_end(std::string("copy:") + name + ":" + std::to_string(bytes), cudaStreamLegacy,
	        [=] { TRY(cudaMemcpy(dst, src, bytes, cudaMemcpyDefault)); });
}

static void end_of_copy_async(const char *name, void *dst, const void *src, size_t bytes)
{
	own_end(std::string("copy_async:") + name + ":" + std::to_string(bytes), own,
	        [=] { TRY(cudaMemcpyAsync(dst, src, bytes, cudaMemcpyDefault, own)); });
}

static void facts_own_ends(const big_buffers &b)
{
	/* 16 MiB that the host has to go through: nine times, each with its twin. */
	const size_t host = std::min(BIG_HOST_BYTES, MIB(32));

	end_of_copy("device_to_device", b.device[1], b.device[0], BIG_DEVICE_BYTES);
	end_of_copy("managed_to_managed", b.managed[1], b.managed[0], BIG_HOST_BYTES);
	end_of_copy("managed_to_device", b.device[1], b.managed[0], BIG_HOST_BYTES);
	end_of_copy("device_to_managed", b.managed[1], b.device[0], BIG_HOST_BYTES);
	end_of_copy("pinned_to_device", b.device[1], b.pinned, host);
	end_of_copy("device_to_pinned", b.pinned, b.device[0], host);
	end_of_copy("pinned_to_managed", b.managed[1], b.pinned, host);
	end_of_copy("managed_to_pinned", b.pinned, b.managed[0], host);
	end_of_copy("pageable_to_device", b.device[1], b.pageable, host);
	end_of_copy("device_to_pageable", b.pageable, b.device[0], host);
	end_of_copy("pageable_to_managed", b.managed[1], b.pageable, host);
	end_of_copy("managed_to_pageable", b.pageable, b.managed[0], host);
	end_of_copy_async("device_to_device", b.device[1], b.device[0], BIG_DEVICE_BYTES);
	end_of_copy_async("pinned_to_device", b.device[1], b.pinned, host);
	end_of_copy_async("device_to_pinned", b.pinned, b.device[0], host);
	end_of_copy_async("pageable_to_device", b.device[1], b.pageable, host);
	end_of_copy_async("pageable_to_device", b.device[1], b.pageable, MIB(1));
	end_of_copy_async("device_to_pageable", b.pageable, b.device[0], host);
	end_of_copy_async("managed_to_managed", b.managed[1], b.managed[0], BIG_HOST_BYTES);
	own_end("set:device:" + std::to_string(BIG_DEVICE_BYTES), cudaStreamLegacy,
	        [&] { TRY(cudaMemset(b.device[0], 0, BIG_DEVICE_BYTES)); });
	own_end("set:managed:" + std::to_string(BIG_HOST_BYTES), cudaStreamLegacy,
	        [&] { TRY(cudaMemset(b.managed[0], 0, BIG_HOST_BYTES)); });
	own_end("set:pinned:" + std::to_string(BIG_HOST_BYTES), cudaStreamLegacy,
	        [&] { TRY(cudaMemset(b.pinned, 0, BIG_HOST_BYTES)); });
}

/* ---- is its source read at the call? ---- */

/* The source is written anew when the call has returned, with a gate before the copy: which
 * value arrives? */
static void read_at_call(memory src, size_t bytes)
{
	static const char was = 0x11, is = 0x22;

	measure(copy_name("read_at_call", DEVICE, src, bytes), [=](fact &f) {
		std::vector<char> back(bytes);
		unsigned old = 0, torn = 0, held = 0, n = repeats();
		for (unsigned i = 0; i < n; i++) {
			memset(from[src], was, bytes);
			TRY(cudaMemset(to[DEVICE], 0, bytes));
			TRY(cudaDeviceSynchronize());
			shut(own);
			TRY(cudaMemcpyAsync(to[DEVICE], from[src], bytes, cudaMemcpyHostToDevice,
			                    own));
			held += gate_is_open();
			memset(from[src], is, bytes);
			let_go();
			TRY(cudaMemcpy(back.data(), to[DEVICE], bytes, cudaMemcpyDeviceToHost));
			size_t kept = (size_t)std::count(back.begin(), back.end(), was);
			old += kept == bytes;
			torn += kept != bytes && kept;
		}
		f.figure("old", old);
		f.figure("torn", torn);
		f.figure("of", n);
		f.figure("host_held", held);
		f.verdict = torn ? "mixed" : verdict_of(old, n);
	});
}

static void facts_read_at_call()
{
	for (memory src : {PINNED, PAGEABLE})
		for (size_t bytes : {(size_t)4, (size_t)64, KIB(1), (size_t)4095, KIB(4), KIB(8),
		                     KIB(16), KIB(24), KIB(32), KIB(48), KIB(64), KIB(64) + 1})
			read_at_call(src, bytes);
}
