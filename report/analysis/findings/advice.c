/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The way out of each finding, in CUDA C and in the words of each framework: names that its
 * documentation has. The short ones have a line of the first screen.
 */
#include "report/analysis/findings/advice.h"

#include <string.h>

struct row {
	const char *id; /* of a finding, or of what a finding may turn out to be about */
	struct advice by[FRAMEWORKS]; /* of none: CUDA */
};

static const struct row rows[] = {
        {"sync-too-early",
         {[FRAMEWORK_NONE] = {"launch the next step first and wait where the result is needed: "
                              "cudaEventRecord after the step, cudaEventSynchronize a step later",
                              "launch the next step, then wait for this one"},
          [FRAMEWORK_PYTORCH] =
                  {"prepare and launch the next batch before .item() or .cpu(); copy with "
                   "non_blocking=True and wait for a torch.cuda.Event",
                   "launch the next batch before .item() or .cpu()"},
          [FRAMEWORK_JAX] =
                  {"call the jitted step for the next batch before float(), numpy.asarray() "
                   "or block_until_ready() of this one's result; result.copy_to_host_async() "
                   "begins its copy meanwhile",
                   "call the next step before reading this one's result"},
          [FRAMEWORK_CUPY] =
                  {"launch the next step, then read this one's result: array.get(stream=..., "
                   "out=..., blocking=False) to memory of cupyx.empty_pinned, and "
                   "event.synchronize() a step later",
                   "launch the next step, then .get() this one's result"},
          [FRAMEWORK_NUMBA] =
                  {"launch the next step, then wait for this one's: copy_to_host(ary, "
                   "stream=stream) to a cuda.pinned_array, and event.synchronize() of a "
                   "cuda.event() a step later",
                   "launch the next step, then copy_to_host() this one's"}}},
        {"device-sync-for-stream",
         {[FRAMEWORK_NONE] =
                  {"cudaStreamSynchronize or cudaEventSynchronize of the stream whose result "
                   "is needed",
                   "wait for one stream or event, not for the device"},
          [FRAMEWORK_PYTORCH] = {"stream.synchronize() or event.synchronize(), not "
                                 "torch.cuda.synchronize()",
                                 "stream.synchronize(), not torch.cuda.synchronize()"},
          [FRAMEWORK_JAX] = {"block_until_ready() of the one array that is needed, not of all",
                             "block_until_ready() of the one array that is needed"},
          [FRAMEWORK_CUPY] = {"stream.synchronize() or event.synchronize(), not "
                              "cupy.cuda.Device().synchronize()",
                              "stream.synchronize(), not Device().synchronize()"},
          [FRAMEWORK_NUMBA] =
                  {"stream.synchronize() or event.synchronize(), not cuda.synchronize()",
                   "stream.synchronize(), not cuda.synchronize()"}}},
        {"implicit-sync",
         {[FRAMEWORK_NONE] =
                  {"cudaMemcpyAsync to pinned memory and one wait where the data is needed; "
                   "cudaFreeAsync, or free outside of the loop",
                   "cudaMemcpyAsync with pinned memory, cudaFreeAsync"},
          [FRAMEWORK_PYTORCH] =
                  {"non_blocking=True with pinned memory; keep results on the device, fetch "
                   "them rarely",
                   "non_blocking=True with pinned memory; fetch rarely"},
          [FRAMEWORK_JAX] =
                  {"keep results on the device: no float(), numpy.asarray() or print of an "
                   "array in the loop; read them rarely, after copy_to_host_async()",
                   "keep results on the device, read them rarely"},
          [FRAMEWORK_CUPY] =
                  {"keep results on the device; fetch them rarely, by array.get(out=..., "
                   "blocking=False) to memory of cupyx.empty_pinned; leave the memory pool "
                   "on",
                   "keep results on the device; .get(out=pinned) rarely"},
          [FRAMEWORK_NUMBA] =
                  {"pass kernels device arrays alone (a NumPy array is copied there and back "
                   "at each call), made once; copy with stream= and cuda.pinned_array, and "
                   "rarely",
                   "device arrays made once; pinned_array and stream= to copy"}}},
        {"reads-outside-cuda",
         {[FRAMEWORK_NONE] = {"read results later, or rarely; launch what comes next first",
                              "read results later, or rarely"},
          [FRAMEWORK_JAX] =
                  {"no float(), numpy.asarray() or print of an array between jitted calls: keep "
                   "results on the device and read them later, or rarely; "
                   "copy_to_host_async() begins the copy",
                   "read results later, or rarely"}}},
        {"implicit-read", /* such calls copy results to the host */
         {[FRAMEWORK_NONE] = {"read results later, or rarely: cudaMemcpyAsync to pinned memory, "
                              "and one wait where the data is needed",
                              "read results rarely; cudaMemcpyAsync, pinned memory"},
          [FRAMEWORK_PYTORCH] =
                  {"keep results on the device, fetch them rarely; non_blocking=True to pinned "
                   "memory, and a torch.cuda.Event waited for before they are read",
                   "keep results on the device, fetch them rarely"},
          [FRAMEWORK_CUPY] = {"keep results on the device; fetch them rarely, by "
                              "array.get(out=..., blocking=False) to memory of "
                              "cupyx.empty_pinned",
                              "keep results on the device; .get(out=pinned) rarely"},
          [FRAMEWORK_NUMBA] =
                  {"keep results in device arrays, copy_to_host() rarely; with stream= and a "
                   "cuda.pinned_array it does not wait",
                   "results stay in device arrays; copy_to_host() rarely"}}},
        {"legacy-stream-serializes",
         {[FRAMEWORK_NONE] = {"make streams with cudaStreamNonBlocking, or compile with "
                              "--default-stream per-thread",
                              "streams made with cudaStreamNonBlocking"},
          [FRAMEWORK_PYTORCH] =
                  {"do all work of the loop in streams of your own (torch.cuda.stream), none "
                   "in the default one",
                   "no work of the loop in the default stream"},
          [FRAMEWORK_JAX] =
                  {"leave work in other streams to XLA; a library called beside it takes a "
                   "stream of its own that does not wait for the default one",
                   "no work of other libraries in the default stream"},
          [FRAMEWORK_CUPY] = {"do all work of the loop in streams of "
                              "cupy.cuda.Stream(non_blocking=True), none in the default one; "
                              "CUPY_CUDA_PER_THREAD_DEFAULT_STREAM=1",
                              "streams of cupy.cuda.Stream(non_blocking=True)"},
          [FRAMEWORK_NUMBA] =
                  {"give kernels and copies a stream of cuda.stream(), none the default one; "
                   "NUMBA_CUDA_PER_THREAD_DEFAULT_STREAM=1",
                   "kernels and copies in streams of cuda.stream()"}}},
        {"host-starves-gpu",
         {[FRAMEWORK_NONE] =
                  {"do that work once, in another thread, or while the GPU works: launch "
                   "first",
                   "do the host's work once, or while the GPU works"},
          [FRAMEWORK_PYTORCH] =
                  {"DataLoader with num_workers, pin_memory=True, prefetch_factor and "
                   "persistent_workers=True; profile the Python code (py-spy)",
                   "less Python a step (py-spy shows it); DataLoader workers"},
          [FRAMEWORK_JAX] =
                  {"do that work once, or in another thread that makes the next batch ready "
                   "and begins its jax.device_put; what NumPy does, in the jitted function; "
                   "profile the Python code (py-spy)",
                   "less Python a step (py-spy shows it), device_put ahead"},
          [FRAMEWORK_CUPY] =
                  {"do that work once, in another thread, or with CuPy on the device; launch "
                   "first, as kernels run meanwhile; profile the Python code (py-spy)",
                   "less Python a step (py-spy shows it), or do it in CuPy"},
          [FRAMEWORK_NUMBA] =
                  {"do that work once, in another thread, or in a kernel; launch first, as "
                   "kernels run meanwhile; fewer launches and arguments, each is Python; "
                   "profile it (py-spy)",
                   "less Python a step (py-spy shows it), or do it in a kernel"}}},
        {"host-work", /* the same where steps upload next to nothing: no loader, no device_put */
         {[FRAMEWORK_PYTORCH] =
                  {"do that work once, in another thread, or while the GPU works: launch "
                   "first; profile the Python code (py-spy)",
                   "less Python a step (py-spy shows it)"},
          [FRAMEWORK_JAX] =
                  {"do that work once, or in the jitted function; profile the Python code "
                   "(py-spy)",
                   "less Python a step (py-spy shows it), or do it in jit"}}},
        {"compiling",
         {[FRAMEWORK_NONE] = {"make that code once, before the loop: one kernel for all sizes, or "
                              "compiled kernels that are kept",
                              "compile once, before the loop"},
          [FRAMEWORK_PYTORCH] = {"fixed shapes, or torch.compile(dynamic=True): no recompilation",
                                 "fixed shapes, no recompilation in the loop"},
          [FRAMEWORK_JAX] = {"fixed shapes (pad), and what changes goes in as an array, not as a "
                             "static argument; jit a function once, outside the loop; "
                             "JAX_LOG_COMPILES=1 names what is compiled",
                             "fixed shapes, no static arguments that change"},
          [FRAMEWORK_CUPY] =
                  {"make kernels and cupy.fuse functions once, outside the loop, and call "
                   "each before it with every type that will come; CUPY_CACHE_DIR keeps them",
                   "make kernels once and call each before the loop"},
          [FRAMEWORK_NUMBA] =
                  {"@cuda.jit once, outside the loop, with a signature or a call with every "
                   "type before it; cache=True keeps them",
                   "@cuda.jit outside the loop; call each kernel before it"}}},
        {"polling",
         {[FRAMEWORK_NONE] =
                  {"cudaStreamSynchronize, or cudaEventSynchronize of an event made with "
                   "cudaEventBlockingSync; or ask less often",
                   "cudaStreamSynchronize, not a loop of queries"},
          [FRAMEWORK_PYTORCH] =
                  {"event.synchronize() or stream.synchronize(), not a loop over query()",
                   "event.synchronize(), not a loop over query()"},
          [FRAMEWORK_JAX] = {"block_until_ready() of the result, not a loop over is_ready()",
                             "block_until_ready(), not a loop over is_ready()"},
          [FRAMEWORK_CUPY] = {"event.synchronize() or stream.synchronize(), not a loop over .done",
                              "event.synchronize(), not a loop over .done"},
          [FRAMEWORK_NUMBA] =
                  {"event.synchronize() or stream.synchronize(), not a loop over query()",
                   "event.synchronize(), not a loop over query()"}}},
        {"exposed-communication",
         {[FRAMEWORK_NONE] =
                  {"start each collective as soon as its data is ready, in a stream of its "
                   "own, beside the kernels that follow",
                   "start collectives early, beside kernels"},
          [FRAMEWORK_PYTORCH] =
                  {"DistributedDataParallel (gradient_as_bucket_view=True, bucket_cap_mb) or "
                   "FSDP with prefetch; no_sync() while gradients accumulate",
                   "overlap: DDP buckets, FSDP prefetch, no_sync()"},
          [FRAMEWORK_JAX] = {"let XLA overlap it: shardings in one jitted step, "
                             "XLA_FLAGS=--xla_gpu_enable_latency_hiding_scheduler=true; fewer and "
                             "larger collectives",
                             "one jitted step, XLA's latency-hiding scheduler"},
          [FRAMEWORK_CUPY] =
                  {"issue each collective in a cupy.cuda.Stream of its own as soon as its "
                   "data is ready, ordered by events",
                   "collectives in a cupy.cuda.Stream of their own"},
          [FRAMEWORK_NUMBA] =
                  {"issue each collective in a stream of its own as soon as its data is "
                   "ready, ordered by events",
                   "collectives in a stream of their own"}}},
        {"low-occupancy",
         {[FRAMEWORK_NONE] =
                  {"other block sizes (cudaOccupancyMaxPotentialBlockSize), less shared "
                   "memory, __launch_bounds__ against registers; ncu tells whether it helps",
                   "other block sizes or less shared memory; ask ncu"},
          [FRAMEWORK_PYTORCH] = {"another implementation of the operator, "
                                 "torch.compile(mode=\"max-autotune\")",
                                 "another operator; torch.compile max-autotune"},
          [FRAMEWORK_JAX] = {"other shapes (larger batches, jax.vmap), so that XLA makes larger "
                             "kernels; another formulation of the operation",
                             "larger batches or jax.vmap; another formulation"},
          [FRAMEWORK_CUPY] = {"of kernels of your own other block sizes, less shared memory, "
                              "__launch_bounds__ against registers; else another function",
                              "other block sizes or less shared memory; ask ncu"},
          [FRAMEWORK_NUMBA] =
                  {"other block sizes, less cuda.shared.array, @cuda.jit(max_registers=...); "
                   "ncu tells whether it helps",
                   "other block sizes, max_registers=; ask ncu"}}},
        {"dominant-kernel",
         {[FRAMEWORK_NONE] = {"begin with this kernel: ncu tells what limits it",
                              "make one kernel faster; ask ncu what limits it"},
          [FRAMEWORK_PYTORCH] =
                  {"another implementation of the operator, lower precision, torch.compile",
                   "another operator, lower precision, torch.compile"},
          [FRAMEWORK_JAX] = {"lower precision (bfloat16, jax.default_matmul_precision), another "
                             "formulation; jax.profiler shows what the kernel computes",
                             "lower precision or another formulation"},
          [FRAMEWORK_CUPY] =
                  {"begin with this kernel: ncu tells what limits it; one of CuPy's own "
                   "(cupy_...) goes with its neighbours by cupy.fuse, and what computes in "
                   "float64 is faster in float32",
                   "make one kernel faster; ask ncu what limits it"},
          [FRAMEWORK_NUMBA] =
                  {"begin with this kernel: ncu tells what limits it; what computes in float64, "
                   "which a constant of Python's makes, is faster in float32, with fastmath=True",
                   "make one kernel faster; ask ncu what limits it"}}},
        {"failed-calls",
         {[FRAMEWORK_NONE] =
                  {"check what each call returns; run under compute-sanitizer to see where",
                   "check what calls return; run compute-sanitizer"},
          [FRAMEWORK_PYTORCH] = {"run with CUDA_LAUNCH_BLOCKING=1 to see where",
                                 "CUDA_LAUNCH_BLOCKING=1 shows where calls fail"},
          [FRAMEWORK_JAX] = {"run under compute-sanitizer, and with CUDA_LAUNCH_BLOCKING=1, to see "
                             "where",
                             "CUDA_LAUNCH_BLOCKING=1 shows where calls fail"},
          [FRAMEWORK_CUPY] =
                  {"run under compute-sanitizer, and with CUDA_LAUNCH_BLOCKING=1, to see "
                   "where",
                   "CUDA_LAUNCH_BLOCKING=1 shows where calls fail"},
          [FRAMEWORK_NUMBA] = {"@cuda.jit(debug=True, opt=False), NUMBA_CUDA_LOG_LEVEL=DEBUG, or "
                               "compute-sanitizer, to see where",
                               "@cuda.jit(debug=True, opt=False) shows where"}}},
        {"many-short-launches",
         {[FRAMEWORK_NONE] =
                  {"capture the repeated launches once (cudaStreamBeginCapture) and replay "
                   "them with cudaGraphLaunch; or fuse or batch them",
                   "CUDA graphs; fuse or batch the kernels"},
          [FRAMEWORK_PYTORCH] =
                  {"torch.compile(mode=\"reduce-overhead\"), which makes no graph of what "
                   "changes its inputs in place; "
                   "torch.cuda.make_graphed_callables or torch.cuda.graph around the whole "
                   "step (optimizer with capturable=True); fused optimizers (fused=True), "
                   "larger batches",
                   "CUDA graphs: torch.compile(mode=\"reduce-overhead\")"},
          [FRAMEWORK_JAX] = {"jax.jit around the whole step, with donated arguments; lax.scan over "
                             "several steps, with unroll where a round has few kernels, as XLA "
                             "launches those of a loop one by one; larger batches (jax.vmap)",
                             "jax.jit around the whole step; lax.scan with unroll"},
          [FRAMEWORK_CUPY] =
                  {"cupy.fuse or one ElementwiseKernel for several operations; "
                   "begin_capture() and end_capture() of a cupy.cuda.Stream around the step "
                   "once, then the graph's launch()",
                   "cupy.fuse, or begin_capture() of a cupy.cuda.Stream"},
          [FRAMEWORK_NUMBA] =
                  {"one kernel for several, with loops inside; larger batches; a "
                   "cuda.core.GraphBuilder as the kernels' stream where numba-cuda has it",
                   "one kernel for several; larger batches"}}},
        {"launch-queue-full",
         {[FRAMEWORK_NONE] =
                  {"nothing on the host: these launches are no overhead. Make the kernels "
                   "faster",
                   "nothing on the host; faster kernels"},
          [FRAMEWORK_PYTORCH] = {"nothing on the host: look at the kernels",
                                 "nothing on the host; faster kernels"},
          [FRAMEWORK_JAX] = {"nothing on the host: look at the kernels",
                             "nothing on the host; faster kernels"},
          [FRAMEWORK_CUPY] = {"nothing on the host: look at the kernels",
                              "nothing on the host; faster kernels"},
          [FRAMEWORK_NUMBA] = {"nothing on the host: look at the kernels",
                               "nothing on the host; faster kernels"}}},
        {"launch-contention",
         {[FRAMEWORK_NONE] = {"launch from one thread, or give each thread a graph to launch",
                              "launch from one thread, or a graph for each thread"},
          [FRAMEWORK_PYTORCH] = {"one Python thread (or process) a GPU; CUDA graphs",
                                 "one Python thread or process a GPU; CUDA graphs"},
          [FRAMEWORK_JAX] = {"call jitted functions of one device from one thread",
                             "call jitted functions of a device from one thread"},
          [FRAMEWORK_CUPY] = {"launch from one thread or process a GPU; a graph for each thread",
                              "one Python thread or process a GPU; CUDA graphs"},
          [FRAMEWORK_NUMBA] = {"launch from one thread or process a GPU; fewer and larger kernels",
                               "one Python thread or process a GPU; larger kernels"}}},
        {"host-starved-of-cpu",
         {[FRAMEWORK_NONE] =
                  {"more cores or a larger quota (taskset, cpuset, cpu.max, requests and "
                   "limits of a job); else fewer threads that compute or spin "
                   "(OMP_NUM_THREADS, OMP_WAIT_POLICY=passive), and other cores for them "
                   "than for the thread that launches",
                   "more cores, or fewer threads that compute or spin"},
          [FRAMEWORK_PYTORCH] =
                  {"no more DataLoader workers and intra-op threads (torch.set_num_threads, "
                   "OMP_NUM_THREADS) of all ranks together than cores; --cpus-per-task, "
                   "--cpuset-cpus or resources.limits.cpu for more",
                   "more cores; fewer workers, a lower OMP_NUM_THREADS"},
          [FRAMEWORK_JAX] = {"more cores or a larger quota (taskset, cpuset, cpu.max, requests and "
                             "limits of a job); else fewer threads that compute or spin beside it "
                             "(OMP_NUM_THREADS, OPENBLAS_NUM_THREADS)",
                             "more cores; fewer workers, a lower OMP_NUM_THREADS"},
          [FRAMEWORK_CUPY] =
                  {"more cores or a larger quota (taskset, cpuset, cpu.max, requests and "
                   "limits of a job); else fewer threads that compute or spin beside it "
                   "(OMP_NUM_THREADS, OPENBLAS_NUM_THREADS)",
                   "more cores; fewer workers, a lower OMP_NUM_THREADS"},
          [FRAMEWORK_NUMBA] =
                  {"more cores or a larger quota (taskset, cpuset, cpu.max, requests and "
                   "limits of a job); else fewer threads that compute or spin beside it "
                   "(OMP_NUM_THREADS, NUMBA_NUM_THREADS)",
                   "more cores; fewer threads (NUMBA_NUM_THREADS)"}}},
        {"sync-every-step",
         {[FRAMEWORK_NONE] = {"wait once every few steps, or for an event of the step before "
                              "(cudaEventSynchronize)",
                              "wait every few steps, or for the step before"},
          [FRAMEWORK_PYTORCH] =
                  {"no .item(), .cpu() or print of a tensor in the loop; add losses up on "
                   "the device",
                   "no .item(), .cpu() or print of a tensor in the loop"},
          [FRAMEWORK_JAX] =
                  {"no float(), numpy.asarray(), block_until_ready() or print of an array in "
                   "the loop; add losses up on the device, or lax.scan over steps",
                   "no float(), block_until_ready() or print in the loop"},
          [FRAMEWORK_CUPY] =
                  {"no .get(), .item(), float() or print of an array in the loop; add up on "
                   "the device",
                   "no .get(), .item() or print of an array in the loop"},
          [FRAMEWORK_NUMBA] = {"no copy_to_host() or cuda.synchronize() in the loop; add up on the "
                               "device, read once every few steps",
                               "no copy_to_host() or synchronize() in each step"}}},
        {"pageable-async-copy",
         {[FRAMEWORK_NONE] = {"allocate the host's side with cudaMallocHost, or pin it once with "
                              "cudaHostRegister",
                              "pin the host's memory (cudaMallocHost)"},
          [FRAMEWORK_PYTORCH] =
                  {"DataLoader(pin_memory=True) or tensor.pin_memory(), then .to(device, "
                   "non_blocking=True)",
                   "pin_memory=True, then .to(non_blocking=True)"},
          [FRAMEWORK_JAX] =
                  {"begin the next batch's jax.device_put while this one is worked on; keep "
                   "what comes again on the device",
                   "jax.device_put of the next batch ahead of its step"},
          [FRAMEWORK_CUPY] = {"make the host's arrays by cupyx.empty_pinned or zeros_pinned; then "
                              "array.set(host, stream=...) and array.get(out=host, blocking=False)",
                              "host arrays by cupyx.empty_pinned; .set(), .get(out=)"},
          [FRAMEWORK_NUMBA] =
                  {"make the host's arrays by cuda.pinned_array, and copy with stream=: "
                   "d.copy_to_device(host, stream=stream)",
                   "host arrays by cuda.pinned_array; copy with stream="}}},
        {"pageable-to-host", /* most of these bytes go to the host, which reads them */
         {[FRAMEWORK_NONE] = {"copy to memory of cudaMallocHost, or pinned once with "
                              "cudaHostRegister, and wait for an event before it is read",
                              "copy to pinned memory, wait for an event, then read"},
          [FRAMEWORK_PYTORCH] =
                  {"copy_(..., non_blocking=True) to a tensor of torch.empty(..., "
                   "pin_memory=True), and wait for a torch.cuda.Event before it is read: until "
                   "then it holds old numbers",
                   "copy_() to a pinned tensor; an event before it is read"},
          [FRAMEWORK_JAX] = {"result.copy_to_host_async(), and read it later; read results rarely",
                             "copy_to_host_async(), and read results later"},
          [FRAMEWORK_CUPY] = {"array.get(out=host, stream=..., blocking=False) to memory of "
                              "cupyx.empty_pinned, and stream.synchronize() before it is read",
                              ".get(out=pinned, blocking=False); wait, then read"},
          [FRAMEWORK_NUMBA] = {"copy_to_host(host, stream=stream) to a cuda.pinned_array, and "
                               "stream.synchronize() before it is read",
                               "copy_to_host(pinned, stream=); wait, then read"}}},
        {"many-small-copies",
         {[FRAMEWORK_NONE] =
                  {"pack them into one pinned buffer and send that with one cudaMemcpyAsync; "
                   "or let a kernel gather",
                   "pack small copies into one pinned buffer"},
          [FRAMEWORK_PYTORCH] = {"torch.cat or torch.stack on the host, then one .to(device)",
                                 "torch.cat or torch.stack on the host, one .to()"},
          [FRAMEWORK_JAX] =
                  {"put what a step needs into one array (numpy.concatenate) and one "
                   "jax.device_put; constants as arrays of the device's, made once; results "
                   "read as one array",
                   "one jax.device_put a step; constants made once"},
          [FRAMEWORK_CUPY] = {"numpy.concatenate on the host, then one cupy.asarray; read results "
                              "together, by one .get()",
                              "numpy.concatenate, one cupy.asarray; one .get()"},
          [FRAMEWORK_NUMBA] = {"pack them into one cuda.pinned_array, then one copy_to_device(); "
                               "structured records for parameters",
                               "pack into one pinned_array, one copy_to_device()"}}},
        {"copy-not-overlapped",
         {[FRAMEWORK_NONE] =
                  {"give copies a stream of their own (cudaStreamNonBlocking), two or more "
                   "buffers, and order by cudaEventRecord and cudaStreamWaitEvent",
                   "copies in a stream of their own, two buffers"},
          [FRAMEWORK_PYTORCH] =
                  {"copy the next batch in a torch.cuda.Stream() with non_blocking=True "
                   "while this one is worked on",
                   "copy the next batch in a torch.cuda.Stream()"},
          [FRAMEWORK_JAX] =
                  {"jax.device_put of the next batch before this one's result is read: it "
                   "runs beside the kernels",
                   "jax.device_put of the next batch, then read results"},
          [FRAMEWORK_CUPY] =
                  {"copy the next batch in a cupy.cuda.Stream(non_blocking=True) from memory "
                   "of cupyx.empty_pinned, ordered by events, while this one is worked on",
                   "copies in a cupy.cuda.Stream of their own, two buffers"},
          [FRAMEWORK_NUMBA] =
                  {"copy the next batch in another cuda.stream() from a cuda.pinned_array "
                   "while this one is worked on; two device arrays",
                   "copies in a cuda.stream() of their own, two arrays"}}},
        {"low-bandwidth-copy",
         {[FRAMEWORK_NONE] = {"pack rows on the device by a kernel and copy one piece; avoid "
                              "cudaMemcpy2D of narrow rows",
                              "pack rows on the device, copy one piece"},
          [FRAMEWORK_PYTORCH] = {"tensor.contiguous() on the device before .cpu() or .to()",
                                 "tensor.contiguous() before .cpu() or .to()"},
          [FRAMEWORK_JAX] = {"larger pieces: one array instead of many rows",
                             "fewer and larger pieces"},
          [FRAMEWORK_CUPY] =
                  {"cupy.ascontiguousarray() on the device before .get(); whole arrays, not "
                   "slices",
                   "cupy.ascontiguousarray() before .get()"},
          [FRAMEWORK_NUMBA] = {"copy whole contiguous arrays; gather rows by a kernel first",
                               "copy whole contiguous arrays"}}},
        {"copy-back-and-forth",
         {[FRAMEWORK_NONE] = {"do on the device, by a small kernel, what the host does with it",
                              "do the host's part of it by a small kernel"},
          [FRAMEWORK_PYTORCH] = {"keep the tensor on the device: no .cpu() or .numpy() in between",
                                 "keep the tensor on the device, no .cpu() between"},
          [FRAMEWORK_JAX] = {"keep the array on the device: no numpy between two jitted functions "
                             "(jax.numpy, jax.pure_callback only where it must be)",
                             "keep the array on the device: jax.numpy, not numpy"},
          [FRAMEWORK_CUPY] =
                  {"keep the array on the device: no .get() or cupy.asnumpy() in between; "
                   "cupyx.scipy has much of SciPy",
                   "keep the array on the device: CuPy, not NumPy, between"},
          [FRAMEWORK_NUMBA] =
                  {"keep the device array: no copy_to_host() in between, and no NumPy arrays "
                   "as kernels' arguments",
                   "keep the device array, no copy_to_host() between"}}},
        {"alloc-churn",
         {[FRAMEWORK_NONE] =
                  {"allocate once and use the buffers again, or cudaMallocAsync from a pool "
                   "with a release threshold (cudaMemPoolSetAttribute)",
                   "allocate once, or cudaMallocAsync from a pool"},
          [FRAMEWORK_PYTORCH] =
                  {"leave the caching allocator on, no torch.cuda.empty_cache() in the loop; "
                   "out= arguments",
                   "no torch.cuda.empty_cache() in the loop; out="},
          [FRAMEWORK_JAX] =
                  {"donate_argnums of jax.jit, so that results take the place of arguments; "
                   "leave XLA's allocator as it is (no XLA_PYTHON_CLIENT_ALLOCATOR=platform)",
                   "donate_argnums; XLA's own allocator left on"},
          [FRAMEWORK_CUPY] = {"leave the memory pool on, no free_all_blocks() in the loop; out= "
                              "arguments; for FFTs a plan that is kept",
                              "leave the memory pool on, no free_all_blocks(); out="},
          [FRAMEWORK_NUMBA] =
                  {"cuda.device_array once, before the loop; cuda.to_device(host, to=array) "
                   "or copy_to_device() into it; no NumPy arrays as kernels' arguments",
                   "device arrays made once; to_device(host, to=array)"}}},
        {"memory-growth",
         {[FRAMEWORK_NONE] =
                  {"free what a step allocated (cudaFree), or use one buffer for all steps",
                   "free what each step allocates"},
          [FRAMEWORK_PYTORCH] =
                  {"keep no tensors with their graphs over steps: loss.item() or .detach() "
                   "before adding up",
                   "loss.item() or .detach() before adding up"},
          [FRAMEWORK_JAX] = {"keep no arrays of old steps, but float() of them now and then; "
                             "donate_argnums",
                             "keep no arrays of old steps; donate_argnums"},
          [FRAMEWORK_CUPY] =
                  {"keep no arrays of old steps; cupy.get_default_memory_pool().set_limit() "
                   "shows where it ends",
                   "keep no arrays of old steps"},
          [FRAMEWORK_NUMBA] =
                  {"keep no device arrays of old steps; make them once and use them again",
                   "make device arrays once, keep none of old steps"}}},
        {"module-load-in-loop",
         {[FRAMEWORK_NONE] =
                  {"load modules once (cuModuleLoadData, cuLibraryLoadData) and keep their "
                   "functions; ship SASS for this GPU, so that nothing is compiled",
                   "load modules once; ship code for this GPU"},
          [FRAMEWORK_PYTORCH] =
                  {"torch.compile(dynamic=True), fixed shapes, and a warm Triton cache: no "
                   "recompilation",
                   "fixed shapes or dynamic=True; keep Triton's cache"},
          [FRAMEWORK_JAX] = {"fixed shapes (pad), no static arguments that change, jit outside the "
                             "loop: no recompilation; JAX_LOG_COMPILES=1 names what is compiled",
                             "fixed shapes, no static arguments that change"},
          [FRAMEWORK_CUPY] =
                  {"make kernels and cupy.fuse functions once, outside the loop, and call "
                   "each before it; CUPY_CACHE_DIR that stays",
                   "make kernels once and call each before the loop"},
          [FRAMEWORK_NUMBA] =
                  {"@cuda.jit outside the loop, a call with every type before it; cache=True",
                   "@cuda.jit outside the loop; call each kernel before it"}}},
        {"first-launch-cost",
         {[FRAMEWORK_NONE] = {"launch each kernel once before it counts, or set "
                              "CUDA_MODULE_LOADING=EAGER",
                              "launch each kernel once before the loop"},
          [FRAMEWORK_PYTORCH] = {"warm up with every shape that will come, or set "
                                 "CUDA_MODULE_LOADING=EAGER",
                                 "warm up with every shape that will come"},
          [FRAMEWORK_JAX] = {"run each shape that will come once before it counts, or set "
                             "CUDA_MODULE_LOADING=EAGER",
                             "warm up with every shape that will come"},
          [FRAMEWORK_CUPY] = {"call each function once before it counts, or set "
                              "CUDA_MODULE_LOADING=EAGER",
                              "call each function once before the loop"},
          [FRAMEWORK_NUMBA] = {"launch each kernel once before it counts, or set "
                               "CUDA_MODULE_LOADING=EAGER",
                               "launch each kernel once before the loop"}}},
        {"graph-reinstantiated",
         {[FRAMEWORK_NONE] =
                  {"instantiate once (cudaGraphInstantiate) and launch it at every step, "
                   "with parameters in device memory",
                   "make the graph once, launch it at every step"},
          [FRAMEWORK_PYTORCH] =
                  {"capture one torch.cuda.CUDAGraph and replay() it with static input "
                   "tensors",
                   "capture one CUDAGraph, then replay() it"},
          [FRAMEWORK_JAX] =
                  {"fixed shapes and arguments that stay where they are (donate_argnums): "
                   "XLA then keeps its graphs; else "
                   "XLA_FLAGS=--xla_gpu_enable_command_buffer= turns them off",
                   "donate_argnums: arguments stay, and XLA's graphs too"},
          [FRAMEWORK_CUPY] = {"capture one graph, and launch() it with arrays that stay",
                              "capture one graph, then launch() it at every step"},
          [FRAMEWORK_NUMBA] = {"make the graph once, and launch it with device arrays that stay",
                               "make the graph once, launch it at every step"}}},
        {"graph-nodes-changed",
         {[FRAMEWORK_NONE] =
                  {"keep what changes in device memory that stays where it is, and copy new "
                   "values into it: the graph's parameters stay the same",
                   "keep a graph's parameters, and copy new values in"},
          [FRAMEWORK_PYTORCH] =
                  {"static input tensors, copy_() new values into them, and replay() the graph "
                   "as it is",
                   "static input tensors, and copy_() into them"},
          [FRAMEWORK_JAX] =
                  {"donate what a step replaces (jax.jit(..., donate_argnums=...)): its arrays "
                   "stay where they are, and XLA need not write new addresses into its graph's "
                   "nodes; or do several steps in one jit (lax.scan)",
                   "donate_argnums for what a step replaces"},
          [FRAMEWORK_CUPY] = {"launch() a graph with arrays that stay, and copy new values into "
                              "them",
                              "arrays that stay, and new values copied in"},
          [FRAMEWORK_NUMBA] = {"launch a graph with device arrays that stay, and copy new values "
                               "into them",
                               "arrays that stay, and new values copied in"}}},
        {"graph-instantiation-dominates",
         {[FRAMEWORK_NONE] =
                  {"keep the instantiated graph of each shape (cudaGraphExec_t) and launch "
                   "it again when the shape comes again",
                   "keep the graph of each shape"},
          [FRAMEWORK_PYTORCH] =
                  {"one torch.cuda.CUDAGraph for each padded batch size, captured before the "
                   "loop",
                   "a CUDAGraph for each padded size, before the loop"},
          [FRAMEWORK_JAX] = {"fewer shapes (pad): XLA makes graphs for each of them; else "
                             "XLA_FLAGS=--xla_gpu_enable_command_buffer= turns them off",
                             "fewer shapes: XLA makes graphs for each"},
          [FRAMEWORK_CUPY] = {"keep the graph of each shape, captured before the loop",
                              "keep the graph of each shape"},
          [FRAMEWORK_NUMBA] = {"keep the graph of each shape, made before the loop",
                               "keep the graph of each shape"}}},
        {"full-power",
         {[FRAMEWORK_NONE] =
                  {"nothing outside the program: it is less of the GPU's work that takes less "
                   "power and time, as in lower precision or with fewer bytes moved",
                   "nothing outside the program; less of the GPU's work"},
          [FRAMEWORK_PYTORCH] = {"nothing outside the program: lower precision "
                                 "(torch.autocast), fused operators (torch.compile)",
                                 "nothing outside the program; lower precision"},
          [FRAMEWORK_JAX] = {"nothing outside the program: lower precision (jnp.bfloat16, "
                             "jax_default_matmul_precision)",
                             "nothing outside the program; lower precision"},
          [FRAMEWORK_CUPY] = {"nothing outside the program: lower precision, fewer passes over "
                              "the data (cupy.fuse)",
                              "nothing outside the program; lower precision"},
          [FRAMEWORK_NUMBA] = {"nothing outside the program: lower precision, fewer passes over "
                               "the data",
                               "nothing outside the program; lower precision"}}},
        {"environment",
         {[FRAMEWORK_NONE] =
                  {"nvidia-smi -q shows clocks, power, processes and the link; a driver of "
                   "the runtime's version or newer",
                   "see nvidia-smi -q: clocks, power, other processes"},
          [FRAMEWORK_PYTORCH] = {"the same: nvidia-smi -q, and python -m torch.utils.collect_env",
                                 "see nvidia-smi -q: clocks, power, other processes"},
          [FRAMEWORK_JAX] = {"the same: nvidia-smi -q, and jax.print_environment_info()",
                             "see nvidia-smi -q: clocks, power, other processes"},
          [FRAMEWORK_CUPY] = {"the same: nvidia-smi -q, and cupy.show_config()",
                              "see nvidia-smi -q: clocks, power, other processes"},
          [FRAMEWORK_NUMBA] = {"the same: nvidia-smi -q, and numba -s",
                               "see nvidia-smi -q: clocks, power, other processes"}}},
};

