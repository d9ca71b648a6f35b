/* SPDX-License-Identifier: Apache-2.0 */
#include "report/analysis/findings/findings.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/alloc.h"
#include "report/analysis/findings/findings_internal.h"
#include "report/analysis/whatif/whatif.h"

const char *const finding_severities[] = {
        [SEVERITY_INFO] = "info",
        [SEVERITY_LOW] = "low",
        [SEVERITY_MEDIUM] = "medium",
        [SEVERITY_HIGH] = "high",
};

#define WAIT_CALLS   FINDING_KIND(SITE_WAIT)
#define LAUNCH_CALLS FINDING_KIND(SITE_LAUNCH)
#define COPY_CALLS   FINDING_KIND(SITE_COPY)
#define ALLOC_CALLS  FINDING_KIND(SITE_ALLOC)
#define MODULE_CALLS FINDING_KIND(SITE_MODULE)
#define GRAPH_CALLS  FINDING_KIND(SITE_GRAPH)
#define NO_LINE      LINE(0, BY_API, ALL_OF_THEM)
/* clang-format off */
#define LINE(kinds, measure, only) {kinds, measure, only}
/* clang-format on */

/* cuda_samples/README.md has a sample for each. */
static const struct known {
	const char *id;
	finder *find;
	const char *title, *cuda, *pytorch;
	const char *brief_cuda, *brief_pytorch; /* the same in a few words, for a line */
	enum whatif change;                     /* what predicts its gain; WHATIFS = nothing does */
	enum verdict_class cls;                 /* see struct finding */
	struct finding_calls calls;             /* that its line of code makes */
} known[] = {
        {"sync-too-early", detect_sync_too_early,
         "The host waits, then works outside CUDA, and only then gives the GPU more work",
         "launch the next step first and wait where the result is needed: cudaEventRecord after "
         "the step, cudaEventSynchronize a step later",
         "prepare and launch the next batch before .item() or .cpu(); copy with "
         "non_blocking=True and wait for a torch.cuda.Event",
         "launch the next step, then wait for this one",
         "launch the next batch before .item() or .cpu()", WHATIF_NO_SYNC, VERDICT_SYNC,
         LINE(WAIT_CALLS, BY_API, ALL_OF_THEM)},
        {"device-sync-for-stream", detect_device_sync,
         "cudaDeviceSynchronize waits for streams whose work is not needed yet",
         "cudaStreamSynchronize or cudaEventSynchronize of the stream whose result is needed",
         "stream.synchronize() or event.synchronize(), not torch.cuda.synchronize()",
         "wait for one stream or event, not for the device",
         "stream.synchronize(), not torch.cuda.synchronize()", WHATIFS, VERDICT_SYNC,
         LINE(WAIT_CALLS, BY_API, THAT_WAIT_FOR_ALL)},
        {"implicit-sync", detect_implicit_sync, "Calls wait for the GPU that are not named so",
         "cudaMemcpyAsync to pinned memory and one wait where the data is needed; "
         "cudaFreeAsync, or free outside of the loop",
         "non_blocking=True with pinned memory; keep results on the device, fetch them rarely",
         "cudaMemcpyAsync with pinned memory, cudaFreeAsync",
         "non_blocking=True with pinned memory; fetch rarely", WHATIF_NO_SYNC, VERDICT_SYNC,
         LINE(COPY_CALLS | ALLOC_CALLS | MODULE_CALLS, BY_API, ALL_OF_THEM)},
        {"legacy-stream-serializes", detect_legacy_stream,
         "Work in the legacy default stream makes other streams take turns",
         "make streams with cudaStreamNonBlocking, or compile with "
         "--default-stream per-thread",
         "do all work of the loop in streams of your own (torch.cuda.stream), none in the "
         "default one",
         "streams made with cudaStreamNonBlocking", "no work of the loop in the default stream",
         WHATIFS, VERDICT_CLASSES, NO_LINE},
        {"host-starves-gpu", detect_host_starves_gpu,
         "The host works outside CUDA while the GPU has nothing to do",
         "do that work once, in another thread, or while the GPU works: launch first",
         "DataLoader with num_workers, pin_memory=True, prefetch_factor and "
         "persistent_workers=True; profile the Python code (py-spy)",
         "do the host's work once, or while the GPU works",
         "less Python a step (py-spy shows it); DataLoader workers", WHATIF_HOST, VERDICT_HOST,
         NO_LINE},
        {"polling", detect_polling, "The host asks again and again whether work is done",
         "cudaStreamSynchronize, or cudaEventSynchronize of an event made with "
         "cudaEventBlockingSync; or ask less often",
         "event.synchronize() or stream.synchronize(), not a loop over query()",
         "cudaStreamSynchronize, not a loop of queries",
         "event.synchronize(), not a loop over query()", WHATIFS, VERDICT_SYNC, NO_LINE},
        {"exposed-communication", detect_exposed_communication,
         "The GPU communicates and computes nothing meanwhile",
         "start each collective as soon as its data is ready, in a stream of its own, beside the "
         "kernels that follow",
         "DistributedDataParallel (gradient_as_bucket_view=True, bucket_cap_mb) or FSDP with "
         "prefetch; no_sync() while gradients accumulate",
         "start collectives early, beside kernels",
         "overlap: DDP buckets, FSDP prefetch, no_sync()", WHATIFS, VERDICT_COMM,
         LINE(LAUNCH_CALLS, BY_GPU, THAT_COMMUNICATES)},
        {"low-occupancy", detect_low_occupancy,
         "A kernel that takes much of the GPU's time keeps few warps on it",
         "other block sizes (cudaOccupancyMaxPotentialBlockSize), less shared memory, "
         "__launch_bounds__ against registers; ncu tells whether it helps",
         "another implementation of the operator, torch.compile(mode=\"max-autotune\")",
         "other block sizes or less shared memory; ask ncu",
         "another operator; torch.compile max-autotune", WHATIFS, VERDICT_CLASSES,
         LINE(LAUNCH_CALLS, BY_GPU, OF_ITS_KERNEL)},
        {"dominant-kernel", detect_dominant_kernel, "One kernel takes most of the GPU's time",
         "begin with this kernel: ncu tells what limits it",
         "another implementation of the operator, lower precision, torch.compile",
         "make one kernel faster; ask ncu what limits it",
         "another operator, lower precision, torch.compile", WHATIF_KERNEL, VERDICT_CLASSES,
         LINE(LAUNCH_CALLS, BY_GPU, OF_ITS_KERNEL)},
        {"failed-calls", detect_failed_calls, "CUDA calls fail",
         "check what each call returns; run under compute-sanitizer to see where",
         "run with CUDA_LAUNCH_BLOCKING=1 to see where",
         "check what calls return; run compute-sanitizer",
         "CUDA_LAUNCH_BLOCKING=1 shows where calls fail", WHATIFS, VERDICT_CLASSES, NO_LINE},
        {"many-short-launches", detect_many_short_launches,
         "The host launches short kernels for longer than they run",
         "capture the repeated launches once (cudaStreamBeginCapture) and replay them with "
         "cudaGraphLaunch; or fuse or batch them",
         "torch.compile(mode=\"reduce-overhead\"), torch.cuda.make_graphed_callables or "
         "torch.cuda.graph around the whole step (optimizer with capturable=True); fused "
         "optimizers (fused=True), larger batches. JAX: jax.jit around the whole step, lax.scan",
         "CUDA graphs; fuse or batch the kernels",
         "CUDA graphs: torch.compile reduce-overhead, jax.jit", WHATIF_GRAPHS, VERDICT_LAUNCH,
         LINE(LAUNCH_CALLS, BY_API, ALL_OF_THEM)},
        {"launch-queue-full", detect_launch_queue_full,
         "Launching waits for the GPU: the launch queue is full",
         "nothing on the host: these launches are no overhead. Make the kernels faster",
         "nothing on the host: look at the kernels", "nothing on the host; faster kernels",
         "nothing on the host; faster kernels", WHATIFS, VERDICT_CLASSES,
         LINE(LAUNCH_CALLS, BY_API, ALL_OF_THEM)},
        {"launch-contention", detect_launch_contention, "Launches wait for one another",
         "launch from one thread, or give each thread a graph to launch",
         "one Python thread (or process) a GPU; CUDA graphs",
         "launch from one thread, or a graph for each thread",
         "one Python thread or process a GPU; CUDA graphs", WHATIFS, VERDICT_LAUNCH,
         LINE(LAUNCH_CALLS, BY_API, ALL_OF_THEM)},
        {"host-starved-of-cpu", detect_host_starved_of_cpu,
         "Threads that give the GPU its work wait for a CPU to run on",
         "more cores or a larger quota (taskset, cpuset, cpu.max, requests and limits of a job); "
         "else fewer threads that compute or spin (OMP_NUM_THREADS, OMP_WAIT_POLICY=passive), and "
         "other cores for them than for the thread that launches",
         "no more DataLoader workers and intra-op threads (torch.set_num_threads, OMP_NUM_THREADS) "
         "of all ranks together than cores; --cpus-per-task, --cpuset-cpus or resources.limits.cpu "
         "for more",
         "more cores, or fewer threads that compute or spin",
         "more cores; fewer workers, a lower OMP_NUM_THREADS", WHATIF_CPU, VERDICT_HOST, NO_LINE},
        {"sync-every-step", detect_sync_every_step,
         "The host waits for the GPU at every step, and only then gives it more work",
         "wait once every few steps, or for an event of the step before (cudaEventSynchronize)",
         "no .item(), .cpu() or print of a tensor in the loop; add losses up on the device",
         "wait every few steps, or for the step before",
         "no .item(), .cpu() or print of a tensor in the loop", WHATIF_NO_SYNC, VERDICT_SYNC,
         LINE(WAIT_CALLS, BY_API, ALL_OF_THEM)},
        {"pageable-async-copy", detect_pageable_async_copy,
         "Asynchronous copies of pageable memory: the host stages them, and waits",
         "allocate the host's side with cudaMallocHost, or pin it once with cudaHostRegister",
         "DataLoader(pin_memory=True) or tensor.pin_memory(), then .to(device, "
         "non_blocking=True)",
         "pin the host's memory (cudaMallocHost)", "pin_memory=True, then .to(non_blocking=True)",
         WHATIF_PINNED, VERDICT_COPY, LINE(COPY_CALLS, BY_PAGEABLE, ALL_OF_THEM)},
        {"many-small-copies", detect_many_small_copies, "Many small copies, one after the other",
         "pack them into one pinned buffer and send that with one cudaMemcpyAsync; or let a "
         "kernel gather",
         "torch.cat or torch.stack on the host, then one .to(device)",
         "pack small copies into one pinned buffer",
         "torch.cat or torch.stack on the host, one .to()", WHATIFS, VERDICT_COPY,
         LINE(COPY_CALLS, BY_COUNT, ALL_OF_THEM)},
        {"copy-not-overlapped", detect_copy_not_overlapped,
         "Copies run alone that could run beside kernels or other copies",
         "give copies a stream of their own (cudaStreamNonBlocking), two or more buffers, and "
         "order by cudaEventRecord and cudaStreamWaitEvent",
         "copy the next batch in a torch.cuda.Stream() with non_blocking=True while this one is "
         "worked on",
         "copies in a stream of their own, two buffers",
         "copy the next batch in a torch.cuda.Stream()", WHATIF_OVERLAP, VERDICT_COPY,
         LINE(COPY_CALLS, BY_GPU, ALL_OF_THEM)},
        {"low-bandwidth-copy", detect_low_bandwidth_copy,
         "Copies reach a fraction of the bandwidth",
         "pack rows on the device by a kernel and copy one piece; avoid cudaMemcpy2D of narrow "
         "rows",
         "tensor.contiguous() on the device before .cpu() or .to()",
         "pack rows on the device, copy one piece", "tensor.contiguous() before .cpu() or .to()",
         WHATIFS, VERDICT_COPY, LINE(COPY_CALLS, BY_API, ALL_OF_THEM)},
        {"copy-back-and-forth", detect_copy_back_and_forth,
         "The same memory goes to the host and back",
         "do on the device, by a small kernel, what the host does with it",
         "keep the tensor on the device: no .cpu() or .numpy() in between",
         "do the host's part of it by a small kernel",
         "keep the tensor on the device, no .cpu() between", WHATIFS, VERDICT_COPY,
         LINE(COPY_CALLS, BY_API, ALL_OF_THEM)},
        {"alloc-churn", detect_alloc_churn, "Memory is allocated and freed over and over",
         "allocate once and use the buffers again, or cudaMallocAsync from a pool with a "
         "release threshold (cudaMemPoolSetAttribute)",
         "leave the caching allocator on, no torch.cuda.empty_cache() in the loop; out= "
         "arguments",
         "allocate once, or cudaMallocAsync from a pool",
         "no torch.cuda.empty_cache() in the loop; out=", WHATIF_NO_ALLOC, VERDICT_ALLOC,
         LINE(ALLOC_CALLS, BY_API, ALL_OF_THEM)},
        {"memory-growth", detect_memory_growth, "Device memory grows without end",
         "free what a step allocated (cudaFree), or use one buffer for all steps",
         "keep no tensors with their graphs over steps: loss.item() or .detach() before adding "
         "up",
         "free what each step allocates", "loss.item() or .detach() before adding up", WHATIFS,
         VERDICT_CLASSES, LINE(ALLOC_CALLS, BY_API, ALL_OF_THEM)},
        {"module-load-in-loop", detect_module_load_in_loop,
         "Code is loaded or compiled in the steady state",
         "load modules once (cuModuleLoadData, cuLibraryLoadData) and keep their functions; "
         "ship SASS for this GPU, so that nothing is compiled",
         "torch.compile(dynamic=True), fixed shapes, and a warm Triton cache: no recompilation",
         "load modules once; ship code for this GPU",
         "fixed shapes or dynamic=True; keep Triton's cache", WHATIF_NO_ALLOC, VERDICT_ALLOC,
         LINE(MODULE_CALLS, BY_API, ALL_OF_THEM)},
        {"first-launch-cost", detect_first_launch_cost,
         "First launches of kernels load code in the steady state",
         "launch each kernel once before it counts, or set CUDA_MODULE_LOADING=EAGER",
         "warm up with every shape that will come, or set CUDA_MODULE_LOADING=EAGER",
         "launch each kernel once before the loop", "warm up with every shape that will come",
         WHATIFS, VERDICT_ALLOC, NO_LINE},
        {"graph-reinstantiated", detect_graph_reinstantiated,
         "Graphs are made or updated anew for each launch",
         "instantiate once (cudaGraphInstantiate) and launch it at every step, with parameters "
         "in device memory",
         "capture one torch.cuda.CUDAGraph and replay() it with static input tensors",
         "make the graph once, launch it at every step", "capture one CUDAGraph, then replay() it",
         WHATIF_NO_ALLOC, VERDICT_ALLOC, LINE(GRAPH_CALLS, BY_API, ALL_OF_THEM)},
        {"graph-instantiation-dominates", detect_graph_instantiation_dominates,
         "Making graphs takes the host longer than launching them",
         "keep the instantiated graph of each shape (cudaGraphExec_t) and launch it again when "
         "the shape comes again",
         "one torch.cuda.CUDAGraph for each padded batch size, captured before the loop",
         "keep the graph of each shape", "a CUDAGraph for each padded size, before the loop",
         WHATIF_NO_ALLOC, VERDICT_ALLOC, LINE(GRAPH_CALLS, BY_API, ALL_OF_THEM)},
        {"environment", detect_environment, "Something outside the program holds it up",
         "nvidia-smi -q shows clocks, power, processes and the link; a driver of the runtime's "
         "version or newer",
         "the same: nvidia-smi -q, and python -m torch.utils.collect_env",
         "see nvidia-smi -q: clocks, power, other processes",
         "see nvidia-smi -q: clocks, power, other processes", WHATIFS, VERDICT_CLASSES, NO_LINE},
};

