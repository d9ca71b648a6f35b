# SPDX-License-Identifier: Apache-2.0
# What the acceptance on a GPU needs beside the product: the CUPTI truth library, the launch loop, what one launch
# costs, captures, the probe, facts about streams, about graphs that are changed, and about calls that hold.
# The top Makefile may include this; scripts/gpu_acceptance calls `make -f Makefile -f tests/gpu/gpu.mk gpu-tools`.

ifndef GPU_MK
GPU_MK := 1

# CUPTI's headers stand with the toolkit's, or in extras/ where the toolkit came from its own installer.
CUPTI_INC := $(firstword $(patsubst %/cupti.h,%,$(wildcard \
	$(CUDA_INC)/cupti.h $(CUDA_HOME)/extras/CUPTI/include/cupti.h)))

GPU_TRUTH_SRC := \
	tests/gpu/cupti_causes.c \
	tests/gpu/cupti_classes.c \
	tests/gpu/cupti_records.c \
	tests/gpu/cupti_tally.c \
	tests/gpu/cupti_truth.c \
	tests/gpu/cupti_untrue.c \
	tests/gpu/cupti_write.c \
	tests/gpu/cupti_write_classes.c \
	# EOL

GPU_TRUTH_OBJ := $(GPU_TRUTH_SRC:%.c=$(O)/%.o)

GPU_TOOLS := \
	$(O)/tests/call_cost \
	$(O)/tests/captures \
	$(O)/tests/conditional \
	$(O)/tests/copy_facts \
	$(O)/tests/graph_changes \
	$(O)/tests/hold_facts \
	$(O)/tests/launch_cost \
	$(O)/tests/launch_loop_shared \
	$(O)/tests/launch_loop_static \
	$(O)/tests/libcupti_truth.so \
	$(O)/tests/libnvperf_launch_cost.so \
	$(O)/tests/libslow_launch.so \
	$(O)/tests/pair_cost \
	$(O)/tests/probe_getproc \
	$(O)/tests/stream_facts \
	# EOL

GPU_CFLAGS = $(filter-out -fvisibility=hidden -fsanitize=%,$(SPY_CFLAGS)) $(CFLAGS) -fvisibility=hidden \
	-iquote $(O)/gen/gpu $(if $(CUPTI_INC),-isystem $(CUPTI_INC))

.PHONY: gpu-tools gpu-tools-simulated
gpu-tools: $(GPU_TOOLS)
gpu-tools-simulated: $(O)/tests/captures-sim $(O)/tests/hold_facts-sim $(O)/tests/pair_cost-sim $(O)/tests/stream_facts-sim \
	$(O)/tests/call_cost $(O)/tests/launch_cost $(O)/tests/libnvperf_launch_cost.so \
	$(O)/tests/libslow_launch.so $(O)/tests/probe_getproc

$(O)/gen/gpu/cupti_record_names.h: tests/gpu/gen_cupti_records.py $(CUPTI_INC)/cupti_activity.h
	$(call msg,GEN,$@)
	$(Q)mkdir -p $(@D) && python3 tests/gpu/gen_cupti_records.py $(CUPTI_INC) > $@

