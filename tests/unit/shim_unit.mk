# SPDX-License-Identifier: Apache-2.0
# Unit tests of the shim's modules: tests/unit/shim/ROOM/test_X.c with the module's own objects, built with the sanitizers of
# SAN=.

SHIM_UNIT_C := $(sort $(shell find tests/unit/shim -name 'test_*.c'))
ifeq ($(NVTX),)
SHIM_UNIT_C := $(filter-out %/test_nvtx.c,$(SHIM_UNIT_C))
endif

SHIM_UNIT_O    := $(O)/unit
SHIM_UNIT_BINS := $(addprefix $(O)/tests/unit/,$(basename $(notdir $(SHIM_UNIT_C))))
UNIT_BINS      += $(SHIM_UNIT_BINS)

unit-build: $(SHIM_UNIT_BINS)

$(SHIM_UNIT_O)/tests/unit/shim/nvtx/test_nvtx.o: CPPFLAGS += $(NVTX_CFLAGS)

# As the shim is built, but for what makes it a guest. Debian 11's headers lack what compat.h has of madvise().
$(SHIM_UNIT_O)/%.o: CPPFLAGS += -DMADV_POPULATE_WRITE=23
# In a program the linker replaces the additions of initial-exec, by whose flags GCC 14 asks whether an address is null
# (-fsanitize=null).
$(SHIM_UNIT_O)/%.o: CPPFLAGS += -DSPY_TLS_MODEL='"local-exec"'
$(SHIM_UNIT_O)/%.o: %.c $(O)/gen/.done
	$(call msg,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(SPY_CFLAGS) $(CFLAGS) -Wno-deprecated-declarations -MMD -MP -MT $@ -c -o $@ $<

# The modules a test is linked with: a test of shim/core with all of it, each other one with those named here. test_registry
# and test_storage include theirs to reach its inside.
SHIM_UNIT_CORE     := $(CORE_C:.c=.o) tests/unit/cut.o tests/unit/recording.o tests/unit/recording_gpu.o tests/unit/recording_steps.o
test_cpu_WITH      := shim/cpu/cpu.o shim/cpu/cpu_read.o shim/core/work/slices.o
test_cupti_buffers_WITH := shim/base/collector_wait.o shim/cupti/cupti_buffers.o
test_cupti_records_WITH := shim/base/collector_wait.o shim/cupti/cupti_buffers.o shim/cupti/cupti_records.o shim/handles/registry.o
test_doze_WITH     := shim/base/collector_wait.o
test_graph_content_WITH := shim/real/driver_symbols.o $(addprefix shim/handles/,graph_content.o graph_nodes.o graph_parts.o registry.o)
test_span_WITH     := shim/base/collector_wait.o shim/args/args_launch.o shim/handles/registry.o $(addprefix shim/record/,own_time.o span.o \
	span_inside.o span_own.o thread.o)
test_span_nested_WITH  := $(test_span_WITH)
test_span_threads_WITH := $(test_span_WITH)
test_span_cut_WITH := $(test_span_WITH) tests/unit/cut.o
test_nvtx_WITH     := $(test_span_WITH) $(addprefix shim/nvtx/,nvtx.o nvtx_names.o nvtx_counts.o nvtx_open.o)
test_options_WITH  := shim/life/options_read.o shim/core/options/options_parse.o
test_ranges_WITH   := shim/handles/memory_map.o
test_sampler_beside_WITH := shim/sampler/sampler_beside.o shim/core/cuda/streams.o tests/unit/recording.o shim/core/format/seal.o
test_sampler_rate_WITH := shim/sampler/sampler_class.o shim/sampler/sampler_rate.o
test_storage_WITH  := $(addprefix shim/life/,storage.o storage_grow.o storage_names.o storage_publish.o) shim/base/guard.o shim/core/format/seal.o shim/core/sys/leftover.o $(test_options_WITH)

# shim_unit_test TEST,SOURCE
define shim_unit_test
$(O)/tests/unit/$(1): $(addprefix $(SHIM_UNIT_O)/,$(sort $(2:.c=.o) tests/unit/shim_stubs.o shim/base/clock.o shim/base/quiet.o \
		$($(1)_WITH) $(if $(filter tests/unit/shim/core/%,$(2)),$(SHIM_UNIT_CORE))))
	$$(call msg,LD,$$@)
	$$(Q)mkdir -p $$(@D)
	$$(Q)$$(CC) $$(SAN_LDFLAGS) -o $$@ $$^ -lcmocka -lm -lpthread -ldl
endef
$(foreach t,$(SHIM_UNIT_C),$(eval $(call shim_unit_test,$(basename $(notdir $(t))),$(t))))

-include $(shell find $(SHIM_UNIT_O) -name '*.d' 2>/dev/null)