/* Where a row has no words of its own for a framework, those of the other one stand; else CUDA's.
 */
static const struct {
	const char *id, *as;
} likes[] = {{"host-work", "host-starves-gpu"}, {"implicit-read", "implicit-sync"}};

static const struct row *row_of(const char *id)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (!strcmp(rows[i].id, id))
			return &rows[i];
	return NULL;
}

const struct advice *advice_of(const char *id, enum framework framework)
{
	const struct row *r = row_of(id);

	if (!r)
		return NULL;
	if (r->by[framework].fix)
		return &r->by[framework];
	for (size_t i = 0; i < sizeof(likes) / sizeof(likes[0]); i++)
		if (!strcmp(likes[i].id, id))
			return advice_of(likes[i].as, framework);
	return &r->by[FRAMEWORK_NONE];
}

/* ---- of verdicts ---- */

static const struct {
	enum verdict_class cls;
	const char *in[FRAMEWORKS]; /* NULL: as in CUDA */
} changes[] = {
        {VERDICT_LAUNCH,
         {[FRAMEWORK_NONE] = "CUDA graphs, or fewer and larger launches",
          [FRAMEWORK_JAX] = "jax.jit around the whole step, or larger batches",
          [FRAMEWORK_CUPY] = "CUDA graphs, cupy.fuse, or larger launches",
          [FRAMEWORK_NUMBA] = "fewer and larger kernels"}},
        {VERDICT_SYNC,
         {[FRAMEWORK_NONE] = "fewer or later waits",
          [FRAMEWORK_JAX] = "read results later, or rarely",
          [FRAMEWORK_CUPY] = "fewer or later waits: .get() rarely",
          [FRAMEWORK_NUMBA] = "fewer or later waits: copy_to_host() rarely"}},
        {VERDICT_COPY,
         {[FRAMEWORK_NONE] = "pinned memory, or copies beside kernels",
          [FRAMEWORK_JAX] = "jax.device_put ahead, and data that stays there",
          [FRAMEWORK_CUPY] = "cupyx.empty_pinned memory, or copies beside kernels",
          [FRAMEWORK_NUMBA] = "cuda.pinned_array memory, or copies beside kernels"}},
        {VERDICT_ALLOC,
         {[FRAMEWORK_NONE] = "allocate, load code and make graphs once",
          [FRAMEWORK_JAX] = "donate_argnums, and no compiling in the loop",
          [FRAMEWORK_CUPY] = "the memory pool, and kernels made once",
          [FRAMEWORK_NUMBA] = "device arrays and kernels made once"}},
        {VERDICT_HOST,
         {[FRAMEWORK_NONE] = "less of the host's work outside CUDA",
          [FRAMEWORK_JAX] = "less Python and NumPy between jitted calls",
          [FRAMEWORK_CUPY] = "less Python and NumPy between kernels",
          [FRAMEWORK_NUMBA] = "less Python and NumPy between launches"}},
        {VERDICT_COMM, {[FRAMEWORK_NONE] = "communication beside kernels"}},
};

const char *advice_of_class(enum verdict_class cls, enum framework framework)
{
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++)
		if (changes[i].cls == cls)
			return changes[i].in[framework] ? changes[i].in[framework]
			                                : changes[i].in[FRAMEWORK_NONE];
	return NULL;
}

const char *advice_of_copies(enum verdict_copy_way way, enum framework framework)
{
	static const char *const pinned[FRAMEWORKS] = {
	        [FRAMEWORK_NONE] = "pinned memory",
	        [FRAMEWORK_PYTORCH] = "pinned memory",
	        [FRAMEWORK_CUPY] = "cupyx.empty_pinned memory",
	        [FRAMEWORK_NUMBA] = "cuda.pinned_array memory",
	};
	const char *one = way == COPY_WAY_PINNED ? pinned[framework]
	                  : way == COPY_WAY_BESIDE && framework != FRAMEWORK_JAX
	                          ? "copies beside kernels"
	                          : NULL;

	return one ? one : advice_of_class(VERDICT_COPY, framework);
}
