# SPDX-License-Identifier: Apache-2.0
# The samples, each from one source: for a GPU with nvcc, for the simulated CUDA with a plain C++
# compiler.
#
#   make samples-sim     build/samples/sim/NAME (libcudart.so.13), sim-static/NAME, and some of
#                        them as sim12/, sim11/ (older libcudart) and sim-ptsz/ (per-thread
#                        default stream)
#   make samples-nvcc    build/samples/static/NAME and build/samples/shared/NAME

SAMPLES := $(patsubst cuda_samples/%.cu,%,$(wildcard cuda_samples/*.cu))

# Those whose calls have the same arguments in every libcudart.
SAMPLES_OLDER := \
	copy_not_overlapped_fixed \
	sync_too_early \
	threads \
	vector_add \
	# EOL

SAMPLES_PTSZ := \
	copy_not_overlapped_fixed \
	graph_replay \
	streams \
	threads \
	vector_add \
	# EOL

# Code for any GPU, which the driver translates at the first launch (some 90 ms a process) unless it is older than
# nvcc, and the GPU's own code for those that it is to be ready for: this machine's among them, asked for once.
NVCC_ARCH  ?= compute_75
GPU_CODE    = $(eval GPU_CODE := $$(shell nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | \
	sed -n 's/^ *\([0-9]*\)\.\([0-9]*\) *$$$$/sm_\1\2/p'))$(GPU_CODE)
NVCC_READY ?= $(filter sm_90 $(GPU_CODE),$(if $(NVCC),$(shell $(NVCC) --list-gpu-code)))
SAMPLE_CXXFLAGS := -O2 -g -std=c++17 -Wall -Wextra -Wno-unused-parameter -pthread \
	-I. -isystem $(CUDA_INC) $(addprefix -fsanitize=,$(SAN))
SAMPLE_NVCCFLAGS = -O2 -std=c++17 -Xcompiler -pthread \
	-I. -gencode arch=$(NVCC_ARCH),code=$(NVCC_ARCH) \
	$(foreach code,$(NVCC_READY),-gencode arch=$(code:sm_%=compute_%),code=$(code))

SAMPLES_SIM := \
	$(addprefix $(O)/samples/sim/,$(SAMPLES)) \
	$(addprefix $(O)/samples/sim-static/,$(SAMPLES)) \
	$(addprefix $(O)/samples/sim11/,$(SAMPLES_OLDER)) \
	$(addprefix $(O)/samples/sim12/,$(SAMPLES_OLDER)) \
	$(addprefix $(O)/samples/sim-ptsz/,$(SAMPLES_PTSZ)) \
	# EOL
SAMPLES_NVCC := \
	$(addprefix $(O)/samples/static/,$(SAMPLES)) \
	$(addprefix $(O)/samples/shared/,$(SAMPLES)) \
	# EOL

samples: samples-sim samples-nvcc

samples-sim: $(SAMPLES_SIM)

ifneq ($(wildcard $(NVCC)),)
samples-nvcc: $(SAMPLES_NVCC)
else
samples-nvcc:
	@echo "skip: samples for a GPU need nvcc; none under '$(CUDA_HOME)' (NVCC=path names one)"
endif

.PHONY: samples samples-sim samples-nvcc

# Samples that call the driver themselves link it; it is found at run time in its usual place (a GPU's)
# or in LD_LIBRARY_PATH (the simulated one).
SAMPLES_DRIVER := \
	driver_api \
	module_load_every_step \
	module_load_every_step_fixed \
	# EOL

SAMPLES_SIM_DRIVER := $(filter $(addprefix %/,$(SAMPLES_DRIVER)),$(SAMPLES_SIM))
$(SAMPLES_SIM_DRIVER): SAMPLE_LIBS = $(O)/sim/libcuda.so.1
$(SAMPLES_SIM_DRIVER): $(O)/sim/libcuda.so.1
$(filter $(addprefix %/,$(SAMPLES_DRIVER)),$(SAMPLES_NVCC)): \
	SAMPLE_LIBS = -L$(CUDA_HOME)/lib64/stubs -L$(CUDA_HOME)/lib/stubs -lcuda

# $(1) folder of objects, $(2) flags. Two variants that differ in what they link have their objects in common.
define sample_object
.PRECIOUS: $(O)/samples/$(1)/%.o
$(O)/samples/$(1)/%.o: cuda_samples/%.cu
	$$(call msg,CXX,$$@)
	$$(Q)mkdir -p $$(@D)
	$$(Q)$$(CXX) -x c++ $$(SAMPLE_CXXFLAGS) $(2) -MMD -MP -MT $$@ -c -o $$@ $$<

-include $$(patsubst %,$(O)/samples/$(1)/%.d,$(SAMPLES))
endef

$(eval $(call sample_object,obj11,-DSIM_CUDART=11))
$(eval $(call sample_object,obj12,-DSIM_CUDART=12))
$(eval $(call sample_object,obj13,-DSIM_CUDART=13))
$(eval $(call sample_object,obj13-ptsz,-DSIM_CUDART=13 -DCUDA_API_PER_THREAD_DEFAULT_STREAM))

# $(1) folder, $(2) its objects' folder, $(3) what it links
define sample_sim
$(O)/samples/$(1)/%: $(O)/samples/$(2)/%.o $(3)
	$$(call msg,LD,$$@)
	$$(Q)mkdir -p $$(@D)
	$$(Q)$$(CXX) -pthread $$(addprefix -fsanitize=,$$(SAN)) -o $$@ $$< $(3) $$(SAMPLE_LIBS) -ldl
endef

$(eval $(call sample_sim,sim,obj13,$(O)/sim/libcudart.so.13))
$(eval $(call sample_sim,sim-static,obj13,$(O)/sim/libcudart_static.a))
$(eval $(call sample_sim,sim11,obj11,$(O)/sim/libcudart.so.11.0))
$(eval $(call sample_sim,sim12,obj12,$(O)/sim/libcudart.so.12))
$(eval $(call sample_sim,sim-ptsz,obj13-ptsz,$(O)/sim/libcudart.so.13))

# $(1) static or shared
define sample_nvcc
$(O)/samples/$(1)/%: cuda_samples/%.cu
	$$(call msg,NVCC,$$@)
	$$(Q)mkdir -p $$(@D)
	$$(Q)$$(NVCC) $$(SAMPLE_NVCCFLAGS) --cudart $(1) -MMD -MP -MT $$@ -MF $$@.d -o $$@ $$< \
		$$(SAMPLE_LIBS)
endef

$(eval $(call sample_nvcc,static))
$(eval $(call sample_nvcc,shared))

-include $(addsuffix .d,$(SAMPLES_NVCC))
