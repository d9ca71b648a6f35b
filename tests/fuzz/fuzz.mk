# SPDX-License-Identifier: Apache-2.0
# Fuzzing of the reporter: `make fuzz`, recordings for FUZZ_SECONDS and then what check reads for half as long; their
# corpora are kept in $(O)/fuzz.

FUZZ_SECONDS ?= 20
FUZZ_CC      ?= clang
FUZZ_FLAGS   := -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer -O1 -g1

# Does the compiler bring libFuzzer?
FUZZ_HAVE = $(shell echo 'int LLVMFuzzerTestOneInput(const char *d, long n) { return 0; }' | \
	$(FUZZ_CC) -fsanitize=fuzzer -x c - -o /dev/null 2>/dev/null && echo yes)

fuzz:
ifeq ($(FUZZ_HAVE),yes)
# fuzz_run PROGRAM,SECONDS,LONGEST: with its own corpus and the seeds.
define fuzz_run
$(call msg,FUZZ,$(O)/fuzz/fuzz_$(1))
$(Q)mkdir -p $(O)/fuzz/corpus_$(1)
$(Q)$(O)/fuzz/fuzz_$(1) -max_total_time=$(2) -max_len=$(3) -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
	-close_fd_mask=2 -artifact_prefix=$(O)/fuzz/ $(O)/fuzz/corpus_$(1) $(O)/fuzz/seeds_$(1) >$(O)/fuzz/log_$(1) 2>&1 \
	|| { tail -40 $(O)/fuzz/log_$(1); exit 1; }
$(Q)grep -E '^(stat::number_of_executed_units|Done)' $(O)/fuzz/log_$(1)
endef

fuzz-build: $(O)/fuzz/fuzz_reader $(O)/fuzz/fuzz_check $(O)/fuzz/make_corpus
fuzz: fuzz-build
	$(Q)mkdir -p $(O)/fuzz/seeds_reader $(O)/fuzz/seeds_check
	$(Q)$(O)/fuzz/make_corpus $(O)/fuzz/seeds_reader $(O)/fuzz/seeds_check
	$(call fuzz_run,reader,$(FUZZ_SECONDS),65536)
	$(call fuzz_run,check,$(shell expr $(FUZZ_SECONDS) / 2),4096)
else
fuzz-build:
	@echo 'skip fuzz: $(FUZZ_CC) has no libFuzzer'
fuzz: fuzz-build
endif

# Compiled once for both.
$(O)/fuzz/obj/%.o: %.c
	$(call msg,FUZZCC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(FUZZ_CC) $(filter-out -fsanitize=%,$(SPY_CFLAGS)) $(FUZZ_FLAGS) -MMD -MP -MT $@ -c -o $@ $<

FUZZ_OBJS := $(REPORT_C:%.c=$(O)/fuzz/obj/%.o) $(CORE_C:%.c=$(O)/fuzz/obj/%.o)
$(O)/fuzz/fuzz_reader: $(O)/fuzz/obj/tests/unit/render.o
$(O)/fuzz/fuzz_reader $(O)/fuzz/fuzz_check: $(O)/fuzz/fuzz_%: $(O)/fuzz/obj/tests/fuzz/fuzz_%.o $(FUZZ_OBJS) $(O)/host/report/gate/toml.o \
		$(O)/host/gen/html_page_gen.o
	$(call msg,LINK,$@)
	$(Q)$(FUZZ_CC) $(subst fuzzer-no-link,fuzzer,$(FUZZ_FLAGS)) -o $@ $^ \
		$(REPORT_JANSSON) $(REPORT_ZLIB) $(REPORT_SQLITE) -Wl,-Bstatic -lstdc++ -Wl,-Bdynamic -lm -ldl

-include $(shell find $(O)/fuzz/obj -name '*.d' 2>/dev/null)

$(O)/fuzz/make_corpus: tests/fuzz/make_corpus.c tests/unit/recording.c tests/unit/recording_gpu.c tests/unit/recording_steps.c shim/core/format/seal.c \
		shim/core/work/work_class.c tests/unit/recording.h
	$(call msg,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(SPY_CFLAGS) $(CFLAGS) $(SAN_LDFLAGS) -o $@ $(filter %.c,$^)

# Recordings of real runs, damaged: tests/fuzz/test_damage.py makes them. `make fuzz-damage` is the campaign.
FUZZ_DAMAGES ?= 10000
TEST_EXTRA   += $(O)/tests/fuzz/damage

$(O)/tests/fuzz/%.o: tests/fuzz/%.c
	$(call msg,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(SPY_CFLAGS) $(CFLAGS) -MMD -MP -MT $@ -c -o $@ $<

$(O)/tests/fuzz/damage: $(O)/tests/fuzz/damage.o $(O)/tests/fuzz/damage_kinds.o $(REPORT_LIB_OBJS)
	$(call msg,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) $(SAN_LDFLAGS) -o $@ $^ $(REPORT_LIBS)

-include $(wildcard $(O)/tests/fuzz/*.d)

fuzz-damage: $(TEST_BUILDS)
	$(Q)FUZZ_DAMAGES=$(FUZZ_DAMAGES) $(PYTEST) -s tests/fuzz/test_damage.py

.PHONY: fuzz fuzz-build fuzz-damage