/* Of verdicts. */
static const struct finding_calls class_calls[VERDICT_CLASSES] = {
        [VERDICT_LAUNCH] = LINE(LAUNCH_CALLS, BY_API, ALL_OF_THEM),
        [VERDICT_SYNC] = LINE(WAIT_CALLS, BY_API, ALL_OF_THEM),
        [VERDICT_COPY] = LINE(COPY_CALLS, BY_BOTH, ALL_OF_THEM),
        [VERDICT_ALLOC] = LINE(ALLOC_CALLS, BY_API, ALL_OF_THEM),
};
static const struct finding_calls reads = LINE(COPY_CALLS, BY_COUNT, THAT_BRING_BACK);

/* What of the window it would save, or is at stake. */
static double weight(const struct finding *f)
{
	return finding_known(isfinite(f->speedup) ? 1 - 1 / f->speedup : f->share);
}

static int by_severity(const void *a, const void *b)
{
	const struct finding *x = a, *y = b;
	double one = weight(x), two = weight(y);

	if (x->severity != y->severity)
		return x->severity < y->severity ? 1 : -1;
	return one < two ? 1 : one > two ? -1 : strcmp(x->id, y->id);
}

/* Exactly this name, as a regular expression (free it). */
static char *exactly(const char *name)
{
	size_t n = strlen(name);
	char *pattern = alloc_zeroed(2 * n + 3, 1), *to = pattern;

	*to++ = '^';
	for (size_t i = 0; i < n; i++) {
		if (strchr("\\^$.[]|()*+?{}", name[i]))
			*to++ = '\\';
		*to++ = name[i];
	}
	*to = '$';
	return pattern;
}

