# Unit tests of the shim's modules: test_MODULE.c with the module's own objects, built with the sanitizers of SAN=.

SHIM_UNIT_TESTS := \
	test_clock \
	test_cpu \
	test_cuda \
	test_cupti_buffers \
	test_cupti_records \
	test_doze \
	test_drain \
	test_drain_damage \
	test_drain_figures \
	test_estimate_staged \
	test_graph_content \
	test_hist \
	test_leftover \
	$(if $(NVTX),test_nvtx) \
	test_options \
	test_ranges \
	test_registry \
	test_sampler_rate \
	test_seal \
	test_span \
	test_steps \
	test_storage \
	test_timeline \
	test_timeline_exact \
	test_timeline_host \
	test_timeline_staged \
	test_trace_map \
	# EOL

SHIM_UNIT_O    := $(O)/unit
SHIM_UNIT_BINS := $(SHIM_UNIT_TESTS:%=$(O)/tests/unit/%)
UNIT_BINS      += $(SHIM_UNIT_BINS)

unit-build: $(SHIM_UNIT_BINS)

$(SHIM_UNIT_O)/tests/unit/test_nvtx.o: CPPFLAGS += $(NVTX_CFLAGS)

# As the shim is built, but for what makes it a guest. Debian 11's headers lack what compat.h has of madvise().
$(SHIM_UNIT_O)/%.o: CPPFLAGS += -DMADV_POPULATE_WRITE=23
# In a program the linker replaces the additions of initial-exec, by whose flags GCC 14 asks whether an address is null
# (-fsanitize=null).
$(SHIM_UNIT_O)/%.o: CPPFLAGS += -DSPY_TLS_MODEL='"local-exec"'
$(SHIM_UNIT_O)/%.o: %.c $(O)/gen/.done
	$(call msg,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(SPY_CFLAGS) $(CFLAGS) -Wno-deprecated-declarations -MMD -MP -c -o $@ $<

# The modules a test is linked with; test_registry, test_ranges and test_storage include theirs to reach its inside.
test_clock_WITH    := shim/base/clock.o
test_cpu_WITH      := shim/base/clock.o shim/cpu/cpu.o shim/cpu/cpu_read.o shim/core/work/slices.o
test_cuda_WITH     := $(CORE_C:.c=.o) tests/unit/recording.o
test_cupti_buffers_WITH := shim/cupti/cupti_buffers.o
test_cupti_records_WITH := shim/base/clock.o shim/cupti/cupti_buffers.o shim/cupti/cupti_records.o shim/handles/registry.o
test_doze_WITH     := shim/base/collector_wait.o
test_drain_WITH    := $(CORE_C:.c=.o) tests/unit/recording.o
test_drain_damage_WITH  := $(test_drain_WITH)
test_drain_figures_WITH := $(test_drain_WITH)
test_estimate_staged_WITH := $(test_drain_WITH) tests/unit/recording_gpu.o
test_graph_content_WITH := shim/real/driver_symbols.o shim/handles/graph_content.o shim/handles/registry.o
test_hist_WITH     :=
test_leftover_WITH := $(test_drain_WITH)
test_nvtx_WITH     := shim/base/clock.o shim/base/collector_wait.o shim/args/args_launch.o shim/nvtx/nvtx.o shim/nvtx/nvtx_names.o shim/nvtx/nvtx_counts.o shim/nvtx/nvtx_open.o \
	shim/handles/registry.o shim/record/span.o shim/record/span_own.o shim/record/thread.o
test_options_WITH  := shim/life/options_read.o shim/core/options/options_parse.o
test_ranges_WITH   := shim/handles/memory_map.o
test_registry_WITH :=
test_sampler_rate_WITH := shim/sampler/sampler_class.o shim/sampler/sampler_rate.o
test_seal_WITH     := $(test_drain_WITH)
test_span_WITH     := shim/base/clock.o shim/base/collector_wait.o shim/args/args_launch.o shim/record/own_time.o shim/handles/registry.o shim/record/span.o shim/record/span_own.o \
	shim/record/thread.o
test_steps_WITH    := $(test_drain_WITH)
test_storage_WITH  := shim/base/clock.o shim/base/guard.o shim/core/sys/leftover.o shim/life/options_read.o shim/core/options/options_parse.o
test_timeline_WITH := $(test_drain_WITH)
test_timeline_exact_WITH := $(test_drain_WITH)
test_timeline_host_WITH  := $(test_drain_WITH)
test_timeline_staged_WITH := $(test_drain_WITH)
test_trace_map_WITH :=

define shim_unit_test
$(O)/tests/unit/$(1): $(addprefix $(SHIM_UNIT_O)/,$(sort tests/unit/$(1).o tests/unit/shim_stubs.o shim/base/clock.o shim/base/quiet.o $($(1)_WITH)))
	$$(call msg,LD,$$@)
	$$(Q)mkdir -p $$(@D)
	$$(Q)$$(CC) $$(SAN_LDFLAGS) -o $$@ $$^ -lcmocka -lm -lpthread -ldl
endef
$(foreach t,$(SHIM_UNIT_TESTS),$(eval $(call shim_unit_test,$(t))))

-include $(wildcard $(addprefix $(SHIM_UNIT_O)/,shim/*/*.d shim/core/*/*.d tests/unit/*.d))