$(GPU_TRUTH_OBJ): $(O)/tests/gpu/%.o: tests/gpu/%.c $(O)/gen/gpu/cupti_record_names.h
	$(call msg,CC,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(GPU_CFLAGS) -fPIC -MMD -MP -MT $@ -c -o $@ $<

$(O)/tests/libcupti_truth.so: $(GPU_TRUTH_OBJ)
	$(call msg,LINK,$@)
	$(Q)mkdir -p $(@D) && $(CC) -shared -Wl,--no-undefined -Wl,-z,nodelete -Wl,-soname,libcupti_truth.so \
		-o $@ $^ -ldl -lpthread

$(O)/gen/gpu/getproc_requests.h: tests/gpu/gen_getproc.py $(CUDA_INC)/cudaTypedefs.h
	$(call msg,GEN,$@)
	$(Q)mkdir -p $(@D) && python3 tests/gpu/gen_getproc.py $(CUDA_INC) > $@

$(O)/tests/probe_getproc: tests/gpu/probe_getproc.c tests/gpu/exports.c $(O)/gen/gpu/getproc_requests.h
	$(call msg,CC,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(GPU_CFLAGS) -MMD -MP -MT $@ -MF $@.d -o $@ $(filter %.c,$^) -ldl

$(O)/tests/call_cost $(O)/tests/launch_cost: $(O)/tests/%: tests/gpu/%.c
	$(call msg,CC,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(GPU_CFLAGS) -MMD -MP -MT $@ -MF $@.d -o $@ $< -ldl -lm

# Its name is a tool's, and it must stay the caller of dlsym: no tail calls.
$(O)/tests/libnvperf_launch_cost.so: tests/gpu/launch_cost_real.c tests/gpu/launch_cost.h
	$(call msg,LINK,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(GPU_CFLAGS) -fno-optimize-sibling-calls -fPIC -shared -Wl,--no-undefined \
		-Wl,-soname,$(@F) -o $@ $< -ldl

# Its dlsym has to leave by a tail call: optimized, whatever CFLAGS say.
$(O)/tests/libslow_launch.so: tests/gpu/slow_launch.c
	$(call msg,LINK,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(GPU_CFLAGS) -O2 -fPIC -shared -Wl,--no-undefined -Wl,-soname,$(@F) -o $@ $< -ldl

$(O)/tests/captures $(O)/tests/conditional $(O)/tests/graph_changes $(O)/tests/hold_facts $(O)/tests/stream_facts: \
		$(O)/tests/%: tests/gpu/%.cu
	$(call msg,NVCC,$@)
	$(Q)mkdir -p $(@D) && $(NVCC) $(SAMPLE_NVCCFLAGS) --cudart static -MMD -MP -MT $@ -MF $@.d -o $@ $<

# With CUPTI's headers where there are such.
$(O)/tests/pair_cost: tests/gpu/pair_cost.cu $(if $(CUPTI_INC),$(O)/gen/gpu/cupti_record_names.h)
	$(call msg,NVCC,$@)
	$(Q)mkdir -p $(@D) && $(NVCC) $(SAMPLE_NVCCFLAGS) -I$(O)/gen/gpu $(if $(CUPTI_INC),-I$(CUPTI_INC)) --cudart static \
		-MMD -MP -MT $@ -MF $@.d -o $@ $<

# Linked with the simulated driver, which bears the real one's name: whichever is found runs it.
$(O)/tests/copy_facts: tests/gpu/copy_facts.c $(O)/sim/libcuda.so.1
	$(call msg,CC,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(GPU_CFLAGS) -MMD -MP -MT $@ -MF $@.d -o $@ $< -L$(O)/sim -l:libcuda.so.1

$(O)/tests/captures-sim $(O)/tests/hold_facts-sim $(O)/tests/pair_cost-sim $(O)/tests/stream_facts-sim: $(O)/tests/%-sim: tests/gpu/%.cu $(O)/sim/libcudart.so.13
	$(call msg,CXX,$@)
	$(Q)mkdir -p $(@D) && $(CXX) -x c++ $(SAMPLE_CXXFLAGS) -DSIM_CUDART=13 -MMD -MP -MT $@ -MF $@.d -o $@ $< \
		-x none $(O)/sim/libcudart.so.13 -ldl

# The runtime linked in, and as a shared library: the second is seen at the runtime's level too.
$(O)/tests/launch_loop_static $(O)/tests/launch_loop_shared: $(O)/tests/launch_loop_%: tests/gpu/launch_loop.cu
	$(call msg,NVCC,$@)
	$(Q)mkdir -p $(@D) && $(NVCC) -O2 --cudart $* -o $@ $<

# All that the acceptance runs, in one folder and without symbols: for a machine that has a GPU and no compiler.
#   there: scripts/gpu_acceptance --no-build --build build/gpu
# The commit that a bundle is of, which results name: where they are measured there may be another one, or none. Empty
# outside of a checkout.
BUNDLE_COMMIT = if c=$$(git rev-parse HEAD 2>/dev/null); then \
	if [ -z "$$(git status --porcelain)" ]; then echo $$c; else echo $$c changed; fi; fi

.PHONY: gpu-bundle gpu-bundle-commit
gpu-bundle-commit:
	@$(BUNDLE_COMMIT)
gpu-bundle: shim report samples-nvcc gpu-tools
	$(Q)rm -rf $(O)/gpu && mkdir -p $(O)/gpu/samples/static $(O)/gpu/samples/shared $(O)/gpu/tests
	$(Q)cp $(O)/libcudaspy.so $(O)/cudaspy $(O)/gpu
	$(Q)cp $(GPU_TOOLS) $(O)/gpu/tests
	$(Q)cp $(SAMPLES:%=$(O)/samples/static/%) $(O)/gpu/samples/static
	$(Q)cp $(SAMPLES:%=$(O)/samples/shared/%) $(O)/gpu/samples/shared
	$(Q)strip --strip-unneeded $(O)/gpu/libcudaspy.so $(O)/gpu/cudaspy $(O)/gpu/tests/* $(O)/gpu/samples/*/*
	$(Q)$(BUNDLE_COMMIT) > $(O)/gpu/commit
	$(call msg,BUNDLE,$(O)/gpu)

# Tests of these tools that need no GPU: the truth library on a made-up CUPTI, the script's own logic.
GPU_TEST_TOOLS := \
	$(O)/tests/inject \
	$(O)/tests/libcupti_truth.so \
	$(O)/tests/libfake_cupti.so \
	# EOL

$(O)/tests/inject: tests/gpu/inject.c
	$(call msg,CC,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(GPU_CFLAGS) -o $@ $< -ldl

$(O)/tests/libfake_cupti.so: tests/gpu/fake_cupti.c $(O)/gen/gpu/cupti_record_names.h
	$(call msg,LINK,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(filter-out -fvisibility=hidden,$(GPU_CFLAGS)) -fPIC -shared -o $@ $<

GPU_TESTS := python3 -B -m unittest discover -s tests/gpu

.PHONY: test-gpu-tools
ifneq ($(CUPTI_INC),)
TEST_EXTRA += $(GPU_TEST_TOOLS) gpu-tools-simulated
test-gpu-tools: $(GPU_TEST_TOOLS) shim report sim samples-sim gpu-tools-simulated
	$(Q)O=$(abspath $(O)) $(GPU_TESTS)
else
test-gpu-tools:
	$(Q)env -u O $(GPU_TESTS)
endif

-include $(GPU_TRUTH_OBJ:.o=.d) $(addprefix $(O)/tests/,call_cost.d captures.d captures-sim.d conditional.d copy_facts.d graph_changes.d hold_facts.d hold_facts-sim.d launch_cost.d pair_cost.d pair_cost-sim.d probe_getproc.d)

endif