/* Of the host's time outside CUDA only so much is its own (whatif_hosts_own()). */
static void limit(struct finding *f, double share)
{
	double most = share < 1 ? 1 / (1 - share) : INFINITY, cut = fmin(1, most / f->speedup);

	f->speedup *= cut;
	f->speedup_low *= cut; /* it is as little known as before */
	f->speedup_high *= cut;
}

static void predict(struct whatifs *whatifs, const struct finding_context *context,
                    const struct known *k, struct finding *f)
{
	struct whatif_result r;
	char *pattern = k->change == WHATIF_KERNEL && f->kernel ? exactly(f->kernel) : NULL;

	if (k->change != WHATIFS && (k->change != WHATIF_KERNEL || pattern) &&
	    whatif_predict(whatifs, k->change, pattern, FINDING_FASTER, &r)) {
		f->speedup = r.speedup;
		f->speedup_low = r.speedup_low;
		f->speedup_high = r.speedup_high;
		if (k->change == WHATIF_HOST)
			limit(f, whatif_hosts_own(&context->graphs, &context->host));
		f->severity = finding_severity(f->speedup, NAN);
	}
	free(pattern);
}

void findings_make(struct findings *to, const struct model *m, const struct verdict *verdict,
                   struct whatifs *whatifs)
{
	struct finding_context context;

