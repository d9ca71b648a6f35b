# SPDX-License-Identifier: Apache-2.0
# Stress of the shim's rings: `make stress-build`; pytest runs it. Built twice: under ThreadSanitizer, and as it is, which is
# faster and meets other interleavings.

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

STRESS_O      := $(O)/stress
STRESS_CFLAGS := $(filter-out -fsanitize=%,$(SPY_CFLAGS)) $(CFLAGS) -Wno-deprecated-declarations
STRESS_KINDS  := plain tsan
STRESS_OBJ    := $(foreach k,$(STRESS_KINDS),$(STRESS_SRC:%.c=$(STRESS_O)/$(k)/%.o))

stress-build: $(STRESS_KINDS:%=$(STRESS_O)/ring_stress_%)

$(STRESS_O)/ring_stress_tsan: STRESS_FLAGS := -fsanitize=thread
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

TEST_EXTRA += stress-build

-include $(STRESS_OBJ:.o=.d)

.PHONY: stress-build
