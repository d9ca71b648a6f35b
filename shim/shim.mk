# shim/: libcudaspy.so, what is loaded into the program.

# What the reporter is built with as well: it takes over where a killed process stopped.
CORE_C := \
	shim/core/cuda/communication.c \
	shim/core/cuda/copies.c \
	shim/core/cuda/engines.c \
	shim/core/cuda/roles.c \
	shim/core/cuda/streams.c \
	shim/core/drain/drain.c \
	shim/core/drain/drain_feed.c \
	shim/core/gpu_time/estimate.c \
	shim/core/gpu_time/estimate_pinned.c \
	shim/core/gpu_time/estimate_staged.c \
	shim/core/sys/leftover.c \
	shim/core/options/options_parse.c \
	shim/core/format/seal.c \
	shim/core/work/slices.c \
	shim/core/steps/steps.c \
	shim/core/steps/steps_found.c \
	shim/core/steps/steps_marker.c \
	shim/core/steps/steps_pattern.c \
	shim/core/timeline/timeline.c \
	shim/core/timeline/timeline_device.c \
	shim/core/timeline/timeline_durations.c \
	shim/core/timeline/timeline_ends.c \
	shim/core/timeline/timeline_exact.c \
	shim/core/timeline/timeline_streams.c \
	shim/core/timeline/timeline_threads.c \
	shim/core/timeline/timeline_queue.c \
	shim/core/timeline/timeline_waits.c \
	shim/core/timeline/timeline_work.c \
	shim/core/work/work_class.c \
	# EOL

SHIM_C := $(CORE_C) \
	shim/life/bus_error.c \
	shim/base/clock.c \
	shim/life/collector.c \
	shim/cpu/cpu.c \
	shim/cpu/cpu_read.c \
	shim/cupti/cupti.c \
	shim/cupti/cupti_buffers.c \
	shim/cupti/cupti_check.c \
	shim/cupti/cupti_find.c \
	shim/cupti/cupti_others.c \
	shim/cupti/cupti_records.c \
	shim/cupti/cupti_setup.c \
	shim/base/collector_wait.c \
	shim/base/gate.c \
	shim/base/recording_tables.c \
	shim/real/driver_symbols.c \
	shim/real/real.c \
	shim/real/real_dlsym.c \
	shim/nvml/nvml_environment.c \
	shim/nvml/nvml_environment_read.c \
	shim/hook/uncovered.c \
	shim/handles/contexts.c \
	shim/handles/graph_content.c \
	shim/base/guard.c \
	shim/life/leaving.c \
	shim/life/lifecycle.c \
	shim/hook/lookup.c \
	shim/record/messages.c \
	shim/args/args_alloc.c \
	shim/args/args_capture.c \
	shim/args/args_context.c \
	shim/args/args_copy.c \
	shim/args/args_graph.c \
	shim/args/args_launch.c \
	shim/args/args_module.c \
	shim/args/args_stream.c \
	shim/nvml/nvml_check.c \
	shim/nvtx/nvtx.c \
	shim/nvtx/nvtx_names.c \
	shim/nvtx/nvtx_counts.c \
	shim/nvtx/nvtx_open.c \
	shim/life/options_read.c \
	shim/base/own_stack.c \
	shim/record/own_time.c \
	shim/base/quiet.c \
	shim/handles/memory_map.c \
	shim/life/recording.c \
	shim/handles/registry.c \
	shim/sampler/sampler.c \
	shim/sampler/sampler_class.c \
	shim/sampler/sampler_context.c \
	shim/sampler/sampler_driver.c \
	shim/sampler/sampler_kernel.c \
	shim/sampler/sampler_life.c \
	shim/sampler/sampler_pair.c \
	shim/sampler/sampler_place.c \
	shim/sampler/sampler_rate.c \
	shim/sampler/sampler_section.c \
	shim/sampler/sampler_thread.c \
	shim/record/span.c \
	shim/record/span_own.c \
	shim/life/storage.c \
	shim/record/thread.c \
	shim/hook/wrappers_hand.c \
	# EOL
