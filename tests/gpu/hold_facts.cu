/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hold_facts: which calls hold their caller, and which work waits for which, measured.
 *
 *     hold_facts [--only TEXT] [--repeats N] [--json FILE]
 *
 * One line a fact: "fact: NAME VERDICT figure=value ...". VERDICT is yes, no, a number, "mixed"
 * (tries differ), "unclear" (the call takes long by itself, or the gate was open too early) or
 * "error". Names begin with what is asked:
 *
 *  - hold: does the call return only when the work ahead has ended? call_ms: with a kernel of 20 ms
 *    running; alone_ms: without. ":behind_X" is the stream that the kernel is on. A call that takes
 *    no stream is on the legacy default stream; others are on a stream of the program's.
 *  - own_end: has a large copy or set ended when its call returns? all_ms: until it has.
 *  - waits: does the work wait for the kernel on the other stream?
 *  - read_at_call: is what the source held at the call what arrives, though it was changed since?
 *  - overtakes: does the short piece end before the long one that another stream began with?
 *  - together: the time of two at once, in times of the longer one alone.
 *  - takes: between two events around it, us; queued_us: where it was queued when it began.
 *  - queue: the number of the first call that waits for a place; none: 5000 did not.
 *  - query: what a query says.
 *
 * A line "skip: ..." and status 77: there is no GPU. One fact's error does not stop the others.
 */
#include "hold_facts.h"
#include "hold_facts_ways.h"
#include "hold_facts_copies.h"
#include "hold_facts_order.h"
#include "hold_facts_calls.h"
#include <csignal>
#include <ctime>

static std::vector<std::pair<std::string, std::string>> header;

static std::string kernel_driver()
{
	char line[256] = "unknown";
	FILE *f = fopen("/proc/driver/nvidia/version", "r");

	if (f && fgets(line, sizeof(line), f))
		line[strcspn(line, "\n")] = 0;
	if (f)
		fclose(f);
	return line;
}

static std::string now()
{
	char text[32];
	time_t t = time(nullptr);

	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", gmtime(&t));
	return text;
}

static void describe()
{
	cudaDeviceProp properties;
	int driver = 0, runtime = 0;

	TRY(cudaGetDeviceProperties(&properties, 0));
	TRY(cudaDriverGetVersion(&driver));
	TRY(cudaRuntimeGetVersion(&runtime));
	header = {{"device", properties.name},
	          {"driver", std::to_string(driver)},
	          {"kernel_driver", kernel_driver()},
	          {"runtime", std::to_string(runtime)},
	          {"date", now()}};
	for (const auto &h : header)
		printf("%s: %s\n", h.first.c_str(), h.second.c_str());
	full_blocks = (unsigned)properties.multiProcessorCount *
	              (unsigned)std::max(1, properties.maxThreadsPerMultiProcessor / 1024);
}

static void make_streams()
{
	void *p;

	TRY(cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking));
	TRY(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
	TRY(cudaStreamCreate(&blocking));
	TRY(cudaStreamCreate(&blocking2));
	TRY(cudaEventCreateWithFlags(&gate_event, cudaEventDisableTiming));
	TRY(cudaEventCreateWithFlags(&mark_event, cudaEventDisableTiming));
	TRY(cudaHostAlloc(&p, 4096, cudaHostAllocMapped));
	memset(p, 0, 4096);
	flags = (volatile unsigned *)p;
}

/* What is loaded at the first launches is no fact. */
static void warm_up()
{
	for (cudaStream_t stream :
	     {own, other, blocking, blocking2, cudaStreamLegacy, cudaStreamPerThread}) {
		give_spin(stream);
		give_tell(stream);
		TRY(cudaMemsetAsync(to[DEVICE], 0, 4, stream));
		shut(stream);
		let_go();
	}
	shut(own, GATE_FULL);
	let_go();
	shut(own, GATE_HOST_FUNCTION);
	let_go();
}

/* All facts; a group that cannot be set up at all is one error. */
static void group(const char *name, const doing &body)
{
	try {
		body();
	} catch (const failed &e) {
		facts.push_back({std::string("group:") + name, "error", e.what, {}});
		say(facts.back());
	}
}

static void all_facts()
{
	group("syncs", facts_syncs);
	group("pageable", facts_pageable);
	group("pinned", facts_pinned);
	group("managed", facts_managed);
	group("other_copies", facts_other_copies);
	group("copies_within", facts_copies_within);
	group("sets", facts_sets);
	group("read_at_call", facts_read_at_call);
	group("legacy", facts_legacy);
	group("host_functions", facts_host_functions);
	group("host_function_gaps", facts_host_function_gaps);
	group("front_end", facts_front_end);
	group("engines", facts_engines);
	group("memory", facts_memory);
	group("ordered", facts_ordered);
	group("modules", facts_modules);
	group("objects", facts_objects);
	group("queues", facts_queues);
	group("big", [] {
		big_buffers b;
		facts_own_ends(b);
		facts_overlap(b);
	});
}

static std::string quoted(const std::string &text)
{
	std::string out = "\"";

	for (char c : text) {
		if (c == '"' || c == '\\')
			out += '\\';
		out += (unsigned char)c < ' ' ? ' ' : c;
	}
	return out + "\"";
}

static bool write_json(const char *path)
{
	FILE *out = fopen(path, "w");

	if (!out)
		return false;
	fprintf(out, "{\n \"schema\": \"cudaspy.hold_facts/1\"");
	for (const auto &h : header)
		fprintf(out, ",\n %s: %s", quoted(h.first).c_str(), quoted(h.second).c_str());
	fprintf(out, ",\n \"facts\": [");
	for (size_t i = 0; i < facts.size(); i++) {
		const fact &f = facts[i];
		fprintf(out, "%s\n  {\"name\": %s, \"verdict\": %s", i ? "," : "",
		        quoted(f.name).c_str(), quoted(f.verdict).c_str());
		for (const auto &figure : f.figures)
			fprintf(out, ", %s: %.6g", quoted(figure.first).c_str(), figure.second);
		if (!f.error.empty())
			fprintf(out, ", \"error\": %s", quoted(f.error).c_str());
		fprintf(out, "}");
	}
	fprintf(out, "\n ]\n}\n");
	bool written = !ferror(out);
	return fclose(out) == 0 && written;
}

int main(int argc, char **argv)
{
	const char *json = nullptr;
	int devices = 0;

	for (int i = 1; i < argc; i++) {
		std::string option = argv[i];
		const char *value = i + 1 < argc ? argv[++i] : nullptr;
		if (option == "--json" && value)
			json = value;
		else if (option == "--only" && value)
			only = value;
		else if (option == "--repeats" && value && atoi(value) > 0)
			repeats_asked = (unsigned)atoi(value);
		else {
			fprintf(stderr,
			        "usage: hold_facts [--only TEXT] [--repeats N] [--json FILE]\n");
			return 2;
		}
	}
	cudaError_t rc = cudaGetDeviceCount(&devices);
	if (rc != cudaSuccess || !devices) {
		printf("skip: no GPU: %s\n",
		       rc == cudaSuccess ? "there are 0" : cudaGetErrorString(rc));
		return 77;
	}
	alarm(KILLED_AFTER); /* what no gate's end lets go */
	try {
		TRY(cudaSetDevice(0));
		describe();
		make_streams();
		make_buffers();
		warm_up();
	} catch (const failed &e) {
		fprintf(stderr, "hold_facts: %s\n", e.what.c_str());
		return 1;
	}
	all_facts();
	if (json && !write_json(json)) {
		perror(json);
		return 1;
	}
	return 0;
}
