# Unit tests: one CMocka program for each tests/unit/test_*.c. `make unit` builds and runs them all.

UNIT_TESTS := \
	test_report_bounds \
	test_report_cli \
	test_report_clock \
	test_report_compare \
	test_report_damage \
	test_report_environment \
	test_report_findings_copy \
	test_report_findings_memory \
	test_report_findings_gpu \
	test_report_findings_host \
	test_report_findings_launch \
	test_report_findings_threads \
	test_report_findings_waits \
	test_report_gpu \
	test_report_history \
	test_report_host \
	test_report_pairs \
	test_report_model \
	test_report_no_answer \
	test_report_output \
	test_report_pattern \
	test_report_rules \
	test_report_steps \
	test_report_target \
	test_report_text \
	test_report_verdict \
	test_report_whatif \
	test_report_whole \
	# EOL

# NVTX's headers: the toolkit's, another of the machine's, or those that scripts/setup fetches. Without them what needs them
# is not built, and its tests say so.
NVTX_CFLAGS := -isystem $(CURDIR)/build/deps/nvtx/include
NVTX := $(shell $(CC) -E $(SPY_CFLAGS) $(NVTX_CFLAGS) -include nvtx3/nvToolsExt.h -x c /dev/null >/dev/null 2>&1 && echo yes)

UNIT_BINS := $(UNIT_TESTS:%=$(O)/tests/unit/%)
UNIT_HELP := $(O)/tests/unit/recording.o $(O)/tests/unit/recording_gpu.o \
	$(O)/tests/unit/recording_steps.o $(O)/tests/unit/render.o

unit-build: $(UNIT_BINS) $(O)/cudaspy

unit: unit-build
	$(Q)for t in $(UNIT_BINS); do echo "  UNIT    $$t"; $$t >$$t.log 2>&1 || { cat $$t.log; exit 1; }; done

$(O)/tests/unit/%.o: tests/unit/%.c
	$(call msg,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(SPY_CFLAGS) $(CFLAGS) -DBUILD_FOLDER='"$(abspath $(O))"' -MMD -MP -c -o $@ $<

# Tests of the reporter: all its modules, but for the program itself.
$(O)/tests/unit/test_report_%: $(O)/tests/unit/test_report_%.o $(UNIT_HELP) $(O)/host/report/cli/target.o $(REPORT_LIB_OBJS)
	$(call msg,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) $(SAN_LDFLAGS) -o $@ $^ -lcmocka $(REPORT_LIBS)

-include $(wildcard $(O)/tests/unit/*.d)

.PHONY: unit unit-build