	*to = (struct findings){0};
	if (!m->process_count)
		return;
	finding_set(&context, m, verdict);
	whatif_predict(whatifs, WHATIF_GRAPHS, NULL, 1, &context.graphs);
	whatif_predict(whatifs, WHATIF_HOST, NULL, 1, &context.host);
	whatif_predict(whatifs, WHATIF_FUSED, NULL, 1, &context.fused);
	whatif_predict(whatifs, WHATIF_PINNED, NULL, 1, &context.pinned);
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		const struct known *k = &known[i];
		struct finding f = {.id = k->id,
		                    .title = k->title,
		                    .fix_cuda = k->cuda,
		                    .fix_pytorch = k->pytorch,
		                    .brief_cuda = k->brief_cuda,
		                    .brief_pytorch = k->brief_pytorch,
		                    .cls = k->cls,
		                    .change = k->change,
		                    .share = NAN,
		                    .place_share = NAN,
		                    .speedup = NAN,
		                    .speedup_low = NAN,
		                    .speedup_high = NAN};
		if (!k->find(&context, &f)) {
			free(f.evidence);
			continue;
		}
		predict(whatifs, &context, k, &f);
		if (!f.place)
			finding_find_site(&context, &k->calls, &f);
		ALLOC_ROOM(to->items, to->count);
		to->items[to->count++] = f;
	}
	to->of_class = alloc_zeroed(VERDICT_CLASSES, sizeof(*to->of_class));
	for (int i = 0; i < VERDICT_CLASSES; i++) {
		to->of_class[i].id = verdict_names[i];
		finding_find_site(&context, &class_calls[i], &to->of_class[i]);
	}
	/* XLA waits outside CUDA for what it reads: the copies that bring it are all there is. */
	if (!to->of_class[VERDICT_SYNC].place)
		finding_find_site(&context, &reads, &to->of_class[VERDICT_SYNC]);
	if (to->count)
		qsort(to->items, to->count, sizeof(*to->items), by_severity);
}

void findings_free(struct findings *f)
{
	for (size_t i = 0; i < f->count; i++)
		free(f->items[i].evidence);
	free(f->items);
	free(f->of_class);
	*f = (struct findings){0};
}
