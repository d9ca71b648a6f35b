# shim/: libcudaspy.so, what is loaded into the program.

# What the reporter is built with as well: it takes over where a killed process stopped.
SHARED_C := \
	shim/drain.c \
	shim/drain_feed.c \
	shim/estimate.c \
	shim/estimate_pinned.c \
	shim/estimate_staged.c \
	shim/leftover.c \
	shim/options_parse.c \
	shim/seal.c \
	shim/slices.c \
	shim/steps.c \
	shim/steps_found.c \
	shim/steps_marker.c \
	shim/steps_pattern.c \
	shim/timeline.c \
	shim/timeline_device.c \
	shim/timeline_durations.c \
	shim/timeline_ends.c \
	shim/timeline_exact.c \
	shim/timeline_streams.c \
	shim/timeline_threads.c \
	shim/timeline_queue.c \
	shim/timeline_waits.c \
	shim/timeline_work.c \
	shim/works.c \
	# EOL

SHIM_C := $(SHARED_C) \
	shim/bus_error.c \
	shim/clock.c \
	shim/collector.c \
	shim/cpu.c \
	shim/cpu_read.c \
	shim/cupti.c \
	shim/cupti_buffers.c \
	shim/cupti_check.c \
	shim/cupti_find.c \
	shim/cupti_others.c \
	shim/cupti_records.c \
	shim/cupti_setup.c \
	shim/doze.c \
	shim/driver_symbols.c \
	shim/environment.c \
	shim/environment_read.c \
	shim/gaps.c \
	shim/graph_content.c \
	shim/guard.c \
	shim/leaving.c \
	shim/lifecycle.c \
	shim/lookup.c \
	shim/messages.c \
	shim/notes_alloc.c \
	shim/notes_capture.c \
	shim/notes_context.c \
	shim/notes_copy.c \
	shim/notes_graph.c \
	shim/notes_launch.c \
	shim/notes_module.c \
	shim/notes_stream.c \
	shim/nvml_check.c \
	shim/nvtx.c \
	shim/nvtx_names.c \
	shim/nvtx_counts.c \
	shim/nvtx_open.c \
	shim/options.c \
	shim/own_stack.c \
	shim/own_time.c \
	shim/quiet.c \
	shim/ranges.c \
	shim/recording.c \
	shim/registry.c \
	shim/sampler.c \
	shim/sampler_class.c \
	shim/sampler_context.c \
	shim/sampler_driver.c \
	shim/sampler_kernel.c \
	shim/sampler_life.c \
	shim/sampler_pair.c \
	shim/sampler_place.c \
	shim/sampler_rate.c \
	shim/sampler_section.c \
	shim/sampler_thread.c \
	shim/span.c \
	shim/storage.c \
	shim/thread.c \
	shim/wrappers_hand.c \
	# EOL
SHIM_GEN := $(addprefix $(O)/gen/,calls_gen.c wrappers_driver.c wrappers_runtime.c)
SHIM_GEN += $(O)/gen/sampler_image.c
SHIM_OBJ := $(SHIM_C:%.c=$(O)/%.o) $(O)/shim/dlsym.o $(O)/shim/switch_stack.o $(SHIM_GEN:%.c=%.o)

# Hidden unless exported; initial-exec TLS; no symbol of glibc newer than 2.28 (compat.h). Never sanitized: a guest
# shares its host's heap and signal handlers.
SHIM_CFLAGS := $(filter-out -fsanitize=%,$(SPY_CFLAGS)) -fPIC -fno-semantic-interposition -ftls-model=initial-exec \
	-fno-plt -fno-tree-slp-vectorize -fcf-protection=none -include shim/compat.h -Wno-deprecated-declarations $(SHIM_EXTRA)
ifneq ($(ARCH),x86_64)
SHIM_CFLAGS := $(filter-out -fcf-protection=none,$(SHIM_CFLAGS))
endif
SHIM_LDFLAGS := -shared -Wl,-soname,libcudaspy.so -Wl,--no-undefined -Wl,-z,now -Wl,-z,relro -Wl,-z,nodelete \
	-Wl,--version-script=shim/shim.map -Wl,--hash-style=gnu -static-libgcc
SHIM_LIBS := -Wl,--no-as-needed -l:libdl.so.2 -l:libpthread.so.0

shim: $(O)/libcudaspy.so

$(O)/gen/driver.i: shim/cuda_types.h shim/cuda_later.h $(CUDA_INC)/cuda.h
	$(call msg,CPP,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -E -P $(SPY_CFLAGS) -x c shim/cuda_types.h -o $@

$(O)/gen/runtime.i: $(CUDA_INC)/cuda_runtime_api.h
	$(call msg,CPP,$@)
	$(Q)mkdir -p $(@D)
	$(Q)echo '#include <cuda_runtime_api.h>' | $(CC) -E -P $(SPY_CFLAGS) -x c - -o $@
	$(Q)echo '#include <cuda_runtime_api.h>' | \
		$(CC) -E -P $(SPY_CFLAGS) -DCUDA_API_PER_THREAD_DEFAULT_STREAM=1 -x c - >> $@

$(O)/gen/.done: shim/gen_wrappers.py shim/calls.def $(O)/gen/driver.i $(O)/gen/runtime.i
	$(call msg,GEN,$(O)/gen)
	$(Q)python3 shim/gen_wrappers.py shim/calls.def $(O)/gen/driver.i $(O)/gen/runtime.i $(O)/gen
	$(Q)touch $@
$(filter-out %/sampler_image.c,$(SHIM_GEN)) $(O)/gen/calls_gen.h $(O)/gen/exports.txt: $(O)/gen/.done ;

# Code for the GPUs that this toolkit's assembler knows, where there is one: spares the driver a translation.
$(O)/gen/sampler_image.c: shim/gen_image.py shim/sampler.ptx
	$(call msg,GEN,$@)
	$(Q)mkdir -p $(@D)
	$(Q)python3 shim/gen_image.py shim/sampler.ptx $@ $(wildcard $(CUDA_HOME)/bin)

$(O)/shim/%.o: shim/%.c $(O)/gen/.done
	$(call msg,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(SHIM_CFLAGS) $(CFLAGS) -MMD -MP -c $< -o $@

$(O)/shim/%.o: shim/%.S
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
