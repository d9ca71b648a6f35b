# SPDX-License-Identifier: Apache-2.0
# Unit tests: a CMocka program for each test_X.c below tests/unit, which has the rooms of shim/ and report/; `make unit` builds
# and runs them all.

UNIT_C := $(sort $(shell find tests/unit/report -name 'test_*.c'))

# NVTX's headers: the toolkit's, another of the machine's, or those that scripts/setup fetches. Without them what needs them
# is not built, and its tests say so.
NVTX_CFLAGS := -isystem $(CURDIR)/build/deps/nvtx/include
NVTX := $(shell $(CC) -E $(SPY_CFLAGS) $(NVTX_CFLAGS) -include nvtx3/nvToolsExt.h -x c /dev/null >/dev/null 2>&1 && echo yes)

UNIT_BINS := $(addprefix $(O)/tests/unit/,$(basename $(notdir $(UNIT_C))))
UNIT_HELP := $(addprefix $(O)/tests/unit/,recording.o recording_gpu.o recording_steps.o render.o play.o)

unit-build: $(UNIT_BINS) $(O)/cudaspy

unit: unit-build
	$(Q)for t in $(UNIT_BINS); do echo "  UNIT    $$t"; $$t >$$t.log 2>&1 || { cat $$t.log; exit 1; }; done

$(O)/tests/unit/%.o: tests/unit/%.c
	$(call msg,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(SPY_CFLAGS) $(CFLAGS) -DBUILD_FOLDER='"$(abspath $(O))"' -MMD -MP -MT $@ -c -o $@ $<

# Tests of the reporter: all its modules, but for the program itself.
define unit_test
$(O)/tests/unit/$(basename $(notdir $(1))): $(1:%.c=$(O)/%.o)
endef
$(foreach t,$(UNIT_C),$(eval $(call unit_test,$(t))))

$(UNIT_BINS): $(UNIT_HELP) $(O)/host/report/cli/target.o $(REPORT_LIB_OBJS)
	$(call msg,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) $(SAN_LDFLAGS) -o $@ $^ -lcmocka $(REPORT_LIBS)

-include $(shell find $(O)/tests/unit -name '*.d' 2>/dev/null)

.PHONY: unit unit-build