SHIM_GEN := $(addprefix $(O)/gen/,calls_gen.c wrappers_driver.c wrappers_runtime.c)
SHIM_GEN += $(O)/gen/sampler_image.c
SHIM_OBJ := $(SHIM_C:%.c=$(O)/guest/%.o) $(O)/guest/shim/hook/dlsym.o $(O)/guest/shim/base/switch_stack.o $(SHIM_GEN:%.c=%.o)

# Hidden unless exported; initial-exec TLS; no symbol of glibc newer than 2.28 (compat.h). Never sanitized: a guest
# shares its host's heap and signal handlers.
SHIM_CFLAGS := $(filter-out -fsanitize=%,$(SPY_CFLAGS)) -fPIC -fno-semantic-interposition -ftls-model=initial-exec \
	-fno-plt -fno-tree-slp-vectorize -fcf-protection=none -include shim/base/compat.h -Wno-deprecated-declarations $(SHIM_EXTRA)
ifneq ($(ARCH),x86_64)
SHIM_CFLAGS := $(filter-out -fcf-protection=none,$(SHIM_CFLAGS))
endif
SHIM_LDFLAGS := -shared -Wl,-soname,libcudaspy.so -Wl,--no-undefined -Wl,-z,now -Wl,-z,relro -Wl,-z,nodelete \
	-Wl,--version-script=shim/shim.map -Wl,--hash-style=gnu -static-libgcc
SHIM_LIBS := -Wl,--no-as-needed -l:libdl.so.2 -l:libpthread.so.0

shim: $(O)/libcudaspy.so

$(O)/gen/driver.i: shim/base/cuda_types.h shim/base/cuda_later.h $(CUDA_INC)/cuda.h
	$(call msg,CPP,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -E -P $(SPY_CFLAGS) -x c shim/base/cuda_types.h -o $@

$(O)/gen/runtime.i: $(CUDA_INC)/cuda_runtime_api.h
	$(call msg,CPP,$@)
	$(Q)mkdir -p $(@D)
	$(Q)echo '#include <cuda_runtime_api.h>' | $(CC) -E -P $(SPY_CFLAGS) -x c - -o $@
	$(Q)echo '#include <cuda_runtime_api.h>' | \
		$(CC) -E -P $(SPY_CFLAGS) -DCUDA_API_PER_THREAD_DEFAULT_STREAM=1 -x c - >> $@

$(O)/gen/.done: shim/hook/gen_wrappers.py shim/core/format/calls.def shim/core/cuda/roles.h $(O)/gen/driver.i $(O)/gen/runtime.i
	$(call msg,GEN,$(O)/gen)
	$(Q)python3 shim/hook/gen_wrappers.py shim/core/format/calls.def $(O)/gen/driver.i $(O)/gen/runtime.i $(O)/gen
	$(Q)touch $@
$(filter-out %/sampler_image.c,$(SHIM_GEN)) $(O)/gen/calls_gen.h $(O)/gen/exports.txt: $(O)/gen/.done ;

# Code for the GPUs that this toolkit's assembler knows, where there is one: spares the driver a translation.
$(O)/gen/sampler_image.c: shim/sampler/gen_image.py shim/sampler/sampler.ptx
	$(call msg,GEN,$@)
	$(Q)mkdir -p $(@D)
	$(Q)python3 shim/sampler/gen_image.py shim/sampler/sampler.ptx $@ $(wildcard $(CUDA_HOME)/bin)

$(O)/guest/%.o: %.c $(O)/gen/.done
	$(call msg,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(SHIM_CFLAGS) $(CFLAGS) -MMD -MP -c $< -o $@

$(O)/guest/%.o: %.S
	$(call msg,AS,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -fPIC -c $< -o $@

$(O)/gen/%.o: $(O)/gen/%.c
	$(call msg,CC,$@)
	$(Q)$(CC) $(SHIM_CFLAGS) $(CFLAGS) -MMD -MP -c $< -o $@

$(O)/libcudaspy.so: $(SHIM_OBJ) shim/shim.map
	$(call msg,LD,$@)
	$(Q)$(CC) $(SHIM_LDFLAGS) $(SHIM_OBJ) $(SHIM_LIBS) -o $@

-include $(SHIM_OBJ:.o=.d)
