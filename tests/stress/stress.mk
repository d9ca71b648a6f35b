# SPDX-License-Identifier: Apache-2.0
# Stress of the shim's rings: `make stress-build`; pytest runs it. Built twice: under ThreadSanitizer, and as it is, which is
# faster and meets other interleavings. The unit tests of what is known of memory run under ThreadSanitizer as well.

include tests/unit/shim_unit.mk

STRESS_SRC := \
	shim/base/clock.c \
	shim/base/collector_wait.c \
	shim/base/quiet.c \
	$(CORE_C) \
	shim/record/own_time.c \
	shim/record/span.c \
	shim/record/span_inside.c \
	shim/record/span_own.c \
	shim/record/thread.c \
	tests/stress/ring_stress.c \
	tests/unit/shim_stubs.c \
	# EOL

RANGES_SRC := \
	shim/base/clock.c \
	shim/handles/memory_map.c \
	tests/unit/shim/handles/test_ranges.c \
	tests/unit/shim_stubs.c \
	# EOL

STRESS_O      := $(O)/stress
STRESS_CFLAGS := $(filter-out -fsanitize=%,$(SPY_CFLAGS)) $(CFLAGS) -Wno-deprecated-declarations
STRESS_KINDS  := plain tsan
STRESS_OBJ    := $(foreach k,$(STRESS_KINDS),$(STRESS_SRC:%.c=$(STRESS_O)/$(k)/%.o)) $(RANGES_SRC:%.c=$(STRESS_O)/tsan/%.o)

stress-build: $(STRESS_KINDS:%=$(STRESS_O)/ring_stress_%) $(STRESS_O)/ranges_tsan

$(STRESS_O)/ring_stress_tsan $(STRESS_O)/ranges_tsan: STRESS_FLAGS := -fsanitize=thread -Wno-tsan
$(STRESS_O)/ring_stress_plain: STRESS_FLAGS :=

define stress_kind
$(STRESS_O)/$(1)/%.o: %.c $(O)/gen/.done
	$$(call msg,CC,$$@)
	$$(Q)mkdir -p $$(@D)
	$$(Q)$$(CC) $$(STRESS_CFLAGS) $$(STRESS_FLAGS) -MMD -MP -MT $$@ -c -o $$@ $$<

$(STRESS_O)/ring_stress_$(1): $(STRESS_SRC:%.c=$(STRESS_O)/$(1)/%.o)
	$$(call msg,LD,$$@)
	$$(Q)$$(CC) $$(STRESS_FLAGS) -o $$@ $$^ -lcmocka -lpthread
endef
$(foreach k,$(STRESS_KINDS),$(eval $(call stress_kind,$(k))))

$(STRESS_O)/ranges_tsan: $(RANGES_SRC:%.c=$(STRESS_O)/tsan/%.o)
	$(call msg,LD,$@)
	$(Q)$(CC) $(STRESS_FLAGS) -o $@ $^ -lcmocka -lpthread

TEST_EXTRA += stress-build

-include $(STRESS_OBJ:.o=.d)

.PHONY: stress-build
